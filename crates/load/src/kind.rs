//! What every load answers: one trait, which each kind implements in a file of its own. What most kinds lack is a default method.
use std::borrow::Cow;
use std::collections::BTreeMap;

use powerband_machine::Finished;
use powerband_record::{CommandEnd, Histogram, IntoOrdered as _, LoadVariant, Metric, Repeated, Void, format_duration};

use crate::reported::failure;
use crate::{Calibrate, Concluded, Finishes, LoadError, LoadPart, RigEnds, Server, Stage};

/// What is fixed about a kind of load.
#[derive(Clone, Debug)]
pub struct LoadFacts {
    /// The kind, as a plan spells it.
    pub kind: &'static str,
    /// Parameters that make sense, as a plan writes them, for the message about a mistake.
    pub example: &'static str,
    /// Name and unit of the histogram that it reports.
    pub histogram: Option<&'static str>,
    /// What it means that there is no peer, for loads with two ends.
    pub without_peer: Option<&'static str>,
}

impl LoadFacts {
    /// For what most kinds lack.
    pub(crate) const NONE: LoadFacts = LoadFacts { kind: "", example: "", histogram: None, without_peer: None };
}

/// One kind of load.
pub trait LoadKind {
    /// Its name, and what is fixed about it.
    fn facts(&self) -> &'static LoadFacts;

    /// How long its meters are read when that is fixed, ns: with several phases the length of one.
    fn measured_ns(&self) -> Option<u64>;

    /// What it measures, the first decision metric first.
    fn metrics(&self) -> Vec<Metric>;

    /// Its processes, in the order they start.
    fn parts(&self, rig: &RigEnds) -> Vec<LoadPart>;

    /// Reads the metrics from what the parts reported.
    ///
    /// # Errors
    /// A [`Void`] when a part did not report, or reported what is no measurement.
    fn measured(&self, _finishes: &Finishes) -> Result<Concluded, Void> {
        Ok(Concluded::default())
    }

    /// The kind, as a plan spells it.
    fn kind(&self) -> &'static str {
        self.facts().kind
    }

    /// What makes no sense about its parameters.
    fn mistake(&self) -> Option<&'static str> {
        None
    }

    /// Checks that it can be run.
    ///
    /// # Errors
    /// [`LoadError`] when a length is zero or a parameter makes no sense.
    fn check(&self) -> Result<(), LoadError> {
        if self.measured_ns() == Some(0) {
            return Err(LoadError::NoTime(self.kind()));
        }
        match self.mistake() {
            Some(why) => Err(LoadError::Mistake { kind: self.kind(), why, example: self.facts().example }),
            None => Ok(()),
        }
    }

    /// One line for people.
    fn describe(&self) -> String {
        match self.measured_ns() {
            Some(ns) => format!("{} for {}", self.kind(), format_duration(ns)),
            None => self.kind().into(),
        }
    }

    /// How long it runs when that is fixed, ns.
    fn length_ns(&self) -> Option<u64> {
        self.measured_ns()
    }

    /// What it measures where the near machine has a power meter, the first decision metric first.
    fn metrics_by_meter(&self) -> Vec<Metric> {
        Vec::new()
    }

    /// How its command ended, where not with exit status 0 and the trial is valid nonetheless.
    fn ended(&self, _finishes: &Finishes) -> Option<CommandEnd> {
        None
    }

    /// Why a part that failed makes the trial void; `None` where its failure is accepted.
    fn failed(&self, part: &str, finished: &Finished, _finishes: &Finishes) -> Option<Void> {
        Some(Void::LoadFailed { why: failure(part, &self.describe(), finished, None) })
    }

    /// Distributions behind its metrics, by name and unit.
    fn histograms(&self, finishes: &Finishes) -> BTreeMap<String, Histogram> {
        let named = self.facts().histogram.zip(crate::latency::histogram(finishes));
        named.map(|(name, it)| (name.to_owned(), it)).into_iter().into_map()
    }

    /// Seed of chance that differs from trial to trial.
    fn trial_seed_mut(&mut self) -> Option<&mut u64> {
        None
    }

    /// The part that serves the others and does not report that it is ready.
    fn server(&self) -> Option<Server> {
        None
    }

    /// Why it cannot run on a list of machines.
    fn not_on_list(&self) -> Option<&'static str> {
        self.facts().without_peer.map(|_| "needs two ends of a link; name them with --machine and --far")
    }

    /// Whether its words contain the far machine's address.
    fn names_far(&self) -> bool {
        false
    }

    /// What to say before it runs: how to have its output read, where it is a known tool.
    fn advice(&self) -> Option<String> {
        None
    }

    /// Whether a driver reads its output, which has to be kept whole for that.
    fn is_read(&self) -> bool {
        false
    }

    /// Whether its output goes to where our own goes.
    fn shows_output(&self) -> bool {
        false
    }

    /// The parts as metrics are picked from what they printed: without the output of what started them.
    fn own_words<'a>(&self, finishes: &'a Finishes) -> Cow<'a, Finishes> {
        Cow::Borrowed(finishes)
    }

    /// Changes it as a setting does. Environment variables and background loads do not concern its parts here.
    ///
    /// # Errors
    /// [`LoadError::Variant`] for a command, a variable or a parameter that this load does not have.
    fn vary(&mut self, variant: &LoadVariant) -> Result<(), LoadError> {
        let of_commands = variant.command.as_ref().map(|_| "command".to_owned());
        let env = variant.env.first().map(|(name, _)| format!("env.{name}"));
        match of_commands.or(env) {
            Some(knob) => Err(LoadError::Variant(format!(
                "{knob} is for commands, and the load is '{}'; put a command behind --",
                self.kind()
            ))),
            None => Ok(()),
        }
    }

    /// Its command lines, by their text.
    fn command_lines(&self) -> Vec<String> {
        Vec::new()
    }

    /// The known tool of a command that asks a server, which does the work.
    fn asking_tool(&self) -> Option<&'static str> {
        None
    }

    /// Whether a trial may run it several times: a command that nothing is read from.
    fn is_repeatable(&self) -> bool {
        false
    }

    /// Makes a trial run it so often, if it can be repeated.
    fn repeat(&mut self, _runs: u32) {}

    /// The runs of a command that was repeated.
    fn runs(&self, _finishes: &Finishes) -> Option<Repeated> {
        None
    }

    /// An interval at full speed, and under which setting, for a load at shares of its maximum that does not know that.
    fn calibration(&self) -> Option<(Calibrate, Stage)> {
        None
    }

    /// How many of these intervals it takes at most to find its maximum.
    fn most_intervals(&self) -> u32 {
        0
    }

    /// Its maximum, from its calibration intervals; `None` while it takes more of them.
    ///
    /// # Errors
    /// [`Void::LoadFailed`] when they do not settle.
    fn calibrated(&self, _intervals: &[BTreeMap<String, f64>]) -> Result<Option<f64>, Void> {
        Ok(None)
    }

    /// The phases of one trial, in order, for a load that has several. `draw` is what the trial shares with those it is
    /// compared with.
    fn phases(&self, _full_per_s: Option<f64>, _draw: u64) -> Option<Vec<Stage>> {
        None
    }

    /// Prefixes of the names of what a meter measures: one for each phase.
    fn prefixes(&self) -> Vec<String> {
        vec![String::new()]
    }

    /// Adds what follows from all its phases.
    fn sum_up(&self, _full_per_s: Option<f64>, _measured: &mut BTreeMap<String, f64>) {}
}
