//! `counter`: increment a counter and read the time of day, for a fixed time; after the published loop of 2013.
use powerband_record::{CpuList, Side, Work};
use serde::{Deserialize, Serialize};

use crate::LoadPart;

/// Counts in a loop for a fixed time on one CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterLoad {
    /// How long, ns; a plan writes `for = "5s"`.
    #[serde(rename = "for", default = "two_seconds", with = "crate::load::duration")]
    pub for_ns: u64,
    /// Spin until a new second of wall time begins before counting, as the published program does.
    #[serde(default)]
    pub align_to_second: bool,
    /// CPUs it is pinned to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<CpuList>,
}

fn two_seconds() -> u64 {
    2_000_000_000
}

impl Default for CounterLoad {
    fn default() -> Self {
        CounterLoad { for_ns: two_seconds(), align_to_second: false, pin: None }
    }
}

impl CounterLoad {
    pub(crate) fn parts(&self) -> Vec<LoadPart> {
        let work = Work::Counter { for_ns: self.for_ns, align_to_second: self.align_to_second };
        vec![LoadPart { name: "load", side: Side::Near, work, cpus: self.pin.clone(), after: None, metered: true }]
    }
}
