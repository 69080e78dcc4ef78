//! Whole experiments on arithmetic: a trial is its setting's level plus noise. Thousands run in a second, so error
//! rates and machine time can be measured instead of argued.

use std::sync::Arc;

use powerband_stats::noise::{Noise, NoiseStream};
use powerband_stats::{
    Claim, Draws, Error, MetricJudge, Purpose, Rules, Scale, Slot, Spending, Table, TrialTime, block_order, open_order,
    slots,
};

/// A machine that is a formula.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    /// Level of each setting on the scale of the differences; the reference first.
    pub levels: Vec<f64>,
    /// Standard deviation each setting gives the noise, which itself has about 1; the reference first.
    pub noise_sd: Vec<f64>,
    /// The noise.
    pub noise: Noise,
    /// Share of the previous trial's level that a trial keeps.
    pub carry_over: f64,
}

impl Formula {
    /// All settings equally noisy, nothing carried over.
    #[must_use]
    pub fn new(levels: Vec<f64>, noise_sd: f64, noise: Noise) -> Self {
        let noise_sd = vec![noise_sd; levels.len()];
        Self { levels, noise_sd, noise, carry_over: 0.0 }
    }

    /// Settings besides the reference.
    #[must_use]
    pub fn settings(&self) -> usize {
        self.levels.len().saturating_sub(1)
    }

    /// Sits down at it, with the noise of `seed`; a step in the noise falls within `horizon` trials.
    #[must_use]
    pub fn start(&self, seed: u64, horizon: u32) -> MeasuredFormula<'_> {
        MeasuredFormula {
            formula: self,
            noise: NoiseStream::new(self.noise, seed, 0, horizon),
            trials: 0,
            before: None,
        }
    }
}

/// A formula being measured, trial after trial.
#[derive(Debug, Clone)]
pub struct MeasuredFormula<'a> {
    formula: &'a Formula,
    noise: NoiseStream,
    trials: usize,
    before: Option<usize>,
}

impl MeasuredFormula<'_> {
    /// Runs one trial of a setting and gives its value on the scale of the differences.
    pub fn trial(&mut self, setting: usize) -> f64 {
        let Formula { levels, noise_sd, carry_over, .. } = self.formula;
        let level = levels[setting];
        let before = self.before.map_or(level, |before| levels[before]);
        let value = level + carry_over * (before - level) + noise_sd[setting] * self.noise.at(self.trials);
        self.trials += 1;
        self.before = Some(setting);
        value
    }

    /// Trials run.
    #[must_use]
    pub fn trials(&self) -> usize {
        self.trials
    }

    /// Runs the trials of one block in the order of (`seed`, block) and enters them as raw values for `scale`.
    ///
    /// # Errors
    /// As [`Table::set`].
    pub fn block(&mut self, table: &mut Table, seed: u64, slots: &[Slot], scale: Scale) -> Result<(), Error> {
        let order = block_order(seed, table.blocks() as u32, slots);
        self.ordered(table, order, scale)
    }

    /// Runs the trials of one block in this order and enters them as raw values for `scale`.
    ///
    /// # Errors
    /// As [`Table::set`].
    pub fn ordered(&mut self, table: &mut Table, order: Vec<Slot>, scale: Scale) -> Result<(), Error> {
        let block = table.push_block();
        for slot in order {
            let ran = TrialTime { trial: self.trials as u32, before: self.before };
            let value = self.trial(slot.setting);
            let raw = if scale == Scale::Log { libm::exp(value) } else { value };
            table.set_ran(block, slot, raw, ran)?;
        }
        Ok(())
    }
}

/// How an experiment on a formula ended.
#[derive(Debug, Clone, PartialEq)]
pub struct FormulaResult {
    /// Claims by setting, setting 1 first.
    pub claims: Vec<Claim>,
    /// Blocks run when each setting was claimed; none for those left open.
    pub decided_after: Vec<Option<u32>>,
    /// Blocks run.
    pub blocks: u32,
    /// Trials run, warm-up included.
    pub trials: usize,
    /// All that was measured.
    pub table: Table,
}

/// How far an experiment on a formula may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most blocks.
    pub blocks: u32,
    /// Trials of the reference run before block 1 and not used.
    pub warm_up: u32,
    /// Key of the order and of the noise.
    pub seed: u64,
}

/// Runs an experiment to its end: blocks of the open settings and the reference, a look after each, decided settings
/// leaving, until nothing is open or the blocks are used up.
///
/// # Errors
/// As [`MetricJudge::new`] and [`MetricJudge::look`].
pub fn race_to_verdict(
    formula: &Formula,
    rules: &Rules,
    spending: &Arc<Spending>,
    limits: Limits,
) -> Result<FormulaResult, Error> {
    let m = formula.settings();
    let horizon = limits.blocks * (m + 1) as u32;
    let mut bench = formula.start(limits.seed, horizon);
    let mut judge = MetricJudge::new(m, rules.clone(), Arc::clone(spending))?;
    let mut table = Table::new(m);
    for _ in 0..limits.warm_up {
        bench.trial(0);
    }
    let mut open: Vec<usize> = (1..=m).collect();
    let all = slots(1, &open);
    let mut decided_after = vec![None; m];
    let mut blocks = 0;
    while blocks < limits.blocks && !open.is_empty() {
        let slots = slots(1, &open);
        bench.ordered(&mut table, open_order(limits.seed, blocks, &all, &slots), rules.scale)?;
        blocks += 1;
        match judge.advance(&table) {
            Ok(()) => {
                open.clear();
                for (index, claim) in judge.claims().enumerate() {
                    if claim.is_open() {
                        open.push(index + 1);
                    } else {
                        decided_after[index].get_or_insert(blocks);
                    }
                }
            }
            // Not yet at the first look, or the first block was dropped.
            Err(Error::TooFewBlocks { .. }) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(FormulaResult { claims: judge.claims().collect(), decided_after, blocks, trials: bench.trials(), table })
}

/// A seed for run number `run` of case `case`, so that no two simulated experiments share their noise.
#[must_use]
pub fn run_seed(seed: u64, case: u64, run: u64) -> u64 {
    Draws::new(seed, Purpose::Trial, case, run).bits()
}
