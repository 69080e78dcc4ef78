//! Two settings that differ in nothing, on a machine that is any function.

use std::sync::Arc;

use powerband_stats::{Claim, Error, MetricJudge, Rules, Scale, Slot, Spending, Table, TrialTime, open_order, slots};

use super::{BUDGET_BLOCKS, KnownExperiment, Procedure, TEN, WARM_UP_TRIALS, looks_steady, read, repeated};

/// Compares two settings of which `trial` gives the values, in log per cent: what is claimed of the second, and the trials used.
///
/// # Errors
/// As [`MetricJudge::new`] and [`MetricJudge::look`].
pub fn two_alike(
    procedure: &Procedure,
    margin: f64,
    spending: &Arc<Spending>,
    seed: u64,
    trial: &mut dyn FnMut(usize) -> f64,
) -> Result<(Claim, usize), Error> {
    let experiment = KnownExperiment { name: "alike", effects: &[0.0], noise_sd: 1.0, margin };
    let samples = match procedure {
        Procedure::Blocks(rules) => {
            let rules = Rules { scale: Scale::Linear, margin, ..rules.clone() };
            return blocks(rules, spending, seed, trial);
        }
        Procedure::Repeats(most, _) => repeated(2, trial, |values| values.len() >= *most),
        Procedure::Steady(_) => repeated(2, trial, looks_steady),
    };
    let (Procedure::Repeats(_, reading) | Procedure::Steady(reading)) = procedure else {
        return Ok((Claim::Open, TEN));
    };
    Ok((read(*reading, &experiment, &samples[0], &samples[1]), samples.iter().map(Vec::len).sum()))
}

/// Blocks of both settings until that is decided, or the blocks are used up.
fn blocks(
    rules: Rules,
    spending: &Arc<Spending>,
    seed: u64,
    trial: &mut dyn FnMut(usize) -> f64,
) -> Result<(Claim, usize), Error> {
    let mut judge = MetricJudge::new(1, rules, Arc::clone(spending))?;
    let mut table = Table::new(1);
    let slots = slots(1, &[1]);
    let (mut trials, mut before) = (0, None);
    let mut one = |slot: Slot| {
        let ran = TrialTime { trial: trials, before };
        (trials, before) = (trials + 1, Some(slot.setting));
        (trial(slot.setting), ran)
    };
    for _ in 0..WARM_UP_TRIALS {
        one(Slot::first(0));
    }
    for number in 0..BUDGET_BLOCKS {
        let block = table.push_block();
        for slot in open_order(seed, number, &slots, &slots) {
            let (value, ran) = one(slot);
            table.set_ran(block, slot, value, ran)?;
        }
        match judge.advance(&table) {
            Ok(()) | Err(Error::TooFewBlocks { .. }) => {}
            Err(other) => return Err(other),
        }
        if judge.claims().all(|claim| !claim.is_open()) {
            break;
        }
    }
    let claim = judge.claims().next().unwrap_or(Claim::Open);
    Ok((claim, table.trials() + WARM_UP_TRIALS as usize))
}
