//! Sixteen synthetic experiments shaped like published ones, and the rules of thumb to race against.

use std::sync::Arc;

use powerband_stats::apart::{mean_and_sd, welch};
use powerband_stats::noise::Noise;
use powerband_stats::{Claim, Error, Rules, Scale, Spending};
use serde::{Deserialize, Serialize};

use crate::formula::{Formula, Limits, race_to_verdict, run_seed};

mod alike;

pub use alike::two_alike;

/// An experiment whose truth is known. All in log per cent: effects against the reference, noise of a trial, margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownExperiment {
    /// Its name.
    pub name: &'static str,
    /// Effect of each setting besides the reference.
    pub effects: &'static [f64],
    /// Standard deviation of a trial.
    pub noise_sd: f64,
    /// Margin below which settings count as the same.
    pub margin: f64,
}

const fn experiment(name: &'static str, effects: &'static [f64], noise_sd: f64, margin: f64) -> KnownExperiment {
    KnownExperiment { name, effects, noise_sd, margin }
}

/// The sixteen.
pub const EXPERIMENTS: [KnownExperiment; 16] = [
    experiment("router", &[-44.0, -18.0, -5.5, -0.4], 1.5, 3.0),
    experiment("4 frequencies", &[-12.0, -25.0, -41.0], 1.7, 3.0),
    experiment("counter 7", &[-12.0, -25.0, -41.0, 0.0, 0.0, -41.0], 1.7, 3.0),
    experiment("4 governors", &[0.0, 0.0, -6.0], 1.0, 3.0),
    experiment("noisy governors", &[0.0, 0.0, -6.0], 2.0, 4.0),
    experiment("5 governors", &[0.0, 0.0, 0.0, -25.0], 1.2, 3.0),
    experiment("11 levels", &[0.0, -1.0, -3.0, -5.0, -7.0, -9.0, -11.0, -12.0, -14.0, -15.0], 0.8, 2.5),
    experiment("ping", &[-50.0, -100.0], 6.0, 10.0),
    experiment("iperf", &[8.0, -10.0], 2.0, 4.0),
    experiment("10 monotone", &[-6.0, -12.0, -18.0, -24.0, -30.0, -36.0, -42.0, -48.0, -54.0], 1.5, 3.0),
    experiment("4 alike", &[0.0, 0.0, 0.0], 1.0, 3.0),
    experiment("8 alike", &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 1.5, 3.0),
    experiment("two 3 %", &[3.0], 2.0, 3.0),
    experiment("two 10 %", &[10.0], 3.0, 5.0),
    experiment("one of six", &[0.0, 0.0, 0.0, 0.0, 5.0], 1.2, 3.0),
    experiment("quiet watts", &[0.0, -2.0, -4.0], 0.3, 1.0),
];

/// The five noises of the race.
pub const NOISES: [Noise; 5] = [Noise::Gauss, Noise::Ar, Noise::Sine, Noise::T3, Noise::Contam];

/// Trials a setting gets from who repeats everything ten times.
pub const TEN: usize = 10;
/// Blocks after which the race is over.
pub const BUDGET_BLOCKS: u32 = 30;
/// Trials of the reference before block 1, counted among ours.
pub const WARM_UP_TRIALS: u32 = 1;

impl KnownExperiment {
    /// The machine it runs on.
    #[must_use]
    pub fn formula(&self, noise: Noise) -> Formula {
        let levels = std::iter::once(0.0).chain(self.effects.iter().copied()).collect();
        Formula::new(levels, self.noise_sd, noise)
    }

    /// The true answer for each setting: a difference from 0.9 margins on, else the same.
    pub fn truth(&self) -> impl Iterator<Item = Claim> + '_ {
        self.effects.iter().map(|effect| {
            if effect.abs() < 0.9 * self.margin {
                Claim::Same
            } else if *effect > 0.0 {
                Claim::Higher
            } else {
                Claim::Lower
            }
        })
    }

    /// Trials of ten each.
    #[must_use]
    pub fn ten_each(&self) -> usize {
        TEN * (self.effects.len() + 1)
    }
}

/// A way to come to verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Contender {
    /// Ours at its stated 5 %.
    Ours,
    /// Ours, fewer trials at a higher error rate ([`Rules::quick`]).
    OursQuick,
    /// Ten runs each, back to back, Welch's test at 5 %: different when significant, else taken for the same.
    TenWelch,
    /// Ten runs each, read by eye: different when the ratio of the means, plus or minus its one standard deviation as
    /// hyperfine prints it, leaves out 1.
    TenByEye,
    /// Three to twelve runs each until they look steady, read by eye: different beyond half a margin.
    SteadyByEye,
    /// The same runs, Welch's test at 5 %.
    SteadyWelch,
}

impl Contender {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Ours, Self::OursQuick, Self::TenWelch, Self::TenByEye, Self::SteadyByEye, Self::SteadyWelch];

    /// A label for a table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours, 5 %",
            Self::OursQuick => "ours, quick",
            Self::TenWelch => "ten each + Welch",
            Self::TenByEye => "hyperfine by eye",
            Self::SteadyByEye => "phoronix by eye",
            Self::SteadyWelch => "phoronix + Welch",
        }
    }
}

/// How a contender measures and what it makes of that.
#[derive(Debug, Clone, PartialEq)]
pub enum Procedure {
    /// Blocks, judged after each by these rules; scale and margin are the experiment's.
    Blocks(Rules),
    /// So many runs of each setting, back to back.
    Repeats(usize, RaceReading),
    /// Three to twelve runs of each setting, back to back, until they look steady.
    Steady(RaceReading),
}

/// What is made of runs back to back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RaceReading {
    /// Different by Welch's test at 5 %, else the same.
    Welch,
    /// Different when the ratio of the means, plus or minus its one standard deviation, leaves out 1.
    OneDeviation,
    /// Different beyond half a margin.
    HalfMargin,
}

impl Contender {
    /// How it measures and decides.
    #[must_use]
    pub fn procedure(self) -> Procedure {
        match self {
            Self::Ours => Procedure::Blocks(Rules::default()),
            Self::OursQuick => Procedure::Blocks(Rules::quick()),
            Self::TenWelch => Procedure::Repeats(TEN, RaceReading::Welch),
            Self::TenByEye => Procedure::Repeats(TEN, RaceReading::OneDeviation),
            Self::SteadyByEye => Procedure::Steady(RaceReading::HalfMargin),
            Self::SteadyWelch => Procedure::Steady(RaceReading::Welch),
        }
    }
}

/// Counts over the runs of one experiment, or of several added up.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Score {
    /// Experiments run.
    pub runs: u32,
    /// Experiments with any wrong verdict.
    pub runs_wrong: u32,
    /// Verdicts asked for.
    pub settings: u32,
    /// Verdicts that were wrong; undecided is not.
    pub settings_wrong: u32,
    /// Settings left undecided.
    pub undecided: u32,
    /// Trials used.
    pub trials: u64,
    /// Trials ten each would have used.
    pub ten_each: u64,
}

impl Score {
    /// Trials over those of ten each.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.trials as f64 / (self.ten_each as f64).max(1.0)
    }

    /// Wrong verdicts in per cent of settings.
    #[must_use]
    pub fn wrong_settings_percent(&self) -> f64 {
        100.0 * f64::from(self.settings_wrong) / f64::from(self.settings.max(1))
    }

    /// Experiments with a wrong verdict, in per cent.
    #[must_use]
    pub fn wrong_runs_percent(&self) -> f64 {
        100.0 * f64::from(self.runs_wrong) / f64::from(self.runs.max(1))
    }

    /// Undecided settings in per cent.
    #[must_use]
    pub fn undecided_percent(&self) -> f64 {
        100.0 * f64::from(self.undecided) / f64::from(self.settings.max(1))
    }

    /// Adds another experiment's counts.
    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.runs_wrong += other.runs_wrong;
        self.settings += other.settings;
        self.settings_wrong += other.settings_wrong;
        self.undecided += other.undecided;
        self.trials += other.trials;
        self.ten_each += other.ten_each;
    }

    fn enter(&mut self, experiment: &KnownExperiment, claims: &[Claim], trials: usize) {
        let mut wrong = 0;
        for (claim, truth) in claims.iter().zip(experiment.truth()) {
            self.undecided += u32::from(claim.is_open());
            let right = *claim == truth || truth == Claim::Same && claim.is_same();
            wrong += u32::from(!claim.is_open() && !right);
        }
        self.runs += 1;
        self.runs_wrong += u32::from(wrong > 0);
        self.settings += experiment.effects.len() as u32;
        self.settings_wrong += wrong;
        self.trials += trials as u64;
        self.ten_each += experiment.ten_each() as u64;
    }
}

/// Races a way to verdicts over `runs` runs of experiment number `index` under a noise.
///
/// # Errors
/// As [`race_to_verdict`].
pub fn score(
    procedure: &Procedure,
    index: usize,
    noise: Noise,
    spending: &Arc<Spending>,
    runs: u32,
    seed: u64,
) -> Result<Score, Error> {
    let experiment = &EXPERIMENTS[index % EXPERIMENTS.len()];
    let formula = experiment.formula(noise);
    let mut score = Score::default();
    for run in 0..runs {
        let seed = run_seed(seed, (index as u64) << 8 | noise as u64, u64::from(run));
        let (claims, trials) = match procedure {
            Procedure::Blocks(rules) => ours(rules.clone(), experiment, &formula, spending, seed)?,
            Procedure::Repeats(most, reading) => {
                back_to_back(*reading, experiment, &formula, seed, *most, |values| values.len() >= *most)
            }
            Procedure::Steady(reading) => back_to_back(*reading, experiment, &formula, seed, MAX_STEADY, looks_steady),
        };
        score.enter(experiment, &claims, trials);
    }
    Ok(score)
}

fn ours(
    rules: Rules,
    experiment: &KnownExperiment,
    formula: &Formula,
    spending: &Arc<Spending>,
    seed: u64,
) -> Result<(Vec<Claim>, usize), Error> {
    let rules = Rules { scale: Scale::Linear, margin: experiment.margin, ..rules };
    let limits = Limits { blocks: BUDGET_BLOCKS, warm_up: WARM_UP_TRIALS, seed };
    let ended = race_to_verdict(formula, &rules, spending, limits)?;
    Ok((ended.claims, ended.trials))
}

/// Runs of the settings one after the other until each is `enough`, and what a reader makes of them.
fn back_to_back(
    reading: RaceReading,
    experiment: &KnownExperiment,
    formula: &Formula,
    seed: u64,
    most: usize,
    enough: impl Fn(&[f64]) -> bool,
) -> (Vec<Claim>, usize) {
    // A step in the noise falls somewhere within the longest that this may take, or within ten each.
    let mut bench = formula.start(seed, (most.max(TEN) * formula.levels.len()) as u32);
    let samples = repeated(formula.levels.len(), &mut |setting| bench.trial(setting), enough);
    let claims = samples[1..].iter().map(|sample| read(reading, experiment, &samples[0], sample)).collect();
    (claims, bench.trials())
}

/// Runs of each setting, one after the other, until each is `enough`.
fn repeated(settings: usize, trial: &mut dyn FnMut(usize) -> f64, enough: impl Fn(&[f64]) -> bool) -> Vec<Vec<f64>> {
    let mut of = |setting| {
        let mut values = Vec::new();
        while !enough(&values) {
            values.push(trial(setting));
        }
        values
    };
    (0..settings).map(&mut of).collect()
}

const MIN_STEADY: usize = 3;
const MAX_STEADY: usize = 12;
/// A standard deviation of 3.5 % of the mean, which in log per cent it is.
const STEADY_SD: f64 = 3.5;
const STEADY_OUTLIER_SDS: f64 = 3.0;

/// Three runs, more while they vary by 3.5 % or hold a value beyond three standard deviations, twelve at most.
fn looks_steady(values: &[f64]) -> bool {
    if values.len() < MIN_STEADY {
        return false;
    }
    let (mean, sd) = mean_and_sd(values);
    let outlier = values.iter().any(|v| (v - mean).abs() > STEADY_OUTLIER_SDS * sd);
    values.len() >= MAX_STEADY || sd < STEADY_SD && !outlier
}

const PEER_LEVEL: f64 = 0.05;

fn read(reading: RaceReading, experiment: &KnownExperiment, reference: &[f64], sample: &[f64]) -> Claim {
    let ((mean_r, sd_r), (mean_s, sd_s)) = (mean_and_sd(reference), mean_and_sd(sample));
    let effect = mean_s - mean_r;
    let different = match reading {
        RaceReading::OneDeviation => effect * effect > sd_r * sd_r + sd_s * sd_s,
        RaceReading::HalfMargin => effect.abs() > 0.5 * experiment.margin,
        RaceReading::Welch => welch(sample, reference).is_some_and(|apart| apart.p_difference() < PEER_LEVEL),
    };
    match (different, effect > 0.0) {
        (false, _) => Claim::Same,
        (true, true) => Claim::Higher,
        (true, false) => Claim::Lower,
    }
}
