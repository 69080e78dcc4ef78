//! One comparison inside blocks: mean block difference, its standard error and the freedom behind it.

use crate::distribution::{t_two_sided, t_upper, t_upper_quantile};
use serde::{Deserialize, Serialize};

/// A mean block difference with what is known about its error. All on the scale of the differences.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Contrast {
    /// Blocks in which both sides are present.
    pub blocks: u32,
    /// Mean block difference.
    pub effect: f64,
    /// Variance of the mean by the spread of its own block differences.
    pub own_variance: f64,
    /// Variance of the mean by the residual variance of all settings together.
    pub pooled_variance: f64,
    /// The variance used: the larger of the two.
    pub variance: f64,
    /// Degrees of freedom of the variance used; not necessarily whole.
    pub df: f64,
    /// How far the effect may be off because readings come in steps, whatever the number of blocks.
    pub resolution: f64,
}

/// What the settings together say about noise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pool {
    /// Residual variance of one trial.
    pub(crate) variance: f64,
    /// Its degrees of freedom.
    pub(crate) df: f64,
    /// Largest absolute value compared.
    pub(crate) magnitude: f64,
    /// Step of the readings; 0 where none is seen.
    pub(crate) step: f64,
    /// Squared coefficient of variation of the settings' variances, as far as it is more than chance.
    pub(crate) heterogeneity: f64,
}

impl Pool {
    /// Variance that rounding to the step adds to one trial, that of a uniform error (Sheppard 1898).
    fn rounding(&self) -> f64 {
        self.step * self.step / 12.0
    }

    /// Degrees of freedom on which the pool knows one setting's variance: where variances scatter with a squared coefficient
    /// of variation c, 2/c and no more (Satterthwaite 1946). The setting's own `own_df` are never lost.
    fn df_of_one(&self, own_df: f64) -> f64 {
        let scattered = 1.0 / (1.0 / self.df + 0.5 * self.heterogeneity);
        scattered.max(own_df.min(self.df))
    }

    /// Most by which the mean of many rounded trials may be off: the first harmonic of the rounding error under normal noise
    /// (Widrow and Kollár 2008, chapter 4), half a step without any noise.
    fn bias(&self) -> f64 {
        if self.step <= 0.0 {
            return 0.0;
        }
        let noise = (self.variance - self.rounding()).max(0.0) / (self.step * self.step);
        let harmonic = libm::exp(-2.0 * std::f64::consts::PI * std::f64::consts::PI * noise);
        self.step * harmonic * 0.5
    }
}

/// Sums over the blocks of one comparison, in two passes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Differences {
    pub(crate) blocks: u32,
    /// Sum of the block differences.
    pub(crate) sum: f64,
    /// Sum over blocks of 1/copies of one side + 1/copies of the other.
    pub(crate) weight: f64,
    /// Sum of squared deviations of the block differences from their mean.
    pub(crate) squares: f64,
}

impl Differences {
    /// Of block differences, one each.
    pub(crate) fn of(differences: &[f64], weight: f64) -> Self {
        let sum: f64 = differences.iter().sum();
        let mean = sum / differences.len() as f64;
        let squares = differences.iter().map(|d| (d - mean) * (d - mean)).sum();
        Self { blocks: differences.len() as u32, sum, weight, squares }
    }
}

impl Contrast {
    /// The larger of own and pooled variance, with degrees of freedom bent between theirs: when the own variance is
    /// much the larger, only its own blocks speak for it.
    pub(crate) fn new(differences: &Differences, pool: &Pool) -> Self {
        let b = f64::from(differences.blocks);
        let own = differences.squares / ((b - 1.0) * b);
        let pooled = if pool.df > 0.0 { pool.variance * differences.weight / (b * b) } else { own };
        // Below this the spread is nothing but rounding.
        let rounding = 1e-15 * pool.magnitude;
        let steps = pool.rounding() * differences.weight / (b * b);
        let variance = own.max(pooled).max(rounding * rounding) + steps;
        let share = if own > pooled && own > 0.0 { pooled / own } else { 1.0 };
        let w = share * share;
        let df = if pool.df > 0.0 { 1.0 / (w / pool.df_of_one(b - 1.0) + (1.0 - w) / (b - 1.0)) } else { b - 1.0 };
        Self {
            blocks: differences.blocks,
            effect: differences.sum / b,
            own_variance: own,
            pooled_variance: pooled,
            variance,
            df,
            resolution: 2.0 * pool.bias(),
        }
    }

    /// Standard error of the effect.
    #[must_use]
    pub fn standard_error(&self) -> f64 {
        self.variance.sqrt()
    }

    /// The effect in standard errors; 0 when both are nothing.
    #[must_use]
    pub fn t(&self) -> f64 {
        if self.effect == 0.0 { 0.0 } else { self.effect / self.standard_error() }
    }

    /// Two-sided p of "no difference".
    #[must_use]
    pub fn p_difference(&self) -> f64 {
        t_two_sided(self.t(), self.df)
    }

    /// One-sided p of "the effect is `bound` or less".
    #[must_use]
    pub fn p_not_above(&self, bound: f64) -> f64 {
        self.tail(self.effect - bound)
    }

    /// One-sided p of "the effect is `margin` or more, one way or the other" (Schuirmann 1987).
    #[must_use]
    pub fn p_beyond(&self, margin: f64) -> f64 {
        self.tail(margin - self.effect.abs() - self.resolution)
    }

    /// The interval whose two sides miss with probability `level` together.
    #[must_use]
    pub fn interval(&self, level: f64) -> (f64, f64) {
        let reach = t_upper_quantile(0.5 * level, self.df) * self.standard_error() + self.resolution;
        (self.effect - reach, self.effect + reach)
    }

    fn tail(&self, distance: f64) -> f64 {
        if distance == 0.0 {
            return 0.5;
        }
        t_upper(distance / self.standard_error(), self.df)
    }
}
