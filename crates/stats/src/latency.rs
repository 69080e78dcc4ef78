//! Mergeable histograms of latencies, one a trial, and their quantiles.

use hdrhistogram::Histogram;

/// Latencies of one trial, or of several merged. Values are whole numbers of whatever unit the load counts in
/// (microseconds, nanoseconds), kept to three significant digits.
#[derive(Debug, Clone, PartialEq)]
pub struct Latencies {
    counts: Histogram<u64>,
}

const SIGNIFICANT_DIGITS: u8 = 3;

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

impl Latencies {
    /// Nothing recorded yet.
    #[must_use]
    pub fn new() -> Self {
        let counts = Histogram::new(SIGNIFICANT_DIGITS);
        // Fails only for more than five digits.
        #[expect(clippy::expect_used, reason = "the number of digits is a constant that is allowed")]
        let counts = counts.expect("three digits are allowed");
        Self { counts }
    }

    /// Records `times` latencies of `value`. Values too large for 64 bits of range cannot occur.
    pub fn record(&mut self, value: u64, times: u64) {
        // The histogram grows as needed, so this cannot be refused; saturating keeps that true at the very top.
        self.counts.saturating_record_n(value, times);
    }

    /// Adds another trial's latencies.
    pub fn merge(&mut self, other: &Self) {
        for bucket in other.counts.iter_recorded() {
            self.counts.saturating_record_n(bucket.value_iterated_to(), bucket.count_at_value());
        }
    }

    /// Latencies recorded.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.counts.len()
    }

    /// Whether none is recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The smallest value that at least the share `quantile` of the latencies do not exceed, to three digits; none of
    /// nothing.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        (!self.is_empty()).then(|| self.counts.value_at_quantile(quantile))
    }
}
