//! Watching live: samples as they fall due, on a terminal or as rows and metrics in files.
mod error;
mod log;
mod pace;
#[cfg(feature = "tui")]
mod terminal;

use std::path::{Path, PathBuf};

use powerband_host::{ObserverUsage, observer_usage};
use powerband_record::Side;
use powerband_rig::{Notes, Rig, RigError, check_lost};

use crate::{Cost, MachineSample, Sampler};
pub use error::WatchError;
pub use log::LogTarget;
pub use pace::{Pace, Time};

/// A machine that is watched, and how.
pub struct Watched {
    rig: Rig,
    sampler: Sampler,
    pace: Pace,
    openmetrics: Option<PathBuf>,
    /// Whether the overhead is reported.
    cost: bool,
    began: ObserverUsage,
}

/// How watching ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchEnd {
    /// It was to end, or nobody reads any more.
    Done,
    /// A stop was asked for.
    Stopped,
}

impl Watched {
    /// Begins to watch; `openmetrics` is a file that keeps the latest sample.
    #[must_use]
    pub fn new(rig: Rig, sampler: Sampler, pace: Pace, openmetrics: Option<PathBuf>, cost: bool) -> Self {
        Watched { rig, sampler, pace, openmetrics, cost, began: observer_usage() }
    }

    /// Shows the machine on the terminal, until a key, the end or a signal ends it.
    ///
    /// # Errors
    /// [`WatchError`].
    #[cfg(feature = "tui")]
    pub fn show(mut self, colour: bool, notes: &mut dyn Notes) -> Result<WatchEnd, WatchError> {
        let end = terminal::run(&mut self, colour)?;
        self.close(notes);
        Ok(end)
    }

    /// Writes a row for each sample; `line` prints one where the target is standard output, and answers whether anybody still reads.
    ///
    /// # Errors
    /// [`WatchError`].
    pub fn log(
        mut self,
        target: Option<LogTarget>,
        line: &mut dyn FnMut(&str) -> bool,
        notes: &mut dyn Notes,
    ) -> Result<WatchEnd, WatchError> {
        let end = log::run(&mut self, target, line, notes)?;
        self.close(notes);
        Ok(end)
    }

    /// Looks now. A lost machine has nothing to report.
    fn sample(&mut self) -> Result<MachineSample, WatchError> {
        let at_ns = self.rig.world().now_ns();
        let machine = self.rig.world().machine(Side::Near).ok_or(RigError::Gone)?;
        let sample = self.sampler.sample(machine, at_ns);
        check_lost(self.rig.world())?;
        if let Some(path) = &self.openmetrics {
            write_metrics(path, &crate::openmetrics(self.sampler.scene(), &sample, self.spent()))?;
        }
        Ok(sample)
    }

    /// The overhead of this process since it began to watch.
    fn spent(&self) -> Cost {
        let now = observer_usage();
        Cost { cpu_s: now.cpu_s - self.began.cpu_s, wakeups: now.wakeups.saturating_sub(self.began.wakeups) }
    }

    /// Reports the overhead, if that is wanted, and gives the machine back.
    fn close(mut self, notes: &mut dyn Notes) {
        let (cost, wall_s) = (self.spent(), self.pace.wall_ns() as f64 * 1e-9);
        if self.cost {
            let percent = 100.0 * cost.cpu_s / wall_s.max(1e-9);
            let text = format!(
                "watching took {:.3} s of CPU time in {wall_s:.1} s ({percent:.2} % of a CPU) and {} wake-ups ({:.1} a second)",
                cost.cpu_s,
                cost.wakeups,
                cost.wakeups as f64 / wall_s.max(1e-9),
            );
            notes.note(text.into());
        }
        if let Some(machine) = self.rig.world().machine(Side::Near) {
            self.sampler.close(machine);
        }
    }
}

/// Writes a text file for node_exporter; one that is there is replaced as a whole.
///
/// # Errors
/// [`WatchError`] names the file.
pub fn write_metrics(path: &Path, text: &str) -> Result<(), WatchError> {
    powerband_host::write_file(path, text.as_bytes(), true).map_err(|error| error::unwritable(path, error))
}
