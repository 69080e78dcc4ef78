//! What happened, as append-only events: the journal. Every table, page and screen is derived from these and nothing else.
//!
//! The header (wall time, host, version, id) stands apart, so that the events of a simulated experiment are the same
//! bytes for the same seed. Times inside events are nanoseconds of the World's clock since the experiment began.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Calibration, CommandKnob, CommandMeter, Cool, CpuList, Fact, FactChange, FleetTask, Hooks, MeterChoice, Metric,
    Outcome, Recording, Requirement, RequirementStanding, SearchFinding, SearchPlan, SearchStanding, Void,
};

/// Version of the journal's shape; raised when a reader of the old one would misread the new.
pub const JOURNAL_VERSION: u32 = 1;

/// What does not repeat from run to run. Never part of the compared bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentHeader {
    /// [`JOURNAL_VERSION`].
    pub journal_version: u32,
    /// Number in the store.
    pub id: i64,
    /// A key that no other experiment has, 32 hexadecimal digits: by it a store recognises one that came from another store.
    /// Older versions wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// What it is of a fleet, where `fleet run` started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetTask>,
    /// When it began, Unix seconds.
    pub started_unix_s: u64,
    /// Where: host name.
    pub host: String,
    /// `powerband` version.
    pub powerband: String,
    /// The words it was called with.
    pub command_line: Vec<String>,
    /// The folder it was started in: what its words and its load name is looked for there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The process that runs it, or ran it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// Each time it was gone on with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Resumption>,
    /// What measuring cost us: CPU seconds of our own process, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observer_cpu_s: Option<f64>,
    /// How often our own process woke (voluntary context switches), once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observer_wakeups: Option<u64>,
}

impl ExperimentHeader {
    /// The block limits it was extended to, in turn.
    #[must_use]
    pub fn block_limits(&self) -> Vec<u32> {
        self.resumed.iter().filter_map(|resumption| resumption.max_blocks).collect()
    }
}

/// A process such that no other is ever taken for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its number.
    pub pid: u32,
    /// When it began, clock ticks since the boot.
    pub start_ticks: u64,
    /// Which boot.
    pub boot_id: String,
}

/// An experiment was gone on with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Resumption {
    /// When, Unix seconds.
    pub unix_s: u64,
    /// Events that stood.
    pub kept_events: u64,
    /// Events that were set aside: a trial without its end, and how the experiment had ended.
    pub dropped_events: u64,
    /// The block limit it was extended to, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_blocks: Option<u32>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// What is going to be done, complete: the experiment can be repeated from this alone.
    Started(Box<Started>),
    /// A trial begins.
    TrialStarted(PlannedTrial),
    /// A knob was turned for a trial, and how it landed.
    Landed {
        /// Trial.
        trial: u32,
        /// Where and how.
        site: ReachedSite,
    },
    /// How often the command of a setting runs within each of its trials, decided by one run of it.
    Repeats {
        /// Trial before which that was decided.
        trial: u32,
        /// Index of the setting.
        setting: u32,
        /// Runs in each trial.
        runs: u32,
        /// How long the run took that decided it, ns.
        real_ns: u64,
    },
    /// A valid trial.
    TrialDone {
        /// Trial.
        trial: u32,
        /// When it ended, ns since the experiment began.
        at_ns: u64,
        /// What came out.
        outcome: Outcome,
    },
    /// A trial that does not count; it is repeated in its block.
    TrialVoid {
        /// Trial.
        trial: u32,
        /// When, ns since the experiment began.
        at_ns: u64,
        /// Why.
        why: Void,
    },
    /// A block is complete and was looked at.
    BlockDone(BlockDone),
    /// A setting is decided (or set aside) and leaves the blocks.
    SettingLeft {
        /// Index of the setting.
        setting: u32,
        /// After which block.
        block: u32,
        /// Why, in a few words.
        why: String,
    },
    /// Everything that was turned was restored.
    Restored {
        /// Ledger entries undone by the process that ended it.
        entries: u32,
        /// Entries that could not be undone, a sentence each.
        failed: Vec<String>,
        /// What of the machines is then not as it was when it began.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<FactChange>,
    },
    /// The end, with the verdicts.
    Closed(Finding),
}

/// The plan as resolved: nothing is left to defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Started {
    /// Title of the plan, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The near machine as named (`local`, `sim:omap3530`); of a list the first.
    pub machine: String,
    /// The far machine, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far: Option<String>,
    /// The machines of a list, each `NAME=MACHINE`; empty for one machine, or two at the ends of a link.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<String>,
    /// The near machine as it was typed, where that says more than its name: a seed, a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_typed: Option<String>,
    /// The far machine as it was typed, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_typed: Option<String>,
    /// What runs there: kernel release or the simulated machine's rules.
    pub system: String,
    /// What was known of the machines before anything was turned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
    /// Knobs that the plan declares by their commands, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub knobs: BTreeMap<String, CommandKnob>,
    /// The program that is read as the near machine's meter, where one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_meter: Option<CommandMeter>,
    /// How cool the machines are to be before each load, if that matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cool: Option<Cool>,
    /// What is kept of the machines' CPUs while a load runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub record: Vec<Recording>,
    /// What the knobs that settings change read before the first trial, each where it could be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baseline: Vec<BaselineValue>,
    /// The load, as JSON of its own shape.
    pub load: serde_json::Value,
    /// Number of the user the load runs as; absent where there are no users (simulated machines).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
    /// Seed of orders, and of a simulated machine's noise.
    pub seed: u64,
    /// Settings; index 0 is the reference.
    pub settings: Vec<PlannedSetting>,
    /// Metrics, judged ones first.
    pub metrics: Vec<Metric>,
    /// Where metrics come from that are not measured under their own name, as typed: `p99_us=regex:p99 = ([0-9.]+)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub picks: Vec<String>,
    /// Meters that were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meters: Vec<MeterChoice>,
    /// The CPUs turning is narrowed to; absent = all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuList>,
    /// What could not be restored was changed all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accept_unrestorable: bool,
    /// Settings by cost for the knee, cheapest first; empty = no knee is sought.
    #[serde(default)]
    pub cost_order: Vec<u32>,
    /// What settings must fulfil besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Requirement>,
    /// Nothing is turned and nothing decided: the noise is measured, all settings being the machine as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub calibration: bool,
    /// Error rate of all "better" and "worse" together.
    pub alpha: f64,
    /// The same rate holds of all "same" together, not of each.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_family: bool,
    /// Margin of "same", relative.
    pub margin: f64,
    /// Where the margin comes from: `plan`, `option`, `calibration`, `default`.
    pub margin_source: String,
    /// Rank-based path instead of t.
    #[serde(default)]
    pub robust: bool,
    /// The mean of all trials is judged, not the typical trial.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub judge_mean: bool,
    /// Most blocks.
    pub max_blocks: u32,
    /// Blocks that every setting runs in, also when it is decided before.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub min_blocks: u32,
    /// Commands that run before and after trials.
    #[serde(default, skip_serializing_if = "Hooks::is_empty")]
    pub hooks: Hooks,
    /// Most time, ns of the World's clock, if limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ns: Option<u64>,
    /// Time to settle after turning, ns.
    pub settle_ns: u64,
    /// Warm-up trials at most.
    pub warmup: u32,
    /// What is searched, where the best of many settings is: then they are not all compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchPlan>,
    /// Caveats that were known before the first trial, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Started {
    /// The machines besides the near one: the far one, or the others of a list.
    #[must_use]
    pub fn others(&self) -> Option<String> {
        let listed = self.machines.get(1..).filter(|others| !others.is_empty()).map(|others| others.join(", "));
        listed.or_else(|| self.far.clone())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it by reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The value of a knob before an experiment changed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BaselineValue {
    /// Canonical knob, with `far/` before it on the far machine.
    pub knob: String,
    /// Its value, or its values with a comma between where targets differ.
    pub value: String,
}

/// One setting of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlannedSetting {
    /// Name or what it turns.
    pub label: String,
    /// What it turns, as it can be typed again; empty = as found.
    pub turns: String,
}

/// One trial about to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTrial {
    /// Running number from 0, warm-up and void trials included.
    pub trial: u32,
    /// Block from 1; 0 = warm-up.
    pub block: u32,
    /// Index of the setting.
    pub setting: u32,
    /// Which copy of the reference, from 0.
    pub copy: u32,
    /// When it began, ns since the experiment began.
    pub at_ns: u64,
}

/// A knob at its site, for people; a knob of the whole machine has none (`-`).
#[must_use]
pub fn placed(knob: &str, site: &str) -> String {
    if site == "-" { knob.to_owned() } else { format!("{knob} at {site}") }
}

/// How one knob landed at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReachedSite {
    /// Canonical knob, with side when not near.
    pub knob: String,
    /// Site.
    pub site: String,
    /// What was asked.
    pub asked: String,
    /// What it read back, when it reads at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_back: Option<String>,
    /// In words: `applied`, `clamped to 600 MHz`, `refused: invalid argument (EINVAL)`.
    pub landed: String,
}

/// A verdict on one metric of one setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better than the reference.
    Better,
    /// Worse than the reference.
    Worse,
    /// Within the margin.
    Same,
    /// Open.
    Undecided,
}

/// What a look found for one metric of one setting against the reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingVerdict {
    /// Index of the setting, from 1.
    pub setting: u32,
    /// Metric.
    pub metric: String,
    /// Verdict so far.
    pub verdict: Verdict,
    /// Difference to the reference, relative (0.05 = 5 % more) unless `absolute`, with the interval of this look: the
    /// repeated one, or for "same" the one at the level of its two one-sided tests.
    pub change: f64,
    /// Differences are in the metric's own unit: some of its values have no ratio (zero or below).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub absolute: bool,
    /// Its lower end; absent before the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Its upper end; absent before the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Blocks it rests on.
    pub blocks: u32,
    /// The block at which it was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<u32>,
    /// Predicted total of blocks until decided, low and high, when open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_blocks: Option<(u32, u32)>,
    /// Its own noise is larger than the others'.
    #[serde(default)]
    pub unstable: bool,
    /// Why it is undecided although its interval would decide it, in words that follow "undecided".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<String>,
    /// What must be known with it, a sentence each (a difference below the margin, a share clipped, …).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl SettingVerdict {
    /// Takes back "better" and "same", with the reason.
    pub fn withhold(&mut self, why: &str) {
        if matches!(self.verdict, Verdict::Better | Verdict::Same) {
            (self.verdict, self.decided_at) = (Verdict::Undecided, None);
            self.withheld = Some(why.to_owned());
        }
    }

    /// Whether it is "better" or "worse".
    #[must_use]
    pub fn is_difference(&self) -> bool {
        matches!(self.verdict, Verdict::Better | Verdict::Worse)
    }
}

/// The level of one metric at one setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Index of the setting.
    pub setting: u32,
    /// Metric.
    pub metric: String,
    /// Valid trials.
    pub trials: u32,
    /// Typical value (geometric mean for positive metrics, else the mean).
    pub typical: f64,
    /// 95 % interval of it, lower end, when there are two trials or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// A block that is complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockDone {
    /// From 1.
    pub block: u32,
    /// When, ns since the experiment began.
    pub at_ns: u64,
    /// Verdicts so far, empty before the first look.
    pub verdicts: Vec<SettingVerdict>,
    /// Where requirements stand, by setting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<RequirementStanding>,
    /// Knee so far, when one is sought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<KneeFinding>,
    /// Where the search stands, in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchStanding>,
}

/// Where the knee is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KneeFinding {
    /// Metric it was sought on.
    pub metric: String,
    /// The knee, once decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<u32>,
    /// Cheapest setting whose estimated gap is within the margin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisional: Option<u32>,
    /// Probability that it is the knee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// Settings shown to be worse than another by more than the margin.
    pub inferior: Vec<u32>,
    /// Settings shown to be pairwise within the margin of one another, the knee among them.
    pub alike: Vec<u32>,
    /// There is none: every setting but the costliest is shown to be worse than another by more than the margin.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub none: bool,
}

/// Why an experiment ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CloseReason {
    /// Everything is decided.
    Decided,
    /// The most blocks were run.
    Blocks,
    /// The time is used up.
    Budget,
    /// The user stopped it.
    Stopped,
    /// The load failed at the reference, or at everything but the reference.
    LoadFailed {
        /// One sentence.
        why: String,
    },
    /// It could not go on.
    Failed {
        /// One sentence.
        why: String,
    },
}

impl CloseReason {
    /// Whether it ran to its end: everything is decided, or all of its blocks or all of its time are used up.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        matches!(self, CloseReason::Decided | CloseReason::Blocks | CloseReason::Budget)
    }
}

/// What an experiment found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Why it ended.
    pub reason: CloseReason,
    /// When, ns since the experiment began.
    pub at_ns: u64,
    /// Complete blocks.
    pub blocks: u32,
    /// Valid trials in blocks.
    pub trials: u32,
    /// Void trials.
    pub voids: u32,
    /// Verdicts by setting and judged metric.
    pub verdicts: Vec<SettingVerdict>,
    /// Where requirements stand, by setting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<RequirementStanding>,
    /// The noise of each metric, when that was what was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calibrations: Vec<Calibration>,
    /// Levels by setting and metric.
    pub levels: Vec<Level>,
    /// The knee, when one was sought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<KneeFinding>,
    /// What the search found, in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Box<SearchFinding>>,
    /// What must be known with the verdicts (drift, a change point, clipped trials), a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}
