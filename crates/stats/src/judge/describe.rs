//! From what the judge knows to what it tells.

use super::{MetricJudge, State};
use crate::after::After;
use crate::contrast::Contrast;
use crate::drift::{change_point, drift};
use crate::modes::modes;
use crate::period::period;
use crate::predict::predict;
use crate::signed_rank;
use crate::steady::FirstBlock;
use crate::verdict::{Claim, SettingLook, TableLook};
use crate::winsor::pool;

impl MetricJudge {
    /// The differences of one setting (from 1), in block order.
    pub(super) fn block_differences(&self, setting: usize) -> Vec<f64> {
        self.differences_of(&self.fit.used, setting)
    }

    /// The differences of one setting (from 1) in `values`, one an observation.
    pub(super) fn differences_of(&self, values: &[f64], setting: usize) -> Vec<f64> {
        let mut differences = Vec::with_capacity(self.fit.rows());
        for row in 0..self.fit.rows() {
            let range = self.fit.starts[row]..self.fit.starts[row + 1];
            let cells = self.fit.observations[range.clone()].iter().zip(&values[range]);
            let (mut sum, mut copies, mut own) = (0.0, 0.0, None);
            for (seen, y) in cells {
                if seen.setting == 0 {
                    sum += y;
                    copies += 1.0;
                } else if seen.setting == setting {
                    own = Some(y);
                }
            }
            if let Some(y) = own
                && copies > 0.0
            {
                differences.push(y - sum / copies);
            }
        }
        differences
    }

    /// Records a claim as it stands at this look.
    pub(super) fn claim(
        &mut self,
        index: usize,
        differs: bool,
        same: bool,
        after: Option<&After>,
        table_blocks: usize,
    ) {
        let Some(contrast) = self.states[index].contrast else { return };
        let claim = match (differs, same) {
            (true, true) => Claim::SameButDifferent,
            (false, _) => Claim::Same,
            (true, false) if contrast.effect > 0.0 => Claim::Higher,
            (true, false) => Claim::Lower,
        };
        let mut look = self.setting_look(index, contrast);
        look.claim = claim;
        // How large a difference is, steps of the readings may hide; its sign is shown, as rounding keeps the order.
        match claim {
            Claim::Higher => look.interval.0 = look.interval.0.max(0.0),
            Claim::Lower => look.interval.1 = look.interval.1.min(0.0),
            Claim::Open | Claim::Same | Claim::SameButDifferent => {}
        }
        look.shown_interval = (self.rules.shown(look.interval.0), self.rules.shown(look.interval.1));
        look.claimed_at = Some(contrast.blocks);
        look.without_after = after.filter(|_| differs).and_then(|after| self.interval_without(after, index));
        let state = &mut self.states[index];
        state.claimed = Some(look);
        state.left_at = Some(table_blocks);
    }

    /// Everything, after a successful advance.
    pub(super) fn describe(&self) -> TableLook {
        let fit = &self.fit;
        let clipped = fit.observations.iter().zip(&self.winsor.clipped);
        let drift = drift(&fit.block_levels);
        let drifts = drift.is_some_and(|drift| drift.is_shown());
        let settings = (0..self.settings).filter_map(|index| {
            let state = &self.states[index];
            if let Some(look) = &state.claimed {
                return Some(look.clone());
            }
            let contrast = state.contrast?;
            let mut look = self.setting_look(index, contrast);
            look.predicted = predict(&contrast, &self.course());
            Some(look)
        });
        TableLook {
            blocks: fit.rows() as u32,
            first_block_dropped: self.first_block == FirstBlock::Dropped,
            noise_sd: pool(fit, &self.winsor).variance.sqrt(),
            noise_df: fit.df,
            step: fit.step,
            clipped_share: 1.0 - self.winsor.kept_share(),
            clipped: clipped.filter(|(_, c)| **c).map(|(seen, _)| (seen.block, seen.slot)).collect(),
            settings: settings.collect(),
            reference_rare: self.rare.first().copied().flatten(),
            reference_unstable: self.spread_stands_out(0, self.sum_of_squares()),
            after: self.after().map(|after| after.found).filter(|_| !drifts),
            period: period(fit, drifts),
            drift,
            change_point: change_point(&fit.block_levels),
        }
    }

    fn setting_look(&self, index: usize, mut contrast: Contrast) -> SettingLook {
        let State { test, unstable, .. } = self.states[index];
        let setting = index + 1;
        let interval = if self.rules.robust {
            let differences = self.block_differences(setting);
            contrast.effect = signed_rank::hodges_lehmann(&differences);
            signed_rank::interval(&differences, test.level)
        } else {
            contrast.interval(test.level)
        };
        let residuals = self.raw_residuals(setting);
        let modes = modes(&residuals);
        let shown = |effect: f64| self.rules.shown(effect);
        SettingLook {
            setting,
            contrast,
            p: test.p,
            level: test.level,
            p_same: test.p_same,
            same_level: test.same_level,
            interval,
            shown_effect: shown(contrast.effect),
            shown_interval: (shown(interval.0), shown(interval.1)),
            claim: Claim::Open,
            claimed_at: None,
            predicted: None,
            clipped_share: self.clipped_share(setting),
            unstable: unstable || modes.is_some_and(|m| m.two),
            modes,
            rare: self.rare.get(setting).copied().flatten(),
            without_after: None,
        }
    }

    /// What a setting's trials, as measured, leave unexplained.
    fn raw_residuals(&self, setting: usize) -> Vec<f64> {
        self.fit.of(setting).iter().map(|&place| self.fit.raw[place] - self.fit.fitted(place)).collect()
    }

    fn clipped_share(&self, setting: usize) -> f64 {
        let places = self.fit.of(setting);
        let clipped = places.iter().filter(|&&place| self.winsor.clipped[place]).count();
        if places.is_empty() { 0.0 } else { clipped as f64 / places.len() as f64 }
    }
}
