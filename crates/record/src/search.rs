//! What a search for the best setting is asked, where it stands, and what it found: parts of the events of `tune`.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Better, MetricName, Requirement};

/// What is searched, complete: with the settings next to it, the search can be done again from this alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SearchPlan {
    /// What is to be as low or as high as can be.
    pub goal: SearchGoal,
    /// What a setting must keep to, each by one metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Requirement>,
    /// By how much a setting that is tried may break a limit at most, as a share of it; anything may be tried when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safe: Option<f64>,
    /// What the settings differ in.
    pub factors: Vec<SearchFactor>,
    /// Level of each factor at each setting but the baseline: entry 0 is setting 1. Absent where a setting leaves
    /// the factor alone.
    pub points: Vec<Vec<Option<u16>>>,
    /// The setting that the machine was in as found, where one of them is that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_at: Option<u32>,
    /// One of the knobs is held for the length of a command and never for good: the answer is typed with `with`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_held: bool,
    /// Noise of metrics that a calibration has measured on this machine with this load: standard deviation of their
    /// logarithm.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub noise: BTreeMap<MetricName, f64>,
}

/// The goal of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SearchGoal {
    /// A metric, or a knob as typed.
    pub name: String,
    /// Which way.
    pub better: Better,
    /// Where a knob's own value is the goal: that value at each setting but the baseline, entry 0 being setting 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<f64>,
    /// That value at the baseline, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<f64>,
}

/// Something settings differ in: a knob at its sites, or which of its special values it has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SearchFactor {
    /// The knob as in the settings.
    pub name: String,
    /// Its levels.
    pub kind: SearchFactorKind,
    /// What its numbers are, where charts show them in a unit of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<SearchRole>,
    /// How long the machine is expected to settle after it was turned, s.
    pub switch_s: f64,
    /// What is believed of its slope before anything is measured, by metric: 1 where the metric is known to rise with it,
    /// -1 where it falls; absent where nothing is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trends: BTreeMap<MetricName, f64>,
}

/// What the numbers of a factor are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchRole {
    /// A clock of CPUs, kHz.
    ClockKhz,
    /// How long a network card holds back its interrupts, us.
    DelayUs,
}

/// Levels of a factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchFactorKind {
    /// Numbers, ascending.
    Numbers(Vec<f64>),
    /// Names in an order that means something.
    Names(Vec<String>),
    /// Names without an order.
    Category(Vec<String>),
}

/// What a search is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchPhase {
    /// The baseline, and a first setting.
    Starting,
    /// Trying what promises most.
    Searching,
    /// Measuring one setting against the baseline.
    Confirming,
    /// Few settings, all in blocks.
    Racing,
    /// The end.
    Done,
}

/// Where a search stands after a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SearchStanding {
    /// What it is at.
    pub phase: SearchPhase,
    /// The provisional answer; absent = the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<u32>,
    /// What is expected to be lost by taking that one, as a share of the goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_loss: Option<f64>,
    /// How likely a setting that is better by 5 % exists, 0..1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better_chance: Option<f64>,
    /// Change of the goal from the baseline to the provisional answer, relative (-0.1 = 10 % less), as expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<f64>,
    /// Different settings tried, the baseline among them.
    pub tried: u32,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchEnd {
    /// A setting was confirmed to be better and to keep the limits.
    Confirmed,
    /// Nothing better than the baseline.
    FoundIsBest,
    /// No setting keeps the limits.
    NoneKeeps,
    /// Nothing could be proved.
    Undecided,
    /// It was ended before its answer was confirmed: by time or by the user.
    Unfinished,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchFinding {
    /// How it ended.
    pub end: SearchEnd,
    /// The setting that was confirmed, or the best guess where none was; absent = the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<u32>,
    /// Why nothing was confirmed, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The change of the goal from the baseline to that setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<SearchChange>,
    /// What that setting comes to in each requirement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<SearchKept>,
    /// Blocks the answer was confirmed in.
    pub confirmed_in: u32,
    /// What is expected to be lost by taking that one, as a share of the goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_loss: Option<f64>,
    /// How likely a setting that is better by 5 % exists, 0..1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better_chance: Option<f64>,
    /// Settings that may be better and cannot be shown to keep the limits, the largest saving first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unproved: Vec<SearchUnproved>,
    /// About how many more trials would have let the search end by itself; absent where it was not cut short by its budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials_needed: Option<u32>,
    /// Different settings tried, the baseline among them.
    pub tried: u32,
}

/// A change of the goal, relative to the baseline (-0.1 = 10 % less), with its 95 % interval where one was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SearchChange {
    /// As estimated.
    pub change: f64,
    /// Lower end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// A setting that may be better than the answer, but is too near a limit for a few runs to show that it keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SearchUnproved {
    /// The setting.
    pub setting: u32,
    /// Expected change of the goal from the answer to it, relative (-0.1 = 10 % less).
    pub change: f64,
    /// What is expected of it in each requirement.
    pub expected: Vec<SearchExpected>,
}

/// What is expected of a setting in one requirement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SearchExpected {
    /// The metric.
    pub metric: MetricName,
    /// Its predicted level, in its unit.
    pub typical: f64,
    /// Half width of the 90 % interval of that level, relative.
    pub error: f64,
}

/// What a setting comes to in one requirement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SearchKept {
    /// The metric.
    pub metric: MetricName,
    /// Its typical value, in its unit; where the limit is against the baseline, the share it differs from that by.
    pub typical: f64,
    /// How certain it is that it keeps the limit, 0..1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certainty: Option<f64>,
}
