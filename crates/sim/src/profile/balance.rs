//! The part of a machine file on balancing: which cores share a cache, and what threads of one core leave each other.
use serde::Deserialize;

use super::ProfileError;
use super::file::{scaled, wrong};
use crate::cpufreq::KernelRules;
use crate::schedule::BalanceSpec;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Balance {
    cores_per_cache: Option<u32>,
    thread_speed: Option<f64>,
}

impl Balance {
    /// `cpus` in so many packages, with so many threads a core.
    pub(super) fn spec(
        &self,
        rules: KernelRules,
        cpus: usize,
        packages: u32,
        threads: u32,
    ) -> Result<BalanceSpec, ProfileError> {
        if rules == KernelRules::V6_1 {
            return wrong("balance", "has rules of 2.6.18 and 2.6.32 alone");
        }
        let in_package = u32::try_from(cpus).unwrap_or(u32::MAX) / (packages * threads).max(1);
        let cores_per_cache = self.cores_per_cache.unwrap_or(in_package);
        if cores_per_cache == 0 || !in_package.is_multiple_of(cores_per_cache) {
            return wrong("balance.cores_per_cache", format!("must divide the {in_package} cores of a package"));
        }
        if self.thread_speed.is_some() != (threads > 1) {
            return wrong("balance.thread_speed", "belongs to a machine with two threads a core, and is needed there");
        }
        let thread_ppm = scaled("balance.thread_speed", self.thread_speed.unwrap_or(1.0), 1e6, (0.5, 1.0))?;
        Ok(BalanceSpec { packages, cores_per_package: in_package, cores_per_cache, threads, thread_ppm })
    }
}
