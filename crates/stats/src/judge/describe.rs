//! From what the judge knows to what it tells.

use super::{Claimed, MetricJudge, Seen, State};
use crate::drift::{change_point, drift};
use crate::mixed::{Contrast, MixedModel};
use crate::modes::modes;
use crate::predict::predict;
use crate::signed_rank;
use crate::steady::FirstBlock;
use crate::verdict::{Claim, SettingLook, TableLook};

impl MetricJudge {
    /// Records a claim.
    pub(super) fn claim(&mut self, index: usize, differs: bool, same: bool) {
        let state = &mut self.states[index];
        let Some(contrast) = &state.contrast else { return };
        let claim = match (differs, same) {
            (true, true) => Claim::SameButDifferent,
            (false, _) => Claim::Same,
            (true, false) if contrast.effect > 0.0 => Claim::Higher,
            (true, false) => Claim::Lower,
        };
        state.claimed = Some(Claimed { claim, at: contrast.blocks });
    }

    /// A look in which what was claimed earlier stands: of the interval, the part that the claim allows is shown. How large a
    /// difference is, steps of the readings may hide too; its sign is shown, as rounding keeps the order.
    fn under(&self, Claimed { claim, at, .. }: Claimed, mut look: SettingLook) -> SettingLook {
        let margin = self.rules.margin_on_scale();
        let (least, most) = match claim {
            Claim::Higher => (0.0, f64::INFINITY),
            Claim::Lower => (f64::NEG_INFINITY, 0.0),
            Claim::Open | Claim::Same | Claim::SameButDifferent => (-margin, margin),
        };
        look.interval = (look.interval.0.clamp(least, most), look.interval.1.clamp(least, most));
        look.shown_interval = (self.rules.shown(look.interval.0), self.rules.shown(look.interval.1));
        look.shown_effect = self.rules.shown(look.contrast.effect.clamp(least, most));
        SettingLook { claim, claimed_at: Some(at), ..look }
    }

    /// Everything, after a successful advance.
    pub(super) fn describe(&self) -> TableLook {
        let Seen { trials, model, rare, carried } = &self.seen;
        let settings = (0..self.settings).filter_map(|index| {
            let state = &self.states[index];
            let contrast = state.contrast.clone()?;
            if let Some(claimed) = state.claimed {
                return Some(self.under(claimed, self.setting_look(index, contrast)));
            }
            let predicted = predict(&contrast, &self.course());
            Some(SettingLook { predicted, ..self.setting_look(index, contrast) })
        });
        let model = model.as_ref();
        let blocks = self.block_levels();
        let cells = trials.all().iter().zip(trials.slots()).map(|(trial, slot)| (trial.block, *slot));
        let clipped = model.map_or(&[][..], MixedModel::clipped);
        TableLook {
            blocks: blocks.len() as u32,
            first_block_dropped: self.first_block == FirstBlock::Dropped,
            step: trials.step(),
            clipped: cells.zip(clipped).filter(|(_, clipped)| **clipped).map(|(cell, _)| cell).collect(),
            settings: settings.collect(),
            reference_rare: rare.first().copied().flatten(),
            reference_unstable: model.is_some_and(|model| model.is_noisier(0)),
            after: model.and_then(MixedModel::after_effect),
            period: model.and_then(MixedModel::period),
            carried: *carried,
            drift: drift(&blocks).filter(|_| model.is_some_and(MixedModel::drifts)),
            change_point: change_point(&blocks),
        }
    }

    /// Level of each block: the mean of its trials less their settings' levels.
    fn block_levels(&self) -> Vec<f64> {
        let Seen { trials, model: Some(model), .. } = &self.seen else { return Vec::new() };
        let levels = model.levels();
        let left = |(trial, value): (&crate::mixed::MixedTrial, f64)| value - levels[trial.setting];
        trials.block_means(&trials.all().iter().zip(model.values()).map(left).collect::<Vec<_>>())
    }

    fn setting_look(&self, index: usize, mut contrast: Contrast) -> SettingLook {
        let State { test, .. } = self.states[index];
        let setting = index + 1;
        let interval = if self.rules.robust {
            let differences = self.seen.trials.differences(setting);
            contrast.effect = signed_rank::hodges_lehmann(&differences);
            signed_rank::interval(&differences, test.level)
        } else {
            contrast.interval(test.level)
        };
        let modes = modes(&self.unexplained(setting));
        let noisier = self.seen.model.as_ref().is_some_and(|model| model.is_noisier(setting));
        let shown = |effect: f64| self.rules.shown(effect);
        SettingLook {
            setting,
            p: test.p,
            level: test.level,
            p_same: test.p_same,
            same_level: test.same_level,
            interval,
            shown_effect: shown(contrast.effect),
            shown_interval: (shown(interval.0), shown(interval.1)),
            contrast,
            claim: Claim::Open,
            claimed_at: None,
            predicted: None,
            unstable: noisier || modes.is_some_and(|m| m.two),
            modes,
            rare: self.seen.rare.get(setting).copied().flatten(),
        }
    }

    /// What block levels leave unexplained of a setting's trials as measured.
    fn unexplained(&self, setting: usize) -> Vec<f64> {
        let (blocks, trials) = (self.block_levels(), self.seen.trials.all());
        let in_blocks = trials.chunk_by(|a, b| a.block == b.block).zip(blocks);
        let own = in_blocks.flat_map(|(block, level)| {
            block.iter().filter(move |trial| trial.setting == setting).map(move |trial| trial.value - level)
        });
        own.collect()
    }
}
