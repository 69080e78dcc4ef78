//! The ledger on a full disk, and the lock between two owners.
use std::io::{BufRead, BufReader};
use std::process::Command;

use powerband_host::{Lock, LockError};

/// Runs a scene of the helper with a file system of its own; what it prints, and what the knob next to that reads.
fn on_a_small_disk(kib: u32, full: &str, scene: &str) -> (String, String) {
    let place = tempfile::tempdir().unwrap();
    let knob = place.path().join("knob");
    std::fs::write(&knob, "0\n").unwrap();
    std::fs::create_dir(place.path().join("disk")).unwrap();
    let script = format!("mount -t tmpfs -o size={kib}k none disk && {} {scene}", crate::helper().display());
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script]).env("FULL", full).current_dir(place.path());
    let said = command.output().unwrap();
    assert!(said.status.success(), "{said:?}");
    (String::from_utf8_lossy(&said.stdout).into_owned(), std::fs::read_to_string(&knob).unwrap())
}

#[test]
fn on_a_full_disk_nothing_is_turned_what_was_is_taken_back_and_a_file_keeps_its_content() {
    if !crate::can_be_root() {
        return;
    }
    let (said, knob) = on_a_small_disk(256, "before", "fill-and-turn $PWD/disk $PWD/knob");
    assert!(said.starts_with("turned Err(Unwritable") && said.contains("Errno(28)"), "{said}");
    assert_eq!(knob, "0\n");
    let (said, knob) = on_a_small_disk(256, "after", "fill-and-turn $PWD/disk $PWD/knob");
    assert!(said.starts_with("undone Ok(Undone)"), "{said}");
    // With the disk still full the next turn may find the room the first one gave back, or be refused; a file on
    // another disk tells which, and must agree with what was said.
    let turned = said.contains("turned Ok(None)");
    assert!(turned || said.contains("Errno(28)"), "{said}");
    assert_eq!(knob, if turned { "2\n" } else { "0\n" });
    let (said, _) = on_a_small_disk(64, "", "overwrite-on-full $PWD/state $PWD/disk/knob");
    assert_eq!(said, "Some(Errno(28)) as before\n");
}

#[test]
fn a_second_owner_is_told_who_the_first_is() {
    let (place, began) = (tempfile::tempdir().unwrap(), powerband_host::unix_time_s());
    let mut first = crate::scene(&["hold-lock", place.path().to_str().unwrap()]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(first.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "locked\n");
    let held = |doing| match Lock::acquire(place.path(), doing) {
        Err(LockError::Held(holder)) => holder,
        other => panic!("it is held: {other:?}"),
    };
    let holder = held("measuring");
    assert!(holder.pid == first.id() && holder.doing == "turning cpufreq.governor");
    assert!((began..=powerband_host::unix_time_s()).contains(&holder.since_unix_s));
    assert!(holder.to_string().contains(&format!("{} (turning cpufreq.governor)", first.id())));
    first.kill().unwrap();
    first.wait().unwrap();
    // Its words are still there, but the lock decides.
    let lock = Lock::acquire(place.path(), "measuring").unwrap();
    let holder = held("again");
    assert!(holder.pid == std::process::id() && holder.doing == "measuring");
    let found = powerband_host::holder(place.path()).unwrap();
    assert_eq!(found.pid, std::process::id());
    drop(lock);
    assert_eq!(powerband_host::holder(place.path()), None);
    assert_eq!(powerband_host::holder(&place.path().join("nowhere")), None);
    drop(Lock::acquire(place.path(), "measuring").unwrap());
}

#[test]
fn a_lock_that_cannot_be_made_says_where() {
    let refused = Lock::acquire(std::path::Path::new("/proc/no/such"), "x").unwrap_err();
    assert!(matches!(refused, LockError::Unusable { .. }));
    assert!(refused.to_string().contains("/proc/no/such/lock"));
}
