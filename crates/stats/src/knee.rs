//! The cheapest setting that is good enough, and the best one.

use crate::error::Error;
use crate::mixed::MixedModel;
use crate::pairs::Pairs;
use crate::posterior::Posterior;
use crate::rules::Rules;
use crate::spending::Spending;
use crate::steady::{FirstBlock, first_block};
use crate::table::Table;
use crate::trials::Trials;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum KneeGoal {
    /// The cheapest setting not worse than any other by more than the margin; what is worse by more leaves.
    Knee,
    /// The best within the margin; what is worse at all leaves. (The error rate of this one was not simulated.)
    Best,
}

/// What the caller wants of a [`Knee`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KneeSearch {
    /// Settings of the table, cheapest first; all of them, the reference (0) included.
    pub cost_order: Vec<usize>,
    /// Whether a larger value of the metric is a better one.
    pub larger_is_better: bool,
    /// Knee or best.
    pub goal: KneeGoal,
    /// Key of the draws behind a probability.
    pub seed: u64,
}

/// A pick that has not been proved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Provisional {
    /// The setting the estimates point to.
    pub setting: usize,
    /// Probability that it is the one, from 4,000 draws.
    pub probability: f64,
}

/// One look at all settings of a quest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KneeLook {
    /// Blocks used.
    pub blocks: u32,
    /// Settings shown to be too slow; they leave the race.
    pub inferior: Vec<usize>,
    /// Settings shown to be good enough.
    pub good_enough: Vec<usize>,
    /// The answer, once proved.
    pub knee: Option<usize>,
    /// The cheapest setting whose estimated gap to the best is within the margin.
    pub provisional: Provisional,
    /// The setting with the best estimate.
    pub best: Provisional,
    /// Whether the probabilities are approximate: more than 5 % of the trials were pulled in.
    pub approximate: bool,
    /// All pairs compared.
    pub pairs: Pairs,
}

/// Looks for the knee or the best of a table's settings. Feed it the growing table once after every completed block.
#[derive(Debug, Clone)]
pub struct Knee {
    quest: KneeSearch,
    rules: Rules,
    spending: Arc<Spending>,
    first_look: u32,
    first_block: FirstBlock,
    blocks: usize,
    /// Blocks of the table when a setting was shown to be inferior.
    left_at: Vec<Option<usize>>,
    good: Vec<bool>,
    knee: Option<usize>,
    /// Of the latest look.
    model: Option<MixedModel>,
    pairs: Pairs,
}

const APPROXIMATE_ABOVE: f64 = 0.05;

impl Knee {
    /// A quest over all settings of a table.
    ///
    /// # Errors
    /// `Shape` unless the cost order names each setting once; `NoSettings` for fewer than two; `BadRule` for rules
    /// that cannot be used, the rank-based path among them.
    pub fn new(quest: KneeSearch, rules: Rules, spending: Arc<Spending>) -> Result<Self, Error> {
        rules.check()?;
        if rules.robust {
            return Err(Error::BadRule { rule: "robust", value: 1.0, allowed: "off where a knee is looked for" });
        }
        let k = quest.cost_order.len();
        if k < 2 {
            return Err(Error::NoSettings);
        }
        let mut sorted = quest.cost_order.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() != k || sorted[k - 1] != k - 1 {
            return Err(Error::Shape {
                what: "settings in the cost order",
                have: sorted.len(),
                need: sorted[sorted.len() - 1] + 1,
            });
        }
        Ok(Self {
            first_look: rules.first_look(),
            quest,
            rules,
            spending,
            first_block: FirstBlock::Kept,
            blocks: 0,
            left_at: vec![None; k],
            good: vec![false; k],
            knee: None,
            model: None,
            pairs: Pairs::default(),
        })
    }

    /// Settings still in the race, cheapest first.
    pub fn in_race(&self) -> impl Iterator<Item = usize> + '_ {
        self.quest.cost_order.iter().copied().filter(|&setting| self.left_at[setting].is_none())
    }

    /// The answer, once proved.
    #[must_use]
    pub fn knee(&self) -> Option<usize> {
        self.knee
    }

    /// Takes in the table after a completed block and describes all settings.
    ///
    /// # Errors
    /// `TooFewBlocks` before the first look, `TooFewTrials`, `NotFinite`, `NotPositive`; `Shape` when the table has
    /// another number of settings.
    pub fn look(&mut self, table: &Table) -> Result<KneeLook, Error> {
        self.advance(table)?;
        let posterior = self.posterior();
        let margin = self.rules.margin_on_scale();
        let levels = self.performances();
        let kept = self.model.as_ref().map_or(1.0, MixedModel::kept_share);
        let settings = 0..self.good.len();
        Ok(KneeLook {
            blocks: self.blocks as u32,
            inferior: settings.clone().filter(|&s| self.left_at[s].is_some()).collect(),
            good_enough: settings.filter(|&s| self.good[s]).collect(),
            knee: self.knee,
            provisional: provisional(&posterior, &levels, |levels| self.cheapest_within(levels, margin)),
            best: provisional(&posterior, &levels, |levels| self.largest(levels)),
            approximate: 1.0 - kept > APPROXIMATE_ABOVE,
            pairs: self.pairs.clone(),
        })
    }

    /// As [`Knee::look`] without the description.
    ///
    /// # Errors
    /// As [`Knee::look`].
    pub fn advance(&mut self, table: &Table) -> Result<(), Error> {
        let need = self.good.len();
        if table.settings() + 1 != need {
            return Err(Error::Shape { what: "settings in the table", have: table.settings() + 1, need });
        }
        if self.rules.drop_first_block {
            self.first_block = first_block(table, &self.rules)?;
        }
        let dropped = self.first_block == FirstBlock::Dropped;
        let blocks = table.blocks() - usize::from(dropped && table.blocks() > 0);
        if blocks < self.first_look as usize {
            return Err(Error::TooFewBlocks { have: blocks, need: self.first_look as usize });
        }
        let left_at = &self.left_at;
        let trials = Trials::new(table, self.rules.scale, |block, setting| {
            left_at[setting].is_none_or(|at| block < at) && !(dropped && block == 0)
        })?;
        let (model, level) = (trials.model(self.rules.winsorise, self.rules.block_levels)?, self.rules.same_level(1));
        self.pairs = Pairs::new(&model, need, self.rules.margin_on_scale(), |blocks| self.level(level, blocks));
        self.model = Some(model);
        // Without a new block there is no new look, and no new chance to be wrong.
        if blocks > self.blocks {
            self.blocks = blocks;
            self.drop_inferior(table.blocks());
            self.mark_good();
        }
        Ok(())
    }

    fn level(&self, alpha: f64, blocks: u32) -> f64 {
        self.spending.nominal(self.rules.spend, alpha, self.first_look, blocks)
    }

    /// Levels of the settings, turned so that larger is better.
    fn performances(&self) -> Vec<f64> {
        let levels = self.model.as_ref().map_or_else(|| vec![0.0; self.good.len()], MixedModel::levels);
        let sign = if self.quest.larger_is_better { 1.0 } else { -1.0 };
        levels.into_iter().map(|level| sign * level).collect()
    }

    /// How much better `i` is than `j` by more than `bound`: one-sided p that it is not.
    fn p_not_better(&self, i: usize, j: usize, bound: f64) -> Option<(f64, u32)> {
        let (better, worse) = if self.quest.larger_is_better { (i, j) } else { (j, i) };
        let contrast = self.pairs.contrast(better, worse)?;
        Some((contrast.p_not_above(bound), contrast.blocks))
    }

    /// Who is shown to be worse than another by more than what is allowed; the error rate is shared by the others.
    fn drop_inferior(&mut self, table_blocks: usize) {
        let bound = match self.quest.goal {
            KneeGoal::Knee => self.rules.margin_on_scale(),
            KneeGoal::Best => 0.0,
        };
        let alpha = self.rules.difference_level(self.good.len() - 1);
        let racing: Vec<usize> = self.in_race().collect();
        for &j in &racing {
            let beaten = racing
                .iter()
                .any(|&i| i != j && self.p_not_better(i, j, bound).is_some_and(|(p, b)| p <= self.level(alpha, b)));
            // Where voids leave pairs with different blocks in common, a circle is conceivable: one always stays.
            if beaten && !self.good[j] && self.in_race().nth(1).is_some() {
                self.left_at[j] = Some(table_blocks);
            }
        }
    }

    /// Who is shown not to be worse than any other in the race by more than the margin, each at the full level.
    fn mark_good(&mut self) {
        let margin = self.rules.margin_on_scale();
        let alpha = self.rules.difference_level(1);
        let racing: Vec<usize> = self.in_race().collect();
        for &j in &racing {
            let good = racing.iter().all(|&i| {
                // D = i less j; it is below the margin when j less i is shown to be above minus the margin.
                i == j || self.p_not_better(j, i, -margin).is_some_and(|(p, b)| p <= self.level(alpha, b))
            });
            self.good[j] |= good;
        }
        if self.knee.is_none() {
            let first = self.in_race().next();
            self.knee = first.filter(|&setting| self.good[setting]);
        }
    }

    fn posterior(&self) -> Posterior {
        let k = self.good.len();
        // Trials of variance one that would leave each setting its part of its differences' variance: a half where all are alike.
        let trials = |setting: usize| {
            let errors = (0..k).filter_map(|other| Some(self.pairs.contrast(setting, other)?.standard_error()));
            let parts: Vec<f64> = errors.map(|error| 0.5 * error * error).collect();
            if parts.is_empty() { 0.0 } else { parts.len() as f64 / parts.iter().sum::<f64>() }
        };
        let trials: Vec<f64> = (0..k).map(trials).collect();
        let all = (0..k).flat_map(|i| (i + 1..k).map(move |j| (i, j)));
        let df = all.filter_map(|(i, j)| self.pairs.contrast(i, j)).map(|it| it.df()).reduce(f64::min).unwrap_or(1.0);
        Posterior::new(self.quest.seed, self.blocks as u64, &self.performances(), &trials, 1.0, df)
    }

    /// The cheapest setting in the race within `margin` of the best in it.
    fn cheapest_within(&self, levels: &[f64], margin: f64) -> Option<usize> {
        let best = self.in_race().map(|setting| levels[setting]).fold(f64::NEG_INFINITY, f64::max);
        self.in_race().find(|&setting| best - levels[setting] <= margin)
    }

    /// The setting in the race with the largest level, the cheaper of equals.
    fn largest(&self, levels: &[f64]) -> Option<usize> {
        let mut best: Option<usize> = None;
        for setting in self.in_race() {
            if best.is_none_or(|b| levels[setting] > levels[b]) {
                best = Some(setting);
            }
        }
        best
    }
}

fn provisional(posterior: &Posterior, levels: &[f64], pick: impl Fn(&[f64]) -> Option<usize>) -> Provisional {
    // The race never empties: a setting leaves only when another in it beats it.
    let setting = pick(levels).unwrap_or(0);
    let shares = posterior.shares(pick);
    Provisional { setting, probability: shares.get(setting).copied().unwrap_or(0.0) }
}
