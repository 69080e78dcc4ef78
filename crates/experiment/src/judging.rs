//! Judging: one sheet a metric, the requirements and the knee; a look at all of them gives verdicts.
mod sheet;

use std::collections::BTreeMap;
use std::sync::Arc;

use powerband_record::{
    FailedTrials, KneeFinding, Level, Metric, Outcome, RequirementStanding, SettingVerdict, Standing, Started, Verdict,
    Void, is_loss,
};
use powerband_stats::{Prediction, Rules, Slot, Spending, Table, TrialTime};

use crate::censored::Censored;
use crate::knee::KneeSeeker;
use crate::requiring::Requiring;
use crate::trials::TRIES;
use sheet::{AllAgainst, Sheet};

/// Why a setting leaves where the reference cannot be judged.
const NO_REFERENCE: &str = "the command failed under the reference";

/// What a look came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
    /// Verdicts by judged metric and setting.
    pub(crate) verdicts: Vec<SettingVerdict>,
    /// Where requirements stand.
    pub(crate) requirements: Vec<RequirementStanding>,
    /// The knee, when one is sought.
    pub(crate) knee: Option<KneeFinding>,
    /// Whether the knee and what is alike are both settled.
    pub(crate) knee_complete: bool,
    /// What is predicted for open settings, by metric.
    predictions: Vec<(u32, Option<Prediction>)>,
    /// Settings that need no more trials, with the reason.
    pub(crate) decided: Vec<(u32, String)>,
}

impl Look {
    /// For a setting that was looked at and is open somewhere: the prediction of the metric that takes longest, `None`
    /// inside when one of them is not predictable at all. Outer `None` when there is nothing open to predict.
    pub(crate) fn slowest(&self, setting: u32) -> Option<Option<Prediction>> {
        let mut open =
            self.predictions.iter().filter(|(of, _)| *of == setting).map(|(_, prediction)| *prediction).peekable();
        open.peek()?;
        Some(open.collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().max_by_key(|p| p.blocks)))
    }
}

/// All metrics of an experiment.
pub(crate) struct Judging {
    labels: Vec<String>,
    sheets: Vec<Sheet>,
    knee: Option<KneeSeeker>,
    requiring: Requiring,
    /// By setting: one whose command failed is not judged.
    failed: BTreeMap<usize, FailedTrials>,
    censored: Censored,
    /// For each block, from the beginning of each valid trial to that of the next, ns.
    apart_ns: Vec<Vec<u64>>,
    /// Number and beginning (ns) of the latest valid trial of this block.
    latest: Option<(u32, u64)>,
    spending: Arc<Spending>,
}

impl Judging {
    pub(crate) fn new(started: &Started) -> Self {
        let judged = started.metrics.iter().filter(|metric| metric.judged).count().max(1);
        let others = started.settings.len().saturating_sub(1);
        let spending = Spending::shared();
        let rules = Rules {
            // Verdicts on several metrics share the error rate.
            alpha: started.alpha / judged as f64,
            strict_same: started.same_family,
            margin: started.margin,
            robust: started.robust,
            withhold_carried: true,
            ..if started.judge_mean { Rules::mean() } else { Rules::default() }
        };
        let sheet = |metric: &Metric| Sheet {
            metric: metric.clone(),
            table: Table::new(others),
            shown: Table::new(others),
            repeats: Vec::new(),
            judge: None,
            rules: rules.clone(),
            last: None,
            relative: false,
            trouble: None,
        };
        Judging {
            labels: started.settings.iter().map(|setting| setting.label.clone()).collect(),
            sheets: started.metrics.iter().map(sheet).collect(),
            knee: KneeSeeker::new(started, &spending),
            requiring: Requiring::new(started),
            failed: BTreeMap::new(),
            censored: Censored::new(started.settings.len()),
            apart_ns: Vec::new(),
            latest: None,
            spending,
        }
    }

    /// A new block begins.
    pub(crate) fn begin_block(&mut self) {
        self.apart_ns.push(Vec::new());
        self.latest = None;
        self.requiring.begin_block();
        for sheet in &mut self.sheets {
            sheet.table.push_block();
            sheet.shown.push_block();
        }
    }

    /// Forgets what a block that was not finished has brought.
    pub(crate) fn keep_blocks(&mut self, blocks: u32) {
        if self.apart_ns.len() <= blocks as usize {
            return;
        }
        self.apart_ns.truncate(blocks as usize);
        self.requiring.forget_block();
        for sheet in &mut self.sheets {
            sheet.table = sheet.table.prefix(blocks as usize);
            sheet.shown = sheet.shown.prefix(blocks as usize);
            sheet.repeats.retain(|&(block, ..)| block < blocks as usize);
        }
    }

    /// A valid trial, when it ran and when it began.
    pub(crate) fn take(&mut self, slot: Slot, outcome: &Outcome, ran: TrialTime, at_ns: u64) {
        if let Some((trial, began_ns)) = self.latest.replace((ran.trial, at_ns))
            && let Some(apart_ns) = self.apart_ns.last_mut()
        {
            // With the invalid ones between them.
            let trials = u64::from(ran.trial.saturating_sub(trial));
            apart_ns.extend(at_ns.saturating_sub(began_ns).checked_div(trials));
        }
        let trials = self.failed.entry(slot.setting).or_default();
        trials.take(outcome);
        self.censored.take(slot.setting, None);
        let is_judged = trials.failed == 0;
        if is_judged {
            self.requiring.take(slot.setting, outcome);
        }
        for sheet in &mut self.sheets {
            let Some(&value) = outcome.metrics.get(&sheet.metric.name) else { continue };
            sheet.enter(slot, value, ran, is_judged);
        }
        if !is_judged {
            self.sheets.iter_mut().for_each(|sheet| sheet.forget(slot.setting));
        }
    }

    /// The trials of a setting whose command failed in one of them.
    fn failed(&self, setting: usize) -> Option<&FailedTrials> {
        self.failed.get(&setting).filter(|trials| trials.failed > 0)
    }

    /// A void trial; one that is void for what it lost is valid for its loss.
    pub(crate) fn void(&mut self, slot: Slot, why: &Void, ran: TrialTime) {
        self.censored.take(slot.setting, Some(why));
        if let Void::Lossy { lost_percent, .. } = why {
            self.requiring.lost(slot.setting, *lost_percent);
            let is_judged = self.failed(slot.setting).is_none();
            for sheet in self.sheets.iter_mut().filter(|sheet| is_loss(&sheet.metric.name)) {
                sheet.enter(slot, *lost_percent, ran, is_judged);
            }
        }
    }

    /// Looks at all complete blocks.
    pub(crate) fn look(&mut self) -> Look {
        let mut look = Look::default();
        if let Some(reference) = self.failed(0) {
            // Nothing can be compared with it.
            let given_up = self.others().filter(|_| reference.trials >= TRIES);
            look.decided = given_up.map(|setting| (setting, NO_REFERENCE.to_owned())).collect();
            return look;
        }
        for sheet in self.sheets.iter_mut().filter(|sheet| sheet.metric.judged) {
            sheet.look(&self.spending);
            look.verdicts.extend(sheet.verdicts());
            look.predictions.extend(sheet.predictions());
        }
        let fails = |setting: u32| self.failed(setting as usize).is_some();
        look.verdicts.retain(|verdict| !fails(verdict.setting));
        look.predictions.retain(|(setting, _)| !fails(*setting));
        // Losses are known of every trial.
        for verdict in look.verdicts.iter_mut().filter(|it| !is_loss(&it.metric)) {
            if let Some(differs) = self.censored.against_reference(verdict.setting as usize) {
                verdict.withhold(&format!("{differs} than {}", self.labels[0]));
            }
        }
        if let (Some(knee), Some(sheet)) = (&mut self.knee, self.sheets.first()) {
            knee.look(&sheet.table, (sheet.rules.scale, sheet.rules.margin));
            knee.reconcile(&mut look.verdicts);
            look.knee = knee.finding(&look.verdicts);
        }
        self.look_at_requirements(&mut look);
        look.decided = self.decided(&look);
        // The headline names the knee, the table all the others: both are to be settled.
        let settled = self.knee.as_ref().is_some_and(KneeSeeker::complete);
        let named = look.knee.as_ref().is_some_and(|finding| finding.none || finding.knee.is_some());
        look.knee_complete = settled && named && self.others().all(|setting| self.is_decided(&look, setting));
        look
    }

    fn look_at_requirements(&mut self, look: &mut Look) {
        let (sheets, spending) = (&mut self.sheets, &self.spending);
        // A metric's model is fitted once, and asked setting by setting.
        let mut known: BTreeMap<String, Option<AllAgainst>> = BTreeMap::new();
        let mut against = |metric: &str, setting: usize| {
            let all = known.entry(metric.to_owned()).or_insert_with(|| {
                sheets.iter_mut().find(|sheet| sheet.metric.name == metric)?.against_reference(spending)
            });
            all.as_ref()?.of(setting)
        };
        for (standing, predicted) in self.requiring.standings(spending, &mut against) {
            if standing.found.standing == Standing::Open && standing.setting > 0 {
                look.predictions.push((standing.setting, predicted));
            }
            look.requirements.push(standing);
        }
    }

    /// The boundaries looks are held against.
    pub(crate) fn spending(&self) -> &Arc<Spending> {
        &self.spending
    }

    /// All settings but the reference.
    fn others(&self) -> impl Iterator<Item = u32> + use<> {
        (1..).take(self.labels.len().saturating_sub(1))
    }

    /// Whether a setting has its verdict on every judged metric, and no requirement of it is open.
    fn is_decided(&self, look: &Look, setting: u32) -> bool {
        let judged = self.sheets.iter().filter(|sheet| sheet.metric.judged).count();
        let decided = |it: &&SettingVerdict| it.setting == setting && it.verdict != Verdict::Undecided;
        let is_open = |it: &RequirementStanding| it.setting == setting && it.found.standing == Standing::Open;
        judged > 0 && look.verdicts.iter().filter(decided).count() == judged && !look.requirements.iter().any(is_open)
    }

    /// Settings that may leave: decided on every judged metric, no requirement open and, where a knee is sought, out of the race for it.
    fn decided(&self, look: &Look) -> Vec<(u32, String)> {
        let given_up = |setting: &u32| self.failed(*setting as usize).filter(|trials| trials.trials >= TRIES);
        let failed = self.others().filter_map(|setting| Some((setting, given_up(&setting)?.to_string())));
        let mut decided: Vec<(u32, String)> = failed.collect();
        for setting in self.others().filter(|setting| self.is_decided(look, *setting)) {
            match &look.knee {
                None => decided.push((setting, "decided".to_owned())),
                Some(knee) if knee.inferior.contains(&setting) => {
                    decided.push((setting, format!("worse than another by more than the margin on {}", knee.metric)));
                }
                Some(_) => {}
            }
        }
        decided
    }

    /// The level of every metric at every setting.
    pub(crate) fn levels(&self) -> Vec<Level> {
        let of_setting = |setting| self.sheets.iter().filter_map(move |sheet| sheet.level(setting));
        (0..self.labels.len()).flat_map(of_setting).collect()
    }

    /// The median within blocks: an experiment that is resumed begins with a block, so that no pause is among them.
    fn usually_apart_ns(&self) -> Option<u64> {
        let mut apart_ns = self.apart_ns.concat();
        let middle = apart_ns.len().checked_sub(1)? / 2;
        Some(*apart_ns.select_nth_unstable(middle).1)
    }

    /// What must be known with the verdicts.
    pub(crate) fn notes(&self) -> Vec<String> {
        let each_ns = self.usually_apart_ns();
        let of_metrics = self.sheets.iter().flat_map(|sheet| sheet.notes(&self.labels, each_ns));
        let level = |metric: &str| self.sheets.iter().find(|sheet| sheet.metric.name == metric)?.level_of_reference();
        self.censored.notes(&self.labels).chain(of_metrics).chain(self.requiring.notes(level)).collect()
    }
}
