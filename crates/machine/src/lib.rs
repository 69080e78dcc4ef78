//! The box, as traits: World, Machine, Action and the ledger's format. Touches nothing.
mod errno;

pub use errno::Errno;
