//! `command`: any program; wall, user and system time, memory, exit status, and whatever is picked from its output.
use std::collections::BTreeMap;

use powerband_machine::Finished;
use powerband_record::{Better, CpuList, Demand, Metric, Side, Void, Work};
use serde::{Deserialize, Serialize};

use crate::drivers::{self, Driver, judged, shown};
use crate::{Concluded, Finishes, Part, Reads, Rig};

/// Any program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandLoad {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// What it talks to, on the far machine: starts first, and is ended when the command has ended. `{far}` and `{near}` in
    /// either stand for the machines' addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub far_command: Vec<String>,
    /// The port that listens on; whichever comes to listen when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_port: Option<u16>,
    /// CPUs it is pinned to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<CpuList>,
    /// Take a trial even when the program returns another code than 0.
    #[serde(default)]
    pub ignore_failure: bool,
    /// Whose output it prints; the program's it begins with, if that is one that is known.
    #[serde(default, skip_serializing_if = "is_auto")]
    pub reads: Reads,
    /// What it costs, for machines that cannot run it but can model it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand: Option<Demand>,
}

/// The part of a command's far end.
pub(crate) const FAR_END: &str = "far";

/// Words with the machines' addresses in their places.
fn addressed(words: &[String], rig: &Rig) -> Vec<String> {
    let far = rig.far.as_ref().unwrap_or(&rig.near);
    words.iter().map(|word| word.replace("{far}", far).replace("{near}", &rig.near)).collect()
}

fn is_auto(reads: &Reads) -> bool {
    *reads == Reads::Auto
}

impl CommandLoad {
    pub(crate) fn parts(&self, rig: &Rig) -> Vec<Part> {
        let work = Work::Command { argv: addressed(&self.argv, rig), demand: self.demand.clone() };
        let load = Part { name: "load", side: Side::Near, work, cpus: self.pin.clone(), after: None, metered: true };
        if self.far_command.is_empty() {
            return vec![load];
        }
        // Without a far machine both ends are here, and one of them is metered.
        let side = if rig.far.is_some() { Side::Far } else { Side::Near };
        let work = Work::Command { argv: addressed(&self.far_command, rig), demand: None };
        let far = Part { name: FAR_END, side, work, cpus: None, after: None, metered: side == Side::Far };
        vec![far, Part { after: Some(FAR_END), ..load }]
    }

    /// Whether the far machine's address is part of it.
    pub(crate) fn names_far(&self) -> bool {
        self.argv.iter().chain(&self.far_command).any(|word| word.contains("{far}"))
    }

    /// What reads its output. A command that may be modelled is read only where the plan says so: a model prints nothing.
    pub(crate) fn driver(&self) -> Option<Driver> {
        if self.demand.is_some() && self.reads == Reads::Auto { None } else { drivers::driver(&self.argv, self.reads) }
    }

    /// How to have its output read, if that is to be said.
    pub(crate) fn advice(&self) -> Option<String> {
        if self.demand.is_some() { None } else { drivers::advice(&self.argv, self.reads) }
    }

    /// What its output says, which is judged, and what any process tells; which is judged where nothing is read.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let mut metrics = self.driver().map(|driver| driver.metrics().to_vec()).unwrap_or_default();
        let alone = !metrics.iter().any(|metric| metric.judged);
        metrics.push(Metric { judged: alone, ..judged("real_s", Better::Lower) });
        metrics.extend(shown(["user_s", "sys_s", "peak_rss_kib"]));
        metrics
    }

    /// What it came to.
    ///
    /// # Errors
    /// [`Void::LoadFailed`] where its output is no measurement.
    pub(crate) fn conclude(&self, finishes: &Finishes) -> Result<Concluded, Void> {
        let finished = finishes.get("load").ok_or_else(|| Void::LoadFailed { why: "the command never ran".into() })?;
        let driver = self.driver();
        let reading = driver.map(|driver| driver.read(finished)).transpose().map_err(|why| Void::LoadFailed { why })?;
        let reading = reading.unwrap_or_default();
        if let Some(lossy) = reading.as_lossy() {
            return Err(lossy);
        }
        let mut values = usage(finished);
        values.extend(reading.values);
        Ok(Concluded { values, missing: reading.missing, notes: reading.notes })
    }
}

impl CommandLoad {
    /// A run that failed for what it lost, where its driver can say so.
    pub(crate) fn lossy(&self, finishes: &Finishes) -> Option<Void> {
        self.driver()?.read(finishes.get("load")?).ok()?.as_lossy()
    }
}

fn usage(finished: &Finished) -> BTreeMap<String, f64> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let usage = finished.usage;
    [
        ("real_s".to_owned(), seconds(usage.real_ns)),
        ("user_s".to_owned(), seconds(usage.user_ns)),
        ("sys_s".to_owned(), seconds(usage.sys_ns)),
        ("peak_rss_kib".to_owned(), usage.peak_rss_kib as f64),
    ]
    .into()
}
