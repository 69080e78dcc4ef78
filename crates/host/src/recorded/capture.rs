//! Capturing a machine: what its knobs and meters read, without what tells whose it is, and writing that into a folder.
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use powerband_machine::{CoalescingPlace, Entry, Errno, Look};
use thiserror::Error;

use super::manifest::{COALESCING, Manifest, NAME, ROOT};
use super::places::{Keep, OF_A_CPU, OF_A_DEVICE, PLACES, Place, is_like, is_pattern};
use super::reduce::{Names, hide_addresses, is_named_by_address, reduce};
use crate::io_errno;

const CPU: &str = "/sys/devices/system/cpu";

/// Where the kernel lists its network devices.
const DEVICES: &str = "/proc/net/dev";

/// Why a machine was not written down.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// Something is there already.
    #[error("{0} is not empty; name a folder that is empty or not there yet")]
    NotEmpty(PathBuf),
    /// The folder cannot be written.
    #[error("cannot write {path}: {errno}")]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        errno: Errno,
    },
    /// The manifest cannot be made into text.
    #[error("the manifest cannot be written: {0}")]
    Manifest(String),
}

/// What was read of a machine, not yet written down.
pub struct CapturedMachine {
    manifest: Manifest,
    /// Texts by their absolute path.
    files: BTreeMap<String, String>,
    /// Texts of interrupt coalescing by device.
    coalescing: BTreeMap<String, String>,
}

impl CapturedMachine {
    /// Reads a machine.
    #[must_use]
    pub fn of(machine: &mut dyn Look) -> Self {
        let mut manifest = Manifest::new();
        manifest.system.clone_from(&machine.identity().system);
        manifest.privileged = machine.identity().privileged;
        manifest.left_out = LEFT_OUT.iter().map(|&words| words.to_owned()).collect();
        let names = Names::of(machine);
        let recording = CapturedMachine { manifest, files: BTreeMap::new(), coalescing: BTreeMap::new() };
        let mut walk = Walk { machine, recording, names, listed: BTreeMap::new() };
        walk.cpus();
        for place in PLACES {
            walk.place(place);
        }
        walk.devices();
        walk.finish()
    }

    /// How many files were read, and how many could not be.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        (self.files.len() + self.coalescing.len(), self.manifest.errnos.len())
    }

    /// What is not as it was read, in words.
    #[must_use]
    pub fn left_out(&self) -> &[String] {
        &self.manifest.left_out
    }

    /// Writes it down, the manifest last, so that a folder with one is whole.
    ///
    /// # Errors
    /// [`CaptureError`]: what stands in the folder by then stays.
    pub fn write(&self, folder: &Path) -> Result<(), CaptureError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error: std::io::Error| CaptureError::Unwritable { path, errno: io_errno(&error) }
        };
        std::fs::create_dir_all(folder).map_err(failed(folder))?;
        if std::fs::read_dir(folder).map_err(failed(folder))?.next().is_some() {
            return Err(CaptureError::NotEmpty(folder.into()));
        }
        let put = |path: &Path, text: &str| {
            let above = path.parent().unwrap_or(folder);
            std::fs::create_dir_all(above).and_then(|()| std::fs::write(path, text)).map_err(failed(path))
        };
        for (path, text) in &self.files {
            put(&folder.join(ROOT).join(path.trim_start_matches('/')), text)?;
        }
        for (device, text) in &self.coalescing {
            put(&folder.join(COALESCING).join(device), text)?;
        }
        put(&folder.join(NAME), &self.manifest.text().map_err(CaptureError::Manifest)?)
    }
}

/// What is left out of every recording.
const LEFT_OUT: [&str; 4] = [
    "host and user names, serial numbers, Ethernet and Internet addresses",
    "words of the kernel's command line, lines of its configuration, of start scripts and of units that have nothing to do with what powerband sets",
    "what network devices carried, where modules lie in memory, the flags of all CPUs but the first",
    "processes that set nothing powerband sets",
];

struct Walk<'m> {
    machine: &'m mut dyn Look,
    recording: CapturedMachine,
    names: Names,
    listed: BTreeMap<String, Vec<Entry>>,
}

impl Walk<'_> {
    /// The entries of a folder that a file can be called by. One that cannot be listed is noted, unless it is not there.
    fn list(&mut self, folder: &str) -> Vec<Entry> {
        if let Some(known) = self.listed.get(folder) {
            return known.clone();
        }
        let mut entries = match self.machine.list(folder) {
            Ok(entries) => entries,
            Err(Errno::ENOENT | Errno::ENOTDIR) => return Vec::new(),
            Err(errno) => {
                self.recording.manifest.refused(folder.to_owned(), errno);
                Vec::new()
            }
        };
        entries.retain(|entry| is_a_name(&entry.name));
        self.listed.insert(folder.to_owned(), entries.clone());
        entries
    }

    /// The files of a pattern.
    fn place(&mut self, place: &Place) {
        let names: Vec<&str> = place.pattern.split('/').skip(1).collect();
        self.below(String::new(), &names, place.keep);
    }

    fn below(&mut self, at: String, names: &[&str], keep: Keep) {
        let Some((&name, rest)) = names.split_first() else { return self.take(&at, keep) };
        if !is_pattern(name) {
            return self.below(format!("{at}/{name}"), rest, keep);
        }
        for entry in self.list(&at) {
            if entry.folder == rest.is_empty() || !is_like(name, &entry.name) || tells_who(&entry.name) {
                continue;
            }
            let path = format!("{at}/{}", entry.name);
            if self.recording.manifest.links.contains_key(&path) {
                continue;
            }
            if path.starts_with("/sys/") && rest.is_empty() {
                self.recording.manifest.note_mode(&path, entry.mode);
            }
            self.below(path, rest, keep);
        }
    }

    /// One file. One that is not there is not there in the recording either.
    fn take(&mut self, path: &str, keep: Keep) {
        if self.recording.files.contains_key(path) || self.recording.manifest.errnos.contains_key(path) {
            return;
        }
        let text = match self.machine.read(path) {
            Ok(text) => text,
            Err(Errno::ENOENT) => return,
            // A process that has ended, or that is somebody else's business.
            Err(_) if keep == Keep::Process => return,
            Err(errno) => return self.recording.manifest.refused(path.to_owned(), errno),
        };
        let Some(mut text) = reduce(&text, keep) else { return };
        if !path.starts_with("/sys/") && !path.starts_with("/proc/sys/") {
            text = hide_addresses(&self.names.hide(&text));
        }
        self.recording.files.insert(path.to_owned(), text);
    }

    /// A CPU's cpufreq is a link to its policy, which listing does not tell; without policies the files are its own.
    fn cpus(&mut self) {
        let mut policy_of: BTreeMap<String, String> = BTreeMap::new();
        for entry in self.list(&format!("{CPU}/cpufreq")) {
            if !is_like("policy#", &entry.name) {
                continue;
            }
            let folder = format!("{CPU}/cpufreq/{}", entry.name);
            // `related_cpus` also names those that are offline; they have no link.
            let cpus = self.machine.read(&format!("{folder}/affected_cpus")).unwrap_or_default();
            policy_of.extend(cpus.split_whitespace().map(|cpu| (format!("{CPU}/cpu{cpu}/cpufreq"), folder.clone())));
        }
        if policy_of.is_empty() {
            OF_A_CPU.iter().for_each(|place| self.place(place));
            return;
        }
        for (path, policy) in policy_of {
            if self.machine.list(&path).is_ok() {
                self.recording.manifest.links.insert(path, policy);
            }
        }
    }

    /// Network devices, by their names in the kernel's list.
    fn devices(&mut self) {
        let listed = self.machine.read(DEVICES).unwrap_or_default();
        for line in listed.lines() {
            let Some((device, _)) = line.split_once(':') else { continue };
            let device = device.trim();
            if !is_a_name(device) {
                continue;
            }
            if is_named_by_address(device) {
                self.recording.manifest.left_out.push("a network device whose name is its address".into());
                continue;
            }
            for file in OF_A_DEVICE {
                self.take(&format!("/sys/class/net/{device}/{file}"), Keep::Whole);
            }
            match self.machine.coalescing(device) {
                Ok(values) => drop(self.recording.coalescing.insert(device.to_owned(), values.to_string())),
                Err(errno) => {
                    let place = CoalescingPlace { device, names: Vec::new() };
                    self.recording.manifest.refused(place.to_string(), errno);
                }
            }
        }
    }

    /// Folders of the kernel that were looked into and held nothing are there all the same.
    fn finish(mut self) -> CapturedMachine {
        let empty: BTreeSet<String> = self
            .listed
            .into_iter()
            .filter(|(folder, entries)| folder.starts_with("/sys/") && entries.is_empty())
            .map(|(folder, _)| folder)
            .filter(|folder| !self.recording.manifest.errnos.contains_key(folder))
            .collect();
        self.recording.manifest.folders = empty;
        self.recording
    }
}

/// Whether a file's name says that it holds what tells one machine from another: sensors of power have serial numbers.
fn tells_who(name: &str) -> bool {
    ["serial", "uuid", "oem_info"].iter().any(|part| name.contains(part))
}

/// Whether a machine may call a file so in our folder: it names one thing, there.
fn is_a_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0'])
}
