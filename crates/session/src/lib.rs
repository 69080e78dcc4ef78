//! A session: an experiment from its words to its result.
//!
//! [`prepare`] makes a plan an [`Experiment`] on an open rig or a table, and changes nothing but to restore; what it would do is a
//! [`dry_run`]. [`OnRig::run`] measures into the store, and [`EndedExperiment::settle`] says what it came to. [`rerun`] is an experiment of a page,
//! [`resume`] one that was interrupted, [`replicate`] the published ones on simulated machines. Nothing here prints or knows an
//! option's name: notes and progress go to [`Notes`](powerband_rig::Notes) and [`Progress`].
mod caller;
mod commands;
pub mod dry_run;
mod error;
mod fit;
mod header;
mod measure;
mod meter_lag;
mod meter_reader;
pub mod meters;
mod mpirun;
mod node_facts;
mod options;
mod pace;
pub mod replicate;
pub mod rerun;
mod result;
mod resume;
mod selection;
pub mod store;
mod store_journal;
mod table_run;
mod witness;

pub use caller::user_of_loads;
pub use commands::{Listed, start_nothing};
pub use error::{SessionError, class_of_knob, class_of_resolve};
pub use header::without_passwords;
pub use measure::{Experiment, OnRig, prepare};
pub use options::{Options, names_written};
pub use pace::{Decided, PaceEnd, PaceListener, Pacing, Wished};
pub use result::{EndedExperiment, Settled};
pub use resume::{Begun, BegunPlan, Resumed, is_gone, resume};
pub use selection::{declared_knobs, selection};
pub use store_journal::Progress;
pub use table_run::OnTable;
pub use witness::{Witnesses, hear};
