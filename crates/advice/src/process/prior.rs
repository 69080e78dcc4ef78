//! What is believed of a metric's surface before anything was measured.

use super::Coordinates;

/// A log-normal belief about a positive quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogNormal {
    /// Its median.
    pub median: f64,
    /// Standard deviation of its logarithm.
    pub sd_ln: f64,
}

/// Scales of a metric's surface, all of its natural logarithm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// The level lies this much above the start's.
    pub above_start: f64,
    /// Standard deviation of the level around the mean.
    pub level_sd: f64,
    /// Standard deviation of the slope over a factor's whole range.
    pub slope_sd: f64,
    /// Standard deviation of what bends.
    pub signal: LogNormal,
    /// Standard deviation of one run's noise.
    pub noise: LogNormal,
    /// Standard deviation of a setting's own, repeatable deviation, which repeats do not remove.
    pub own_sd: f64,
}

impl Prior {
    /// For power, energy, cost and time.
    #[must_use]
    pub fn watts() -> Self {
        Self {
            above_start: 0.0,
            level_sd: 0.5,
            slope_sd: 0.35,
            signal: LogNormal { median: 0.2, sd_ln: 0.5 },
            noise: LogNormal { median: 0.005, sd_ln: 0.8 },
            own_sd: 0.002,
        }
    }

    /// For tails of latency.
    #[must_use]
    pub fn tail() -> Self {
        Self {
            above_start: 0.5,
            level_sd: 1.0,
            slope_sd: 0.8,
            signal: LogNormal { median: 0.6, sd_ln: 0.5 },
            noise: LogNormal { median: 0.02, sd_ln: 0.8 },
            own_sd: 0.01,
        }
    }

    /// With the noise of one run as a calibration measured it.
    #[must_use]
    pub fn calibrated(self, noise_sd: Option<f64>) -> Self {
        match noise_sd {
            Some(median) if median > 0.0 => Self { noise: LogNormal { median, sd_ln: 0.3 }, ..self },
            _ => self,
        }
    }

    /// μ0 at every point: the level from the start's mean, and the trends' slopes.
    #[must_use]
    pub fn mean(&self, coordinates: &Coordinates, start_mean: f64, trends: &[f64]) -> Vec<f64> {
        let level = start_mean + self.above_start;
        let slope = |point| -> f64 {
            let factors = trends.iter().enumerate();
            factors.map(|(factor, trend)| trend * self.slope_sd * coordinates.centred(point, factor)).sum()
        };
        (0..coordinates.points()).map(|point| level + slope(point)).collect()
    }
}
