//! What was measured again: the values of each setting and metric by block, and what was tried beside.
use std::collections::BTreeMap;

use powerband_record::{Event, Metric};

use super::Holds;
use crate::{Model, ModelError};

/// Everything an article's claims are held against.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// By the plan's name.
    pub runs: BTreeMap<String, Observed>,
    /// By what was tried.
    pub tried: BTreeMap<String, Tried>,
}

/// What trying something on a machine came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// What it says of the claim.
    pub holds: Holds,
    /// What was seen, in a sentence without its full stop.
    pub seen: String,
}

impl Tried {
    /// What is either so or not.
    #[must_use]
    pub fn so(so: bool, seen: String) -> Tried {
        Tried { holds: if so { Holds::Yes } else { Holds::No }, seen }
    }
}

/// What one plan measured.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The machines, as named.
    pub machines: Vec<String>,
    /// Complete blocks.
    pub blocks: u32,
    /// Valid trials in blocks.
    pub trials: u32,
    /// Trials that do not count.
    pub voids: u32,
    /// Time of the machines, ns.
    pub elapsed_ns: u64,
    /// Events of simulated machines, as far as whoever ran them tells.
    pub events: u64,
    /// Metrics.
    pub metrics: Vec<Metric>,
    /// Labels of the settings, in their order.
    pub settings: Vec<String>,
    /// By setting, metric and block.
    values: BTreeMap<(String, String), BTreeMap<u32, f64>>,
}

impl Observed {
    /// What the events of an experiment tell.
    ///
    /// # Errors
    /// [`ModelError`] when they are no journal.
    pub fn of(events: &[Event]) -> Result<Observed, ModelError> {
        let model = Model::from_events(events)?;
        let settings: Vec<String> = model.settings.iter().map(|setting| setting.label.clone()).collect();
        let mut values: BTreeMap<(String, String), BTreeMap<u32, f64>> = BTreeMap::new();
        let mut planned = BTreeMap::new();
        for event in events {
            match event {
                Event::TrialStarted(trial) => drop(planned.insert(trial.trial, (trial.block, trial.setting))),
                Event::TrialDone { trial, outcome, .. } => {
                    // Block 0 is the warm-up.
                    let Some(&(block @ 1.., setting)) = planned.get(trial) else { continue };
                    let Some(label) = usize::try_from(setting).ok().and_then(|place| settings.get(place)) else {
                        continue;
                    };
                    for (metric, &value) in outcome.metrics.iter().filter(|(_, value)| value.is_finite()) {
                        values.entry((label.clone(), metric.clone())).or_default().insert(block, value);
                    }
                }
                _ => {}
            }
        }
        let machines = std::iter::once(&model.started.machine).chain(&model.started.far).cloned().collect();
        Ok(Observed {
            machines,
            blocks: model.blocks,
            trials: model.trials,
            voids: u32::try_from(model.voids.len()).unwrap_or(u32::MAX),
            elapsed_ns: model.elapsed_ns,
            events: 0,
            metrics: model.started.metrics,
            settings,
            values,
        })
    }

    /// Mean and standard error of a metric at a setting; one block alone makes nothing certain.
    #[must_use]
    pub fn mean(&self, setting: &str, metric: &str) -> Option<Estimate> {
        Estimate::of(&self.by_block(setting, metric)?.values().copied().collect::<Vec<_>>())
    }

    /// Mean and standard error of what `join` makes of two settings, block by block, so that what drifts cancels.
    #[must_use]
    pub fn joined(&self, of: [&str; 2], metric: &str, join: impl Fn(f64, f64) -> f64) -> Option<Estimate> {
        let (one, other) = (self.by_block(of[0], metric)?, self.by_block(of[1], metric)?);
        let pairs = one.iter().filter_map(|(block, &a)| Some(join(a, *other.get(block)?)));
        Estimate::of(&pairs.filter(|value| value.is_finite()).collect::<Vec<_>>())
    }

    fn by_block(&self, setting: &str, metric: &str) -> Option<&BTreeMap<u32, f64>> {
        self.values.get(&(setting.to_owned(), metric.to_owned()))
    }
}

/// A mean and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Mean.
    pub mean: f64,
    /// Its standard error; infinite of one value.
    pub error: f64,
    /// Of how many values.
    pub count: usize,
}

impl Estimate {
    fn of(values: &[f64]) -> Option<Estimate> {
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = if count > 1 { (squares / (count - 1) as f64 / count as f64).sqrt() } else { f64::INFINITY };
        (count > 0).then_some(Estimate { mean, error, count })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Evidence of one plan: values by setting, of one metric, a block each.
    pub(in super::super) fn evidence(plan: &str, metric: &str, settings: &[(&str, &[f64])]) -> Evidence {
        let by_block = |values: &[f64]| (1..).zip(values.iter().copied()).collect();
        let key = |setting: &str| (setting.to_owned(), metric.to_owned());
        let observed = Observed {
            machines: vec!["sim:m".into()],
            blocks: settings.iter().map(|(_, values)| values.len() as u32).max().unwrap_or(0),
            trials: 8,
            voids: 0,
            elapsed_ns: 1,
            events: 0,
            metrics: vec![],
            settings: settings.iter().map(|(setting, _)| (*setting).to_owned()).collect(),
            values: settings.iter().map(|(setting, values)| (key(setting), by_block(values))).collect(),
        };
        Evidence { runs: BTreeMap::from([(plan.to_owned(), observed)]), tried: BTreeMap::new() }
    }

    #[test]
    fn what_drifts_with_the_blocks_cancels() {
        let evidence = evidence("p", "m", &[("a", &[10.0, 20.0, 40.0]), ("b", &[5.0, 10.0, 20.0])]);
        let run = &evidence.runs["p"];
        assert_eq!(run.joined(["a", "b"], "m", |a, b| a / b), Some(Estimate { mean: 2.0, error: 0.0, count: 3 }));
        let mean = run.mean("a", "m").unwrap();
        assert!((mean.mean - 70.0 / 3.0).abs() < 1e-12 && (mean.error - 8.819_171).abs() < 1e-6, "{mean:?}");
        assert_eq!(run.mean("a", "other"), None);
        let alone = Estimate::of(&[7.0]).unwrap();
        assert!(alone.mean == 7.0 && alone.error.is_infinite() && Estimate::of(&[]).is_none());
        assert_eq!(run.joined(["a", "c"], "m", |a, b| a / b), None);
    }
}
