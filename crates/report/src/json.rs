//! A report for programs: versioned shapes, spelled as everywhere (`rate_mbit_s`, `power_w`, boundary with every watt).
//!
//! A number that is not finite is left out, never written as something else. Fields may be added within a version;
//! [`VERSION`] is raised when one changes its meaning or goes.
use std::collections::BTreeMap;

use powerband_record::{
    Better, CloseReason, CommandEnd, FailedTrials, RequirementFinding, Resumption, SearchChange, SearchEnd, SearchKept,
    SearchStanding, SearchUnproved, Verdict,
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{CalibrationRow, Landing, MatchesFound, Model};

mod fill;

/// Version of the shapes of this file.
pub const VERSION: u32 = 1;

/// Why a text is not a report.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JsonError {
    /// Not the shape.
    #[error("this is not a report in JSON: {0}")]
    Shape(#[from] serde_json::Error),
    /// Another version.
    #[error("this report has version {0}, this powerband reads version {VERSION}")]
    Version(u32),
}

/// A whole report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Report {
    /// [`VERSION`].
    pub version: u32,
    /// Always `report`.
    pub kind: String,
    /// The finding in one sentence.
    pub finding: String,
    /// `running` (or its process died, where nobody looked), `interrupted`, `ended`, `stopped`.
    pub state: String,
    /// Why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<CloseReason>,
    /// Who, when, where; absent when only events were at hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<Header>,
    /// Title of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The near machine.
    pub machine: String,
    /// The far machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far: Option<String>,
    /// What runs there.
    pub system: String,
    /// The load, in its own shape.
    pub load: serde_json::Value,
    /// Seed of orders.
    pub seed: u64,
    /// Error rate of all differences claimed together, 0..1.
    pub alpha: f64,
    /// The same rate holds of all "same" together, not of each.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_family: bool,
    /// The mean of all trials is judged, not the typical trial.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub judge_mean: bool,
    /// Margin, relative.
    pub margin: f64,
    /// Where the margin comes from: `plan`, `option`, `calibration`, `default`.
    pub margin_source: String,
    /// Judged by ranks.
    pub robust: bool,
    /// Complete blocks.
    pub blocks: u32,
    /// Most blocks.
    pub max_blocks: u32,
    /// Valid trials in blocks.
    pub trials: u32,
    /// Valid warm-up trials.
    pub warmups: u32,
    /// Seconds of the World's clock from the beginning to the last event.
    pub elapsed_s: f64,
    /// Metrics, judged ones first.
    pub metrics: Vec<MetricRow>,
    /// Settings; index 0 is the reference.
    pub settings: Vec<SettingRow>,
    /// The knee, when one was sought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<KneeRow>,
    /// The search, in one: then settings that were never tried are left out of `settings`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchRow>,
    /// The noise of each metric, where that was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calibration: Vec<CalibrationRow>,
    /// The setting to use, where one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommended: Option<RecommendedRow>,
    /// Why no setting is recommended; absent before the end, and of a search, whose end says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_recommended: Option<String>,
    /// Blocks more that would decide what is open, low and high.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_missing: Option<(u32, u32)>,
    /// Trials that do not count.
    pub voids: Vec<VoidRow>,
    /// What must be known with the verdicts.
    pub notes: Vec<String>,
    /// What was restored; absent = not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<Restored>,
}

/// What does not repeat from run to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Header {
    /// Number in the store.
    pub id: i64,
    /// When it began, Unix seconds.
    pub started_unix_s: u64,
    /// Host name.
    pub host: String,
    /// Version of powerband.
    pub powerband: String,
    /// The words it was called with.
    pub command_line: Vec<String>,
    /// Each time it was gone on with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Resumption>,
    /// What measuring cost: CPU seconds of our own process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observer_cpu_s: Option<f64>,
    /// What measuring cost: how often our own process woke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observer_wakeups: Option<u64>,
}

/// The setting to use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RecommendedRow {
    /// Its label.
    pub setting: String,
    /// What it sets.
    pub turns: String,
    /// Why this one, in a sentence.
    pub why: String,
    /// What is typed to have it on the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apply: Option<String>,
    /// Why no command sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_command: Option<String>,
    /// What is typed to restore what that changed; absent where it restores by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
    /// What keeps it over reboots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<String>,
}

/// A metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MetricRow {
    /// Name, unit last.
    pub name: String,
    /// Unit as people write it; empty = a plain number.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// Whether verdicts are given about it.
    pub judged: bool,
    /// Where it could be several numbers of an output: how many there were, and which was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<MatchesFound>,
    /// What watts or joules cover.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<String>,
}

/// A setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SettingRow {
    /// Index.
    pub index: u32,
    /// Name or what it turns.
    pub label: String,
    /// What it turns, as it can be typed again.
    pub turns: String,
    /// Whether the others are compared with it.
    pub reference: bool,
    /// Levels by metric.
    pub levels: BTreeMap<String, LevelRow>,
    /// Verdicts by metric.
    pub verdicts: BTreeMap<String, VerdictRow>,
    /// Where its command failed in a trial: nothing is judged of it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailedTrials>,
    /// Where the plan's requirements stand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<RequirementRow>,
    /// Distributions behind metrics over its valid trials, by name and unit (`rtt_ns`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub distributions: BTreeMap<String, DistributionRow>,
    /// When and why it left the blocks early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<LeftRow>,
    /// Knobs that did not land as asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub landings: Vec<Landing>,
    /// What each valid trial measured, warm-up included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<TrialRow>,
}

/// What a valid trial measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TrialRow {
    /// Running number.
    pub trial: u32,
    /// Block; 0 = warm-up.
    pub block: u32,
    /// Value by metric.
    pub values: BTreeMap<String, f64>,
    /// Real time of each run of a command that was repeated within the trial, s.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs_s: Vec<f64>,
    /// How the command ended; absent = with exit status 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<CommandEnd>,
}

/// A level, in the metric's unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LevelRow {
    /// Valid trials.
    pub trials: u32,
    /// Typical value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typical: Option<f64>,
    /// 95 % interval, lower end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// The values of all valid trials of a setting together, in `unit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DistributionRow {
    /// Unit of everything in it.
    pub unit: String,
    /// Valid trials in it.
    pub trials: u32,
    /// Values in it.
    pub count: u64,
    /// The least value.
    pub min: u64,
    /// The largest value.
    pub max: u64,
    /// `p50`, `p90`, `p99`, `p99.9` of all values.
    pub percentiles: BTreeMap<String, PercentileRow>,
    /// The largest value of each bin that is not empty, ascending; the same bins in every report.
    pub bounds: Vec<u64>,
    /// How many values each of these bins has.
    pub counts: Vec<u64>,
}

/// A percentile; its interval comes from how trials differ, and with five of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PercentileRow {
    /// The smallest value that so many do not exceed.
    pub value: f64,
    /// 95 % interval, lower end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// A verdict; changes are relative to the reference (0.05 = 5 % more) unless `absolute`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct VerdictRow {
    /// The verdict.
    pub verdict: Verdict,
    /// Whether changes are in the metric's own unit, some of its values having no ratio.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub absolute: bool,
    /// Estimated change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<f64>,
    /// Its interval, lower end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Blocks it rests on.
    pub blocks: u32,
    /// Block at which it was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<u32>,
    /// Predicted total of blocks, low and high, when open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_blocks: Option<(u32, u32)>,
    /// Noise larger than the others'.
    pub unstable: bool,
    /// Why it is undecided although its interval would decide it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<String>,
    /// What must be known with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Where a requirement stands at a setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RequirementRow {
    /// As it was typed.
    pub requirement: String,
    /// Where it stands.
    #[serde(flatten)]
    pub found: RequirementFinding,
}

/// When and why a setting left early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LeftRow {
    /// After which block.
    pub block: u32,
    /// Why.
    pub why: String,
}

/// The knee; settings by label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KneeRow {
    /// Metric it was sought on.
    pub metric: String,
    /// The knee, once decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<String>,
    /// The likely one, while open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisional: Option<String>,
    /// How likely, 0..1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// Shown to fall short by more than the margin.
    pub inferior: Vec<String>,
    /// Shown to be within the margin of one another, the knee among them.
    pub alike: Vec<String>,
    /// There is no knee: every setting but the costliest is worse than another by more than the margin.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub none: bool,
}

/// A search and what it found; settings by index in the experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SearchRow {
    /// The metric or knob that is the goal.
    pub goal: String,
    /// Which way.
    pub better: Better,
    /// What the answer must keep to, as typed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<String>,
    /// How many settings it chooses from.
    pub settings: u32,
    /// The knobs.
    pub factors: Vec<String>,
    /// Different settings tried, the baseline among them.
    pub tried: u32,
    /// How it ended; absent while it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<SearchEnd>,
    /// Why nothing was confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Index of the answer, confirmed if `end` says so; absent = the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<u32>,
    /// Its label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What it turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<String>,
    /// The words that turn it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typed: Option<String>,
    /// Change of the goal from the baseline, relative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<SearchChange>,
    /// What it comes to in each requirement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<SearchKept>,
    /// Blocks it was confirmed in.
    pub confirmed_in: u32,
    /// What is expected to be lost by taking it, relative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_loss: Option<f64>,
    /// How likely a setting better by 5 % exists, 0..1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better_chance: Option<f64>,
    /// Settings that may be better and cannot be shown to keep the limits, the largest saving first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unproved: Vec<SearchUnproved>,
    /// About how many more trials would have let the search end by itself; absent where it was not cut short by its budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials_needed: Option<u32>,
    /// Where it stood after each block, one trial each but while settings are raced or confirmed: the provisional answer first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub course: Vec<SearchStanding>,
}

/// A trial that does not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct VoidRow {
    /// Running number.
    pub trial: u32,
    /// Block; 0 = warm-up.
    pub block: u32,
    /// Label of the setting.
    pub setting: String,
    /// Why, in words.
    pub why: String,
}

/// What was restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Restored {
    /// Changes undone.
    pub entries: u32,
    /// What could not be, a sentence each.
    pub failed: Vec<String>,
}

impl Report {
    /// The shape of a model.
    #[must_use]
    pub fn new(model: &Model) -> Report {
        fill::report(model)
    }

    /// Prints it, indented, with a line end.
    ///
    /// # Errors
    /// None with the shapes of this file; serde's signature has one.
    pub fn print(&self) -> Result<String, JsonError> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Reads one.
    ///
    /// # Errors
    /// [`JsonError`] when it is none, or of another version.
    pub fn parse(text: &str) -> Result<Report, JsonError> {
        check_version(text)?;
        Ok(serde_json::from_str(text)?)
    }
}

/// The version stands before everything else: what another version looks like is not known here.
pub(crate) fn check_version(text: &str) -> Result<(), JsonError> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    match serde_json::from_str::<Versioned>(text)?.version {
        VERSION => Ok(()),
        other => Err(JsonError::Version(other)),
    }
}
