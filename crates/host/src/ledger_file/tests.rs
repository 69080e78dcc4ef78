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
    ledger.reserve(100).unwrap();
    ledger.append(b"one\n").unwrap();
    let found = std::fs::metadata(place.path().join("ledger")).unwrap();
    assert_eq!(found.len(), 4);
    assert!(found.blocks() * 512 >= RESERVE_BYTES, "{} blocks", found.blocks());
}
