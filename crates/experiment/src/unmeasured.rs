//! Metrics that are shown and could not be measured: how often, and why, as notes next to the verdicts.
use std::collections::BTreeMap;

use powerband_record::Outcome;

/// How often each was missing, and the last reason.
#[derive(Debug, Default)]
pub(crate) struct Unmeasured(BTreeMap<String, (u32, String)>);

impl Unmeasured {
    /// A valid trial.
    pub(crate) fn take(&mut self, outcome: &Outcome) {
        for (metric, why) in &outcome.refused {
            let missing = self.0.entry(metric.clone()).or_default();
            *missing = (missing.0 + 1, why.clone());
        }
    }

    /// A sentence for those that were missing together.
    pub(crate) fn notes(&self, trials: u32) -> Vec<String> {
        let mut together: BTreeMap<&(u32, String), Vec<&str>> = BTreeMap::new();
        for (metric, missing) in &self.0 {
            together.entry(missing).or_default().push(metric);
        }
        let note = |((times, why), metrics): (&(u32, String), Vec<&str>)| {
            let were = if metrics.len() == 1 { "was" } else { "were" };
            format!("{} {were} not measured in {times} of {trials} trials: {why}", metrics.join(" and "))
        };
        together.into_iter().map(note).collect()
    }
}
