//! What a command and the agent at a peer say to each other over a stream of bytes: the shapes, and their frames.
//!
//! A frame is a length (u32, little endian) and so many bytes of JSON. The command opens with [`Hello`], the agent answers
//! with [`Welcome`] or [`Refusal`]; then calls go one way, answers and news the other. A call's number comes back with
//! its answer. How it is used is told in `docs/design/agent.md`.
use powerband_record::ErrorClass;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Action, Asked, EntryId, Finished, Handle, Identity, Job, ProcessId, Turn};

/// Version of everything in this file. Any change of a shape is another version, and other versions are refused.
pub const WIRE_VERSION: u32 = 9;
/// The longest frame, bytes without its length: two outputs of a load of 1 MiB each, escaped, fit.
pub const MAX_FRAME_BYTES: usize = 16 << 20;
/// How long the command is silent when nothing is measured, ns.
pub const IDLE_SILENCE_NS: u64 = 5_000_000_000;
/// The lease outlives the silence that was told by this, ns: the command has its time to ask, and to give up first.
pub const LEASE_MARGIN_NS: u64 = 10_000_000_000;

/// What a machine is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Reading only: no lock, nothing is restored.
    Look,
    /// A dry run: as [`Purpose::Look`], and no command of a plan or of the user is executed.
    Rehearse,
    /// `set` and `undo`: what is set stays, on simulated machines in their log.
    Turn,
    /// `undo`: as [`Purpose::Turn`], but what was left and what is damaged is the verb's own business.
    PutBack,
    /// Trials: a simulated machine starts from its boot.
    Measure,
}

impl Purpose {
    /// Whether nothing is changed.
    #[must_use]
    pub fn only_looks(self) -> bool {
        matches!(self, Purpose::Look | Purpose::Rehearse)
    }
}

/// The command's first word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`WIRE_VERSION`] of the command.
    pub wire: u32,
    /// The command's own version.
    pub powerband: String,
    /// What for.
    pub purpose: Purpose,
    /// What it is doing, for anyone who finds the machine locked.
    pub doing: String,
    /// Where the command itself runs and keeps its ledger, so that an agent on the same host does not share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerPlace>,
}

/// Where a command runs. Two with the same boot are on one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerPlace {
    /// Identity of the boot; never empty.
    pub boot: String,
    /// The network namespace, by its inode.
    pub network_namespace: u64,
    /// Its state folder.
    pub folder: String,
}

/// The agent's first word, when it goes along.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// [`WIRE_VERSION`] of the agent.
    pub wire: u32,
    /// The agent's own version.
    pub powerband: String,
    /// The machine.
    pub identity: Identity,
    /// Address at which the agent sees the command, when its surroundings tell (ssh does).
    pub peer_address: Option<String>,
    /// Folder of the ledger there.
    pub folder: String,
    /// Who holds the machine, as a sentence about a process there, when it is not this agent.
    pub held: Option<String>,
    /// Whether an access service sets there what the agent's user may not.
    #[serde(default)]
    pub sets: bool,
}

/// The agent's only word, when it does not go along.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What the caller can do.
    pub class: ErrorClass,
    /// One sentence.
    pub why: String,
}

/// What the command says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromOwner {
    /// First, and once.
    Hello(Hello),
    /// A call with its number, rising from 1. Each renews the lease.
    Call(u64, Call),
}

/// What the agent says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromAgent {
    /// It goes along.
    Welcome(Box<Welcome>),
    /// It does not, and ends.
    Refused(Refusal),
    /// The answer to the call of this number: its result as [`Call`] says.
    Answer(u64, serde_json::Value),
    /// Built-in work said something.
    Said(ProcessId, serde_json::Value),
    /// A process has ended; everything known of it comes along.
    Ended(ProcessId, Box<Finished>),
}

/// A call of [`crate::Machine`]; the answer is what its method answers, as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// `list`: `Result<Vec<Entry>, Errno>`.
    List(String),
    /// `read`: `Result<String, Errno>`.
    Read(String),
    /// `open`: `Result<Handle, Errno>`.
    Open(String),
    /// `read_many`: `Vec<Result<String, Errno>>`.
    ReadMany(Vec<Handle>),
    /// `close`: nothing.
    Close(Handle),
    /// `act`: `Result<Acted, LedgerError>`.
    Act(Box<Turn>),
    /// `rewrite`, with the text: `Result<Acted, LedgerError>`.
    Rewrite(EntryId, String),
    /// `undo`, and whether to insist: `Result<Undone, LedgerError>`.
    Undo(EntryId, bool),
    /// `keep`: `Result<(), LedgerError>`.
    Keep(Vec<EntryId>),
    /// `open_entries`: `Vec<OpenEntry>`.
    OpenEntries,
    /// `damage`: `Vec<Damage>`.
    Damage,
    /// `set_damage_aside`: `Result<Vec<Damage>, LedgerError>`.
    SetDamageAside,
    /// `last_change`: `Option<LastChange>`.
    LastChange(String),
    /// `watch_writers`: `Result<(), Unwatched>`.
    WatchWriters(Vec<String>),
    /// `take_writes`: `Vec<Written>`.
    TakeWrites,
    /// `spawn`: `Result<ProcessId, SpawnError>`.
    Spawn(Box<Job>),
    /// `end`, and whether to force: nothing.
    End(ProcessId, bool),
    /// `unguarded`: `Option<String>`.
    Unguarded,
    /// `left_behind`, and whether to end it: `LeftBehind`.
    LeftBehind(bool),
    /// From now on the agent gives up when it hears nothing for this long, ns; with 0 its owner lets go: nothing.
    Lease(u64),
    /// `is_needed` of a [`crate::Setter`]: `bool`.
    Needs(Box<Action>),
    /// `set` of a [`crate::Setter`]: `Result<Value, Refusal>`.
    Set(Box<Asked>),
    /// What an access service lets us set, a line each: `Vec<String>`.
    Allowed,
}

impl Call {
    /// Whether only somebody who holds the machine may ask for it.
    #[must_use]
    pub fn turns(&self) -> bool {
        use Call::{Act, End, Keep, LeftBehind, Rewrite, Set, SetDamageAside, Spawn, Undo};
        matches!(
            self,
            Act(_) | Rewrite(..) | Undo(..) | Keep(_) | Set(_) | SetDamageAside | Spawn(_) | End(..) | LeftBehind(_)
        )
    }
}

/// What makes a conversation impossible.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// No frame of ours is so long.
    #[error(
        "what came is not powerband's protocol (a frame of {0} bytes); let nothing else be printed there, by a shell's \
         start-up files say"
    )]
    TooLong(usize),
    /// Not one of the messages.
    #[error("what came is not powerband's protocol: {0}")]
    NotOurs(String),
    /// The other end is another powerband.
    #[error(
        "the peer is powerband {powerband} with protocol version {wire}, this one has version {WIRE_VERSION}; install the same powerband on both machines"
    )]
    OtherVersion {
        /// Its version of the protocol.
        wire: u32,
        /// Its own version.
        powerband: String,
    },
}

/// A message as a frame.
///
/// # Errors
/// [`WireError::TooLong`] when it is longer than any frame may be.
pub fn frame(message: &impl Serialize) -> Result<Vec<u8>, WireError> {
    let json = serde_json::to_vec(message).map_err(|error| WireError::NotOurs(error.to_string()))?;
    let length = u32::try_from(json.len()).ok().filter(|_| json.len() <= MAX_FRAME_BYTES);
    let length = length.ok_or(WireError::TooLong(json.len()))?;
    Ok([&length.to_le_bytes(), json.as_slice()].concat())
}

/// The message in a frame.
///
/// # Errors
/// [`WireError::NotOurs`].
pub fn message<T: DeserializeOwned>(json: &[u8]) -> Result<T, WireError> {
    serde_json::from_slice(json).map_err(|error| WireError::NotOurs(error.to_string()))
}

/// The first message, `hello` or `welcome`, once its version is ours.
///
/// # Errors
/// [`WireError::OtherVersion`], whatever else may stand in it; [`WireError::NotOurs`].
pub fn first_message<T: DeserializeOwned>(json: &[u8]) -> Result<T, WireError> {
    let value: serde_json::Value = message(json)?;
    let told = value.get("hello").or_else(|| value.get("welcome"));
    let wire = told.and_then(|told| told.get("wire")?.as_u64());
    if let Some(wire) = wire.filter(|&wire| wire != u64::from(WIRE_VERSION)) {
        let powerband = told.and_then(|told| told.get("powerband")?.as_str()).unwrap_or("?");
        let powerband = powerband.chars().filter(|c| !c.is_control()).take(40).collect();
        return Err(WireError::OtherVersion { wire: u32::try_from(wire).unwrap_or(u32::MAX), powerband });
    }
    serde_json::from_value(value).map_err(|error| WireError::NotOurs(error.to_string()))
}

/// Frames out of bytes as they come.
#[derive(Debug)]
pub struct Frames {
    bytes: Vec<u8>,
    longest: usize,
}

impl Default for Frames {
    fn default() -> Self {
        Frames::no_longer_than(MAX_FRAME_BYTES)
    }
}

impl Frames {
    /// From somebody who has nothing so long to say, bytes without a frame's length.
    #[must_use]
    pub fn no_longer_than(bytes: usize) -> Self {
        Frames { bytes: Vec::new(), longest: bytes.min(MAX_FRAME_BYTES) }
    }

    /// Some bytes have come.
    pub fn take_in(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The JSON of the next frame that is whole.
    ///
    /// # Errors
    /// [`WireError::TooLong`] as soon as its length is known; nothing good comes after it.
    pub fn next_frame(&mut self) -> Result<Option<Vec<u8>>, WireError> {
        let Some(length) = self.bytes.first_chunk::<4>() else { return Ok(None) };
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if length > self.longest {
            return Err(WireError::TooLong(length));
        }
        if self.bytes.len() < 4 + length {
            return Ok(None);
        }
        let rest = self.bytes.split_off(4 + length);
        let mut frame = std::mem::replace(&mut self.bytes, rest);
        frame.drain(..4);
        Ok(Some(frame))
    }

    /// Whether more is here, and not taken, than anybody has to say at once.
    #[must_use]
    pub fn is_overfull(&self) -> bool {
        self.bytes.len() > 4 * self.longest
    }

    /// How many bytes of the frame that has begun are still to come, as far as that is known.
    #[must_use]
    pub fn missing_bytes(&self) -> usize {
        let Some(length) = self.bytes.first_chunk::<4>() else { return 0 };
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        length.saturating_add(4).saturating_sub(self.bytes.len())
    }

    /// Whether the stream may not end here: half a frame has come.
    #[must_use]
    pub fn is_torn(&self) -> bool {
        !self.bytes.is_empty()
    }
}

#[cfg(test)]
mod tests;
