//! Where a ledger's bytes are kept, and why they cannot be.
use std::cell::RefCell;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Errno, Turn};

/// Why the ledger cannot be used. Nothing was turned.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerError {
    /// It cannot be read.
    #[error("cannot read the ledger {place}: {errno}")]
    Unreadable {
        /// Which ledger.
        place: String,
        /// Why.
        errno: Errno,
    },
    /// It cannot be written.
    #[error("cannot write the ledger {place}: {errno}; nothing was changed")]
    Unwritable {
        /// Which ledger.
        place: String,
        /// Why.
        errno: Errno,
    },
    /// What is there is no ledger, or none to act on.
    #[error("{place} is no ledger to act on: {why}; look at it and move it away")]
    Untrusted {
        /// Which file.
        place: String,
        /// Why.
        why: String,
    },
    /// Another process changes the same machine, and has another ledger.
    #[error(
        "{holder} changes this machine and keeps its state in another folder; nothing is changed, try again when it has ended"
    )]
    Busy {
        /// Who, as a sentence begins.
        holder: String,
    },
    /// It was deleted, moved, replaced or altered by somebody else since it was read.
    #[error("{place} was deleted, moved or altered while powerband used it; nothing more is changed")]
    Displaced {
        /// Which ledger.
        place: String,
    },
    /// An entry that does not hold a file of the kernel: nothing would take another write to it back.
    #[error("entry {entry} of {place} holds no file of the kernel, so it cannot be written again; nothing was changed")]
    NotHeld {
        /// Which ledger.
        place: String,
        /// Which entry.
        entry: u64,
    },
    /// It is an access service's, which restores it when powerband ends.
    #[error(
        "the access service holds what it sets for as long as powerband is connected to it: that cannot be kept, nor written \
         again"
    )]
    OnlyHeld,
    /// The machine that keeps it can no longer be reached. What it was asked for last may have been done; what is held there
    /// it restores by itself.
    #[error("{machine} is lost: {why}")]
    Lost {
        /// The machine's name.
        machine: String,
        /// Why.
        why: String,
    },
}

impl LedgerError {
    /// The kernel's error number, if it gave one.
    #[must_use]
    pub fn errno(&self) -> Option<Errno> {
        match self {
            LedgerError::Unreadable { errno, .. } | LedgerError::Unwritable { errno, .. } => Some(*errno),
            LedgerError::OnlyHeld
            | LedgerError::Untrusted { .. }
            | LedgerError::Busy { .. }
            | LedgerError::Displaced { .. }
            | LedgerError::NotHeld { .. }
            | LedgerError::Lost { .. } => None,
        }
    }
}

/// Where a ledger's bytes are kept. Writing returns only when they are durable.
pub trait LedgerStore {
    /// For messages: the path.
    fn place(&self) -> String;

    /// Everything appended so far. Changes nothing.
    ///
    /// # Errors
    /// [`LedgerError::Unreadable`], [`LedgerError::Untrusted`].
    fn load(&mut self) -> Result<Vec<u8>, LedgerError>;

    /// Reserves the space that the records of a turn will need, so that a full disk is noticed before anything is changed, and
    /// makes sure that the ledger is still the one that was read.
    ///
    /// # Errors
    /// The kernel's error number; `ESTALE` when another ledger is there by now.
    fn reserve(&mut self, _turn: &Turn) -> Result<(), Errno> {
        Ok(())
    }

    /// Whether the ledger is still where it was read, and nobody else has written to it.
    fn is_in_place(&self) -> bool {
        true
    }

    /// Appends and syncs.
    ///
    /// # Errors
    /// The kernel's error number; nothing may be assumed written.
    fn append(&mut self, bytes: &[u8]) -> Result<(), Errno>;

    /// Replaces everything, atomically and durably.
    ///
    /// # Errors
    /// The kernel's error number.
    fn replace(&mut self, bytes: &[u8]) -> Result<(), Errno>;

    /// Appends damaged lines to what is kept for a person to look at.
    ///
    /// # Errors
    /// The kernel's error number; nothing may be assumed written.
    fn set_aside(&mut self, lines: &[u8]) -> Result<(), Errno>;
}

/// A ledger that lives as long as its owner: simulated machines in experiments, tests. Clones keep the same bytes.
#[derive(Clone, Debug, Default)]
pub struct MemoryLedger {
    /// What is kept.
    pub bytes: Rc<RefCell<Vec<u8>>>,
    /// Damaged lines that were set aside.
    pub aside: Rc<RefCell<Vec<u8>>>,
}

impl LedgerStore for MemoryLedger {
    fn place(&self) -> String {
        "in memory".into()
    }

    fn load(&mut self) -> Result<Vec<u8>, LedgerError> {
        Ok(self.bytes.borrow().clone())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        self.bytes.borrow_mut().extend_from_slice(bytes);
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        *self.bytes.borrow_mut() = bytes.to_vec();
        Ok(())
    }

    fn set_aside(&mut self, lines: &[u8]) -> Result<(), Errno> {
        self.aside.borrow_mut().extend_from_slice(lines);
        Ok(())
    }
}
