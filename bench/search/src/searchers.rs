//! Other ways to choose settings, and how they answer: the cheapest run seen that kept the bound.

use powerband_advice::Who;
use powerband_advice::replay::Table;
use powerband_stats::{Draws, Purpose};

/// Settings a naive search may try, the start among them.
pub(crate) const BUDGET: usize = 40;

/// What a naive search came to; settings counted with the start as the first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Naive {
    pub(crate) tried: Option<usize>,
    pub(crate) picked: Option<usize>,
    pub(crate) answer: Option<usize>,
}

/// Every setting in random order.
pub(crate) fn random(table: &Table, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..table.goal.len()).collect();
    Draws::new(seed, Purpose::Trial, 4, 0).shuffle(&mut order);
    order
}

/// A grid of even steps through the list that fills the budget, begun at a random place.
pub(crate) fn grid(table: &Table, seed: u64) -> Vec<usize> {
    let points = table.goal.len();
    let count = (BUDGET - 1).min(points);
    let first = Draws::new(seed, Purpose::Trial, 5, 0).below(points as u64) as usize;
    (0..count).map(|step| (first + step * points / count) % points).collect()
}

/// Plays settings in an order fixed beforehand.
pub(crate) fn play(table: &Table, order: &[usize], seed: u64, louder: f64) -> Naive {
    let mut noise = Draws::new(seed, Purpose::Noise, 1, 0);
    let mut naive = Naive { tried: None, picked: None, answer: None };
    let mut cheapest = table.run(Who::Start, &mut noise, louder).0;
    for (point, count) in order.iter().take(BUDGET - 1).zip(2..) {
        let (goal, tail) = table.run(Who::Point(*point), &mut noise, louder);
        naive.tried = naive.tried.or(table.is_close(*point).then_some(count));
        if tail <= table.limit && goal < cheapest {
            cheapest = goal;
            naive.answer = Some(*point);
        }
        let close = naive.answer.is_some_and(|answer| table.is_close(answer));
        naive.picked = naive.picked.or(close.then_some(count));
    }
    naive
}
