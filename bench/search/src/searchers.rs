//! Who takes part in the race: ours, and other ways to choose settings, which answer with the
//! cheapest run seen that kept the bound.

use anyhow::{Result, anyhow};
use powerband_advice::Candidate;
use powerband_stats::{Draws, Purpose};
use powerband_testkit::replay::{Played, ReplayTable};
use std::collections::BTreeSet;

use crate::optuna::Peer;

/// Settings a naive search may try, the start among them.
pub(crate) const BUDGET: usize = 40;

/// Runs after which a naive search that proposes what it knows is given up.
const MAX_RUNS: usize = 3 * BUDGET;

/// What a naive search came to; settings counted with the start as the first.
#[derive(Debug, Clone)]
pub(crate) struct Naive {
    pub(crate) tried: Option<usize>,
    pub(crate) picked: Option<usize>,
    pub(crate) answer: Option<usize>,
    /// Regret (logarithm) of the answer after each setting tried.
    pub(crate) regret: Vec<f64>,
}

/// Every setting in random order.
pub(crate) fn random(table: &ReplayTable, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..table.goal.len()).collect();
    Draws::new(seed, Purpose::Trial, 4, 0).shuffle(&mut order);
    order
}

/// A grid of even steps through the list that fills the budget, begun at a random place.
pub(crate) fn grid(table: &ReplayTable, seed: u64) -> Vec<usize> {
    let points = table.goal.len();
    let count = (BUDGET - 1).min(points);
    let first = Draws::new(seed, Purpose::Trial, 5, 0).below(points as u64) as usize;
    (0..count).map(|step| (first + step * points / count) % points).collect()
}

/// How far an answer lies above the best; one that breaks the bound is worth no more than the start.
fn regret(table: &ReplayTable, answer: Option<usize>) -> f64 {
    let kept = answer.filter(|point| table.tail[*point] <= table.limit);
    (kept.map_or(table.start.0, |point| table.goal[point]) - table.best()).max(0.0)
}

/// A naive search under way.
struct Naively<'a> {
    table: &'a ReplayTable,
    noise: Draws,
    louder: f64,
    cheapest: f64,
    seen: BTreeSet<usize>,
    naive: Naive,
}

impl<'a> Naively<'a> {
    /// Begins with the start.
    fn new(table: &'a ReplayTable, seed: u64, louder: f64) -> Self {
        let mut noise = Draws::new(seed, Purpose::Noise, 1, 0);
        let cheapest = table.run(Candidate::Start, &mut noise, louder).0;
        let naive = Naive { tried: None, picked: None, answer: None, regret: vec![regret(table, None)] };
        Self { table, noise, louder, cheapest, seen: BTreeSet::new(), naive }
    }

    /// Runs a setting; a known one counts again, but not as tried.
    fn run(&mut self, point: usize) -> (f64, f64) {
        let (goal, tail) = self.table.run(Candidate::Point(point), &mut self.noise, self.louder);
        self.seen.insert(point);
        let count = self.seen.len() + 1;
        let naive = &mut self.naive;
        naive.tried = naive.tried.or(self.table.is_close(point).then_some(count));
        if tail <= self.table.limit && goal < self.cheapest {
            self.cheapest = goal;
            naive.answer = Some(point);
        }
        let close = naive.answer.is_some_and(|answer| self.table.is_close(answer));
        naive.picked = naive.picked.or(close.then_some(count));
        let now = regret(self.table, naive.answer);
        naive.regret.truncate(count - 1);
        naive.regret.push(now);
        (goal, tail)
    }

    fn goes_on(&self, runs: usize) -> bool {
        runs < MAX_RUNS && self.seen.len() + 1 < BUDGET && self.seen.len() < self.table.goal.len()
    }
}

/// Plays settings in an order fixed beforehand.
pub(crate) fn play(table: &ReplayTable, order: &[usize], seed: u64, louder: f64) -> Naive {
    let mut naively = Naively::new(table, seed, louder);
    for point in order.iter().take(BUDGET - 1) {
        naively.run(*point);
    }
    naively.naive
}

/// Plays what Optuna asks for. A combination the machine does not have is sent to the nearest, by levels.
pub(crate) fn play_optuna(peer: &mut Peer, table: &ReplayTable, seed: u64, louder: f64) -> Result<Naive> {
    let mut naively = Naively::new(table, seed, louder);
    peer.open(seed, &table.space.factors).map_err(|words| anyhow!(words))?;
    let mut runs = 0;
    while naively.goes_on(runs) {
        let levels = peer.ask().map_err(|words| anyhow!(words))?;
        let (goal, tail) = naively.run(nearest(table, &levels));
        peer.tell(goal, &[tail - table.limit]).map_err(|words| anyhow!(words))?;
        runs += 1;
    }
    Ok(naively.naive)
}

fn nearest(table: &ReplayTable, levels: &[usize]) -> usize {
    let away = |point: &Vec<Option<u16>>| -> usize {
        let pairs = point.iter().zip(levels);
        pairs.map(|(have, want)| have.map_or(1, |have| usize::from(have).abs_diff(*want).pow(2))).sum()
    };
    (0..table.space.points.len()).min_by_key(|point| away(&table.space.points[*point])).unwrap_or(0)
}

/// Plays ours; next to what it came to, the regret after each setting tried.
pub(crate) fn play_ours(table: &ReplayTable, seed: u64, louder: f64, safe: Option<f64>) -> Result<(Played, Vec<f64>)> {
    let mut problem = table.problem(seed);
    problem.safe = safe;
    let mut trace = Vec::new();
    let played = table.play_followed(problem, louder, |search, tried| {
        trace.truncate(tried - 1);
        trace.push(regret(table, search.incumbent()));
    })?;
    Ok((played, trace))
}
