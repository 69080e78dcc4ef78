//! The median, and what it says of a spread.

/// Turns a median absolute deviation into a standard deviation under normal noise.
pub(crate) const MAD_TO_SD: f64 = 1.4826;

/// Median, reordering `values`; 0 of nothing.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    let n = values.len();
    if n == 0 {
        return 0.0;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    if n % 2 == 1 {
        return upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    0.5 * (lower + upper)
}
