//! The same files below many folders, as `info` wants them of every CPU: opened from their folder, so that the way there is
//! gone once, and by several threads, because a CPU may have to be woken to answer.
use std::os::fd::OwnedFd;

use powerband_machine::Errno;
use rustix::fs::{Mode, OFlags, RawDir};

use crate::errno;
use crate::files::read_attribute;
use crate::readable::read_place;

type Texts = Vec<Result<String, Errno>>;

/// So few folders are not worth a thread.
const FEW: usize = 64;

/// More threads than these do not make it quicker: they meet at the kernel's locks.
const MAX_THREADS: usize = 8;

/// The texts of `names` below each of `folders`.
pub(crate) fn read_in(folders: &[String], names: &[&str]) -> Vec<Texts> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MAX_THREADS);
    let share = folders.len().div_ceil(threads).max(FEW);
    let mut parts = folders.chunks(share);
    // The first part is ours.
    let Some(own) = parts.next() else { return Vec::new() };
    std::thread::scope(|scope| {
        let begin = |part| (part, std::thread::Builder::new().spawn_scoped(scope, move || read_each(part, names)));
        let others: Vec<_> = parts.map(begin).collect();
        let mut texts = read_each(own, names);
        for (part, thread) in others {
            // What could not be begun or has failed is done here.
            let read = thread.ok().and_then(|thread| thread.join().ok());
            texts.extend(read.unwrap_or_else(|| read_each(part, names)));
        }
        texts
    })
}

fn read_each(folders: &[String], names: &[&str]) -> Vec<Texts> {
    let mut reader = Reader { names, buffer: Vec::new(), missing: 0 };
    folders.iter().map(|folder| reader.read(folder)).collect()
}

/// Reads one folder after the other, and learns from each for the next.
struct Reader<'n> {
    names: &'n [&'n str],
    /// Only working space.
    buffer: Vec<u8>,
    /// How many of the names, or of the folders they lead through, the folder before had not.
    missing: usize,
}

/// Listing a folder costs about as much as asking for so many files that are not there.
const WORTH_A_LIST: usize = 3;

impl Reader<'_> {
    fn read(&mut self, folder: &str) -> Texts {
        let Reader { names, buffer, missing } = self;
        // Elsewhere are files that answer in another manner.
        if !folder.starts_with("/sys/devices/") {
            return names.iter().map(|name| read_place(&format!("{folder}/{name}"), buffer)).collect();
        }
        let open = |access| rustix::fs::open(folder, access | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let listed = if *missing < WORTH_A_LIST { None } else { open(OFlags::RDONLY).ok() };
        let there = listed.as_ref().and_then(|folder| which_are_there(folder, names, buffer));
        let texts: Texts = match listed.map_or_else(|| open(OFlags::PATH), Ok) {
            Err(error) => names.iter().map(|_| Err(errno(error))).collect(),
            Ok(folder) => {
                let lacks = |number: usize| there.as_ref().is_some_and(|there| !there[number]);
                let read = |(number, name): (usize, &&str)| {
                    if lacks(number) { Err(Errno::ENOENT) } else { read_attribute(&folder, name, buffer) }
                };
                names.iter().enumerate().map(read).collect()
            }
        };
        let lacks =
            |(name, text): &(&&str, &Result<String, Errno>)| !name.contains('/') && **text == Err(Errno::ENOENT);
        *missing = names.iter().zip(&texts).filter(lacks).count();
        texts
    }
}

/// Of each name whether the folder has it, or the folder it leads through; nothing when it cannot be listed.
fn which_are_there(folder: &OwnedFd, names: &[&str], buffer: &mut Vec<u8>) -> Option<Vec<bool>> {
    let first = |name: &&str| name.split_once('/').map_or(name.len(), |(first, _)| first.len());
    let ends: Vec<usize> = names.iter().map(first).collect();
    buffer.reserve(1 << 14);
    let mut there = vec![false; names.len()];
    let mut entries = RawDir::new(folder, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry.ok()?;
        let entry = entry.file_name().to_bytes();
        for ((name, &end), there) in names.iter().zip(&ends).zip(&mut there) {
            *there |= name.as_bytes()[..end] == *entry;
        }
    }
    Some(there)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_folders_are_read_as_each_by_itself() {
        let place = tempfile::tempdir().unwrap();
        let folders: Vec<String> = (0..300).map(|number| format!("{}/{number}", place.path().display())).collect();
        for (number, folder) in folders.iter().enumerate().filter(|(number, _)| number % 7 != 0) {
            std::fs::create_dir_all(format!("{folder}/deep")).unwrap();
            std::fs::write(format!("{folder}/deep/file"), format!("{number}\n")).unwrap();
        }
        for (number, texts) in read_in(&folders, &["deep/file", "none", "deep"]).into_iter().enumerate() {
            let first = if number % 7 == 0 { Err(Errno::ENOENT) } else { Ok(format!("{number}\n")) };
            let last = if number % 7 == 0 { Errno::ENOENT } else { Errno::EISDIR };
            assert_eq!(texts, [first, Err(Errno::ENOENT), Err(last)]);
        }
        assert_eq!(read_in(&[], &["x"]), Vec::<Texts>::new());
    }

    #[test]
    fn attributes_read_alike_from_their_folder_and_by_their_path() {
        let folder = "/sys/devices/system/cpu".to_owned();
        let names = ["online", "possible", "cpu0/topology/core_id", "none", "cpu0", "modalias", "uevent"];
        // Some more that are not there: then folders are listed first, from the second on.
        let none = ["none/deep", "cpu", "onlines", "onlin"];
        for names in [names.to_vec(), [&names[..], &none].concat()] {
            let mut buffer = Vec::new();
            let by_path = |folder: &str| -> Texts {
                names.iter().map(|name| crate::files::read(&format!("{folder}/{name}"), &mut buffer)).collect()
            };
            let folders = [&folder, "/sys/devices/none", "/sys/devices/system", &folder].map(str::to_owned);
            let by_paths: Vec<Texts> = folders.iter().map(String::as_str).map(by_path).collect();
            assert_eq!(read_in(&folders, &names), by_paths);
        }
    }
}
