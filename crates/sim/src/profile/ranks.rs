//! The part of a machine file on ranks: what starting and counting cost, and how long a thread stays on a slow CPU.
use serde::Deserialize;

use super::ProfileError;
use super::file::{scaled, wrong};
use crate::ranks::RanksSpec;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ranks {
    threads: u32,
    start_ms: f64,
    start_cycles: u64,
    cycles_per_division: f64,
    stay_ms: f64,
}

impl Ranks {
    pub(super) fn spec(&self) -> Result<RanksSpec, ProfileError> {
        if !(1..=16).contains(&self.threads) {
            return wrong("ranks.threads", "must be 1 to 16");
        }
        if self.start_cycles > 1_000_000_000_000 {
            return wrong("ranks.start_cycles", "is beyond 10^12");
        }
        Ok(RanksSpec {
            threads: self.threads,
            start_ns: scaled("ranks.start_ms", self.start_ms, 1e6, (0.0, 1e6))?,
            start_cycles: self.start_cycles,
            millicycles_per_division: scaled("ranks.cycles_per_division", self.cycles_per_division, 1e3, (0.1, 1e6))?,
            stay_ns: scaled("ranks.stay_ms", self.stay_ms, 1e6, (0.0, 1e9))?,
        })
    }
}
