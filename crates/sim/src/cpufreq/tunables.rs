//! Governor tunables: their defaults and ranges under each kernel's rules.
use powerband_machine::Errno;

use super::config::{BootConfig, Governor, KernelRules, Pace};
use super::interactive::set::Set;
use super::number;
use super::tunable::Tunable::{
    DownThreshold, FreqStep, IgnoreNiceLoad, IoIsBusy, PowersaveBias, RateLimit, SamplingDownFactor, SamplingRate,
    SamplingRateMax, SamplingRateMin, UpThreshold,
};
use super::tunable::{After, Tunable};

/// One set of tunables. A governor uses only those of its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tunables {
    pub(crate) rate_us: u32,
    rate_min_us: u32,
    rate_max_us: u32,
    pub(crate) up: u32,
    /// 2.6.32 ondemand: how far below `up` the load must fall, percent.
    pub(crate) margin: u32,
    pub(crate) down: u32,
    pub(crate) factor: u32,
    pub(crate) ignore_nice: bool,
    pub(crate) bias: u32,
    pub(crate) io_is_busy: bool,
    pub(crate) freq_step: u32,
    pub(crate) rate_limit_us: u32,
    /// Those of interactive.
    pub(crate) interactive: Set,
}

fn tick_us(config: &BootConfig) -> u32 {
    1_000_000 / config.hz.max(1)
}

impl Tunables {
    pub(crate) fn new(governor: Governor, config: &BootConfig, pace: Pace) -> Self {
        let ondemand = governor == Governor::Ondemand;
        let fine_idle = config.nohz && config.rules != KernelRules::V2_6_18;
        let (up, margin) = if ondemand && fine_idle { (95, 3) } else { (80, 10) };
        let mut set = Tunables {
            rate_us: 0,
            rate_min_us: 0,
            rate_max_us: u32::MAX,
            up,
            margin,
            down: 20,
            factor: 1,
            ignore_nice: false,
            bias: 0,
            // Elsewhere waiting for input and output always counts as idle.
            io_is_busy: config.io_is_busy && ondemand && config.rules == KernelRules::V6_1,
            freq_step: 5,
            rate_limit_us: pace.between_us(),
            interactive: Set::new(),
        };
        set.start_rate(governor, config, pace);
        set
    }

    /// The sampling rate a first user brings, from its driver; the old kernels keep everything else between users.
    pub(crate) fn start_rate(&mut self, governor: Governor, config: &BootConfig, pace: Pace) {
        let tick = tick_us(config);
        let by_ticks = tick * 20;
        let latency_us = (pace.latency_ns / 1000).max(1);
        match config.rules {
            KernelRules::V6_1 => {
                self.rate_min_us = 2 * tick;
                self.rate_us = self.rate_min_us.max(pace.between_us());
            }
            KernelRules::V2_6_18 => {
                let multiplier = if governor == Governor::Conservative { 10_000 } else { 1000 };
                self.rate_us = latency_us.saturating_mul(multiplier).max(by_ticks);
                self.rate_min_us = self.rate_us / 2;
                self.rate_max_us = self.rate_us.saturating_mul(500);
            }
            KernelRules::V2_6_32 => {
                let fine = governor == Governor::Ondemand && config.nohz;
                let floor = if fine { 10_000 } else { by_ticks };
                self.rate_min_us = floor.max(latency_us.saturating_mul(100));
                self.rate_us = self.rate_min_us.max(latency_us.saturating_mul(1000));
            }
        }
    }

    pub(crate) fn show(&self, governor: Governor, tunable: Tunable) -> String {
        if governor == Governor::Interactive {
            return self.interactive.show(tunable);
        }
        self.number(tunable).to_string()
    }

    fn number(&self, tunable: Tunable) -> u32 {
        match tunable {
            SamplingRate => self.rate_us,
            SamplingRateMin => self.rate_min_us,
            SamplingRateMax => self.rate_max_us,
            UpThreshold => self.up,
            DownThreshold => self.down,
            SamplingDownFactor => self.factor,
            IgnoreNiceLoad => self.ignore_nice.into(),
            PowersaveBias => self.bias,
            IoIsBusy => self.io_is_busy.into(),
            FreqStep => self.freq_step,
            RateLimit => self.rate_limit_us,
            // Those of interactive are shown by it.
            _ => 0,
        }
    }

    /// A write to a tunable of `governor`.
    pub(crate) fn store(
        &mut self,
        governor: Governor,
        rules: KernelRules,
        tunable: Tunable,
        text: &str,
    ) -> Result<After, Errno> {
        if governor == Governor::Interactive {
            return self.interactive.store(tunable, text);
        }
        let value = if tunable == RateLimit { number::whole(text)? } else { number::unsigned(text)? };
        let conservative = governor == Governor::Conservative;
        match tunable {
            SamplingRate => return self.store_rate(rules, value),
            UpThreshold => {
                let least = match (conservative, rules) {
                    (true, _) => self.down + 1,
                    (false, KernelRules::V6_1) => 1,
                    (false, _) => 11,
                };
                self.up = in_range(value, least, 100)?;
            }
            DownThreshold => {
                let least = match rules {
                    KernelRules::V2_6_18 => 0,
                    KernelRules::V2_6_32 => 11,
                    KernelRules::V6_1 => 1,
                };
                self.down = in_range(value, least, self.up - 1)?;
            }
            SamplingDownFactor => {
                self.factor = in_range(value, 1, if conservative { 10 } else { 100_000 })?;
                return Ok(if conservative { After::Nothing } else { After::PlainRate });
            }
            IgnoreNiceLoad => {
                let changed = std::mem::replace(&mut self.ignore_nice, value > 0) != (value > 0);
                return Ok(if changed { After::Snapshot } else { After::Nothing });
            }
            IoIsBusy => {
                self.io_is_busy = value > 0;
                return Ok(After::Snapshot);
            }
            PowersaveBias => self.bias = value.min(1000),
            FreqStep => self.freq_step = value.min(100),
            RateLimit => self.rate_limit_us = value,
            _ => return Err(Errno::EACCES),
        }
        Ok(After::Nothing)
    }

    fn store_rate(&mut self, rules: KernelRules, value: u32) -> Result<After, Errno> {
        self.rate_us = match rules {
            KernelRules::V2_6_32 => value.max(self.rate_min_us),
            _ => in_range(value, self.rate_min_us, self.rate_max_us)?,
        };
        Ok(if rules == KernelRules::V6_1 { After::SampleSoon } else { After::Nothing })
    }
}

fn in_range(value: u32, least: u32, most: u32) -> Result<u32, Errno> {
    if (least..=most).contains(&value) { Ok(value) } else { Err(Errno::EINVAL) }
}
