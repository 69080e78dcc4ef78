//! The same files below many folders, as `info` wants them of every CPU: opened from their folder, so that the way there is
//! gone once, and by several threads, because a CPU may have to be woken to answer.
use powerband_machine::Errno;
use rustix::fs::{Mode, OFlags};

use crate::coalescing::read_place;
use crate::errno;
use crate::files::read_attribute;

type Texts = Vec<Result<String, Errno>>;

/// So few folders are not worth a thread.
const FEW: usize = 64;

/// More threads than these do not make it quicker: they meet at the kernel's locks.
const MOST_THREADS: usize = 8;

/// The texts of `names` below each of `folders`.
pub(crate) fn read_in(folders: &[String], names: &[&str]) -> Vec<Texts> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MOST_THREADS);
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
    let mut buffer = Vec::new();
    folders.iter().map(|folder| read_one(folder, names, &mut buffer)).collect()
}

fn read_one(folder: &str, names: &[&str], buffer: &mut Vec<u8>) -> Texts {
    // Elsewhere are files that answer in another manner.
    if !folder.starts_with("/sys/devices/") {
        return names.iter().map(|name| read_place(&format!("{folder}/{name}"), buffer)).collect();
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::open(folder, flags, Mode::empty()) {
        Err(error) => names.iter().map(|_| Err(errno(error))).collect(),
        Ok(there) => names.iter().map(|name| read_attribute(&there, name, buffer)).collect(),
    }
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
        let mut buffer = Vec::new();
        let by_path = names.map(|name| crate::files::read(&format!("{folder}/{name}"), &mut buffer));
        assert_eq!(read_in(&[folder], &names), [by_path.to_vec()]);
    }
}
