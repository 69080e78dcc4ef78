//! The kernel's files: where they are, and what they hold. A module for each surface; crates above name no path under `/sys`
//! or `/proc` themselves. What takes a machine reads each file it names once; what takes a text parses what was read elsewhere.

/// Constants for paths, each documented by what it is.
macro_rules! paths {
    ($($name:ident = $path:literal;)*) => { $(#[doc = concat!("`", $path, "`")] pub const $name: &str = $path;)* };
}

pub mod cgroup;
pub mod cpufreq;
pub mod cpuidle;
pub mod module;
pub mod net;
pub mod power;
pub mod proc;
pub mod topology;

use std::str::FromStr;

use powerband_machine::Look;

/// Returns a file's text without surrounding blanks, if it can be read.
pub fn text(machine: &mut dyn Look, path: &str) -> Option<String> {
    machine.read(path).ok().map(|text| text.trim().to_owned())
}

/// Returns what a file holds, if it can be read as that.
pub fn parsed<T: FromStr>(machine: &mut dyn Look, path: &str) -> Option<T> {
    machine.read(path).ok()?.trim().parse().ok()
}

/// Names in a folder; none where it cannot be listed.
pub fn names(machine: &mut dyn Look, folder: &str) -> Vec<String> {
    machine.list(folder).unwrap_or_default().into_iter().map(|entry| entry.name).collect()
}

/// Names that are `prefix` and a number, by number.
pub fn numbered(names: impl IntoIterator<Item = String>, prefix: &str) -> Vec<(u32, String)> {
    let number = |name: String| Some((name.strip_prefix(prefix)?.parse().ok()?, name));
    let mut found: Vec<(u32, String)> = names.into_iter().filter_map(number).collect();
    found.sort_unstable();
    found
}
