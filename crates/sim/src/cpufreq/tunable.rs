//! The files of governors' folders under each kernel's rules, and what may follow from a write to one.
use super::config::{Governor, KernelRules};

/// A governor's tunable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tunable {
    SamplingRate,
    SamplingRateMin,
    SamplingRateMax,
    UpThreshold,
    DownThreshold,
    SamplingDownFactor,
    IgnoreNiceLoad,
    PowersaveBias,
    IoIsBusy,
    FreqStep,
    RateLimit,
    TargetLoads,
    AboveHispeedDelay,
    MinSampleTime,
    HispeedFreq,
    GoHispeedLoad,
    TimerRate,
    TimerSlack,
    Boost,
    Boostpulse,
    BoostpulseDuration,
}

use Tunable::{
    DownThreshold, FreqStep, IgnoreNiceLoad, IoIsBusy, PowersaveBias, RateLimit, SamplingDownFactor, SamplingRate,
    SamplingRateMax, SamplingRateMin, UpThreshold,
};

impl Tunable {
    pub(crate) fn name(self) -> &'static str {
        match self {
            SamplingRate => "sampling_rate",
            SamplingRateMin => "sampling_rate_min",
            SamplingRateMax => "sampling_rate_max",
            UpThreshold => "up_threshold",
            DownThreshold => "down_threshold",
            SamplingDownFactor => "sampling_down_factor",
            IgnoreNiceLoad => "ignore_nice_load",
            PowersaveBias => "powersave_bias",
            IoIsBusy => "io_is_busy",
            FreqStep => "freq_step",
            RateLimit => "rate_limit_us",
            Tunable::TargetLoads => "target_loads",
            Tunable::AboveHispeedDelay => "above_hispeed_delay",
            Tunable::MinSampleTime => "min_sample_time",
            Tunable::HispeedFreq => "hispeed_freq",
            Tunable::GoHispeedLoad => "go_hispeed_load",
            Tunable::TimerRate => "timer_rate",
            Tunable::TimerSlack => "timer_slack",
            Tunable::Boost => "boost",
            Tunable::Boostpulse => "boostpulse",
            Tunable::BoostpulseDuration => "boostpulse_duration",
        }
    }

    pub(crate) fn mode(self) -> u16 {
        match self {
            SamplingRateMin | SamplingRateMax => 0o444,
            Tunable::Boostpulse => 0o200,
            _ => 0o644,
        }
    }

    /// The files of a governor's folder; empty for a governor without one.
    pub(crate) fn of(governor: Governor, rules: KernelRules) -> &'static [Tunable] {
        match (governor, rules) {
            (Governor::Ondemand, KernelRules::V2_6_18) => {
                &[SamplingRateMax, SamplingRateMin, SamplingRate, UpThreshold, IgnoreNiceLoad]
            }
            (Governor::Ondemand, KernelRules::V2_6_32) => {
                &[SamplingRateMax, SamplingRateMin, SamplingRate, UpThreshold, IgnoreNiceLoad, PowersaveBias]
            }
            (Governor::Ondemand, KernelRules::V6_1) => {
                &[SamplingRate, UpThreshold, SamplingDownFactor, IgnoreNiceLoad, PowersaveBias, IoIsBusy]
            }
            (Governor::Conservative, KernelRules::V2_6_18 | KernelRules::V2_6_32) => &[
                SamplingRateMax,
                SamplingRateMin,
                SamplingRate,
                SamplingDownFactor,
                UpThreshold,
                DownThreshold,
                IgnoreNiceLoad,
                FreqStep,
            ],
            (Governor::Conservative, KernelRules::V6_1) => {
                &[SamplingRate, SamplingDownFactor, UpThreshold, DownThreshold, IgnoreNiceLoad, FreqStep]
            }
            (Governor::Schedutil, _) => &[RateLimit],
            (Governor::Interactive, _) => &[
                Tunable::TargetLoads,
                Tunable::AboveHispeedDelay,
                Tunable::MinSampleTime,
                Tunable::HispeedFreq,
                Tunable::GoHispeedLoad,
                Tunable::TimerRate,
                Tunable::TimerSlack,
                Tunable::Boost,
                Tunable::Boostpulse,
                Tunable::BoostpulseDuration,
                IoIsBusy,
            ],
            _ => &[],
        }
    }
}

/// What follows from a write besides the new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Nothing,
    /// The next scheduler event samples.
    SampleSoon,
    /// Load snapshots of all CPUs are taken again.
    Snapshot,
    /// The rate multiplier is 1 again.
    PlainRate,
    /// No CPU stays below hispeed_freq, for so long or until it is undone.
    Boost {
        for_us: u32,
    },
}
