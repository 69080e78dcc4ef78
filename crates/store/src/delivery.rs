//! Which events of an experiment another store lacks: one rule for every engine, without any SQL.
//!
//! An event is known by the experiment's key and its number. The same event twice is compared and not doubled; another one is an
//! error. A resumed experiment has superseded some of its events, and they are superseded in every store that gets it.
use std::collections::BTreeMap;

use powerband_record::{ExperimentHeader, IntoOrdered as _};

use crate::row::Summary;
use crate::{Difference, StoreError};

/// One experiment with everything that a store keeps of it.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// Its number there.
    pub(crate) id: i64,
    /// By which stores recognise it.
    pub(crate) key: String,
    pub(crate) header: ExperimentHeader,
    /// Number of the first event in `lines`.
    pub(crate) first: usize,
    pub(crate) lines: Vec<String>,
    pub(crate) superseded: Vec<Superseded>,
    /// What is computed from the events, where the store had it at hand.
    pub(crate) derived: Option<Derived>,
}

/// An event that a resumption superseded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Superseded {
    pub(crate) resumption: i64,
    pub(crate) seq: i64,
    pub(crate) json: String,
}

/// What a list and later experiments ask of one, computed from its events.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "postgresql"), expect(dead_code, reason = "only a shared store keeps it"))]
pub(crate) struct Derived {
    pub(crate) summary: Summary,
    /// For which experiments its calibrations hold, where it has any.
    pub(crate) calibrates: Option<String>,
}

/// What is to be done so that a store has an experiment as another has it.
#[derive(Debug, Default)]
pub(crate) struct Changes<'a> {
    /// Resumption, and the event from which on it supersedes what is current in the store; in order.
    pub(crate) moved: Vec<(i64, i64)>,
    pub(crate) superseded: Vec<(i64, i64, &'a str)>,
    pub(crate) events: Vec<(i64, &'a str)>,
    /// Events that are in both.
    pub(crate) already: u64,
    /// The header, and what is derived, are those of the incoming experiment.
    pub(crate) is_newer: bool,
}

/// What a delivery came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Put {
    /// The experiment's number in the store that took it.
    pub(crate) id: i64,
    /// It was not there before.
    pub(crate) is_new: bool,
    /// Events that were not there.
    pub(crate) events: u64,
    /// Events that were there already.
    pub(crate) already: u64,
}

impl Kept {
    /// How many events are current.
    pub(crate) fn count(&self) -> usize {
        self.first + self.lines.len()
    }

    fn rows(&self) -> impl Iterator<Item = (i64, &str)> {
        let first = i64::try_from(self.first).unwrap_or(i64::MAX);
        (first..).zip(self.lines.iter().map(String::as_str))
    }

    /// From which event on each resumption superseded.
    fn cuts(&self) -> BTreeMap<i64, i64> {
        let mut cuts = BTreeMap::new();
        for row in &self.superseded {
            let cut = cuts.entry(row.resumption).or_insert(row.seq);
            *cut = row.seq.min(*cut);
        }
        cuts
    }
}

/// What `there`, the same experiment in the store at `place`, lacks of `incoming`. Both begin with the same event.
///
/// # Errors
/// [`StoreError::Differs`], [`StoreError::Forked`].
pub(crate) fn changes<'a>(place: &str, incoming: &'a Kept, there: &'a Kept) -> Result<Changes<'a>, StoreError> {
    let (ours, theirs) = (&incoming.header.resumed, &there.header.resumed);
    let both = ours.len().min(theirs.len());
    if ours[..both] != theirs[..both] {
        return Err(StoreError::Forked { run: incoming.key.clone(), place: place.to_owned() });
    }
    let (our_cuts, their_cuts) = (incoming.cuts(), there.cuts());
    let last = |cuts: &BTreeMap<i64, i64>| cuts.keys().next_back().copied().unwrap_or(0);
    let (our_last, their_last) = (last(&our_cuts), last(&their_cuts));
    let mut current: BTreeMap<i64, &str> = there.rows().into_map();
    let mut aside: BTreeMap<(i64, i64), &str> =
        there.superseded.iter().map(|row| ((row.resumption, row.seq), row.json.as_str())).collect();
    let mut changes = Changes::default();
    for (&resumption, &cut) in our_cuts.range(their_last + 1..) {
        let moved = current.split_off(&cut);
        aside.extend(moved.into_iter().map(|(seq, json)| ((resumption, seq), json)));
        changes.moved.push((resumption, cut));
    }
    let differs = |seq: i64, ours: &str, theirs: &str| {
        let (ours, theirs) = (shortened(ours), shortened(theirs));
        StoreError::Differs(Box::new(Difference {
            run: incoming.key.clone(),
            seq,
            place: place.to_owned(),
            theirs,
            ours,
        }))
    };
    // Where each of our events belongs there: aside where a resumption we do not know has superseded it.
    let ours_aside = incoming.superseded.iter().map(|row| (Some(row.resumption), row.seq, row.json.as_str()));
    let by_theirs =
        |seq: i64| their_cuts.range(our_last + 1..).find(|&(_, &cut)| cut <= seq).map(|(&resumption, _)| resumption);
    for (resumption, seq, json) in ours_aside.chain(incoming.rows().map(|(seq, json)| (by_theirs(seq), seq, json))) {
        let found = match resumption {
            Some(resumption) => aside.get(&(resumption, seq)),
            None => current.get(&seq),
        };
        match (found, resumption) {
            (Some(&found), _) if found == json => changes.already += 1,
            (Some(&found), _) => return Err(differs(seq, json, found)),
            (None, Some(resumption)) => changes.superseded.push((resumption, seq, json)),
            (None, None) => changes.events.push((seq, json)),
        }
    }
    let had = |kept: &Kept| (kept.header.resumed.len(), kept.count(), kept.header.observer_cpu_s.is_some());
    changes.is_newer = had(incoming) >= had(there);
    Ok(changes)
}

/// The beginning of an event, for a sentence.
fn shortened(json: &str) -> String {
    const MAX: usize = 120;
    match json.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", &json[..end]),
        None => json.to_owned(),
    }
}

#[cfg(test)]
mod tests;
