//! What a person can do about a failure or a note. Libraries name it; the command has the words, as only it knows its options.
use serde::{Deserialize, Serialize};

/// What the caller can do about a failure. The command has an exit code for each; an agent's refusal carries one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// Mend the words, the plan or the value.
    Usage,
    /// Get the permission.
    Denied,
    /// Nothing here: it is not supported.
    Unsupported,
    /// Restore by hand what could not be restored.
    RestoreIncomplete,
    /// Look at the load.
    LoadFailed,
    /// Report it: what must not fail has failed.
    Failed,
    /// Try again once the reason is gone.
    Aborted,
    /// Nothing: a stop was asked for.
    Stopped,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// Name a machine as machines are named.
    MachineNames,
    /// Give each machine of a rig on its own: two hosts that were named in one place.
    EachMachine {
        /// The first host.
        near: String,
        /// The second host.
        far: String,
    },
    /// Leave out the peer machine: without one a stream runs over the machine's loopback.
    LeaveOutPeer,
    /// Name the peer machine.
    NamePeer,
    /// Measure on this table instead of looking at it.
    MeasureTable(String),
    /// Rehearse on a simulated machine.
    RehearseSimulated,
    /// Serve this simulated machine to other programs.
    ServeSimulated(String),
    /// Restore what an interrupted owner left, although something else has changed it since.
    RestoreForeign,
    /// Forget what an interrupted owner left.
    ForgetLeft,
    /// Undo on the machine that is meant.
    UndoThere,
    /// Restore the one setting, or the several, that an interrupted owner left.
    RestoreLeft {
        /// More than one setting.
        several: bool,
    },
    /// Restore what an interrupted owner left on this remote machine.
    RestoreLeftAt(String),
    /// Run the load as root.
    LoadAsRoot,
    /// Run it as root.
    AsRoot,
    /// Record a machine into a folder first.
    Capture,
    /// Give a slow machine more time for its answers.
    SlowPeer,
    /// Name this machine from the other one, which then speaks to an agent here.
    NameAgent,
    /// List what is changed.
    ListChanged,
    /// Name another place for the store.
    OtherStore,
    /// Update powerband, or name another place for the store.
    Update,
    /// List the experiments there are.
    ListExperiments,
    /// List the experiments, with their states.
    ListStates,
    /// Make a first experiment.
    MakeExperiment,
    /// Run a first plan.
    RunFirstPlan,
    /// Run the plan itself instead.
    RunPlan,
    /// Leave out what runs around trials.
    LeaveOutHooks,
    /// Give a seed.
    GiveSeed,
    /// Give a margin.
    GiveMargin,
    /// Allow the commands.
    Trust,
    /// Write a page of an experiment.
    WritePage,
    /// Resume this experiment.
    Resume(i64),
    /// Resume an experiment as it was begun, or begin its plan anew.
    AsBegun {
        /// The experiment.
        id: i64,
        /// The plan's file.
        plan: String,
    },
    /// Deliver what only the local file of a shared store has.
    PushStore,
    /// Show an experiment of another store.
    ShowStored {
        /// The store's file.
        store: String,
        /// The experiment.
        id: i64,
    },
}
