//! `idle`: do nothing for a while, so that the idle machine's watts and clocks can be measured.
use powerband_record::{Metric, Work};
use serde::{Deserialize, Serialize};

use crate::{LoadFacts, LoadKind, LoadPart, RigEnds};

/// Nothing, for a fixed time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IdleLoad {
    /// How long, ns; a plan writes `for = "10s"`.
    #[serde(rename = "for", with = "crate::spelling::duration")]
    pub for_ns: u64,
}

impl Default for IdleLoad {
    fn default() -> Self {
        IdleLoad { for_ns: 10_000_000_000 }
    }
}

impl LoadKind for IdleLoad {
    fn facts(&self) -> &'static LoadFacts {
        &LoadFacts { kind: "idle", ..LoadFacts::NONE }
    }

    fn measured_ns(&self) -> Option<u64> {
        Some(self.for_ns)
    }

    fn metrics(&self) -> Vec<Metric> {
        Vec::new()
    }

    fn parts(&self, _rig: &RigEnds) -> Vec<LoadPart> {
        vec![LoadPart::near(Work::Idle { for_ns: self.for_ns }, None)]
    }
}
