//! The part of a machine file on serving: what transactions and requests cost, and how customers come.
use serde::Deserialize;

use super::ProfileError;
use super::file::{scaled, wrong};
use crate::serve::ServeSpec;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Serve {
    transaction_cycles: u64,
    request_cycles: u64,
    request_variation: f64,
    serial_cycles: u64,
    memory_share: f64,
    #[serde(default)]
    burst_gain: f64,
    #[serde(default)]
    burst_share: f64,
    #[serde(default)]
    burst_period_s: f64,
}

impl Serve {
    pub(super) fn spec(&self) -> Result<ServeSpec, ProfileError> {
        let costs = [
            ("serve.transaction_cycles", self.transaction_cycles),
            ("serve.request_cycles", self.request_cycles),
            ("serve.serial_cycles", self.serial_cycles),
        ];
        for (key, cycles) in costs {
            if !(1..=1_000_000_000_000).contains(&cycles) {
                return wrong(key, "must be 1 to 10^12");
            }
        }
        scaled("serve.request_variation", self.request_variation, 1.0, (0.0, 10.0))?;
        scaled("serve.burst_share", self.burst_share, 1.0, (0.0, 0.99))?;
        scaled("serve.burst_gain", self.burst_gain, 1.0, (0.0, 100.0))?;
        if self.burst_gain * self.burst_share > 1.0 - self.burst_share {
            return wrong("serve.burst_gain", "is so high that fewer than no customers would come between bursts");
        }
        Ok(ServeSpec {
            transaction_cycles: self.transaction_cycles,
            request_cycles: self.request_cycles,
            request_variation: self.request_variation,
            serial_cycles: self.serial_cycles,
            memory_ppm: scaled("serve.memory_share", self.memory_share, 1e6, (0.0, 1.0))?,
            burst_gain: self.burst_gain,
            burst_share: self.burst_share,
            burst_period_ns: scaled("serve.burst_period_s", self.burst_period_s, 1e9, (0.0, 1e5))?,
        })
    }
}
