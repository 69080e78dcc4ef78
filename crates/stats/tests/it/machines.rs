//! Machines whose noise is no model of a textbook, by name: what a trial reads from its number, its setting and the one before.

use powerband_stats::Draws;
use powerband_stats::noise::{Noise, NoiseStream};

/// A trial's deviation in standard deviations, from its number, its setting and the setting before it.
pub(crate) type Reading = Box<dyn FnMut(u32, usize, usize, &mut Draws) -> f64>;

/// A machine on which settings are compared that differ in nothing, or in what is said.
pub(crate) struct Machine {
    /// What disturbs it.
    pub(crate) name: &'static str,
    /// Settings compared with the reference.
    pub(crate) settings: usize,
    /// Where the error rate is known not to hold: the share of experiments with a false difference, in percent, that is not
    /// to be exceeded.
    pub(crate) known: Option<f64>,
    /// A new machine, by key.
    pub(crate) start: Box<dyn Fn(u64) -> Reading>,
}

fn machine(
    name: &'static str,
    settings: usize,
    reading: impl Fn(u32, usize, usize, &mut Draws) -> f64 + Copy + 'static,
) -> Machine {
    Machine { name, settings, known: None, start: Box::new(move |_| Box::new(reading)) }
}

/// The noises that were always named.
pub(crate) fn named() -> Vec<Machine> {
    let start = |model: Noise| -> Box<dyn Fn(u64) -> Reading> {
        Box::new(move |key| {
            let mut stream = NoiseStream::new(model, key, 5, 40);
            Box::new(move |trial, _, _, _| stream.at(trial as usize))
        })
    };
    let all = Noise::ALL.into_iter();
    all.map(|model| Machine { name: model.name(), settings: 1, known: None, start: start(model) }).collect()
}

fn drifts(per_trial: f64, settings: usize, name: &'static str) -> Machine {
    machine(name, settings, move |trial, _, _, draws| draws.normal() + per_trial * f64::from(trial))
}

fn square(period: u32, settings: usize, name: &'static str) -> Machine {
    square_from(0, period, settings, name)
}

/// A square wave whose first trial is so many trials after a change down.
fn square_from(first: u32, period: u32, settings: usize, name: &'static str) -> Machine {
    let high = move |trial: u32| f64::from(u8::from((first + trial) % period >= period.div_ceil(2)));
    machine(name, settings, move |trial, _, _, draws| draws.normal() + 5.0 * high(trial))
}

/// So many settings from the first are so many times as noisy.
fn noisier(times: f64, noisy: usize, settings: usize, name: &'static str) -> Machine {
    machine(name, settings, move |_, setting, _, draws| {
        draws.normal() * if (1..=noisy).contains(&setting) { times } else { 1.0 }
    })
}

/// What was found when the program was tried with noises it had not been made for.
pub(crate) fn unnamed() -> Vec<Machine> {
    vec![
        drifts(2.0, 1, "2 s.d. a trial"),
        drifts(5.0, 1, "5 s.d. a trial"),
        drifts(20.0, 1, "20 s.d. a trial"),
        drifts(5.0, 2, "5 s.d. a trial, 3 settings"),
        drifts(20.0, 5, "20 s.d. a trial, 6 settings"),
        square(2, 1, "square wave of 2 trials"),
        square(4, 1, "square wave of 4 trials"),
        square_from(1, 4, 1, "square wave of 4 trials that changes inside blocks"),
        square(6, 1, "square wave of 6 trials"),
        square(3, 2, "square wave of 3 trials, 3 settings"),
        square_from(1, 6, 2, "square wave of 6 trials, 3 settings"),
        machine("in steps of 1 s.d.", 1, |_, _, _, draws| (100.5 + draws.normal()).round()),
        noisier(5.0, 1, 5, "one of 5 settings 5 times as noisy"),
        noisier(10.0, 1, 5, "one of 5 settings 10 times as noisy"),
        noisier(5.0, 3, 5, "three of 5 settings 5 times as noisy"),
        noisier(5.0, 1, 7, "one of 7 settings 5 times as noisy"),
        noisier(10.0, 1, 7, "one of 7 settings 10 times as noisy"),
        noisier(5.0, 4, 7, "four of 7 settings 5 times as noisy"),
        Machine { known: Some(14.0), ..skewed() },
        Machine { known: Some(19.0), ..after(2.0, 1, "2 s.d. on the next trial") },
        after(2.0, 3, "2 s.d. on the next trial, 4 settings"),
        Machine { known: Some(50.0), ..wanders() },
    ]
}

/// The exponential of a normal, less its mean, for one setting: shape 1.
fn skewed() -> Machine {
    let mean = libm::exp(0.5);
    machine(
        "one setting skewed",
        1,
        move |_, setting, _, draws| {
            if setting == 1 { libm::exp(draws.normal()) - mean } else { draws.normal() }
        },
    )
}

/// One setting changes the trial after it.
fn after(effect: f64, settings: usize, name: &'static str) -> Machine {
    let kept = move |before: usize| if before == 1 { effect } else { 0.0 };
    machine(name, settings, move |_, _, before, draws| draws.normal() + kept(before))
}

/// One setting moves by 2 s.d. for tens of trials.
fn wanders() -> Machine {
    let start = |_| -> Reading {
        let mut state = None;
        Box::new(move |_, setting, _, draws| {
            let last = state.unwrap_or_else(|| draws.normal());
            let now = 0.9 * last + (1.0f64 - 0.81).sqrt() * draws.normal();
            state = Some(now);
            draws.normal() + if setting == 1 { 2.0 * now } else { 0.0 }
        })
    };
    Machine { name: "one setting wanders alone", settings: 1, known: None, start: Box::new(start) }
}

/// Two chosen without regard to the method, on which nothing was tuned: flicker noise as the sum of a slow process an octave,
/// and a machine that changes between three levels after heavy-tailed times, with noise skewed to one side.
pub(crate) fn independent() -> Vec<Machine> {
    let flicker = |_| -> Reading {
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
    let levels = |_| -> Reading {
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
    let machine = |name, start: fn(u64) -> Reading| Machine { name, settings: 2, known: None, start: Box::new(start) };
    vec![machine("flicker noise", flicker), machine("three levels, skewed", levels)]
}
