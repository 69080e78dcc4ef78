//! Readings of meters that were left out, as no machine draws what they showed: counted, as a note next to the verdicts.
use std::collections::BTreeMap;

use powerband_record::Outcome;

/// How many there were, and in how many trials, by metric.
#[derive(Debug, Default)]
pub(crate) struct LeftOut(BTreeMap<String, (u32, u32)>);

impl LeftOut {
    /// A valid trial.
    pub(crate) fn take(&mut self, outcome: &Outcome) {
        for (metric, readings) in &outcome.left_out {
            let known = self.0.entry(metric.clone()).or_default();
            *known = (known.0.saturating_add(*readings), known.1 + 1);
        }
    }

    /// A sentence for metrics that rest on the same readings.
    pub(crate) fn notes(&self, trials: u32) -> Vec<String> {
        let mut together: BTreeMap<(u32, u32), Vec<&str>> = BTreeMap::new();
        for (metric, counts) in &self.0 {
            together.entry(*counts).or_default().push(metric);
        }
        let note = |((readings, within), metrics): ((u32, u32), Vec<&str>)| {
            let (reading, was) = if readings == 1 { ("reading", "was") } else { ("readings", "were") };
            let metrics = metrics.join(" and ");
            format!(
                "{metrics}: {readings} {reading} beyond what can be drawn {was} left out, in {within} of {trials} trials"
            )
        };
        together.into_iter().map(note).collect()
    }
}
