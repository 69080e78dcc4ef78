//! Surfaces of known truth that need no data: servers drawn from the laws, and what makes life hard for a search.

use powerband_advice::{Factor, FactorKind};
use powerband_stats::{Draws, Purpose};
use powerband_testkit::replay::{FrequencyAxis, ReplayServer, ReplayTable};

/// kHz in a GHz: frequencies are told as cpufreq tells them.
const KHZ_PER_GHZ: f64 = 1e6;

/// Noise of one run: standard deviations of the logarithms of watts and tail.
const NOISE: (f64, f64) = (0.006, 0.01);

/// How much louder the loud ones are.
const LOUD: f64 = 3.0;

/// Height of the sine of a surface made to break the laws, logarithms of watts and tail.
const SINE: (f64, f64) = (0.15, 0.5);

/// What the deeper of two idle states saves and costs, logarithms of watts and tail.
const DEEPER: (f64, f64) = (-0.06, 0.08);

/// Surfaces of one kind.
pub(crate) struct Family {
    /// What they are called together.
    pub(crate) name: &'static str,
    /// The surfaces.
    pub(crate) tables: Vec<ReplayTable>,
}

/// Twelve surfaces in five families.
pub(crate) fn families() -> Vec<Family> {
    let family = |name, numbers: std::ops::Range<u64>, make: fn(u64) -> ReplayTable| Family {
        name,
        tables: numbers.map(make).collect(),
    };
    vec![
        family("laws", 0..4, |number| clocked(number, NOISE)),
        family("loud", 4..6, |number| clocked(number, (LOUD * NOISE.0, LOUD * NOISE.1))),
        family("governors", 6..8, governed),
        family("idle too", 8..10, |number| with_idle(clocked(number, NOISE))),
        family("sine", 10..12, |number| with_sine(clocked(number, NOISE), number)),
    ]
}

fn delays_us() -> Vec<f64> {
    vec![2.0, 10.0, 20.0, 30.0, 40.0, 50.0, 100.0, 200.0, 300.0, 350.0, 400.0]
}

fn server(number: u64) -> ReplayServer {
    ReplayServer::drawn(&mut Draws::new(number, Purpose::Trial, 80, 0))
}

/// A tenth to a half of the settings keep the bound.
fn strictness(number: u64) -> f64 {
    [0.1, 0.3, 0.5][(number % 3) as usize]
}

/// Nine frequencies times eleven delays.
fn clocked(number: u64, noise: (f64, f64)) -> ReplayTable {
    let freqs = FrequencyAxis::Frequencies((0..9).map(|step| 1.3 + 0.2 * f64::from(step)).collect());
    let mut table = server(number).table(&freqs, &delays_us(), noise, strictness(number));
    if let Some(FactorKind::Number(values)) = table.space.factors.first_mut().map(|factor| &mut factor.kind) {
        values.iter_mut().for_each(|value| *value *= KHZ_PER_GHZ);
    }
    table
}

/// Five governors without an order times eleven delays.
fn governed(number: u64) -> ReplayTable {
    let mut freqs = vec![1.2, 1.6, 2.0, 2.4, 2.8];
    Draws::new(number, Purpose::Trial, 81, 0).shuffle(&mut freqs);
    server(number).table(&FrequencyAxis::Governors(freqs), &delays_us(), NOISE, strictness(number))
}

/// Each setting with three idle states allowed: the deeper, the cheaper and slower.
fn with_idle(mut table: ReplayTable) -> ReplayTable {
    let states = 3;
    let factor = Factor { name: "idle".to_owned(), kind: FactorKind::Names(states), switch_s: 0.0 };
    table.space.factors.push(factor);
    let (points, goal, tail) = (table.space.points.clone(), table.goal.clone(), table.tail.clone());
    table.space.points.clear();
    table.goal.clear();
    table.tail.clear();
    for state in 0..states {
        for (index, point) in points.iter().enumerate() {
            let mut point = point.clone();
            point.push(Some(state as u16));
            table.space.points.push(point);
            table.goal.push(goal[index] + DEEPER.0 * state as f64);
            table.tail.push(tail[index] + DEEPER.1 * state as f64);
        }
    }
    table.trends.0.push(-0.3);
    table.trends.1.push(0.3);
    table
}

/// A wave over the frequencies that no law has.
fn with_sine(mut table: ReplayTable, number: u64) -> ReplayTable {
    let phase = Draws::new(number, Purpose::Trial, 82, 0).between(0.0, std::f64::consts::TAU);
    for (index, point) in table.space.points.iter().enumerate() {
        let level = point[0].map_or(0.0, f64::from);
        let wave = (1.5 * std::f64::consts::TAU * level / 8.0 + phase).sin();
        table.goal[index] += SINE.0 * wave;
        table.tail[index] += SINE.1 * wave;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_surface_has_something_to_find() {
        let families = families();
        assert_eq!(families.iter().map(|family| family.tables.len()).sum::<usize>(), 12);
        for family in &families {
            for table in &family.tables {
                let points = table.goal.len();
                let close = (0..points).filter(|point| table.is_close(*point)).count();
                assert!(close > 0 && close * 3 < points, "{}: {close} of {points} are close", family.name);
                assert!(table.best() < table.start.0 - 0.05, "{}: nothing to gain", family.name);
            }
        }
    }
}
