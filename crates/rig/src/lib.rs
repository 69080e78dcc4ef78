//! The rig: the machines of one experiment, from their names to a World.
//!
//! [`Names`] are the machines as a person names them. [`open`] makes a [`Rig`] of them: its World, the locks that keep two
//! owners apart, and where each machine's ledger is. What an interrupted owner left changed is restored before anything else is
//! changed ([`leftovers`]). Nothing here prints: what is worth knowing goes to [`Notes`], and what a person can do about a
//! failure is a [`Hint`](powerband_record::Hint) next to it.
pub mod access;
mod error;
mod input;
pub mod leftovers;
mod machine_name;
mod names;
mod note;
mod open;
mod real;
mod rig;
mod served;
mod simulated;

pub use error::RigError;
pub use input::{FileError, MAX_MEASURED_BYTES, MAX_WRITTEN_BYTES, read_bytes, read_text};
pub use leftovers::{LedgerLocation, RemoteLedger};
pub use machine_name::MachineName;
pub use names::Names;
pub use note::{Note, Notes};
pub use open::open;
pub use powerband_machine::wire::Purpose;
pub use rig::{
    Opening, Rig, check_lost, check_place, is_lost, ledger_locations, lock, lock_folder, state_folder, store_folder,
};
pub use served::{Service, serve};
pub use simulated::profile;
