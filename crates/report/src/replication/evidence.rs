//! What was measured again: the values of each setting and metric by block, and what was tried as well.
use std::borrow::Cow;
use std::collections::BTreeMap;

use powerband_record::{Event, Metric, Verdict};

use super::ClaimOutcome;
use crate::comparison::{ComparisonRequest, Measured, within};
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
    pub holds: ClaimOutcome,
    /// What was seen, in a sentence without its full stop.
    pub seen: String,
}

impl Tried {
    /// What is either so or not.
    #[must_use]
    pub fn so(so: bool, seen: String) -> Tried {
        Tried { holds: if so { ClaimOutcome::Yes } else { ClaimOutcome::No }, seen }
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
    /// Events of simulated machines, as far as anyone who ran them tells.
    pub events: u64,
    /// Metrics.
    pub metrics: Vec<Metric>,
    /// Labels of the settings, in their order.
    pub settings: Vec<String>,
    /// Their trials.
    measured: Measured,
}

impl Observed {
    /// What the events of an experiment tell whose number of blocks was fixed beforehand.
    ///
    /// # Errors
    /// [`ModelError`] when they are no journal.
    pub fn of(events: &[Event]) -> Result<Observed, ModelError> {
        let model = Model::from_events(events)?;
        let machines = std::iter::once(&model.started.machine).chain(&model.started.far).cloned().collect();
        Ok(Observed {
            machines,
            blocks: model.blocks,
            trials: model.trials,
            voids: u32::try_from(model.voids.len()).unwrap_or(u32::MAX),
            elapsed_ns: model.elapsed_ns,
            events: 0,
            settings: model.settings.iter().map(|setting| setting.label.clone()).collect(),
            metrics: model.started.metrics,
            measured: Measured { looked_at_once: true, ..Measured::of_events(0, "", events)? },
        })
    }

    /// Mean and standard error of a metric at a setting; one block alone makes nothing certain.
    #[must_use]
    pub fn mean(&self, setting: &str, metric: &str) -> Option<Estimate> {
        Estimate::of(&self.by_block(setting, metric).into_values().collect::<Vec<_>>())
    }

    /// Mean and standard error of what `join` makes of two settings, block by block, so that what drifts cancels.
    #[must_use]
    pub fn joined(&self, of: [&str; 2], metric: &str, join: impl Fn(f64, f64) -> f64) -> Option<Estimate> {
        let [one, other] = of.map(|setting| self.by_block(setting, metric));
        let pairs = one.iter().filter_map(|(block, &a)| Some(join(a, *other.get(block)?)));
        Estimate::of(&pairs.filter(|value| value.is_finite()).collect::<Vec<_>>())
    }

    /// The first setting against the second, judged as `compare` judges two settings of an experiment; `margin` is that of
    /// "same", absent = the plan's. Of several metrics their geometric mean is judged; where those were chosen by what was measured,
    /// `choices` of them share the error rate. None where they were not measured.
    #[must_use]
    pub fn apart(&self, of: [&str; 2], metrics: &[String], margin: Option<f64>, choices: f64) -> Option<Apart> {
        let (measured, metric) = self.over(metrics)?;
        let [setting, against] = of.map(|name| measured.setting(name).ok());
        let (setting, against) = (setting?, against?);
        let alpha = measured.rules.map(|(_, alpha)| alpha / choices);
        let ask = ComparisonRequest { metrics: vec![metric.clone()], margin, alpha, mean: None };
        let row = within(&measured, against, &[setting], &ask).ok()?.rows.into_iter().next()?;
        let level = measured.mean_of(against, &metric.name)?;
        let relative = |change: f64| if row.absolute { change / level.abs() } else { change };
        let (Some(change), Some(low), Some(high)) = (row.change, row.low, row.high) else {
            // Too few blocks to judge them by.
            let change = measured.mean_of(setting, &metric.name)? / level - 1.0;
            return Some(Apart { change, low: f64::NEG_INFINITY, high: f64::INFINITY, same: false, differs: false });
        };
        let shown = row.p.zip(row.p_asked).is_some_and(|(p, asked)| p <= asked);
        Some(Apart {
            change: relative(change),
            low: relative(low),
            high: relative(high),
            same: row.verdict == Verdict::Same,
            differs: shown && (low > 0.0 || high < 0.0),
        })
    }

    /// The trials and one metric; of several, their geometric mean by trial.
    fn over(&self, metrics: &[String]) -> Option<(Cow<'_, Measured>, Metric)> {
        let known = |name: &String| self.measured.metrics.iter().find(|metric| metric.name == *name).cloned();
        let (first, others) = metrics.split_first()?;
        let metric = known(first)?;
        if others.is_empty() {
            return Some((Cow::Borrowed(&self.measured), metric));
        }
        let metric = Metric { name: format!("geometric mean of {}", metrics.join(", ")), ..metric };
        let mut measured = self.measured.clone();
        for trial in &mut measured.trials {
            let logs: Option<Vec<f64>> = metrics.iter().map(|name| Some(trial.values.get(name)?.ln())).collect();
            if let Some(logs) = logs {
                let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
                trial.values.insert(metric.name.clone(), mean);
            }
        }
        measured.metrics.push(metric.clone());
        Some((Cow::Owned(measured), metric))
    }

    fn by_block(&self, setting: &str, metric: &str) -> BTreeMap<usize, f64> {
        self.measured.setting(setting).map(|setting| self.measured.by_block(setting, metric)).unwrap_or_default()
    }
}

/// One setting against another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Apart {
    /// Change of the first against the second, relative.
    pub change: f64,
    /// Its interval at the error rate, lower end; of a "same" the one inside the margin.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Whether they are shown to be the same at the margin.
    pub same: bool,
    /// Whether they are shown to differ.
    pub differs: bool,
}

impl Apart {
    /// Whether the first is shown to be above the second.
    #[must_use]
    pub fn is_above(&self) -> bool {
        self.differs && self.change > 0.0
    }

    /// Whether the first is shown to be below the second.
    #[must_use]
    pub fn is_below(&self) -> bool {
        self.differs && self.change < 0.0
    }

    /// The other way round in sign: what was above is below.
    #[must_use]
    pub fn negated(self) -> Apart {
        Apart { change: -self.change, low: -self.high, high: -self.low, ..self }
    }

    /// The change in units of what would show a difference: beyond 1 it is above, beyond -1 it is below.
    #[must_use]
    pub fn in_needed(&self) -> f64 {
        let needed = if self.change > 0.0 { self.change - self.low } else { self.high - self.change };
        let share = match needed {
            infinite if infinite == f64::INFINITY => 0.0,
            needed if needed > 0.0 => self.change / needed,
            _ if self.change == 0.0 => 0.0,
            _ => self.change.signum() * 2.0,
        };
        if self.differs { share } else { share.clamp(-1.0, 1.0) }
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
    use powerband_record::Better;

    use super::*;
    use crate::comparison::Trial;

    /// Evidence of one plan: values by setting, of one metric, a block each.
    pub(in super::super) fn evidence(plan: &str, metric: &str, settings: &[(&str, &[f64])]) -> Evidence {
        let trials = settings.iter().enumerate().flat_map(|(setting, (_, values))| {
            let of_block = move |(block, value): (usize, &f64)| Trial {
                setting,
                block: Some(block),
                values: BTreeMap::from([(metric.to_owned(), *value)]),
                ..Trial::default()
            };
            values.iter().enumerate().map(of_block)
        });
        let metrics = vec![Metric { name: metric.into(), better: Better::Higher, judged: true, boundary: None }];
        let observed = Observed {
            machines: vec!["sim:m".into()],
            blocks: settings.iter().map(|(_, values)| values.len() as u32).max().unwrap_or(0),
            trials: 8,
            voids: 0,
            elapsed_ns: 1,
            events: 0,
            metrics: metrics.clone(),
            settings: settings.iter().map(|(setting, _)| (*setting).to_owned()).collect(),
            measured: Measured {
                name: plan.into(),
                origin: None,
                settings: settings.iter().map(|(setting, _)| ((*setting).to_owned(), String::new())).collect(),
                metrics,
                trials: trials.collect(),
                failed: BTreeMap::new(),
                rules: Some((0.01, 0.05)),
                robust: false,
                mean: false,
                randomised: true,
                looked_at_once: true,
            },
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
