//! The part of a machine file on the caches of its CPUs.
use serde::Deserialize;

use super::ProfileError;
use super::file::wrong;

/// One cache of each CPU, or of several cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSpec {
    /// 1 to 4.
    pub level: u32,
    /// What it holds.
    pub kind: CacheKind,
    /// Its size, KiB.
    pub kib: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Cores that share it.
    pub cores: u32,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheKind {
    /// Data.
    Data,
    /// Instructions.
    Instruction,
    /// Both.
    Unified,
}

impl CacheKind {
    /// As the kernel shows it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CacheKind::Data => "Data",
            CacheKind::Instruction => "Instruction",
            CacheKind::Unified => "Unified",
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cache {
    level: u32,
    kind: CacheKind,
    kib: u32,
    ways: u32,
    cores: u32,
}

impl Cache {
    pub(super) fn spec(&self) -> Result<CacheSpec, ProfileError> {
        let Cache { level, kind, kib, ways, cores } = *self;
        if !(1..=4).contains(&level) || !(1..=1 << 20).contains(&kib) || ways == 0 || cores == 0 {
            return wrong("cpus.caches", "must have a level of 1 to 4, a size of 1 to 1048576 KiB, ways and cores");
        }
        Ok(CacheSpec { level, kind, kib, ways, cores })
    }
}
