//! What others write to a machine's knobs, and that nobody can be seen to.
use powerband_record::Writer;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A place for [`crate::Watch::watch_writers`] that is no file: what the kernel reports of devices and CPUs that come, go, or go
/// in or out of service, and of network links that go up or down. Nobody is named, and `inferred` says what it was.
pub const DEVICES: &str = "devices:";

/// How `inferred` of what was heard at [`DEVICES`] begins.
pub const DEVICES_REPORTED: &str = "the kernel reported: ";

/// A write by somebody else; several by the same to one place between two looks are one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// The place, as it was given to [`crate::Watch::watch_writers`].
    pub place: String,
    /// How long ago it was heard of, ns: before the first of them was taken.
    pub ago_ns: u64,
    /// Who.
    pub by: Writer,
    /// Whether it was a load that runs on the machine, or a process in its session.
    pub by_load: bool,
}

/// Nobody's writes can be seen, at some of the places or all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[error("{why}")]
pub struct Unwatched {
    /// Why, as a sentence goes on after "it cannot be seen who writes: ".
    pub why: String,
}
