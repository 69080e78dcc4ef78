//! A real Linux kernel with P-states that slow it down, a power meter that follows what it does, and a network card:
//! booted in QEMU from Debian's packages alone, for the tests that need a kernel and for trying things out.
mod archive;
mod board;
mod clocks;
mod emulator;
mod error;
mod guest;
mod kernel;
mod pace;
mod places;
mod plug;
mod port;
mod qmp;
mod repeatable;
mod rig;
mod shared;
mod silicon;
pub mod tools;

pub use board::{Board, State};
pub use clocks::{Speed, measure};
pub use emulator::version as emulator_version;
pub use error::{BenchError, Result};
pub use guest::{Cable, Guest, Options};
pub use kernel::Kernel;
pub use places::{powerband, stripped};
pub use plug::plug;
pub use port::Ran;
pub use qmp::Qmp;
pub use repeatable::{counted_inputs, run_counted};
pub use rig::{OVER_THE_CABLE, machine, with_machines};
pub use shared::{Held, Rig, Shared, repeat_after_hang};
pub use silicon::Readings;
