//! One vector of hyperparameters with the factor of its covariance matrix: a term of the mixture.

use super::cholesky::{Cholesky, dot};
use super::coordinates::{Coordinates, Unit};
use super::{Data, Mean, Part, Prior};

/// Added to the diagonal so that no rounding makes a matrix indefinite.
const DIAGONAL: f64 = 1e-9;

/// Median of a length over the whole range, for two factors; it grows with the root of their number.
const LENGTH_MEDIAN: f64 = 0.6;

/// Standard deviation of its logarithm.
const LENGTH_SD_LN: f64 = 0.6;

/// The covariance under one vector of hyperparameters.
#[derive(Debug, Clone)]
struct Kernel {
    signal_variance: f64,
    level_variance: f64,
    slope_sd: f64,
    /// For each factor 1/ℓ.
    inverse_lengths: Vec<f64>,
    warps: Vec<usize>,
    kept: Vec<f64>,
}

/// A term of the mixture.
#[derive(Debug, Clone)]
pub(super) struct Component {
    pub(super) weight: f64,
    kernel: Kernel,
    pub(super) noise_variance: f64,
    factor: Cholesky,
    /// A⁻¹ (ȳ − μ0).
    solved: Vec<f64>,
}

impl Kernel {
    fn new(unit: &Unit, prior: &Prior) -> Self {
        let median = LENGTH_MEDIAN * (unit.lengths.len() as f64 / 2.0).sqrt();
        let signal = prior.signal.at(unit.signal);
        Self {
            signal_variance: signal * signal,
            level_variance: prior.level_sd * prior.level_sd,
            slope_sd: prior.slope_sd,
            inverse_lengths: unit.lengths.iter().map(|z| libm::exp(-LENGTH_SD_LN * z) / median).collect(),
            warps: unit.warps.clone(),
            kept: unit.kept.clone(),
        }
    }

    /// Covariance of the levels at two points: Matérn 5/2 over the ordered factors active in both, a share kept for each
    /// factor that differs without a distance, and a plane.
    fn covariance(&self, at: &Coordinates, a: usize, b: usize) -> f64 {
        let (mut square, mut slopes, mut kept) = (0.0, 0.0, 1.0);
        let levels = at.levels(a).iter().zip(at.levels(b)).enumerate();
        for (factor, pair) in levels {
            match pair {
                (Some(a), Some(b)) => match at.axes[factor].warps.get(self.warps[factor]) {
                    Some(places) => {
                        let (a, b) = (places[usize::from(*a)], places[usize::from(*b)]);
                        let apart = (a - b) * self.inverse_lengths[factor];
                        square += apart * apart;
                        slopes += (a - 0.5) * (b - 0.5);
                    }
                    None if a != b => kept *= self.kept[factor],
                    None => {}
                },
                (None, None) => {}
                _ => kept *= self.kept[factor],
            }
        }
        let near = libm::sqrt(5.0 * square);
        let matern = (1.0 + near + 5.0 / 3.0 * square) * libm::exp(-near);
        self.signal_variance * matern * kept + self.level_variance + self.slope_sd * self.slope_sd * slopes
    }

    fn mean(&self, at: &Coordinates, mean: &Mean, point: usize) -> f64 {
        let (level, trends) = match mean {
            Mean::Values(values) => return values[point],
            Mean::Trends { level, trends } => (level, trends),
        };
        let slope = |(factor, (trend, chosen)): (usize, (&f64, &Option<u16>))| {
            let place = at.axes[factor].warps.get(self.warps[factor]).zip(*chosen);
            place.map_or(0.0, |(places, chosen)| trend * self.slope_sd * (places[usize::from(chosen)] - 0.5))
        };
        level + trends.iter().zip(at.levels(point)).enumerate().map(slope).sum::<f64>()
    }
}

impl Component {
    /// Conditions one vector on the data; the weight is still a logarithm. None where its matrix is not positive definite.
    pub(super) fn new(at: &Coordinates, unit: &Unit, prior: &Prior, mean: &Mean, data: &Data) -> Option<Self> {
        let kernel = Kernel::new(unit, prior);
        let noise = prior.noise.at(unit.noise);
        let noise_variance = noise * noise;
        let size = data.tried.len();
        let mut packed = Vec::with_capacity(size * (size + 1) / 2);
        for (row, tried) in data.tried.iter().enumerate() {
            let others = data.tried[..=row].iter();
            packed.extend(others.map(|other| kernel.covariance(at, tried.point, other.point)));
            if let Some(diagonal) = packed.last_mut() {
                *diagonal += noise_variance / tried.runs as f64 + prior.own_sd * prior.own_sd + DIAGONAL;
            }
        }
        let factor = Cholesky::of(size, packed)?;
        let above = data.tried.iter().map(|tried| tried.mean - kernel.mean(at, mean, tried.point));
        let mut solved: Vec<f64> = above.collect();
        factor.forward(&mut solved);
        let log_weight = -0.5 * dot(&solved, &solved)
            - factor.log_diagonal()
            - data.freedom * libm::log(noise)
            - data.within / (2.0 * noise_variance);
        factor.backward(&mut solved);
        Some(Self { weight: log_weight, kernel, noise_variance, factor, solved })
    }

    pub(super) fn prior_mean(&self, at: &Coordinates, mean: &Mean, point: usize) -> f64 {
        self.kernel.mean(at, mean, point)
    }

    /// What this term says of one point.
    pub(super) fn part(&self, at: &Coordinates, mean: &Mean, data: &Data, point: usize) -> Part {
        let mut across: Vec<f64> = data.tried.iter().map(|t| self.kernel.covariance(at, t.point, point)).collect();
        let level = self.kernel.mean(at, mean, point) + dot(&across, &self.solved);
        self.factor.forward(&mut across);
        let variance = self.kernel.covariance(at, point, point) - dot(&across, &across);
        Part { weight: self.weight, mean: level, variance: variance.max(1e-12) }
    }

    /// Means at `points`, and the factor of their joint covariance times `widening`.
    pub(super) fn joint(
        &self,
        at: &Coordinates,
        mean: &Mean,
        data: &Data,
        points: &[usize],
        widening: f64,
    ) -> Option<(Vec<f64>, Cholesky)> {
        let (mut means, mut rows) = (Vec::new(), Vec::<Vec<f64>>::new());
        let mut packed = Vec::with_capacity(points.len() * (points.len() + 1) / 2);
        for (row, point) in points.iter().enumerate() {
            let mut across: Vec<f64> = data.tried.iter().map(|t| self.kernel.covariance(at, t.point, *point)).collect();
            means.push(self.kernel.mean(at, mean, *point) + dot(&across, &self.solved));
            self.factor.forward(&mut across);
            rows.push(across);
            let pairs = points[..=row].iter().zip(&rows);
            packed.extend(pairs.map(|(other, across)| {
                widening * (self.kernel.covariance(at, *point, *other) - dot(&rows[row], across))
            }));
        }
        let factor = Cholesky::jittered(points.len(), &packed, 1e-8)?;
        Some((means, factor))
    }
}
