//! The store by itself: what is derived, what is refused, and in which words.
use std::os::unix::fs::PermissionsExt;

use powerband_record::{
    Better, BlockDone, Calibration, CloseReason, Counts, Finding, Hint, KneeFinding, Level, Metric, Outcome, Owner,
    PlannedSetting, PlannedTrial, ReachedSite, Resumption, SettingVerdict, Started, Verdict, Void,
};

use super::*;
use crate::Store;

impl Store {
    fn db(&self) -> &Connection {
        self.engine.db().unwrap()
    }
}

fn header() -> ExperimentHeader {
    ExperimentHeader {
        journal_version: 1,
        id: 0,
        run: None,
        fleet: None,
        started_unix_s: 1_800_000_000,
        host: "bench".into(),
        powerband: "0.0.0".into(),
        command_line: vec!["powerband".into(), "try".into(), "freq=250MHz,500MHz".into()],
        folder: Some("/srv".into()),
        owner: None,
        resumed: vec![],
        observer_cpu_s: None,
        observer_wakeups: None,
    }
}

fn started() -> Event {
    let setting = |label: &str| PlannedSetting { label: label.into(), turns: format!("freq={label}") };
    let metrics = [
        Metric { name: "rate_mbit_s".into(), better: Better::Higher, judged: true, boundary: None },
        Metric { name: "power_w".into(), better: Better::Lower, judged: false, boundary: Some("modelled".into()) },
    ];
    let started = serde_json::json!({
        "title": "router", "machine": "sim:omap3530", "system": "3.3.7",
        "load": {"kind": "stream", "for_ns": 10, "a": 1}, "seed": u64::MAX,
        "settings": [setting("500MHz"), setting("250MHz")], "metrics": metrics, "cost_order": [1, 0], "alpha": 0.05,
        "margin": 0.05, "margin_source": "default", "max_blocks": 30, "settle_ns": 0, "warmup": 0,
    });
    Event::Started(Box::new(serde_json::from_value(started).unwrap()))
}

fn trial(trial: u32, block: u32, setting: u32) -> Event {
    Event::TrialStarted(PlannedTrial { trial, block, setting, copy: 0, at_ns: u64::from(trial) * 10 })
}

fn done(trial: u32, rate: f64) -> Event {
    let metrics = [("rate_mbit_s".to_owned(), rate), ("power_w".to_owned(), 0.1 + 0.2)].into();
    Event::TrialDone { trial, at_ns: 7, outcome: Outcome { metrics, ..Outcome::default() } }
}

fn verdict(verdict: Verdict) -> SettingVerdict {
    SettingVerdict {
        setting: 1,
        metric: "rate_mbit_s".into(),
        verdict,
        change: -0.45,
        low: Some(-0.47),
        high: Some(-0.43),
        allowing_after: None,
        blocks: 2,
        decided_at: (verdict != Verdict::Undecided).then_some(2),
        predicted_blocks: (verdict == Verdict::Undecided).then_some((3, 9)),
        absolute: false,
        unstable: false,
        notes: vec![],
    }
}

fn calibration(metric: &str, relative: bool, sigma: f64) -> Calibration {
    let json = serde_json::json!({
        "metric": metric, "relative": relative, "trials": 24, "blocks": 12, "level": 50.0, "sigma": sigma,
        "sigma_df": 12.0, "sigma_robust": sigma, "rho": 0.0, "autocorrelation": [], "drift_per_block": 0.0,
        "outlier_share": 0.0, "bimodal": false, "mde": [], "time_for": [], "default_margin": 0.04, "advice": [],
    });
    serde_json::from_value(json).unwrap()
}

fn finding(reason: CloseReason) -> Finding {
    Finding {
        reason,
        at_ns: 99,
        blocks: 2,
        trials: 4,
        voids: 1,
        verdicts: vec![verdict(Verdict::Worse)],
        requirements: vec![],
        calibrations: vec![calibration("rate_mbit_s", true, 0.01)],
        levels: vec![Level {
            setting: 0,
            metric: "rate_mbit_s".into(),
            trials: 2,
            typical: 56.534_3,
            low: None,
            high: None,
        }],
        knee: Some(KneeFinding {
            metric: "rate_mbit_s".into(),
            knee: Some(0),
            provisional: None,
            probability: None,
            inferior: vec![1],
            alike: vec![0],
            none: false,
        }),
        search: None,
        notes: vec![],
    }
}

fn journal() -> Vec<Event> {
    let block = |block, state| {
        let verdicts = vec![verdict(state)];
        Event::BlockDone(BlockDone { block, at_ns: 5, verdicts, requirements: vec![], knee: None, search: None })
    };
    let site = ReachedSite {
        knob: "cpufreq.freq".into(),
        site: "policy0".into(),
        asked: "500000".into(),
        reads_back: Some("500000".into()),
        landed: "applied".into(),
    };
    vec![
        started(),
        trial(0, 1, 0),
        Event::Landed { trial: 0, site },
        done(0, 56.627),
        trial(1, 1, 1),
        Event::TrialVoid { trial: 1, at_ns: 9, why: Void::LoadFailed { why: "load: exit status 1".into() } },
        trial(2, 1, 1),
        done(2, 31.696_2),
        block(1, Verdict::Undecided),
        trial(3, 2, 1),
        done(3, 29.8 + 0.015_3),
        trial(4, 2, 0),
        done(4, 57.3872),
        block(2, Verdict::Worse),
        Event::SettingLeft { setting: 1, block: 2, why: "decided".into() },
        Event::Restored { entries: 1, failed: vec![], changed: vec![] },
        Event::Closed(finding(CloseReason::Decided)),
    ]
}

fn fresh() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("state/store.db")).unwrap();
    (folder, store)
}

fn filled(events: &[Event]) -> (tempfile::TempDir, Store, i64) {
    let (folder, mut store) = fresh();
    let id = store.begin(&header()).unwrap();
    for event in events {
        store.append(id, event).unwrap();
    }
    (folder, store, id)
}

#[test]
fn what_was_appended_reads_back_byte_for_byte() {
    let (folder, store, id) = filled(&journal());
    assert_eq!(store.events(id).unwrap(), journal());
    let (head, lines) = store.journal(id).unwrap();
    assert_eq!(head, ExperimentHeader { id: 1, ..header() });
    let expected: Vec<String> = journal().iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    assert_eq!(lines, expected);
    assert!(lines[0].contains(r#""load":{"kind":"stream","for_ns":10,"a":1}"#), "{}", lines[0]);
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
        assert_eq!(store.rederive(id).unwrap(), Vec::<String>::new(), "after {end} events");
        assert_eq!(dump(store.db(), id).unwrap(), before);
    }
}

#[test]
fn every_derived_table_is_filled_and_a_foreign_change_is_found_and_undone() {
    let (_folder, mut store, id) = filled(&journal());
    let before = dump(store.db(), id).unwrap();
    for (table, rows) in &before {
        assert!(!rows.is_empty(), "{table} is empty");
    }
    let values = before.iter().find(|(table, _)| table == "metric_value").unwrap();
    assert_eq!(values.1.len(), 8);
    assert!(values.1[0].ends_with("Real(0.30000000000000004)"), "{}", values.1[0]);
    store.db().execute("UPDATE level SET typical = 1.0", []).unwrap();
    store.db().execute("UPDATE experiment SET title = 'other'", []).unwrap();
    assert_eq!(store.rederive(id).unwrap(), ["level", "experiment"]);
    assert_eq!(dump(store.db(), id).unwrap(), before);
}

#[test]
fn events_can_neither_be_changed_nor_removed() {
    let (_folder, store, _) = filled(&journal());
    for sql in ["UPDATE event SET json = '{}'", "DELETE FROM event WHERE seq = 3"] {
        let error = store.db().execute(sql, []).unwrap_err().to_string();
        assert!(error.contains("append-only"), "{error}");
    }
}

#[test]
fn what_measured_nothing_can_be_withdrawn_and_nothing_else() {
    let (_folder, mut store, id) = filled(&journal());
    assert!(!store.withdraw(id).unwrap(), "it has valid trials");
    let second = store.begin(&header()).unwrap();
    store.append(second, &started()).unwrap();
    assert!(store.withdraw(second).unwrap());
    assert_eq!(store.list().unwrap().iter().map(|s| s.id).collect::<Vec<_>>(), [id]);
    assert_eq!(store.begin(&header()).unwrap(), second, "its number is free again");
    // The trigger is there as before.
    let error = store.db().execute("DELETE FROM event WHERE seq = 3", []).unwrap_err().to_string();
    assert!(error.contains("append-only"), "{error}");
    assert!(matches!(store.withdraw(99), Err(StoreError::NoExperiment(_))));
}

#[test]
fn a_list_says_what_there_is() {
    let (_folder, mut store, _) = filled(&journal());
    let second = store.begin(&header()).unwrap();
    store.append(second, &started()).unwrap();
    let list = store.list().unwrap();
    assert_eq!(list.iter().map(|s| (s.id, s.state)).collect::<Vec<_>>(), [(1, State::Ended), (2, State::Running)]);
    let first = Summary {
        id: 1,
        started_unix_s: 1_800_000_000,
        host: "bench".into(),
        owner: None,
        fleet: None,
        title: Some("router".into()),
        machine: Some("sim:omap3530".into()),
        far: None,
        load: Some(serde_json::json!({"kind": "stream", "for_ns": 10, "a": 1})),
        state: State::Ended,
        reason: Some(CloseReason::Decided),
        counts: Counts { settings: 2, blocks: 2, trials: 4, voids: 1, decided: 1, open: 0 },
        knee: Some("500MHz".into()),
        search: None,
        ended_ns: Some(99),
    };
    assert_eq!(list[0], first);
}

fn gone_on(by: u32) -> ExperimentHeader {
    let owner = Owner { pid: by, start_ticks: 7, boot_id: "b".into() };
    let resumed = vec![Resumption { unix_s: 1_800_000_100, kept_events: 9, dropped_events: 5, max_blocks: None }];
    ExperimentHeader { id: 1, owner: Some(owner), resumed, ..header() }
}

fn superseded(store: &Store) -> Vec<(i64, i64, String)> {
    let mut query = store.db().prepare("SELECT resumption, seq, json FROM superseded ORDER BY 1, 2").unwrap();
    query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap().map(Result::unwrap).collect()
}

#[test]
fn what_does_not_stand_is_set_aside_and_what_is_derived_is_that_of_the_rest() {
    for keep in 1..journal().len() {
        let (_folder, mut store, id) = filled(&journal());
        let lines = store.journal(id).unwrap().1;
        let seen = store.header(id).unwrap();
        store.rewind(id, (&seen, lines.len()), keep, &gone_on(4)).unwrap();
        assert_eq!(store.journal(id).unwrap(), (gone_on(4), lines[..keep].to_vec()));
        let aside: Vec<_> =
            (keep..lines.len()).map(|seq| (1, i64::try_from(seq).unwrap(), lines[seq].clone())).collect();
        assert_eq!(superseded(&store), aside);
        let (_other, never, other) = filled(&journal()[..keep]);
        assert_eq!(dump(store.db(), id).unwrap(), dump(never.db(), other).unwrap(), "after {keep} events");
        assert_eq!(store.rederive(id).unwrap(), Vec::<String>::new());
        for event in &journal()[keep..] {
            store.append(id, event).unwrap();
        }
        assert_eq!(store.journal(id).unwrap().1, lines);
    }
}

#[test]
fn twice_set_aside_is_kept_twice() {
    let (_folder, mut store, id) = filled(&journal());
    let all = journal().len();
    store.rewind(id, (&store.header(id).unwrap(), all), 9, &gone_on(4)).unwrap();
    store.append(id, &trial(3, 2, 1)).unwrap();
    store.rewind(id, (&store.header(id).unwrap(), 10), 9, &gone_on(5)).unwrap();
    let aside = superseded(&store);
    assert_eq!(aside.len(), all - 9 + 1);
    assert_eq!(aside.last().map(|(resumption, seq, _)| (*resumption, *seq)), Some((2, 9)));
    for sql in ["UPDATE superseded SET json = '{}'", "DELETE FROM superseded", "DELETE FROM event WHERE seq = 3"] {
        let error = store.db().execute(sql, []).unwrap_err().to_string();
        assert!(error.contains("append-only"), "{error}");
    }
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
    journal().iter().for_each(|event| store.append(id, event).unwrap());
    store.rewind(id, (&store.header(id).unwrap(), journal().len()), 9, &gone_on(4)).unwrap();
    assert_eq!(superseded(&store).len(), journal().len() - 9);
}

#[test]
fn headers_change_and_nothing_else_does() {
    let (_folder, mut store, id) = filled(&journal());
    let later = ExperimentHeader { observer_cpu_s: Some(0.42), observer_wakeups: Some(120), ..header() };
    store.update_header(id, &later).unwrap();
    assert_eq!(store.header(id).unwrap(), ExperimentHeader { id, ..later });
    assert_eq!(store.events(id).unwrap(), journal());
}

#[test]
fn what_is_meant_is_found_or_said_to_be_missing() {
    let (_folder, mut store) = fresh();
    let said = |store: &Store, text: &str| store.resolve(text).unwrap_err().to_string();
    assert_eq!(store.newest().unwrap(), None);
    assert_eq!(said(&store, "last"), "there is no experiment here yet");
    assert_eq!(store.resolve("last").unwrap_err().hint(), Some(Hint::MakeExperiment));
    assert_eq!(store.begin(&header()).unwrap(), 1);
    assert_eq!(store.begin(&header()).unwrap(), 2);
    assert_eq!(store.resolve("last").unwrap(), 2);
    assert_eq!(store.resolve(" 1 ").unwrap(), 1);
    for missing in ["12", "0", "99999999999999999999"] {
        let expected = format!("there is no experiment {missing} here");
        assert_eq!(said(&store, missing), expected);
        assert_eq!(store.resolve(missing).unwrap_err().hint(), Some(Hint::ListExperiments));
    }
    for nonsense in ["", "newest", "-1", "1.5"] {
        let expected = format!("'{nonsense}' is not an experiment; write its number or `last`");
        assert_eq!(said(&store, nonsense), expected);
    }
    let missing = "there is no experiment 12 here";
    assert_eq!(store.append(12, &started()).unwrap_err().to_string(), missing);
    assert_eq!(store.update_header(12, &header()).unwrap_err().to_string(), missing);
    assert_eq!(store.rederive(12).unwrap_err().to_string(), missing);
}

#[test]
fn what_would_not_read_back_is_refused_whole() {
    let (_folder, mut store, id) = filled(&journal()[..2]);
    let before = dump(store.db(), id).unwrap();
    let error = store.append(id, &done(0, f64::NAN)).unwrap_err();
    assert!(matches!(error, StoreError::Unstorable { seq: 2, .. }), "{error}");
    let error = store.append(id, &done(7, 1.0)).unwrap_err();
    assert!(matches!(error, StoreError::Unstorable { seq: 2, .. }), "the trial never began: {error}");
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
    let error = (0..10_000)
        .find_map(|n| store.append(id, &trial(n, 1, 0)).map(|()| stored += 1).err())
        .expect("two pages are not enough for ten thousand trials");
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(error.to_string().ends_with("is full; everything stored before is kept, make room and go on"), "{error}");
    assert_eq!(store.events(id).unwrap().len(), 1 + stored);
    limit(&store, 1_000_000);
    store.append(id, &trial(20_000, 1, 0)).unwrap();
    assert_eq!(store.rederive(id).unwrap(), Vec::<String>::new());
}

#[test]
fn folder_and_file_are_the_owners_alone() {
    let (folder, _store, _) = filled(&journal());
    let mode = |name: &str| folder.path().join(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("state"), 0o700);
    assert_eq!(mode("state/store.db"), 0o600);
    assert_eq!(mode("state/store.db-wal"), 0o600);
}

#[test]
fn files_that_are_not_ours_are_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    std::fs::write(place("text"), "not a database, but long enough to be read as the header of one".repeat(40))
        .unwrap();
    let error = Store::open(place("text")).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    let other = Connection::open(place("other.db")).unwrap();
    other.execute_batch("CREATE TABLE bookmark (url TEXT)").unwrap();
    let error = Store::open(place("other.db")).unwrap_err();
    assert!(matches!(error, StoreError::NotOurs { .. }), "{error}");
    drop(Store::open(place("new.db")).unwrap());
    Connection::open(place("new.db")).unwrap().pragma_update(None, "user_version", 7).unwrap();
    let error = Store::open(place("new.db")).unwrap_err();
    assert!(error.to_string().ends_with("newer powerband (store version 7, this one knows 3)"), "{error}");
    assert_eq!(error.hint(), Some(Hint::Update));
    std::fs::create_dir(place("folder")).unwrap();
    let error = Store::open(place("folder")).unwrap_err();
    assert!(matches!(error, StoreError::CannotOpen { .. }), "{error}");
    let error = Store::open(place("text/below/store.db")).unwrap_err();
    assert!(matches!(error, StoreError::CannotCreate { .. }), "{error}");
    let error = Store::open("/proc/none/store.db").unwrap_err();
    assert!(matches!(error, StoreError::CannotCreate { .. }), "{error}");
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
    let mut store = Store { engine: Box::new(Local::open_waiting(&path, Duration::from_millis(20)).unwrap()) };
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
                journal().iter().for_each(|event| store.append(id, event).unwrap());
            });
        }
    });
    let mut store = Store::open(&path).unwrap();
    let ids: Vec<i64> = store.list().unwrap().iter().map(|s| s.id).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7, 8]);
    for id in ids {
        assert_eq!(store.events(id).unwrap(), journal());
        assert_eq!(store.rederive(id).unwrap(), Vec::<String>::new());
    }
}

/// A journal of a machine whose `rate_mbit_s` and `power_w` were calibrated.
fn calibrated(system: &str, sigma: f64) -> Vec<Event> {
    let Event::Started(mut begun) = started() else { unreachable!("the plan comes first") };
    (begun.calibration, begun.system) = (true, system.to_owned());
    let calibrations = vec![calibration("rate_mbit_s", true, sigma), calibration("power_w", false, sigma)];
    vec![Event::Started(begun), Event::Closed(Finding { calibrations, ..finding(CloseReason::Blocks) })]
}

#[test]
fn noise_is_that_of_the_latest_calibration_of_the_same_machine_and_load() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path().join("s.db")).unwrap();
    for (system, sigma) in [("3.3.7", 0.5), ("3.3.7", 0.02), ("6.1", 0.3)] {
        let id = store.begin(&header()).unwrap();
        calibrated(system, sigma).iter().for_each(|event| store.append(id, event).unwrap());
    }
    let Event::Started(begun) = started() else { unreachable!("the plan comes first") };
    let host = header().host;
    let of = |started: &Started, place: usize, host: &str| store.noise(host, started, &started.metrics[place]).unwrap();
    let found = of(&begun, 0, &host).unwrap();
    assert_eq!((found.experiment, found.sigma, found.default_margin, found.trials), (2, 0.02, 0.04, 24));
    // What is in the metric's own unit comes as a share of its level.
    assert_eq!(of(&begun, 1, &host).map(|it| it.sigma), Some(0.02 / 50.0));
    assert_eq!(of(&begun, 0, "another"), None);
    let mut other = begun.clone();
    other.load = serde_json::json!({"kind": "stream", "for_ns": 11, "a": 1});
    assert_eq!(of(&other, 0, &host), None);
    other = begun.clone();
    other.metrics[1].boundary = Some("wall".into());
    assert_eq!((of(&other, 1, &host), of(&other, 0, &host).is_some()), (None, true));
    other.machine = "sim:pc".into();
    assert_eq!(of(&other, 0, &host), None);
    assert_eq!(store.rederive(2).unwrap(), Vec::<String>::new());
    assert_eq!(store.noise(&host, &begun, &begun.metrics[0]).unwrap(), Some(found), "derived again, it is the same");
}
