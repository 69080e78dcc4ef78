//! ONE PLAN ON MANY NODES: the drawn order of the nodes, the tasks that a launcher starts, and what they hand back.
//!
//! A [`Fleet`] is decided before its start and kept in a [`Folder`], with one file for each attempt of each node: a header
//! and its events, a line each. An attempt is written by one process alone and never appended to by another, so a task that
//! runs twice leaves two files, of which [`best`] picks one. A [`Launcher`] starts tasks, says what becomes of them and ends
//! them: [`Slurm`], or [`Children`] for any command that runs a command on a node. [`conduct`] starts them in the drawn
//! order, a few at a time, looks at the results in that order alone, and stops when everything is decided.
mod attempt;
mod children;
mod conduct;
mod error;
mod fleet;
mod folder;
mod launcher;
mod nodes;
mod order;
mod patience;
mod slurm;
mod standing;
mod stops;

pub use attempt::{Attempt, AttemptFile, PULSE, best};
pub use children::Children;
pub use conduct::{Conduct, End, Judge, Listener, Look, cancel, conduct};
pub use error::FleetError;
pub use fleet::{Fleet, Node, Task, Via};
pub use folder::{Attempts, Ended, Folder, Reader, Start};
pub use launcher::{Launcher, Seen};
pub use nodes::{numbered, parse_nodes, read_nodes};
pub use order::{order, seed_of};
pub use slurm::Slurm;
pub use standing::{NodeStanding, State, standings};
pub use stops::Stops;
