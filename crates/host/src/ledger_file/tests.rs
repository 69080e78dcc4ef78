//! The ledger's file: durable, private, replaced whole.
use std::os::unix::fs::PermissionsExt;

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
