//! The variants of the model and their weights.

use super::MixedTrial;
use super::columns::Columns;
use super::shared::{SHARED, Shared};
use super::solve::{Gram, Solution};

/// How many times the others' variance a noisier setting has.
const RATIOS: [f64; 2] = [9.0, 64.0];
/// Prior weight of equal noise; of one noisier setting; of several, up to half of them.
const ALIKE_WEIGHT: f64 = 0.5;
const NOISY_WEIGHT: f64 = 0.5;
const SEVERAL_WEIGHT: f64 = 0.2;
/// Unequal noises tried at most, the most hopeful ones: each costs as much as equal noise.
const MAX_NOISES: usize = 24;
/// Variants below this share of the weight are left out.
const KEEP: f64 = 1e-3;
/// What a variant may gain beyond the quick estimate of its weight: logarithm.
const SLACK: f64 = 3.0;
/// Trials times columns squared from which walks are only tried as long as they have weight.
const LARGE: usize = 1_000_000;
/// Share of the largest value that its rounding may be.
const ROUNDING: f64 = 1e-14;

/// One variant that has weight.
#[derive(Debug, Clone)]
pub(super) struct Variant {
    /// Its share of all weight; a logarithm until all are known.
    pub(super) weight: f64,
    /// What its trials have in common.
    pub(super) shared: Shared,
    /// Its disturbance.
    pub(super) disturbance: usize,
    /// Variance of each setting's trials, over that of a trial.
    pub(super) noise: Vec<f64>,
    /// Coefficients of the levels, then of the disturbance.
    pub(super) coefficients: Vec<f64>,
    /// Covariance of the levels over the variance of a trial.
    pub(super) covariance: Vec<f64>,
    /// Variance of a trial.
    pub(super) variance: f64,
}

impl Variant {
    /// Whether all settings are equally noisy.
    pub(super) fn is_even(&self) -> bool {
        self.noise.iter().all(|it| *it == 1.0)
    }

    /// Level of the setting at a place less that of the first one.
    pub(super) fn level(&self, place: usize) -> f64 {
        if place > 0 { self.coefficients[place - 1] } else { 0.0 }
    }
}

impl Columns {
    /// The level of a trial's setting.
    pub(super) fn level(&self, trial: usize, coefficients: &[f64]) -> f64 {
        coefficients[..self.settings - 1].iter().zip(self.row(trial)).map(|(level, is)| level * is).sum()
    }

    /// What a disturbance does to a trial.
    pub(super) fn disturbed(&self, trial: usize, disturbance: usize, coefficients: &[f64]) -> f64 {
        let columns = &self.disturbances[disturbance].columns;
        let own = coefficients[self.settings - 1..].iter().zip(columns);
        own.map(|(by, (column, _))| by * self.row(trial)[*column]).sum()
    }
}

/// Degrees of freedom of the residuals: a level a setting.
pub(super) fn df(trials: &[MixedTrial], columns: &Columns) -> f64 {
    (trials.len() - columns.settings) as f64
}

/// The sum of squares that rounding leaves.
pub(super) fn least_squares(trials: &[MixedTrial], df: f64) -> f64 {
    let rounding = ROUNDING * trials.iter().fold(0.0, |most: f64, trial| most.max(trial.value.abs()));
    (df * rounding * rounding).max(f64::MIN_POSITIVE)
}

/// All variants that have weight. `likely` is the place of what trials have in common from which to begin.
pub(super) fn variants(trials: &[MixedTrial], columns: &Columns, likely: usize) -> Vec<Variant> {
    let mut search = Search {
        trials,
        columns,
        df: df(trials, columns),
        least: least_squares(trials, df(trials, columns)),
        best: f64::NEG_INFINITY,
        found: Vec::new(),
    };
    let alike = search.alike(likely);
    let top = search.best;
    let lives = |shared: usize, disturbance: usize| alike[shared][disturbance] >= top + libm::log(KEEP);
    let needed = columns.needed(|disturbance| (0..columns.shared).any(|shared| lives(shared, disturbance)));
    for (noise, weight) in noises(&search.squares()) {
        for shared in 0..columns.shared {
            let living: Vec<usize> = (0..columns.disturbances.len()).filter(|it| lives(shared, *it)).collect();
            if !living.is_empty() {
                search.visit((shared, &noise, weight), needed.clone(), &living);
            }
        }
    }
    weighed(search.found, search.best)
}

/// Turns logarithms into shares, and leaves out what has next to none.
fn weighed(mut found: Vec<Variant>, best: f64) -> Vec<Variant> {
    found.iter_mut().for_each(|it| it.weight = libm::exp(it.weight - best));
    for least in [KEEP, 0.0] {
        let total: f64 = found.iter().map(|it| it.weight).sum();
        found.iter_mut().for_each(|it| it.weight /= total);
        found.retain(|it| it.weight >= least);
    }
    found
}

struct Search<'a> {
    trials: &'a [MixedTrial],
    columns: &'a Columns,
    df: f64,
    least: f64,
    /// Largest logarithm of a weight so far.
    best: f64,
    found: Vec<Variant>,
}

impl Search<'_> {
    /// Fits these disturbances with what trials have in common and settings' noise, and keeps those with weight. Gives the logarithms of the
    /// weights by disturbance.
    fn visit(
        &mut self,
        (shared, noise, noise_weight): (usize, &[f64], f64),
        needed: Vec<usize>,
        disturbances: &[usize],
    ) -> Vec<f64> {
        let (shared, shared_weight) = SHARED[shared];
        let gram = Gram::new(self.trials, self.columns, needed, shared, noise);
        let mut weights = vec![f64::NEG_INFINITY; self.columns.disturbances.len()];
        let mut solved: Vec<(usize, Solution)> = Vec::with_capacity(disturbances.len());
        for place in disturbances {
            let disturbance = &self.columns.disturbances[*place];
            let Some(solution) = gram.solve(self.columns, disturbance, self.df, self.least) else { continue };
            let prior = noise_weight * shared_weight * disturbance.weight;
            weights[*place] = solution.ln_evidence + libm::log(prior);
            self.best = self.best.max(weights[*place]);
            solved.push((*place, solution));
        }
        let least = self.best + libm::log(KEEP);
        let kept = solved.iter().filter(|(place, _)| weights[*place] >= least);
        self.found.extend(kept.map(|(disturbance, solution)| Variant {
            weight: weights[*disturbance],
            shared,
            disturbance: *disturbance,
            noise: noise.to_vec(),
            coefficients: solution.coefficients(),
            covariance: solution.covariance(),
            // Where every value is zero, the sum of squares is no more than the least that has a logarithm.
            variance: (solution.squares - f64::MIN_POSITIVE) / self.df,
        }));
        weights
    }

    /// All that trials may have in common and all disturbances with equal noise; logarithms of weights by both. From the likeliest
    /// walk up and then down, so that a large table can stop where the weight is gone.
    fn alike(&mut self, likely: usize) -> Vec<Vec<f64>> {
        let all: Vec<usize> = (0..self.columns.disturbances.len()).collect();
        let noise = vec![1.0; self.columns.settings];
        let mut weights = vec![vec![f64::NEG_INFINITY; all.len()]; SHARED.len()];
        let large = self.trials.len() * self.columns.width * self.columns.width > LARGE;
        let directions: [Vec<usize>; 2] = [(likely..self.columns.shared).collect(), (0..likely).rev().collect()];
        for shared in directions.iter().flatten() {
            let next = if *shared < likely { shared + 1 } else { shared.saturating_sub(1) };
            let is_next = *shared != likely && !SHARED[*shared].0.is_block();
            let ended = large && is_next && weights[next].iter().all(|it| *it < self.best + libm::log(KEEP));
            if !ended {
                weights[*shared] = self.visit((*shared, &noise, ALIKE_WEIGHT), self.columns.needed(|_| true), &all);
            }
        }
        weights
    }

    /// Trials of each setting and their squared distances from the likeliest variant, what they have in common taken out.
    fn squares(&self) -> Vec<(f64, f64)> {
        let mut squares = vec![(0.0, 0.0); self.columns.settings];
        let Some(likeliest) = self.found.iter().max_by(|a, b| a.weight.total_cmp(&b.weight)) else { return squares };
        let Variant { coefficients, disturbance, shared, noise, .. } = likeliest;
        let fixed =
            |at: usize| self.columns.level(at, coefficients) + self.columns.disturbed(at, *disturbance, coefficients);
        let left: Vec<f64> = (0..self.trials.len()).map(|at| self.columns.value(at) - fixed(at)).collect();
        let course = shared.course(self.trials, &left, noise);
        for ((trial, left), course) in self.trials.iter().zip(left).zip(course) {
            let own = &mut squares[trial.setting];
            *own = (own.0 + 1.0, own.1 + (left - course) * (left - course));
        }
        squares
    }
}

/// Unequal noise worth trying, with prior weights: one setting noisier, or of several those with the largest squares.
fn noises(squares: &[(f64, f64)]) -> Vec<(Vec<f64>, f64)> {
    let settings = squares.len();
    let of = |noisy: &[usize], ratio: f64| {
        let mut noise = vec![1.0; settings];
        noisy.iter().for_each(|it| noise[*it] = ratio);
        noise
    };
    let each = NOISY_WEIGHT / (settings * RATIOS.len()) as f64;
    let one = (0..settings).flat_map(|it| RATIOS.map(|ratio| (of(&[it], ratio), each)));
    let mut order: Vec<usize> = (0..settings).collect();
    let mean = |it: &usize| squares[*it].1 / f64::max(squares[*it].0, 1.0);
    order.sort_by(|a, b| mean(b).total_cmp(&mean(a)).then(a.cmp(b)));
    let sizes = (settings / 2).saturating_sub(1);
    let mut ways = settings as f64;
    let several = (2..=settings / 2).flat_map(|size| {
        ways *= (settings + 1 - size) as f64 / size as f64;
        let each = SEVERAL_WEIGHT / (sizes * RATIOS.len()) as f64 / ways;
        RATIOS.map(|ratio| (of(&order[..size], ratio), each))
    });
    let df = squares.iter().map(|it| it.0).sum::<f64>() - settings as f64;
    let hopeful = |(noise, weight): &(Vec<f64>, f64)| {
        ln_gain(squares, noise, df) + libm::log(weight / ALIKE_WEIGHT) >= libm::log(KEEP) - SLACK
    };
    let mut all: Vec<(Vec<f64>, f64)> = one.chain(several).filter(hopeful).collect();
    let hope = |(noise, weight): &(Vec<f64>, f64)| ln_gain(squares, noise, df) + libm::log(*weight);
    all.sort_by(|a, b| hope(b).total_cmp(&hope(a)));
    all.truncate(MAX_NOISES);
    all
}

/// About what the logarithm of a variant's weight gains where settings have this noise.
fn ln_gain(squares: &[(f64, f64)], noise: &[f64], df: f64) -> f64 {
    let all = squares.iter().map(|it| it.1).sum::<f64>().max(f64::MIN_POSITIVE);
    let with = squares.iter().zip(noise);
    let (ln_det, left) = with.fold((0.0, 0.0), |(ln_det, left), ((trials, squares), noise)| {
        (ln_det + trials * libm::log(*noise), left + squares / noise)
    });
    -0.5 * ln_det - 0.5 * df * libm::log((left / all).max(1e-12))
}
