//! Measurements to compare, wherever they come from: trials with their setting and, where known, block and session.
use std::collections::BTreeMap;

use powerband_record::{Event, FailedTrials, Metric, PlannedTrial};
use powerband_stats::{Slot, Table, TrialTime};

use super::{CompareError, Groups};
use crate::{Model, ModelError, TrialValues};

/// Copies of the reference that a table has room for; further ones are averaged into the last.
const REFERENCE_COPIES: usize = 3;

/// A value, and when its trial ran where that is known.
type Timed = (f64, Option<TrialTime>);

/// One valid trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trial {
    /// Index of its setting.
    pub setting: usize,
    /// Its block, where it is known.
    pub block: Option<usize>,
    /// Its session, where there are several.
    pub session: Option<usize>,
    /// Number of the trial and the setting of the one right before it, where the order is known.
    pub ran: Option<TrialTime>,
    /// Value by metric.
    pub values: BTreeMap<String, f64>,
}

/// Where and how an experiment ran: two that agree in it share their reference.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOrigin {
    /// Its number.
    pub id: i64,
    /// Host, machine, far machine and what runs there.
    pub machine: (String, String, Option<String>, String),
    /// The load, in its own shape.
    pub load: serde_json::Value,
}

/// The measurements of one experiment or table.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// For people: `experiment 3`, `rounds.csv`.
    pub name: String,
    /// Where an experiment ran; a table does not say.
    pub origin: Option<RunOrigin>,
    /// Label and what it turns, by setting; 0 is the reference of an experiment.
    pub settings: Vec<(String, String)>,
    /// The metrics.
    pub metrics: Vec<Metric>,
    /// Valid trials in the order of time (of a table: of its lines).
    pub trials: Vec<Trial>,
    /// Of settings whose command failed: they are not compared.
    pub failed: BTreeMap<usize, FailedTrials>,
    /// Its margin and error rate, where it has them.
    pub rules: Option<(f64, f64)>,
    /// Judged by ranks.
    pub robust: bool,
    /// Judged by the mean of all trials as measured.
    pub mean: bool,
    /// Whether the order inside blocks is known to be random.
    pub randomised: bool,
    /// Whether the number of blocks was fixed beforehand and nobody looked before its end.
    pub looked_at_once: bool,
}

impl Measured {
    /// The valid trials in blocks of a stored experiment, which ran on `host`.
    ///
    /// # Errors
    /// [`ModelError`] when the events are no journal.
    pub fn of_events(id: i64, host: &str, events: &[Event]) -> Result<Self, ModelError> {
        let Some(Event::Started(started)) = events.first() else {
            return Err(if events.is_empty() { ModelError::Empty } else { ModelError::NoStart });
        };
        let mut planned: BTreeMap<u32, PlannedTrial> = BTreeMap::new();
        let (mut trials, mut failed) = (Vec::new(), BTreeMap::<usize, FailedTrials>::new());
        let (mut before, mut latest) = (None, None);
        for event in events {
            match event {
                Event::TrialStarted(trial) => {
                    // As while it ran: what a void trial left is not known.
                    before = latest.take();
                    planned.insert(trial.trial, *trial);
                }
                Event::TrialDone { trial, outcome, .. } => {
                    let Some(planned) = planned.get(trial) else { continue };
                    latest = Some(planned.setting as usize);
                    if planned.block == 0 {
                        continue;
                    }
                    failed.entry(planned.setting as usize).or_default().take(outcome);
                    trials.push(Trial {
                        setting: planned.setting as usize,
                        block: Some(planned.block as usize - 1),
                        session: None,
                        ran: Some(TrialTime { trial: *trial, before }),
                        values: outcome.metrics.clone(),
                    });
                }
                _ => {}
            }
        }
        failed.retain(|_, trials| trials.failed > 0);
        let machine = (host.to_owned(), started.machine.clone(), started.others(), started.system.clone());
        Ok(Measured {
            name: format!("experiment {id}"),
            origin: Some(RunOrigin { id, machine, load: started.load.clone() }),
            settings: started.settings.iter().map(|it| (it.label.clone(), it.turns.clone())).collect(),
            metrics: started.metrics.clone(),
            trials,
            failed,
            rules: Some((started.margin, started.alpha)),
            robust: started.robust,
            mean: started.judge_mean,
            randomised: true,
            looked_at_once: false,
        })
    }

    /// The valid trials in blocks of a report.
    pub(crate) fn of_model(model: &Model) -> Self {
        let metrics = &model.started.metrics;
        let trial = |it: &TrialValues| Trial {
            setting: it.setting as usize,
            block: Some(it.block as usize - 1),
            session: None,
            ran: None,
            values: metrics.iter().zip(&it.values).filter_map(|(m, v)| Some((m.name.clone(), (*v)?))).collect(),
        };
        Measured {
            name: "this experiment".into(),
            origin: None,
            settings: model.settings.iter().map(|it| (it.label.clone(), it.turns.clone())).collect(),
            metrics: metrics.clone(),
            trials: model.values.iter().filter(|it| it.block > 0).map(trial).collect(),
            failed: BTreeMap::new(),
            rules: Some((model.started.margin, model.started.alpha)),
            robust: model.started.robust,
            mean: model.started.judge_mean,
            randomised: true,
            looked_at_once: false,
        }
    }

    /// The setting of this name: its label, what it turns, or the value alone where one setting has it (`performance` of
    /// `governor=performance`).
    ///
    /// # Errors
    /// [`CompareError::NoSetting`] with those there are.
    pub fn setting(&self, name: &str) -> Result<usize, CompareError> {
        let found = self.settings.iter().position(|(label, turns)| label == name || turns == name);
        let ending = format!("={name}");
        let mut short = (0..self.settings.len()).filter(|&place| self.settings[place].0.ends_with(&ending));
        let only = short.next().filter(|_| short.next().is_none());
        found.or(only).ok_or_else(|| CompareError::NoSetting {
            name: self.name.clone(),
            setting: name.to_owned(),
            known: self.labels(),
        })
    }

    /// That the command of a setting failed, which is then not compared.
    pub(super) fn check(&self, setting: usize) -> Result<(), CompareError> {
        let name = || format!("{} of {}", self.label(setting), self.name);
        let failed = self.failed.get(&setting).cloned();
        failed.map_or(Ok(()), |failed| Err(CompareError::Failed { name: name(), failed }))
    }

    /// All labels, for a sentence.
    #[must_use]
    pub fn labels(&self) -> String {
        self.settings.iter().map(|(label, _)| label.as_str()).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn label(&self, setting: usize) -> String {
        self.settings.get(setting).map_or_else(|| format!("setting {setting}"), |(label, _)| label.clone())
    }

    /// Whether two experiments have the same reference: the same machine, load, and what it turns.
    pub(super) fn shares_reference(&self, other: &Measured) -> bool {
        let (Some(mine), Some(theirs)) = (&self.origin, &other.origin) else { return false };
        let turns = |of: &Measured| of.settings.first().map(|(_, turns)| turns.clone());
        mine.machine == theirs.machine && mine.load == theirs.load && turns(self) == turns(other)
    }

    /// Whether every trial of these settings says its block.
    pub(crate) fn in_blocks(&self, settings: &[usize]) -> bool {
        let mut those = self.trials.iter().filter(|trial| settings.contains(&trial.setting)).peekable();
        those.peek().is_some() && those.all(|trial| trial.block.is_some())
    }

    /// Values of one setting in the order of time.
    pub(super) fn values(&self, setting: usize, metric: &str) -> Vec<f64> {
        let those = self.trials.iter().filter(|trial| trial.setting == setting);
        those.filter_map(|trial| trial.values.get(metric).copied()).collect()
    }

    /// Mean of one setting's values; none where there are none.
    pub(crate) fn mean_of(&self, setting: usize, metric: &str) -> Option<f64> {
        let values = self.values(setting, metric);
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Mean of one setting's values by block.
    pub(crate) fn by_block(&self, setting: usize, metric: &str) -> BTreeMap<usize, f64> {
        let mut groups = Groups::new();
        for trial in self.trials.iter().filter(|trial| trial.setting == setting) {
            let value = trial.values.get(metric).filter(|value| value.is_finite());
            if let (Some(block), Some(&value)) = (trial.block, value) {
                groups.entry(block).or_default().push(value);
            }
        }
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        groups.into_iter().map(|(block, values)| (block, mean(values))).collect()
    }

    /// Values of one setting by session; empty where no session is told.
    pub(super) fn by_session(&self, setting: usize, metric: &str) -> Groups {
        let mut groups = Groups::new();
        for trial in self.trials.iter().filter(|trial| trial.setting == setting) {
            if let (Some(session), Some(&value)) = (trial.session, trial.values.get(metric)) {
                groups.entry(session).or_default().push(value);
            }
        }
        groups
    }

    /// The settings `others` with `reference` as setting 0, by block. Trials of one setting in one block are averaged, but
    /// for the reference's first three.
    pub(super) fn table(&self, reference: usize, others: &[usize], metric: &str) -> Result<Table, CompareError> {
        let place = |setting: usize| {
            if setting == reference {
                return Some(0);
            }
            others.iter().position(|&other| other == setting).map(|place| place + 1)
        };
        let mut cells: BTreeMap<usize, BTreeMap<usize, Vec<Timed>>> = BTreeMap::new();
        for trial in &self.trials {
            if let (Some(of), Some(block), Some(&value)) = (place(trial.setting), trial.block, trial.values.get(metric))
            {
                let ran = trial.ran.map(|ran| TrialTime { before: ran.before.and_then(place), ..ran });
                cells.entry(block).or_default().entry(of).or_default().push((value, ran));
            }
        }
        let mut table = Table::new(others.len());
        for of_block in cells.values() {
            let block = table.push_block();
            for (&setting, trials) in of_block {
                let most = if setting == 0 { REFERENCE_COPIES } else { 1 };
                let (single, several) = trials.split_at(if trials.len() > most { most - 1 } else { trials.len() });
                for (copy, &(value, ran)) in single.iter().enumerate() {
                    let slot = Slot { setting, copy };
                    table.set(block, slot, value)?;
                    ran.map_or(Ok(()), |ran| table.set_ran(block, slot, value, ran))?;
                }
                if !several.is_empty() {
                    let values: Vec<f64> = several.iter().map(|(value, _)| *value).collect();
                    table.set(block, Slot { setting, copy: single.len() }, typical(&values))?;
                }
            }
        }
        Ok(table)
    }

    /// Whether some setting has other than one trial a block, or the order of the settings differs between blocks.
    pub(super) fn order_varies(&self) -> bool {
        let mut orders: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for trial in &self.trials {
            if let Some(block) = trial.block {
                orders.entry(block).or_default().push(trial.setting);
            }
        }
        let mut orders = orders.into_values();
        let first = orders.next();
        orders.any(|order| Some(&order) != first.as_ref())
    }
}

/// Geometric mean where every value is positive, else the mean.
pub(super) fn typical(values: &[f64]) -> f64 {
    let n = values.len().max(1) as f64;
    match values.iter().all(|value| *value > 0.0) {
        true => (values.iter().map(|value| value.ln()).sum::<f64>() / n).exp(),
        false => values.iter().sum::<f64>() / n,
    }
}
