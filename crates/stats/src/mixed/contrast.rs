//! A difference of two settings: the mixture of what the variants say of it.

use super::MixedModel;
use super::variants::{Variant, df};
use crate::distribution::StudentTail;
use serde::{Deserialize, Serialize};

/// Blocks' worth of belief in a variant with equal noise, against block differences that scatter more than it expects. Where
/// noise is unequal the scatter counts in full.
const BELIEF: f64 = 4.0;
/// Share of its level to which the tail beyond the end of an interval is known.
const PRECISION: f64 = 1e-11;
const MAX_STEPS: u32 = 100;

/// What one variant says of a difference: Student's t around an effect.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VariantDifference {
    /// Its share of the weight.
    pub weight: f64,
    /// Estimated difference.
    pub effect: f64,
    /// Standard error.
    pub error: f64,
    /// Degrees of freedom; not necessarily whole.
    pub df: f64,
}

/// A difference of two settings with what is known about its error. All on the scale of the differences.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixedContrast {
    /// Blocks in which both sides are present.
    pub blocks: u32,
    /// Trials of both sides.
    pub trials: u32,
    /// Estimated difference: the mean over the variants.
    pub effect: f64,
    /// How far the effect may be off because readings come in steps, whatever the number of blocks.
    pub resolution: f64,
    /// What the variants say, by weight.
    pub variants: Vec<VariantDifference>,
}

impl MixedContrast {
    /// Of variants whose weights add up to one.
    pub(crate) fn new(blocks: u32, trials: u32, resolution: f64, variants: Vec<VariantDifference>) -> Self {
        let effect = variants.iter().map(|it| it.weight * it.effect).sum();
        Self { blocks, trials, effect, resolution, variants }
    }

    /// Degrees of freedom: the mean over the variants.
    #[must_use]
    pub fn df(&self) -> f64 {
        self.variants.iter().map(|it| it.weight * it.df).sum()
    }

    fn tails(&self) -> Tails<'_> {
        let mut known: Option<(f64, StudentTail)> = None;
        // Many variants have the same degrees of freedom.
        let tail = |it: &VariantDifference| {
            let (_, tail) = known.filter(|(df, _)| *df == it.df).unwrap_or_else(|| (it.df, StudentTail::new(it.df)));
            known = Some((it.df, tail));
            tail
        };
        Tails { variants: &self.variants, tails: self.variants.iter().map(tail).collect() }
    }

    /// Two-sided p of "no difference".
    #[must_use]
    pub fn p_difference(&self) -> f64 {
        let tails = self.tails();
        let above = tails.beyond(0.0, 1.0);
        2.0 * if above < 0.5 { above } else { tails.beyond(0.0, -1.0) }
    }

    /// One-sided p of "the effect is `bound` or less".
    #[must_use]
    pub fn p_not_above(&self, bound: f64) -> f64 {
        self.tails().beyond(bound, -1.0)
    }

    /// One-sided p of "the effect is `margin` or more, one way or the other" (Schuirmann 1987).
    #[must_use]
    pub fn p_beyond(&self, margin: f64) -> f64 {
        let (tails, margin) = (self.tails(), margin - self.resolution);
        tails.beyond(margin, 1.0).max(tails.beyond(-margin, -1.0))
    }

    /// The interval whose two sides miss with probability `level` together.
    #[must_use]
    pub fn interval(&self, level: f64) -> (f64, f64) {
        if level <= 0.0 {
            return (f64::NEG_INFINITY, f64::INFINITY);
        }
        let tails = self.tails();
        let [low, high] = [-1.0, 1.0].map(|side| tails.end(self.effect, 0.5 * level, side));
        (low - self.resolution, high + self.resolution)
    }
}

/// The tails of a contrast's variants.
struct Tails<'a> {
    variants: &'a [VariantDifference],
    tails: Vec<StudentTail>,
}

impl Tails<'_> {
    /// Weight of the differences beyond `x`: above it where `side` is 1, below it where it is −1.
    fn beyond(&self, x: f64, side: f64) -> f64 {
        let each = self.variants.iter().zip(&self.tails);
        each.map(|(it, tail)| it.weight * tail.above(side * (x - it.effect) / it.error)).sum()
    }

    /// Beyond which value lies the weight `goal`: a bracket around the middle, then false position on the logarithm of the
    /// tail (the Illinois rule).
    fn end(&self, middle: f64, goal: f64, side: f64) -> f64 {
        let error = self.variants.iter().map(|it| it.error).fold(f64::MIN_POSITIVE, f64::max);
        let off = |x: f64| libm::log(self.beyond(x, side).max(f64::MIN_POSITIVE)) - libm::log(goal);
        let (mut near, mut reach) = (middle, error);
        let mut off_near = off(near);
        // Where variants disagree, even the middle may lie in the tail.
        while off_near < 0.0 && reach.is_finite() {
            near -= side * reach;
            reach *= 2.0;
            off_near = off(near);
        }
        let mut far = near + side * reach;
        let mut off_far = off(far);
        while off_far > 0.0 && reach.is_finite() {
            (near, off_near) = (far, off_far);
            reach *= 2.0;
            far = near + side * reach;
            off_far = off(far);
        }
        let mut last = 0.0;
        for _ in 0..MAX_STEPS {
            let secant = far - off_far * (far - near) / (off_far - off_near);
            let x = if secant.is_finite() { secant } else { 0.5 * (near + far) };
            let off_x = off(x);
            if off_x.abs() <= PRECISION || x == near || x == far {
                return x;
            }
            if off_x > 0.0 {
                (near, off_near) = (x, off_x);
                off_far *= if last > 0.0 { 0.5 } else { 1.0 };
            } else {
                (far, off_far) = (x, off_x);
                off_near *= if last < 0.0 { 0.5 } else { 1.0 };
            }
            last = off_x;
        }
        0.5 * (near + far)
    }
}

/// The trials of two settings in one block.
struct Pair {
    own: Vec<usize>,
    other: Vec<usize>,
}

impl MixedModel {
    /// Level of setting `i` less that of setting `j`; none unless two blocks hold both.
    #[must_use]
    pub fn contrast(&self, i: usize, j: usize) -> Option<MixedContrast> {
        let (i, j) = (self.places.get(i).copied().flatten()?, self.places.get(j).copied().flatten()?);
        let pairs = self.pairs(i, j);
        if i == j || pairs.len() < 2 {
            return None;
        }
        let (kept, step) = (self.kept_share(), self.step);
        let (mut differences, mut resolution) = (Vec::with_capacity(self.variants.len()), 0.0);
        for variant in &self.variants {
            // Pulling in narrows the spread; rounding adds to it as far as the noise does not show that already.
            let trial = (variant.variance / (kept * kept)).max(step * step / 12.0);
            let spread = trial * self.relative_variance(variant, i, j);
            let (grown, df) = self.guarded(variant, (i, j), &pairs, trial);
            let error = (spread * grown).sqrt().max(f64::MIN_POSITIVE);
            let effect = variant.level(i) - variant.level(j);
            differences.push(VariantDifference { weight: variant.weight, effect, error, df });
            resolution += variant.weight * rounding_bias(step, trial);
        }
        let trials = self.trials.iter().filter(|trial| trial.setting == i || trial.setting == j).count();
        Some(MixedContrast::new(pairs.len() as u32, trials as u32, resolution, differences))
    }

    /// Variance of a difference of levels, over that of a trial.
    pub(super) fn relative_variance(&self, variant: &Variant, i: usize, j: usize) -> f64 {
        let levels = self.columns.settings - 1;
        let covariance = |a: usize, b: usize| match (a.checked_sub(1), b.checked_sub(1)) {
            (Some(a), Some(b)) => variant.covariance[a * levels + b],
            _ => 0.0,
        };
        (covariance(i, i) + covariance(j, j) - 2.0 * covariance(i, j)).max(0.0)
    }

    fn pairs(&self, i: usize, j: usize) -> Vec<Pair> {
        let in_block = |block: &[super::MixedTrial], from: usize, setting: usize| -> Vec<usize> {
            let of = block.iter().enumerate().filter(|(_, trial)| trial.setting == setting);
            of.map(|(at, _)| from + at).collect()
        };
        let mut from = 0;
        let mut pairs = Vec::new();
        for block in self.trials.chunk_by(|a, b| a.block == b.block) {
            let pair = Pair { own: in_block(block, from, i), other: in_block(block, from, j) };
            from += block.len();
            if !pair.own.is_empty() && !pair.other.is_empty() {
                pairs.push(pair);
            }
        }
        pairs
    }

    /// By how much the variance of a difference must grow where block differences scatter more than a variant expects, and the
    /// degrees of freedom then: bent towards those of the blocks alone. It keeps what random order gives, whatever the noise.
    fn guarded(&self, variant: &Variant, (i, j): (usize, usize), pairs: &[Pair], trial: f64) -> (f64, f64) {
        let all = df(&self.trials, &self.columns);
        let value = |at: &usize| {
            self.columns.value(*at) - self.columns.disturbed(*at, variant.disturbance, &variant.coefficients)
        };
        let mean = |of: &[usize]| of.iter().map(value).sum::<f64>() / of.len() as f64;
        let time = |of: &[usize]| of.iter().map(|at| f64::from(self.trials[*at].time)).sum::<f64>() / of.len() as f64;
        let (mut sum, mut squares, mut expected) = (0.0, 0.0, 0.0);
        for Pair { own, other } in pairs {
            let difference = mean(own) - mean(other) - (variant.level(i) - variant.level(j));
            sum += difference;
            squares += difference * difference;
            expected += variant.noise[i] / own.len() as f64
                + variant.noise[j] / other.len() as f64
                + variant.walk * (time(own) - time(other)).abs();
        }
        let blocks = pairs.len() as f64;
        let own = ((squares - sum * sum / blocks) / (blocks - 1.0)).max(0.0);
        let expected = trial * expected / blocks;
        let belief = if variant.is_even() { BELIEF } else { 0.0 };
        let grown = (belief + (blocks - 1.0) * own / expected) / (belief + blocks - 1.0);
        if !(grown > 1.0 && expected > 0.0) {
            return (1.0, all);
        }
        let share = 1.0 / (grown * grown);
        (grown, 1.0 / (share / all + (1.0 - share) / (blocks - 1.0)))
    }
}

/// Most by which the mean of many rounded trials may be off: the first harmonic of the rounding error under normal noise
/// (Widrow and Kollár 2008, chapter 4), on both sides of a difference.
fn rounding_bias(step: f64, variance: f64) -> f64 {
    if step <= 0.0 {
        return 0.0;
    }
    let noise = (variance / (step * step) - 1.0 / 12.0).max(0.0);
    step * libm::exp(-2.0 * std::f64::consts::PI * std::f64::consts::PI * noise)
}
