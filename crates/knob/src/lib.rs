//! Something you can turn: the catalogue of knobs, how a value lands, the order of turning, restoring.
//!
//! A knob is a unit struct that describes itself and knows its sites, its values and its own comparison of what was
//! asked with what reads back ([`Knob`]; all of them in [`catalogue::ALL`]). A setting becomes ordered [`PlannedSteps`] by
//! [`plan()`], which checks everything that can be checked before anything is written. [`apply()`] turns them one after
//! the other through the machine's ledger, all of them or none; [`verify()`] looks at a trial's end whether they are
//! still there; [`restore()`] takes them back in reverse. [`look`] turns nothing: it is what `get` and `info` tell.
//! [`Witness`] hears the clocks of what was turned, [`probe()`] finds what a network driver takes, [`Declared`] are the
//! knobs a plan brings along.
//!
//! What is special is written down where it is handled: tunables that die with their governor (`apply/saved_state.rs`),
//! pairs that must not cross (`plan/order.rs`), limits that take effect late ([`Applied::look_again`], `restore.rs`).
//! Everything goes through [`powerband_machine::Look`]; nothing here knows whether it is real.
mod about;
mod apply;
pub mod catalogue;
mod cpu;
mod declared;
pub mod docs;
pub mod doctor;
mod error;
mod expand;
mod frequency;
mod kernel_file;
mod knob;
mod landed;
mod level;
pub mod look;
mod machines;
mod overridden;
mod plan;
mod policy;
mod probe;
mod resolve;
mod restore;
mod trend;
mod value;
mod verify;
mod witness;

pub use about::{About, Phase, Scope};
pub use apply::{Applied, PolicyReach, Reached, answer, apply, apply_again, apply_steps, hold_cpufreq, plan_asked};
pub use declared::Declared;
pub use error::{ErrorKind, KnobError};
pub use expand::{Beside, Expanded, expand};
pub use knob::{Knob, Named, SETTLES_NS, Selection, Site, Sites, Turning};
pub use landed::Landed;
pub use level::{RankedValue, level};
pub use look::{KnobReading, cpufreq, get};
pub use machines::{check_machines, machines_of};
pub use plan::{
    PlannedKnob, PlannedSteps, StepLine, Target, describe_steps, for_side, governors_in_force, names, plan,
    preference_is_stuck, settles_ns,
};
pub use policy::{Policies, Policy, policies};
pub use probe::{Probed, ProbedParameter, nearest_taken, probe, request_that_reads};
pub use resolve::{resolve, resolve_among, resolve_here, shown};
pub use restore::{Failed, Foreign, Restored, restore};
pub use trend::{Trend, place_of_word, trend};
pub use value::Value;
pub use verify::{MovedKnob, verify};
pub use witness::Witness;
