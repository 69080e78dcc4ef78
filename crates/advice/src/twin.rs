//! The twin: two physical laws fitted to what was measured, believed only where they predict better than the plain process.
//!
//! The laws know a clock and a coalescing delay, and what they do to power and to the tail of response times. Where they
//! hold, a dozen runs teach what would take the process many more; where they do not, they mislead. So each metric's twin
//! is put to the test first: at 8, 12, 16 … tried settings the measured ones are left out a quarter at a time, predicted by
//! the plain process and by a process around the twin, and the twin is used where it comes closer.
//!
//! A [`Twin`] goes next to a search. After each [`Search::tell`] its [`Twin::follow`] looks at what was measured. The search
//! itself does not use it: laws that do not hold would make its certificate wrong.
//!
//! ```
//! use powerband_advice::twin::{Law, Twin, TwinRoles};
//! use powerband_advice::{Bound, Factor, FactorKind, Goal, Noise, Prior, Problem, Search, Space};
//!
//! let freqs = vec![1.2e6, 1.8e6, 2.4e6, 3.0e6]; // kHz, as cpufreq tells them
//! let delays = vec![2.0, 20.0, 80.0, 200.0]; // µs
//! let factor = |name: &str, values| Factor { name: name.to_owned(), kind: FactorKind::Number(values), switch_s: 0.01 };
//! let space = Space {
//!     factors: vec![factor("freq", freqs), factor("rx-usecs", delays)],
//!     points: (0..16).map(|n| vec![Some(n / 4), Some(n % 4)]).collect(),
//! };
//! let goal = Goal::Measured { trends: vec![1.0, -0.3], prior: Prior::watts() };
//! let bounds = vec![Bound { limit: 6.2, above_start: None, trends: vec![-1.0, 1.0], prior: Prior::tail() }];
//! let problem = Problem { space, start: None, goal, bounds, safe: None, seed: 1, noise: Noise::default() };
//! let roles = TwinRoles {
//!     freq: Some(0),
//!     rx_usecs: Some(1),
//!     goal: Some(Law::Watts),
//!     bounds: vec![Some(Law::Tail { us_per_unit: 1.0 })],
//! };
//! let mut twin = Twin::new(&problem, &roles).expect("both roles are filled");
//! let mut search = Search::new(problem).unwrap();
//! // … search.tell(…); then:
//! twin.follow(&search);
//! ```

use crate::{Belief, Coordinates, Data, FactorKind, Goal, LogNormal, Mean, Metric, Prior, Problem, Process, Search};
use std::collections::BTreeMap;
use std::sync::Arc;

mod fit;
mod laws;
mod trust;

pub use fit::Fitted;
use fit::Seen;
pub use laws::{Clocked, Law};
pub use trust::{Errors, Trust};

/// The twin is put to the test at so many tried settings first, and again after each [`CHECK_EVERY`] more.
const FIRST_CHECK: usize = 8;
const CHECK_EVERY: usize = 4;

/// kHz in a GHz.
const KHZ_PER_GHZ: f64 = 1e6;

/// What the knobs and metrics of a problem are to the twin.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TwinRoles {
    /// The factor whose numbers are the CPU frequency in kHz.
    pub freq: Option<usize>,
    /// The factor whose numbers are the receive coalescing delay in µs.
    pub rx_usecs: Option<usize>,
    /// The law of the goal, if it follows one.
    pub goal: Option<Law>,
    /// The law of each bound, if it follows one; may be shorter than the bounds.
    pub bounds: Vec<Option<Law>>,
}

/// A twin of one problem's machine.
#[derive(Debug, Clone)]
pub struct Twin {
    coordinates: Arc<Coordinates>,
    clocked: Vec<Clocked>,
    metrics: BTreeMap<Metric, Modelled>,
}

/// A metric that follows a law.
#[derive(Debug, Clone)]
struct Modelled {
    law: Law,
    prior: Prior,
    trends: Vec<f64>,
    /// Settings that had been tried when it was last looked at.
    seen: usize,
    /// What the last check found.
    trust: Option<Trust>,
}

impl Twin {
    /// The twin of a problem; none where either knob is missing or inactive at some point, or no metric follows a law.
    #[must_use]
    pub fn new(problem: &Problem, roles: &TwinRoles) -> Option<Self> {
        let freqs_khz = numbers(problem, roles.freq?)?;
        let delays_us = numbers(problem, roles.rx_usecs?)?;
        let clocked: Vec<Clocked> = freqs_khz
            .into_iter()
            .zip(delays_us)
            .map(|(freq_khz, delay_us)| Clocked { freq_ghz: freq_khz / KHZ_PER_GHZ, delay_us })
            .collect();
        if clocked.iter().any(|at| at.freq_ghz <= 0.0) {
            return None;
        }
        let mut metrics = BTreeMap::new();
        if let (Some(law), Goal::Measured { trends, prior }) = (roles.goal, &problem.goal) {
            let prior = prior.calibrated(problem.noise.goal);
            metrics.insert(Metric::Goal, Modelled::new(law, prior, trends));
        }
        for (index, (bound, law)) in problem.bounds.iter().zip(&roles.bounds).enumerate() {
            let noise_sd = problem.noise.bounds.get(index).copied().flatten();
            if let Some(law) = *law {
                let prior = bound.prior.calibrated(noise_sd);
                metrics.insert(Metric::Bound(index), Modelled::new(law, prior, &bound.trends));
            }
        }
        let coordinates = Arc::new(Coordinates::new(&problem.space));
        (!metrics.is_empty()).then_some(Self { coordinates, clocked, metrics })
    }

    /// Looks at what a search was told, and puts the twin to the test where it is time to. Cheap when nothing new was tried.
    /// The search's own model stays as it is.
    pub fn follow(&mut self, search: &Search) {
        let metrics: Vec<Metric> = self.metrics.keys().copied().collect();
        for metric in metrics {
            if let Some(start_ln) = search.start_mean(metric) {
                self.look(metric, &search.data(metric), start_ln);
            }
        }
    }

    /// As [`Twin::follow`], for data from anywhere: what should be believed of the metric from now on, or none when that
    /// has not changed.
    pub fn look(&mut self, metric: Metric, data: &Data, start_ln: f64) -> Option<Option<Belief>> {
        let modelled = self.metrics.get(&metric)?;
        let tried = data.tried.len();
        if tried < FIRST_CHECK || tried == modelled.seen {
            return None;
        }
        let due = modelled.trust.is_none() || tried / CHECK_EVERY > modelled.seen / CHECK_EVERY;
        let fitted = self.fit(modelled, data, start_ln);
        let trust = match &modelled.trust {
            Some(trust) if !due => Trust { fitted: fitted.clone(), ..trust.clone() },
            _ => self.check(modelled, data, start_ln, fitted),
        };
        let belief = trust.used.then(|| self.belief(modelled, &trust));
        let was_used = modelled.trust.as_ref().is_some_and(|trust| trust.used);
        let modelled = self.metrics.get_mut(&metric)?;
        (modelled.seen, modelled.trust) = (tried, Some(trust));
        (belief.is_some() || was_used).then_some(belief)
    }

    /// What the last test found; none before 8 settings were tried, and for a metric without a law.
    #[must_use]
    pub fn trust(&self, metric: Metric) -> Option<&Trust> {
        self.metrics.get(&metric)?.trust.as_ref()
    }

    /// The model that the last test chose, fitted to `data`, its intervals widened as that test demands: for telling what
    /// is to be expected at settings nobody measured.
    #[must_use]
    pub fn model(&self, metric: Metric, data: &Data, start_ln: f64) -> Option<Process> {
        let modelled = self.metrics.get(&metric)?;
        let trust = modelled.trust.as_ref()?;
        let process = if trust.used {
            let belief = self.belief(modelled, trust);
            Process::fit(&self.coordinates, &belief.prior, &Mean::Values(belief.mean), data)
        } else {
            self.plain(modelled, data, start_ln)
        };
        Some(process.widened(trust.widening))
    }

    fn fit(&self, modelled: &Modelled, data: &Data, start_ln: f64) -> Fitted {
        let seen: Vec<Seen> =
            data.tried.iter().map(|tried| Seen { at: self.clocked[tried.point], ln_value: tried.mean }).collect();
        Fitted::new(modelled.law, &seen, start_ln)
    }

    fn means(&self, fitted: &Fitted) -> Vec<f64> {
        self.clocked.iter().map(|at| fitted.ln_value(*at)).collect()
    }

    /// Not widened: in a search that only puts off the end. Whether an answer holds is measured there, not predicted.
    fn belief(&self, modelled: &Modelled, trust: &Trust) -> Belief {
        Belief { mean: self.means(&trust.fitted), prior: modelled.around_twin(), widening: 1.0 }
    }

    fn plain(&self, modelled: &Modelled, data: &Data, start_ln: f64) -> Process {
        let mean = modelled.prior.mean(start_ln, &modelled.trends);
        Process::fit(&self.coordinates, &modelled.prior, &mean, data)
    }

    fn check(&self, modelled: &Modelled, data: &Data, start_ln: f64, fitted: Fitted) -> Trust {
        let judge = |train: &Data, left_out: &[usize]| {
            let fitted = self.fit(modelled, train, start_ln);
            let mean = Mean::Values(self.means(&fitted));
            let around = Process::fit(&self.coordinates, &modelled.around_twin(), &mean, train);
            let plain = self.plain(modelled, train, start_ln);
            let point = |place: &usize| data.tried[*place].point;
            let twin = left_out.iter().map(|place| fitted.ln_value(self.clocked[point(place)])).collect();
            let predict = |process: &Process| trust::Fold {
                predictions: left_out.iter().map(|place| process.predict(point(place))).collect(),
                noise_variance: process.noise_variance(start_ln),
            };
            trust::Judged { twin, plain: predict(&plain), both: predict(&around) }
        };
        trust::cross_validate(data, modelled.law, modelled.prior.own_sd, fitted, judge)
    }
}

impl Modelled {
    fn new(law: Law, prior: Prior, trends: &[f64]) -> Self {
        Self { law, prior, trends: trends.to_vec(), seen: 0, trust: None }
    }

    /// What is believed of the surface around the twin: much closer to it than to a level and trends.
    fn around_twin(&self) -> Prior {
        let (level_sd, slope_sd, median) = match self.law {
            Law::Watts => (0.1, 0.1, 0.06),
            Law::Tail { .. } => (0.3, 0.4, 0.4),
        };
        let signal = LogNormal { median, ..self.prior.signal };
        let slope = LogNormal { median: slope_sd, ..self.prior.slope };
        Prior { above_start: 0.0, level_sd, slope, signal, ..self.prior }
    }
}

/// The factor's value at every point; none where it is no number or inactive anywhere.
fn numbers(problem: &Problem, factor: usize) -> Option<Vec<f64>> {
    let FactorKind::Number(values) = &problem.space.factors.get(factor)?.kind else { return None };
    problem.space.points.iter().map(|point| values.get(usize::from((*point.get(factor)?)?)).copied()).collect()
}

#[cfg(test)]
mod tests;
