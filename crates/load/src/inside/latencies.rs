//! How long things took, as a load reports it: a histogram exact to three digits, its mean and its largest value.
use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};

use super::Failure;

/// Longest that is told apart from longer, ns: an hour.
const MAX_NS: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;

/// Latencies of one worker or of several together.
#[derive(Clone, Debug)]
pub(super) struct Latencies {
    cells: Histogram<u64>,
    sum_ns: u128,
    max_ns: u64,
}

impl Latencies {
    pub(super) fn new() -> Result<Self, Failure> {
        let cells = Histogram::new_with_bounds(1, MAX_NS, DIGITS)
            .map_err(|error| Failure::Work(format!("no such histogram: {error}")))?;
        Ok(Latencies { cells, sum_ns: 0, max_ns: 0 })
    }

    /// One took so long.
    pub(super) fn record(&mut self, took_ns: u64) {
        self.cells.saturating_record(took_ns);
        self.sum_ns += u128::from(took_ns);
        self.max_ns = self.max_ns.max(took_ns);
    }

    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        self.cells.len()
    }

    /// Takes in those of another worker.
    pub(super) fn merge(&mut self, other: &Latencies) -> Result<(), Failure> {
        self.cells.add(&other.cells).map_err(|error| Failure::Work(format!("histograms differ: {error}")))?;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        Ok(())
    }

    /// A report with these latencies behind what it holds already.
    pub(super) fn complete(&self, mut report: Map<String, Value>) -> Value {
        let cells: Vec<(u64, u64)> =
            self.cells.iter_recorded().map(|it| (it.value_iterated_to(), it.count_at_value())).collect();
        report.insert("mean_ns".into(), json!(self.sum_ns as f64 / self.len().max(1) as f64));
        report.insert("max_ns".into(), json!(self.max_ns));
        report.insert("histogram".into(), json!(cells));
        Value::Object(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_took_is_reported_together() {
        let (mut one, mut other) = (Latencies::new().unwrap(), Latencies::new().unwrap());
        [1_000, 1_000, 9_000_000].into_iter().for_each(|took_ns| one.record(took_ns));
        other.record(5_000_000_000);
        one.merge(&other).unwrap();
        let report = one.complete(Map::new());
        assert_eq!(
            (report["mean_ns"].as_f64(), report["max_ns"].as_u64()),
            (Some(1_252_250_500.0), Some(5_000_000_000))
        );
        let cells: Vec<(u64, u64)> = serde_json::from_value(report["histogram"].clone()).unwrap();
        assert_eq!((cells.len(), cells[0], one.len()), (3, (1_000, 2), 4));
        assert!(cells[2].0.abs_diff(5_000_000_000) < 5_000_000, "to three digits: {cells:?}");
    }
}
