//! The daemon's options as far as they decide: how often it looks, and what it compares with.
use thiserror::Error;

/// Options, named after what they do; their letters on the daemon's command line stand next to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DaemonOptions {
    /// `-i`: time between two looks, tenths of a second.
    pub interval_tenths: u32,
    /// First number of `-p`: this idle or less, and the clock goes to the top at once, %.
    pub fast_up_percent: u32,
    /// Second number of `-p`: less idle than this and the clock goes a step up, more and it goes a step down, %.
    pub threshold_percent: u32,
    /// `-m`: no step below this, kHz.
    pub min_khz: Option<u32>,
    /// `-M`: no step above this, kHz.
    pub max_khz: Option<u32>,
    /// `-n`: time of nice processes counts neither as idle nor at all; without, it is idle.
    pub ignore_nice: bool,
    /// `-w`: the same for time in which a process waited for a disk.
    pub ignore_iowait: bool,
}

impl Default for DaemonOptions {
    fn default() -> Self {
        DaemonOptions {
            interval_tenths: 20,
            fast_up_percent: 10,
            threshold_percent: 25,
            min_khz: None,
            max_khz: None,
            ignore_nice: false,
            ignore_iowait: false,
        }
    }
}

/// Why options make no daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OptionError {
    /// It would look without end.
    #[error("the interval is {0} tenths of a second; write 1 to 36000")]
    Interval(u32),
    /// The thresholds are no percentages in rising order.
    #[error("the thresholds are {0} and {1} %; write two numbers of 0 to 100, the first below the second")]
    Thresholds(u32, u32),
    /// There is nothing between the two speeds.
    #[error("the lowest speed, {0} kHz, lies above the highest, {1} kHz; exchange them")]
    Speeds(u32, u32),
}

impl DaemonOptions {
    /// Whether they make a daemon.
    ///
    /// # Errors
    /// [`OptionError`], which names the first that does not fit.
    pub fn check(&self) -> Result<(), OptionError> {
        if !(1..=36_000).contains(&self.interval_tenths) {
            return Err(OptionError::Interval(self.interval_tenths));
        }
        if self.fast_up_percent >= self.threshold_percent || self.threshold_percent > 100 {
            return Err(OptionError::Thresholds(self.fast_up_percent, self.threshold_percent));
        }
        match (self.min_khz, self.max_khz) {
            (Some(min), Some(max)) if min > max => Err(OptionError::Speeds(min, max)),
            _ => Ok(()),
        }
    }

    /// Time between two looks, ms.
    #[must_use]
    pub fn interval_ms(&self) -> u64 {
        u64::from(self.interval_tenths) * 100
    }
}
