//! The ledger on a full disk, and the lock between two owners.
use std::io::{BufRead, BufReader};
use std::process::Command;

use powerband_host::{Lock, LockError};

/// Runs the helper's scene on a file system of 256 KiB of its own, with a knob next to it; what it says.
fn on_a_small_disk(full: &str) -> (String, String) {
    let place = tempfile::tempdir().unwrap();
    let knob = place.path().join("knob");
    std::fs::write(&knob, "0\n").unwrap();
    let disk = place.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=256k none {0} && {1} fill-and-turn {0} {2}",
        disk.display(),
        crate::helper().display(),
        knob.display()
    );
    let said = Command::new("unshare").args(["-m", "sh", "-c", &script]).env("FULL", full).output().unwrap();
    assert!(said.status.success(), "{said:?}");
    (String::from_utf8_lossy(&said.stdout).into_owned(), std::fs::read_to_string(&knob).unwrap())
}

#[test]
fn on_a_full_disk_nothing_is_turned() {
    if !crate::can_be_root() {
        return;
    }
    let (said, knob) = on_a_small_disk("before");
    assert!(said.starts_with("turned Err(Unwritable") && said.contains("Errno(28)"), "{said}");
    assert_eq!(knob, "0\n");
}

#[test]
fn what_was_turned_before_the_disk_was_full_is_taken_back() {
    if !crate::can_be_root() {
        return;
    }
    let (said, knob) = on_a_small_disk("after");
    assert!(said.starts_with("undone Ok(Undone)"), "{said}");
    // With the disk still full the next turn may find the room the first one gave back, or be refused; a file on
    // another disk tells which, and must agree with what was said.
    let turned = said.contains("turned Ok(None)");
    assert!(turned || said.contains("Errno(28)"), "{said}");
    assert_eq!(knob, if turned { "2\n" } else { "0\n" });
}

#[test]
fn a_file_that_does_not_fit_keeps_its_old_content() {
    if !crate::can_be_root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let disk = place.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=64k none {0} && {1} overwrite-on-full {2} {0}/knob",
        disk.display(),
        crate::helper().display(),
        place.path().join("state").display()
    );
    let said = Command::new("unshare").args(["-m", "sh", "-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "Some(Errno(28)) as before\n", "{said:?}");
}

#[test]
fn a_second_owner_is_told_who_the_first_is() {
    let place = tempfile::tempdir().unwrap();
    let mut first = crate::scene(&["hold-lock", place.path().to_str().unwrap()]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(first.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "locked\n");
    let Err(LockError::Held(holder)) = Lock::acquire(place.path(), "measuring") else { panic!("it is held") };
    assert_eq!((holder.pid, holder.doing.as_str()), (first.id(), "turning cpufreq.governor"));
    assert!(holder.since_unix_s.abs_diff(powerband_host::unix_time_s()) < 60);
    let words = holder.to_string();
    let starts = format!("powerband {} (turning cpufreq.governor) has held this machine since ", first.id());
    assert!(words.starts_with(&starts), "{words}");
    first.kill().unwrap();
    first.wait().unwrap();
    // Its words are still there, but the lock decides.
    let lock = Lock::acquire(place.path(), "measuring").unwrap();
    let Err(LockError::Held(holder)) = Lock::acquire(place.path(), "again") else { panic!("held by ourselves") };
    assert_eq!((holder.pid, holder.doing.as_str()), (std::process::id(), "measuring"));
    assert_eq!(powerband_host::holder(place.path()).map(|found| found.pid), Some(std::process::id()));
    drop(lock);
    assert_eq!(powerband_host::holder(place.path()), None, "its text is stale");
    assert_eq!(powerband_host::holder(&place.path().join("nowhere")), None);
    drop(Lock::acquire(place.path(), "measuring").unwrap());
}

#[test]
fn a_lock_that_cannot_be_made_says_where() {
    let refused = Lock::acquire(std::path::Path::new("/proc/no/such"), "x").unwrap_err();
    assert!(matches!(refused, LockError::Unusable { .. }) && refused.to_string().contains("/proc/no/such/lock"));
}
