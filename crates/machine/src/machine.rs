//! One machine, by what a caller may do with it: look, change, run, watch. Nothing here waits.
use serde::{Deserialize, Serialize};

use crate::{
    Acted, Coalescing, CoalescingPlace, Damage, EntryId, Errno, Finished, Job, LedgerError, LeftBehind, OpenEntry,
    ProcessId, Setter, SpawnError, Turn, Undone, Unwatched, Written,
};

/// What a machine is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// As it is named on the command line: `local`, `sim:omap3530`, `ssh:HOST`.
    pub name: String,
    /// Kernel release, or the rules a simulated machine follows and the nearest published kernel.
    pub system: String,
    /// Identity of this boot; changes when volatile settings are lost.
    pub boot_id: String,
    /// Where the other machine of the rig reaches it: an address for `StreamSend`; empty when nobody knows.
    pub address: String,
    /// Whether the caller may write what only root may.
    pub privileged: bool,
    /// Number of the process that acts on it, for names two of them must not both use; 0 on simulated machines.
    pub owner: u32,
}

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Entry {
    /// Name without path.
    pub name: String,
    /// Whether it can be listed.
    pub folder: bool,
    /// Permission bits of a file (0o644); those of a folder are not looked at, it has 0o755.
    pub mode: u32,
    /// What a symbolic link says, where the machine lists links as such: simulated machines do, so that they can be mounted.
    /// Elsewhere a link counts as what it leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

impl Entry {
    /// A file or a folder, by itself or through a link.
    #[must_use]
    pub fn new(name: impl Into<String>, folder: bool, mode: u32) -> Self {
        Entry { name: name.into(), folder, mode, link: None }
    }
}

/// A file kept open for repeated reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Handle(pub u32);

/// What open files read at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The machine's clock right before they were read, ns.
    pub at_ns: u64,
    /// What each handle read, in the order given.
    pub texts: Vec<Result<String, Errno>>,
}

/// What a machine knows of the last change of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LastChange {
    /// When its content last changed, Unix seconds.
    pub unix_s: u64,
    /// Whose file it is: a name, or `uid 1000`.
    pub owner: String,
}

/// The device through which a program asks that waking up takes no longer than so many microseconds. The kernel answers
/// with four bytes; a machine's `read` shows them as a decimal number.
pub const LATENCY_DEVICE: &str = "/dev/cpu_dma_latency";

/// Looks at one machine: nothing here changes it, except that opening a [`crate::LinesPlace`] or reading a
/// [`crate::CommandPlace`] runs the command that it names.
pub trait Look {
    /// What it is.
    fn identity(&self) -> &Identity;

    /// Names in a folder, sorted.
    ///
    /// # Errors
    /// The kernel's error number.
    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Errno>;

    /// The whole text of a file, final newline included; a [`CoalescingPlace`] reads like one, as does a
    /// [`crate::CommandPlace`] where programs run (elsewhere it is `EOPNOTSUPP`), and `/proc/config.gz` as
    /// the text that is packed in it.
    ///
    /// # Errors
    /// The kernel's error number; `EILSEQ` when it is not UTF-8, `EFBIG` beyond 1 MiB.
    fn read(&mut self, path: &str) -> Result<String, Errno>;

    /// The texts of the same files below each of some folders, in the order of both; a name may lead through further
    /// folders. Each is as [`Look::read`] answers. For looking at very many files, to which a machine may have a
    /// quicker way.
    fn read_in(&mut self, folders: &[String], names: &[&str]) -> Vec<Vec<Result<String, Errno>>> {
        let mut texts = |folder: &String| names.iter().map(|name| self.read(&format!("{folder}/{name}"))).collect();
        folders.iter().map(&mut texts).collect()
    }

    /// Interrupt coalescing of a network device: exactly the parameters its driver has.
    ///
    /// # Errors
    /// The kernel's error number: `EOPNOTSUPP` when the driver has none, `ENODEV` when there is no such device.
    fn coalescing(&mut self, device: &str) -> Result<Coalescing, Errno> {
        let place = CoalescingPlace { device, names: Vec::new() };
        self.read(&place.to_string()).map(|text| Coalescing::parse(&text))
    }

    /// Opens a file for repeated reading, a [`crate::LinesPlace`] where programs run, or a [`crate::PerfPlace`] where the
    /// kernel counts that.
    ///
    /// # Errors
    /// The kernel's error number.
    fn open(&mut self, path: &str) -> Result<Handle, Errno>;

    /// Reads open files from their beginning, in order, as close together as can be; `into` is cleared first.
    fn read_many(&mut self, handles: &[Handle], into: &mut Vec<Result<String, Errno>>);

    /// Gives up a handle.
    fn close(&mut self, handle: Handle);

    /// Who last changed a file, and when, as far as the machine remembers: not for what the kernel makes up when it is read.
    fn last_change(&mut self, _path: &str) -> Option<LastChange> {
        None
    }
}

/// Changes one machine. Each change is an entry of its ledger before it is made.
pub trait Change: Look {
    /// Writes the ledger durably, then acts, then reads back. A refusal by the kernel is an answer, not an error.
    ///
    /// # Errors
    /// [`LedgerError`] when the ledger could not be written: then nothing was done.
    fn act(&mut self, turn: &Turn) -> Result<Acted, LedgerError>;

    /// Writes another text to the file of an entry that is held and open, and reads back: for what is written again and
    /// again, as a governor in user space does. The entry says already how the file is restored, and a held one is
    /// restored whatever reads there, so nothing more is written down, however often this is done. Only for files below
    /// `/sys` and `/proc`, which no reboot leaves as they are; such an entry is not to be kept afterwards. A refusal by
    /// the kernel is an answer.
    ///
    /// # Errors
    /// [`LedgerError`]: the entry holds no such file, or its ledger is no longer in place. Then nothing was done.
    fn rewrite(&mut self, entry: EntryId, _text: &str) -> Result<Acted, LedgerError> {
        Err(LedgerError::NotHeld { place: self.identity().name.clone(), entry: entry.0 })
    }

    /// Takes one entry back, three ways: still ours → undone; already back → closed; somebody else's → left alone
    /// unless `force`.
    ///
    /// # Errors
    /// [`LedgerError`] when the outcome could not be recorded.
    fn undo(&mut self, entry: EntryId, force: bool) -> Result<Undone, LedgerError>;

    /// Makes held entries stay until `undo`, all of them or none; durable on return.
    ///
    /// # Errors
    /// [`LedgerError`] when it could not be written down; then they are still held.
    fn keep(&mut self, entries: &[EntryId]) -> Result<(), LedgerError>;

    /// What is turned and not yet undone, oldest first.
    fn open_entries(&self) -> Vec<OpenEntry>;

    /// What of the ledger is damaged: lines that were altered or lost a part. Nobody acts on them.
    fn damage(&self) -> Vec<Damage>;

    /// What was left of a last line of the ledger that was cut off, as far as the machine tells.
    fn torn_tail(&self) -> Option<Damage> {
        None
    }

    /// Sets what is damaged aside for a person to look at, durably, and goes on without it.
    ///
    /// # Errors
    /// [`LedgerError`] when it could not be kept; the damage is still there.
    fn set_damage_aside(&mut self) -> Result<Vec<Damage>, LedgerError>;

    /// Why nothing restores what is held if its owner is killed: the guardian process could not be started. `None` while one
    /// runs, or none is needed.
    fn unguarded(&self) -> Option<String> {
        None
    }

    /// Who sets what we may not set ourselves, where there is somebody.
    fn setter(&mut self) -> Option<&mut dyn Setter> {
        None
    }
}

/// Runs work on one machine.
pub trait Run: Look {
    /// Starts work, and reads around it what the job says.
    ///
    /// # Errors
    /// [`SpawnError`] when it cannot run here.
    fn spawn(&mut self, job: &Job) -> Result<ProcessId, SpawnError>;

    /// Asks a process and its children to end (`force`: makes them).
    fn end(&mut self, process: ProcessId, force: bool);

    /// What is known of a process once [`crate::Wake::Ended`] has named it; only once.
    fn finished(&mut self, process: ProcessId) -> Option<Finished>;

    /// Counts what work that has ended left running, and ends it where `end` says so. Not to be called while any other
    /// work runs: what that leaves is not told apart.
    fn left_behind(&mut self, _end: bool) -> LeftBehind {
        LeftBehind::default()
    }
}

/// Watches who else changes one machine.
pub trait Watch: Look {
    /// From now on notes who else writes to these places (files, [`CoalescingPlace`]s, [`crate::DEVICES`]), instead of those named before;
    /// none ends it. What we write ourselves is not noted, nor what the kernel changes by itself. A file that is not there
    /// yet is watched as soon as it is, at the next [`Watch::take_writes`].
    ///
    /// # Errors
    /// [`Unwatched`] where not all of them can be watched; the others are. A machine that nobody else reaches has none to
    /// tell of, and says nothing.
    fn watch_writers(&mut self, _places: &[String]) -> Result<(), Unwatched> {
        Ok(())
    }

    /// What others have written since it was asked last, in order.
    fn take_writes(&mut self) -> Vec<Written> {
        Vec::new()
    }
}

/// State and action of one machine; see [`crate::World`] for time. What only looks takes a `&mut dyn Look`, and so cannot change
/// anything.
pub trait Machine: Change + Run + Watch {}

impl<M: Change + Run + Watch> Machine for M {}
