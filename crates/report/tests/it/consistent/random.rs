//! Random small experiments on arithmetic: settings, metrics, noise, margins, limits and knees drawn from a seed.
use powerband_experiment::{FormulaBench, run};
use powerband_record::{Better, Event, Metric, Outcome, PlannedTrial, Requirement, Started, Void};
use powerband_stats::{Draws, Purpose};

use crate::journals;

const SECOND: u64 = 1_000_000_000;

/// What can be measured: name, whether more is better, level, and whether it counts events that seldom come.
const METRICS: [(&str, bool, f64, bool); 4] = [
    ("rate_mbit_s", true, 94.0, false),
    ("power_w", false, 3.5, false),
    ("p99_us", false, 412.0, false),
    ("drops", false, 1.0, true),
];

/// Draws of a seed, one after the other.
struct Dice {
    draws: Draws,
}

impl Dice {
    fn new(seed: u64) -> Self {
        Dice { draws: Draws::new(seed, Purpose::Trial, 0, 0) }
    }

    /// From 0 to below `most`.
    fn below(&mut self, most: usize) -> usize {
        (self.draws.uniform() * most as f64) as usize % most
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn chance(&mut self, share: f64) -> bool {
        self.draws.uniform() < share
    }
}

/// A plan over so many settings, and its metrics.
fn plan(settings: usize, metrics: Vec<Metric>) -> Started {
    let labels: Vec<(String, String)> =
        (0..settings).map(|at| (format!("s{at}"), format!("freq={}MHz", 100 * (at + 1)))).collect();
    let labels: Vec<(&str, &str)> = labels.iter().map(|(label, turns)| (&**label, &**turns)).collect();
    let (settle_ns, load) = (0, serde_json::json!({"kind": "idle"}));
    Started { settle_ns, load, ..journals::started("sim:formula", &labels, metrics) }
}

/// What a plan measures of each metric: its level, whether it is a count, which is whole and often none, its noise, and its
/// factor at each setting.
struct Measure {
    level: f64,
    counts: bool,
    sigma: f64,
    factors: Vec<f64>,
}

/// Runs a plan.
fn measured(started: &Started, measures: &[Measure], failing: Option<u32>) -> Vec<Event> {
    let mut bench = FormulaBench::new(SECOND, |trial: &PlannedTrial| {
        if failing == Some(trial.setting) {
            return Err(Void::LoadFailed { why: "it does not run here".into() });
        }
        let mut draws = Draws::new(started.seed, Purpose::Noise, u64::from(trial.trial), 0);
        let mut outcome = Outcome::default();
        for (metric, of) in started.metrics.iter().zip(measures) {
            let (level, noise) = (of.level * of.factors[trial.setting as usize], draws.normal());
            let count = (level + 1.5 * noise).max(0.0).floor();
            let value = if of.counts { count } else { level * (of.sigma * noise).exp() };
            outcome.metrics.insert(metric.name.clone(), value);
        }
        Ok(outcome)
    });
    let mut journal = Vec::new();
    run(started, &mut bench, &mut journal).unwrap();
    journal
}

fn named(name: &str, higher: bool, judged: bool) -> Metric {
    let better = if higher { Better::Higher } else { Better::Lower };
    Metric { name: name.into(), better, judged, boundary: None }
}

/// One experiment of a seed.
pub(crate) fn experiment(seed: u64) -> Vec<Event> {
    let mut dice = Dice::new(seed);
    let settings = 2 + dice.below(5);
    let mut known = METRICS.to_vec();
    let asked = 1 + dice.below(3);
    let chosen: Vec<_> = (0..asked).map(|_| known.remove(dice.below(known.len()))).collect();
    let judged: Vec<bool> = (0..asked).map(|place| place == 0 || dice.chance(0.7)).collect();
    let metric = |((name, higher, level, counts), judged)| (named(name, higher, judged), level, counts);
    let mut metrics: Vec<(Metric, f64, bool)> = chosen.into_iter().zip(judged).map(metric).collect();
    metrics.sort_by_key(|(metric, ..)| !metric.judged);
    let margin = dice.one(&[0.005, 0.01, 0.02, 0.05, 0.1]);
    let sigmas: Vec<f64> = metrics.iter().map(|_| margin * dice.one(&[0.05, 0.1, 0.3, 0.6, 1.5])).collect();
    let steps = [0.0, 0.0, 0.5, -0.5, 0.9, -0.9, 1.2, -1.2, 3.0, -3.0, 10.0, -10.0];
    let falling = dice.chance(0.3);
    let mut measures = Vec::new();
    for ((_, level, counts), sigma) in metrics.iter().zip(sigmas) {
        let factor = |at: usize| {
            let step = if falling { -dice.one(&[0.0, 0.3, 2.0, 5.0]) * at as f64 } else { dice.one(&steps) };
            if at == 0 { 1.0 } else { (step * margin).exp() }
        };
        let factors = (0..settings).map(factor).collect();
        measures.push(Measure { level: *level, counts: *counts, sigma, factors });
    }
    let mut started = plan(settings, metrics.iter().map(|(metric, ..)| metric.clone()).collect());
    (started.seed, started.margin, started.max_blocks) = (seed, margin, dice.one(&[4, 8, 12, 16, 24]));
    started.robust = dice.chance(0.1);
    if dice.chance(0.4) && !started.robust && !metrics[0].2 {
        // The reference is the costliest, or it is the cheapest.
        started.cost_order = (0..u32::try_from(settings).unwrap()).collect();
        if dice.chance(0.8) {
            started.cost_order.reverse();
        }
    }
    if dice.chance(0.4) && !started.robust {
        let (metric, level, _) = &metrics[dice.below(metrics.len())];
        let relation = if dice.chance(0.5) { "<=" } else { ">=" };
        let limit = match dice.chance(0.5) {
            true => format!("{:+}%", 100.0 * margin * dice.one(&[-2.0, 1.0, 3.0])),
            false => format!("{}", level * (1.0 + margin * dice.one(&[-4.0, 0.1, 4.0]))),
        };
        started.requirements = vec![Requirement::parse(&format!("{}{relation}{limit}", metric.name)).unwrap()];
    }
    let failing = dice.chance(0.05).then(|| u32::try_from(1 + dice.below(settings - 1)).unwrap());
    measured(&started, &measures, failing.filter(|_| settings > 2))
}

/// An experiment of known factors by setting: metrics as name, whether more is better, and noise; at most two of them.
pub(crate) fn made(metrics: &[(&str, bool, f64)], factors: &[[f64; 2]]) -> Vec<Event> {
    let all = metrics.iter().map(|(name, higher, _)| named(name, *higher, true)).collect();
    let started = Started { margin: 0.01, ..plan(factors.len(), all) };
    let measure = |(place, (_, _, sigma)): (usize, &(&str, bool, f64))| {
        let factors = factors.iter().map(|of| of[place]).collect();
        Measure { level: 100.0, counts: false, sigma: *sigma, factors }
    };
    measured(&started, &metrics.iter().enumerate().map(measure).collect::<Vec<_>>(), None)
}
