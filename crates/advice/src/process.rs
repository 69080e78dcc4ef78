//! The model of one metric over the space: a Gaussian process whose hyperparameters are averaged.

mod cholesky;
mod component;
mod coordinates;
mod data;
mod kernel;
mod pairs;
mod prediction;
mod prior;

use std::sync::Arc;

use powerband_stats::{Draws, Purpose};

use component::Component;
pub use coordinates::Coordinates;
pub(crate) use coordinates::{halton, normal_quantile};
pub use data::{Data, MeasuredSetting, Repeats};
pub use prediction::{LevelPrediction, MixturePart};
pub use prior::{LogNormal, Normal, Prior, PriorMean};

/// Terms of the mixture.
const TERMS: usize = 40;

/// Metropolis steps by which the terms part again after they were chosen by weight.
const MOVES: usize = 5;

/// Standard deviation of the random part that is added to a step, in the priors' standard deviations.
const STEP_SD: f64 = 0.15;

/// Share of steps that go the whole difference of two other terms, from one summit to another.
const LEAPS: f64 = 0.1;

/// Vectors of the second generation, drawn around the heaviest of the fit before.
const OFFSPRING: usize = 128;

/// Standard deviation of those draws, in the priors' standard deviations.
const OFFSPRING_SD: f64 = 0.45;

/// Squared error over its variance beyond which an outlier widens no more, and prior observations of a fitting width.
const MAX_RATIO: f64 = 25.0;
const FITTING: f64 = 2.0;

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
/// let mean = prior.mean(5.0, &[1.0]); // around ln p99 of the start, growing
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
    mean: PriorMean,
    data: Data,
    components: Vec<Component>,
    widening: f64,
}

impl Process {
    /// Fits to `data` around `mean`. Points of `data` must be different ones, and those of `coordinates`; a mean needs
    /// one trend a factor.
    ///
    /// 192 vectors of hyperparameters, spread over their priors by a Halton sequence, are weighed by the marginal likelihood
    /// of the means and of the repeats' sums of squares. 40 are drawn by weight and moved apart by a few steps of
    /// differential evolution Markov chain (ter Braak 2006), which leaves their distribution the posterior one.
    #[must_use]
    pub fn fit(coordinates: &Arc<Coordinates>, prior: &Prior, mean: &PriorMean, data: &Data) -> Self {
        Self::refit(coordinates, prior, mean, data, None)
    }

    /// As [`Process::fit`], with 128 more vectors around the terms of `before`, a fit to less data: what the data want may
    /// lie where the prior has few. Weights are those of importance sampling, so that the prior stays what it is.
    #[must_use]
    pub fn refit(
        coordinates: &Arc<Coordinates>,
        prior: &Prior,
        mean: &PriorMean,
        data: &Data,
        before: Option<&Self>,
    ) -> Self {
        let parents = before.map_or(&[][..], |before| before.components.as_slice());
        let mut vectors = coordinates.vectors.clone();
        vectors.extend(offspring(parents, data));
        // The level at which the noise is the prior's: the start's.
        let reference = mean.level - prior.above_start;
        let weigh = |prior: &Prior| -> Vec<Component> {
            let one = |vector: &Vec<f64>| {
                let mut component = Component::new(coordinates, vector.clone(), prior, (mean, reference), data)?;
                component.weight = component.ln_evidence - ln_proposal(parents, vector);
                Some(component)
            };
            vectors.iter().filter_map(one).collect()
        };
        let mut components = weigh(prior);
        // Conditional factors can leave a covariance indefinite; settings that deviate more by themselves mend it.
        let mut looser = *prior;
        while components.is_empty() && looser.own_sd < 1e3 {
            looser.own_sd = (3.0 * looser.own_sd).max(0.01);
            components = weigh(&looser);
        }
        let components = drawn(components);
        let refitted = |vector: &[f64]| Component::new(coordinates, vector.to_vec(), prior, (mean, reference), data);
        let components = moved(components, refitted, data);
        let widening = widening(&components);
        Self { coordinates: Arc::clone(coordinates), mean: mean.clone(), data: data.clone(), components, widening }
    }

    /// The level at `point`, without noise, as a mixture.
    #[must_use]
    pub fn predict(&self, point: usize) -> LevelPrediction {
        self.predict_all(&[point]).pop().unwrap_or_default()
    }

    /// The levels at `points`, as [`Process::predict`] gives them one by one, in a fraction of the time.
    #[must_use]
    pub fn predict_all(&self, points: &[usize]) -> Vec<LevelPrediction> {
        let mut predictions = vec![LevelPrediction { parts: Vec::with_capacity(self.components.len()) }; points.len()];
        for component in &self.components {
            let parts = component.parts(&self.coordinates, &self.mean, &self.data, points);
            for (prediction, part) in predictions.iter_mut().zip(parts) {
                prediction.parts.push(MixturePart { variance: part.variance * self.widening, ..part });
            }
        }
        predictions
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

    /// Geometric mean, over the hyperparameters, of the variance of one run's noise at a level: the arithmetic one is drawn up
    /// by the prior's tail.
    #[must_use]
    pub fn typical_noise_variance(&self, level: f64) -> f64 {
        let ln = |component: &Component| component.weight * component.loudness.ln_variance_at(level);
        libm::exp(self.components.iter().map(ln).sum())
    }

    /// Variance of one run's noise at a level, averaged over the hyperparameters.
    #[must_use]
    pub fn noise_variance(&self, level: f64) -> f64 {
        self.components.iter().map(|component| component.weight * component.loudness.variance_at(level)).sum()
    }
}

/// Vectors drawn around `parents`, each parent as often as its weight says.
fn offspring(parents: &[Component], data: &Data) -> Vec<Vec<f64>> {
    let mut random = Draws::new(data.tried.len() as u64, Purpose::Posterior, data.freedom as u64, 2);
    let (mut parents, mut reached) = (parents.iter().peekable(), 0.0);
    let mut one = |index: usize| {
        let wanted = (index as f64 + 0.5) / OFFSPRING as f64;
        while let Some(parent) = parents.peek() {
            if reached + parent.weight >= wanted {
                break;
            }
            reached += parent.weight;
            parents.next();
        }
        let parent = parents.peek()?;
        Some(parent.vector.iter().map(|z| z + OFFSPRING_SD * random.normal()).collect())
    };
    (0..OFFSPRING).map_while(&mut one).collect()
}

/// Terms drawn by their weights, systematically, so that each comes as often as its weight says but for one; all then weigh
/// the same.
fn drawn(mut components: Vec<Component>) -> Vec<Component> {
    // Stable, so that equal weights stay in the sequence's order.
    components.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let heaviest = components.first().map_or(0.0, |component| component.weight);
    components.iter_mut().for_each(|component| component.weight = libm::exp(component.weight - heaviest));
    let total: f64 = components.iter().map(|component| component.weight).sum();
    let (mut chosen, mut reached) = (Vec::with_capacity(TERMS), 0.0);
    for component in components {
        reached += component.weight / total;
        while chosen.len() < TERMS && (chosen.len() as f64 + 0.5) / (TERMS as f64) < reached {
            chosen.push(component.clone().weighing(1.0 / TERMS as f64));
        }
    }
    chosen
}

/// The terms after some Metropolis steps each, towards which the difference of two others shows the way.
fn moved(
    mut components: Vec<Component>,
    refitted: impl Fn(&[f64]) -> Option<Component>,
    data: &Data,
) -> Vec<Component> {
    let count = components.len();
    if count < 3 {
        return components;
    }
    let mut random = Draws::new(data.tried.len() as u64, Purpose::Posterior, data.freedom as u64, 3);
    let ln_posterior =
        |component: &Component| component.ln_evidence - 0.5 * component.vector.iter().map(|z| z * z).sum::<f64>();
    for step in 0..MOVES * count {
        let place = step % count;
        let other = |random: &mut Draws| (place + 1 + random.below(count as u64 - 1) as usize) % count;
        let (a, b) = (other(&mut random), other(&mut random));
        let whole = random.uniform() < LEAPS;
        let own = &components[place];
        // ter Braak's factor for one pair of others.
        let share = if whole { 1.0 } else { 2.38 / (2.0 * own.vector.len() as f64).sqrt() };
        let towards = own.vector.iter().zip(&components[a].vector).zip(&components[b].vector);
        let vector: Vec<f64> = towards.map(|((z, a), b)| z + share * (a - b) + STEP_SD * random.normal()).collect();
        let ln_chance = libm::log(random.uniform().max(f64::MIN_POSITIVE));
        let Some(proposed) = refitted(&vector) else { continue };
        if ln_chance < ln_posterior(&proposed) - ln_posterior(own) {
            components[place] = proposed.weighing(own.weight);
        }
    }
    components
}

/// ln of the density by which both generations propose a vector, relative to the prior's.
fn ln_proposal(parents: &[Component], vector: &[f64]) -> f64 {
    if parents.is_empty() {
        return 0.0;
    }
    let share = OFFSPRING as f64 / (OFFSPRING + coordinates::VECTORS) as f64;
    let ln_prior: f64 = vector.iter().map(|z| -0.5 * z * z).sum();
    let around = |parent: &Component| {
        let square: f64 = vector.iter().zip(&parent.vector).map(|(z, of)| (z - of) * (z - of)).sum();
        let ln = -0.5 * square / (OFFSPRING_SD * OFFSPRING_SD) - vector.len() as f64 * libm::log(OFFSPRING_SD);
        parent.weight * libm::exp(ln - ln_prior)
    };
    libm::log((1.0 - share) + share * parents.iter().map(around).sum::<f64>())
}

/// By how much the variance of predictions falls short, from what each setting's left-out prediction missed it by. The weights
/// are those without that setting.
fn widening(components: &[Component]) -> f64 {
    let left_out: Vec<Vec<(f64, f64)>> = components.iter().map(Component::left_out).collect();
    let count = left_out.first().map_or(0, Vec::len);
    let ratio = |place: usize| {
        let without = |(component, left_out): (&Component, &Vec<(f64, f64)>)| {
            let (error, variance) = left_out[place];
            let weight = component.weight * variance.sqrt() * libm::exp(0.5 * (error * error / variance).min(100.0));
            MixturePart { weight, mean: error, variance }
        };
        let mut parts: Vec<MixturePart> = components.iter().zip(&left_out).map(without).collect();
        let total: f64 = parts.iter().map(|part| part.weight).sum();
        parts.iter_mut().for_each(|part| part.weight /= total);
        let error = LevelPrediction { parts };
        (error.mean() * error.mean() / error.variance()).min(MAX_RATIO)
    };
    let sum: f64 = (0..count).map(ratio).sum();
    ((FITTING + sum) / (FITTING + count as f64)).max(1.0)
}
