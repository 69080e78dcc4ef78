//! Tests of simulated machines through their public interface, in one binary.
#[cfg(test)]
mod amd_pstate;
#[cfg(test)]
mod balance;
#[cfg(test)]
mod cards;
#[cfg(test)]
mod counter;
#[cfg(test)]
mod cpufreq;
#[cfg(test)]
mod cycles;
#[cfg(test)]
mod daemon;
#[cfg(test)]
mod datagrams;
#[cfg(test)]
mod determinism;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod files;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod governors;
#[cfg(test)]
mod idle;
#[cfg(test)]
mod interactive;
#[cfg(test)]
mod ledger;
#[cfg(test)]
mod meters;
#[cfg(test)]
mod play;
#[cfg(test)]
mod power;
#[cfg(test)]
mod profiles;
#[cfg(test)]
mod pstate;
#[cfg(test)]
mod ranks;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod router;
#[cfg(test)]
mod schedule;
#[cfg(test)]
mod server;
#[cfg(test)]
mod variation;
#[cfg(test)]
mod world;
