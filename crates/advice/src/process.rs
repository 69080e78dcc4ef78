//! The model of one metric over the space: a Gaussian process whose hyperparameters are averaged.

mod cholesky;
mod coordinates;
mod data;
mod prediction;
mod prior;

pub use coordinates::Coordinates;
pub use data::{Data, Tried};
pub use prediction::{Part, Prediction};
pub use prior::{LogNormal, Prior};

/// One metric's model, fitted to what was measured.
///
/// ```text
/// let coordinates = Arc::new(Coordinates::new(&space));
/// let prior = Prior::tail();
/// let mean = prior.mean(&coordinates, start_mean, &trends);   // or a theory's value at every point
/// let mut data = Data::default();
/// data.add(Some(point), &[ln_value, ln_value_again]);
/// data.add(None, &start_values);                              // a start that is no point teaches noise alone
/// let process = Process::fit(&coordinates, &prior, &mean, &data);
/// let p99 = process.predict(point);                           // p99.mean(), p99.variance(), p99.below(limit)
/// let draws = process.draws(&points, 400, seed);              // joint: draws[k][i] is the k-th value at points[i]
/// ```
#[derive(Debug, Clone)]
pub struct Process {}

impl Process {
    /// Fits to `data` around `mean` (μ0 at every point of the space, natural logarithm).
    #[must_use]
    pub fn fit(coordinates: &std::sync::Arc<Coordinates>, prior: &Prior, mean: &[f64], data: &Data) -> Self {
        let _ = (coordinates, prior, mean, data);
        Self {}
    }

    /// Multiplies the variance of every prediction and draw, as an interval that proved too narrow demands.
    #[must_use]
    pub fn widened(self, factor: f64) -> Self {
        let _ = factor;
        self
    }

    /// The level at `point`, without noise, as a mixture.
    #[must_use]
    pub fn predict(&self, point: usize) -> Prediction {
        let _ = point;
        Prediction::default()
    }

    /// `count` joint draws of the levels at `points`.
    #[must_use]
    pub fn draws(&self, points: &[usize], count: usize, seed: u64) -> Vec<Vec<f64>> {
        let _ = (points, seed);
        vec![Vec::new(); count]
    }

    /// Mean variance of one run's noise, averaged over the hyperparameters.
    #[must_use]
    pub fn noise_variance(&self) -> f64 {
        0.0
    }
}
