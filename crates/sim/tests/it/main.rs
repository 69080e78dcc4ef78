//! Tests of simulated machines through their public interface, in one binary.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod balance;
mod cards;
mod counter;
mod cppc;
mod cpufreq;
mod cycles;
mod daemon;
mod datagrams;
mod determinism;
mod faults;
mod files;
mod fuzz;
mod governors;
mod idle;
mod interactive;
mod ledger;
mod meters;
mod play;
mod power;
mod profiles;
mod ranks;
mod rig;
mod router;
mod schedule;
mod server;
mod story;
mod threads;
mod variation;
mod world;
