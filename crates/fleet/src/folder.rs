//! The folder of a fleet: what was decided before the start, a file for each attempt of each node, and how it ended.
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use powerband_record::{IntoOrdered as _, Owner};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::fleet::VERSION;
use crate::{Attempt, AttemptFile, Fleet, FleetError};

const FLEET: &str = "fleet.json";
const STARTED: &str = "started.jsonl";
const CANCEL: &str = "cancel";
const END: &str = "end.json";
const OWNER: &str = "owner.json";

/// The attempts of each node, by position.
pub type Attempts = BTreeMap<u32, Vec<Attempt>>;

/// A fleet's folder.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

/// A task that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    position: u32,
    /// Why it could not be, or why it came to nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Its node was given up: whatever its launcher says of it, nothing is waited for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub given_up: bool,
}

/// How a fleet ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// `decided`, `nodes` (all were measured) or `cancelled`.
    pub reason: String,
    /// Nodes of the order that the last look rests on.
    pub nodes: u32,
}

/// Who conducts a fleet.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Conductor {
    host: String,
    owner: Owner,
}

impl Folder {
    /// Makes the folder of a fleet, at `path` or in `home` by the fleet's key; `home` always knows where it is.
    ///
    /// # Errors
    /// [`FleetError::File`]; [`FleetError::NoFleet`] for a folder that has something in it.
    pub fn make(home: &Path, path: Option<&Path>, fleet: &Fleet) -> Result<Folder, FleetError> {
        let known = home.join(fleet.short());
        let path = path.map_or_else(|| known.clone(), Path::to_owned);
        let mut builder = fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&path).and_then(|()| fs::canonicalize(&path));
        let path = made.map_err(|error| FleetError::file("make", &path, &error))?;
        if fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_some()) {
            let sentence =
                format!("the folder {} is not empty; name one that is, or that is not there yet", path.display());
            return Err(FleetError::NoFleet(sentence));
        }
        if !known.exists() {
            let linked = builder.create(home).and_then(|()| symlink(&path, &known));
            linked.map_err(|error| FleetError::file("make", &known, &error))?;
        }
        let folder = Folder { path };
        folder.write(FLEET, fleet)?;
        Ok(folder)
    }

    /// The folder that `last`, the beginning of a key or a path means.
    ///
    /// # Errors
    /// [`FleetError::NoFleet`], [`FleetError::File`].
    pub fn find(home: &Path, text: &str) -> Result<Folder, FleetError> {
        let here = Path::new(text);
        if text.contains('/') || here.join(FLEET).is_file() {
            return Folder::at(here);
        }
        let names = fs::read_dir(home).map(|entries| entries.flatten().map(|entry| entry.path()).collect());
        let all: Vec<Folder> =
            names.unwrap_or_else(|_| Vec::new()).iter().filter_map(|path| Folder::at(path).ok()).collect();
        // Of several that began within a second the one written last.
        let written = |folder: &Folder| fs::metadata(folder.path.join(FLEET)).and_then(|it| it.modified()).ok();
        let dated = |folder: &Folder| folder.fleet().map(|it| (it.started_unix_s, written(folder), it.key)).ok();
        if text == "last" {
            let last = all.into_iter().max_by_key(dated);
            return last
                .ok_or_else(|| FleetError::NoFleet("there is no fleet yet; `powerband fleet run` starts one".into()));
        }
        let named = |folder: &Folder| folder.fleet().is_ok_and(|fleet| fleet.key.starts_with(text));
        let mut named: Vec<Folder> = all.into_iter().filter(named).collect();
        match (named.pop(), named.len()) {
            (Some(folder), 0) => Ok(folder),
            (Some(_), more) => {
                Err(FleetError::NoFleet(format!("{} fleets begin with {text}; type more of the key", more + 1)))
            }
            (None, _) => Err(FleetError::NoFleet(format!(
                "there is no fleet {text}; name its folder, or the beginning of its key"
            ))),
        }
    }

    /// The folder of a fleet at a path.
    ///
    /// # Errors
    /// [`FleetError::NoFleet`].
    pub fn at(path: &Path) -> Result<Folder, FleetError> {
        match fs::canonicalize(path) {
            Ok(path) if path.join(FLEET).is_file() => Ok(Folder { path }),
            _ => Err(FleetError::NoFleet(format!("{} is not the folder of a fleet", path.display()))),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was decided before the start.
    ///
    /// # Errors
    /// [`FleetError::File`].
    pub fn fleet(&self) -> Result<Fleet, FleetError> {
        let path = self.path.join(FLEET);
        let text = text_of(&path).map_err(|error| FleetError::file("read", &path, &error))?;
        let fleet: Fleet = serde_json::from_str(&text).map_err(|error| FleetError::file("read", &path, &error))?;
        if fleet.version != VERSION {
            return Err(FleetError::file("read", &path, &format!("it has version {}, not {VERSION}", fleet.version)));
        }
        Ok(fleet)
    }

    /// The file of a node's next attempt.
    ///
    /// # Errors
    /// [`FleetError::File`].
    pub fn next_attempt(&self, node: &str) -> Result<AttemptFile, FleetError> {
        AttemptFile::next(&self.path, node)
    }

    /// Notes that a task was started, or could not be.
    ///
    /// # Errors
    /// [`FleetError::File`].
    pub fn note_start(&self, position: u32, refused: Option<String>) -> Result<(), FleetError> {
        self.note(&Start { position, refused, given_up: false })
    }

    /// Notes that a node is given up, and why.
    ///
    /// # Errors
    /// [`FleetError::File`].
    pub fn note_given_up(&self, position: u32, why: String) -> Result<(), FleetError> {
        self.note(&Start { position, refused: Some(why), given_up: true })
    }

    fn note(&self, start: &Start) -> Result<(), FleetError> {
        let path = self.path.join(STARTED);
        let line = serde_json::to_string(start);
        let line = line.map_err(|error| FleetError::file("write", &path, &error))? + "\n";
        let file = OpenOptions::new().append(true).create(true).open(&path);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .map_err(|error| FleetError::file("write", &path, &error))
    }

    /// What was last noted of the positions whose task was started.
    #[must_use]
    pub fn starts(&self) -> BTreeMap<u32, Start> {
        let text = text_of(&self.path.join(STARTED)).unwrap_or_default();
        let starts = text.lines().filter_map(|line| serde_json::from_str::<Start>(line).ok());
        starts.map(|start| (start.position, start)).collect()
    }

    /// Asks the process that conducts it to cancel it.
    ///
    /// # Errors
    /// [`FleetError::File`].
    pub fn ask_to_cancel(&self) -> Result<(), FleetError> {
        self.write(CANCEL, &true)
    }

    /// Whether that was asked.
    #[must_use]
    pub fn is_to_cancel(&self) -> bool {
        self.path.join(CANCEL).exists()
    }

    /// Begins to conduct it: it has not ended and is not to be cancelled.
    ///
    /// # Errors
    /// [`FleetError::Refused`] when somebody else does, [`FleetError::File`].
    pub fn take(&self) -> Result<(), FleetError> {
        if let Some(who) = self.conducted_by() {
            return Err(FleetError::Refused { program: "this fleet".into(), why: format!("{who} still runs it") });
        }
        for name in [CANCEL, END] {
            drop(fs::remove_file(self.path.join(name)));
        }
        self.write(OWNER, &Conductor { host: powerband_host::hostname(), owner: powerband_host::this_process() })
    }

    /// Lets go of it.
    pub fn release(&self) {
        drop(fs::remove_file(self.path.join(OWNER)));
    }

    /// Who conducts it now, as far as can be seen from here.
    #[must_use]
    pub fn conducted_by(&self) -> Option<String> {
        let text = text_of(&self.path.join(OWNER)).ok()?;
        let Conductor { host, owner } = serde_json::from_str(&text).ok()?;
        let alive = host != powerband_host::hostname() || powerband_host::is_alive(&owner);
        alive.then(|| format!("powerband {} on {host}", owner.pid))
    }

    /// Notes how it ended.
    ///
    /// # Errors
    /// [`FleetError::File`].
    pub fn end(&self, ended: &Ended) -> Result<(), FleetError> {
        self.write(END, ended)
    }

    /// How it ended, where it did.
    #[must_use]
    pub fn ended(&self) -> Option<Ended> {
        serde_json::from_str(&text_of(&self.path.join(END)).ok()?).ok()
    }

    /// Writes a file as a whole: it is never seen half written.
    fn write(&self, name: &str, value: &impl Serialize) -> Result<(), FleetError> {
        let path = self.path.join(name);
        let aside = self.path.join(format!(".{name}.{}", std::process::id()));
        let text = serde_json::to_string_pretty(value).map_err(|error| FleetError::file("write", &path, &error))?;
        // A store may be named with its password.
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside);
        let written = file.and_then(|mut file| file.write_all((text + "\n").as_bytes()));
        let written = written.and_then(|()| fs::rename(&aside, &path));
        written.map_err(|error| FleetError::file("write", &path, &error))
    }
}

/// Reads attempts again and again; a file that did not grow is not read again.
#[derive(Debug, Default)]
pub struct Reader {
    seen: BTreeMap<PathBuf, (u64, Attempt)>,
}

/// A file of the folder, opened to read. What somebody else put in its place, such as a FIFO that would never end or a link, is none.
fn regular(path: &Path) -> std::io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(std::io::Error::other("it is no regular file")) }
}

fn text_of(path: &Path) -> std::io::Result<String> {
    std::io::read_to_string(regular(path)?)
}

impl Reader {
    /// All attempts of a fleet.
    ///
    /// # Errors
    /// [`FleetError::File`] for a folder or a file that cannot be read.
    pub fn read(&mut self, folder: &Folder, fleet: &Fleet) -> Result<Attempts, FleetError> {
        let positions: BTreeMap<&str, u32> =
            (0..).zip(&fleet.nodes).map(|(at, node)| (node.name.as_str(), at)).into_map();
        let path = folder.path();
        let entries = fs::read_dir(path).map_err(|error| FleetError::file("read", path, &error))?;
        let mut attempts = Attempts::new();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let stem = name.strip_prefix("node-").and_then(|name| name.strip_suffix(".jsonl"));
            let Some((node, number)) = stem.and_then(|stem| stem.rsplit_once('-')) else { continue };
            let (Some(position), Ok(number)) = (positions.get(node), number.parse()) else { continue };
            attempts.entry(*position).or_default().push(self.attempt(&entry.path(), number)?);
        }
        attempts.values_mut().for_each(|all| all.sort_by_key(|attempt| attempt.number));
        Ok(attempts)
    }

    fn attempt(&mut self, path: &Path, number: u32) -> Result<Attempt, FleetError> {
        let unreadable = |error: std::io::Error| FleetError::file("read", path, &error);
        // Opened before its length is asked for: only then does a network file system ask its server.
        let mut file = regular(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        let (length, touched) = (metadata.len(), metadata.modified().ok());
        let failed = text_of(&path.with_extension("failed")).ok().map(|text| text.trim().to_owned());
        // On a full disk it is there and empty.
        let failed = failed.filter(|why| !why.is_empty());
        match self.seen.get(path) {
            Some((before, attempt)) if *before == length => Ok(Attempt { failed, touched, ..attempt.clone() }),
            _ => {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).map_err(unreadable)?;
                let parsed = Attempt::parse(number, &String::from_utf8_lossy(&bytes), failed);
                let attempt = Attempt { touched, ..parsed };
                let read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                self.seen.insert(path.to_owned(), (read, attempt.clone()));
                Ok(attempt)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use crate::Via;

    #[test]
    fn the_last_of_fleets_begun_within_a_second_is_the_one_written_last() {
        let home = tempfile::tempdir().unwrap();
        for (key, written_ms) in [("bbbbbbbb1", 1), ("cccccccc1", 3), ("aaaaaaaa1", 5)] {
            let fleet = Fleet {
                version: VERSION,
                key: key.into(),
                plan_file: String::new(),
                plan: String::new(),
                machine: None,
                seed: 1,
                blocks: 2,
                at_once: 1,
                nodes: Vec::new(),
                via: Via::Command { command: String::new() },
                program: String::new(),
                store: None,
                started_unix_s: 7,
                command_line: Vec::new(),
            };
            let folder = Folder::make(home.path(), None, &fleet).unwrap();
            let file = File::open(folder.path().join(FLEET)).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_millis(7_000 + written_ms)).unwrap();
        }
        assert_eq!(Folder::find(home.path(), "last").unwrap().fleet().unwrap().key, "aaaaaaaa1");
    }
}
