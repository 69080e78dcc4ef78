//! The ledger's file: durable, private, replaced whole.
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use powerband_machine::{Action, Before, EntryId, Hold, Undone};
use powerband_record::splitmix;

use super::*;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn it_is_private_and_what_is_appended_is_loaded() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a/b");
    let mut ledger = FileLedger::new(&folder);
    assert_eq!(ledger.load().unwrap(), b"");
    assert!(!folder.exists(), "reading makes nothing");
    ledger.append(b"one\n").unwrap();
    ledger.append(b"two\n").unwrap();
    assert_eq!(FileLedger::new(&folder).load().unwrap(), b"one\ntwo\n");
    assert_eq!((mode(&folder), mode(&folder.join("ledger"))), (0o700, 0o600));
}

#[test]
fn it_is_replaced_whole_and_goes_on() {
    let place = tempfile::tempdir().unwrap();
    let mut ledger = FileLedger::new(place.path());
    ledger.append(b"one\ntw").unwrap();
    std::fs::write(place.path().join("ledger.new"), "left behind by a killed owner").unwrap();
    ledger.replace(b"one\n").unwrap();
    ledger.append(b"two\n").unwrap();
    assert_eq!(FileLedger::new(place.path()).load().unwrap(), b"one\ntwo\n");
    assert!(!place.path().join("ledger.new").exists());
    ledger.replace(b"").unwrap();
    ledger.append(b"three\n").unwrap();
    assert_eq!(FileLedger::new(place.path()).load().unwrap(), b"three\n");
    assert_eq!(mode(&place.path().join("ledger")), 0o600);
}

#[test]
fn reserved_room_is_not_content() {
    use std::os::unix::fs::MetadataExt;
    let place = tempfile::tempdir().unwrap();
    let mut ledger = FileLedger::new(place.path());
    ledger.0.borrow_mut().reserve(100).unwrap();
    ledger.append(b"one\n").unwrap();
    let found = std::fs::metadata(place.path().join("ledger")).unwrap();
    assert_eq!(found.len(), 4);
    assert!(found.blocks() * 512 >= RESERVE_BYTES, "{} blocks", found.blocks());
}

#[test]
fn what_is_set_aside_is_appended_beside_it() {
    let place = tempfile::tempdir().unwrap();
    let mut ledger = FileLedger::new(place.path());
    ledger.append(b"one\n").unwrap();
    ledger.set_aside(b"two\n").unwrap();
    ledger.set_aside(b"three\n").unwrap();
    let aside = FileLedger::damaged(place.path());
    assert_eq!(std::fs::read(&aside).unwrap(), b"two\nthree\n");
    assert_eq!((mode(&aside), ledger.load().unwrap()), (0o600, b"one\n".to_vec()));
}

#[test]
fn a_file_others_may_write_a_folder_and_a_link_are_not_believed() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("ledger");
    let why = || match FileLedger::new(place.path()).load() {
        Err(LedgerError::Untrusted { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    std::fs::write(&path, "").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o620)).unwrap();
    assert_eq!(why(), "others may write it (mode 620)");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert_eq!(why(), "it is a folder");
    std::fs::remove_dir(&path).unwrap();
    std::os::unix::fs::symlink("elsewhere", &path).unwrap();
    assert_eq!(why(), "it is a symbolic link");
    std::fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    assert_eq!(why(), "it is not an ordinary file");
}

/// A write to a file of the kernel, with a text of so many bytes in its undo.
fn turn(number: u64, hold: Hold, bytes: usize) -> Turn {
    let write = |text: String| Action::WriteFile { path: format!("/sys/{number}"), text };
    Turn {
        action: write("2".to_owned()),
        undo: Some(write("1".repeat(bytes))),
        hold,
        knob: "file".to_owned(),
        site: "-".to_owned(),
        asked: "2".to_owned(),
        before: Before::Reads("1".repeat(bytes)),
        read_back: None,
        step: None,
        moves: std::collections::BTreeMap::new(),
    }
}

/// The numbers of what is open, and whether it stays.
fn open(ledger: &Ledger) -> BTreeMap<EntryId, Hold> {
    ledger.open().iter().map(|entry| (entry.id, entry.turn.hold)).collect()
}

/// A ledger of which the copy is known as it was before the last step that wrote to the file.
struct Lagging {
    store: FileLedger,
    copy: Rc<RefCell<Vec<u8>>>,
}

impl Lagging {
    fn copied(&self) -> Vec<u8> {
        self.store.copy().map(|copy| copy::bytes(&File::from(copy))).unwrap_or_default()
    }
}

impl LedgerStore for Lagging {
    fn place(&self) -> String {
        self.store.place()
    }

    fn load(&mut self) -> Result<Vec<u8>, LedgerError> {
        self.store.load()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        *self.copy.borrow_mut() = self.copied();
        self.store.append(bytes)
    }

    fn replace(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        *self.copy.borrow_mut() = self.copied();
        self.store.replace(bytes)
    }

    fn set_aside(&mut self, lines: &[u8]) -> Result<(), Errno> {
        self.store.set_aside(lines)
    }
}

/// An owner that sets, keeps and restores on a disk that is full now and then, is killed, and whose ledger somebody may have
/// altered; answers what is lost of what was open.
fn story(seed: u64) -> Result<(), String> {
    let mut state = seed;
    let mut below = |end: usize| usize::try_from(splitmix(&mut state) % end as u64).unwrap();
    let place = tempfile::tempdir_in(if Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" }).unwrap();
    let (path, full) = (place.path().join("ledger"), place.path().join("ledger.new"));
    let store = FileLedger::new(place.path());
    let lagging = Lagging { store: store.clone(), copy: Rc::default() };
    let copied_before = Rc::clone(&lagging.copy);
    let mut ledger = Ledger::load(Box::new(lagging), "boot").unwrap();
    let mut before = BTreeMap::new();
    for _ in 0..1 + below(60) {
        let now = open(&ledger);
        let ids: Vec<EntryId> = now.keys().copied().collect();
        let one = below(ids.len().max(1));
        let step = below(10);
        if step > 1 {
            before = now;
        }
        match step {
            0 => drop(std::fs::create_dir_all(full.join("full"))),
            1 => drop(std::fs::remove_dir_all(&full)),
            2 if !ids.is_empty() => ledger.keep(&[ids[one]]).unwrap(),
            3..6 if !ids.is_empty() => drop(ledger.close(ids[one], Undone::Undone)),
            _ => {
                let hold = if below(5) == 0 { Hold::Held } else { Hold::Set };
                let turn = turn(ids.len() as u64, hold, 1 + below(6000));
                let id = ledger.intend(&turn, &mut |_| Err(Errno::ENOENT)).unwrap();
                ledger.done(id, None, Some("2".to_owned()), &mut |_| {}).unwrap();
            }
        }
    }
    let after = open(&ledger);
    drop(ledger);
    // Killed after its last step, or before the copy had it, or while the copy was written anew.
    let copied = Lagging { store, copy: Rc::default() }.copied();
    let copy = vec![copied, copied_before.take(), Vec::new()].swap_remove(below(3));
    let mut bytes = std::fs::read(&path).unwrap_or_default();
    let is_altered = !copy.is_empty() && !bytes.is_empty() && below(2) == 0;
    if is_altered {
        match below(3) {
            0 => bytes.truncate(below(bytes.len())),
            1 => bytes = b"something else\n".to_vec(),
            _ => {
                let at = below(bytes.len());
                bytes[at] ^= 1 << below(8);
            }
        }
        std::fs::write(&path, &bytes).unwrap();
    }
    std::fs::remove_dir_all(&full).ok();
    let memory = File::from(rustix::fs::memfd_create("copy", rustix::fs::MemfdFlags::CLOEXEC).unwrap());
    memory.write_all_at(&copy, 0).unwrap();
    assert!(FileLedger::new(place.path()).mend(&memory));
    let found = open(&Ledger::load(Box::new(FileLedger::new(place.path())), "boot").unwrap());
    let aside = std::fs::read(FileLedger::damaged(place.path())).unwrap_or_default();
    if !Ledger::union(&aside, b"").0.is_empty() {
        return Err(format!("seed {seed}: a whole record was set aside"));
    }
    // What the last step did may be known to the file alone.
    if found == after || is_altered && found == before {
        return Ok(());
    }
    Err(format!("seed {seed}: {found:?} in place of {after:?}"))
}

#[test]
fn nothing_that_is_open_is_lost_when_a_rewrite_fails_and_its_owner_is_killed() {
    let stories = if std::env::var_os("POWERBAND_SWEEP").is_some() { 10_000 } else { 200 };
    let lost: Vec<String> = (0..stories).filter_map(|seed| story(seed).err()).collect();
    assert!(lost.is_empty(), "{} of {stories}:\n{}", lost.len(), lost.join("\n"));
}

#[test]
fn a_rewrite_that_fails_leaves_the_copy_as_it_was() {
    let place = tempfile::tempdir().unwrap();
    let mut ledger = FileLedger::new(place.path());
    ledger.append(b"one\n").unwrap();
    std::fs::create_dir_all(place.path().join("ledger.new/full")).unwrap();
    ledger.replace(b"two\n").unwrap_err();
    ledger.append(b"three\n").unwrap();
    assert_eq!(copy::bytes(&File::from(ledger.copy().unwrap())), b"one\nthree\n");
}
