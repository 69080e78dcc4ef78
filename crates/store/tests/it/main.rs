//! The store against the world: a process killed while it appends, a disk that is really full.
//!
//! Both need a second process, for which this binary starts itself with one test picked by name and a place to write.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on may stop where it stands; a started copy tells its starter by printing"
)]
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use powerband_record::{Event, ExperimentHeader, Outcome, PlannedTrial};
use powerband_store::{Store, StoreError};

/// Names the store a started copy of this binary writes to.
const PLACE: &str = "POWERBAND_STORE_TEST";

fn header() -> ExperimentHeader {
    let least =
        r#"{"journal_version":1,"id":0,"started_unix_s":1,"host":"bench","powerband":"0.0.0","command_line":[]}"#;
    serde_json::from_str(least).unwrap()
}

fn trial(trial: u32) -> [Event; 2] {
    let metrics = [("real_s".to_owned(), f64::from(trial) + 0.1)].into();
    [
        Event::TrialStarted(PlannedTrial { trial, block: 1, setting: 0, copy: 0, at_ns: 0 }),
        Event::TrialDone { trial, at_ns: 1, outcome: Outcome { metrics, ..Outcome::default() } },
    ]
}

/// Appends trials until it cannot, naming the last that is stored in a file next to the store; answers why it ended.
fn append_until_it_ends(place: &Path) -> StoreError {
    let mut store = Store::open(place).unwrap();
    let id = store.begin(&header()).unwrap();
    let said = place.with_extension("said");
    for n in 0.. {
        if let Err(error) = trial(n).iter().try_for_each(|event| store.append(id, event)) {
            return error;
        }
        // May fail on a full disk, where nobody reads it.
        std::fs::write(&said, n.to_string()).ok();
        assert!(n < 1_000_000, "nobody came to end this");
    }
    unreachable!("numbers do not end")
}

fn myself(test: &str, place: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(PLACE, place).stdout(Stdio::piped());
    command
}

/// Where this copy of the binary is to write, if it was started by another.
fn place_given() -> Option<PathBuf> {
    std::env::var_os(PLACE).map(PathBuf::from)
}

#[test]
fn killing_the_writer_loses_nothing_it_was_told_is_stored() {
    if let Some(place) = place_given() {
        panic!("{}", append_until_it_ends(&place));
    }
    for round in 0..5_u64 {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("store.db");
        let said = place.with_extension("said");
        let mut writer = myself("killing_the_writer_loses_nothing_it_was_told_is_stored", &place)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let last = || std::fs::read_to_string(&said).ok().and_then(|text| text.parse::<usize>().ok()).unwrap_or(0);
        while last() < 20 {
            assert!(writer.try_wait().unwrap().is_none(), "the writer ended by itself");
            std::thread::sleep(std::time::Duration::from_millis(1 + round));
        }
        writer.kill().unwrap();
        writer.wait().unwrap();
        let told = last().max(20);
        let mut store = Store::open(&place).unwrap();
        let events = store.events(1).unwrap();
        assert!(events.len() >= 2 * (told + 1), "{} events stored, {told} trials told", events.len());
        for (n, pair) in (0..).zip(events.chunks_exact(2)) {
            assert_eq!(pair, trial(n));
        }
        assert_eq!(store.rederive(1).unwrap(), Vec::<String>::new());
        store.append(1, &Event::Restored { entries: 0, failed: vec![], changed: vec![] }).unwrap();
    }
}

/// What the started copy does on a small file system of its own.
fn fill(place: &Path) {
    let error = append_until_it_ends(place);
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    // Still full, and read again by a new connection.
    let store = Store::open(place).unwrap();
    let stored = store.events(1).unwrap();
    assert!(stored.len() > 100, "{}", stored.len());
    for (n, pair) in (0..).zip(stored.chunks_exact(2)) {
        assert_eq!(pair, trial(n));
    }
    drop(store);
    // Room again: it goes on.
    std::fs::remove_file(place.with_file_name("ballast")).unwrap();
    let mut store = Store::open(place).unwrap();
    store.append(1, &Event::Restored { entries: 0, failed: vec![], changed: vec![] }).unwrap();
    assert_eq!(store.events(1).unwrap().len(), stored.len() + 1);
    assert_eq!(store.rederive(1).unwrap(), Vec::<String>::new());
    println!("filled and went on");
}

/// Runs only where a private mount namespace can be had; with CI=true that is demanded.
#[test]
fn a_disk_that_is_really_full() {
    if let Some(place) = place_given() {
        return fill(&place);
    }
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store.db");
    let command = myself("a_disk_that_is_really_full", &place);
    let script =
        r#"mount -t tmpfs -o size=8m,mode=700 none "$0" && head -c 262144 /dev/zero > "$0/ballast" && exec "$@""#;
    let output = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", script])
        .arg(folder.path())
        .arg(command.get_program())
        .args(command.get_args())
        .env(PLACE, &place)
        .output();
    let said = output.map(|o| format!("{}{}", String::from_utf8_lossy(&o.stdout), String::from_utf8_lossy(&o.stderr)));
    match said {
        Ok(said) if said.contains("filled and went on") => {}
        Ok(said) if said.contains("running 1 test") => panic!("{said}"),
        refused => {
            assert!(std::env::var_os("CI").is_none(), "no private mount namespace here: {refused:?}");
            eprintln!("skipped, no private mount namespace here: {refused:?}");
        }
    }
}
