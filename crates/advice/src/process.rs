//! The model of one metric over the space: a Gaussian process whose hyperparameters are averaged.

mod cholesky;
mod component;
mod coordinates;
mod data;
mod prediction;
mod prior;

use std::sync::Arc;

use powerband_stats::{Draws, Purpose};

use component::Component;
pub use coordinates::Coordinates;
pub(crate) use coordinates::{halton, normal_quantile};
pub use data::{Data, Tried};
pub use prediction::{Part, Prediction};
pub use prior::{LogNormal, Mean, Prior};

/// Heaviest terms that are kept.
const KEPT: usize = 24;

/// Terms lighter than this share of the heaviest are dropped.
const LIGHTEST: f64 = 0.002;

/// One metric's model, fitted to what was measured.
///
/// ```
/// use std::sync::Arc;
/// use powerband_advice::{Coordinates, Data, Factor, FactorKind, Prior, Process, Space};
///
/// let usecs = FactorKind::Number(vec![10.0, 50.0, 100.0, 400.0]);
/// let factor = Factor { name: "rx-usecs".to_owned(), kind: usecs, switch_s: 3.0 };
/// let space = Space { factors: vec![factor], points: (0..4).map(|level| vec![Some(level)]).collect() };
/// let coordinates = Arc::new(Coordinates::new(&space));
/// let prior = Prior::tail();
/// let mean = prior.mean(5.0, &[1.0]); // around ln p99 of the start, growing; a theory is a Mean::Values
/// let mut data = Data::default();
/// data.add(Some(1), &[5.10, 5.11]); // all runs of a point at once
/// data.add(None, &[5.00, 5.01]); // a start that is no point teaches the noise alone
/// let process = Process::fit(&coordinates, &prior, &mean, &data);
/// let p99 = process.predict(2);
/// assert!(p99.mean() > 5.1 && p99.below(5.1) < 0.5 && p99.variance() > 0.0);
/// let draws = process.draws(&[2, 3], 400, 7); // joint: draws[k][i] is the k-th draw at the i-th point
/// assert!(draws.iter().filter(|draw| draw[1] > draw[0]).count() > 200);
/// ```
#[derive(Debug, Clone)]
pub struct Process {
    coordinates: Arc<Coordinates>,
    mean: Mean,
    data: Data,
    components: Vec<Component>,
    widening: f64,
}

impl Process {
    /// Fits to `data` around `mean`. Points of `data` must be different ones, and those of `coordinates`; a mean of
    /// values needs one a point, a mean of trends one a factor.
    ///
    /// 192 vectors of hyperparameters, spread over their priors by a Halton sequence, are weighed by the marginal likelihood
    /// of the means and of the repeats' sum of squares, and the heaviest 24 kept. There is nothing to converge.
    #[must_use]
    pub fn fit(coordinates: &Arc<Coordinates>, prior: &Prior, mean: &Mean, data: &Data) -> Self {
        let weigh = |prior: &Prior| -> Vec<Component> {
            let vectors = coordinates.vectors.iter();
            vectors.filter_map(|unit| Component::new(coordinates, unit, prior, mean, data)).collect()
        };
        let mut components = weigh(prior);
        // Conditional factors can leave a covariance indefinite; settings that deviate more by themselves mend it.
        let mut looser = *prior;
        while components.is_empty() && looser.own_sd < 1e3 {
            looser.own_sd = (3.0 * looser.own_sd).max(0.01);
            components = weigh(&looser);
        }
        // Stable, so that equal weights stay in the sequence's order.
        components.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        components.truncate(KEPT);
        let heaviest = components.first().map_or(0.0, |component| component.weight);
        components.iter_mut().for_each(|component| component.weight = libm::exp(component.weight - heaviest));
        components.retain(|component| component.weight >= LIGHTEST);
        let total: f64 = components.iter().map(|component| component.weight).sum();
        components.iter_mut().for_each(|component| component.weight /= total);
        Self { coordinates: Arc::clone(coordinates), mean: mean.clone(), data: data.clone(), components, widening: 1.0 }
    }

    /// Multiplies the variance of every prediction and draw, as intervals that proved too narrow demand.
    #[must_use]
    pub fn widened(self, factor: f64) -> Self {
        Self { widening: factor, ..self }
    }

    /// The level at `point`, without noise, as a mixture.
    #[must_use]
    pub fn predict(&self, point: usize) -> Prediction {
        let part = |component: &Component| {
            let part = component.part(&self.coordinates, &self.mean, &self.data, point);
            Part { variance: part.variance * self.widening, ..part }
        };
        Prediction { parts: self.components.iter().map(part).collect() }
    }

    /// What is believed of `point` before any data: μ0, averaged over the hyperparameters.
    #[must_use]
    pub fn prior_mean(&self, point: usize) -> f64 {
        let one = |component: &Component| component.weight * component.prior_mean(&self.coordinates, &self.mean, point);
        self.components.iter().map(one).sum()
    }

    /// `count` joint draws of the levels at `points` (different ones), without noise: for each draw a value a point.
    #[must_use]
    pub fn draws(&self, points: &[usize], count: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut random = Draws::new(seed, Purpose::Posterior, points.len() as u64, 0);
        let mut joints = vec![None; self.components.len()];
        let draw = |_| {
            let mut left = random.uniform();
            let chosen = self.components.iter().position(|component| {
                left -= component.weight;
                left <= 0.0
            });
            let normals: Vec<f64> = points.iter().map(|_| random.normal()).collect();
            let chosen = chosen.unwrap_or(0);
            let component = self.components.get(chosen)?;
            let joint = || component.joint(&self.coordinates, &self.mean, &self.data, points, self.widening);
            let (means, factor) = joints[chosen].get_or_insert_with(joint).as_ref()?;
            Some(factor.times(&normals).iter().zip(means).map(|(off, mean)| mean + off).collect())
        };
        // A joint covariance that cannot be factored leaves the means, which is all that is then known.
        let plain = || points.iter().map(|point| self.predict(*point).mean()).collect();
        (0..count).map(draw).map(|drawn| drawn.unwrap_or_else(plain)).collect()
    }

    /// Variance of one run's noise, averaged over the hyperparameters.
    #[must_use]
    pub fn noise_variance(&self) -> f64 {
        self.components.iter().map(|component| component.weight * component.noise_variance).sum()
    }
}
