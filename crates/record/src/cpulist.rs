//! Lists of CPUs in the kernel's spelling: `0-3,8`, with strides `0-7:2`.
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A sorted list of CPU numbers without repeats; may be empty (the kernel prints an empty line for "none").
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct CpuList(Vec<u32>);

/// Why a text is not a list of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{0}' is not a list of CPUs; write e.g. 1, 0-3,8 or 0-7:2")]
pub struct CpuListError(String);

/// More CPUs than any Linux kernel is built for (CONFIG_NR_CPUS); keeps `0-4000000000` from filling memory.
const LIMIT: u32 = 65_536;

impl CpuList {
    /// From numbers in any order.
    #[must_use]
    pub fn new(mut cpus: Vec<u32>) -> Self {
        cpus.sort_unstable();
        cpus.dedup();
        CpuList(cpus)
    }

    /// The numbers, ascending.
    #[must_use]
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }

    /// Whether `cpu` is in it.
    #[must_use]
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.binary_search(&cpu).is_ok()
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads the space-separated form of `affected_cpus` and `related_cpus`.
    ///
    /// # Errors
    /// [`CpuListError`] when a word is not a number.
    pub fn parse_spaced(text: &str) -> Result<Self, CpuListError> {
        text.split_whitespace()
            .map(|word| word.parse().map_err(|_| CpuListError(text.into())))
            .collect::<Result<Vec<_>, _>>()
            .map(Self::new)
    }
}

impl FromStr for CpuList {
    type Err = CpuListError;

    fn from_str(text: &str) -> Result<Self, CpuListError> {
        let wrong = || CpuListError(text.trim().into());
        let mut cpus = Vec::new();
        for part in text.trim().split(',').filter(|p| !p.is_empty()) {
            let (range, stride) = part.split_once(':').unwrap_or((part, "1"));
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let first: u32 = first.trim().parse().map_err(|_| wrong())?;
            let last: u32 = last.trim().parse().map_err(|_| wrong())?;
            let stride: usize = stride.parse().map_err(|_| wrong())?;
            if last < first || stride == 0 || last >= LIMIT {
                return Err(wrong());
            }
            cpus.extend((first..=last).step_by(stride));
        }
        Ok(Self::new(cpus))
    }
}

impl TryFrom<String> for CpuList {
    type Error = CpuListError;

    fn try_from(text: String) -> Result<Self, CpuListError> {
        text.parse()
    }
}

impl From<CpuList> for String {
    fn from(list: CpuList) -> String {
        list.to_string()
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_slice();
        let mut first = true;
        while let Some(&start) = rest.first() {
            let run = rest.iter().zip(start..).take_while(|&(&cpu, expected)| cpu == expected).count();
            let end = rest[run - 1];
            if !first {
                f.write_str(",")?;
            }
            first = false;
            if run == 1 {
                write!(f, "{start}")?
            } else {
                write!(f, "{start}-{end}")?
            }
            rest = &rest[run..];
        }
        Ok(())
    }
}
