//! From what the judge knows to what it tells.

use super::{MetricJudge, Seen, State};
use crate::drift::{change_point, drift};
use crate::mixed::{Contrast, MixedModel};
use crate::modes::modes;
use crate::predict::predict;
use crate::signed_rank;
use crate::steady::FirstBlock;
use crate::verdict::{Claim, SettingLook, TableLook};

impl MetricJudge {
    /// Records a claim as it stands at this look.
    pub(super) fn claim(&mut self, index: usize, differs: bool, same: bool, table_blocks: usize) {
        let Some(contrast) = &self.states[index].contrast else { return };
        let claim = match (differs, same) {
            (true, true) => Claim::SameButDifferent,
            (false, _) => Claim::Same,
            (true, false) if contrast.effect > 0.0 => Claim::Higher,
            (true, false) => Claim::Lower,
        };
        let mut look = self.setting_look(index, contrast.clone());
        look.claim = claim;
        // How large a difference is, steps of the readings may hide; its sign is shown, as rounding keeps the order.
        match claim {
            Claim::Higher => look.interval.0 = look.interval.0.max(0.0),
            Claim::Lower => look.interval.1 = look.interval.1.min(0.0),
            Claim::Open | Claim::Same | Claim::SameButDifferent => {}
        }
        look.shown_interval = (self.rules.shown(look.interval.0), self.rules.shown(look.interval.1));
        look.claimed_at = Some(look.contrast.blocks);
        let state = &mut self.states[index];
        state.claimed = Some(look);
        state.left_at = Some(table_blocks);
    }

    /// Everything, after a successful advance.
    pub(super) fn describe(&self) -> TableLook {
        let Seen { trials, model, rare, carried } = &self.seen;
        let settings = (0..self.settings).filter_map(|index| {
            let state = &self.states[index];
            if let Some(look) = &state.claimed {
                return Some(look.clone());
            }
            let contrast = state.contrast.clone()?;
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
            clipped_share: self.clipped_share(setting),
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

    fn clipped_share(&self, setting: usize) -> f64 {
        let Seen { trials, model: Some(model), .. } = &self.seen else { return 0.0 };
        let own = trials.all().iter().zip(model.clipped()).filter(|(trial, _)| trial.setting == setting);
        let (clipped, all) = own.fold((0, 0), |(clipped, all), (_, is)| (clipped + usize::from(*is), all + 1));
        clipped as f64 / all.max(1) as f64
    }
}
