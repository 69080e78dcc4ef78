//! A prediction: a mixture of normal distributions, and what can be asked of it.

use powerband_stats::distribution::{normal_density, normal_upper};

/// One normal distribution of a mixture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MixturePart {
    /// Its weight; all weights add up to 1.
    pub weight: f64,
    /// Its mean.
    pub mean: f64,
    /// Its variance.
    pub variance: f64,
}

/// The level at a point, without noise, natural logarithm.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LevelPrediction {
    /// The mixture.
    pub parts: Vec<MixturePart>,
}

impl LevelPrediction {
    /// A value that is known.
    #[must_use]
    pub fn known(value: f64) -> Self {
        Self { parts: vec![MixturePart { weight: 1.0, mean: value, variance: 0.0 }] }
    }

    /// Mean of the mixture.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.parts.iter().map(|part| part.weight * part.mean).sum()
    }

    /// Variance of the mixture.
    #[must_use]
    pub fn variance(&self) -> f64 {
        let mean = self.mean();
        let of = |part: &MixturePart| part.weight * (part.variance + (part.mean - mean) * (part.mean - mean));
        self.parts.iter().map(of).sum()
    }

    /// Probability that the level is at most `limit`.
    #[must_use]
    pub fn below(&self, limit: f64) -> f64 {
        let of = |part: &MixturePart| {
            if part.variance <= 0.0 {
                return if part.mean <= limit { part.weight } else { 0.0 };
            }
            part.weight * normal_upper((part.mean - limit) / part.variance.sqrt())
        };
        self.parts.iter().map(of).sum()
    }

    /// Expected improvement on `best`: the mean of max(0, best − level).
    #[must_use]
    pub fn improvement(&self, best: f64) -> f64 {
        let of = |part: &MixturePart| {
            let gain = best - part.mean;
            if part.variance <= 0.0 {
                return part.weight * gain.max(0.0);
            }
            let sd = part.variance.sqrt();
            let z = gain / sd;
            part.weight * sd * (z * normal_upper(-z) + normal_density(z)).max(0.0)
        };
        self.parts.iter().map(of).sum()
    }
}
