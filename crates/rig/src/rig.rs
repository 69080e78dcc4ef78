//! An open rig: a World, its ledgers, and the lock that makes us the only one who changes its machines.
use std::path::{Path, PathBuf};

use powerband_host::{Lock, forget_remote_note, remote_note_folder};
use powerband_machine::wire::Purpose;
use powerband_machine::{EntryId, Machine, World};
use powerband_record::Side;

use crate::machine_name::simulated;
use crate::{LedgerLocation, MachineName, Names, RigError, leftovers};

/// An open rig.
pub struct Rig {
    pub(crate) world: Box<dyn World>,
    /// The ledgers that outlive us; none for simulated machines in trials.
    pub(crate) ledgers: Vec<LedgerLocation>,
    /// Held for as long as we may change something.
    pub(crate) locks: Vec<Lock>,
    /// Remote machines on which we may change something, as named.
    pub(crate) noted: Vec<(Side, String)>,
}

/// Why and how a rig is opened.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// Seed of simulated machines.
    pub seed: Option<u64>,
    /// What for.
    pub purpose: Purpose,
    /// Whether simulated machines start from their boot, as for trials and their dry run, and not with what `set` keeps.
    pub from_boot: bool,
    /// What we are doing, in the words we were called with: others find it in the locks.
    pub doing: &'a str,
    /// Whether the rig is closed within moments, so that others wait for its locks.
    pub for_a_moment: bool,
}

impl Rig {
    /// Its World.
    pub fn world(&mut self) -> &mut dyn World {
        self.world.as_mut()
    }

    /// One of its machines.
    ///
    /// # Errors
    /// [`RigError::Gone`].
    pub fn machine(&mut self, side: Side) -> Result<&mut dyn Machine, RigError> {
        self.world.machine(side).ok_or(RigError::Gone)
    }

    /// Where the near machine's ledger is kept.
    #[must_use]
    pub fn ledger_place(&self) -> String {
        self.ledgers.first().map_or_else(|| "in memory".into(), LedgerLocation::ledger)
    }

    /// Where the machines' ledgers are kept.
    #[must_use]
    pub fn ledgers(&self) -> Vec<LedgerLocation> {
        self.ledgers.clone()
    }

    /// Where one machine's ledger is kept.
    #[must_use]
    pub fn ledger_of(&self, side: Side) -> Option<&LedgerLocation> {
        self.ledgers.iter().find(|ledger| ledger.side == side)
    }

    /// Forgets what is noted here of remote machines that hold nothing: a caller that looked need not be warned of them.
    pub fn forget_clean(&mut self) {
        for LedgerLocation { side, remote, .. } in self.ledgers() {
            let Some(there) = remote else { continue };
            let holds = |machine: &mut dyn Machine| !leftovers::held(machine).is_empty();
            if !self.world().machine(side).is_none_or(holds) && !is_lost(self.world(), side) {
                forget_remote_note(&there.machine);
            }
        }
    }

    /// Lets others know that a step waits to be confirmed; `doing` is what they find in the lock.
    pub fn await_confirmation(&mut self, step: EntryId, doing: &str) {
        if let Some(lock) = self.locks.first_mut() {
            lock.set_to_confirm(step);
            lock.set_doing(doing);
        }
    }

    /// That the folders of the ledgers here are those we locked. What we changed is restored either way; what others find
    /// there now is not what we wrote.
    ///
    /// # Errors
    /// [`RigError::Displaced`] names the folder that was deleted, moved or replaced meanwhile.
    pub fn in_place(&self) -> Result<(), RigError> {
        let Some(lock) = self.locks.iter().find(|lock| !lock.is_in_place()) else { return Ok(()) };
        Err(RigError::Displaced(lock.path().parent().unwrap_or(lock.path()).display().to_string()))
    }

    /// Lets go of the machines, then of the locks.
    ///
    /// # Errors
    /// As [`Rig::in_place`], after the last change.
    pub fn close(self) -> Result<(), RigError> {
        self.in_place()
    }
}

impl Drop for Rig {
    /// Where nothing is held any more, nothing can be left. Of a lost machine nobody knows.
    fn drop(&mut self) {
        for (side, noted) in std::mem::take(&mut self.noted) {
            if is_lost(self.world(), side) {
                continue;
            }
            let holds = self.world().machine(side).is_none_or(|machine| !leftovers::held(machine).is_empty());
            if !holds && !is_lost(self.world(), side) {
                forget_remote_note(&noted);
            }
        }
    }
}

/// Where the ledger of a simulated machine is kept, by its whole name: each number behind `#` is a machine of its own.
pub(crate) fn simulated_folder(name: &str) -> Result<PathBuf, RigError> {
    let name = name.strip_prefix("sim:").unwrap_or(name);
    state_folder().map(|state| state.join("sim").join(name.replace('/', "_")))
}

/// Where the ledgers of a rig are kept, for callers that do not open it. Names that no machine has are kept nowhere.
#[must_use]
pub fn ledger_locations(names: &Names) -> Vec<LedgerLocation> {
    let folder = |name: &str| match simulated(name) {
        Some(_) => simulated_folder(name).ok(),
        None if name == "local" => powerband_host::state_folder(),
        None => None,
    };
    names.sides().filter_map(|(side, name)| Some(LedgerLocation::here(side, folder(name)?))).collect()
}

/// Where the lock of the owner that changes the near machine from here is kept: next to its ledger, where that is here.
///
/// # Errors
/// When there is no state folder, or nothing changes a machine of this name.
pub fn lock_folder(names: &Names) -> Result<PathBuf, RigError> {
    match MachineName::of(&names.near) {
        Some(MachineName::Simulated(_)) => simulated_folder(&names.near),
        Some(MachineName::Behind { .. } | MachineName::Ssh { .. } | MachineName::Shell { .. }) => {
            remote_note_folder(&names.near).ok_or(RigError::NoPlace)
        }
        Some(MachineName::Local) => state_folder(),
        Some(MachineName::Recorded(_)) => Err(RigError::Recorded(names.near.clone())),
        Some(MachineName::Table(_)) => Err(RigError::Table(names.near.clone())),
        None => Err(RigError::UnknownMachine(names.near.clone())),
    }
}

/// Where ledger and locks live.
///
/// # Errors
/// [`RigError::NoPlace`].
pub fn state_folder() -> Result<PathBuf, RigError> {
    powerband_host::state_folder().ok_or(RigError::NoPlace)
}

/// That the state folder, where one is named, is named by its whole path: any other was taken for none.
///
/// # Errors
/// [`RigError::RelativePlace`].
pub fn check_place() -> Result<(), RigError> {
    let Some(named) = powerband_host::relative_state_folder() else { return Ok(()) };
    let whole = std::path::absolute(&named).unwrap_or_else(|_| Path::new("/").join(&named));
    Err(RigError::RelativePlace { named, whole })
}

/// Where results live.
///
/// # Errors
/// [`RigError::NoPlace`].
pub fn store_folder() -> Result<PathBuf, RigError> {
    powerband_host::store_folder().ok_or(RigError::NoPlace)
}

pub(crate) fn lock_all(ledgers: &[LedgerLocation], opening: &Opening<'_>) -> Result<Vec<Lock>, RigError> {
    let acquire = if opening.for_a_moment { Lock::acquire_for_a_moment } else { Lock::acquire };
    ledgers.iter().map(|ledger| Ok(acquire(&ledger.folder, opening.doing)?)).collect()
}

/// The lock of a ledger's folder.
///
/// # Errors
/// [`RigError::Lock`].
pub fn lock(folder: &Path, doing: &str) -> Result<Lock, RigError> {
    Ok(Lock::acquire(folder, doing)?)
}

/// That no machine was lost while it was used.
///
/// # Errors
/// [`RigError::Lost`].
pub fn check_lost(world: &dyn World) -> Result<(), RigError> {
    world.lost().map_or(Ok(()), |(side, why)| Err(RigError::Lost { side, why: why.to_string() }))
}

/// Whether a machine of this side cannot be reached any more, so that there is nothing to restore from here.
#[must_use]
pub fn is_lost(world: &dyn World, side: Side) -> bool {
    world.lost().is_some_and(|(lost, _)| lost == side)
}
