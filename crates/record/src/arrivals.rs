//! When an open load sends: the times it means to, from a rate and a law, the same for the same seed everywhere.
use serde::{Deserialize, Serialize};

use crate::splitmix::splitmix;

/// The law of the gaps between sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// All gaps are equal.
    #[default]
    Constant,
    /// Gaps follow an exponential law, as those of many independent callers do.
    Exponential,
}

/// Times of sending, ns after the beginning, rising, without end.
#[derive(Clone, Debug)]
pub struct Schedule {
    arrivals: Arrivals,
    gap_ns: f64,
    state: u64,
    /// Sends so far, and the time of the next when gaps are drawn, ns.
    sent: u64,
    next_ns: f64,
}

impl Schedule {
    /// `rate_per_s` sends a second on average.
    #[must_use]
    pub fn new(arrivals: Arrivals, rate_per_s: f64, seed: u64) -> Self {
        Schedule { arrivals, gap_ns: 1e9 / rate_per_s, state: seed, sent: 0, next_ns: 0.0 }
    }

    /// Uniform in (0, 1].
    fn uniform(&mut self) -> f64 {
        ((splitmix(&mut self.state) >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let at_ns = match self.arrivals {
            // From the number, so that no rounding adds up.
            Arrivals::Constant => self.sent as f64 * self.gap_ns,
            Arrivals::Exponential => {
                let at_ns = self.next_ns;
                self.next_ns -= libm::log(self.uniform()) * self.gap_ns;
                at_ns
            }
        };
        self.sent += 1;
        Some(at_ns as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within_ten_seconds(arrivals: Arrivals, seed: u64) -> Vec<u64> {
        Schedule::new(arrivals, 200.0, seed).take_while(|&at_ns| at_ns < 10_000_000_000).collect()
    }

    #[test]
    fn constant_gaps_are_equal() {
        let times = within_ten_seconds(Arrivals::Constant, 1);
        assert_eq!((times.len(), times[0], times[1], times[1_999]), (2_000, 0, 5_000_000, 9_995_000_000));
    }

    #[test]
    fn exponential_gaps_have_their_mean_and_spread_and_their_seed() {
        let times = within_ten_seconds(Arrivals::Exponential, 1);
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
        // Five standard errors of 2000 gaps of 5 ms.
        assert!((mean - 5.0).abs() < 0.6 && (variance.sqrt() - 5.0).abs() < 0.8, "{mean} {variance}");
        assert_eq!(times, within_ten_seconds(Arrivals::Exponential, 1));
        assert_ne!(times, within_ten_seconds(Arrivals::Exponential, 2));
    }
}
