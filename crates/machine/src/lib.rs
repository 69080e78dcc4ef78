//! THE BOX, as traits: World, Machine, Action and the ledger's format. Touches nothing.
//!
//! A [`Machine`] is state and action and never waits; the machines of a rig belong to one [`World`], which has the one
//! blocking call, [`World::wait`]. `host` implements both over the operating system, `sim` over arithmetic; everything
//! above runs unchanged on either.
mod action;
mod coalescing;
mod command;
mod errno;
mod error_recorder;
mod job;
pub mod ledger;
mod ledgered;
mod machine;
mod perf;
mod readable;
mod setter;
pub mod wire;
mod world;
mod writes;

pub use action::{Acted, Action, Before, CpuQuota, Hold, Turn, draft_of, replaced_by};
pub use coalescing::{Coalescing, CoalescingPlace, PARAMETERS, Parameter};
pub use command::{CommandPlace, LinesPlace};
pub use errno::Errno;
pub use error_recorder::{ErrorRecorder, ReadFailure};
pub use job::{Finished, Job, LeftBehind, ProcessId, Sampling, SpawnError, User};
pub use ledger::{
    Damage, EntryId, EntryOrigin, KEPT, Ledger, LedgerError, LedgerStore, MemoryLedger, OpenEntry, Undone,
};
pub use ledgered::{Device, LedgerRead, Ledgered, Performed, Rule};
pub use machine::{Change, Entry, Handle, Identity, LATENCY_DEVICE, LastChange, Look, Machine, Run, Sample, Watch};
pub use perf::PerfPlace;
pub use readable::{Readable, resolved_place};
pub use setter::{Asked, AskedKnob, Setter};
pub use world::{StopSignal, UserSignal, Wake, World};
pub use writes::{DEVICES, DEVICES_REPORTED, Unwatched, Written};
