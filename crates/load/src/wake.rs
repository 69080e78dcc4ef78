//! `wake`: how late a sleeper wakes, in the manner of cyclictest: one thread sleeps until times fixed beforehand and looks at
//! the clock when it runs. The idle policy is left alone, so that what it does is seen.
use powerband_record::{Better, CpuList, Metric, Side, Void, Work};
use serde::{Deserialize, Serialize};

use crate::latency::percentiles;
use crate::metric::{judged, shown};
use crate::reported::reported;
use crate::{Concluded, Finishes, LoadFacts, LoadKind, LoadPart, RigEnds};

/// One thread that sleeps and wakes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WakeLoad {
    /// How long, ns; a plan writes `for = "10s"`.
    #[serde(rename = "for", with = "crate::spelling::duration")]
    pub for_ns: u64,
    /// From one waking to the next, ns; a plan writes `interval = "1ms"`.
    #[serde(rename = "interval", with = "crate::spelling::duration")]
    pub interval_ns: u64,
    /// Real-time priority (SCHED_FIFO, sched(7)), 1 to 99, which needs the right; 0 is an ordinary thread.
    pub priority: u32,
    /// Next to it an ordinary process counts on the same CPU, which so never sleeps.
    pub busy: bool,
    /// CPU it stays on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<CpuList>,
}

impl Default for WakeLoad {
    fn default() -> Self {
        WakeLoad { for_ns: 10_000_000_000, interval_ns: 1_000_000, priority: 0, busy: false, pin: None }
    }
}

/// Intervals that can be kept, ns.
const INTERVALS_NS: std::ops::RangeInclusive<u64> = 50_000..=10_000_000_000;

/// Who counts next to it goes on a little longer, so that the last wakings are like the first, ns.
const LONGER_NS: u64 = 200_000_000;

impl LoadKind for WakeLoad {
    fn facts(&self) -> &'static LoadFacts {
        &LoadFacts {
            kind: "wake",
            example: "interval = \"1ms\", priority = 80",
            histogram: Some("wake_ns"),
            ..LoadFacts::NONE
        }
    }

    fn measured_ns(&self) -> Option<u64> {
        Some(self.for_ns)
    }

    fn metrics(&self) -> Vec<Metric> {
        let other = shown(Better::Lower, ["p90_us", "p99_us", "max_us", "mean_us"]);
        [judged("p50_us", Better::Lower)].into_iter().chain(other).collect()
    }

    fn mistake(&self) -> Option<&'static str> {
        if !INTERVALS_NS.contains(&self.interval_ns) {
            Some("its interval must be 50us to 10s")
        } else if self.interval_ns > self.for_ns {
            Some("its interval is longer than all of it")
        } else if self.priority > 99 {
            Some("its priority must be 0 to 99")
        } else if self.busy && self.pin.as_ref().is_none_or(|cpus| cpus.as_slice().len() != 1) {
            Some("busy = true needs the one CPU that is kept busy, e.g. pin = \"1\"")
        } else {
            None
        }
    }

    fn parts(&self, _rig: &RigEnds) -> Vec<LoadPart> {
        let wake = Work::Wake { for_ns: self.for_ns, interval_ns: self.interval_ns, priority: self.priority };
        let busy = Work::Counter { for_ns: self.for_ns + LONGER_NS, align_to_second: false };
        let part = |name, work| LoadPart {
            name,
            side: Side::Near,
            work,
            cpus: self.pin.clone(),
            after: None,
            metered: name == "load",
        };
        self.busy.then(|| part("busy", busy)).into_iter().chain([part("load", wake)]).collect()
    }

    fn measured(&self, finishes: &Finishes) -> Result<Concluded, Void> {
        let number = |key| reported(finishes, "load", key);
        let wakes = number("wakes")?;
        if wakes <= 0.0 {
            return Err(Void::LoadFailed { why: "it never woke".into() });
        }
        let mut metrics = percentiles(finishes, wakes)?;
        metrics.insert("mean_us".to_owned(), number("mean_ns")? / 1e3);
        Ok(metrics.into())
    }
}
