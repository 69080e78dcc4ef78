//! What was measured again: the values of each setting and metric by block, and what was tried beside.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use powerband_record::{Event, Metric};
use powerband_stats::distribution::t_upper_quantile;
use powerband_stats::{Contrast, Judge, Rules, Scale, Slot, Spending, Table};

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
    /// Boundaries of looks, which comparisons of pairs come with.
    spending: Arc<Spending>,
}

/// How often chance alone may pass for a difference.
const ALPHA: f64 = 0.05;

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
            spending: Arc::default(),
        })
    }

    /// Mean and standard error of a metric at a setting; one block alone makes nothing certain.
    #[must_use]
    pub fn mean(&self, setting: &str, metric: &str) -> Option<Estimate> {
        Estimate::of(&self.by_block(setting, metric)?.values().copied().collect::<Vec<_>>())
    }

    /// The first of two settings less the second, block by block, so that what drifts cancels. How sure that is comes from
    /// the comparison that `compare` makes: noise of all settings together, Student's t.
    #[must_use]
    pub fn difference(&self, of: [&str; 2], metric: &str) -> Option<Estimate> {
        let paired = self.joined(of, metric, |a, b| a - b)?;
        Some(match self.contrast(of, metric, Scale::Linear) {
            Some(contrast) => paired.as_sure_as(&contrast, 1.0),
            None => paired,
        })
    }

    /// The first of two settings over the second, likewise.
    #[must_use]
    pub fn ratio(&self, of: [&str; 2], metric: &str) -> Option<Estimate> {
        let paired = self.joined(of, metric, |a, b| a / b)?;
        let log = self.contrast(of, metric, Scale::Log).map(|contrast| (contrast, paired.mean));
        let linear = || Some((self.contrast(of, metric, Scale::Linear)?, self.mean(of[1], metric)?.mean.recip()));
        Some(match log.or_else(linear) {
            Some((contrast, unit)) => paired.as_sure_as(&contrast, unit),
            None => paired,
        })
    }

    /// What `join` makes of two settings, block by block.
    fn joined(&self, of: [&str; 2], metric: &str, join: impl Fn(f64, f64) -> f64) -> Option<Estimate> {
        let (one, other) = (self.by_block(of[0], metric)?, self.by_block(of[1], metric)?);
        let pairs = one.iter().filter_map(|(block, &a)| Some(join(a, *other.get(block)?)));
        Estimate::of(&pairs.filter(|value| value.is_finite()).collect::<Vec<_>>())
    }

    /// Two settings by the statistics of every verdict, means as they are measured; none of one block, or where a
    /// logarithm has no meaning.
    fn contrast(&self, of: [&str; 2], metric: &str, scale: Scale) -> Option<Contrast> {
        let measured: Vec<_> = self.settings.iter().filter_map(|it| Some((it, self.by_block(it, metric)?))).collect();
        let place = |setting: &str| measured.iter().position(|(label, _)| *label == setting);
        let (one, other) = (place(of[0])?, place(of[1])?);
        let blocks: BTreeSet<u32> = measured.iter().flat_map(|(_, by_block)| by_block.keys().copied()).collect();
        let mut table = Table::new(measured.len().checked_sub(1)?);
        for block in blocks {
            let row = table.push_block();
            for (setting, (_, by_block)) in measured.iter().enumerate() {
                let value = by_block.get(&block);
                value.map_or(Ok(()), |&value| table.set(row, Slot::first(setting), value)).ok()?;
            }
        }
        let rules = Rules { alpha: ALPHA, scale, winsorise: false, drop_first_block: false, ..Rules::default() };
        let judge = Judge::new(table.settings(), rules, Arc::clone(&self.spending)).ok()?;
        judge.pairs(&table).ok()?.contrast(one, other)
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
    /// How far from it the truth may be, at 95 % confidence.
    pub reach: f64,
    /// Of how many values.
    pub count: usize,
}

impl Estimate {
    fn of(values: &[f64]) -> Option<Estimate> {
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = if count > 1 { (squares / (count - 1) as f64 / count as f64).sqrt() } else { f64::INFINITY };
        let reach = if count > 1 { t_upper_quantile(ALPHA / 2.0, (count - 1) as f64) * error } else { error };
        (count > 0).then_some(Estimate { mean, error, reach, count })
    }

    /// The same mean, as sure as a contrast is, one of whose units is so many of ours.
    fn as_sure_as(self, contrast: &Contrast, unit: f64) -> Estimate {
        let (low, high) = contrast.interval(ALPHA);
        let reach = (high - low) / 2.0 * unit.abs();
        Estimate { error: contrast.standard_error() * unit.abs(), reach, ..self }
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
            spending: Arc::default(),
        };
        Evidence { runs: BTreeMap::from([(plan.to_owned(), observed)]), tried: BTreeMap::new() }
    }

    #[test]
    fn what_drifts_with_the_blocks_cancels() {
        let evidence = evidence("p", "m", &[("a", &[10.0, 20.0, 40.0]), ("b", &[5.0, 10.0, 20.0])]);
        let run = &evidence.runs["p"];
        let ratio = run.ratio(["a", "b"], "m").unwrap();
        assert!((ratio.mean, ratio.count) == (2.0, 3) && ratio.reach < 1e-12, "{ratio:?}");
        let mean = run.mean("a", "m").unwrap();
        assert!((mean.mean - 70.0 / 3.0).abs() < 1e-12 && (mean.error - 8.819_171).abs() < 1e-6, "{mean:?}");
        assert_eq!(run.mean("a", "other"), None);
        let alone = Estimate::of(&[7.0]).unwrap();
        assert!(alone.mean == 7.0 && alone.error.is_infinite() && Estimate::of(&[]).is_none());
        assert_eq!(run.ratio(["a", "c"], "m"), None);
    }

    #[test]
    fn a_difference_is_as_sure_as_the_verdict_of_a_comparison() {
        let (a, b, c) = ([10.0, 10.3, 9.9, 10.1], [11.0, 11.4, 11.1, 10.8], [9.0, 9.2, 9.1, 8.8]);
        let evidence = evidence("p", "m", &[("a", &a), ("b", &b), ("c", &c)]);
        let run = &evidence.runs["p"];
        let mut table = Table::new(2);
        for (row, values) in a.iter().zip(&b).zip(&c).enumerate() {
            let ((a, b), c) = values;
            assert_eq!(table.push_block(), row);
            for (setting, value) in [a, b, c].into_iter().enumerate() {
                table.set(row, Slot::first(setting), *value).unwrap();
            }
        }
        let rules = Rules { scale: Scale::Linear, winsorise: false, drop_first_block: false, ..Rules::default() };
        let mut judge = Judge::new(2, rules, Arc::default()).unwrap();
        judge.look(&table).unwrap();
        for (setting, name) in [(1, "b"), (2, "c")] {
            let (of_judge, ours) = (judge.contrast(setting).unwrap(), run.difference([name, "a"], "m").unwrap());
            assert!((ours.mean - of_judge.effect).abs() < 1e-12, "{ours:?}");
            assert!((ours.error - of_judge.standard_error()).abs() < 1e-12, "{ours:?} {of_judge:?}");
            assert!((ours.reach - (of_judge.interval(0.05).1 - of_judge.effect)).abs() < 1e-12, "{ours:?}");
        }
        // Zero is no ratio's logarithm: then by the linear difference.
        let with_zero = super::tests::evidence("p", "m", &[("a", &[0.0, 0.1, 0.05]), ("b", &[1.0, 1.1, 0.9])]);
        let ratio = with_zero.runs["p"].ratio(["a", "b"], "m").unwrap();
        assert!(ratio.reach.is_finite() && ratio.reach > 0.0, "{ratio:?}");
    }
}
