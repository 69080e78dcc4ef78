//! `idle`: do nothing for a while, so that the idle machine's watts and clocks can be measured.
use powerband_record::{Side, Work};
use serde::{Deserialize, Serialize};

use crate::LoadPart;

/// Nothing, for a fixed time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleLoad {
    /// How long, ns; a plan writes `for = "10s"`.
    #[serde(rename = "for", default = "ten_seconds", with = "crate::load::duration")]
    pub for_ns: u64,
}

fn ten_seconds() -> u64 {
    10_000_000_000
}

impl Default for IdleLoad {
    fn default() -> Self {
        IdleLoad { for_ns: ten_seconds() }
    }
}

impl IdleLoad {
    pub(crate) fn parts(&self) -> Vec<LoadPart> {
        let work = Work::Idle { for_ns: self.for_ns };
        vec![LoadPart { name: "load", side: Side::Near, work, cpus: None, after: None, metered: true }]
    }
}
