//! Whether the method keeps its error rate on the trials at hand, and what another way of running would have claimed.

use crate::apart::welch;
use crate::error::Error;
use crate::judge::MetricJudge;
use crate::modes::wilson_interval;
use crate::order::Slot;
use crate::random::{Draws, Purpose};
use crate::rules::Rules;
use crate::spending::Spending;
use crate::table::Table;
use std::sync::Arc;

/// Fewer blocks have too few ways to be labelled.
pub(super) const MIN_BLOCKS: usize = 8;
/// As many blocks as an experiment has that is given no limit.
const MAX_BLOCKS: usize = 30;
/// Level of the test on halves.
const HALVES_LEVEL: f64 = 0.05;

/// How often a difference was claimed where there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FalseAlarmRate {
    /// Share of the runs.
    pub rate: f64,
    /// Its 95 % interval by Wilson's formula, lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Runs.
    pub runs: u32,
}

/// The first half of the trials against the second, as if they were two settings run one after the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HalvesTest {
    /// Two-sided p of Welch's test.
    pub p: f64,
    /// Whether it would have been called a difference at 5 %.
    pub claims: bool,
}

/// The whole sequential procedure on the recorded blocks, the two labels of each drawn anew: they are exchangeable, so
/// every claim is false. The blocks come in an order drawn anew as well: a look at the same three first ones each time would
/// claim in a quarter of the labellings or in none, as they happen to be alike or not. `values` are on the scale of `rules`. None below [`MIN_BLOCKS`] blocks or without runs.
pub(super) fn false_alarm(
    values: &[Vec<f64>],
    rules: &Rules,
    spending: &Arc<Spending>,
    runs: u32,
    seed: u64,
) -> Result<Option<FalseAlarmRate>, Error> {
    let mut pairs: Vec<[f64; 2]> =
        values.iter().filter_map(|block| Some([*block.first()?, *block.get(1)?])).take(MAX_BLOCKS).collect();
    if pairs.len() < MIN_BLOCKS || runs == 0 {
        return Ok(None);
    }
    let mut alarms = 0;
    for run in 0..runs {
        let mut draws = Draws::new(seed, Purpose::Relabel, u64::from(run), 0);
        draws.shuffle(&mut pairs);
        alarms += u64::from(claims(&pairs, rules, spending, &mut draws)?);
    }
    let (low, high) = wilson_interval(alarms, u64::from(runs));
    Ok(Some(FalseAlarmRate { rate: alarms as f64 / f64::from(runs), low, high, runs }))
}

/// Whether the procedure claims a difference under one labelling.
fn claims(pairs: &[[f64; 2]], rules: &Rules, spending: &Arc<Spending>, draws: &mut Draws) -> Result<bool, Error> {
    let mut judge = MetricJudge::new(1, rules.clone(), Arc::clone(spending))?;
    let mut table = Table::new(1);
    for pair in pairs {
        let swapped = usize::from(draws.bits() & 1 == 1);
        let block = table.push_block();
        table.set(block, Slot::first(0), pair[swapped])?;
        table.set(block, Slot::first(1), pair[1 - swapped])?;
        match judge.advance(&table) {
            Ok(()) | Err(Error::TooFewBlocks { .. }) => {}
            Err(other) => return Err(other),
        }
        if let Some(claim) = judge.claims().next().filter(|claim| !claim.is_open()) {
            return Ok(claim.is_difference());
        }
    }
    Ok(false)
}

/// Welch's test of the first half against the second, in the order in which they ran.
pub(super) fn back_to_back(values: &[f64]) -> Option<HalvesTest> {
    let (first, second) = values.split_at(values.len() / 2);
    let p = welch(first, second)?.p_difference();
    Some(HalvesTest { p, claims: p < HALVES_LEVEL })
}
