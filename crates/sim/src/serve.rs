//! Serving: an order system under batches that come at a rate, and a shop under customers who think. What both share: what
//! serving costs on a machine, the time before anything is measured, and how long answers took.
use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::board::Board;

mod customers;
mod orders;
mod shop;

pub(crate) use orders::Orders;
pub(crate) use shop::{Asked as ShopAsked, Shop};

/// What serving costs on a machine, and how its customers come.
#[derive(Clone, Debug, PartialEq)]
pub struct ServeSpec {
    /// Cycles of one transaction of the order system at the highest clock.
    pub transaction_cycles: u64,
    /// Mean cycles of one request of the shop next to its serial section, at the highest clock.
    pub request_cycles: u64,
    /// Their coefficient of variation; the law is log-normal.
    pub request_variation: f64,
    /// Mean cycles of the section that one request at a time may be in (exponential), at the highest clock.
    pub serial_cycles: u64,
    /// Share of all these cycles that waits for memory, millionths.
    pub memory_ppm: u64,
    /// How much more often customers come in a burst.
    pub burst_gain: f64,
    /// Share of the time that is burst, 0..1.
    pub burst_share: f64,
    /// From burst to burst, ns; none when 0.
    pub burst_period_ns: u64,
}

/// What is measured: from when, until when, and how long what ended in between took.
#[derive(Debug)]
pub(super) struct Window {
    from_ns: u64,
    until_ns: u64,
    began: bool,
    took: BTreeMap<u64, u64>,
    count: u64,
    sum_ns: u128,
    max_ns: u64,
}

impl Window {
    fn new(now_ns: u64, ramp_ns: u64, for_ns: u64) -> Self {
        let from_ns = now_ns.saturating_add(ramp_ns);
        let until_ns = from_ns.saturating_add(for_ns);
        Window { from_ns, until_ns, began: false, took: BTreeMap::new(), count: 0, sum_ns: 0, max_ns: 0 }
    }

    fn holds(&self, at_ns: u64) -> bool {
        (self.from_ns..self.until_ns).contains(&at_ns)
    }

    /// Something was done that had been due at `due_ns`.
    fn done(&mut self, now_ns: u64, due_ns: u64) {
        if !self.holds(now_ns) {
            return;
        }
        let took_ns = now_ns.saturating_sub(due_ns);
        *self.took.entry(three_digits(took_ns)).or_default() += 1;
        self.count += 1;
        self.sum_ns += u128::from(took_ns);
        self.max_ns = self.max_ns.max(took_ns);
    }

    /// The next moment at which it begins or ends, ns.
    fn next_ns(&self) -> u64 {
        if self.began { self.until_ns } else { self.from_ns }
    }

    /// Mean, longest and histogram, with what else is to be reported.
    fn report(&self, more: Value) -> Value {
        let cells: Vec<(u64, u64)> = self.took.iter().map(|(&ns, &count)| (ns, count)).collect();
        let mut report = json!({
            "seconds": (self.until_ns - self.from_ns) as f64 / 1e9,
            "mean_ns": self.sum_ns as f64 / self.count.max(1) as f64,
            "max_ns": self.max_ns,
            "histogram": cells,
        });
        if let (Value::Object(report), Value::Object(more)) = (&mut report, more) {
            report.extend(more);
        }
        report
    }
}

/// Rounded to three digits, as histograms are kept.
fn three_digits(ns: u64) -> u64 {
    let unit = 10_u64.pow(ns.max(1).ilog10().saturating_sub(2));
    ns / unit * unit
}

impl Board {
    /// What is read around a process is read from now on.
    pub(crate) fn begin_measuring(&mut self, process: u32) {
        for watch in 0..self.process(process).around.len() {
            self.sample_anew(process, watch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::three_digits;

    #[test]
    fn a_histogram_keeps_three_digits() {
        assert_eq!([0, 7, 999, 1_004, 123_456].map(three_digits), [0, 7, 999, 1_000, 123_000]);
    }
}
