//! Small tables to test on.

use powerband_stats::{Rules, Scale, Slot, Spending, Table};
use std::sync::{Arc, LazyLock};

/// One set of boundaries for all tests.
pub(crate) fn spending() -> Arc<Spending> {
    static SPENDING: LazyLock<Arc<Spending>> = LazyLock::new(Arc::default);
    Arc::clone(&SPENDING)
}

/// Rules on the linear scale with an absolute margin.
pub(crate) fn linear(margin: f64) -> Rules {
    Rules { scale: Scale::Linear, margin, ..Rules::default() }
}

/// A table of one reference copy and the other settings, a row a block.
pub(crate) fn table(rows: &[&[f64]]) -> Table {
    let mut table = Table::new(rows[0].len() - 1);
    for row in rows {
        let block = table.push_block();
        for (setting, value) in row.iter().enumerate() {
            table.set(block, Slot::first(setting), *value).unwrap();
        }
    }
    table
}
