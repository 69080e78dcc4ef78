//! The tunables of interactive: values by clock among them, and what a write to one leads to.
use powerband_machine::Errno;

use super::super::number;
use super::super::tunable::{After, Tunable};

/// Most values of a list that are kept; the kernel has no such bound.
const MAX_VALUES: usize = 16;

/// Values by clock: the first holds from the bottom, each other one from its clock (kHz) on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ladder {
    steps: [(u32, u32); MAX_VALUES],
    len: usize,
}

impl Ladder {
    pub(super) fn one(value: u32) -> Self {
        let mut steps = [(0, 0); MAX_VALUES];
        steps[0] = (0, value);
        Ladder { steps, len: 1 }
    }

    /// `85 1000000:90 1700000:99`: numbers with blanks or colons between them, an odd count of them.
    pub(super) fn parse(text: &str) -> Result<Self, Errno> {
        let words = text.trim_ascii().split([' ', ':']).map(number::whole).collect::<Result<Vec<u32>, _>>()?;
        let mut ladder = Ladder::one(*words.first().ok_or(Errno::EINVAL)?);
        for pair in words[1..].chunks(2) {
            let &[khz, value] = pair else { return Err(Errno::EINVAL) };
            *ladder.steps.get_mut(ladder.len).ok_or(Errno::EINVAL)? = (khz, value);
            ladder.len += 1;
        }
        Ok(ladder)
    }

    pub(super) fn show(&self) -> String {
        let steps = self.steps.iter().take(self.len);
        let words = steps.map(|&(khz, value)| if khz == 0 { value.to_string() } else { format!("{khz}:{value}") });
        words.collect::<Vec<String>>().join(" ")
    }

    pub(super) fn at(&self, khz: u32) -> u32 {
        let below = self.steps.iter().take(self.len).take_while(|(from, _)| *from <= khz);
        below.last().map_or(0, |(_, value)| *value)
    }
}

/// The tunables of interactive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Set {
    pub(super) target_loads: Ladder,
    pub(super) above_hispeed_delay: Ladder,
    pub(super) min_sample_us: u32,
    /// 0 until it first starts: then the highest clock allowed.
    pub(crate) hispeed_khz: u32,
    pub(super) go_hispeed_load: u32,
    pub(super) rate_us: u32,
    pub(super) slack_us: i32,
    pub(super) boost: bool,
    pub(super) pulse_us: u32,
    pub(super) io_is_busy: bool,
}

impl Set {
    pub(crate) fn new() -> Self {
        Set {
            target_loads: Ladder::one(90),
            above_hispeed_delay: Ladder::one(20_000),
            min_sample_us: 80_000,
            hispeed_khz: 0,
            go_hispeed_load: 99,
            rate_us: 20_000,
            slack_us: 80_000,
            boost: false,
            pulse_us: 80_000,
            io_is_busy: false,
        }
    }

    pub(crate) fn show(&self, tunable: Tunable) -> String {
        match tunable {
            Tunable::TargetLoads => self.target_loads.show(),
            Tunable::AboveHispeedDelay => self.above_hispeed_delay.show(),
            Tunable::MinSampleTime => self.min_sample_us.to_string(),
            Tunable::HispeedFreq => self.hispeed_khz.to_string(),
            Tunable::GoHispeedLoad => self.go_hispeed_load.to_string(),
            Tunable::TimerRate => self.rate_us.to_string(),
            Tunable::TimerSlack => self.slack_us.to_string(),
            Tunable::Boost => u8::from(self.boost).to_string(),
            Tunable::BoostpulseDuration => self.pulse_us.to_string(),
            _ => u8::from(self.io_is_busy).to_string(),
        }
    }

    pub(crate) fn store(&mut self, tunable: Tunable, text: &str) -> Result<After, Errno> {
        let number = || number::whole(text.trim_ascii());
        match tunable {
            Tunable::TargetLoads => self.target_loads = Ladder::parse(text)?,
            Tunable::AboveHispeedDelay => self.above_hispeed_delay = Ladder::parse(text)?,
            Tunable::MinSampleTime => self.min_sample_us = number()?,
            Tunable::HispeedFreq => self.hispeed_khz = number()?,
            Tunable::GoHispeedLoad => self.go_hispeed_load = number()?,
            Tunable::TimerRate => self.rate_us = number()?.max(1),
            Tunable::TimerSlack => self.slack_us = number::signed(text)?,
            Tunable::Boost => {
                self.boost = number()? > 0;
                return Ok(After::Boost { for_us: 0 });
            }
            Tunable::Boostpulse => {
                number()?;
                return Ok(After::Boost { for_us: self.pulse_us });
            }
            Tunable::BoostpulseDuration => self.pulse_us = number()?,
            _ => self.io_is_busy = number()? > 0,
        }
        Ok(After::Nothing)
    }
}
