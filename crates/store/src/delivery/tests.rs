//! Deliveries in any order, again and again, of experiments that are written and resumed meanwhile.
use powerband_record::{Event, Resumption};

use super::*;
use crate::engine::Engine;
use crate::local::Local;

/// A generator of Knuth's (MMIX), its upper bits.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

struct Files {
    _folder: tempfile::TempDir,
    source: Local,
    target: Local,
}

impl Files {
    fn new() -> Files {
        let folder = tempfile::tempdir().unwrap();
        let open = |name: &str| Local::open(&folder.path().join(name)).unwrap();
        Files { source: open("source"), target: open("target"), _folder: folder }
    }
}

fn header(run: &str) -> ExperimentHeader {
    let header = serde_json::json!({
        "journal_version": 1, "id": 0, "run": run, "started_unix_s": 1, "host": "n1", "powerband": "0", "command_line": [],
    });
    serde_json::from_value(header).unwrap()
}

/// An event that is no other.
fn event(number: usize) -> Event {
    Event::Restored { entries: u32::try_from(number).unwrap(), failed: vec![], changed: vec![] }
}

fn resume(store: &mut Local, id: i64, keep: usize) {
    let seen = store.header(id).unwrap();
    let count = store.lines(id).unwrap().len();
    let (kept_events, dropped_events) = (keep as u64, (count - keep) as u64);
    let resumption = Resumption { unix_s: 2, kept_events, dropped_events, max_blocks: None };
    let resumed = [seen.resumed.as_slice(), &[resumption]].concat();
    store.rewind(id, (&seen, count), keep, &ExperimentHeader { resumed, ..seen.clone() }).unwrap();
}

fn put(target: &mut Local, kept: &Kept) -> Result<Put, StoreError> {
    let known = target.find(&kept.key).unwrap();
    target.put(kept, known, false)
}

fn same(source: &Local, target: &Local, key: &str) {
    let of = |store: &Local| {
        let id = store.find(key).unwrap().unwrap();
        let kept = store.kept(id, key, 0).unwrap();
        (ExperimentHeader { id: 0, ..kept.header }, kept.lines, kept.superseded)
    };
    assert_eq!(of(source), of(target));
}

#[test]
fn in_any_order_and_however_often_it_is_the_same_in_the_end() {
    for seed in 0..40 {
        let mut chance = Chance(seed);
        let Files { _folder, mut source, mut target } = Files::new();
        let id = source.begin(&header("a")).unwrap();
        let mut copies: Vec<Kept> = Vec::new();
        let mut number = 0;
        for _ in 0..12 {
            let count = source.lines(id).unwrap().len();
            match chance.below(4) {
                0 if count > 0 => resume(&mut source, id, chance.below(count + 1)),
                1 => copies.push(source.kept(id, "a", 0).unwrap()),
                2 if !copies.is_empty() => {
                    let old = chance.below(copies.len());
                    put(&mut target, &copies[old]).unwrap();
                }
                _ => {
                    for _ in 0..=chance.below(3) {
                        number += 1;
                        source.append(id, &event(number)).unwrap();
                    }
                }
            }
        }
        let last = source.kept(id, "a", 0).unwrap();
        put(&mut target, &last).unwrap();
        same(&source, &target, "a");
        for old in copies.iter().chain([&last]) {
            assert_eq!(put(&mut target, old).unwrap().events, 0, "seed {seed}: it was there already");
            same(&source, &target, "a");
        }
    }
}

#[test]
fn the_end_of_an_experiment_can_be_delivered_alone() {
    let Files { _folder, mut source, mut target } = Files::new();
    let id = source.begin(&header("a")).unwrap();
    (0..4).for_each(|number| source.append(id, &event(number)).unwrap());
    put(&mut target, &source.kept(id, "a", 0).unwrap()).unwrap();
    (4..7).for_each(|number| source.append(id, &event(number)).unwrap());
    let incoming = source.kept(id, "a", 4).unwrap();
    let there = target.kept(1, "a", 4).unwrap();
    let found = changes("there", &incoming, &there).unwrap();
    assert_eq!(found.events.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [4, 5, 6]);
    assert!(found.is_newer && found.already == 0);
}

#[test]
fn another_event_of_the_same_number_is_refused_and_nothing_is_taken() {
    let Files { _folder, mut source, mut target } = Files::new();
    let id = source.begin(&header("a")).unwrap();
    (0..3).for_each(|number| source.append(id, &event(number)).unwrap());
    let mut kept = source.kept(id, "a", 0).unwrap();
    put(&mut target, &kept).unwrap();
    kept.lines[1] = kept.lines[1].replace('1', "9");
    kept.lines.push("{\"event\":\"a_new_one\"}".to_owned());
    let error = put(&mut target, &kept).unwrap_err();
    let StoreError::Differs(difference) = &error else { panic!("{error}") };
    let Difference { run, seq, ours, theirs, .. } = &**difference;
    assert_eq!((run.as_str(), *seq), ("a", 1));
    assert!(ours.contains('9') && theirs.contains('1') && !theirs.contains('9'), "{error}");
    same(&source, &target, "a");
}

#[test]
fn resumed_in_two_places_is_no_longer_one_experiment() {
    let Files { _folder, mut source, mut target } = Files::new();
    let id = source.begin(&header("a")).unwrap();
    (0..5).for_each(|number| source.append(id, &event(number)).unwrap());
    let there = put(&mut target, &source.kept(id, "a", 0).unwrap()).unwrap().id;
    resume(&mut source, id, 3);
    resume(&mut target, there, 2);
    let error = put(&mut target, &source.kept(id, "a", 0).unwrap()).unwrap_err();
    assert!(matches!(error, StoreError::Forked { .. }), "{error}");
}

#[test]
fn experiments_of_old_versions_are_recognised_by_what_they_say() {
    let Files { _folder, mut source, mut target } = Files::new();
    let old = ExperimentHeader { run: None, ..header("") };
    for number in [1, 1, 2] {
        let id = source.begin(&old).unwrap();
        source.append(id, &event(number)).unwrap();
    }
    let keys = source.keys().unwrap();
    assert_eq!(keys.iter().map(|(_, key)| key).collect::<std::collections::BTreeSet<_>>().len(), 3);
    for _ in 0..2 {
        for (id, key) in source.keys().unwrap() {
            put(&mut target, &source.kept(id, &key, 0).unwrap()).unwrap();
        }
    }
    assert_eq!(target.keys().unwrap(), keys);
}
