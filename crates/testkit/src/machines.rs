//! Machines by what disturbs them, textbook noise and other: a trial's reading from its number, its setting and the one before.

use std::sync::Arc;

use powerband_stats::noise::{Noise, NoiseStream};
use powerband_stats::{
    Claim, Draws, Error, MetricJudge, Purpose, Rules, Spending, Table, TableLook, TrialTime, open_order, slots,
};

/// A trial's deviation in standard deviations, from its number, its setting and the setting before it.
pub type TrialReading = Box<dyn FnMut(u32, usize, usize, &mut Draws) -> f64>;

/// A new machine, by key.
pub type NewMachine = Box<dyn Fn(u64) -> TrialReading + Send + Sync>;

/// A machine on which settings are compared that differ in nothing, or in what is said.
pub struct DisturbedMachine {
    /// What disturbs it.
    pub name: &'static str,
    /// Settings compared with the reference.
    pub settings: usize,
    /// A new machine, by key.
    pub start: NewMachine,
}

fn machine(
    name: &'static str,
    settings: usize,
    reading: impl Fn(u32, usize, usize, &mut Draws) -> f64 + Copy + Send + Sync + 'static,
) -> DisturbedMachine {
    DisturbedMachine { name, settings, start: Box::new(move |_| Box::new(reading)) }
}

/// Noise of [`Noise::ALL`], in words.
const NAMES: [&str; 12] = [
    "normal",
    "autoregression of 0.7",
    "slope of 0.2 s.d. a trial",
    "step of 5 s.d.",
    "wave of 3 s.d.",
    "Student's t, 3 degrees of freedom",
    "5 % of trials 5 times as wide",
    "5 % spikes of 5 to 10 s.d.",
    "log-normal",
    "two modes",
    "autoregression driven by t",
    "all of these",
];

/// All machines. Of the last three the error rate is known not to hold.
#[must_use]
pub fn all() -> Vec<DisturbedMachine> {
    let broken = [skewed(), after(2.0, 1, "one setting adds 2 s.d. to the next trial, 2 settings"), wanders()];
    named().into_iter().chain(unnamed()).chain(independent()).chain(broken).collect()
}

/// How an experiment on a machine ended.
pub struct DisturbedResult {
    /// Claims by setting, setting 1 first.
    pub claims: Vec<Claim>,
    /// Trials run.
    pub trials: u32,
    /// The last look; none if there were too few blocks.
    pub look: Option<TableLook>,
}

impl DisturbedMachine {
    /// Runs one experiment of at most so many blocks, decided settings leaving; all settings but the reference are `effect`
    /// higher.
    ///
    /// # Errors
    /// As [`MetricJudge::new`] and [`MetricJudge::advance`].
    pub fn experiment(
        &self,
        rules: &Rules,
        spending: &Arc<Spending>,
        blocks: u32,
        effect: f64,
        key: u64,
    ) -> Result<DisturbedResult, Error> {
        let mut draws = Draws::new(key, Purpose::Trial, 7, 0);
        let mut reading = (self.start)(key);
        let mut judge = MetricJudge::new(self.settings, rules.clone(), Arc::clone(spending))?;
        let mut table = Table::new(self.settings);
        let mut open: Vec<usize> = (1..=self.settings).collect();
        let all = slots(1, &open);
        let (mut trials, mut before) = (0, 0);
        for number in 0..blocks {
            let block = table.push_block();
            for slot in open_order(key, number, &all, &slots(1, &open)) {
                let value = reading(trials, slot.setting, before, &mut draws);
                let value = value + if slot.setting > 0 { effect } else { 0.0 };
                table.set_ran(block, slot, value, TrialTime { trial: trials, before: Some(before) })?;
                (trials, before) = (trials + 1, slot.setting);
            }
            match judge.advance(&table) {
                Ok(()) | Err(Error::TooFewBlocks { .. }) => {}
                Err(other) => return Err(other),
            }
            let claims = judge.claims().enumerate();
            open = claims.filter(|(_, claim)| claim.is_open()).map(|(index, _)| index + 1).collect();
            if open.is_empty() {
                break;
            }
        }
        Ok(DisturbedResult { claims: judge.claims().collect(), trials, look: judge.look(&table).ok() })
    }
}

/// Textbook noise.
fn named() -> Vec<DisturbedMachine> {
    let start = |model: Noise| -> NewMachine {
        Box::new(move |key| {
            let mut stream = NoiseStream::new(model, key, 5, 40);
            Box::new(move |trial, _, _, _| stream.at(trial as usize))
        })
    };
    let all = Noise::ALL.into_iter();
    all.zip(NAMES).map(|(model, name)| DisturbedMachine { name, settings: 1, start: start(model) }).collect()
}

fn drifts(per_trial: f64, settings: usize, name: &'static str) -> DisturbedMachine {
    machine(name, settings, move |trial, _, _, draws| draws.normal() + per_trial * f64::from(trial))
}

fn square(period: u32, settings: usize, name: &'static str) -> DisturbedMachine {
    square_from(0, period, settings, name)
}

/// A square wave whose first trial is so many trials after a change down.
fn square_from(first: u32, period: u32, settings: usize, name: &'static str) -> DisturbedMachine {
    let high = move |trial: u32| f64::from(u8::from((first + trial) % period >= period.div_ceil(2)));
    machine(name, settings, move |trial, _, _, draws| draws.normal() + 5.0 * high(trial))
}

/// So many settings from the first are so many times as noisy.
fn noisier(times: f64, noisy: usize, settings: usize, name: &'static str) -> DisturbedMachine {
    machine(name, settings, move |_, setting, _, draws| {
        draws.normal() * if (1..=noisy).contains(&setting) { times } else { 1.0 }
    })
}

/// What was found when the program was tried with noises it had not been made for.
fn unnamed() -> Vec<DisturbedMachine> {
    vec![
        drifts(2.0, 1, "slope of 2 s.d. a trial"),
        drifts(5.0, 1, "slope of 5 s.d. a trial"),
        drifts(20.0, 1, "slope of 20 s.d. a trial"),
        drifts(5.0, 2, "slope of 5 s.d. a trial, 3 settings"),
        drifts(20.0, 5, "slope of 20 s.d. a trial, 6 settings"),
        square(2, 1, "square wave of 2 trials"),
        square(4, 1, "square wave of 4 trials"),
        square_from(1, 4, 1, "square wave of 4 trials that changes inside blocks"),
        square(6, 1, "square wave of 6 trials"),
        square(3, 2, "square wave of 3 trials, 3 settings"),
        square_from(1, 6, 2, "square wave of 6 trials that changes inside blocks, 3 settings"),
        machine("readings in steps of 1 s.d.", 1, |_, _, _, draws| (100.5 + draws.normal()).round()),
        noisier(5.0, 1, 5, "one of 6 settings 5 times as noisy"),
        noisier(10.0, 1, 5, "one of 6 settings 10 times as noisy"),
        noisier(5.0, 3, 5, "three of 6 settings 5 times as noisy"),
        noisier(5.0, 1, 7, "one of 8 settings 5 times as noisy"),
        noisier(10.0, 1, 7, "one of 8 settings 10 times as noisy"),
        noisier(5.0, 4, 7, "four of 8 settings 5 times as noisy"),
        after(2.0, 3, "2 s.d. on the next trial, 4 settings"),
    ]
}

/// The exponential of a normal, less its mean, for one setting: shape 1.
fn skewed() -> DisturbedMachine {
    let mean = libm::exp(0.5);
    machine("one setting skewed, the means alike", 1, move |_, setting, _, draws| {
        if setting == 1 { libm::exp(draws.normal()) - mean } else { draws.normal() }
    })
}

/// One setting changes the trial after it.
fn after(effect: f64, settings: usize, name: &'static str) -> DisturbedMachine {
    let kept = move |before: usize| if before == 1 { effect } else { 0.0 };
    machine(name, settings, move |_, _, before, draws| draws.normal() + kept(before))
}

/// One setting moves by 2 s.d. for tens of trials.
fn wanders() -> DisturbedMachine {
    let start = |_| -> TrialReading {
        let mut state = None;
        Box::new(move |_, setting, _, draws| {
            let last = state.unwrap_or_else(|| draws.normal());
            let now = 0.9 * last + (1.0f64 - 0.81).sqrt() * draws.normal();
            state = Some(now);
            draws.normal() + if setting == 1 { 2.0 * now } else { 0.0 }
        })
    };
    DisturbedMachine {
        name: "one setting wanders alone by 2 s.d. for tens of trials",
        settings: 1,
        start: Box::new(start),
    }
}

/// Two chosen without regard to the method, on which nothing was tuned: flicker noise as the sum of a slow process an octave,
/// and a machine that changes between three levels after heavy-tailed times, with noise skewed to one side.
fn independent() -> Vec<DisturbedMachine> {
    let flicker = |_| -> TrialReading {
        let mut octaves = [0.0f64; 8];
        Box::new(move |trial, _, _, draws| {
            for (place, state) in octaves.iter_mut().enumerate() {
                if trial == 0 || trial.is_multiple_of(1 << place) {
                    *state = draws.normal();
                }
            }
            octaves.iter().sum::<f64>() / 8.0f64.sqrt()
        })
    };
    let levels = |_| -> TrialReading {
        let (mut until, mut level) = (0.0, 0.0);
        Box::new(move |trial, _, _, draws| {
            while f64::from(trial) >= until {
                until += 2.0 * (1.0 - draws.uniform()).powf(-1.0 / 1.2);
                level = (3.0 * draws.uniform()).floor() * 2.5;
            }
            // A sum of two squares of normals is exponential.
            let (a, b) = (draws.normal(), draws.normal());
            0.5 * (a * a + b * b) - 1.0 + level
        })
    };
    let machine = |name, start: fn(u64) -> TrialReading| DisturbedMachine { name, settings: 2, start: Box::new(start) };
    vec![
        machine("flicker noise (1/f), 3 settings", flicker),
        machine("three levels after heavy-tailed times, skewed, 3 settings", levels),
    ]
}
