//! Many settings against one reference: looks after each block, claims that stay.

use crate::contrast::{Contrast, Differences, Pool};
use crate::drift::drift;
use crate::error::Error;
use crate::fit::Fit;
use crate::modes::{UNSTABLE_BLOCKS, stands_out};
use crate::pairs::Pairs;
use crate::predict::Forecast;
use crate::rare::{Rare, rare};
use crate::rules::Rules;
use crate::signed_rank;
use crate::spending::Spending;
use crate::steady::{FirstBlock, first_block};
use crate::table::Table;
use crate::trend::{Trend, take_out};
use crate::verdict::{Claim, SettingLook, TableLook};
use crate::winsor::{Winsor, pool};
use std::sync::Arc;

mod after;
mod describe;
mod mean;

/// Judges one metric of one experiment. Feed it the growing table once after every completed block.
///
/// Several judges may look at the same blocks, one a metric. Which settings leave the race is the caller's decision:
/// a setting claimed here may go on being measured for another metric, and what it yields after its claim is not used
/// by this judge, so it cannot move the others.
#[derive(Debug, Clone)]
pub struct MetricJudge {
    rules: Rules,
    spending: Arc<Spending>,
    settings: usize,
    first_look: u32,
    first_block: FirstBlock,
    same_withheld: bool,
    /// Settings 1.., at index 0...
    states: Vec<State>,
    fit: Fit,
    winsor: Winsor,
    /// The steep drift inside blocks that was taken out of the values.
    trend: Option<Trend>,
    differences: Vec<Differences>,
    /// Rare trials of every setting, the reference first.
    rare: Vec<Option<Rare>>,
}

/// What the judge remembers of a setting.
#[derive(Debug, Clone, Default)]
struct State {
    /// Blocks in which it could be compared, at its latest test.
    tested_at: u32,
    /// Blocks of the table at its claim: later cells are not used.
    left_at: Option<usize>,
    /// The look that claimed it.
    claimed: Option<SettingLook>,
    /// Its latest comparison.
    contrast: Option<Contrast>,
    /// Whether its spread stands out.
    unstable: bool,
    /// One-sided p values and levels of the latest test.
    test: Test,
}

#[derive(Debug, Clone, Copy)]
struct Test {
    p: f64,
    p_same: f64,
    level: f64,
    same_level: f64,
}

impl Default for Test {
    fn default() -> Self {
        Self { p: 1.0, p_same: 1.0, level: 0.0, same_level: 0.0 }
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
            same_withheld: false,
            states: vec![State::default(); settings],
            fit: Fit::default(),
            winsor: Winsor::default(),
            trend: None,
            differences: Vec::new(),
            rare: Vec::new(),
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

    /// The latest comparison of a setting (from 1) with the reference; that of its claim once it is claimed.
    #[must_use]
    pub fn contrast(&self, setting: usize) -> Option<&Contrast> {
        self.states.get(setting.checked_sub(1)?)?.contrast.as_ref()
    }

    /// Holds back "same" while a carry-over between trials is suspected, which shrinks every difference.
    pub fn withhold_same(&mut self, withheld: bool) {
        self.same_withheld = withheld;
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
        self.compare();
        self.mark_unstable();
        self.test(table.blocks());
        Ok(())
    }

    /// All pairs of settings, the reference among them, on every block of the table: which are the same at the margin
    /// is read from [`Pairs::alike`]. Blocks measured after a setting's claim count here, each pair being a question of
    /// its own.
    ///
    /// # Errors
    /// `TooFewTrials`, `NotFinite`, `NotPositive`.
    pub fn pairs(&self, table: &Table) -> Result<Pairs, Error> {
        let mut fit = Fit::default();
        let mut winsor = Winsor::default();
        fit.load(table, self.rules.scale, |block, _| !self.skipped(block))?;
        winsor.apply(&mut fit, self.rules.winsorise);
        let level = self.rules.same_level(1);
        let margin = self.rules.margin_on_scale();
        Ok(Pairs::new(&fit, &pool(&fit, &winsor), margin, |blocks| self.level(level, blocks)))
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

    fn load(&mut self, table: &Table) -> Result<(), Error> {
        let dropped = self.first_block == FirstBlock::Dropped;
        let states = &self.states;
        self.fit.load(table, self.rules.scale, |block, setting| {
            let left = setting > 0 && states[setting - 1].left_at.is_some_and(|at| block >= at);
            !(left || dropped && block == 0)
        })?;
        // A steep drift lies inside blocks too, where it looks like outliers of whichever setting ran first or last.
        let drifts = drift(&self.fit.block_levels).is_some_and(|drift| drift.is_shown());
        self.winsor.apply(&mut self.fit, self.rules.winsorise && !self.rules.robust && !drifts);
        self.trend = if drifts && !self.rules.robust && !self.rules.mean { take_out(&mut self.fit) } else { None };
        self.rare = rare(&self.fit);
        Ok(())
    }

    /// Mean block differences of every setting still open.
    fn compare(&mut self) {
        self.differences.clear();
        self.differences.resize(self.settings, Differences::default());
        for pass in 0..2 {
            for row in 0..self.fit.rows() {
                let range = self.fit.starts[row]..self.fit.starts[row + 1];
                let cells = &self.fit.observations[range.clone()];
                let values = &self.fit.used[range];
                let copies = cells.iter().take_while(|seen| seen.setting == 0).count();
                if copies == 0 {
                    continue;
                }
                let reference = values[..copies].iter().sum::<f64>() / copies as f64;
                for (seen, y) in cells[copies..].iter().zip(&values[copies..]) {
                    let sums = &mut self.differences[seen.setting - 1];
                    let d = y - reference;
                    if pass == 0 {
                        sums.blocks += 1;
                        sums.sum += d;
                        sums.weight += 1.0 + 1.0 / copies as f64;
                    } else {
                        let deviation = d - sums.sum / f64::from(sums.blocks);
                        sums.squares += deviation * deviation;
                    }
                }
            }
        }
        let pool = pool(&self.fit, &self.winsor);
        for index in 0..self.settings {
            let sums = &self.differences[index];
            if self.states[index].claimed.is_none() && sums.blocks >= 2 {
                let mut contrast = Contrast::new(sums, &pool);
                contrast.variance += self.trend_variance(index + 1);
                self.states[index].contrast = Some(contrast);
            }
        }
    }

    /// Variance that a mean block difference of a setting (from 1) has by the estimated share of a drift inside blocks.
    fn trend_variance(&self, setting: usize) -> f64 {
        let Some(trend) = &self.trend else { return 0.0 };
        let courses = self.differences_of(&trend.course, setting);
        let mean = courses.iter().sum::<f64>() / courses.len().max(1) as f64;
        mean * mean * trend.variance
    }

    /// Mean square of each setting's residuals against that of the others'.
    fn mark_unstable(&mut self) {
        let all = self.sum_of_squares();
        for setting in 1..=self.settings {
            if self.states[setting - 1].claimed.is_none() {
                self.states[setting - 1].unstable = self.spread_stands_out(setting, all);
            }
        }
    }

    /// Sum of the squared residuals of all settings.
    fn sum_of_squares(&self) -> f64 {
        self.fit.residuals.iter().fold(0.0, |sum, e| sum + e * e)
    }

    /// Whether a setting's share of `all` squared residuals is more than its trials'.
    fn spread_stands_out(&self, setting: usize, all: f64) -> bool {
        let fit = &self.fit;
        let trials = fit.counts[setting];
        if self.settings < 2 || trials < 3 || fit.df <= 0.0 {
            return false;
        }
        let own = fit.of(setting).iter().fold(0.0, |sum, &place| sum + fit.residuals[place] * fit.residuals[place]);
        let own_df = fit.df * trials as f64 / fit.raw.len() as f64;
        let others_df = fit.df - own_df;
        others_df > 0.0 && stands_out(own / own_df, own_df, (all - own) / others_df, others_df)
    }

    /// Tests every open setting that has a new block, and records what is claimed.
    fn test(&mut self, table_blocks: usize) {
        let mut waiting: Vec<usize> = Vec::with_capacity(self.settings);
        let same = self.rules.same_level(self.settings);
        for index in 0..self.settings {
            let state = &self.states[index];
            let Some(contrast) = state.contrast.filter(|_| state.claimed.is_none()) else { continue };
            if contrast.blocks <= state.tested_at || contrast.blocks < self.first_look {
                continue;
            }
            let same_level = self.level(same, contrast.blocks);
            let (p, p_same) = self.p_values(index, &contrast);
            let held = self.rules.hold_unstable && state.unstable && contrast.blocks < UNSTABLE_BLOCKS;
            let state = &mut self.states[index];
            state.tested_at = contrast.blocks;
            state.test = Test { p, p_same, level: 0.0, same_level };
            if !held {
                waiting.push(index);
            }
        }
        let mut different = self.step_down(&waiting);
        let after = self.after_where_claimed(&waiting, &different);
        different.retain(|&index| self.differs_without(after.as_ref(), index));
        let left = self.rules.difference_level(self.sharing(different.len()));
        for index in 0..self.settings {
            let state = &self.states[index];
            if state.claimed.is_some() || state.contrast.is_none() {
                continue;
            }
            let differs = different.contains(&index);
            if !differs {
                let level = self.level(left, state.tested_at);
                self.states[index].test.level = level;
            }
            let same = waiting.contains(&index) && self.is_same(index) && self.is_same_without(after.as_ref(), index);
            if differs || same {
                self.claim(index, differs, same, after.as_ref(), table_blocks);
            }
        }
    }

    /// Whether the latest test shows a setting (at its index) to be the same.
    fn is_same(&self, index: usize) -> bool {
        let test = self.states[index].test;
        test.p_same <= test.same_level && !self.same_withheld
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
            self.states[index].test.level = level;
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

    /// A setting (from 1) compared by its values as measured, where rare trials of it or of the reference were pulled in.
    fn unclipped(&self, setting: usize) -> Option<Contrast> {
        let has_rare = |it: usize| self.rare.get(it).is_some_and(Option::is_some);
        if !(self.winsor.on && (has_rare(0) || has_rare(setting))) {
            return None;
        }
        let differences = self.differences_of(&self.fit.raw, setting);
        let sum: f64 = differences.iter().sum();
        let blocks = differences.len() as u32;
        let squares = differences.iter().map(|d| (d - sum / f64::from(blocks)) * (d - sum / f64::from(blocks))).sum();
        let own = Differences { blocks, sum, weight: 0.0, squares };
        Some(Contrast::new(&own, &Pool { df: 0.0, ..pool(&self.fit, &self.winsor) }))
    }

    /// p of "no difference" and of "beyond the margin".
    fn p_values(&self, index: usize, contrast: &Contrast) -> (f64, f64) {
        let margin = self.rules.margin_on_scale();
        if !self.rules.robust {
            let typical = (contrast.p_difference(), contrast.p_beyond(margin));
            if self.rules.mean {
                return self.mean_p_values(index, contrast);
            }
            let Some(mean) = self.unclipped(index + 1) else { return typical };
            // Both the typical trial and the mean are to say it. Which way, the typical one says: the mean must not deny it.
            let agrees = mean.effect * contrast.effect > 0.0;
            let p = if agrees { typical.0.max(mean.p_difference()) } else { 1.0 };
            return (p, typical.1.max(mean.p_beyond(margin)));
        }
        let differences = self.block_differences(index + 1);
        let below: Vec<f64> = differences.iter().map(|d| margin - d).collect();
        let above: Vec<f64> = differences.iter().map(|d| margin + d).collect();
        let p_same = signed_rank::p_above(&below).max(signed_rank::p_above(&above));
        (signed_rank::p_two_sided(&differences), p_same)
    }
}

impl State {
    fn claim(&self) -> Claim {
        self.claimed.as_ref().map_or(Claim::Open, |look| look.claim)
    }
}
