//! Tests of simulated machines through their public interface, in one binary.
mod counter;
#[cfg(test)]
mod cpufreq;
mod determinism;
mod files;
mod ledger;
mod power;
mod profiles;
mod rig;
mod router;
mod schedule;
mod world;
