//! What the stretches of one trial came to, and all of them together, each name with that of its stretch in front.
use std::collections::BTreeMap;

use powerband_load::Finishes;
use powerband_machine::Finished;
use powerband_record::{Histogram, Output, Repeated, Timeline};

use crate::execution::kept;
use crate::metering::of_stretch;

/// One stretch.
pub(crate) struct Stretch {
    /// Metrics of the load and of meters.
    pub(crate) measured: BTreeMap<String, f64>,
    /// Why a metric was refused.
    pub(crate) refused: BTreeMap<String, String>,
    /// How many readings were left out for a metric.
    pub(crate) left_out: BTreeMap<String, u32>,
    /// What meters showed meanwhile.
    pub(crate) timelines: Vec<Timeline>,
    /// Distributions behind metrics.
    pub(crate) histograms: BTreeMap<String, Histogram>,
    /// How its parts ended.
    pub(crate) finishes: Finishes,
    /// The runs of a command that was repeated.
    pub(crate) repeated: Option<Repeated>,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Stretches {
    pub(crate) measured: BTreeMap<String, f64>,
    pub(crate) refused: BTreeMap<String, String>,
    pub(crate) left_out: BTreeMap<String, u32>,
    pub(crate) timelines: Vec<Timeline>,
    pub(crate) histograms: BTreeMap<String, Histogram>,
    /// What parts printed, by name.
    pub(crate) output: BTreeMap<String, Output>,
    /// Of the last.
    pub(crate) finishes: Finishes,
    /// Of the last.
    pub(crate) repeated: Option<Repeated>,
}

impl Stretches {
    pub(crate) fn add(&mut self, prefix: &str, stretch: Stretch) {
        let name = |name: String| of_stretch(prefix, &name);
        self.measured.extend(stretch.measured.into_iter().map(|(it, value)| (name(it), value)));
        self.refused.extend(stretch.refused.into_iter().map(|(it, why)| (name(it), why)));
        self.left_out.extend(stretch.left_out.into_iter().map(|(it, count)| (name(it), count)));
        self.histograms.extend(stretch.histograms.into_iter().map(|(it, values)| (name(it), values)));
        let stretch_name = Some(prefix.trim_end_matches('_')).filter(|name| !name.is_empty()).map(str::to_owned);
        let of = |timeline| Timeline { stretch: stretch_name.clone(), ..timeline };
        self.timelines.extend(stretch.timelines.into_iter().map(of));
        let said = |finished: &&Finished| !(finished.output.stdout.is_empty() && finished.output.stderr.is_empty());
        let spoke = stretch.finishes.iter().filter(|(_, finished)| said(finished));
        self.output.extend(spoke.map(|(part, finished)| (format!("{prefix}{part}"), kept(&finished.output))));
        self.finishes = stretch.finishes;
        self.repeated = stretch.repeated;
    }
}
