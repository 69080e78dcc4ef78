//! What starts the tasks of a fleet, says what becomes of them and ends them.
use std::collections::BTreeMap;

use crate::{Fleet, FleetError, Folder};

/// What a launcher says of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It has not begun, and why.
    Waiting {
        /// In the launcher's words.
        why: String,
        /// Its node is not there: it will not begin soon.
        stuck: bool,
    },
    /// It runs.
    Running,
    /// It ended; why, where something went wrong.
    Ended(Option<String>),
}

impl Seen {
    /// Whether it may still hand something back.
    #[must_use]
    pub fn is_live(&self) -> bool {
        !matches!(self, Seen::Ended(_))
    }
}

/// Starts, sees and ends tasks.
pub trait Launcher {
    /// Starts the task at a position. Answers why that node cannot have one, where that is so.
    ///
    /// # Errors
    /// [`FleetError`] when no task of any node could be started.
    fn start(&mut self, fleet: &Fleet, folder: &Folder, position: u32) -> Result<Option<String>, FleetError>;

    /// What is known of the tasks, by position; tasks that it does not know any more have ended.
    ///
    /// # Errors
    /// [`FleetError`] when that cannot be known now.
    fn look(&mut self, fleet: &Fleet) -> Result<BTreeMap<u32, Seen>, FleetError>;

    /// Asks tasks to end; they restore what they changed.
    ///
    /// # Errors
    /// [`FleetError`] when they cannot be asked.
    fn cancel(&mut self, fleet: &Fleet, positions: &[u32]) -> Result<(), FleetError>;

    /// Ends at once what this process has started, for somebody who does not wait. Slurm ends its tasks without us.
    fn end(&mut self) {}

    /// How long to wait between looks, ms.
    fn period_ms(&self) -> u64;
}
