//! A machine made of arithmetic: virtual time, seeded, with the kernel's cpufreq core and governors.
//!
//! A [`SimWorld`] holds one or two machines, each made from a [`Profile`] (a machine file), behind the same seams as the
//! real ones. Nothing here reads a clock, a file or the operating system: time passes only in
//! [`powerband_machine::World::wait`], by events; a machine on which nothing runs costs none. Work is cycles that a
//! CPU retires at its clock, so that whatever turns the clock is felt in what a load reports and in what the modelled
//! meter reads. All running arithmetic is in integers (ns, kHz, millionths of a cycle, fJ), all random draws are keyed by
//! seed, component and index: equal seeds give equal bytes. What goes wrong on a machine comes from outside
//! ([`Interference`]).
pub mod cpufreq;

mod board;
mod cpuidle;
mod daemon;
mod interference;
mod latency;
mod machine;
mod meters;
mod network;
mod nic;
mod noise;
mod pace;
mod play;
mod power;
mod process;
mod profile;
mod queue;
mod race;
mod ranks;
mod schedule;
mod serve;
mod sleeper;
mod thermal;
mod tree;
mod variation;
mod watching;
mod work;
mod world;

pub use board::Board;
pub use cpuidle::{IdleGovernor, IdleSpec, IdleState};
pub use interference::{Interference, OwnerStep};
pub use meters::{MeterSpec, Share, Shows, Wrong};
pub use nic::{Driver, Stmmac};
pub use noise::NoiseSpec;
pub use play::Stretch;
pub use power::{IdleStep, PowerSpec};
pub use profile::{
    CacheKind, CacheSpec, ClockDescription, Description, IdleDescription, InstructionSet, NetworkSpec, Profile,
    ProfileError, describe_source, rules_name,
};
pub use queue::{Class, EventQueue};
pub use ranks::RanksSpec;
pub use schedule::BalanceSpec;
pub use serve::ServeSpec;
pub use thermal::ThermalSpec;
pub use variation::VariationSpec;
pub use world::{InterruptSource, SimError, SimWorld};
