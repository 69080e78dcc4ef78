//! Courses that were asked for and are missing in trials: counted trial by trial, and told in words.
use std::collections::{BTreeMap, BTreeSet};

use powerband_record::{IntoOrdered as _, Outcome, Recording, Side, format_duration};

/// More courses than this are counted rather than named.
const NAMED: usize = 4;

/// One recording over all trials.
#[derive(Debug, Default)]
pub(super) struct Unrecorded {
    /// The first valid trial.
    first: Option<u32>,
    trials: u32,
    /// By policy or CPU: in how many trials it was recorded, and the first in which it was not.
    courses: BTreeMap<String, (u32, Option<u32>)>,
}

/// What to do where trials are shorter than three readings.
pub(crate) fn at_least_three(recording: &Recording) -> String {
    let name = recording.what.name();
    let shorter = format_duration((recording.period_ns / 10).max(10_000_000)).replace(' ', "");
    format!("one every {}; write a shorter time, e.g. --record {name}:{shorter}", format_duration(recording.period_ns))
}

impl Unrecorded {
    /// Takes a valid trial.
    pub(super) fn take(&mut self, recording: &Recording, trial: u32, outcome: &Outcome) {
        let first = *self.first.get_or_insert(trial);
        let is_it = |side: Side, meter: &str| side == recording.side && meter == recording.what.name();
        let here = outcome.timelines.iter().filter(|it| is_it(it.side, &it.meter)).map(|it| it.boundary.as_str());
        let here: BTreeSet<&str> = here.into_set();
        for (_, (_, missing)) in self.courses.iter_mut().filter(|(of, _)| !here.contains(of.as_str())) {
            missing.get_or_insert(trial);
        }
        for of in here {
            // What comes later was missing from the beginning.
            let missing = (self.trials > 0).then_some(first);
            self.courses.entry(of.to_owned()).or_insert((0, missing)).0 += 1;
        }
        self.trials += 1;
    }

    /// A sentence for all that are missing in the same trials.
    pub(super) fn notes(&self, recording: &Recording) -> Vec<String> {
        let side = recording.side.prefix();
        let name = format!("{side}{}", recording.what.name());
        let why = "there were fewer than three readings";
        match self.trials {
            0 => return Vec::new(),
            trials if self.courses.is_empty() => {
                let of = if trials == 1 { "the one trial".to_owned() } else { format!("any of {trials} trials") };
                return vec![format!("{name} was not recorded in {of}: {why}, {}", at_least_three(recording))];
            }
            _ => {}
        }
        let mut alike: BTreeMap<(u32, u32), Vec<&str>> = BTreeMap::new();
        for (of, (recorded, missing)) in &self.courses {
            if let Some(first) = missing {
                alike.entry((*first, self.trials - recorded)).or_default().push(of);
            }
        }
        let note = |((first, missing), of): ((u32, u32), Vec<&str>)| {
            let of = match of.len() {
                count if count == self.courses.len() => String::new(),
                count @ ..=NAMED => format!(" of {}", of[..count].join(", ")),
                count => format!(" of {count} of {}", self.courses.len()),
            };
            let trials = self.trials;
            format!("{name}{of} was not recorded in {missing} of {trials} trials, the first of them {first}: {why}")
        };
        alike.into_iter().map(note).collect()
    }
}
