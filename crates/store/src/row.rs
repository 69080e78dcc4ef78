//! Rows as the store's callers see them.
use powerband_record::{CloseReason, Counts, ExperimentHeader, FleetTask, Owner};
use serde::{Deserialize, Serialize};

/// Whether an experiment goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It has begun and not said how it ended: it runs, or its process died.
    Running,
    /// It came to its end.
    Ended,
    /// The user stopped it.
    Stopped,
}

impl State {
    /// As it is spelled in the store and in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Ended => "ended",
            State::Stopped => "stopped",
        }
    }

    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "ended" => State::Ended,
            "stopped" => State::Stopped,
            _ => State::Running,
        }
    }
}

/// What a search sought and found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchSummary {
    /// `least power_w`.
    pub sought: String,
    /// How it ended, as its journal has it (`confirmed`); absent until it has.
    pub end: Option<String>,
    /// Label of the setting it ended with; absent = the baseline.
    pub answer: Option<String>,
}

/// One experiment in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Its number.
    pub id: i64,
    /// When it began, Unix seconds.
    pub started_unix_s: u64,
    /// Where it was started: host name.
    pub host: String,
    /// The process that runs it, or ran it last.
    pub owner: Option<Owner>,
    /// The node of a fleet that it is about, if any; without its facts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetTask>,
    /// Title of its plan, if any.
    pub title: Option<String>,
    /// The near machine; absent before the plan is stored.
    pub machine: Option<String>,
    /// The far machine, if any.
    pub far: Option<String>,
    /// The load, as JSON of its own shape.
    pub load: Option<serde_json::Value>,
    /// Whether it goes on.
    pub state: State,
    /// Why it ended.
    pub reason: Option<CloseReason>,
    /// How far it is.
    #[serde(flatten)]
    pub counts: Counts,
    /// Label of the knee, once decided.
    pub knee: Option<String>,
    /// What a search is about, where it is one.
    pub search: Option<SearchSummary>,
    /// When it ended, ns since it began.
    pub ended_ns: Option<u64>,
}

/// An experiment of a fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its number.
    pub id: i64,
    /// Its header, which has the node and its position.
    pub header: ExperimentHeader,
    /// Whether it goes on.
    pub state: State,
}
