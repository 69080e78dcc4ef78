//! Surfaces of known truth for sweeps: drawn at random in five families, or read from tables of runs.
use std::collections::BTreeMap;
use std::path::Path;

use powerband_advice::{Bound, Candidate, Factor, FactorKind, Goal, Prior, Problem, RunNoise, Space};
use powerband_stats::{Draws, Purpose};
use powerband_testkit::replay::{FrequencyAxis, ReplayServer};

/// A machine whose truth is known. All values are natural logarithms.
#[derive(Debug, Clone)]
pub(crate) struct Surface {
    pub(crate) space: Space,
    pub(crate) goal: Vec<f64>,
    pub(crate) tail: Vec<f64>,
    pub(crate) start: (f64, f64),
    /// Residuals of one run, goal and tail together, of each setting; the start's are the last.
    residuals: Vec<Vec<(f64, f64)>>,
    pub(crate) limit: f64,
    trends: (Vec<f64>, Vec<f64>),
}

impl Surface {
    pub(crate) fn problem(&self, seed: u64) -> Problem {
        let goal = Goal::Measured { trends: self.trends.0.clone(), prior: Prior::watts() };
        let bound = Bound { limit: self.limit, above_start: None, trends: self.trends.1.clone(), prior: Prior::tail() };
        let (space, noise) = (self.space.clone(), RunNoise::default());
        Problem { space, start: None, goal, bounds: vec![bound], safe: None, seed, noise }
    }

    /// Goal and tail of one run.
    pub(crate) fn run(&self, candidate: Candidate, random: &mut Draws) -> (f64, f64) {
        let (at, (goal, tail)) = match candidate {
            Candidate::Start => (self.goal.len(), self.start),
            Candidate::Point(point) => (point, (self.goal[point], self.tail[point])),
        };
        let own = &self.residuals[at];
        let (goal_off, tail_off) = own[random.below(own.len() as u64) as usize];
        (goal + goal_off, tail + tail_off)
    }

    /// Standard deviation of the tail of one run.
    pub(crate) fn tail_sd(&self, point: usize) -> f64 {
        let own = &self.residuals[point];
        (own.iter().map(|(_, tail)| tail * tail).sum::<f64>() / own.len() as f64).sqrt()
    }

    /// The least goal that keeps the limit with room for `deviations` of a run's noise; the start's if it keeps the limit.
    pub(crate) fn best(&self, deviations: f64) -> f64 {
        let keeps = |point: &usize| self.tail[*point] + deviations * self.tail_sd(*point) <= self.limit;
        let settings = (0..self.goal.len()).filter(keeps).map(|point| self.goal[point]);
        settings.chain(self.start_keeps().then_some(self.start.0)).fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn start_keeps(&self) -> bool {
        self.start.1 <= self.limit
    }

    /// Normal residuals; the standard deviation of a tail grows with the power `steepness` of its distance from the middle.
    fn with_noise(mut self, random: &mut Draws, steepness: f64) -> Self {
        let mut sorted = self.tail.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted[sorted.len() / 2];
        let tails = self.tail.iter().chain(std::iter::once(&self.start.1));
        let sds = tails.map(|tail| (0.01 * (steepness * (tail - middle)).exp()).clamp(0.003, 0.15));
        let own = |sd: f64| (0..60).map(|_| (0.01 * random.normal(), sd * random.normal())).collect();
        self.residuals = sds.map(own).collect();
        self
    }
}

/// The families of random surfaces.
pub(crate) const FAMILIES: [&str; 5] = ["law", "gp", "step", "wave", "valley"];

const DELAYS_US: [f64; 11] = [2.0, 10.0, 20.0, 30.0, 50.0, 100.0, 150.0, 200.0, 250.0, 300.0, 400.0];

/// A smooth random function of two places: a sum of waves whose frequencies are normal.
fn smooth(random: &mut Draws, length: f64, sd: f64) -> impl Fn(f64, f64) -> f64 + use<> {
    let terms = 40;
    let waves: Vec<[f64; 3]> = (0..terms)
        .map(|_| [random.normal() / length, random.normal() / length, std::f64::consts::TAU * random.uniform()])
        .collect();
    let scale = sd * (2.0 / f64::from(terms)).sqrt();
    move |u, v| scale * waves.iter().map(|[a, b, phase]| (a * u + b * v + phase).cos()).sum::<f64>()
}

/// What a goal is made of, over two places from 0 to 1.
fn goal_of(family: &str, random: &mut Draws) -> Box<dyn Fn(f64, f64) -> f64> {
    let mut between = |low: f64, high: f64| low + (high - low) * random.uniform();
    match family {
        "step" => {
            let (a, b, mirrored) = (between(0.3, 0.7), between(0.3, 0.7), between(0.0, 1.0) < 0.5);
            Box::new(move |u, v| {
                let v_high = (v > b) != mirrored;
                let cell = match (u > a, v_high) {
                    (true, true) => -0.15,
                    (false, false) => 0.0,
                    _ => 0.2,
                };
                cell + 0.05 * u
            })
        }
        "wave" => {
            let (depth, first, phase) =
                (between(0.1, 0.2), between(0.0, 1.0) < 0.5, between(0.0, std::f64::consts::TAU));
            let period = between(2.9, 9.0) / if first { 8.0 } else { 10.0 };
            Box::new(move |u, v| {
                let at = if first { u } else { v };
                0.3 * u + depth * (std::f64::consts::TAU * at / period + phase).sin()
            })
        }
        "valley" => {
            let (angle, shift, width) = (between(0.3, 2.8), between(-0.25, 0.25), between(0.1, 0.25));
            Box::new(move |u, v| {
                let (along, across) = (u - 0.5, v - 0.5);
                let off = (along * angle.cos() + across * angle.sin() - shift) / width;
                let run = across * angle.cos() - along * angle.sin();
                0.35 * (1.0 - (-0.5 * off * off).exp()) + 0.15 * run
            })
        }
        _ => {
            let (length, sd) = (between(0.15, 0.5), between(0.1, 0.2));
            let bends = smooth(random, length, sd);
            Box::new(move |u, v| 0.2 * u + bends(u, v))
        }
    }
}

/// A surface of a family, 9 by 11 settings, 1 % of noise and a random limit.
pub(crate) fn drawn(family: &str, seed: u64, steepness: f64) -> Surface {
    let place = FAMILIES.iter().position(|name| *name == family).unwrap_or(0) as u64;
    let mut random = Draws::new(seed, Purpose::Trial, 40 + place, 0);
    let strict = 0.3 + 0.6 * random.uniform();
    let freqs: Vec<f64> = (0..9).map(|step| 1.2 + 0.2 * f64::from(step)).collect();
    let server = ReplayServer::drawn(&mut random);
    let table = server.table(&FrequencyAxis::Frequencies(freqs), &DELAYS_US, (0.01, 0.01), strict);
    let (mut goal, mut tail, mut start, mut limit) = (table.goal, table.tail, table.start, table.limit);
    if family != "law" {
        let (of, bends) = (goal_of(family, &mut random), smooth(&mut random, 0.5, 0.15));
        let places: Vec<(f64, f64)> = (0..99).map(|at| ((at / 11) as f64 / 8.0, (at % 11) as f64 / 10.0)).collect();
        goal = places.iter().map(|(u, v)| 4.2 + of(*u, *v)).collect();
        tail = places.iter().map(|(u, v)| 5.0 - 0.8 * u + 0.8 * v + bends(*u, *v)).collect();
        let mut sorted = tail.clone();
        sorted.sort_by(f64::total_cmp);
        limit = sorted[((0.4 + 0.6 * strict) * 98.0) as usize] + 0.002;
        start = (goal.iter().sum::<f64>() / 99.0 + 0.1, limit - 0.3);
    }
    let space = table.space;
    Surface { space, goal, tail, start, residuals: Vec::new(), limit, trends: table.trends }
        .with_noise(&mut random, steepness)
}

/// How a table becomes a surface.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// What it is called.
    pub(crate) name: &'static str,
    /// The file, relative to the folder of tables.
    pub(crate) file: &'static str,
    /// The knobs' columns.
    pub(crate) knobs: &'static [&'static str],
    pub(crate) limit: Limit,
    /// Factor on all noise.
    pub(crate) louder: f64,
}

/// Where the limit of a table lies.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    /// In µs.
    Us(f64),
    /// So many of its own standard deviations above the tail of the cheapest setting that keeps a limit in µs.
    Edge(f64, f64),
    /// So many standard deviations above the lowest tail of all, the start's included.
    Lowest(f64),
}

type Rows = BTreeMap<Option<Vec<u32>>, Vec<(f64, f64)>>;

/// Rows of a table by setting; none is the start. A delay of 1 µs means adaptive, and two knobs are searched uncapped.
fn rows(folder: &Path, reading: &Reading) -> Rows {
    let text = std::fs::read_to_string(folder.join(reading.file)).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| header.iter().position(|other| *other == name);
    let (watts, p99) = (column("watts").unwrap(), column("p99_us").unwrap());
    let mut rows = Rows::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].parse::<f64>().unwrap();
        let values = (number(watts).ln(), number(p99).ln());
        if cells[0] == "default" {
            rows.entry(None).or_default().push(values);
            continue;
        }
        let capped = column("cap_w").is_some_and(|cap| number(cap) < 135.0) && !reading.knobs.contains(&"cap_w");
        let adaptive = column("cap_w").is_some() && number(column("rx_usecs").unwrap()) < 2.0;
        if !capped && !adaptive {
            let at = reading.knobs.iter().map(|knob| number(column(knob).unwrap()) as u32).collect();
            rows.entry(Some(at)).or_default().push(values);
        }
    }
    rows
}

fn mean(runs: &[(f64, f64)]) -> (f64, f64) {
    let count = runs.len() as f64;
    (runs.iter().map(|run| run.0).sum::<f64>() / count, runs.iter().map(|run| run.1).sum::<f64>() / count)
}

/// A table as a surface: truth is the mean of a setting's rows, noise its own rows' residuals where there are four.
pub(crate) fn read(folder: &Path, reading: &Reading) -> Surface {
    let rows = rows(folder, reading);
    let residuals = |runs: &Vec<(f64, f64)>| -> Vec<(f64, f64)> {
        let (centre, count) = (mean(runs), runs.len() as f64);
        let wide = reading.louder * (count / (count - 1.0).max(1.0)).sqrt();
        runs.iter().map(|run| (wide * (run.0 - centre.0), wide * (run.1 - centre.1))).collect()
    };
    let pooled: Vec<(f64, f64)> = rows.values().filter(|runs| runs.len() >= 4).flat_map(&residuals).collect();
    let own = |runs: &Vec<(f64, f64)>| if runs.len() >= 4 { residuals(runs) } else { pooled.clone() };
    let at: Vec<&Vec<u32>> = rows.keys().flatten().collect();
    let levels = |axis: usize| {
        let mut values: Vec<u32> = at.iter().map(|at| at[axis]).collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    let levels: Vec<Vec<u32>> = (0..reading.knobs.len()).map(levels).collect();
    let factor = |(name, values): (&&str, &Vec<u32>)| Factor {
        name: (*name).to_owned(),
        kind: FactorKind::Number(values.iter().map(|value| f64::from(*value)).collect()),
        switch_s: 0.0,
    };
    let place = |(value, values): (&u32, &Vec<u32>)| values.binary_search(value).ok().map(|level| level as u16);
    let trend = |knob: &&str| match *knob {
        "freq_khz" => (1.0, -1.0),
        "rx_usecs" => (-0.3, 1.0),
        "cap_w" => (0.3, -0.3),
        _ => (0.0, 0.0),
    };
    let means: Vec<(f64, f64)> = rows.iter().filter(|(at, _)| at.is_some()).map(|(_, runs)| mean(runs)).collect();
    let settings = rows.iter().filter(|(at, _)| at.is_some()).map(|(_, runs)| own(runs));
    let mut surface = Surface {
        space: Space {
            factors: reading.knobs.iter().zip(&levels).map(factor).collect(),
            points: at.iter().map(|at| at.iter().zip(&levels).map(place).collect()).collect(),
        },
        goal: means.iter().map(|mean| mean.0).collect(),
        tail: means.iter().map(|mean| mean.1).collect(),
        start: mean(&rows[&None]),
        residuals: settings.chain(std::iter::once(own(&rows[&None]))).collect(),
        limit: 0.0,
        trends: (
            reading.knobs.iter().map(|k| trend(k).0).collect(),
            reading.knobs.iter().map(|k| trend(k).1).collect(),
        ),
    };
    surface.limit = limit(&surface, reading.limit);
    surface
}

fn limit(surface: &Surface, limit: Limit) -> f64 {
    let points = || 0..surface.goal.len();
    match limit {
        Limit::Us(us) => us.ln(),
        Limit::Edge(deviations, us) => {
            let keeps = points().filter(|point| surface.tail[*point] <= us.ln());
            let best = keeps.min_by(|a, b| surface.goal[*a].total_cmp(&surface.goal[*b])).unwrap();
            surface.tail[best] + deviations * surface.tail_sd(best)
        }
        Limit::Lowest(deviations) => {
            let lowest = points().min_by(|a, b| surface.tail[*a].total_cmp(&surface.tail[*b])).unwrap();
            surface.tail[lowest].min(surface.start.1) + deviations * surface.tail_sd(lowest)
        }
    }
}

const TWO: &[&str] = &["freq_khz", "rx_usecs"];
const THREE: &[&str] = &["freq_khz", "rx_usecs", "cap_w"];

const fn reading(name: &'static str, file: &'static str, limit: Limit) -> Reading {
    Reading { name, file, knobs: TWO, limit, louder: 1.0 }
}

/// The tables of runs.
pub(crate) const fn readings() -> [Reading; 24] {
    const QUIET: &str = "keyvalue-200k.csv";
    const BUSY: &str = "keyvalue-600k.csv";
    let us = Limit::Us(500.0);
    [
        reading("200k-2", QUIET, us),
        Reading { knobs: THREE, ..reading("200k-3", QUIET, us) },
        Reading { louder: 5.0, ..reading("200k-x5", QUIET, us) },
        reading("200k-edge", QUIET, Limit::Edge(0.5, 300.0)),
        reading("600k-2", BUSY, us),
        Reading { knobs: THREE, ..reading("600k-3", BUSY, us) },
        Reading { louder: 5.0, ..reading("600k-x5", BUSY, us) },
        Reading { louder: 5.0, knobs: THREE, ..reading("600k-3-x5", BUSY, us) },
        reading("600k-edge", BUSY, Limit::Edge(0.5, 500.0)),
        reading("600k-lowest", BUSY, Limit::Lowest(-1.0)),
        reading("600k-none", BUSY, Limit::Us(90.0)),
        reading("corner-hi", "synthetic/corner-hi.csv", us),
        reading("corner-lo", "synthetic/corner-lo.csv", Limit::Us(150.0)),
        reading("flat", "synthetic/flat.csv", us),
        reading("flat2", "synthetic/flat2.csv", Limit::Us(150.0)),
        reading("infeas", "synthetic/infeas.csv", Limit::Us(25.0)),
        reading("interact", "synthetic/interact.csv", Limit::Us(150.0)),
        reading("noise5", "synthetic/noise5.csv", us),
        reading("noise10", "synthetic/noise10.csv", us),
        Reading { knobs: &["freq_khz", "rx_usecs", "zzz"], ..reading("nothing", "synthetic/nothing.csv", us) },
        reading("sine", "synthetic/sine.csv", us),
        reading("spike", "synthetic/spike.csv", Limit::Us(150.0)),
        reading("startbest", "synthetic/startbest.csv", us),
        reading("xor", "synthetic/xor.csv", Limit::Us(150.0)),
    ]
}
