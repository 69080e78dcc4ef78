//! Twelve models of what measurements do when nothing changes: for tests, the simulator's dial, and races.

use crate::random::{Draws, Purpose};
use serde::{Deserialize, Serialize};

/// A noise model. Standard deviation 1 unless its words say otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Noise {
    /// Independent normal.
    Gauss,
    /// First-order autoregression, 0.7 between neighbouring trials.
    Ar,
    /// Normal on a slope of 0.2 a trial.
    Linear,
    /// Normal with a step of 5 at a random trial.
    Step,
    /// Normal on a wave of amplitude 3 and a period between 8 and 60 trials.
    Sine,
    /// Student's t with 3 degrees of freedom, scaled to standard deviation 1.
    T3,
    /// Normal, 5 % of the trials 5 times as wide.
    Contam,
    /// Normal, 5 % of the trials 5 to 10 higher.
    Spike,
    /// Log-normal of shape 0.75, centred and scaled to standard deviation 1.
    LogNormal,
    /// Normal of standard deviation 0.5 around 0 (70 % of the trials) or 3 (30 %).
    Bimodal,
    /// Autoregression of 0.7 driven by t with 3 degrees of freedom.
    ArT3,
    /// `ArT3` with 5 % spikes of 5, a slope of 0.1 a trial and a wave of amplitude 2.
    All,
}

impl Noise {
    /// All of them, in the order of their figures.
    pub const ALL: [Self; 12] = [
        Self::Gauss,
        Self::Ar,
        Self::Linear,
        Self::Step,
        Self::Sine,
        Self::T3,
        Self::Contam,
        Self::Spike,
        Self::LogNormal,
        Self::Bimodal,
        Self::ArT3,
        Self::All,
    ];

    /// Its short name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gauss => "gauss",
            Self::Ar => "ar0.7",
            Self::Linear => "linear",
            Self::Step => "step",
            Self::Sine => "sine",
            Self::T3 => "t3",
            Self::Contam => "contam",
            Self::Spike => "spike",
            Self::LogNormal => "lognorm",
            Self::Bimodal => "bimodal",
            Self::ArT3 => "ar+t3",
            Self::All => "all",
        }
    }
}

/// One machine's noise over its trials: the value of a trial depends on the key and the trial's number alone, never on
/// which others were asked for.
#[derive(Debug, Clone)]
pub struct NoiseStream {
    model: Noise,
    seed: u64,
    stream: u64,
    /// Values so far, by trial; the autoregression needs every earlier one.
    values: Vec<f64>,
    carried: f64,
    period: f64,
    phase: f64,
    step_at: f64,
    draws: Draws,
}

const AUTOREGRESSION: f64 = 0.7;
const OUTLIER_SHARE: f64 = 0.05;
const LOG_NORMAL_SHAPE: f64 = 0.75;

impl NoiseStream {
    /// The noise keyed by (`seed`, `stream`). A step falls somewhere in the first `horizon` trials.
    #[must_use]
    pub fn new(model: Noise, seed: u64, stream: u64, horizon: u32) -> Self {
        let mut draws = Draws::new(seed, Purpose::Noise, stream, u64::MAX);
        let period = draws.between(8.0, 60.0);
        let phase = draws.between(0.0, 2.0 * std::f64::consts::PI);
        let step_at = draws.between(0.0, f64::from(horizon.max(1)));
        let carried = if model == Noise::Ar { draws.normal() } else { t3(&mut draws) };
        let draws = Draws::new(seed, Purpose::Noise, stream, 0);
        Self { model, seed, stream, values: Vec::new(), carried, period, phase, step_at, draws }
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> Noise {
        self.model
    }

    /// The key it was made with.
    #[must_use]
    pub fn key(&self) -> (u64, u64) {
        (self.seed, self.stream)
    }

    /// The noise of a trial, counted from 0.
    pub fn at(&mut self, trial: usize) -> f64 {
        while self.values.len() <= trial {
            let next = self.draw(self.values.len() as f64);
            self.values.push(next);
        }
        self.values[trial]
    }

    fn draw(&mut self, trial: f64) -> f64 {
        let draws = &mut self.draws;
        match self.model {
            Noise::Gauss => draws.normal(),
            Noise::Ar => {
                let fresh = draws.normal();
                autoregress(&mut self.carried, fresh)
            }
            Noise::Linear => draws.normal() + 0.2 * trial,
            Noise::Step => draws.normal() + if trial >= self.step_at { 5.0 } else { 0.0 },
            Noise::Sine => draws.normal() + 3.0 * self.wave(trial),
            Noise::T3 => t3(draws),
            Noise::Contam => {
                let wide = draws.uniform() < OUTLIER_SHARE;
                draws.normal() * if wide { 5.0 } else { 1.0 }
            }
            Noise::Spike => {
                let up = draws.uniform() < OUTLIER_SHARE;
                let height = draws.between(5.0, 10.0);
                draws.normal() + if up { height } else { 0.0 }
            }
            Noise::LogNormal => {
                let square = libm::exp(LOG_NORMAL_SHAPE * LOG_NORMAL_SHAPE);
                let sd = (square * (square - 1.0)).sqrt();
                (libm::exp(LOG_NORMAL_SHAPE * draws.normal()) - square.sqrt()) / sd
            }
            Noise::Bimodal => {
                let slow = draws.uniform() < 0.3;
                0.5 * draws.normal() + if slow { 3.0 } else { 0.0 }
            }
            Noise::ArT3 => {
                let fresh = t3(draws);
                autoregress(&mut self.carried, fresh)
            }
            Noise::All => {
                let fresh = t3(draws);
                let spike = if draws.uniform() < OUTLIER_SHARE { 5.0 } else { 0.0 };
                let carried = autoregress(&mut self.carried, fresh);
                carried + spike + 0.1 * trial + 2.0 * self.wave(trial)
            }
        }
    }

    fn wave(&self, trial: f64) -> f64 {
        libm::sin(2.0 * std::f64::consts::PI * trial / self.period + self.phase)
    }
}

/// Student's t with 3 degrees of freedom over its standard deviation, the root of 3.
fn t3(draws: &mut Draws) -> f64 {
    let z = draws.normal();
    let (a, b, c) = (draws.normal(), draws.normal(), draws.normal());
    z / (a * a + b * b + c * c).sqrt()
}

fn autoregress(carried: &mut f64, fresh: f64) -> f64 {
    *carried = AUTOREGRESSION * *carried + (1.0 - AUTOREGRESSION * AUTOREGRESSION).sqrt() * fresh;
    *carried
}
