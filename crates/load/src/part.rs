//! The processes of a load: what each does, where it runs, and what it waits for.
use powerband_record::{CpuList, Side, Work};

/// What the rig has, for loads that need two ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RigEnds {
    /// Address of the near machine, as the far one reaches it.
    pub near: String,
    /// Address of the far machine, when there is one.
    pub far: Option<String>,
}

/// One process of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadPart {
    /// `load`, `send`, `receive`, `echo`.
    pub name: &'static str,
    /// Where it runs.
    pub side: Side,
    /// What it does. A `port` of 0 in a sender is filled in from what `after` says it listens on.
    pub work: Work,
    /// CPUs it is pinned to.
    pub cpus: Option<CpuList>,
    /// The part that must have said it is ready before this one starts.
    pub after: Option<&'static str>,
    /// Whether it makes the load on its side: meters are read around this part. One a side at most.
    pub metered: bool,
}

impl LoadPart {
    /// The part that makes the load on the near machine and waits for no other.
    pub(crate) fn near(work: Work, cpus: Option<CpuList>) -> Self {
        LoadPart { name: "load", side: Side::Near, work, cpus, after: None, metered: true }
    }
}

/// A part that serves the others: ready when it listens, and ended when they have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its name.
    pub part: &'static str,
    /// The port it listens on, TCP or UDP; whichever comes to listen when `None`.
    pub port: Option<u16>,
}
