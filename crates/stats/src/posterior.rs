//! What the settings' levels may truly be, in draws: for the probability of an answer that is only provisional.

use crate::random::{Draws, Purpose};

/// Draws of all settings' levels together.
#[derive(Debug, Clone, PartialEq)]
pub struct Posterior {
    settings: usize,
    /// Row by row, a row a draw.
    draws: Vec<f64>,
}

/// Draws taken for a probability.
pub const DRAWS: usize = 4000;

impl Posterior {
    /// `DRAWS` draws of levels around `estimates`, each with `trials` trials (a half of infinity where there are none)
    /// of variance `variance` known on `df` degrees of freedom, keyed by `seed` and `stream`.
    ///
    /// The variance is drawn once for all settings: estimate + √(variance/trials)·z·√(df/χ²).
    #[must_use]
    pub fn new(seed: u64, stream: u64, estimates: &[f64], trials: &[f64], variance: f64, df: f64) -> Self {
        let mut random = Draws::new(seed, Purpose::Posterior, stream, 0);
        let mut draws = Vec::with_capacity(DRAWS * estimates.len());
        for _ in 0..DRAWS {
            let spread = (variance * df / random.chi_squared(df)).sqrt();
            for (estimate, n) in estimates.iter().zip(trials) {
                draws.push(estimate + spread * random.normal() / n.sqrt());
            }
        }
        Self { settings: estimates.len(), draws }
    }

    /// The draws, one level a setting.
    pub fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.draws.chunks_exact(self.settings.max(1))
    }

    /// Share of the draws in which `pick` names each setting.
    #[must_use]
    pub fn shares(&self, pick: impl Fn(&[f64]) -> Option<usize>) -> Vec<f64> {
        let mut counts = vec![0.0; self.settings];
        for setting in self.rows().filter_map(pick) {
            counts[setting] += 1.0;
        }
        counts.iter().map(|count| count / DRAWS as f64).collect()
    }
}
