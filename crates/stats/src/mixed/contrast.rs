//! A difference of two settings: the mixture of what the variants say of it.

use super::MixedModel;
use super::variants::{Variant, df, least_squares};
use crate::distribution::{StudentTail, t_upper_quantile};
use serde::{Deserialize, Serialize};

/// Blocks' worth of belief in a variant with equal noise, against block differences that scatter more than it expects. Where
/// noise is unequal the scatter counts in full.
const BELIEF: f64 = 4.0;
/// Share of its level to which the tail beyond the end of an interval is known.
const PRECISION: f64 = 1e-10;
/// First step from a guess of an end, in standard errors of the widest variant.
const STEP: f64 = 0.2;
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
pub struct Contrast {
    /// Blocks in which both sides are present.
    pub blocks: u32,
    /// Estimated difference: the mean over the variants.
    pub effect: f64,
    /// How far the effect may be off because readings come in steps, whatever the number of blocks.
    pub resolution: f64,
    /// What the variants say, by weight.
    pub variants: Vec<VariantDifference>,
}

impl Contrast {
    /// Of variants whose weights add up to one.
    pub(crate) fn new(blocks: u32, resolution: f64, variants: Vec<VariantDifference>) -> Self {
        let effect = variants.iter().map(|it| it.weight * it.effect).sum();
        Self { blocks, effect, resolution, variants }
    }

    /// Of one estimate with its standard error.
    pub(crate) fn of_one(blocks: u32, effect: f64, error: f64, df: f64) -> Self {
        Self::new(blocks, 0.0, vec![VariantDifference { weight: 1.0, effect, error, df }])
    }

    /// Of differences that are one block's each; `least` is a standard error below which there is nothing but rounding.
    pub(crate) fn of_blocks(differences: &[f64], least: f64) -> Self {
        let blocks = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / blocks;
        let squares: f64 = differences.iter().map(|it| (it - mean) * (it - mean)).sum();
        let df = blocks - 1.0;
        Self::of_one(differences.len() as u32, mean, (squares / (df * blocks)).sqrt().max(least), df)
    }

    /// The same with the sides changed over.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let back = |it: &VariantDifference| VariantDifference { effect: -it.effect, ..*it };
        Self { effect: -self.effect, variants: self.variants.iter().map(back).collect(), ..*self }
    }

    /// Degrees of freedom: the mean over the variants.
    #[must_use]
    pub fn df(&self) -> f64 {
        self.variants.iter().map(|it| it.weight * it.df).sum()
    }

    /// Standard error of the effect: the variants' own, and how far their effects are apart.
    #[must_use]
    pub fn standard_error(&self) -> f64 {
        let square = |it: &VariantDifference| {
            let apart = it.effect - self.effect;
            it.weight * (it.error * it.error + apart * apart)
        };
        self.variants.iter().map(square).sum::<f64>().sqrt()
    }

    /// The effect in standard errors; 0 when both are nothing.
    #[must_use]
    pub fn t(&self) -> f64 {
        if self.effect == 0.0 { 0.0 } else { self.effect / self.standard_error() }
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

    /// One-sided p of "the effect is `bound` or more".
    #[must_use]
    pub fn p_not_below(&self, bound: f64) -> f64 {
        self.tails().beyond(bound, 1.0)
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
        let (low, high) = match self.variants[..] {
            [VariantDifference { effect, error, df, .. }] => {
                let reach = t_upper_quantile(0.5 * level, df) * error;
                (effect - reach, effect + reach)
            }
            _ if self.standard_error() == 0.0 => (self.effect, self.effect),
            _ => {
                let (tails, goal) = (self.tails(), 0.5 * level);
                let guess = self.standard_error() * t_upper_quantile(goal, self.df());
                (tails.end(self.effect - guess, goal, -1.0), tails.end(self.effect + guess, goal, 1.0))
            }
        };
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
        each.map(|(it, tail)| {
            let apart = side * (x - it.effect);
            // On the effect itself lies a half, also of one without any error.
            it.weight * if apart == 0.0 { 0.5 } else { tail.above(apart / it.error) }
        })
        .sum()
    }

    /// Beyond which value, near a guess, lies the weight `goal`: a bracket, then false position on the logarithm of the tail (the
    /// Illinois rule).
    fn end(&self, guess: f64, goal: f64, side: f64) -> f64 {
        let off = |x: f64| libm::log(self.beyond(x, side).max(f64::MIN_POSITIVE)) - libm::log(goal);
        let error = self.variants.iter().map(|it| it.error).fold(f64::MIN_POSITIVE, f64::max);
        // Outwards from too much weight beyond, else inwards.
        let (mut near, mut off_near) = (guess, off(guess));
        let mut step = STEP * error.copysign(side * off_near);
        let (mut far, mut off_far) = (near + step, off(near + step));
        while off_near * off_far > 0.0 && step.is_finite() {
            (near, off_near) = (far, off_far);
            step *= 2.0;
            far = near + step;
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
            if off_x * off_near > 0.0 {
                (near, off_near) = (x, off_x);
                off_far *= if last > 0.0 { 0.5 } else { 1.0 };
                last = 1.0;
            } else {
                (far, off_far) = (x, off_x);
                off_near *= if last < 0.0 { 0.5 } else { 1.0 };
                last = -1.0;
            }
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
    pub fn contrast(&self, i: usize, j: usize) -> Option<Contrast> {
        let (i, j) = (self.places.get(i).copied().flatten()?, self.places.get(j).copied().flatten()?);
        let pairs = self.pairs(i, j);
        if i == j || pairs.len() < 2 {
            return None;
        }
        let (kept, step, all) = (self.kept_share(), self.step, df(&self.trials, &self.columns));
        let rounding = least_squares(&self.trials, all);
        let (mut differences, mut resolution) = (Vec::with_capacity(self.variants.len()), 0.0);
        for variant in &self.variants {
            // Pulling in narrows the spread; rounding adds to it as far as the noise does not show that already.
            let trial = (variant.variance / (kept * kept)).max(step * step / 12.0);
            let spread = trial * self.relative_variance(variant, i, j);
            let (grown, df) = self.guarded(variant, (i, j), &pairs, trial);
            let error = (spread * grown).sqrt();
            let effect = variant.level(i) - variant.level(j);
            let effect = if all * effect * effect > rounding { effect } else { 0.0 };
            differences.push(VariantDifference { weight: variant.weight, effect, error, df });
            resolution += variant.weight * rounding_bias(step, trial);
        }
        Some(Contrast::new(pairs.len() as u32, resolution, differences))
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
                + variant.shared.between(time(own) - time(other));
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
