//! `primes`: primes below a limit, counted by ranks that have equal shares of the numbers and wait for one another.
use powerband_record::{Better, CpuList, Metric, Void, Work, primes_below};
use serde::{Deserialize, Serialize};

use crate::metric::{judged, shown};
use crate::reported::reported;
use crate::{Concluded, Finishes, LoadFacts, LoadKind, LoadPart, RigEnds};

/// Primes counted by ranks that wait for one another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PrimesLoad {
    /// How many ranks; one for each CPU that is online when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// Primes below this are counted. 10000000, the default, takes about a second of one present-day CPU.
    pub limit: u64,
    /// Whether Open MPI's `mpirun` starts the ranks.
    pub mpirun: Mpirun,
    /// CPUs they are pinned to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<CpuList>,
}

/// By what ranks are started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mpirun {
    /// By Open MPI's `mpirun` where there is one. The command finds out before the first trial and puts one of the others
    /// in its place; until then it is as `never`.
    #[default]
    Auto,
    /// As plain processes.
    Never,
    /// By Open MPI's `mpirun`.
    Always,
}

/// The count is made by divisions in 32 bits.
const MAX: u64 = u32::MAX as u64;
/// Ranks that a machine can be asked for.
const RANKS: std::ops::RangeInclusive<u32> = 1..=1024;

impl Default for PrimesLoad {
    fn default() -> Self {
        PrimesLoad { ranks: None, limit: 10_000_000, mpirun: Mpirun::default(), pin: None }
    }
}

impl LoadKind for PrimesLoad {
    fn facts(&self) -> &'static LoadFacts {
        &LoadFacts { kind: "primes", example: "ranks = 4, limit = 10000000", ..LoadFacts::NONE }
    }

    fn measured_ns(&self) -> Option<u64> {
        None
    }

    fn metrics(&self) -> Vec<Metric> {
        let cost = shown(Better::Lower, ["user_s", "sys_s"]);
        let done = shown(Better::Higher, ["primes", "ranks"]);
        [judged("real_s", Better::Lower)].into_iter().chain(cost).chain(done).collect()
    }

    fn mistake(&self) -> Option<&'static str> {
        if !(3..=MAX).contains(&self.limit) {
            Some("its limit must be 3 to 4294967295")
        } else if self.ranks.is_some_and(|ranks| !RANKS.contains(&ranks)) {
            Some("its ranks must be 1 to 1024")
        } else {
            None
        }
    }

    fn describe(&self) -> String {
        let ranks = match self.ranks {
            Some(1) => "1 rank".into(),
            Some(ranks) => format!("{ranks} ranks"),
            None => "a rank for each CPU".to_owned(),
        };
        let started = match self.mpirun {
            Mpirun::Auto => "",
            Mpirun::Never => " as processes",
            Mpirun::Always => " started by mpirun",
        };
        format!("primes below {} by {ranks}{started}", self.limit)
    }

    fn parts(&self, _rig: &RigEnds) -> Vec<LoadPart> {
        let work =
            Work::Primes { ranks: self.ranks, limit: self.limit, mpirun: self.mpirun == Mpirun::Always, among: None };
        vec![LoadPart::near(work, self.pin.clone())]
    }

    /// What it cost, as `time` would tell it: children that were waited for count.
    fn measured(&self, finishes: &Finishes) -> Result<Concluded, Void> {
        let (primes, ranks) = (reported(finishes, "load", "primes")?, reported(finishes, "load", "ranks")?);
        let right = primes_below(self.limit);
        if primes != right as f64 {
            let why = format!("{primes} primes were counted below {}, where there are {right}", self.limit);
            return Err(Void::LoadFailed { why });
        }
        let usage = finishes.get("load").map(|finished| finished.usage).unwrap_or_default();
        let seconds = |ns: u64| ns as f64 / 1e9;
        Ok([
            ("real_s", seconds(usage.real_ns)),
            ("user_s", seconds(usage.user_ns)),
            ("sys_s", seconds(usage.sys_ns)),
            ("primes", primes),
            ("ranks", ranks),
        ]
        .into())
    }

    fn not_on_list(&self) -> Option<&'static str> {
        match (self.ranks, self.mpirun) {
            (None, _) => Some("is shared by all machines; say by how many ranks, e.g. ranks = 18"),
            (_, Mpirun::Always) => Some(
                "cannot be started by mpirun on each machine of a list; write mpirun = \"never\", or run mpirun as a command",
            ),
            _ => None,
        }
    }
}
