//! Many settings against one reference: looks after each block, claims that stay.

use crate::carry::CarryOver;
use crate::error::Error;
use crate::mixed::{Contrast, MixedModel};
use crate::predict::Forecast;
use crate::rare::{Rare, rare};
use crate::rules::Rules;
use crate::signed_rank;
use crate::spending::Spending;
use crate::steady::{FirstBlock, first_block};
use crate::table::Table;
use crate::trials::Trials;
use crate::verdict::{Claim, TableLook};
use std::sync::Arc;

mod describe;

/// Share of the largest value by which differences of equal readings may be off.
const ROUNDING: f64 = 1e-15;

/// Judges one metric of one experiment. Feed it the growing table once after every completed block.
///
/// Several judges may look at the same blocks, one a metric. Which settings leave the race is the caller's decision:
/// a setting claimed here may go on being measured for another metric. Its claim stays then, and its numbers are those of
/// the latest look.
#[derive(Debug, Clone)]
pub struct MetricJudge {
    rules: Rules,
    spending: Arc<Spending>,
    settings: usize,
    first_look: u32,
    first_block: FirstBlock,
    /// Settings 1.., at index 0...
    states: Vec<State>,
    /// What the latest look used.
    seen: Seen,
}

/// The trials of a look and what was made of them.
#[derive(Debug, Clone, Default)]
struct Seen {
    trials: Trials,
    /// None before the first look.
    model: Option<MixedModel>,
    /// Rare trials of every setting, the reference first.
    rare: Vec<Option<Rare>>,
    carried: Option<CarryOver>,
}

/// What the judge remembers of a setting.
#[derive(Debug, Clone, Default)]
struct State {
    /// Blocks in which it could be compared, at its latest test.
    tested_at: u32,
    claimed: Option<Claimed>,
    /// Its latest comparison.
    contrast: Option<Contrast>,
    /// One-sided p values and levels of the latest test.
    test: Test,
}

/// A claim.
#[derive(Debug, Clone, Copy)]
struct Claimed {
    claim: Claim,
    /// Blocks of its setting then.
    at: u32,
}

#[derive(Debug, Clone, Copy)]
struct Test {
    p: f64,
    p_same: f64,
    level: f64,
    same_level: f64,
    /// Share of the error rate that its difference has.
    alpha: f64,
}

impl Default for Test {
    fn default() -> Self {
        Self { p: 1.0, p_same: 1.0, level: 0.0, same_level: 0.0, alpha: 0.0 }
    }
}

impl MetricJudge {
    /// A judge of `settings` settings (the reference not counted).
    ///
    /// # Errors
    /// `NoSettings` for none; `BadRule` for rules that cannot be used.
    pub fn new(settings: usize, rules: Rules, spending: Arc<Spending>) -> Result<Self, Error> {
        rules.check()?;
        if settings == 0 {
            return Err(Error::NoSettings);
        }
        Ok(Self {
            first_look: rules.first_look(),
            rules,
            spending,
            settings,
            first_block: FirstBlock::Kept,
            states: vec![State::default(); settings],
            seen: Seen::default(),
        })
    }

    /// The rules it judges by.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Block of the first look.
    #[must_use]
    pub fn first_look(&self) -> u32 {
        self.first_look
    }

    /// What is claimed of each setting, setting 1 first.
    pub fn claims(&self) -> impl Iterator<Item = Claim> + '_ {
        self.states.iter().map(State::claim)
    }

    /// The latest comparison of a setting (from 1) with the reference.
    #[must_use]
    pub fn contrast(&self, setting: usize) -> Option<&Contrast> {
        self.states.get(setting.checked_sub(1)?)?.contrast.as_ref()
    }

    /// Takes in the table after a completed block and describes every setting.
    ///
    /// A setting is tested once for each of its blocks, however often this is called. After an error nothing has
    /// been claimed.
    ///
    /// # Errors
    /// `TooFewBlocks` before the first look, `TooFewTrials`, `NoReference`, `NotFinite`, `NotPositive`,
    /// `RobustNeedsOneReference`; `Shape` when the table has another number of settings.
    pub fn look(&mut self, table: &Table) -> Result<TableLook, Error> {
        self.advance(table)?;
        Ok(self.describe())
    }

    /// As [`MetricJudge::look`] without the description, for simulations that only need the claims.
    ///
    /// # Errors
    /// As [`MetricJudge::look`].
    pub fn advance(&mut self, table: &Table) -> Result<(), Error> {
        if table.settings() != self.settings {
            let what = "settings in the table";
            return Err(Error::Shape { what, have: table.settings(), need: self.settings });
        }
        if table.trials() < 2 {
            return Err(Error::TooFewTrials { have: table.trials() });
        }
        if self.rules.drop_first_block {
            self.first_block = first_block(table, &self.rules)?;
        }
        let have = self.comparable_blocks(table)?;
        if have < self.first_look as usize {
            return Err(Error::TooFewBlocks { have, need: self.first_look as usize });
        }
        self.load(table)?;
        self.test();
        Ok(())
    }

    /// The model of every block of the table, from which any two settings are compared.
    ///
    /// # Errors
    /// `TooFewTrials`, `NotFinite`, `NotPositive`.
    pub fn model(&self, table: &Table) -> Result<MixedModel, Error> {
        Trials::new(table, self.rules.scale, |block, _| !self.skipped(block))?
            .model(self.rules.winsorise, self.rules.block_levels)
    }

    fn skipped(&self, block: usize) -> bool {
        block == 0 && self.first_block == FirstBlock::Dropped
    }

    /// Counts the blocks that hold the reference and another setting.
    fn comparable_blocks(&self, table: &Table) -> Result<usize, Error> {
        let mut comparable = 0;
        let mut referenced = false;
        for block in (0..table.blocks()).filter(|&block| !self.skipped(block)) {
            let mut references = 0;
            let mut others = 0;
            for (slot, _) in table.block(block) {
                if slot.setting == 0 {
                    references += 1;
                } else {
                    others += 1;
                }
            }
            if self.rules.robust && references > 1 {
                return Err(Error::RobustNeedsOneReference { block });
            }
            referenced |= references > 0;
            comparable += usize::from(references > 0 && others > 0);
        }
        if referenced { Ok(comparable) } else { Err(Error::NoReference) }
    }

    /// Fits the model to what counts, and compares every setting with the reference.
    fn load(&mut self, table: &Table) -> Result<(), Error> {
        let trials = Trials::new(table, self.rules.scale, |block, _| !self.skipped(block))?;
        let model = trials.model(self.rules.winsorise && !self.rules.robust, self.rules.block_levels)?;
        for (setting, state) in (1..).zip(&mut self.states) {
            let latest = model.contrast(setting, 0);
            // What was claimed is compared anew with each new trial of its own.
            let is_new = |contrast: &Contrast| state.claimed.is_none() || contrast.blocks > state.tested_at;
            state.contrast = latest.filter(is_new).or(state.contrast.take());
        }
        self.seen = Seen { rare: rare(&trials), carried: model.carry_over(), model: Some(model), trials };
        Ok(())
    }

    /// Tests every setting that has a new block, and records what is claimed of those still open.
    fn test(&mut self) {
        let mut waiting: Vec<usize> = Vec::with_capacity(self.settings);
        let same = self.rules.same_level(self.settings);
        for index in 0..self.settings {
            let state = &self.states[index];
            let Some(contrast) = &state.contrast else { continue };
            let blocks = contrast.blocks;
            if blocks <= state.tested_at || blocks < self.first_look {
                continue;
            }
            let same_level = self.level(same, blocks);
            let (p, p_same) = self.p_values(index + 1, contrast);
            let alpha = state.test.alpha;
            let level = if state.claimed.is_some() { self.level(alpha, blocks) } else { 0.0 };
            let state = &mut self.states[index];
            state.tested_at = blocks;
            state.test = Test { p, p_same, level, same_level, alpha };
            if state.claimed.is_none() {
                waiting.push(index);
            }
        }
        let different = self.step_down(&waiting);
        let left = self.rules.difference_level(self.sharing(different.len()));
        for index in 0..self.settings {
            let state = &self.states[index];
            if state.claimed.is_some() || state.contrast.is_none() {
                continue;
            }
            let differs = different.contains(&index);
            if !differs {
                let level = self.level(left, state.tested_at);
                let test = &mut self.states[index].test;
                (test.level, test.alpha) = (level, left);
            }
            let same = waiting.contains(&index) && self.is_same(index);
            if differs || same {
                self.claim(index, differs, same);
            }
        }
    }

    /// Whether the latest test shows a setting (at its index) to be the same.
    fn is_same(&self, index: usize) -> bool {
        let test = self.states[index].test;
        let carries = self.rules.withhold_carried && self.seen.carried.is_some_and(|it| it.withholds_same());
        test.p_same <= test.same_level && !carries
    }

    /// Holm's steps over the settings tested at this look: the most extreme first, each claim leaving more for the rest.
    fn step_down(&mut self, waiting: &[usize]) -> Vec<usize> {
        let mut different = Vec::new();
        loop {
            let alpha = self.rules.difference_level(self.sharing(different.len()));
            let mut best: Option<(f64, usize, f64)> = None;
            for &index in waiting.iter().filter(|index| !different.contains(*index)) {
                let level = self.level(alpha, self.states[index].tested_at);
                let ratio = self.states[index].test.p / level;
                if level > 0.0 && best.is_none_or(|(least, ..)| ratio < least) {
                    best = Some((ratio, index, level));
                }
            }
            let Some((ratio, index, level)) = best else { return different };
            if ratio > 1.0 {
                return different;
            }
            let test = &mut self.states[index].test;
            (test.level, test.alpha) = (level, alpha);
            different.push(index);
        }
    }

    /// Settings that share the error rate of differences: all but those already claimed different.
    fn sharing(&self, claimed_now: usize) -> usize {
        let before = self.claims().filter(|claim| claim.is_difference()).count();
        self.settings - before - claimed_now
    }

    fn level(&self, alpha: f64, blocks: u32) -> f64 {
        self.spending.nominal(self.rules.spend, alpha, self.first_look, blocks)
    }

    fn course(&self) -> Forecast<'_> {
        Forecast {
            spending: &self.spending,
            spend: self.rules.spend,
            first: self.first_look,
            difference: self.rules.difference_level(self.sharing(0)),
            same: self.rules.same_level(self.settings),
            margin: self.rules.margin_on_scale(),
        }
    }

    /// A setting compared by block differences of values as measured, with nothing assumed but their random order.
    fn paired(&self, differences: &[f64]) -> Contrast {
        let trials = &self.seen.trials;
        // Rounding, also that of readings in steps, is the least that block differences scatter by.
        let steps = trials.step() / (6.0 * differences.len() as f64).sqrt();
        Contrast::of_blocks(differences, steps.max(ROUNDING * trials.magnitude()))
    }

    /// A setting compared by its values as measured, where rare trials of it or of the reference were pulled in.
    fn unclipped(&self, setting: usize) -> Option<Contrast> {
        let has_rare = |it: usize| self.seen.rare.get(it).is_some_and(Option::is_some);
        let clips = self.seen.model.as_ref().is_some_and(|model| model.clipped().contains(&true));
        let has_any = clips && (has_rare(0) || has_rare(setting));
        has_any.then(|| self.paired(&self.seen.trials.differences(setting)))
    }

    /// p of "no difference" and of "beyond the margin" of a setting (from 1).
    fn p_values(&self, setting: usize, contrast: &Contrast) -> (f64, f64) {
        let margin = self.rules.margin_on_scale();
        if self.rules.robust {
            let differences = self.seen.trials.differences(setting);
            let below: Vec<f64> = differences.iter().map(|d| margin - d).collect();
            let above: Vec<f64> = differences.iter().map(|d| margin + d).collect();
            let p_same = signed_rank::p_above(&below).max(signed_rank::p_above(&above));
            return (signed_rank::p_two_sided(&differences), p_same);
        }
        let others =
            if self.rules.mean { self.with_one_more(setting) } else { Vec::from_iter(self.unclipped(setting)) };
        // All are to say it. Which way, the model says: none of the others must deny it.
        let denies = others.iter().any(|it| it.effect * contrast.effect <= 0.0);
        let against = others.iter().map(Contrast::p_difference).fold(contrast.p_difference(), f64::max);
        let same = others.iter().map(|it| it.p_beyond(margin)).fold(contrast.p_beyond(margin), f64::max);
        (if denies { 1.0 } else { against }, same)
    }

    /// A setting (from 1) compared with one more block whose difference is as far to either side as the furthest seen. The t test
    /// alone takes a tail that has not been seen yet for none.
    fn with_one_more(&self, setting: usize) -> Vec<Contrast> {
        let differences = self.seen.trials.differences(setting);
        let mean = differences.iter().sum::<f64>() / differences.len() as f64;
        let furthest = differences.iter().map(|d| (d - mean).abs()).fold(0.0, f64::max);
        let with = |side: f64| self.paired(&[&differences[..], &[mean + side * furthest]].concat());
        [-1.0, 1.0].map(with).to_vec()
    }
}

impl State {
    fn claim(&self) -> Claim {
        self.claimed.map_or(Claim::Open, |claimed| claimed.claim)
    }
}
