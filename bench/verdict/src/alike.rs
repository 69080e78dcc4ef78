//! Two settings that differ in nothing (or whose means do not), under noises that rules of thumb were not made for: how often each
//! method calls them different, and for how many trials.

use powerband_stats::noise::NoiseStream;
use powerband_stats::{Draws, Error, Purpose, Spending};
use powerband_testkit::formula::run_seed;
use powerband_testkit::race::{Contender, NOISES, two_alike};
use serde::Serialize;
use std::sync::Arc;

/// Standard deviation of a trial and margin, in log per cent.
const NOISE_SD: f64 = 1.5;
const MARGIN: f64 = 3.0;

/// What one method made of one noise.
#[derive(Debug, Serialize)]
pub(crate) struct Cell {
    pub(crate) noise: &'static str,
    pub(crate) method: &'static str,
    pub(crate) false_percent: f64,
    pub(crate) trials: f64,
}

/// A trial's deviation in standard deviations, from its number, its setting and the setting before it.
type Reading = fn(usize, usize, usize, &mut Draws) -> f64;

/// Disturbances by name, in addition to the noises of the race.
const NAMED: [(&str, Reading); 7] = [
    ("square wave of 2 trials", |trial, _, _, draws| draws.normal() + 5.0 * (trial % 2) as f64),
    ("slope of 5 s.d. a trial", |trial, _, _, draws| draws.normal() + 5.0 * trial as f64),
    ("2 s.d. on the next trial", |_, _, before, draws| draws.normal() + if before == 1 { 2.0 } else { 0.0 }),
    ("one bimodal, the means alike", |_, setting, _, draws| {
        let mode = if draws.uniform() < 0.3 { 2.1 } else { -0.9 };
        if setting == 1 { 0.5 * draws.normal() + mode } else { draws.normal() }
    }),
    ("5 % spikes, the means alike", |_, setting, _, draws| {
        let spike = if draws.uniform() < 0.05 { 19.0 } else { -1.0 };
        draws.normal() + if setting == 1 { spike } else { 0.0 }
    }),
    ("readings in steps of 1 s.d.", |_, _, _, draws| (100.5 + draws.normal()).round()),
    ("one 5 times as noisy", |_, setting, _, draws| draws.normal() * if setting == 1 { 5.0 } else { 1.0 }),
];

/// Every method under every noise, so many runs of each from a seed.
pub(crate) fn cells(runs: u32, seed: u64, spending: &Arc<Spending>) -> Result<Vec<Cell>, Error> {
    let mut cells = Vec::new();
    for place in 0..NOISES.len() + NAMED.len() {
        for contender in Contender::ALL {
            let (mut different, mut trials) = (0, 0);
            for run in 0..runs {
                let key = run_seed(seed, 1000 + place as u64, u64::from(run));
                let mut machine = machine(place, key);
                let (claim, used) = two_alike(&contender.procedure(), MARGIN, spending, key, &mut machine)?;
                different += u32::from(claim.is_difference());
                trials += used;
            }
            cells.push(Cell {
                noise: NOISES.get(place).map_or_else(|| NAMED[place - NOISES.len()].0, |noise| noise.name()),
                method: contender.name(),
                false_percent: 100.0 * f64::from(different) / f64::from(runs.max(1)),
                trials: trials as f64 / f64::from(runs.max(1)),
            });
        }
    }
    Ok(cells)
}

/// A new machine under a noise.
fn machine(place: usize, key: u64) -> Box<dyn FnMut(usize) -> f64> {
    let (mut trial, mut before) = (0, 0);
    let mut draws = Draws::new(key, Purpose::Trial, 7, 0);
    let mut stream = NOISES.get(place).map(|noise| NoiseStream::new(*noise, key, 0, 20));
    Box::new(move |setting| {
        let value = match &mut stream {
            Some(stream) => stream.at(trial),
            None => NAMED[place - NOISES.len()].1(trial, setting, before, &mut draws),
        };
        (trial, before) = (trial + 1, setting);
        NOISE_SD * value
    })
}

/// The table: a line a noise, two columns a method.
pub(crate) fn lines(cells: &[Cell]) -> Vec<String> {
    let methods = Contender::ALL.map(Contender::name);
    let head: String = methods.map(|name| format!("{name:>20}")).concat();
    let mut lines = vec![
        "two settings alike: called different in % of experiments, and mean trials".to_owned(),
        format!("{:30}{head}", "noise"),
    ];
    for row in cells.chunks(methods.len()) {
        let cell = |cell: &Cell| format!("{:>12.1} {:>7.1}", cell.false_percent, cell.trials);
        let noise = row.first().map_or("", |cell| cell.noise);
        lines.push(format!("{noise:30}{}", row.iter().map(cell).collect::<String>()));
    }
    lines
}
