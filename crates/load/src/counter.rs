//! `counter`: increment a counter and read the time of day, for a fixed time; after the published loop of 2013.
use powerband_record::{Better, CpuList, Metric, Void, Work};
use serde::{Deserialize, Serialize};

use crate::metric::{judged, shown};
use crate::reported::reported;
use crate::{Concluded, Finishes, LoadFacts, LoadKind, LoadPart, RigEnds};

/// Counts in a loop for a fixed time on one CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CounterLoad {
    /// How long, ns; a plan writes `for = "5s"`.
    #[serde(rename = "for", with = "crate::spelling::duration")]
    pub for_ns: u64,
    /// Spin until a new second of wall time begins before counting, as the published program does.
    pub align_to_second: bool,
    /// CPUs it is pinned to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<CpuList>,
}

impl Default for CounterLoad {
    fn default() -> Self {
        CounterLoad { for_ns: 2_000_000_000, align_to_second: false, pin: None }
    }
}

impl LoadKind for CounterLoad {
    fn facts(&self) -> &'static LoadFacts {
        &LoadFacts { kind: "counter", ..LoadFacts::NONE }
    }

    fn measured_ns(&self) -> Option<u64> {
        Some(self.for_ns)
    }

    fn length_ns(&self) -> Option<u64> {
        const SECOND_NS: u64 = 1_000_000_000;
        Some(self.for_ns.saturating_add(if self.align_to_second { SECOND_NS } else { 0 }))
    }

    fn metrics(&self) -> Vec<Metric> {
        [judged("count_per_s", Better::Higher)].into_iter().chain(shown(Better::Higher, ["count"])).collect()
    }

    fn parts(&self, _rig: &RigEnds) -> Vec<LoadPart> {
        let work = Work::Counter { for_ns: self.for_ns, align_to_second: self.align_to_second };
        vec![LoadPart::near(work, self.pin.clone())]
    }

    fn measured(&self, finishes: &Finishes) -> Result<Concluded, Void> {
        let (count, seconds) = (reported(finishes, "load", "count")?, reported(finishes, "load", "seconds")?);
        if seconds <= 0.0 || count <= 0.0 {
            return Err(Void::LoadFailed { why: format!("the counter counted {count} in {seconds} s") });
        }
        Ok([("count", count), ("count_per_s", count / seconds)].into())
    }
}
