//! What a trial keeps of the setting before it: the order of the trials, and how much of an effect they carry over.
use powerband_record::Metric;
use powerband_stats::{CarryOver, Rules, Slot, Table, carry_over};

/// Looked for up to so many trials: what carries over is seen by then, and looking takes time with every trial there is.
const LOOKED_FOR_TRIALS: usize = 2000;

/// The valid trials of every block in the order they ran.
#[derive(Debug, Default)]
pub(crate) struct Order {
    blocks: Vec<Vec<Slot>>,
}

impl Order {
    /// A new block begins.
    pub(crate) fn begin_block(&mut self) {
        self.blocks.push(Vec::new());
    }

    /// Forgets what a block that was not finished has brought.
    pub(crate) fn keep_blocks(&mut self, blocks: u32) {
        self.blocks.truncate(blocks as usize);
    }

    /// A valid trial.
    pub(crate) fn take(&mut self, slot: Slot) {
        self.blocks.last_mut().into_iter().for_each(|block| block.push(slot));
    }

    /// How much carries over between the trials of a table; `latest` where that is not looked for.
    pub(crate) fn carried(&self, table: &Table, rules: &Rules, latest: Option<CarryOver>) -> Option<CarryOver> {
        if table.trials() > LOOKED_FOR_TRIALS {
            return latest;
        }
        carry_over(table, &self.blocks, rules).ok().flatten()
    }
}

/// What is reported of a carry-over that holds "same" back.
pub(crate) fn note(metric: &Metric, carried: CarryOver) -> String {
    format!(
        "{}: a trial keeps {:.0} % ({:.0} .. {:.0}) of the setting before it, so differences read too small and no setting is \
         called the same; a longer --settle would separate them",
        metric.name,
        100.0 * carried.share,
        100.0 * carried.low,
        100.0 * carried.high
    )
}
