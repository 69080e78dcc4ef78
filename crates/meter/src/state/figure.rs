//! Figures of a machine's state as metrics of an experiment: each from a few files, read before a load and after it and
//! never meanwhile.
use std::fmt;

use powerband_machine::{Errno, Handle, Look, Readable, Sample};
use powerband_record::{Better, CpuList};

use super::{Text, present};

mod cards;
mod measured;
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
    of: Of,
}

/// What a figure is of, and how it is found.
#[derive(Clone, Copy)]
enum Of {
    /// Some CPUs.
    Cpus(fn(&mut dyn Look, &CpuList) -> Result<Found, String>),
    /// The whole machine.
    Machine(fn(&mut dyn Look) -> Result<Found, String>),
    /// One network card, or all of them.
    Cards(fn(&mut dyn Look, Option<&str>) -> Result<Found, String>),
}

/// A figure as it is asked for: `nic_interrupts_per_s@eth0`.
#[derive(Clone, Debug)]
pub struct AskedFigure {
    /// The figure.
    pub figure: &'static Figure,
    /// The one network card it is of.
    card: Option<String>,
}

impl fmt::Debug for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Figure").field(&self.name).finish()
    }
}

/// Every figure there is.
pub const FIGURES: &[Figure] = &[
    figure("cpu_busy_share", Better::Lower, "time CPUs were busy, 0 to 1", Of::Cpus(sources::busy)),
    figure("clock_mhz", Better::Higher, "mean frequency", Of::Cpus(sources::clock)),
    figure(
        "measured_mhz",
        Better::Higher,
        "frequency while not idle, as counted by the CPUs",
        Of::Cpus(measured::clock),
    ),
    figure("transitions_per_s", Better::Lower, "frequency changes", Of::Cpus(sources::transitions)),
    figure("idle_share", Better::Higher, "time CPUs were in an idle state, 0 to 1", Of::Cpus(sources::idle)),
    figure(
        "wakeups_per_s",
        Better::Lower,
        "times a CPU entered an idle state, and so woke",
        Of::Cpus(sources::wakeups),
    ),
    figure("interrupts_per_s", Better::Lower, "interrupts of every kind", Of::Cpus(sources::interrupts)),
    figure("softirqs_per_s", Better::Lower, "soft interrupts of every kind", Of::Cpus(sources::softirqs)),
    figure(
        "context_switches_per_s",
        Better::Lower,
        "context switches of all CPUs",
        Of::Machine(sources::context_switches),
    ),
    figure("nic_interrupts_per_s", Better::Lower, "interrupts of NICs", Of::Cards(cards::interrupts)),
    figure(
        "packets_per_interrupt",
        Better::Higher,
        "packets of NICs per interrupt",
        Of::Cards(cards::packets_per_interrupt),
    ),
    figure("temperature_c", Better::Lower, "hottest thermal zone as the load ended", Of::Machine(sources::temperature)),
    figure("throttles", Better::Lower, "times heat slowed a core down", Of::Cpus(sources::throttles)),
    figure(
        "cpu_pressure_share",
        Better::Lower,
        "time something waited for a CPU, 0 to 1",
        Of::Machine(sources::pressure),
    ),
];

const fn figure(name: &'static str, better: Better, summary: &'static str, of: Of) -> Figure {
    Figure { name, better, summary, of }
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
    name: String,
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
    /// Whether it is of the CPUs that are asked for.
    #[must_use]
    pub fn is_by_cpu(&self) -> bool {
        matches!(self.of, Of::Cpus(_))
    }
}

impl AskedFigure {
    /// The figure of that name, behind which `@` may name a network card where it is of one.
    #[must_use]
    pub fn named(name: &str) -> Option<AskedFigure> {
        let (name, card) = name.split_once('@').map_or((name, None), |(name, card)| (name, Some(card)));
        let figure = FIGURES.iter().find(|figure| figure.name == name)?;
        let is_name = |card: &str| !card.is_empty() && !card.starts_with('.') && !card.contains('/');
        let fits = card.is_none_or(|card| is_name(card) && matches!(figure.of, Of::Cards(_)));
        fits.then(|| AskedFigure { figure, card: card.map(str::to_owned) })
    }

    /// Its name as it was asked for.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.card {
            Some(card) => format!("{}@{card}", self.figure.name),
            None => self.figure.name.to_owned(),
        }
    }

    /// Opens its files; of some CPUs alone, where `cpus` says so and the kernel counts by CPU.
    ///
    /// # Errors
    /// Why this machine cannot tell, in words.
    pub fn open(&self, machine: &mut dyn Look, cpus: Option<&CpuList>) -> Result<OpenFigure, String> {
        let Found { files, told_from, tell } = self.find(machine, cpus)?;
        let mut open = OpenFigure { name: self.name(), told_from, handles: Vec::new(), tell };
        for file in &files {
            match machine.open(file) {
                Ok(handle) => open.handles.push(handle),
                Err(errno) => {
                    open.close(machine);
                    return Err(format!("{file}: {errno}{}", hint(file, errno)));
                }
            }
        }
        Ok(open)
    }

    fn find(&self, machine: &mut dyn Look, cpus: Option<&CpuList>) -> Result<Found, String> {
        match self.figure.of {
            Of::Cpus(find) => {
                let all = present(machine);
                find(machine, cpus.unwrap_or(&all))
            }
            Of::Machine(find) => find(machine),
            Of::Cards(find) => find(machine, self.card.as_deref()),
        }
    }
}

/// What helps where a file cannot be opened.
fn hint(file: &str, errno: Errno) -> &'static str {
    let denied = matches!(errno, Errno::EACCES | Errno::EPERM);
    match Readable::of(file) {
        Readable::Perf(_) if denied => {
            "; perf counts a whole CPU for programs with cap_perfmon, or for all where \
             /proc/sys/kernel/perf_event_paranoid is 0 or less"
        }
        Readable::Perf(_) if errno == Errno::EOPNOTSUPP => {
            "; perf counts for programs on the machine itself, powerband's agent among them"
        }
        _ => "",
    }
}

impl OpenFigure {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
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
        (self.tell)(&first.texts, &last.texts, ns).filter(|value| value.is_finite()).ok_or_else(|| {
            format!(
                "the kernel's counts give no {}: none of its events happened, the time was too short, or one went back",
                self.name
            )
        })
    }

    /// Gives its files up.
    pub fn close(self, machine: &mut dyn Look) {
        self.handles.into_iter().for_each(|handle| machine.close(handle));
    }
}

#[cfg(test)]
mod tests;
