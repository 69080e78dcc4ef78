//! What a report says, neither worded nor rounded: one pass over the events of a journal.
use std::collections::BTreeMap;

use powerband_record::{
    Calibration, CloseReason, CommandEnd, Event, ExperimentHeader, FactChange, FailedTrials, KneeFinding, Level,
    Matches, Metric, ReachedSite, RequirementStanding, SearchFinding, SearchStanding, SettingVerdict, Started, Verdict,
    Void, format_duration,
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Distribution;
use crate::requirements;
use crate::words::{named_store, store_option};

mod gather;

const NS_PER_S: u64 = 1_000_000_000;
pub(crate) mod unrecorded;

/// Why events are no journal.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No event at all.
    #[error("this experiment stopped before it said what it would do; there is nothing to report")]
    Empty,
    /// The first is not [`Event::Started`].
    #[error("this journal does not begin with what is going to be done; it is damaged or only a part of one")]
    NoStart,
    /// An event names a setting that was never planned.
    #[error("event {event} of this journal names setting {setting}, but only {settings} were planned; it is damaged")]
    Setting {
        /// Its place in the journal, from 0.
        event: usize,
        /// The setting it names.
        setting: u32,
        /// How many there are.
        settings: usize,
    },
}

/// How it ended, if it did.
#[derive(Clone, Debug, PartialEq)]
pub enum ExperimentEnd {
    /// No end is told: it runs, or its process died.
    Open,
    /// No end is told, and its process is gone.
    Interrupted,
    /// It ended.
    Closed(CloseReason),
}

/// What a journal says.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Number, wall time, host, own cost; given by [`Model::with_header`].
    pub header: Option<ExperimentHeader>,
    /// The option that names the store it is read from, behind a blank; empty for the default one.
    pub(crate) store: String,
    /// The plan as resolved.
    pub started: Started,
    /// How it ended.
    pub end: ExperimentEnd,
    /// Time of the last event that has one, ns of the World's clock since the experiment began.
    pub elapsed_ns: u64,
    /// Complete blocks.
    pub blocks: u32,
    /// Valid trials in blocks.
    pub trials: u32,
    /// Valid warm-up trials.
    pub warmups: u32,
    /// By index; 0 is the reference.
    pub settings: Vec<SettingReport>,
    /// The knee, when one was sought and looked for.
    pub knee: Option<KneeFinding>,
    /// What the search found, or where it stands; absent when nothing is searched or it has not come far enough.
    pub search: Option<SearchReport>,
    /// Where a search stood after each block.
    pub course: Vec<SearchStanding>,
    /// Where requirements stand, by setting, at the latest look.
    pub requirements: Vec<RequirementStanding>,
    /// The noise of each metric, where that was measured.
    pub calibrations: Vec<Calibration>,
    /// What each valid trial measured, warm-up included, in order.
    pub values: Vec<TrialValues>,
    /// Where a metric could be several numbers of an output, by its name.
    pub matches: BTreeMap<String, MatchesFound>,
    /// Trials that do not count, in order.
    pub voids: Vec<VoidTrial>,
    /// What must be known with the verdicts, a sentence each.
    pub notes: Vec<String>,
    /// What was restored, once it was; absent = the journal does not tell.
    pub restored: Option<Restoration>,
}

/// What is said of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchReport {
    /// It stands here, without an end.
    Stands(SearchStanding),
    /// It has ended.
    Found(Box<SearchFinding>),
}

/// What is said of one setting.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingReport {
    /// Name or what it turns.
    pub label: String,
    /// What it turns, as it can be typed again; empty = as found.
    pub turns: String,
    /// Level by metric, in the order of [`Started::metrics`]. Of an experiment that has not ended, typical values
    /// without intervals.
    pub levels: Vec<Option<Level>>,
    /// Latest verdict by metric, in the same order; none for the reference and for metrics that are only shown.
    pub verdicts: Vec<Option<SettingVerdict>>,
    /// Distributions behind metrics, by name and unit (`rtt_ns`), over its valid trials in blocks.
    pub distributions: BTreeMap<String, Distribution>,
    /// When and why it left the blocks early.
    pub left: Option<Left>,
    /// How its knobs landed where that was not simply as asked, each kind once.
    pub landings: Vec<Landing>,
    /// Applying it changed nothing: the machine was at these values already.
    pub unchanged: bool,
    /// Where its command failed in a trial: it is then shown and not judged.
    pub failed: Option<FailedTrials>,
}

/// When and why a setting left the blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// After which block.
    pub block: u32,
    /// Why, in a few words.
    pub why: String,
}

/// A knob that did not land as asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Landing {
    /// Where and how.
    #[serde(flatten)]
    pub site: ReachedSite,
    /// In how many trials.
    pub trials: u32,
}

/// What a valid trial measured.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialValues {
    /// Running number.
    pub trial: u32,
    /// Block; 0 = warm-up.
    pub block: u32,
    /// Index of the setting.
    pub setting: u32,
    /// By metric, in the order of [`Started::metrics`]; absent where it was not measured or is no number.
    pub values: Vec<Option<f64>>,
    /// Real time of each run of a command that was repeated, s.
    pub runs: Vec<f64>,
    /// How the command ended, where not with exit status 0.
    pub ended: Option<CommandEnd>,
}

/// The numbers in outputs that a metric could be, in the trials in which they were several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MatchesFound {
    /// So many valid trials, warm-up included.
    pub trials: u32,
    /// Fewest in one of them.
    pub min_count: u32,
    /// Most in one of them.
    pub max_count: u32,
    /// Those of the first of these trials.
    #[serde(flatten)]
    pub example: Matches,
}

/// A trial that does not count.
#[derive(Clone, Debug, PartialEq)]
pub struct VoidTrial {
    /// Running number.
    pub trial: u32,
    /// Block; 0 = warm-up.
    pub block: u32,
    /// Index of the setting.
    pub setting: u32,
    /// Why.
    pub why: Void,
}

/// What was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restoration {
    /// Ledger entries undone.
    pub entries: u32,
    /// Entries that could not be undone, a sentence each.
    pub failed: Vec<String>,
    /// What of the machines was then not as it was when it began.
    pub changed: Vec<FactChange>,
}

impl Model {
    /// Gathers what the events of one experiment say; the experiment need not have ended.
    ///
    /// # Errors
    /// [`ModelError`] when they are no journal.
    pub fn from_events(events: &[Event]) -> Result<Model, ModelError> {
        gather::gather(events)
    }

    /// Adds what stands apart from the events.
    #[must_use]
    pub fn with_header(mut self, header: ExperimentHeader) -> Model {
        if let Some(&limit) = header.block_limits().last() {
            self.started.max_blocks = limit;
        }
        let store = named_store(&header.command_line);
        Model { header: Some(header), store, ..self }
    }

    /// Read from this store, which what is typed next has to name; it need not be the one that it was begun in.
    #[must_use]
    pub fn in_store(self, named: Option<&str>) -> Model {
        Model { store: store_option(named), ..self }
    }

    /// Says that anyone who ran it is gone, which the events of one without an end cannot.
    #[must_use]
    pub fn interrupted(self) -> Model {
        let end = if self.end == ExperimentEnd::Open { ExperimentEnd::Interrupted } else { self.end };
        Model { end, ..self }
    }

    /// The words that go on with it, when it can be gone on with.
    #[must_use]
    pub fn going_on(&self) -> Option<String> {
        let can = match &self.end {
            ExperimentEnd::Interrupted => true,
            ExperimentEnd::Open => false,
            ExperimentEnd::Closed(reason) => matches!(reason, CloseReason::Stopped | CloseReason::Failed { .. }),
        };
        let header = self.header.as_ref().filter(|_| can)?;
        Some(format!("powerband{} resume {}", self.store, header.id))
    }

    /// The trials of a setting whose command failed in one of them.
    #[must_use]
    pub fn failed(&self, setting: u32) -> Option<&FailedTrials> {
        self.settings.get(usize::try_from(setting).ok()?)?.failed.as_ref()
    }

    /// Whether there is a verdict on a metric, or a reason why there is none.
    pub(crate) fn has_verdicts(&self, metric: usize) -> bool {
        self.verdicts(metric).next().is_some() || self.settings.iter().any(|setting| setting.failed.is_some())
    }

    /// What a table of verdicts has for a setting in a metric; empty where there is none yet.
    pub(crate) fn verdict_word(&self, setting: usize, metric: usize) -> &'static str {
        let Some(report) = self.settings.get(setting) else { return "" };
        match report.verdicts.get(metric).and_then(Option::as_ref) {
            _ if report.failed.is_some() => "failed",
            Some(verdict) => crate::words::word(verdict.verdict),
            None if setting == 0 => "reference",
            None => "",
        }
    }

    /// The judged metrics with their places in [`Started::metrics`].
    pub fn judged(&self) -> impl Iterator<Item = (usize, &Metric)> {
        self.started.metrics.iter().enumerate().filter(|(_, metric)| metric.judged)
    }

    /// Whether the near machine is a simulated one, whose hours pass in seconds.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.started.machine.starts_with("sim:")
    }

    /// How long it took, from ten seconds on in whole ones; absent before it took any time.
    pub(crate) fn elapsed(&self) -> Option<String> {
        let ns = match self.elapsed_ns {
            0 => return None,
            ns if ns >= 10 * NS_PER_S => (ns + NS_PER_S / 2) / NS_PER_S * NS_PER_S,
            ns => ns,
        };
        Some(format_duration(ns))
    }

    /// Label of a setting; a number when there is none (a damaged journal).
    #[must_use]
    pub fn label(&self, setting: u32) -> String {
        let found = usize::try_from(setting).ok().and_then(|index| self.settings.get(index));
        found.map_or_else(|| format!("setting {setting}"), |setting| setting.label.clone())
    }

    /// The settings that are shown, by index: of a search only those with trials.
    #[must_use]
    pub fn shown(&self) -> Vec<usize> {
        let all = 0..self.settings.len();
        let tried = |setting: &usize| self.settings[*setting].levels.iter().any(Option::is_some);
        if self.started.search.is_some() { all.filter(tried).collect() } else { all.collect() }
    }

    /// Whether the values of a setting are compared with others': of a search, those of the answer and the baseline.
    pub(crate) fn is_compared(&self, setting: u32) -> bool {
        let answer = match &self.search {
            Some(SearchReport::Stands(standing)) => standing.setting,
            Some(SearchReport::Found(finding)) => finding.setting,
            None => None,
        };
        self.started.search.is_none() || setting == 0 || answer == Some(setting)
    }

    /// Verdicts on one metric by setting, those that exist.
    pub fn verdicts(&self, metric: usize) -> impl Iterator<Item = &SettingVerdict> {
        self.settings.iter().filter_map(move |setting| setting.verdicts.get(metric)?.as_ref())
    }

    /// How many blocks more would decide everything that is open, low and high; absent when nothing is open, or one that is
    /// has no prediction.
    #[must_use]
    pub fn blocks_missing(&self) -> Option<(u32, u32)> {
        self.missing_of_settings(|_| true)
    }

    /// The same of those settings alone that matter.
    pub(crate) fn missing_of_settings(&self, matters: impl Fn(u32) -> bool) -> Option<(u32, u32)> {
        let verdicts = self.settings.iter().flat_map(|setting| &setting.verdicts).flatten();
        let verdicts = verdicts.filter(|verdict| matters(verdict.setting));
        let limits = requirements::open(self).filter(|it| !requirements::is_broken(self, it.setting));
        let limits = limits.filter(|it| matters(it.setting)).map(|it| requirements::missing(&it.found, self.blocks));
        most(self.open_of(verdicts).map(missing).chain(limits))
    }

    /// The same of these verdicts alone.
    pub(crate) fn missing_of<'v>(&self, verdicts: impl Iterator<Item = &'v SettingVerdict>) -> Option<(u32, u32)> {
        most(self.open_of(verdicts).map(missing))
    }

    /// Those that are open and matter: a setting that breaks a requirement is not recommended, whatever else is decided of it.
    fn open_of<'v>(
        &self,
        verdicts: impl Iterator<Item = &'v SettingVerdict>,
    ) -> impl Iterator<Item = &'v SettingVerdict> {
        let open = verdicts.filter(|verdict| verdict.verdict == Verdict::Undecided);
        open.filter(|verdict| !requirements::is_broken(self, verdict.setting))
    }
}

/// The most of all these, low and high; absent where one is not predicted.
pub(crate) fn most(missing: impl Iterator<Item = Option<(u32, u32)>>) -> Option<(u32, u32)> {
    let each: Vec<(u32, u32)> = missing.collect::<Option<_>>()?;
    each.into_iter().reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)))
}

/// How many blocks more would decide this verdict: the predicted total less what it rests on, at least one.
pub(crate) fn missing(verdict: &SettingVerdict) -> Option<(u32, u32)> {
    let (low, high) = verdict.predicted_blocks?;
    let more = |total: u32| total.saturating_sub(verdict.blocks).max(1);
    Some((more(low), more(high).max(more(low))))
}
