//! PLAN, RUN, JOURNAL: what to try, in blocks, until it is decided; everything that happens is an event.
//!
//! [`Plan`] is what a user writes, [`resolve`] makes it an experiment in which nothing is left to defaults, [`run`] is
//! the loop; [`survey`] is one that decides nothing. The loop asks a [`Bench`] for trials: [`WorldBench`] turns knobs and runs loads on the machines of a World,
//! [`FormulaBench`] computes. [`resume`] is the same loop over a journal that was interrupted. It tells a [`Journal`], which is the store, a progress line, or a `Vec` in tests.
mod asked;
mod bench;
mod calibrating;
mod carried;
mod censored;
mod choice;
mod cooling;
mod cost;
mod courses;
mod crossing;
mod disturbed;
mod effect;
mod error;
mod execution;
mod extend;
mod facts;
mod foreign_writers;
mod judging;
mod knee;
mod left_out;
mod leftovers;
mod levels;
mod listening;
mod metering;
mod plan;
mod rebuild;
mod requiring;
mod resolve;
mod resume;
mod run;
mod search;
mod space;
mod stretches;
mod survey;
mod table;
mod throttled;
mod times;
mod too_short;
mod trials;
mod tune;
mod unmeasured;
mod variants;
mod world_bench;

pub use bench::{Bench, Fatal, FormulaBench, Halt, Journal, JournalError};
pub use choice::{ESTIMATE, choices, meters_read, sided};
pub use error::{ResolveError, ResumeError};
pub use extend::extended;
pub use facts::facts;
pub use plan::{FleetPlan, Plan, PlanError, Tune};
pub use rebuild::{check_rig, first_difference, rebuild};
pub use resolve::{Resolved, resolve};
pub use resume::{Past, extend, resume, standing, standing_of_extended};
pub use run::run;
pub use survey::survey;
pub use table::{TableBench, TableError, TableMachine, resolve_table};
pub use times::Times;
pub use tune::cover;
pub use variants::Variant;
pub use world_bench::{ShownMetric, ShownMetrics, ShownRun, WorldBench};
