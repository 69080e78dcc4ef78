//! The store by itself: what is derived, what is refused, and in which words.
use std::os::unix::fs::PermissionsExt;

use powerband_record::{Outcome, Owner, PlannedTrial, Resumption, Started};

use super::*;
use crate::Store;

impl Store {
    fn db(&self) -> &Connection {
        self.engine.db().unwrap()
    }
}

fn header() -> ExperimentHeader {
    let header = serde_json::json!({
        "journal_version": 1, "id": 0, "started_unix_s": 1_800_000_000, "host": "bench", "powerband": "0.0.0",
        "command_line": ["powerband", "try", "freq=250MHz,500MHz"], "folder": "/srv",
    });
    serde_json::from_value(header).unwrap()
}

fn events(lines: &str) -> Vec<Event> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// An experiment of two blocks with each kind of event.
fn journal() -> Vec<Event> {
    events(include_str!("tests/journal.jsonl"))
}

fn started() -> Event {
    journal().swap_remove(0)
}

fn begun() -> Box<Started> {
    let Event::Started(begun) = started() else { unreachable!("the plan comes first") };
    begun
}

fn trial(trial: u32, block: u32, setting: u32) -> Event {
    let at_ns = u64::from(trial) * 10;
    Event::TrialStarted(PlannedTrial { trial, block, setting, copy: 0, at_ns })
}

fn done(trial: u32, rate: f64) -> Event {
    let metrics = [("rate_mbit_s".to_owned(), rate), ("power_w".to_owned(), 0.1 + 0.2)].into();
    Event::TrialDone { trial, at_ns: 7, outcome: Outcome { metrics, ..Outcome::default() } }
}

fn append(store: &mut Store, id: i64, events: &[Event]) {
    events.iter().for_each(|event| store.append(id, event).unwrap());
}

/// Nothing that is derived again is other than it was.
fn is_derived(store: &mut Store, id: i64) {
    assert_eq!(store.rederive(id).unwrap(), Vec::<String>::new());
}

/// Rewinds to so many events.
fn rewind(store: &mut Store, id: i64, keep: usize, by: u32) {
    let (seen, count) = (store.header(id).unwrap(), store.events(id).unwrap().len());
    store.rewind(id, (&seen, count), keep, &gone_on(by)).unwrap();
}

/// Neither can be changed nor removed.
fn only_appends(store: &Store, sqls: &[&str]) {
    for sql in sqls {
        let error = store.db().execute(sql, []).unwrap_err().to_string();
        assert!(error.contains("append-only"), "{error}");
    }
}

fn fresh() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("state/store.db")).unwrap();
    (folder, store)
}

fn filled(events: &[Event]) -> (tempfile::TempDir, Store, i64) {
    let (folder, mut store) = fresh();
    let id = store.begin(&header()).unwrap();
    append(&mut store, id, events);
    (folder, store, id)
}

#[test]
fn what_was_appended_reads_back_byte_for_byte() {
    let (folder, store, id) = filled(&journal());
    assert_eq!(store.events(id).unwrap(), journal());
    let (head, lines) = store.journal(id).unwrap();
    assert_eq!(head, ExperimentHeader { id: 1, ..header() });
    let expected: Vec<&str> = include_str!("tests/journal.jsonl").lines().collect();
    assert_eq!(lines, expected);
    drop(store);
    let again = Store::open(folder.path().join("state/store.db")).unwrap();
    assert_eq!(again.events(id).unwrap(), journal());
}

#[test]
fn what_is_derived_at_once_is_what_is_derived_again() {
    // Also after every prefix: an experiment may end anywhere.
    for end in 0..=journal().len() {
        let (_folder, mut store, id) = filled(&journal()[..end]);
        let before = dump(store.db(), id).unwrap();
        is_derived(&mut store, id);
        assert_eq!(dump(store.db(), id).unwrap(), before);
    }
}

#[test]
fn every_derived_table_is_filled_and_a_foreign_change_is_found_and_undone() {
    let (_folder, mut store, id) = filled(&journal());
    let before = dump(store.db(), id).unwrap();
    let tables = before.iter().map(|(table, rows)| format!("{table}\n    {}\n", rows.join("\n    ")));
    insta::assert_snapshot!("derived", tables.collect::<String>());
    store.db().execute("UPDATE level SET typical = 1.0", []).unwrap();
    store.db().execute("UPDATE experiment SET title = 'other'", []).unwrap();
    assert_eq!(store.rederive(id).unwrap(), ["level", "experiment"]);
    assert_eq!(dump(store.db(), id).unwrap(), before);
}

fn ids(store: &Store) -> Vec<i64> {
    store.list().unwrap().iter().map(|summary| summary.id).collect()
}

#[test]
fn events_can_neither_be_changed_nor_removed() {
    let (_folder, store, _) = filled(&journal());
    only_appends(&store, &["UPDATE event SET json = '{}'", "DELETE FROM event WHERE seq = 3"]);
}

#[test]
fn what_measured_nothing_can_be_withdrawn_and_nothing_else() {
    let (_folder, mut store, id) = filled(&journal());
    assert!(!store.withdraw(id).unwrap());
    let second = store.begin(&header()).unwrap();
    store.append(second, &started()).unwrap();
    assert!(store.withdraw(second).unwrap());
    assert_eq!(ids(&store), [id]);
    // Its number is free again.
    assert_eq!(store.begin(&header()).unwrap(), second);
    // The trigger is there as before.
    only_appends(&store, &["DELETE FROM event WHERE seq = 3"]);
    assert!(matches!(store.withdraw(99), Err(StoreError::NoExperiment(_))));
}

#[test]
fn a_list_says_what_there_is() {
    let (_folder, mut store, _) = filled(&journal());
    let second = store.begin(&header()).unwrap();
    store.append(second, &started()).unwrap();
    insta::assert_snapshot!("list", format!("{:#?}", store.list().unwrap()));
}

fn gone_on(by: u32) -> ExperimentHeader {
    let owner = Owner { pid: by, start_ticks: 7, boot_id: "b".into() };
    let (kept_events, dropped_events) = (9, 5);
    let one = Resumption { unix_s: 1_800_000_100, kept_events, dropped_events, max_blocks: None };
    ExperimentHeader { id: 1, owner: Some(owner), resumed: vec![one], ..header() }
}

fn superseded(store: &Store) -> Vec<(i64, i64, String)> {
    let sql = "SELECT resumption, seq, json FROM superseded ORDER BY 1, 2";
    let mut query = store.db().prepare(sql).unwrap();
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

#[test]
fn what_does_not_stand_is_set_aside_and_what_is_derived_is_that_of_the_rest() {
    for keep in 1..journal().len() {
        let (_folder, mut store, id) = filled(&journal());
        let lines = store.journal(id).unwrap().1;
        rewind(&mut store, id, keep, 4);
        assert_eq!(store.journal(id).unwrap(), (gone_on(4), lines[..keep].to_vec()));
        let aside = (0..).zip(&lines).skip(keep).map(|(seq, line)| (1, seq, line.clone()));
        assert_eq!(superseded(&store), aside.collect::<Vec<_>>());
        let (_other, never, other) = filled(&journal()[..keep]);
        let wanted = dump(never.db(), other).unwrap();
        assert_eq!(dump(store.db(), id).unwrap(), wanted, "after {keep} events");
        is_derived(&mut store, id);
        append(&mut store, id, &journal()[keep..]);
        assert_eq!(store.journal(id).unwrap().1, lines);
    }
}

#[test]
fn twice_set_aside_is_kept_twice() {
    let (_folder, mut store, id) = filled(&journal());
    rewind(&mut store, id, 9, 4);
    store.append(id, &trial(3, 2, 1)).unwrap();
    rewind(&mut store, id, 9, 5);
    let aside = superseded(&store);
    assert_eq!(aside.len(), journal().len() - 9 + 1);
    assert!(matches!(aside.last(), Some((2, 9, _))));
    only_appends(&store, &["UPDATE superseded SET json = '{}'", "DELETE FROM superseded"]);
    only_appends(&store, &["DELETE FROM event WHERE seq = 3"]);
}

#[test]
fn of_two_that_go_on_at_once_one_is_refused() {
    let (folder, mut store, id) = filled(&journal()[..10]);
    let mut other = Store::open(folder.path().join("state/store.db")).unwrap();
    let seen = store.header(id).unwrap();
    store.rewind(id, (&seen, 10), 9, &gone_on(4)).unwrap();
    let after = dump(store.db(), id).unwrap();
    let error = other.rewind(id, (&seen, 10), 9, &gone_on(5)).unwrap_err();
    assert!(matches!(error, StoreError::Changed(1)), "{error}");
    // Also one that saw the same header but other events.
    store.append(id, &trial(3, 2, 1)).unwrap();
    let error = other.rewind(id, (&gone_on(4), 9), 9, &gone_on(5)).unwrap_err();
    assert!(matches!(error, StoreError::Changed(1)), "{error}");
    assert_eq!(store.header(id).unwrap(), gone_on(4));
    assert_ne!(dump(store.db(), id).unwrap(), after);
}

#[test]
fn a_store_of_the_first_version_is_brought_to_the_newest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.db");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(include_str!("../../migrations/0001_events.sql")).unwrap();
    old.pragma_update(None, "application_id", i32::from_be_bytes(*b"PwBd")).unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    drop(old);
    let mut store = Store::open(&path).unwrap();
    let id = store.begin(&header()).unwrap();
    append(&mut store, id, &journal());
    rewind(&mut store, id, 9, 4);
    assert_eq!(superseded(&store).len(), journal().len() - 9);
}

#[test]
fn headers_change_and_nothing_else_does() {
    let (_folder, mut store, id) = filled(&journal());
    let mut later = header();
    (later.id, later.observer_cpu_s, later.observer_wakeups) = (id, Some(0.42), Some(120));
    store.update_header(id, &later).unwrap();
    assert_eq!(store.header(id).unwrap(), later);
    assert_eq!(store.events(id).unwrap(), journal());
}

#[test]
fn what_is_meant_is_found_or_said_to_be_missing() {
    let (_folder, mut store) = fresh();
    assert_eq!(store.newest().unwrap(), None);
    assert!(matches!(store.resolve("last"), Err(StoreError::Empty)));
    assert_eq!([(); 2].map(|()| store.begin(&header()).unwrap()), [1, 2]);
    assert_eq!(["last", " 1 "].map(|text| store.resolve(text).unwrap()), [2, 1]);
    for missing in ["12", "0", "99999999999999999999"] {
        let error = store.resolve(missing).unwrap_err();
        assert!(matches!(&error, StoreError::NoExperiment(which) if which == missing), "{error}");
    }
    for nonsense in ["", "newest", "-1", "1.5"] {
        let error = store.resolve(nonsense).unwrap_err();
        assert!(matches!(&error, StoreError::NotAnId(which) if which == nonsense), "{error}");
    }
    let errors = [
        store.append(12, &started()).unwrap_err(),
        store.update_header(12, &header()).unwrap_err(),
        store.rederive(12).unwrap_err(),
    ];
    assert!(errors.iter().all(|it| matches!(it, StoreError::NoExperiment(which) if which == "12")));
}

#[test]
fn what_would_not_read_back_is_refused_whole() {
    let (_folder, mut store, id) = filled(&journal()[..2]);
    let before = dump(store.db(), id).unwrap();
    // No number, and a trial that never began.
    for event in [done(0, f64::NAN), done(7, 1.0)] {
        let error = store.append(id, &event).unwrap_err();
        assert!(matches!(error, StoreError::Unstorable { seq: 2, .. }), "{error}");
    }
    assert_eq!(store.events(id).unwrap(), journal()[..2]);
    assert_eq!(dump(store.db(), id).unwrap(), before);
    store.append(id, &done(0, 1.0)).unwrap();
}

#[test]
fn a_full_disk_loses_nothing_and_can_be_gone_on_from() {
    let (_folder, mut store, id) = filled(&journal()[..1]);
    let pages: i64 = store.db().pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    let limit = |store: &Store, pages: i64| {
        store.db().pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    };
    limit(&store, pages + 2);
    let mut stored = 0;
    // Two pages are not enough for ten thousand trials.
    let mut one = |number| store.append(id, &trial(number, 1, 0)).map(|()| stored += 1);
    let error = (0..10_000).find_map(|number| one(number).err()).unwrap();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert_eq!(store.events(id).unwrap().len(), 1 + stored);
    limit(&store, 1_000_000);
    store.append(id, &trial(20_000, 1, 0)).unwrap();
    is_derived(&mut store, id);
}

#[test]
fn folder_and_file_are_the_owners_alone() {
    let (folder, _store, _) = filled(&journal());
    let mode = |name: &str| folder.path().join(name).metadata().unwrap().permissions().mode() & 0o777;
    let modes = ["state", "state/store.db", "state/store.db-wal"].map(mode);
    assert_eq!(modes, [0o700, 0o600, 0o600]);
}

#[test]
fn files_that_are_not_ours_are_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let text = "not a database, but long enough to be read as the header of one";
    std::fs::write(place("text"), text.repeat(40)).unwrap();
    let other = Connection::open(place("other.db")).unwrap();
    other.execute_batch("CREATE TABLE bookmark (url TEXT)").unwrap();
    drop(Store::open(place("new.db")).unwrap());
    let new = Connection::open(place("new.db")).unwrap();
    new.pragma_update(None, "user_version", 7).unwrap();
    std::fs::create_dir(place("folder")).unwrap();
    let open = |name: &str| Store::open(place(name)).unwrap_err();
    assert!(matches!(open("text"), StoreError::Corrupt { .. }));
    assert!(matches!(open("other.db"), StoreError::NotOurs { .. }));
    assert!(matches!(open("new.db"), StoreError::NewerVersion { found: 7, known: 3, .. }));
    assert!(matches!(open("folder"), StoreError::CannotOpen { .. }));
    assert!(matches!(open("text/below/store.db"), StoreError::CannotCreate { .. }));
    assert!(matches!(open("/proc/none/store.db"), StoreError::CannotCreate { .. }));
}

#[test]
fn a_damaged_page_is_said_to_be_damage() {
    let (folder, store, id) = filled(&journal());
    let path = folder.path().join("state/store.db");
    drop(store);
    let mut bytes = std::fs::read(&path).unwrap();
    for page in bytes.chunks_mut(4096).skip(1) {
        page[..64].fill(0xa5);
    }
    std::fs::write(&path, bytes).unwrap();
    let error = Store::open(&path).and_then(|store| store.events(id)).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[test]
fn a_writer_that_does_not_let_go_is_named_and_readers_go_on() {
    let (folder, _store, id) = filled(&journal());
    let path = folder.path().join("state/store.db");
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let local = Local::open_waiting(&path, Duration::from_millis(20)).unwrap();
    let mut store = Store { engine: Box::new(local) };
    let error = store.append(id, &started()).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    assert_eq!(store.events(id).unwrap().len(), journal().len());
    holder.execute_batch("ROLLBACK").unwrap();
    store.append(id, &started()).unwrap();
}

#[test]
fn many_may_make_the_same_store_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/store.db");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut store = Store::open(&path).unwrap();
                let id = store.begin(&header()).unwrap();
                append(&mut store, id, &journal());
            });
        }
    });
    let mut store = Store::open(&path).unwrap();
    assert_eq!(ids(&store), [1, 2, 3, 4, 5, 6, 7, 8]);
    for id in 1..=8 {
        assert_eq!(store.events(id).unwrap(), journal());
        is_derived(&mut store, id);
    }
}

/// A journal of a machine whose `rate_mbit_s` and `power_w` were calibrated.
fn calibrated(system: &str, sigma: f64) -> Vec<Event> {
    let lines = include_str!("tests/calibrated.jsonl").replace("0.5", &sigma.to_string());
    events(&lines.replace("\"S\"", &format!("{system:?}")))
}

#[test]
fn noise_is_that_of_the_latest_calibration_of_the_same_machine_and_load() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path().join("s.db")).unwrap();
    for (system, sigma) in [("3.3.7", 0.5), ("3.3.7", 0.02), ("6.1", 0.3)] {
        let id = store.begin(&header()).unwrap();
        append(&mut store, id, &calibrated(system, sigma));
    }
    let (begun, host) = (begun(), header().host);
    let of = |started: &Started, place: usize, host: &str| {
        let metric = &started.metrics[place];
        store.noise(host, started, metric).unwrap()
    };
    let found = of(&begun, 0, &host).unwrap();
    assert_eq!([found.sigma, found.default_margin], [0.02, 0.04]);
    assert_eq!((found.experiment, found.trials), (2, 24));
    // What is in the metric's own unit comes as a share of its level.
    assert_eq!(of(&begun, 1, &host).map(|it| it.sigma), Some(0.02 / 50.0));
    assert_eq!(of(&begun, 0, "another"), None);
    let mut other = begun.clone();
    other.load = serde_json::json!({"kind": "stream", "for_ns": 11, "a": 1});
    assert_eq!(of(&other, 0, &host), None);
    other = begun.clone();
    other.metrics[1].boundary = Some("wall".into());
    assert!(of(&other, 1, &host).is_none() && of(&other, 0, &host).is_some());
    other.machine = "sim:pc".into();
    assert_eq!(of(&other, 0, &host), None);
    is_derived(&mut store, 2);
    assert_eq!(store.noise(&host, &begun, &begun.metrics[0]).unwrap(), Some(found));
}
