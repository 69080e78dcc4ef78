//! Judging: the trials of an experiment as tables, one judge a metric, the knee; verdicts in the journal's words.
use std::collections::BTreeMap;
use std::sync::Arc;

use powerband_record::{
    Better, FailedTrials, KneeFinding, LOSS_MARGIN_PERCENT, Level, Metric, Outcome, RequirementStanding,
    SettingVerdict, Standing, Started, Verdict, is_loss,
};
use powerband_stats::modes::wilson_interval;
use powerband_stats::{
    AfterEffect, CarryOver, Claim, MetricJudge, MixedModel, Period, Prediction, Rules, Scale, SettingLook, Slot,
    Spending, Table, TrialTime,
};

use crate::knee::{BELOW_MARGIN, KneeSeeker};
use crate::levels::level;
use crate::requiring::{Against, Requiring};
use crate::trials::TRIES;
use crate::{carried, disturbed};

/// Why a setting leaves where the reference cannot be judged.
const NO_REFERENCE: &str = "the command failed under the reference";

/// How many outliers are told by their place.
const CLIPPED_TOLD: usize = 6;

/// The share of the margin from which an effect is worth a note.
const WORTH_A_NOTE: f64 = 0.1;

/// A trial nearer to its typical one than this share of it is reported in percent.
const NEAR: f64 = 0.05;

/// Share by which two equal quotients may differ in the computer's arithmetic.
const ROUNDING: f64 = 1e-9;

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

/// One metric with its trials and, if it is judged, its judge.
struct Sheet {
    metric: Metric,
    /// What is judged: nothing of settings whose command failed.
    table: Table,
    /// All valid trials.
    shown: Table,
    judge: Option<MetricJudge>,
    rules: Rules,
    last: Option<powerband_stats::TableLook>,
    /// Whether differences of means are shown as shares of the reference's mean.
    relative: bool,
    trouble: Option<String>,
}

/// The differences of all settings from the reference on one metric.
struct AllAgainst {
    model: MixedModel,
    scale: Scale,
    reference: f64,
    first_look: u32,
}

impl AllAgainst {
    fn of(&self, setting: usize) -> Option<Against> {
        let AllAgainst { scale, reference, first_look, .. } = *self;
        Some(Against { contrast: self.model.contrast(setting, 0)?, scale, reference, first_look })
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
            apart_ns: Vec::new(),
            latest: None,
            spending,
        }
    }

    /// A new block begins.
    pub(crate) fn begin_block(&mut self) {
        self.apart_ns.push(Vec::new());
        self.latest = None;
        for sheet in &mut self.sheets {
            sheet.table.push_block();
            sheet.shown.push_block();
        }
    }

    /// Forgets what a block that was not finished has brought.
    pub(crate) fn keep_blocks(&mut self, blocks: u32) {
        self.apart_ns.truncate(blocks as usize);
        for sheet in &mut self.sheets {
            sheet.table = sheet.table.prefix(blocks as usize);
            sheet.shown = sheet.shown.prefix(blocks as usize);
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
        let is_judged = trials.failed == 0;
        if is_judged {
            self.requiring.take(slot.setting, outcome);
        }
        for sheet in &mut self.sheets {
            let block = sheet.table.blocks().saturating_sub(1);
            let Some(&value) = outcome.metrics.get(&sheet.metric.name) else { continue };
            let tables = [Some(&mut sheet.shown), is_judged.then_some(&mut sheet.table)];
            for table in tables.into_iter().flatten() {
                if let Err(error) = table.set_ran(block, slot, value, ran) {
                    sheet.trouble = Some(format!("{}: {error}", sheet.metric.name));
                }
            }
        }
        if !is_judged {
            self.sheets.iter_mut().for_each(|sheet| sheet.forget(slot.setting));
        }
    }

    /// The trials of a setting whose command failed in one of them.
    fn failed(&self, setting: usize) -> Option<&FailedTrials> {
        self.failed.get(&setting).filter(|trials| trials.failed > 0)
    }

    /// A trial of a setting that is void for what it lost, in percent.
    pub(crate) fn lost(&mut self, setting: usize, lost_percent: f64) {
        self.requiring.lost(setting, lost_percent);
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
        let mut levels = Vec::new();
        for setting in 0..self.labels.len() {
            levels.extend(
                self.sheets
                    .iter()
                    .filter_map(|sheet| level(&sheet.metric.name, setting, &sheet.shown, sheet.rules.mean)),
            );
        }
        levels
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
        of_metrics.chain(self.requiring.notes(level)).collect()
    }
}

/// Whether more blocks may mend it.
fn is_early(error: &powerband_stats::Error) -> bool {
    matches!(error, powerband_stats::Error::TooFewBlocks { .. } | powerband_stats::Error::TooFewTrials { .. })
}

impl Sheet {
    /// Takes a setting out of what is judged.
    fn forget(&mut self, setting: usize) {
        for block in 0..self.table.blocks() {
            let slots: Vec<Slot> = self.table.block(block).map(|(slot, _)| slot).collect();
            for slot in slots.into_iter().filter(|slot| slot.setting == setting) {
                if let Err(error) = self.table.clear(block, slot) {
                    self.trouble = Some(format!("{}: {error}", self.metric.name));
                }
            }
        }
    }

    fn ready(&mut self, spending: &Arc<Spending>) {
        if self.judge.is_none() {
            self.settle_scale();
            match MetricJudge::new(self.table.settings(), self.rules.clone(), Arc::clone(spending)) {
                Ok(judge) => self.judge = Some(judge),
                Err(error) => self.trouble = Some(format!("{}: {error}", self.metric.name)),
            }
        }
    }

    /// The differences of all settings from the reference over all their blocks, also those after a verdict.
    fn against_reference(&mut self, spending: &Arc<Spending>) -> Option<AllAgainst> {
        self.ready(spending);
        let judge = self.judge.as_ref()?;
        let model = match judge.model(&self.table) {
            Ok(model) => model,
            Err(error) => {
                if !is_early(&error) {
                    self.trouble = Some(format!("{}: {error}", self.metric.name));
                }
                return None;
            }
        };
        let reference = self.level_of_reference().unwrap_or_default();
        Some(AllAgainst { model, scale: self.rules.scale, reference, first_look: judge.first_look() })
    }

    fn look(&mut self, spending: &Arc<Spending>) {
        self.ready(spending);
        let Some(judge) = &mut self.judge else { return };
        match judge.look(&self.table) {
            Ok(look) => self.last = Some(look),
            Err(error) if is_early(&error) => {}
            // The first value without a logarithm, and nothing is claimed yet: all blocks are judged as differences.
            Err(powerband_stats::Error::NotPositive { .. })
                if self.rules.scale == Scale::Log && judge.claims().all(Claim::is_open) =>
            {
                self.judge = None;
                self.look(spending);
            }
            Err(error) => {
                self.trouble = Some(format!("{}: {error}", self.metric.name));
                // What was predicted before is not to come.
                let settings = self.last.iter_mut().flat_map(|look| &mut look.settings);
                settings.for_each(|setting| setting.predicted = None);
            }
        }
    }

    /// Logarithms unless a value has none; the margin then is that share of the reference's level. It asks only for signs,
    /// of all settings alike, so it favours none.
    fn settle_scale(&mut self) {
        if is_loss(&self.metric.name) {
            (self.rules.scale, self.rules.margin) = (Scale::Linear, LOSS_MARGIN_PERCENT);
            return;
        }
        let values: Vec<(Slot, f64)> = (0..self.table.blocks()).flat_map(|block| self.table.block(block)).collect();
        let positive = values.iter().all(|&(_, value)| value > 0.0);
        if positive && !self.rules.mean {
            return;
        }
        self.relative = positive;
        self.rules.scale = Scale::Linear;
        self.rules.margin *= self.level_of_reference().unwrap_or_default().abs();
    }

    fn is_always_zero(&self) -> bool {
        (0..self.table.blocks()).flat_map(|block| self.table.block(block)).all(|(_, value)| value == 0.0)
    }

    /// Mean of the reference over all its trials in blocks; `None` without one.
    fn level_of_reference(&self) -> Option<f64> {
        let in_block = |block| self.table.block(block).filter(|(slot, _)| slot.setting == 0).map(|(_, value)| value);
        let values: Vec<f64> = (0..self.table.blocks()).flat_map(in_block).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// What a change is divided by to be shown: the reference's mean where means are compared as shares of it.
    fn shown_unit(&self) -> f64 {
        self.level_of_reference().filter(|level| self.relative && *level > 0.0).unwrap_or(1.0)
    }

    fn verdicts(&self) -> Vec<SettingVerdict> {
        let Some(look) = &self.last else { return Vec::new() };
        look.settings.iter().map(|setting| self.verdict(setting)).collect()
    }

    fn predictions(&self) -> impl Iterator<Item = (u32, Option<Prediction>)> + '_ {
        let open = self.last.iter().flat_map(powerband_stats::TableLook::open);
        open.map(|setting| (u32::try_from(setting.setting).unwrap_or(u32::MAX), setting.predicted))
    }

    fn verdict(&self, look: &SettingLook) -> SettingVerdict {
        let better = |higher: bool| {
            if (self.metric.better == Better::Higher) == higher { Verdict::Better } else { Verdict::Worse }
        };
        let verdict = match look.claim {
            Claim::Open => Verdict::Undecided,
            Claim::Higher => better(true),
            Claim::Lower => better(false),
            Claim::Same | Claim::SameButDifferent => Verdict::Same,
        };
        let mut notes = Vec::new();
        if look.claim == Claim::SameButDifferent {
            notes.push(BELOW_MARGIN.to_owned());
        }
        if look.clipped_share > 0.0 {
            notes.push(format!("{:.0} % of its trials winsorized as outliers", 100.0 * look.clipped_share));
        }
        let unit = self.shown_unit();
        let finite = |value: f64| value.is_finite().then_some(value / unit);
        // "Same" is two one-sided tests: the interval that lies inside the margin is the one at their level.
        let interval = match look.claim {
            Claim::Same | Claim::SameButDifferent if !self.rules.robust => {
                let (low, high) = look.contrast.interval(2.0 * look.same_level);
                (self.rules.shown(low), self.rules.shown(high))
            }
            _ => look.shown_interval,
        };
        SettingVerdict {
            setting: u32::try_from(look.setting).unwrap_or(u32::MAX),
            metric: self.metric.name.clone(),
            verdict,
            change: finite(look.shown_effect).unwrap_or_default(),
            absolute: self.rules.scale == Scale::Linear && !self.relative,
            low: finite(interval.0),
            high: finite(interval.1),
            blocks: look.contrast.blocks,
            decided_at: look.claimed_at,
            predicted_blocks: look.predicted.map(|predicted| (predicted.low, predicted.high)),
            unstable: look.unstable,
            notes,
        }
    }

    fn notes(&self, labels: &[String], each_ns: Option<u64>) -> Vec<String> {
        let name = &self.metric.name;
        let mut notes: Vec<String> = self.trouble.iter().map(|why| format!("no verdict: {why}")).collect();
        let Some(look) = &self.last else { return notes };
        if look.open().next().is_some() && self.is_always_zero() {
            notes.push(format!("{name}: every trial read 0, so there is nothing to compare"));
        }
        let period = look.period.filter(Period::is_shown);
        let drift = look.drift.filter(|it| self.matters(it.per_block.abs() * f64::from(look.blocks)));
        notes.extend(drift.map(|it| disturbed::drift(name, it, &self.rules, period.is_some())));
        notes.extend(period.map(|it| disturbed::period(name, it, each_ns)));
        if let Some(change) = look.change_point.filter(|change| change.flagged && self.matters(change.size.abs())) {
            notes.push(format!("{name} changed its level after block {}", change.after_blocks));
        }
        if look.step > self.rules.margin * (1.0 + ROUNDING) {
            let percent = |share: f64| format!("{:.2} %", 100.0 * share);
            let (step, margin) = match self.rules.scale {
                Scale::Log => (percent(look.step), percent(self.rules.margin)),
                Scale::Linear => (format!("{:.3}", look.step), format!("{:.3}", self.rules.margin)),
            };
            notes.push(format!(
                "{name} is read in steps of {step}, more than the margin of {margin}: that settings are the same is seldom shown; \
                 longer trials, a finer meter or a larger --margin would help"
            ));
        }
        notes.extend(look.carried.filter(CarryOver::withholds_same).map(|it| carried::note(&self.metric, it)));
        if let Some(after) = look.after.filter(AfterEffect::is_shown).filter(|after| self.matters(after.effect.abs())) {
            notes.push(carried::after_note(&self.metric, &labels[after.setting], after, &self.rules));
        }
        if look.first_block_dropped {
            notes.push(format!("{name}: the first block was still settling and was not used"));
        }
        if look.reference_unstable {
            notes.push(format!(
                "{name}: {} is noisier than the others, and is in every comparison, so verdicts take more blocks",
                labels[0]
            ));
        }
        for setting in look.settings.iter().filter(|setting| setting.unstable) {
            let minds = self.two_minds(setting).map_or_else(String::new, |minds| format!("; {minds}"));
            notes.push(format!(
                "{name}: {} is unstable (noisier than the others, or of two minds), so its verdict takes more blocks{minds}",
                labels[setting.setting]
            ));
        }
        notes.extend(self.rare(look, labels));
        notes.extend(self.clipped(look, labels));
        notes
    }

    /// Whether an effect of this size, on the scale of the differences, is worth a sentence: meters without noise show the smallest ones.
    fn matters(&self, size: f64) -> bool {
        size >= WORTH_A_NOTE * self.rules.margin_on_scale()
    }

    /// Rare trials far from a setting's typical one: a verdict of the typical trial says nothing of them.
    fn rare<'a>(
        &'a self,
        look: &'a powerband_stats::TableLook,
        labels: &'a [String],
    ) -> impl Iterator<Item = String> + 'a {
        let settings = look.settings.iter().map(|setting| (setting.setting, setting.rare));
        let all = std::iter::once((0, look.reference_rare)).chain(settings);
        all.filter_map(move |(setting, rare)| {
            let rare = rare.filter(|rare| self.matters(rare.distance.abs()))?;
            let far = match self.rules.scale {
                Scale::Log => match self.rules.shown(rare.distance) {
                    near if near.abs() < NEAR => format!("{:+.2} % off its typical one", 100.0 * near),
                    far => format!("{:.2} times its typical one", 1.0 + far),
                },
                Scale::Linear => format!("{:+.3} from its typical one", rare.distance),
            };
            let (name, label) = (&self.metric.name, &labels[setting]);
            let verb = if rare.trials == 1 { "is" } else { "are" };
            let must = if self.rules.mean { "" } else { "; a verdict on it must hold for the mean as well" };
            Some(format!("{name}: {} of {} trials of {label} {verb} {far}{must}", rare.trials, rare.of))
        })
    }

    /// How often a setting is in the less wanted of its two modes.
    fn two_minds(&self, look: &SettingLook) -> Option<String> {
        let modes = look.modes.filter(|modes| modes.two)?;
        let share = if self.metric.better == Better::Lower { modes.high_share } else { 1.0 - modes.high_share };
        let trials = u64::from(look.contrast.blocks);
        let (low, high) = wilson_interval((share * trials as f64).round() as u64, trials);
        Some(format!(
            "it is in the less wanted of two modes in {:.0} % of its trials ({:.0} .. {:.0})",
            100.0 * share,
            100.0 * low,
            100.0 * high
        ))
    }

    /// The trials that were pulled in, by setting and block.
    fn clipped(&self, look: &powerband_stats::TableLook, labels: &[String]) -> Option<String> {
        let mut told: Vec<String> = look
            .clipped
            .iter()
            .take(CLIPPED_TOLD)
            .map(|(block, slot)| format!("{} in block {}", labels[slot.setting], block + 1))
            .collect();
        if look.clipped.len() > CLIPPED_TOLD {
            told.push(format!("{} others", look.clipped.len() - CLIPPED_TOLD));
        }
        (!told.is_empty()).then(|| format!("{}: outliers winsorized: {}", self.metric.name, told.join(", ")))
    }
}
