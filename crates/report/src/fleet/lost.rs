//! Whether nodes die under one setting more often than chance allows.
use std::collections::BTreeMap;

use powerband_record::{Event, ExperimentHeader};
use powerband_stats::distribution::incomplete_beta;

use super::gather::Gathered;

/// Fewest lost trials that say anything.
const MIN: u32 = 3;
/// Chance that any setting is suspected falsely.
const ALPHA: f64 = 0.01;

/// Settings of the fleet under which trials were lost too often: of the trials that began and of which nothing was heard
/// again, more than chance gives each setting.
pub(super) fn settings(experiments: &[(ExperimentHeader, Vec<Event>)], gathered: &Gathered) -> Vec<usize> {
    let mut lost: BTreeMap<usize, u32> = BTreeMap::new();
    for (_, events) in experiments {
        let Some(Event::Started(started)) = events.first() else { continue };
        let mut open = None;
        for event in events {
            match event {
                Event::TrialStarted(trial) => open = Some(trial.setting),
                Event::TrialDone { .. } | Event::TrialVoid { .. } | Event::Closed(_) => open = None,
                _ => {}
            }
        }
        let setting = open.and_then(|setting| started.settings.get(setting as usize));
        let known = |label: &str, turns: &str| gathered.settings.iter().position(|(l, t)| l == label && t == turns);
        if let Some(place) = setting.and_then(|it| known(&it.label, &it.turns)) {
            *lost.entry(place).or_default() += 1;
        }
    }
    let all: u32 = lost.values().sum();
    let share = 1.0 / gathered.settings.len().max(1) as f64;
    // P(X ≥ x) of a binomial.
    let tail = |x: u32| incomplete_beta(f64::from(x), f64::from(all - x) + 1.0, share);
    let suspect = |(_, count): &(usize, u32)| all >= MIN && tail(*count) <= ALPHA * share;
    lost.into_iter().filter(suspect).map(|(place, _)| place).collect()
}
