//! Figures of a machine's state as metrics of an experiment: each from a few files, read before a load and after it and
//! never meanwhile.
use std::fmt;

use powerband_machine::{Handle, Machine, Sample};
use powerband_record::{Better, CpuList};

use super::{Text, present};

mod sources;

/// One figure, by its name.
#[derive(Clone, Copy)]
pub struct Figure {
    /// Name, its unit last: `clock_mhz`.
    pub name: &'static str,
    /// Which way is better, unless the user says.
    pub better: Better,
    /// What it tells, one line.
    pub summary: &'static str,
    find: fn(&mut dyn Machine, &CpuList) -> Result<Found, String>,
}

impl fmt::Debug for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Figure").field(&self.name).finish()
    }
}

/// Every figure there is.
pub const FIGURES: &[Figure] = &[
    figure("cpu_busy_share", Better::Lower, "time CPUs were busy, 0 to 1", sources::busy),
    figure("clock_mhz", Better::Higher, "clock on average", sources::clock),
    figure("transitions_per_s", Better::Lower, "changes of the clock", sources::transitions),
    figure("idle_share", Better::Higher, "time CPUs were in an idle state, 0 to 1", sources::idle),
    figure("wakeups_per_s", Better::Lower, "times a CPU entered an idle state, and so woke", sources::wakeups),
    figure("interrupts_per_s", Better::Lower, "interrupts of every kind", sources::interrupts),
    figure("softirqs_per_s", Better::Lower, "soft interrupts of every kind", sources::softirqs),
    figure("context_switches_per_s", Better::Lower, "context switches of all CPUs", sources::context_switches),
    figure("temperature_c", Better::Lower, "hottest thermal zone as the load ended", sources::temperature),
    figure("throttles", Better::Lower, "times heat slowed a core down", sources::throttles),
    figure("cpu_pressure_share", Better::Lower, "time something waited for a CPU, 0 to 1", sources::pressure),
];

const fn figure(
    name: &'static str,
    better: Better,
    summary: &'static str,
    find: fn(&mut dyn Machine, &CpuList) -> Result<Found, String>,
) -> Figure {
    Figure { name, better, summary, find }
}

/// What is read for a figure on one machine, and what becomes of it.
struct Found {
    /// Files, as they are read.
    files: Vec<String>,
    /// What it is told from, in few words, where that is not the same everywhere.
    told_from: Option<String>,
    tell: Box<Tell>,
}

/// From the texts of the files before and after, and the time between, ns.
type Tell = dyn Fn(&[Text], &[Text], u64) -> Option<f64>;

/// A figure of one machine, its files open.
pub struct OpenFigure {
    name: &'static str,
    told_from: Option<String>,
    handles: Vec<Handle>,
    tell: Box<Tell>,
}

impl fmt::Debug for OpenFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenFigure").field("name", &self.name).field("handles", &self.handles).finish_non_exhaustive()
    }
}

impl Figure {
    /// The figure of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Figure> {
        FIGURES.iter().find(|figure| figure.name == name)
    }

    /// Opens its files; of some CPUs alone, where `cpus` says so and the kernel counts by CPU.
    ///
    /// # Errors
    /// Why this machine cannot tell, in words.
    pub fn open(&self, machine: &mut dyn Machine, cpus: Option<&CpuList>) -> Result<OpenFigure, String> {
        let all = present(machine);
        let Found { files, told_from, tell } = (self.find)(machine, cpus.unwrap_or(&all))?;
        let mut open = OpenFigure { name: self.name, told_from, handles: Vec::new(), tell };
        for file in &files {
            match machine.open(file) {
                Ok(handle) => open.handles.push(handle),
                Err(errno) => {
                    open.close(machine);
                    return Err(format!("{file}: {errno}"));
                }
            }
        }
        Ok(open)
    }
}

impl OpenFigure {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it is told from, where that is not the same on every machine: `time in state`.
    #[must_use]
    pub fn told_from(&self) -> Option<&str> {
        self.told_from.as_deref()
    }

    /// What is read of it.
    #[must_use]
    pub fn handles(&self) -> &[Handle] {
        &self.handles
    }

    /// The figure, from what its handles read first and last.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub fn tell(&self, first: &Sample, last: &Sample) -> Result<f64, String> {
        let texts = || first.texts.iter().chain(&last.texts);
        if let Some(errno) = texts().find_map(|text| text.as_ref().err()) {
            return Err(format!("a file of {} did not read: {errno}", self.name));
        }
        let ns = last.at_ns.saturating_sub(first.at_ns);
        (self.tell)(&first.texts, &last.texts, ns)
            .filter(|value| value.is_finite())
            .ok_or_else(|| format!("the kernel's counts tell no {} of so short a time, or went back", self.name))
    }

    /// Gives its files up.
    pub fn close(self, machine: &mut dyn Machine) {
        self.handles.into_iter().for_each(|handle| machine.close(handle));
    }
}

#[cfg(test)]
mod tests;
