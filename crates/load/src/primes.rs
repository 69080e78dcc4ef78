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

#[cfg(test)]
mod tests {
    use powerband_machine::Finished;
    use powerband_record::{ExitStatus, Output, Usage};
    use serde_json::json;

    use super::*;
    use crate::Load;

    fn counted(primes: u64) -> Finishes {
        let usage = Usage { real_ns: 1_500_000_000, user_ns: 5_000_000_000, sys_ns: 20_000_000, peak_rss_kib: 0 };
        let report = json!({"primes": primes, "ranks": 4, "cpu_seconds": 4.9});
        let output = Output { stdout: String::new(), stderr: String::new(), cut: false };
        let status = ExitStatus::Code(0);
        [("load", Finished { status, usage, report: Some(report), output, around: Vec::new() })].into()
    }

    #[test]
    fn times_are_those_of_all_ranks() {
        let load = Load::builtin("primes", None).unwrap();
        let metrics = load.conclude(&counted(664_579)).unwrap().values;
        assert_eq!((metrics["real_s"], metrics["user_s"], metrics["sys_s"]), (1.5, 5.0, 0.02));
        assert!(load.metrics().iter().all(|metric| metrics.contains_key(&metric.name)), "every promised metric comes");
    }

    #[test]
    fn a_wrong_count_is_a_failed_load() {
        let Err(Void::LoadFailed { why }) = Load::builtin("primes", None).unwrap().conclude(&counted(664_578)) else {
            panic!("a prime is missing")
        };
        assert_eq!(why, "664578 primes were counted below 10000000, where there are 664579");
    }

    #[test]
    fn plans_spell_it_and_slips_are_refused() {
        let spelled = json!({"kind": "primes", "ranks": 18, "limit": 1000, "mpirun": "always"});
        let load: Load = serde_json::from_value(spelled.clone()).unwrap();
        assert_eq!(serde_json::to_value(&load).unwrap(), spelled);
        assert_eq!(load.describe(), "primes below 1000 by 18 ranks started by mpirun");
        assert!(load.check().is_ok() && load.length_ns().is_none());
        for bad in [json!({"limit": 2}), json!({"limit": 1_u64 << 32}), json!({"ranks": 0}), json!({"ranks": 1025})] {
            let primes: PrimesLoad = serde_json::from_value(bad.clone()).unwrap();
            assert!(Load::Primes(primes).check().is_err(), "{bad}");
        }
        assert!(serde_json::from_value::<PrimesLoad>(json!({"mpirun": "perhaps"})).is_err());
        let length = Load::builtin("primes", Some(1)).unwrap_err().to_string();
        assert_eq!(length, "the load 'primes' runs to its own end; leave out --for");
    }
}
