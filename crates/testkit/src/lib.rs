//! TESTS AND BENCHMARKS ONLY: machines, fleets and searches of which the truth is known, so that error rates and machine
//! time can be measured instead of argued, and what goes wrong on simulated machines. What the program itself needs is elsewhere.
//!
//! The crates below import this one as a dev-dependency, so only their integration tests can: in a unit test inside of
//! `src` their types would be others than here.

#[cfg(feature = "faults")]
pub mod faults;
pub mod formula;
pub mod formula_fleet;
pub mod machines;
pub mod race;
#[cfg(feature = "searches")]
pub mod replay;
