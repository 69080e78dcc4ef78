//! What came out of a trial: metrics, how each process ended, what it printed; or why the trial does not count.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Timeline, Writer, format_duration};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    /// It returned this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
}

impl ExitStatus {
    /// Whether it returned 0.
    #[must_use]
    pub fn success(self) -> bool {
        self == ExitStatus::Code(0)
    }
}

impl std::fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // As shells and launchers report what a signal ended.
            ExitStatus::Code(code @ 129..=192) => write!(f, "exit status {code} (128 + signal {})", code - 128),
            ExitStatus::Code(code) => write!(f, "exit status {code}"),
            ExitStatus::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

impl ExitStatus {
    /// As a shell has it: a signal counts as 128 and its number.
    #[must_use]
    pub fn code(self) -> i32 {
        match self {
            ExitStatus::Code(code) => code,
            ExitStatus::Signal(signal) => 128 + signal,
        }
    }
}

/// How the command of a trial ended that did not end with exit status 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CommandEnd {
    /// Its exit status, or the signal that ended it; of several runs in a trial that of the first that failed.
    pub status: ExitStatus,
    /// Whether this status was named as success; else the command failed, and what it took is not judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
}

/// The trials of a setting in which the command failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FailedTrials {
    /// In so many …
    pub failed: u32,
    /// … of so many valid trials.
    pub trials: u32,
    /// With these statuses, each once.
    pub statuses: Vec<ExitStatus>,
}

impl FailedTrials {
    /// Counts a valid trial.
    pub fn take(&mut self, outcome: &Outcome) {
        self.trials += 1;
        let Some(status) = outcome.failure() else { return };
        self.failed += 1;
        if !self.statuses.contains(&status) {
            self.statuses.push(status);
        }
    }
}

/// Most statuses that are named.
const NAMED_STATUSES: usize = 4;

/// `failed in 5 of 5 trials (exit status 1)`.
impl std::fmt::Display for FailedTrials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plural = if self.trials == 1 { "" } else { "s" };
        let mut named: Vec<String> = self.statuses.iter().take(NAMED_STATUSES).map(ToString::to_string).collect();
        named.extend((self.statuses.len() > NAMED_STATUSES).then(|| "…".to_owned()));
        write!(f, "failed in {} of {} trial{plural} ({})", self.failed, self.trials, named.join(", "))
    }
}

/// Which of several numbers in an output a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TakenMatch {
    /// The first.
    First,
    /// The last.
    Last,
    /// The mean of all.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// All added up.
    Sum,
}

impl TakenMatch {
    /// All, in the order of the documentation.
    pub const ALL: [TakenMatch; 6] =
        [TakenMatch::First, TakenMatch::Last, TakenMatch::Mean, TakenMatch::Min, TakenMatch::Max, TakenMatch::Sum];

    /// The word, as in `regex-last:`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            TakenMatch::First => "first",
            TakenMatch::Last => "last",
            TakenMatch::Mean => "mean",
            TakenMatch::Min => "min",
            TakenMatch::Max => "max",
            TakenMatch::Sum => "sum",
        }
    }
}

/// The numbers in one output that a metric could be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Matches {
    /// How many there are.
    pub count: u32,
    /// The first, as printed.
    pub first: String,
    /// The last, as printed.
    pub last: String,
    /// Which one the metric is.
    pub taken: TakenMatch,
}

/// What a process cost (getrusage(2), and the clock from exec to exit).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Elapsed time, ns.
    pub real_ns: u64,
    /// CPU time in user mode, ns, of the process and those it waited for.
    pub user_ns: u64,
    /// CPU time in the kernel, ns.
    pub sys_ns: u64,
    /// Largest resident set of any one process, KiB.
    pub peak_rss_kib: u64,
}

/// What a process printed, cut at a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Standard output; bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Whether something was cut.
    pub cut: bool,
}

/// How often each value came, ascending: `(value, count)`. Those of several trials can be added up.
pub type Histogram = Vec<(u64, u64)>;

/// The runs of a command that was repeated within one trial; its metrics are means over them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Repeated {
    /// How many.
    pub runs: u32,
    /// Real time of each, s; empty where the machine knows only their sum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub real_s: Vec<f64>,
}

/// One valid trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Value by metric name (`rate_mbit_s`, `real_s`, …).
    pub metrics: BTreeMap<String, f64>,
    /// What the load printed, by the name of its process (`load`, `send`, `receive`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub output: BTreeMap<String, Output>,
    /// Distributions behind metrics, by name and unit (`rtt_ns`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub histograms: BTreeMap<String, Histogram>,
    /// What meters that are read meanwhile showed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timelines: Vec<Timeline>,
    /// Why a metric that is shown could not be measured this time, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, String>,
    /// How many readings of a metric's meter were left out, as no machine draws what they showed, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, u32>,
    /// The runs of a command that was repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeated: Option<Repeated>,
    /// Where several numbers of the output match what a metric is picked by, by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub matches: BTreeMap<String, Matches>,
    /// How the command ended, where not with exit status 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<CommandEnd>,
}

impl Outcome {
    /// The status of a command that failed: what it took and printed is shown, and not judged.
    #[must_use]
    pub fn failure(&self) -> Option<ExitStatus> {
        self.ended.filter(|ended| !ended.accepted).map(|ended| ended.status)
    }
}

/// Why a trial does not count. It is kept and repeated, and never enters a mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Void {
    /// The load did not end as it should.
    LoadFailed {
        /// One sentence: which process, how it ended, the last line it printed.
        why: String,
    },
    /// A knob was not where it should be at the end, or somebody else wrote to it meanwhile.
    KnobMoved {
        /// Knob and site.
        knob: String,
        /// What was set; the same as `found` where what was written changed nothing in the end.
        expected: String,
        /// What was found.
        found: String,
        /// Who was seen to write, in order; a journal from before they were looked for has none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        by: Vec<Writer>,
    },
    /// A knob could not be turned.
    NotTurned {
        /// One sentence.
        why: String,
    },
    /// A metric that was asked for did not come.
    NoMetric {
        /// Its name.
        metric: String,
        /// Why not.
        why: String,
    },
    /// So many packets were lost that those that came say too little of the others.
    Lossy {
        /// Share of what was sent that did not come back.
        lost_percent: f64,
        /// One sentence.
        why: String,
    },
    /// A machine was lost.
    Lost {
        /// One sentence.
        why: String,
    },
    /// The machine was suspended meanwhile: loads stood still, and power meters may have begun again.
    Suspended {
        /// For how long, ns.
        for_ns: u64,
    },
    /// Stopped by the user in the middle.
    Stopped,
}

/// So many writers are named in a sentence.
const NAMED: usize = 3;

impl std::fmt::Display for Void {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Void::LoadFailed { why } | Void::NotTurned { why } | Void::Lossy { why, .. } | Void::Lost { why } => {
                f.write_str(why)
            }
            Void::KnobMoved { knob, expected, found, by } if by.is_empty() => {
                write!(f, "{knob} was moved by someone else during the trial: set to {expected}, found at {found}")
            }
            Void::KnobMoved { knob, expected, found, by } => {
                let others = by.len().saturating_sub(NAMED);
                let mut named: Vec<String> = by.iter().take(NAMED).map(Writer::to_string).collect();
                named.extend((others > 0).then(|| format!("{others} other processes")));
                write!(f, "{knob} was written by {} during the trial", named.join(" and "))?;
                if expected == found {
                    return write!(f, "; it reads {found}, as before");
                }
                write!(f, ": set to {expected}, found at {found}")
            }
            Void::NoMetric { metric, why } => write!(f, "no {metric}: {why}"),
            Void::Suspended { for_ns } => {
                write!(f, "the machine was suspended for {} during the trial", format_duration(*for_ns))
            }
            Void::Stopped => f.write_str("stopped"),
        }
    }
}
