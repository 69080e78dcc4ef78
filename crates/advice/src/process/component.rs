//! One vector of hyperparameters with the factor of its covariance matrix: a term of the mixture.

use super::cholesky::{Cholesky, dot};
use super::coordinates::Coordinates;
use super::kernel::Kernel;
use super::pairs::Pairs;
use super::{Data, MixturePart, Prior, PriorMean};

/// Added to the diagonal so that no rounding makes a matrix indefinite.
const DIAGONAL: f64 = 1e-9;

/// Levels (logarithms) below and above the start's between which the noise grows.
const GROWTH: (f64, f64) = (-1.0, 3.0);

/// The noise of one run under one vector of hyperparameters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loudness {
    /// ln of its variance at the reference level.
    ln_variance: f64,
    /// By how much ln of its standard deviation grows with the level.
    growth: f64,
    reference: f64,
}

impl Loudness {
    /// ln of the variance at a level.
    pub(super) fn ln_variance_at(&self, level: f64) -> f64 {
        self.ln_variance + 2.0 * self.growth * (level - self.reference).clamp(GROWTH.0, GROWTH.1)
    }

    /// Variance at a level.
    pub(super) fn variance_at(&self, level: f64) -> f64 {
        libm::exp(self.ln_variance_at(level))
    }
}

/// A term of the mixture.
#[derive(Debug, Clone)]
pub(super) struct Component {
    pub(super) weight: f64,
    /// ln of the marginal likelihood of the data.
    pub(super) ln_evidence: f64,
    /// The vector of hyperparameters, as standard normal deviates.
    pub(super) vector: Vec<f64>,
    pub(super) loudness: Loudness,
    kernel: Kernel,
    factor: Cholesky,
    /// A⁻¹ (ȳ − μ0).
    solved: Vec<f64>,
}

impl Component {
    /// Conditions one vector on the data; the weight is not one yet. `reference` is the level at which the noise is the
    /// prior's. None where its matrix is not positive definite.
    pub(super) fn new(
        at: &Coordinates,
        vector: Vec<f64>,
        prior: &Prior,
        (mean, reference): (&PriorMean, f64),
        data: &Data,
    ) -> Option<Self> {
        let unit = at.unit(&vector);
        let kernel = Kernel::new(&unit, prior);
        let growth = prior.noise_growth.map_or(0.0, |it| (it.mean + it.sd * unit.noise_growth).max(0.0));
        let loudness = Loudness { ln_variance: 2.0 * libm::log(prior.noise.at(unit.noise)), growth, reference };
        let size = data.tried.len();
        let points = data.points();
        let pairs = Pairs::new(&kernel, at, &points, &points);
        let mut packed = Vec::with_capacity(size * (size + 1) / 2);
        for (row, tried) in data.tried.iter().enumerate() {
            packed.extend((0..=row).map(|other| pairs.covariance(row, other)));
            if let Some(diagonal) = packed.last_mut() {
                let noise = loudness.variance_at(tried.mean) / tried.runs as f64;
                *diagonal += noise + prior.own_sd * prior.own_sd + DIAGONAL;
            }
        }
        let factor = Cholesky::of(size, packed)?;
        let above = data.tried.iter().map(|tried| tried.mean - kernel.mean(at, mean, tried.point));
        let mut solved: Vec<f64> = above.collect();
        factor.forward(&mut solved);
        let repeats = data.repeats.iter().map(|repeats| {
            let ln_variance = loudness.ln_variance_at(repeats.mean);
            -0.5 * (repeats.freedom * ln_variance + repeats.within * libm::exp(-ln_variance))
        });
        let ln_evidence = -0.5 * dot(&solved, &solved) - factor.log_diagonal() + repeats.sum::<f64>();
        factor.backward(&mut solved);
        Some(Self { weight: ln_evidence, ln_evidence, vector, loudness, kernel, factor, solved })
    }

    /// The same term with another weight.
    pub(super) fn weighing(self, weight: f64) -> Self {
        Self { weight, ..self }
    }

    pub(super) fn prior_mean(&self, at: &Coordinates, mean: &PriorMean, point: usize) -> f64 {
        self.kernel.mean(at, mean, point)
    }

    /// What this term says of each of `points`.
    pub(super) fn parts(&self, at: &Coordinates, mean: &PriorMean, data: &Data, points: &[usize]) -> Vec<MixturePart> {
        let pairs = Pairs::new(&self.kernel, at, &data.points(), points);
        let part = |(place, &point): (usize, &usize)| {
            let mut across: Vec<f64> = (0..data.tried.len()).map(|row| pairs.covariance(row, place)).collect();
            let level = self.kernel.mean(at, mean, point) + dot(&across, &self.solved);
            self.factor.forward(&mut across);
            let variance = self.kernel.covariance(at, point, point) - dot(&across, &across);
            MixturePart { weight: self.weight, mean: level, variance: variance.max(1e-12) }
        };
        points.iter().enumerate().map(part).collect()
    }

    /// For each setting tried, what this term would have predicted without it: its error, and the variance of that error, noise
    /// included (Dubrule 1983: e = [A⁻¹r]ᵢ / [A⁻¹]ᵢᵢ, variance 1 / [A⁻¹]ᵢᵢ).
    pub(super) fn left_out(&self) -> Vec<(f64, f64)> {
        let diagonal = self.factor.inverse_diagonal();
        self.solved.iter().zip(diagonal).map(|(solved, precision)| (solved / precision, 1.0 / precision)).collect()
    }

    /// Means at `points`, and the factor of their joint covariance times `widening`.
    pub(super) fn joint(
        &self,
        at: &Coordinates,
        mean: &PriorMean,
        data: &Data,
        points: &[usize],
        widening: f64,
    ) -> Option<(Vec<f64>, Cholesky)> {
        let (mut means, mut rows) = (Vec::new(), Vec::<Vec<f64>>::new());
        let (to_data, among) =
            (Pairs::new(&self.kernel, at, &data.points(), points), Pairs::new(&self.kernel, at, points, points));
        let mut packed = Vec::with_capacity(points.len() * (points.len() + 1) / 2);
        for (row, point) in points.iter().enumerate() {
            let mut across: Vec<f64> = (0..data.tried.len()).map(|tried| to_data.covariance(tried, row)).collect();
            means.push(self.kernel.mean(at, mean, *point) + dot(&across, &self.solved));
            self.factor.forward(&mut across);
            rows.push(across);
            let one = |(other, across): (usize, &Vec<f64>)| among.covariance(row, other) - dot(&rows[row], across);
            packed.extend(rows.iter().enumerate().map(|pair| widening * one(pair)));
        }
        let factor = Cholesky::jittered(points.len(), &packed, 1e-8)?;
        Some((means, factor))
    }
}
