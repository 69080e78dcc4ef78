//! However often an experiment was interrupted: what comes out is what would have come without. No finished trial is lost,
//! none that the journal had kept is run twice, the one that was interrupted is run again.
//!
//! Excused are times on a machine that goes on living, since another owner needs its own time to begin, and how much the
//! last owner restored, where it counts only its own or needed two tries for a disk that was full.
use std::collections::BTreeSet;

use powerband_record::Event;

use super::course::Ground;
use super::going_on::{Leg, Told, finished};
use super::play::Record;

pub(super) fn check(record: &Record) -> Result<(), String> {
    record.told.iter().try_for_each(|told| judge(told).map_err(|said| format!("{:?}: {said}", told.ground)))
}

fn judge(told: &Told) -> Result<(), String> {
    for leg in &told.legs {
        nothing_is_lost(leg)?;
        if told.ground != Ground::Boot {
            nothing_is_repeated(leg)?;
        }
        if let Some(why) = &leg.failed {
            return Err(format!("nothing struck, and it did not go on: {why}"));
        }
    }
    let survived = told.ground == Ground::Survivor;
    let recounted = survived || told.legs.last().is_some_and(|leg| leg.struck);
    let excused = |event: &Event| match event {
        Event::Restored { failed, changed, .. } if recounted => {
            Event::Restored { entries: 0, failed: failed.clone(), changed: changed.clone() }
        }
        event if survived => timeless(event),
        event => event.clone(),
    };
    let [whole, journal] =
        [&told.whole.journal, &told.journal].map(|events| events.iter().map(excused).collect::<Vec<_>>());
    let differs = (0..whole.len().max(journal.len())).find(|&place| line(whole.get(place)) != line(journal.get(place)));
    if let Some(place) = differs {
        let [should, is] = [&whole, &journal].map(|events| line(events.get(place)));
        return Err(format!("event {place} is {is} and would have been {should}"));
    }
    let paths: BTreeSet<&String> = told.whole.files.keys().chain(told.files.keys()).collect();
    for path in paths {
        let [should, reads] = [&told.whole.files, &told.files].map(|files| files.get(path));
        if reads != should {
            return Err(format!("{path} reads {reads:?} in the end and would have read {should:?}"));
        }
    }
    let times: Vec<u64> = told.journal.iter().filter_map(at_ns).collect();
    let back = times.windows(2).find(|pair| pair[0] > pair[1]);
    back.map_or(Ok(()), |pair| Err(format!("time goes back from {} to {} ns", pair[0], pair[1])))
}

/// Whether every trial that was finished when this owner came is there, as it was, when it goes.
fn nothing_is_lost(leg: &Leg) -> Result<(), String> {
    for event in leg.found.iter().filter(|event| finished(event).is_some()) {
        if !leg.left.contains(event) {
            return Err(format!("{} was lost", line(Some(event))));
        }
    }
    Ok(())
}

fn nothing_is_repeated(leg: &Leg) -> Result<(), String> {
    let known: Vec<u32> = leg.found.iter().filter_map(finished).collect();
    let repeated = leg.ran.iter().find(|trial| known.contains(trial));
    repeated.map_or(Ok(()), |trial| Err(format!("trial {trial} was finished and is run again")))
}

/// An event as the journal's file has it.
fn line(event: Option<&Event>) -> String {
    event.map_or("none".into(), |event| serde_json::to_string(event).unwrap())
}

/// An event without its time.
fn timeless(event: &Event) -> Event {
    let mut event = event.clone();
    match &mut event {
        Event::TrialStarted(trial) => trial.at_ns = 0,
        Event::TrialDone { at_ns, .. } | Event::TrialVoid { at_ns, .. } => *at_ns = 0,
        Event::BlockDone(done) => done.at_ns = 0,
        Event::Closed(finding) => {
            finding.at_ns = 0;
            finding.notes.iter_mut().for_each(|note| *note = without_time(note));
        }
        _ => {}
    }
    event
}

/// A note without the time that it names: "a period of 2 trials (about 8 ms)".
fn without_time(note: &str) -> String {
    let timed = note.split_once(" (about ").and_then(|(before, rest)| Some((before, rest.split_once(')')?.1)));
    timed.map_or_else(|| note.to_owned(), |(before, after)| format!("{before}{after}"))
}

fn at_ns(event: &Event) -> Option<u64> {
    match event {
        Event::TrialStarted(trial) => Some(trial.at_ns),
        Event::TrialDone { at_ns, .. } | Event::TrialVoid { at_ns, .. } => Some(*at_ns),
        Event::BlockDone(done) => Some(done.at_ns),
        Event::Closed(finding) => Some(finding.at_ns),
        _ => None,
    }
}
