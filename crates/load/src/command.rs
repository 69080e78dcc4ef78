//! `command`: any program; wall, user and system time, memory, exit status, and whatever is picked from its output.
use std::collections::BTreeMap;

use powerband_record::{CpuList, Demand, Side, Void, Work};
use serde::{Deserialize, Serialize};

use crate::{Finishes, Part};

/// Any program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandLoad {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// CPUs it is pinned to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<CpuList>,
    /// Take a trial even when the program returns another code than 0.
    #[serde(default)]
    pub ignore_failure: bool,
    /// What it costs, for machines that cannot run it but can model it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand: Option<Demand>,
}

impl CommandLoad {
    pub(crate) fn parts(&self) -> Vec<Part> {
        let work = Work::Command { argv: self.argv.clone(), demand: self.demand.clone() };
        vec![Part { name: "load", side: Side::Near, work, cpus: self.pin.clone(), after: None, metered: true }]
    }
}

pub(crate) fn metrics(finishes: &Finishes) -> Result<BTreeMap<String, f64>, Void> {
    let finished = finishes.get("load").ok_or_else(|| Void::LoadFailed { why: "the command never ran".into() })?;
    let seconds = |ns: u64| ns as f64 / 1e9;
    let usage = finished.usage;
    Ok([
        ("real_s".to_owned(), seconds(usage.real_ns)),
        ("user_s".to_owned(), seconds(usage.user_ns)),
        ("sys_s".to_owned(), seconds(usage.sys_ns)),
        ("peak_rss_kib".to_owned(), usage.peak_rss_kib as f64),
    ]
    .into())
}
