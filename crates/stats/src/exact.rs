//! Exact tests of counts.

/// Room for rounding when probabilities are compared.
const ROUNDING: f64 = 1e-7;

/// Probability that two shares of the same chance differ at least as much as `one.0` of `one.1` and `other.0` of `other.1` do
/// (Fisher's exact test, two-sided by the probabilities of the tables: Agresti, Categorical Data Analysis, 3.5.3).
#[must_use]
pub fn shares_alike(one: (u32, u32), other: (u32, u32)) -> f64 {
    let ((hits, all), (other_hits, other_all)) = (one, other);
    let both = hits + other_hits;
    let log_choose = |n: u32, k: u32| {
        let [n, k] = [n, k].map(f64::from);
        libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0)
    };
    let total = log_choose(all + other_all, both);
    let of = |k: u32| libm::exp(log_choose(all, k) + log_choose(other_all, both - k) - total);
    let seen = of(hits) * (1.0 + ROUNDING);
    let tables = both.saturating_sub(other_all)..=both.min(all);
    tables.map(of).filter(|chance| *chance <= seen).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fishers_own_examples_come_out() {
        // The tea tasting of 1935, and a table whose p is known from R's fisher.test.
        assert!((shares_alike((3, 4), (1, 4)) - 0.485_714_3).abs() < 1e-7);
        assert!((shares_alike((10, 12), (3, 18)) - 0.000_536_724_1).abs() < 1e-9);
        assert!((shares_alike((0, 10), (0, 7)) - 1.0).abs() < 1e-12, "nothing in either is no difference");
    }
}
