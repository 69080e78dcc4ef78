//! The manifest of a recorded machine: what its tree of files cannot say by itself.
use std::collections::{BTreeMap, BTreeSet};

use powerband_machine::Errno;
use serde::{Deserialize, Serialize};

/// Name of the manifest's file.
pub(super) const NAME: &str = "recorded.toml";
/// Folder of the files, at their paths.
pub(super) const ROOT: &str = "root";
/// Folder of interrupt coalescing, a file for each device.
pub(super) const COALESCING: &str = "coalesce";

/// Version of the layout.
const VERSION: u32 = 1;

/// Permission bits of a file nothing is said about.
const ORDINARY: u32 = 0o644;

/// What stands next to the files. What it does not say is taken as usual, so that one written by hand may be short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Manifest {
    /// Version of the layout.
    pub(super) version: u32,
    /// Kernel release, or the rules of a simulated machine.
    pub(super) system: String,
    /// Whether it was captured as root.
    pub(super) privileged: bool,
    /// The powerband that captured it; empty when it was written by hand.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) powerband: String,
    /// What it is and where it comes from, in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) about: String,
    /// What is not as it was read, in words.
    pub(super) left_out: Vec<String>,
    /// Folders that hold nothing that was recorded.
    pub(super) folders: BTreeSet<String>,
    /// Links: where they stand, and what they lead to.
    pub(super) links: BTreeMap<String, String>,
    /// What the kernel refused to read, by the error's name or number.
    pub(super) errnos: BTreeMap<String, String>,
    /// Permission bits other than 0644, in octal, and the files that have them; `#` stands for any number in their path.
    pub(super) modes: BTreeMap<String, BTreeSet<String>>,
}

impl Manifest {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let manifest: Manifest = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            format!("line {line}: {}", error.message())
        })?;
        match manifest.version {
            VERSION => Ok(manifest),
            0 => Err(format!("it says no version; write `version = {VERSION}`")),
            newer => Err(format!("it is of version {newer}; this powerband reads version {VERSION}")),
        }
    }

    /// An empty one of this version.
    pub(super) fn new() -> Self {
        Manifest { version: VERSION, powerband: env!("CARGO_PKG_VERSION").into(), ..Manifest::default() }
    }

    /// As text.
    pub(super) fn text(&self) -> Result<String, String> {
        toml::to_string_pretty(self).map_err(|error| error.to_string())
    }

    /// What the kernel answered instead of a text; `EIO` for a name no error has.
    pub(super) fn errno(&self, path: &str) -> Option<Errno> {
        let name = self.errnos.get(path)?;
        let named = (1..=Errno::ENOTSUPP.0).map(Errno).find(|errno| errno.name() == name && name != "E?");
        Some(named.or_else(|| name.parse().ok().filter(|number| *number > 0).map(Errno)).unwrap_or(Errno::EIO))
    }

    /// Notes what the kernel answered instead of a text.
    pub(super) fn refused(&mut self, path: String, errno: Errno) {
        let name = if errno.name() == "E?" { errno.0.to_string() } else { errno.name().to_owned() };
        self.errnos.insert(path, name);
    }

    /// Permission bits of a file.
    pub(super) fn mode(&self, path: &str) -> u32 {
        let general = general(path);
        let bits = |key: &str| {
            let (bits, _) = self.modes.iter().find(|(_, paths)| paths.contains(key))?;
            u32::from_str_radix(bits, 8).ok()
        };
        bits(path).or_else(|| bits(&general)).unwrap_or(ORDINARY) & 0o7777
    }

    /// Notes the permission bits of a file. The first of several that differ only in numbers speaks for all.
    pub(super) fn note_mode(&mut self, path: &str, mode: u32) {
        if self.mode(path) == mode {
            return;
        }
        let general = general(path);
        let spoken_for = self.modes.values().any(|paths| paths.contains(&general));
        let key = if spoken_for { path.to_owned() } else { general };
        self.modes.entry(format!("{mode:04o}")).or_default().insert(key);
    }

    /// Names directly in a folder that have no file of their own.
    pub(super) fn names_in<'m>(&'m self, folder: &'m str) -> impl Iterator<Item = &'m str> {
        let folder = folder.trim_end_matches('/');
        let paths = self.folders.iter().chain(self.links.keys()).chain(self.errnos.keys());
        paths.filter_map(move |path| {
            let name = path.strip_prefix(folder)?.strip_prefix('/')?.split('/').next()?;
            (!name.is_empty()).then_some(name)
        })
    }
}

/// A path with `#` for every number in it.
fn general(path: &str) -> String {
    let mut general = String::new();
    for c in path.chars() {
        if !c.is_ascii_digit() {
            general.push(c);
        } else if !general.ends_with('#') {
            general.push('#');
        }
    }
    general
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_says_is_read_again() {
        let mut manifest = Manifest::new();
        manifest.refused("/sys/a".into(), Errno::EACCES);
        manifest.refused("/sys/b".into(), Errno(77));
        manifest.links.insert("/sys/c".into(), "/sys/d".into());
        manifest.folders.insert("/sys/e/f".into());
        manifest.note_mode("/sys/cpu0/g", 0o444);
        manifest.note_mode("/sys/cpu1/g", 0o444);
        manifest.note_mode("/sys/cpu2/g", 0o200);
        let again = Manifest::parse(&manifest.text().unwrap()).unwrap();
        assert_eq!(again, manifest);
        let errnos = ["/sys/a", "/sys/b"].map(|path| again.errno(path));
        assert_eq!(errnos, [Some(Errno::EACCES), Some(Errno(77))]);
        let modes = ["/sys/cpu0/g", "/sys/cpu7/g", "/sys/cpu2/g", "/sys/h"].map(|path| again.mode(path));
        assert_eq!(modes, [0o444, 0o444, 0o200, 0o644]);
        let names: BTreeSet<_> = again.names_in("/sys").chain(again.names_in("/")).collect();
        assert_eq!(names, ["a", "b", "c", "e", "sys"].into());
    }

    #[test]
    fn a_short_one_is_enough_and_a_wrong_one_is_told() {
        let later = Manifest::parse("version = 1\nsystem = '2.6.32'\nlater = 3").unwrap();
        assert_eq!(later.system, "2.6.32");
        let slips = ["", "version = 2", "version = 1\nfolders = 3", "version = 1\n\u{1}"];
        let told = slips.map(|text| Manifest::parse(text).unwrap_err());
        insta::assert_snapshot!("slips", told.join("\n"));
        let odd = Manifest::parse("version = 1\n[errnos]\n'/a' = 'ENOTHING'\n'/b' = '-3'").unwrap();
        assert_eq!(["/a", "/b"].map(|path| odd.errno(path)), [Some(Errno::EIO); 2]);
    }
}
