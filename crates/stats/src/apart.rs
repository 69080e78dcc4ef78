//! Measurements that share no block: two experiments, sessions on different days, runs back to back.

use crate::distribution::{t_two_sided, t_upper_quantile};
use crate::verdict::SettingLook;
use serde::{Deserialize, Serialize};

/// A difference of two things measured apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Apart {
    /// First less second.
    pub effect: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Degrees of freedom by Satterthwaite's formula.
    pub df: f64,
}

/// Sessions each side must have before their means may be compared.
pub const LEAST_SESSIONS: usize = 3;

impl Apart {
    fn new(effect: f64, parts: [(f64, f64); 2]) -> Self {
        let variance = parts[0].0 + parts[1].0;
        let bend: f64 = parts.iter().map(|(v, df)| v * v / df).sum();
        let df = if bend > 0.0 { variance * variance / bend } else { parts[0].1 + parts[1].1 };
        Self { effect, standard_error: variance.sqrt(), df }
    }

    /// Two-sided p of "no difference"; 1 when neither effect nor error is there.
    #[must_use]
    pub fn p(&self) -> f64 {
        if self.effect == 0.0 { 1.0 } else { t_two_sided(self.effect / self.standard_error, self.df) }
    }

    /// The interval that misses with probability `level`.
    #[must_use]
    pub fn interval(&self, level: f64) -> (f64, f64) {
        let reach = t_upper_quantile(0.5 * level, self.df) * self.standard_error;
        (self.effect - reach, self.effect + reach)
    }
}

/// Two settings of two experiments that share a reference: the difference of their differences from it, variances
/// added (Satterthwaite). Both on the same scale.
#[must_use]
pub fn through_reference(first: &SettingLook, second: &SettingLook) -> Apart {
    let (a, b) = (&first.contrast, &second.contrast);
    Apart::new(a.effect - b.effect, [(a.variance, a.df), (b.variance, b.df)])
}

/// Welch's comparison of two samples of independent values; none when either has fewer than two.
#[must_use]
pub fn welch(first: &[f64], second: &[f64]) -> Option<Apart> {
    if first.len() < 2 || second.len() < 2 {
        return None;
    }
    let ((mean_a, sd_a), (mean_b, sd_b)) = (mean_and_sd(first), mean_and_sd(second));
    let part = |sd: f64, n: usize| (sd * sd / n as f64, (n - 1) as f64);
    Some(Apart::new(mean_a - mean_b, [part(sd_a, first.len()), part(sd_b, second.len())]))
}

/// Session means of two sides that share neither reference nor blocks: Welch on the sessions as observations; none
/// with fewer than three sessions a side, where nothing cancels and the word is "undecided". (Not simulated.)
#[must_use]
pub fn sessions(first: &[f64], second: &[f64]) -> Option<Apart> {
    if first.len().min(second.len()) < LEAST_SESSIONS { None } else { welch(first, second) }
}

/// Mean and sample standard deviation; the latter 0 of a single value.
pub(crate) fn mean_and_sd(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n.max(1.0);
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (mean, if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}
