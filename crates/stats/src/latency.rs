//! Mergeable histograms of latencies, one a trial, and their quantiles.

use hdrhistogram::Histogram;
use libm::{exp, log, sqrt};

use crate::distribution::t_upper_quantile;

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

/// The interval of a quantile of the merged latencies, with error rate `alpha`, from the same quantile of each trial in the
/// order of time: Student's t on logarithms, wider by what successive trials have in common. Trials are the unit of chance,
/// not single latencies. None of fewer than two trials, or where one is not positive.
#[must_use]
pub fn quantile_interval(merged: f64, trials: &[f64], alpha: f64) -> Option<(f64, f64)> {
    let positive = |value: &f64| *value > 0.0 && value.is_finite();
    if trials.len() < 2 || !positive(&merged) || !trials.iter().all(positive) {
        return None;
    }
    let logs: Vec<f64> = trials.iter().map(|&trial| log(trial)).collect();
    let (_, error) = stretched_error(&logs)?;
    let factor = exp(t_upper_quantile(alpha / 2.0, logs.len() as f64 - 1.0) * error);
    Some((merged / factor, merged * factor))
}

/// Mean of values in the order of time and its standard error, wider by what successive values have in common: the factor is
/// √((1+ρ)/(1−ρ)), ρ their correlation with its bias in short series taken out (Kendall 1954, Marriott and Pope 1954) and
/// never taken for less than independent. None of fewer than two.
pub(crate) fn stretched_error(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let apart: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let squares: f64 = apart.iter().map(|it| it * it).sum();
    if squares <= 0.0 {
        return Some((mean, 0.0));
    }
    let lagged = apart.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / squares;
    let rho = (lagged + (1.0 + 3.0 * lagged) / (n - 1.0)).clamp(0.0, 0.8);
    Some((mean, sqrt(squares / (n - 1.0) / n) * sqrt((1.0 + rho) / (1.0 - rho))))
}

#[cfg(test)]
mod tests {
    use super::quantile_interval;

    #[test]
    fn an_interval_is_students_on_logarithms() {
        // Logarithms ±0.1 in turn: sd sqrt(0.06/5), no correlation is left after the bias, t(5; 0.025) = 2.5706.
        let up = 100.0 * 0.1_f64.exp();
        let down = 100.0 * (-0.1_f64).exp();
        let (low, high) = quantile_interval(100.0, &[up, down, up, down, up, down], 0.05).unwrap();
        let expected = (2.570_581_836 * (0.06_f64 / 5.0 / 6.0).sqrt()).exp();
        assert!((high / 100.0 - expected).abs() < 1e-6 && (low * expected - 100.0).abs() < 1e-4, "{low} {high}");
        // The same values in two runs of three: successive trials are alike, so there is less to know from them.
        let (_, drifting) = quantile_interval(100.0, &[up, up, up, down, down, down], 0.05).unwrap();
        assert!(drifting > 1.1 * high, "{drifting} {high}");
    }

    #[test]
    fn nothing_is_told_of_too_little() {
        assert_eq!(quantile_interval(5.0, &[5.0], 0.05), None);
        assert_eq!(quantile_interval(5.0, &[5.0, 0.0], 0.05), None);
        assert_eq!(quantile_interval(5.0, &[5.0, 5.0], 0.05), Some((5.0, 5.0)));
    }
}
