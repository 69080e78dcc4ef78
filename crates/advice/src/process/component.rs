//! One vector of hyperparameters with the factor of its covariance matrix: a term of the mixture.

use super::cholesky::{Cholesky, dot};
use super::coordinates::{Coordinates, Unit};
use super::pairs::Pairs;
use super::{Data, Mean, Part, Prior};

/// Added to the diagonal so that no rounding makes a matrix indefinite.
const DIAGONAL: f64 = 1e-9;

/// Median of a length over the whole range, for two factors; it grows with the root of their number.
const LENGTH_MEDIAN: f64 = 0.5;

/// Standard deviation of its logarithm.
const LENGTH_SD_LN: f64 = 0.8;

/// What is left of signal and slope where no factor does anything.
const NOTHING: f64 = 0.03;

/// Levels (logarithms) below and above the start's between which the noise grows.
const GROWTH: (f64, f64) = (-1.0, 3.0);

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

    fn mean(&self, at: &Coordinates, mean: &Mean, point: usize) -> f64 {
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

impl Component {
    /// Conditions one vector on the data; the weight is not one yet. `reference` is the level at which the noise is the
    /// prior's. None where its matrix is not positive definite.
    pub(super) fn new(
        at: &Coordinates,
        vector: Vec<f64>,
        prior: &Prior,
        (mean, reference): (&Mean, f64),
        data: &Data,
    ) -> Option<Self> {
        let unit = at.unit(&vector);
        let kernel = Kernel::new(&unit, prior);
        let growth = prior.noise_growth.map_or(0.0, |it| (it.mean + it.sd * unit.noise_growth).max(0.0));
        let loudness = Loudness { ln_variance: 2.0 * libm::log(prior.noise.at(unit.noise)), growth, reference };
        let size = data.tried.len();
        let mut packed = Vec::with_capacity(size * (size + 1) / 2);
        for (row, tried) in data.tried.iter().enumerate() {
            let others = data.tried[..=row].iter();
            packed.extend(others.map(|other| kernel.covariance(at, tried.point, other.point)));
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

    pub(super) fn prior_mean(&self, at: &Coordinates, mean: &Mean, point: usize) -> f64 {
        self.kernel.mean(at, mean, point)
    }

    /// What this term says of each of `points`.
    pub(super) fn parts(&self, at: &Coordinates, mean: &Mean, data: &Data, points: &[usize]) -> Vec<Part> {
        let pairs = Pairs::new(&self.kernel, at, &data.points(), points);
        let part = |(place, &point): (usize, &usize)| {
            let mut across: Vec<f64> = (0..data.tried.len()).map(|row| pairs.covariance(row, place)).collect();
            let level = self.kernel.mean(at, mean, point) + dot(&across, &self.solved);
            self.factor.forward(&mut across);
            let variance = self.kernel.covariance(at, point, point) - dot(&across, &across);
            Part { weight: self.weight, mean: level, variance: variance.max(1e-12) }
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
        mean: &Mean,
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
