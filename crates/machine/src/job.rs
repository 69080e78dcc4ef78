//! Jobs: one piece of Work as one process of one machine, and what is known when it has ended.
use powerband_record::{CpuList, ExitStatus, Output, Usage, Work};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Handle, Sample};

/// Names a process started through [`crate::Run::spawn`]; never reused within a World.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessId(pub u64);

/// What to run and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The work.
    pub work: Work,
    /// CPUs it is pinned to.
    pub cpus: Option<CpuList>,
    /// Control group made by [`crate::Action::MakeGroup`] it runs in.
    pub group: Option<String>,
    /// Whose rights and surroundings it has; ours when `None`.
    pub user: Option<User>,
    /// At most this much of each output stream is kept, bytes; `None` passes them on to our own as they come, which a
    /// machine at a peer cannot: it keeps 1 MiB of each.
    pub output_limit: Option<usize>,
    /// What the machine reads around it.
    pub around: Vec<Sampling>,
}

/// Open files that are read around a piece of work, by the machine that runs it and by its clock: right before the work
/// starts, every period meanwhile, and as soon as it has ended. Of work that waits for another's (a receiver, an echo) the
/// stretch starts when the other's has come, as far as the machine can tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// Read together, in this order.
    pub handles: Vec<Handle>,
    /// How often meanwhile, ns; `None`: only before and after.
    pub period_ns: Option<u64>,
}

/// A user of the machine, as a load needs to know him.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Number.
    pub uid: u32,
    /// Number of the group new files belong to.
    pub gid: u32,
    /// Numbers of all groups.
    pub groups: Vec<u32>,
    /// Name.
    pub name: String,
    /// Home folder.
    pub home: String,
    /// Shell.
    pub shell: String,
}

/// A process that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// How.
    pub status: ExitStatus,
    /// What it cost. Real time runs from exec to exit.
    pub usage: Usage,
    /// The report of built-in work, as JSON.
    pub report: Option<serde_json::Value>,
    /// What it printed.
    pub output: Output,
    /// What was read around it, by the place of its [`Sampling`] in the job: before the start first, after the end last.
    pub around: Vec<Vec<Sample>>,
}

/// Processes that work which has ended left running.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftBehind {
    /// How many there were.
    pub processes: u32,
    /// Some of those that run on although they were to be ended, as `1234 (name)`.
    pub alive: Vec<String>,
}

/// Why work could not be started.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SpawnError {
    /// A simulated machine has no model of it.
    #[error("{machine} is simulated and cannot run {work}; {hint}")]
    NotModelled {
        /// Which machine.
        machine: String,
        /// The work it has no model for.
        work: String,
        /// What would help.
        hint: String,
    },
    /// No such program.
    #[error("there is no program '{0}' here; check the spelling or give its path")]
    NotFound(String),
    /// It exists but may not be run.
    #[error("'{0}' cannot be executed: permission denied; make it executable or run an interpreter with it")]
    Denied(String),
    /// It exists but that user may not run it.
    #[error("'{program}' cannot be executed by {user}: permission denied; let {user} execute it, or add --as-root")]
    DeniedTo {
        /// The program.
        program: String,
        /// Name of the user.
        user: String,
    },
    /// The group, CPU list or anything else was refused.
    #[error("cannot start {what}: {errno}")]
    Refused {
        /// What was tried.
        what: String,
        /// Why not.
        errno: crate::Errno,
    },
}
