//! Limits of a policy: what was asked, what results, and what old kernels refuse.
use powerband_machine::Errno;

use super::config::KernelRules;
use super::number;
use super::table::{FrequencyTable, TableRelation};

/// The value of "no maximum asked".
const NO_MAX: u32 = i32::MAX as u32;

/// Which limit a file sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Min,
    Max,
}

/// What has been asked of a policy, kHz.
///
/// Since Linux 5.3 these are requests that persist whatever results from them; before, they are the last limits a user
/// wrote, as the kernel took them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Requests {
    pub(crate) user_min: u32,
    pub(crate) user_max: u32,
    pub(crate) firmware_max: Option<u32>,
    /// The driver's own least and most (Intel's percentages and its turbo switch).
    pub(crate) driver: Option<(u32, u32)>,
}

/// What limits are checked against.
pub(crate) struct Range<'a> {
    pub(crate) lo: u32,
    pub(crate) hi: u32,
    pub(crate) table: &'a FrequencyTable,
}

fn within(limits: (u32, u32), lo: u32, hi: u32) -> (u32, u32) {
    let (mut min, mut max) = limits;
    min = min.max(lo);
    max = max.max(lo).min(hi);
    min = min.min(hi);
    (min.min(max), max)
}

impl Range<'_> {
    /// Brings limits into the hardware's range; a range without an entry is widened upwards to the next one.
    fn verify(&self, limits: (u32, u32)) -> (u32, u32) {
        let (min, max) = within(limits, self.lo, self.hi);
        if self.table.is_empty() || self.table.any_within(min, max) {
            return (min, max);
        }
        within((min, self.table.above(max).unwrap_or(max)), self.lo, self.hi)
    }

    /// The limits that result from limits asked and firmware: twice verified, with firmware in between (up to Linux 5.2).
    fn verify_with_firmware(&self, limits: (u32, u32), firmware_max: Option<u32>) -> (u32, u32) {
        let limits = self.verify(limits);
        self.verify(within(limits, 0, firmware_max.unwrap_or(u32::MAX)))
    }
}

impl Requests {
    pub(crate) fn new(rules: KernelRules, bounds: (u32, u32), firmware_max: Option<u32>) -> Self {
        let (user_min, user_max) = if rules == KernelRules::V6_1 { (0, NO_MAX) } else { bounds };
        Requests { user_min, user_max, firmware_max, driver: None }
    }

    /// The limits in effect.
    pub(crate) fn resolve(&self, rules: KernelRules, range: &Range<'_>) -> (u32, u32) {
        if rules != KernelRules::V6_1 {
            return range.verify_with_firmware((self.user_min, self.user_max), self.firmware_max);
        }
        let (driver_min, driver_max) = self.driver.unwrap_or((0, NO_MAX));
        let asked_max = self.user_max.min(self.firmware_max.unwrap_or(NO_MAX)).min(driver_max);
        let limits = range.verify((self.user_min.max(driver_min), asked_max));
        let max = range.table.resolve(limits.1, limits, TableRelation::AtMost, false).unwrap_or(limits.1);
        let min = range.table.resolve(limits.0, (limits.0, max), TableRelation::AtLeast, false).unwrap_or(limits.0);
        (min.min(max), max)
    }

    /// A write to `scaling_min_freq` or `scaling_max_freq` by the 6.1 rules: only the user's own request is replaced.
    pub(crate) fn ask(&mut self, side: Side, text: &str) -> Result<(), Errno> {
        #[expect(clippy::cast_possible_truncation, reason = "the kernel keeps the low 32 bits, signed")]
        let value = number::leading(text)? as i32;
        let default = if side == Side::Min { 0 } else { NO_MAX };
        let value = match value {
            -1 => default,
            _ => u32::try_from(value).map_err(|_| Errno::EINVAL)?,
        };
        match side {
            Side::Min => self.user_min = value,
            Side::Max => self.user_max = value,
        }
        Ok(())
    }

    /// The same write by the old rules, which compare it with the limits in effect; gives the new limits.
    pub(crate) fn ask_old(
        &mut self,
        rules: KernelRules,
        side: Side,
        text: &str,
        old: (u32, u32),
        range: &Range<'_>,
    ) -> Result<(u32, u32), Errno> {
        let value = number::unsigned(text)?;
        let (min, max) = if side == Side::Min { (value, old.1) } else { (old.0, value) };
        let refused = match rules {
            KernelRules::V2_6_18 => min > old.0 && min > max,
            _ => min > old.1 || max < old.0,
        };
        if refused {
            return Err(Errno::EINVAL);
        }
        let limits = range.verify_with_firmware((min, max), self.firmware_max);
        match side {
            Side::Min => self.user_min = limits.0,
            Side::Max => self.user_max = limits.1,
        }
        Ok(limits)
    }
}
