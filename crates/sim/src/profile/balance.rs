//! The part of a machine file on balancing: which cores share a cache.
use serde::Deserialize;

use super::ProfileError;
use super::file::wrong;
use crate::cpufreq::KernelRules;
use crate::schedule::BalanceSpec;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Balance {
    cores_per_cache: Option<u32>,
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
        Ok(BalanceSpec { packages, cores_per_package: in_package, cores_per_cache, threads })
    }
}
