//! What a report says, then text, pages, JSON, CSV and Markdown.
//!
//! Pure: events in, text out; no file, no clock, no terminal. [`Model`] gathers what a journal says without wording or
//! rounding anything; [`sentence`] puts its findings into words; [`text`], [`mod@page`], [`json`], [`csv`] and [`markdown`] are ways to print it. The
//! words better, worse, same and undecided stand in a report only where an actual verdict is told, never in a legend.
//! [`fleet`] judges one experiment that ran on many nodes. [`comparison`] holds stored experiments, and measurements made elsewhere, against one another. [`timelines`] tells what meters showed meanwhile, [`courses`] what of that is drawn. [`picture`] draws what a page shows. [`schema`] describes what programs read. [`published`] reads the figures and claims of the articles that this project repeats, and
//! [`replication`] holds them against what was measured again.
mod advice;
mod calibration;
mod change;
mod commands;
pub mod comparison;
pub mod courses;
pub mod csv;
mod distribution;
mod escape;
pub mod fleet;
pub mod json;
mod knob_axis;
mod labels;
mod layout;
mod level;
pub mod list;
pub mod load;
pub mod markdown;
mod model;
pub mod page;
pub mod picture;
pub mod published;
pub mod replication;
mod requirements;
pub mod schema;
pub mod sentence;
pub mod text;
pub mod timelines;
mod typed;
pub mod words;

pub use advice::{Advice, Changed, advice, deciding, no_advice};
pub use calibration::CalibrationRow;
pub use distribution::{Distribution, Percentile};
pub use escape::seen;
pub use model::{
    ExperimentEnd, Landing, Left, MatchesFound, Model, ModelError, Restoration, SearchReport, SettingReport,
    TrialValues, VoidTrial,
};
pub use typed::kept;
