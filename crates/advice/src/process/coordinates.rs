//! Where the points lie: coordinates of the levels under each warp, and the sequence hyperparameters are drawn by.

use powerband_stats::distribution::{normal_upper, normal_upper_quantile};

use crate::{Factor, FactorKind, Space};

/// Vectors of hyperparameters that are weighed.
pub(super) const VECTORS: usize = 192;

/// Points of the Halton sequence left out, from the origin on, because its first ones lie on lines.
const SKIPPED: u64 = 20;

/// Steps of values count as even when the largest is less than so many times the smallest.
const EVEN: f64 = 1.5;

/// A space as the processes see it. Made once, shared by all of them.
#[derive(Debug, Clone)]
pub struct Coordinates {
    points: usize,
    pub(super) axes: Vec<Axis>,
    /// Level of each factor at each point, row by row.
    levels: Vec<Option<u16>>,
    layout: Layout,
    /// Vectors spread over their priors.
    pub(super) vectors: Vec<Vec<f64>>,
}

/// One factor's levels.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    /// Positions of the levels from 0 to 1, once for each warp that is in question; empty for a category.
    pub(super) warps: Vec<Vec<f64>>,
}

/// Which coordinate of a vector of hyperparameters means what. A vector's coordinates are standard normal deviates.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// ln ℓ of each factor; none for a category.
    lengths: Vec<Option<usize>>,
    /// Which of its warps each factor has; none where it has one.
    warps: Vec<Option<usize>>,
    /// What a difference in each factor, where it has no distance, leaves of the correlation; none where there always is a
    /// distance.
    kept: Vec<Option<usize>>,
    /// The first of the scales.
    scales: usize,
}

/// Scales behind the factors' own coordinates.
const SCALES: usize = 8;

/// Share of vectors without trends, with a metric that no factor does anything to, and with a rough surface.
const NO_TRENDS: f64 = 0.3;
const NOTHING: f64 = 0.1;
const ROUGH: f64 = 0.3;

/// Standard deviations of the interactions' deviate, before the normal distribution makes a share of it.
const INTERACTION_SPREAD: f64 = 1.3;

/// One vector of hyperparameters: lengths and scales as standard normal deviates, the others by their meaning.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    /// ln ℓ of each factor, in standard deviations from its median.
    pub(super) lengths: Vec<f64>,
    /// Which of its warps each factor has.
    pub(super) warps: Vec<usize>,
    /// What a difference in each factor, where it has no distance, leaves of the correlation.
    pub(super) kept: Vec<f64>,
    /// The signal's standard deviation, in standard deviations of its logarithm from its median; so the slope's, the noise's.
    pub(super) signal: f64,
    pub(super) slope: f64,
    pub(super) noise: f64,
    /// How the noise grows with the level, in standard deviations from its mean.
    pub(super) noise_growth: f64,
    /// Share of the signal's variance in which all factors interact; the rest adds up over the factors.
    pub(super) interaction: f64,
    pub(super) has_trends: bool,
    pub(super) does_nothing: bool,
    pub(super) is_rough: bool,
}

impl Coordinates {
    /// Of a space that passed its check.
    #[must_use]
    pub fn new(space: &Space) -> Self {
        let axes: Vec<Axis> = space.factors.iter().map(Axis::new).collect();
        let levels: Vec<Option<u16>> = space.points.iter().flatten().copied().collect();
        let conditional = |factor: usize| space.points.iter().any(|point| point[factor].is_none());
        let mismatch: Vec<bool> =
            axes.iter().enumerate().map(|(factor, axis)| axis.warps.is_empty() || conditional(factor)).collect();
        let layout = Layout::new(&axes, &mismatch);
        let vector =
            |index: u64| halton(index + SKIPPED, layout.size()).into_iter().map(normal_quantile).collect::<Vec<f64>>();
        let vectors = (0..VECTORS as u64).map(vector).collect();
        Self { points: space.points.len(), axes, levels, layout, vectors }
    }

    /// What a vector means.
    pub(super) fn unit(&self, vector: &[f64]) -> Unit {
        self.layout.unit(&self.axes, vector)
    }

    /// Number of points.
    #[must_use]
    pub fn points(&self) -> usize {
        self.points
    }

    /// Number of factors.
    pub(super) fn factors(&self) -> usize {
        self.axes.len()
    }

    /// Level of each factor at `point`.
    pub(super) fn levels(&self, point: usize) -> &[Option<u16>] {
        let factors = self.axes.len();
        &self.levels[point * factors..(point + 1) * factors]
    }
}

impl Axis {
    fn new(factor: &Factor) -> Self {
        let warps = match &factor.kind {
            FactorKind::Category(_) => Vec::new(),
            FactorKind::Names(levels) => vec![unit(&(0..*levels).map(|level| level as f64).collect::<Vec<_>>())],
            FactorKind::Number(values) => warped(values),
        };
        Self { warps }
    }
}

/// Positions of numbers under each warp in question: logarithm, root and none, of values shifted so that the smallest
/// equals the smallest step, and the rank; none alone where the steps are even.
fn warped(values: &[f64]) -> Vec<Vec<f64>> {
    let steps = || values.windows(2).map(|pair| pair[1] - pair[0]);
    let smallest = steps().fold(f64::INFINITY, f64::min);
    let largest = steps().fold(0.0, f64::max);
    if values.len() < 3 || largest < EVEN * smallest {
        return vec![unit(values)];
    }
    let shifted = values.iter().map(|value| value - values[0] + smallest);
    let shifted: Vec<f64> = shifted.collect();
    let by = |warp: fn(f64) -> f64| unit(&shifted.iter().map(|value| warp(*value)).collect::<Vec<_>>());
    let ranks: Vec<f64> = (0..values.len()).map(|rank| rank as f64).collect();
    vec![by(libm::log), by(libm::sqrt), by(|value| value), unit(&ranks)]
}

/// Values moved and scaled to run from 0 to 1; the middle where there is only one.
fn unit(values: &[f64]) -> Vec<f64> {
    let (first, last) = (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(0.0));
    let place = |value: &f64| if last > first { (value - first) / (last - first) } else { 0.5 };
    values.iter().map(place).collect()
}

impl Layout {
    fn new(axes: &[Axis], mismatch: &[bool]) -> Self {
        let mut next = 0;
        let mut take = |wanted: bool| {
            wanted.then(|| {
                next += 1;
                next - 1
            })
        };
        let lengths = axes.iter().map(|axis| take(!axis.warps.is_empty())).collect();
        let warps = axes.iter().map(|axis| take(axis.warps.len() > 1)).collect();
        let kept = mismatch.iter().map(|counts| take(*counts)).collect();
        Self { lengths, warps, kept, scales: next }
    }

    /// Number of coordinates.
    fn size(&self) -> usize {
        self.scales + SCALES
    }

    fn unit(&self, axes: &[Axis], vector: &[f64]) -> Unit {
        let share = |z: f64| normal_upper(-z);
        let pick = |(axis, at): (&Axis, &Option<usize>)| {
            let warp = |at: usize| (share(vector[at]) * axis.warps.len() as f64) as usize;
            at.map_or(0, |at| warp(at).min(axis.warps.len() - 1))
        };
        let scale = |place: usize| vector[self.scales + place];
        Unit {
            lengths: self.lengths.iter().map(|at| at.map_or(0.0, |at| vector[at])).collect(),
            warps: axes.iter().zip(&self.warps).map(pick).collect(),
            kept: self.kept.iter().map(|at| at.map_or(1.0, |at| beta_2_2_quantile(share(vector[at])))).collect(),
            signal: scale(0),
            interaction: share(INTERACTION_SPREAD * scale(1)),
            slope: scale(2),
            noise: scale(3),
            has_trends: share(scale(4)) >= NO_TRENDS,
            does_nothing: share(scale(5)) < NOTHING,
            is_rough: share(scale(6)) < ROUGH,
            noise_growth: scale(7),
        }
    }
}

struct Primes {
    last: u64,
}

impl Primes {
    fn next(&mut self) -> u64 {
        loop {
            self.last += 1;
            if (2..self.last).take_while(|divisor| divisor * divisor <= self.last).all(|d| !self.last.is_multiple_of(d))
            {
                return self.last;
            }
        }
    }
}

/// The digits of `index` to `base`, mirrored at the point: one coordinate of the Halton sequence.
pub(crate) fn radical_inverse(mut index: u64, base: u64) -> f64 {
    let (mut value, mut place) = (0.0, 1.0 / base as f64);
    while index > 0 {
        value += (index % base) as f64 * place;
        index /= base;
        place /= base as f64;
    }
    value
}

/// The coordinate of the `index`-th point of the Halton sequence in each of `dimensions`.
pub(crate) fn halton(index: u64, dimensions: usize) -> Vec<f64> {
    let mut primes = Primes { last: 1 };
    (0..dimensions).map(|_| radical_inverse(index, primes.next())).collect()
}

/// The z with P(Z ≤ z) = `p`.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 { normal_upper_quantile(1.0 - p) } else { -normal_upper_quantile(p) }
}

/// The x with 3x² − 2x³ = `p`: a cubic with three real roots, of which this is the middle one.
fn beta_2_2_quantile(p: f64) -> f64 {
    0.5 - libm::sin(libm::asin(1.0 - 2.0 * p) / 3.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_steps_are_not_warped_and_uneven_ones_are() {
        assert_eq!(warped(&[1.0, 2.0, 3.0]), [[0.0, 0.5, 1.0]]);
        let three = warped(&[0.0, 10.0, 100.0]);
        assert_eq!(three.len(), 4);
        // Shifted to 10, 20, 110.
        assert!((three[0][1] - libm::log(2.0) / libm::log(11.0)).abs() < 1e-12);
        assert!((three[2][1] - 0.1).abs() < 1e-12);
        assert_eq!(three[3], [0.0, 0.5, 1.0]);
        assert_eq!(warped(&[7.0]), [[0.5]]);
    }

    #[test]
    fn quantiles_undo_their_distributions() {
        for p in [0.001, 0.2, 0.5, 0.77, 0.999] {
            let x = beta_2_2_quantile(p);
            assert!((3.0 * x * x - 2.0 * x * x * x - p).abs() < 1e-12, "{p}");
            let z = normal_quantile(p);
            assert!((powerband_stats::distribution::normal_upper(-z) - p).abs() < 1e-9, "{p}");
        }
    }

    #[test]
    fn the_sequence_mirrors_digits() {
        assert_eq!(radical_inverse(6, 2), 0.375); // 110 → 0.011
        assert_eq!(halton(1, 3), [1.0 / 2.0, 1.0 / 3.0, 1.0 / 5.0]);
    }
}
