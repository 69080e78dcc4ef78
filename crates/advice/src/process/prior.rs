//! What is believed of a metric's surface before anything was measured.

/// A log-normal belief about a positive quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogNormal {
    /// Its median.
    pub median: f64,
    /// Standard deviation of its logarithm.
    pub sd_ln: f64,
}

impl LogNormal {
    /// The value `z` standard deviations above the median.
    #[must_use]
    pub fn at(&self, z: f64) -> f64 {
        self.median * libm::exp(self.sd_ln * z)
    }
}

/// A normal belief.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Normal {
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation.
    pub sd: f64,
}

/// Scales of a metric's surface, all of its natural logarithm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// The level lies this much above the start's.
    pub above_start: f64,
    /// Standard deviation of the level around the mean.
    pub level_sd: f64,
    /// Standard deviation of the slope over a factor's whole range.
    pub slope: LogNormal,
    /// Standard deviation of what bends.
    pub signal: LogNormal,
    /// Standard deviation of one run's noise; where it grows with the level, at the start's.
    pub noise: LogNormal,
    /// How ln of that standard deviation grows with the level, as a normal belief of which what is below zero counts as zero;
    /// none where the noise is the same at all levels.
    pub noise_growth: Option<Normal>,
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
            slope: LogNormal { median: 0.35, sd_ln: 0.5 },
            signal: LogNormal { median: 0.15, sd_ln: 0.8 },
            noise: LogNormal { median: 0.01, sd_ln: 1.2 },
            noise_growth: None,
            own_sd: 0.002,
        }
    }

    /// For tails of latency.
    #[must_use]
    pub fn tail() -> Self {
        Self {
            above_start: 0.5,
            level_sd: 1.0,
            slope: LogNormal { median: 0.8, sd_ln: 0.5 },
            signal: LogNormal { median: 0.4, sd_ln: 0.8 },
            noise: LogNormal { median: 0.02, sd_ln: 1.0 },
            noise_growth: Some(Normal { mean: 0.3, sd: 0.4 }),
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

    /// The mean of a search: the start's, raised as this prior has it, and sloped by the trends.
    #[must_use]
    pub fn mean(&self, start_mean: f64, trends: &[f64]) -> PriorMean {
        PriorMean { level: start_mean + self.above_start, trends: trends.to_vec() }
    }
}

/// What a process varies around: μ0.
#[derive(Debug, Clone, PartialEq)]
pub struct PriorMean {
    /// The level in the middle of all factors, natural logarithm.
    pub level: f64,
    /// For each factor a trend from −1 to 1, in units of [`Prior::slope`] over the factor's whole range.
    pub trends: Vec<f64>,
}
