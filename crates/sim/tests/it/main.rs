//! Tests of simulated machines through their public interface, in one binary.
#[cfg(test)]
mod cpufreq;
mod counter;
mod determinism;
mod files;
mod ledger;
mod power;
mod profiles;
mod rig;
mod router;
mod schedule;
mod world;
