//! The verbs, one a file.
pub(crate) mod agent;
pub(crate) mod completions;
pub(crate) mod confirm;
pub(crate) mod export;
pub(crate) mod get;
pub(crate) mod info;
pub(crate) mod knobs;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod set;
pub(crate) mod show;
pub(crate) mod sim;
pub(crate) mod try_;
pub(crate) mod undo;
pub(crate) mod with;
