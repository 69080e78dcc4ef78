//! Why a rig cannot be opened or used, sorted by what the caller can do about it.
use std::path::PathBuf;

use powerband_host::{AgentError, LockError, RecordedError, RemoteError};
use powerband_machine::{Errno, LedgerError};
use powerband_record::{ErrorClass, Hint, Side};
use powerband_sim::ProfileError;
use thiserror::Error;

use crate::FileError;
use crate::access::AccessError;

/// Why there is no rig.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RigError {
    /// A slip of the keyboard.
    #[error("there is no machine '{0}'")]
    UnknownMachine(String),
    /// Several hosts in one name: a rig has two machines, each named on its own.
    #[error("'{name}' names several hosts, and each machine of a rig has an option of its own")]
    SeveralHosts {
        /// As named.
        name: String,
        /// The first host.
        near: String,
        /// The second host.
        far: String,
    },
    /// A machine of a list that cannot be in it.
    #[error("'{text}' cannot be in a list of machines: {why}; write e.g. n1=ssh:host1,n2=ssh:host2")]
    List {
        /// As named.
        text: String,
        /// Why not.
        why: String,
    },
    /// What stands behind `#` is no number.
    #[error("'{0}' is not a seed; write e.g. sim:omap3530#7")]
    NotASeed(String),
    /// A simulated machine and a real one.
    #[error("the machines of one rig are either all real or all simulated; both share one clock")]
    MixedClocks,
    /// Both machines are this one.
    #[error("this machine cannot be its own peer")]
    OwnPeer,
    /// Both machines are the same simulated one, and something is to be kept.
    #[error(
        "two machines are the same sim:{0}, and what is set on it is kept once; name two, as sim:{0}#1 and sim:{0}#2"
    )]
    SameSimulated(String),
    /// A table has nothing to be looked at.
    #[error("{0} is a table of measurements: there is nothing to look at or to set")]
    Table(String),
    /// Nothing is ever changed on a recorded machine.
    #[error("a recorded machine cannot be set: {0} answers what it read when it was captured")]
    Recorded(String),
    /// No other program can change a simulated machine.
    #[error("no other program changes {name} while powerband has it")]
    AloneSimulated {
        /// As named.
        name: String,
        /// Its profile.
        profile: String,
    },
    /// Nothing changes a recording.
    #[error("{0} is a recording, in which nothing happens any more")]
    AloneRecorded(String),
    /// Nothing changes a table.
    #[error("{0} is a table, in which nothing happens")]
    AloneTable(String),
    /// The command that leads to a machine cannot be split into words.
    #[error("{0}")]
    Words(String),
    /// There is no state folder.
    #[error("there is no place for results: set HOME, or POWERBAND_STATE_DIR to a folder")]
    NoPlace,
    /// The state folder is named in a way that depends on where one is.
    #[error("POWERBAND_STATE_DIR is '{}', which is no whole path; write POWERBAND_STATE_DIR={}", .named.display(), .whole.display())]
    RelativePlace {
        /// As it was named.
        named: PathBuf,
        /// The same from the root.
        whole: PathBuf,
    },
    /// A file that was named cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A machine file of the user's is none.
    #[error("{name}: {error}")]
    MachineFile {
        /// Its path.
        name: String,
        /// Why.
        error: ProfileError,
    },
    /// There is no such built-in machine.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A recording cannot be opened.
    #[error(transparent)]
    Recording(#[from] RecordedError),
    /// Somebody else has the machine, or the lock cannot be made.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// What was damaged in a ledger cannot be set aside, or a simulated machine cannot keep one.
    #[error(transparent)]
    LedgerUnusable(LedgerError),
    /// A remote machine is not reached.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// An agent has no owner, or its file was changed.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// There is no access service, or no session of it.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The system refuses what every World needs.
    #[error("{0}")]
    World(Errno),
    /// A simulated machine does not boot.
    #[error("{0}")]
    Boot(String),
    /// A machine was lost while it was used.
    #[error("lost the {side} machine: {why}; what is held there goes back by itself")]
    Lost {
        /// Which.
        side: Side,
        /// Why.
        why: String,
    },
    /// The machine is not there any more.
    #[error("the machine is gone")]
    Gone,
    /// The state folder is not the one that was locked.
    #[error("the state folder {0} was deleted, moved or replaced while powerband used it; every setting is restored")]
    Displaced(String),
    /// What an interrupted owner left could not be restored.
    #[error("RESTORE INCOMPLETE: {}; an interrupted powerband had left it; {} says what was there", .left.join(", "), .ledgers.join(" or "))]
    RestoreIncomplete {
        /// What is not restored, a few words each.
        left: Vec<String>,
        /// The ledgers that say what was there.
        ledgers: Vec<String>,
    },
    /// What the owner of a served machine held could not be restored.
    #[error("RESTORE INCOMPLETE: {}; {folder} says what was there", .left.join(", "))]
    LeftByOwner {
        /// What is not restored, a few words each.
        left: Vec<String>,
        /// The ledger's folder.
        folder: String,
    },
    /// A damaged ledger announced changes that only a person can restore.
    #[error("{}", .0.join("; "))]
    Damaged(Vec<String>),
}

impl RigError {
    /// What the caller can do.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        use ErrorClass::{Aborted, Denied, RestoreIncomplete, Stopped, Unsupported, Usage};
        match self {
            RigError::UnknownMachine(_)
            | RigError::SeveralHosts { .. }
            | RigError::NotASeed(_)
            | RigError::MixedClocks
            | RigError::List { .. }
            | RigError::OwnPeer
            | RigError::SameSimulated(_)
            | RigError::Words(_)
            | RigError::NoPlace
            | RigError::RelativePlace { .. }
            | RigError::MachineFile { .. }
            | RigError::Profile(_)
            | RigError::Recording(_) => Usage,
            RigError::File(error) => error.class(),
            RigError::Access(AccessError::NotRoot) => Denied,
            RigError::Access(AccessError::Listener(_) | AccessError::Peer(_)) => Aborted,
            RigError::Access(_) => Usage,
            RigError::Table(_)
            | RigError::Recorded(_)
            | RigError::AloneSimulated { .. }
            | RigError::AloneRecorded(_)
            | RigError::AloneTable(_) => Unsupported,
            RigError::Lock(
                LockError::Unusable { errno: Errno::EACCES | Errno::EPERM, .. } | LockError::NotOurs { .. },
            ) => Denied,
            RigError::Ledger(error) if matches!(error.errno(), Some(Errno::EACCES | Errno::EPERM)) => Denied,
            RigError::Remote(RemoteError::NotStarted { .. }) => Usage,
            RigError::Remote(RemoteError::Stopped { .. }) => Stopped,
            // A peer can report what it lacks, but not that we were stopped or that our load failed.
            RigError::Remote(RemoteError::Refused {
                class: class @ (Usage | Denied | Unsupported | RestoreIncomplete),
                ..
            }) => *class,
            RigError::RestoreIncomplete { .. } | RigError::LeftByOwner { .. } | RigError::Damaged(_) => {
                RestoreIncomplete
            }
            RigError::Lock(_)
            | RigError::Ledger(_)
            | RigError::LedgerUnusable(_)
            | RigError::Remote(_)
            | RigError::Agent(_)
            | RigError::World(_)
            | RigError::Boot(_)
            | RigError::Lost { .. }
            | RigError::Gone
            | RigError::Displaced(_) => Aborted,
        }
    }

    /// What a person can do, where the sentence does not say it.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        Some(match self {
            RigError::UnknownMachine(_) => Hint::MachineNames,
            RigError::SeveralHosts { near, far, .. } => Hint::EachMachine { near: near.clone(), far: far.clone() },
            RigError::OwnPeer => Hint::LeaveOutPeer,
            RigError::Table(name) => Hint::MeasureTable(name.clone()),
            RigError::Recorded(_) => Hint::RehearseSimulated,
            RigError::Recording(error) => return error.hint(),
            RigError::Remote(error) => return error.hint(),
            RigError::Agent(error) => return error.hint(),
            RigError::AloneSimulated { profile, .. } => Hint::ServeSimulated(profile.clone()),
            _ => return None,
        })
    }
}

impl FileError {
    /// What the caller can do.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        if matches!(self, FileError::Stopped { .. }) { ErrorClass::Stopped } else { ErrorClass::Usage }
    }
}
