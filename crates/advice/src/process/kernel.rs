//! The covariance of the levels at two points, and their mean, under one vector of hyperparameters.

use super::coordinates::{Coordinates, Unit};
use super::{Prior, PriorMean};

/// Median of a length over the whole range, for two factors; it grows with the root of their number.
const LENGTH_MEDIAN: f64 = 0.5;

/// Standard deviation of its logarithm.
const LENGTH_SD_LN: f64 = 0.8;

/// What is left of signal and slope where no factor does anything.
const NOTHING: f64 = 0.03;

/// The covariance under one vector of hyperparameters.
#[derive(Debug, Clone)]
pub(super) struct Kernel {
    /// Variance of what adds up over the factors, a factor's share; and of what all factors do together.
    alone_variance: f64,
    together_variance: f64,
    level_variance: f64,
    slope_sd: f64,
    has_trends: bool,
    is_rough: bool,
    /// For each factor 1/ℓ.
    inverse_lengths: Vec<f64>,
    warps: Vec<usize>,
    kept: Vec<f64>,
}

/// What one factor contributes to the covariance of two points.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    /// Square of the distance, in lengths.
    square: f64,
    /// Product of the places, from the middle.
    slopes: f64,
    /// Share of the correlation that is kept where there is no distance.
    kept: f64,
    /// Correlation in this factor alone.
    alone: f64,
}

impl Kernel {
    pub(super) fn new(unit: &Unit, prior: &Prior) -> Self {
        let factors = unit.lengths.len() as f64;
        let median = LENGTH_MEDIAN * (factors / 2.0).sqrt();
        let shrunk = if unit.does_nothing { NOTHING } else { 1.0 };
        let signal = shrunk * prior.signal.at(unit.signal);
        Self {
            alone_variance: (1.0 - unit.interaction) * signal * signal / factors.max(1.0),
            together_variance: unit.interaction * signal * signal,
            level_variance: prior.level_sd * prior.level_sd,
            slope_sd: shrunk * prior.slope.at(unit.slope),
            has_trends: unit.has_trends,
            is_rough: unit.is_rough,
            inverse_lengths: unit.lengths.iter().map(|z| libm::exp(-LENGTH_SD_LN * z) / median).collect(),
            warps: unit.warps.clone(),
            kept: unit.kept.clone(),
        }
    }

    /// Correlation at a distance in lengths: Matérn 5/2, or 1/2 where the surface is rough.
    fn correlation(&self, square: f64) -> f64 {
        if square == 0.0 {
            return 1.0;
        }
        if self.is_rough {
            return libm::exp(-square.sqrt());
        }
        let near = (5.0 * square).sqrt();
        (1.0 + near + 5.0 / 3.0 * square) * libm::exp(-near)
    }

    /// Covariance of the levels at two points.
    pub(super) fn covariance(&self, at: &Coordinates, a: usize, b: usize) -> f64 {
        let levels = at.levels(a).iter().zip(at.levels(b)).enumerate();
        self.total(levels.map(|(factor, (a, b))| self.share(at, factor, (*a, *b))))
    }

    /// What one factor contributes where it has these two levels. One that differs without a distance keeps a share of the
    /// correlation.
    pub(super) fn share(&self, at: &Coordinates, factor: usize, pair: (Option<u16>, Option<u16>)) -> Share {
        match (pair, at.axes[factor].warps.get(self.warps[factor])) {
            ((Some(a), Some(b)), Some(places)) => {
                let (a, b) = (places[usize::from(a)], places[usize::from(b)]);
                let apart = (a - b) * self.inverse_lengths[factor];
                let square = apart * apart;
                Share { square, slopes: (a - 0.5) * (b - 0.5), kept: 1.0, alone: self.correlation(square) }
            }
            ((a, b), _) if a == b => Share { square: 0.0, slopes: 0.0, kept: 1.0, alone: 1.0 },
            _ => Share { square: 0.0, slopes: 0.0, kept: self.kept[factor], alone: self.kept[factor] },
        }
    }

    /// The covariance from what all factors contribute: a plane, what each factor does alone, and what they do together.
    pub(super) fn total(&self, shares: impl Iterator<Item = Share>) -> f64 {
        let (mut square, mut slopes, mut kept, mut alone) = (0.0, 0.0, 1.0, 0.0);
        for share in shares {
            square += share.square;
            slopes += share.slopes;
            kept *= share.kept;
            alone += share.alone;
        }
        self.alone_variance * alone
            + self.together_variance * self.correlation(square) * kept
            + self.level_variance
            + self.slope_sd * self.slope_sd * slopes
    }

    pub(super) fn mean(&self, at: &Coordinates, mean: &PriorMean, point: usize) -> f64 {
        if !self.has_trends {
            return mean.level;
        }
        let slope = |(factor, (trend, chosen)): (usize, (&f64, &Option<u16>))| {
            let place = at.axes[factor].warps.get(self.warps[factor]).zip(*chosen);
            place.map_or(0.0, |(places, chosen)| trend * self.slope_sd * (places[usize::from(chosen)] - 0.5))
        };
        mean.level + mean.trends.iter().zip(at.levels(point)).enumerate().map(slope).sum::<f64>()
    }
}
