//! One metric of an experiment: its trials as a table, its judge, and what they come to in the journal's words.
use std::sync::Arc;

use powerband_record::{Better, LOSS_MARGIN_PERCENT, Level, Metric, SettingVerdict, Verdict, is_loss};
use powerband_stats::modes::wilson_interval;
use powerband_stats::{
    AfterEffect, CarryOver, Claim, MetricJudge, MixedModel, Period, Prediction, Rules, Scale, SettingLook, Slot,
    Spending, Table, TrialTime,
};

use crate::knee::BELOW_MARGIN;
use crate::levels::level_of;
use crate::requiring::Against;
use crate::{carried, disturbed};

/// Outliers named by their place at most.
const CLIPPED_NAMED: usize = 6;

/// The share of the margin from which an effect is worth a note.
const WORTH_A_NOTE: f64 = 0.1;

/// A trial nearer to its typical one than this share of it is reported in percent.
const NEAR: f64 = 0.05;

/// Share by which two equal quotients may differ in the computer's arithmetic.
const ROUNDING: f64 = 1e-9;

/// One metric with its trials and, if it is judged, its judge.
pub(super) struct Sheet {
    pub(super) metric: Metric,
    /// Trials that are judged: none of settings whose command failed.
    pub(super) table: Table,
    /// All valid trials; of what is lost, the first of each slot.
    pub(super) shown: Table,
    /// Losses in the other trials of a slot: block, setting, percent.
    pub(super) repeats: Vec<(usize, usize, f64)>,
    pub(super) judge: Option<MetricJudge>,
    pub(super) rules: Rules,
    pub(super) last: Option<powerband_stats::TableLook>,
    /// Whether differences of means are shown as shares of the reference's mean.
    pub(super) relative: bool,
    pub(super) trouble: Option<String>,
}

/// The differences of all settings from the reference on one metric.
pub(super) struct AllAgainst {
    model: MixedModel,
    scale: Scale,
    reference: f64,
    first_look: u32,
}

impl AllAgainst {
    pub(super) fn of(&self, setting: usize) -> Option<Against> {
        let AllAgainst { scale, reference, first_look, .. } = *self;
        Some(Against { contrast: self.model.contrast(setting, 0)?, scale, reference, first_look })
    }
}

/// Whether more blocks may mend it.
fn is_early(error: &powerband_stats::Error) -> bool {
    matches!(error, powerband_stats::Error::TooFewBlocks { .. } | powerband_stats::Error::TooFewTrials { .. })
}

impl Sheet {
    /// Enters a value of the block under way.
    pub(super) fn enter(&mut self, slot: Slot, value: f64, ran: TrialTime, is_judged: bool) {
        let block = self.shown.blocks().saturating_sub(1);
        // A slot is repeated because it lost much, so that the last of its trials favours settings that do.
        if is_loss(&self.metric.name) && self.shown.get(block, slot).is_some() {
            self.repeats.push((block, slot.setting, value));
            return;
        }
        let tables = [Some(&mut self.shown), is_judged.then_some(&mut self.table)];
        for table in tables.into_iter().flatten() {
            if let Err(error) = table.set_ran(block, slot, value, ran) {
                self.trouble = Some(format!("{}: {error}", self.metric.name));
            }
        }
    }

    /// The typical value of a setting, or its mean where that is judged; of what is lost it is the mean, of all trials.
    pub(super) fn level(&self, setting: usize) -> Option<Level> {
        let in_blocks = (0..self.shown.blocks()).flat_map(|block| self.shown.block(block));
        let of_slots = in_blocks.filter(|(slot, _)| slot.setting == setting).map(|(_, value)| value);
        let again = self.repeats.iter().filter(|(_, of, _)| *of == setting).map(|&(.., value)| value);
        let values: Vec<f64> = of_slots.chain(again).collect();
        let typical = !self.rules.mean && !is_loss(&self.metric.name);
        level_of(&self.metric.name, u32::try_from(setting).unwrap_or(u32::MAX), &values, typical)
    }

    /// Takes a setting out of what is judged.
    pub(super) fn forget(&mut self, setting: usize) {
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
    pub(super) fn against_reference(&mut self, spending: &Arc<Spending>) -> Option<AllAgainst> {
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

    pub(super) fn look(&mut self, spending: &Arc<Spending>) {
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

    /// The value that every trial read, if it is one.
    fn constant(&self) -> Option<f64> {
        let mut values = (0..self.table.blocks()).flat_map(|block| self.table.block(block)).map(|(_, value)| value);
        let first = values.next()?;
        values.all(|value| value == first).then_some(first)
    }

    /// Mean of the reference over all its trials in blocks; `None` without one.
    pub(super) fn level_of_reference(&self) -> Option<f64> {
        let in_block = |block| self.table.block(block).filter(|(slot, _)| slot.setting == 0).map(|(_, value)| value);
        let values: Vec<f64> = (0..self.table.blocks()).flat_map(in_block).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// What a change is divided by to be shown: the reference's mean where means are compared as shares of it.
    fn shown_unit(&self) -> f64 {
        self.level_of_reference().filter(|level| self.relative && *level > 0.0).unwrap_or(1.0)
    }

    pub(super) fn verdicts(&self) -> Vec<SettingVerdict> {
        let Some(look) = &self.last else { return Vec::new() };
        look.settings.iter().map(|setting| self.verdict(setting)).collect()
    }

    pub(super) fn predictions(&self) -> impl Iterator<Item = (u32, Option<Prediction>)> + '_ {
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
        let unit = self.shown_unit();
        let finite = |value: f64| value.is_finite().then_some(value / unit);
        // "Same" is two one-sided tests: the interval that lies inside the margin is the one at their level.
        let interval = match look.claim {
            Claim::Same | Claim::SameButDifferent if !self.rules.robust => {
                let margin = self.rules.margin_on_scale();
                let (low, high) = look.contrast.interval(2.0 * look.same_level);
                let (low, high) = (low.clamp(-margin, margin), high.clamp(-margin, margin));
                (self.rules.shown(low), self.rules.shown(high))
            }
            _ => look.shown_interval,
        };
        // An interval without 0 is not enough where what the model leaves out speaks against it.
        let excludes_zero = interval.0 > 0.0 || interval.1 < 0.0;
        let withheld = (look.claim.is_open() && excludes_zero).then_some(match self.rules.mean {
            true => "one more trial as far out would undo it",
            false => "the mean of all its trials does not confirm it",
        });
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
            withheld: withheld.map(str::to_owned),
            notes,
        }
    }

    pub(super) fn notes(&self, labels: &[String], each_ns: Option<u64>) -> Vec<String> {
        let name = &self.metric.name;
        let mut notes: Vec<String> = self.trouble.iter().map(|why| format!("no verdict: {why}")).collect();
        let Some(look) = &self.last else { return notes };
        let constant = self.constant().filter(|_| look.open().next().is_some());
        if constant == Some(0.0) {
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
            let reads = match constant {
                Some(value) => format!("read {value} in every trial, in steps"),
                None => "is read in steps".to_owned(),
            };
            notes.push(format!(
                "{name} {reads} of {step}, more than the margin of {margin}: that settings are the same is seldom shown; \
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
            let so = if setting.claim.is_open() { ", so its verdict takes more blocks" } else { "" };
            let label = &labels[setting.setting];
            notes.push(format!("{name}: {label} is unstable (noisier than the others, or of two minds){so}{minds}"));
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
        let mut named: Vec<String> = look
            .clipped
            .iter()
            .take(CLIPPED_NAMED)
            .map(|(block, slot)| format!("{} in block {}", labels[slot.setting], block + 1))
            .collect();
        if look.clipped.len() > CLIPPED_NAMED {
            named.push(format!("{} others", look.clipped.len() - CLIPPED_NAMED));
        }
        (!named.is_empty()).then(|| format!("{}: outliers winsorized: {}", self.metric.name, named.join(", ")))
    }
}
