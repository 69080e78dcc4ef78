//! From events to a model: what the latest event of each kind says, counted and sorted by setting and metric.
use std::collections::{BTreeMap, BTreeSet};

use powerband_record::{Event, FailedTrials, Finding, Level, Metric, Outcome, PlannedTrial, SettingVerdict, Started};

use super::unrecorded::Unrecorded;
use super::{
    ExperimentEnd, Landing, Left, MatchesFound, Model, ModelError, Restoration, SearchReport, SettingReport,
    TrialValues, VoidTrial,
};

/// The words of a landing that needs no mention: what was written, and what was there already.
const APPLIED: &str = "applied";
const ALREADY: &str = "already so";

struct Gathering {
    model: Model,
    planned: BTreeMap<u32, PlannedTrial>,
    values: Vec<Vec<Vec<f64>>>,  // [setting][metric][valid trial in a block]
    already: BTreeSet<u32>,      // settings with a value that was there already
    changed: BTreeSet<u32>,      // settings with a value that was not
    cut: Vec<u32>,               // trials whose load printed more than was kept
    unrecorded: Vec<Unrecorded>, // as `started.record`
    levels: Vec<Level>,          // of the end
    failed: BTreeMap<u32, FailedTrials>,
}

pub(super) fn gather(events: &[Event]) -> Result<Model, ModelError> {
    let started = match events.first() {
        None => return Err(ModelError::Empty),
        Some(Event::Started(started)) => started,
        Some(_) => return Err(ModelError::NoStart),
    };
    let mut gathering = Gathering::new(started);
    for (place, event) in events.iter().enumerate() {
        gathering.check(place, event)?;
        gathering.take(event);
    }
    Ok(gathering.finish())
}

impl Gathering {
    fn new(started: &Started) -> Self {
        let metrics = started.metrics.len();
        let setting = |planned: &powerband_record::PlannedSetting| SettingReport {
            label: planned.label.clone(),
            turns: planned.turns.clone(),
            levels: vec![None; metrics],
            verdicts: vec![None; metrics],
            distributions: BTreeMap::new(),
            left: None,
            landings: vec![],
            unchanged: false,
            failed: None,
        };
        let model = Model {
            header: None,
            store: String::new(),
            started: started.clone(),
            end: ExperimentEnd::Open,
            elapsed_ns: 0,
            blocks: 0,
            trials: 0,
            warmups: 0,
            settings: started.settings.iter().map(setting).collect(),
            knee: None,
            search: None,
            course: Vec::new(),
            requirements: vec![],
            calibrations: vec![],
            values: vec![],
            matches: BTreeMap::new(),
            voids: vec![],
            notes: started.notes.clone(),
            restored: None,
        };
        let values = vec![vec![vec![]; metrics]; started.settings.len()];
        let unrecorded = started.record.iter().map(|_| Unrecorded::default()).collect();
        let (already, changed, planned, failed) = Default::default();
        Gathering { model, planned, values, already, changed, cut: vec![], unrecorded, levels: vec![], failed }
    }

    /// Every setting an event names must have been planned; what comes after may index without asking.
    fn check(&self, event: usize, what: &Event) -> Result<(), ModelError> {
        let settings = self.model.settings.len();
        let named: Vec<u32> = match what {
            Event::TrialStarted(trial) => vec![trial.setting],
            Event::SettingLeft { setting, .. } => vec![*setting],
            Event::BlockDone(block) => {
                let required = block.requirements.iter().map(|it| it.setting);
                let best = block.search.as_ref().and_then(|search| search.setting);
                block.verdicts.iter().map(|v| v.setting).chain(required).chain(best).collect()
            }
            Event::Closed(finding) => {
                let verdicts = finding.verdicts.iter().map(|v| v.setting);
                let required = finding.requirements.iter().map(|it| it.setting);
                let best = finding.search.as_ref().and_then(|search| search.setting);
                verdicts.chain(finding.levels.iter().map(|l| l.setting)).chain(required).chain(best).collect()
            }
            _ => vec![],
        };
        match named.into_iter().find(|&setting| index(setting) >= settings) {
            Some(setting) => Err(ModelError::Setting { event, setting, settings }),
            None => Ok(()),
        }
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::TrialStarted(trial) => {
                self.passed(trial.at_ns);
                self.planned.insert(trial.trial, *trial);
            }
            Event::Landed { trial, site } if site.landed == ALREADY => {
                let Some(planned) = self.planned.get(trial) else { return };
                self.already.insert(planned.setting);
            }
            Event::Landed { trial, site } if site.landed == APPLIED => {
                let Some(planned) = self.planned.get(trial) else { return };
                self.changed.insert(planned.setting);
            }
            Event::Landed { trial, site } => {
                let Some(planned) = self.planned.get(trial) else { return };
                self.changed.insert(planned.setting);
                let landings = &mut self.model.settings[index(planned.setting)].landings;
                match landings.iter_mut().find(|landing| landing.site == *site) {
                    Some(landing) => landing.trials += 1,
                    None => landings.push(Landing { site: site.clone(), trials: 1 }),
                }
            }
            Event::TrialDone { trial, at_ns, outcome } => {
                self.passed(*at_ns);
                self.trial_done(*trial, outcome);
            }
            Event::TrialVoid { trial, at_ns, why } => {
                self.passed(*at_ns);
                let planned = self.planned.get(trial);
                let (block, setting) = planned.map_or((0, 0), |planned| (planned.block, planned.setting));
                self.model.voids.push(VoidTrial { trial: *trial, block, setting, why: why.clone() });
            }
            Event::BlockDone(block) => {
                self.passed(block.at_ns);
                self.model.blocks = self.model.blocks.max(block.block);
                self.verdicts(&block.verdicts);
                self.model.requirements.clone_from(&block.requirements);
                self.model.knee = block.knee.clone().or(self.model.knee.take());
                self.model.course.extend(block.search.clone());
                self.model.search = block.search.clone().map(SearchReport::Stands).or(self.model.search.take());
            }
            Event::SettingLeft { setting, block, why } => {
                self.model.settings[index(*setting)].left = Some(Left { block: *block, why: why.clone() });
            }
            Event::Restored { entries, failed, changed } => {
                let (failed, changed) = (failed.clone(), changed.clone());
                self.model.restored = Some(Restoration { entries: *entries, failed, changed });
            }
            Event::Closed(finding) => self.closed(finding),
            _ => {}
        }
    }

    fn passed(&mut self, at_ns: u64) {
        self.model.elapsed_ns = self.model.elapsed_ns.max(at_ns);
    }

    fn trial_done(&mut self, trial: u32, outcome: &Outcome) {
        let Some(planned) = self.planned.get(&trial).copied() else { return };
        if outcome.output.values().any(|output| output.cut) {
            self.cut.push(trial);
        }
        for (recording, unrecorded) in self.model.started.record.iter().zip(&mut self.unrecorded) {
            unrecorded.take(recording, trial, outcome);
        }
        let value = |metric: &Metric| outcome.metrics.get(&metric.name).copied().filter(|value| value.is_finite());
        let values = self.model.started.metrics.iter().map(value).collect();
        let (block, setting) = (planned.block, planned.setting);
        let runs = outcome.repeated.as_ref().map(|repeated| repeated.real_s.clone()).unwrap_or_default();
        self.model.values.push(TrialValues { trial, block, setting, values, runs, ended: outcome.ended });
        self.several(outcome);
        if block == 0 {
            self.model.warmups += 1;
            return;
        }
        self.model.trials += 1;
        self.failed.entry(setting).or_default().take(outcome);
        let values = &mut self.values[index(planned.setting)];
        for (metric, values) in self.model.started.metrics.iter().zip(values) {
            values.extend(outcome.metrics.get(&metric.name).filter(|value| value.is_finite()));
        }
        let distributions = &mut self.model.settings[index(planned.setting)].distributions;
        for (name, histogram) in &outcome.histograms {
            distributions.entry(name.clone()).or_default().add(histogram);
        }
    }

    fn several(&mut self, outcome: &Outcome) {
        for (metric, matches) in &outcome.matches {
            let found = self.model.matches.entry(metric.clone()).or_insert_with(|| MatchesFound {
                trials: 0,
                min_count: matches.count,
                max_count: matches.count,
                example: matches.clone(),
            });
            found.trials += 1;
            found.min_count = found.min_count.min(matches.count);
            found.max_count = found.max_count.max(matches.count);
        }
    }

    /// What was found before a command failed does not hold after it: nothing is judged of its setting, nor against it.
    fn set_failed_apart(&mut self) {
        for (setting, trials) in std::mem::take(&mut self.failed) {
            self.model.settings[index(setting)].failed = Some(trials).filter(|trials| trials.failed > 0);
        }
        let no_reference = self.model.failed(0).is_some();
        for setting in self.model.settings.iter_mut().filter(|setting| no_reference || setting.failed.is_some()) {
            setting.verdicts.fill(None);
        }
        let mut requirements = std::mem::take(&mut self.model.requirements);
        requirements.retain(|it| self.model.failed(it.setting).is_none());
        self.model.requirements = requirements;
    }

    fn place(&self, metric: &str) -> Option<usize> {
        self.model.started.metrics.iter().position(|m| m.name == metric)
    }

    fn verdicts(&mut self, verdicts: &[SettingVerdict]) {
        for verdict in verdicts {
            if let Some(place) = self.place(&verdict.metric) {
                self.model.settings[index(verdict.setting)].verdicts[place] = Some(verdict.clone());
            }
        }
    }

    fn closed(&mut self, finding: &Finding) {
        self.passed(finding.at_ns);
        self.model.end = ExperimentEnd::Closed(finding.reason.clone());
        self.model.blocks = finding.blocks;
        self.verdicts(&finding.verdicts);
        self.model.requirements.clone_from(&finding.requirements);
        self.model.calibrations.clone_from(&finding.calibrations);
        self.model.knee = finding.knee.clone().or(self.model.knee.take());
        self.model.search = finding.search.clone().map(SearchReport::Found).or(self.model.search.take());
        self.model.notes.extend(finding.notes.iter().cloned());
        self.levels.clone_from(&finding.levels);
    }

    fn finish(mut self) -> Model {
        self.set_failed_apart();
        for level in std::mem::take(&mut self.levels) {
            if let Some(place) = self.place(&level.metric) {
                let setting = index(level.setting);
                self.model.settings[setting].levels[place] = Some(level);
            }
        }
        if let [first, ..] = self.cut[..] {
            let trials = self.cut.len();
            self.model.notes.push(match trials {
                1 => format!("trial {first}: its load printed more than is kept; the rest is missing"),
                _ => format!("{trials} trials, the first of them {first}: their load printed more than is kept; the rest is missing"),
            });
        }
        for (recording, unrecorded) in self.model.started.record.iter().zip(&self.unrecorded) {
            self.model.notes.extend(unrecorded.notes(recording));
        }
        for (number, setting) in (0..).zip(&mut self.model.settings) {
            setting.unchanged = self.already.contains(&number) && !self.changed.contains(&number);
        }
        // Where the end told no level (it has not come, or came too early), at least what the trials say.
        let metrics = &self.model.started.metrics;
        for ((number, setting), values) in (0..).zip(&mut self.model.settings).zip(&self.values) {
            for ((level, metric), values) in setting.levels.iter_mut().zip(metrics).zip(values) {
                if let (None, Some(typical)) = (&level, typical(values)) {
                    let trials = u32::try_from(values.len()).unwrap_or(u32::MAX);
                    let metric = metric.name.clone();
                    *level = Some(Level { setting: number, metric, trials, typical, low: None, high: None });
                }
            }
        }
        self.model
    }
}

/// Geometric mean when all are positive, else the mean; nothing of nothing.
fn typical(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    match values {
        [] => None,
        _ if values.iter().all(|&value| value > 0.0) => {
            Some((values.iter().map(|v| v.ln()).sum::<f64>() / count).exp())
        }
        _ => Some(values.iter().sum::<f64>() / count),
    }
}

fn index(setting: u32) -> usize {
    usize::try_from(setting).unwrap_or(usize::MAX)
}
