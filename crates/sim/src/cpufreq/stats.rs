//! The `stats` folder: time in each state and the table of transitions.
use std::fmt::Write as _;

use powerband_machine::Errno;

use super::config::KernelRules;
use super::table::FrequencyTable;

const PAGE: usize = 4096;
/// One unit of `time_in_state`, ns (a USER_HZ tick).
const UNIT_NS: u64 = 10_000_000;

/// What a policy has been through since boot or the last reset.
#[derive(Clone, Debug)]
pub(crate) struct Stats {
    time_ns: Vec<u64>,
    counts: Vec<u32>,
    total: u32,
    state: Option<usize>,
    since_ns: u64,
}

impl Stats {
    pub(crate) fn new(table: &FrequencyTable, khz: u32, now_ns: u64) -> Self {
        let n = table.steps().len();
        Stats { time_ns: vec![0; n], counts: vec![0; n * n], total: 0, state: table.index(khz), since_ns: now_ns }
    }

    /// A transition has been completed. Counted only if both ends are in the table and differ.
    pub(crate) fn record(&mut self, table: &FrequencyTable, khz: u32, now_ns: u64) {
        let (Some(from), Some(to)) = (self.state, table.index(khz)) else { return };
        if from == to {
            return;
        }
        self.time_ns[from] += now_ns.saturating_sub(self.since_ns);
        (self.state, self.since_ns) = (Some(to), now_ns);
        self.counts[from * self.time_ns.len() + to] += 1;
        self.total += 1;
    }

    /// Everything back to nothing; the current state's time counts from here.
    pub(crate) fn reset(&mut self, now_ns: u64) {
        self.time_ns.fill(0);
        self.counts.fill(0);
        self.total = 0;
        self.since_ns = now_ns;
    }

    pub(crate) fn total_trans(&self) -> String {
        format!("{}\n", self.total)
    }

    pub(crate) fn time_in_state(&self, table: &FrequencyTable, now_ns: u64) -> String {
        let mut text = String::new();
        for (i, step) in table.steps().iter().enumerate() {
            let open = if self.state == Some(i) { now_ns.saturating_sub(self.since_ns) } else { 0 };
            let _ = writeln!(text, "{} {}", step.khz, (self.time_ns[i] + open) / UNIT_NS);
        }
        text
    }

    /// # Errors
    /// EFBIG when the text does not fit into a page; the old rules cut it off instead.
    pub(crate) fn trans_table(&self, table: &FrequencyTable, rules: KernelRules) -> Result<String, Errno> {
        let mut text = String::from("   From  :    To\n         : ");
        for step in table.steps() {
            let _ = write!(text, "{:9} ", step.khz);
        }
        text.push('\n');
        for (from, step) in table.steps().iter().enumerate() {
            let _ = write!(text, "{:9}: ", step.khz);
            for to in 0..self.time_ns.len() {
                let _ = write!(text, "{:9} ", self.counts[from * self.time_ns.len() + to]);
            }
            text.push('\n');
        }
        if text.len() >= PAGE {
            if rules == KernelRules::V6_1 {
                return Err(Errno::EFBIG);
            }
            text.truncate(PAGE);
        }
        Ok(text)
    }
}
