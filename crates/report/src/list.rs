//! A list of experiments, a row each: as a table and as JSON.
use powerband_record::{BASELINE, CloseReason, Counts};
use serde::{Deserialize, Serialize};

use crate::ExperimentEnd;
use crate::json::{JsonError, VERSION, check_version};
use crate::layout::{aligned, fold};
use crate::load::load;
use crate::sentence::ending;
use crate::words::{store_option, utc};

/// One experiment of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ListRow {
    /// Its number.
    pub id: i64,
    /// When it began, Unix seconds.
    pub started_unix_s: u64,
    /// Where it was started: host name.
    pub host: String,
    /// Title of its plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The near machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The far machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far: Option<String>,
    /// The load, in its own shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<serde_json::Value>,
    /// `running`, `interrupted` (its process is gone), `ended`, `stopped`.
    pub state: String,
    /// Why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<CloseReason>,
    /// How far it is.
    #[serde(flatten)]
    pub counts: Counts,
    /// Label of the knee, once decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<String>,
    /// What a search sought (`least power_w`), where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sought: Option<String>,
    /// Label of the setting that a search confirmed; `baseline` where nothing is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pick: Option<String>,
    /// Seconds of the World's clock it took, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_s: Option<f64>,
}

/// The list as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct List {
    /// [`VERSION`].
    pub version: u32,
    /// Always `list`.
    pub kind: String,
    /// Oldest first.
    pub experiments: Vec<ListRow>,
}

impl List {
    /// A list of rows, oldest first.
    #[must_use]
    pub fn new(experiments: Vec<ListRow>) -> List {
        List { version: VERSION, kind: "list".into(), experiments }
    }

    /// Prints it as JSON, indented, with a line end.
    ///
    /// # Errors
    /// None with this shape; serde's signature has one.
    pub fn print(&self) -> Result<String, JsonError> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Reads one.
    ///
    /// # Errors
    /// [`JsonError`] when it is none, or of another version.
    pub fn parse(text: &str) -> Result<List, JsonError> {
        check_version(text)?;
        Ok(serde_json::from_str(text)?)
    }

    /// Prints it as a table for `width` columns; times are UTC. `store`: the one it is of, where that is to be named.
    #[must_use]
    pub fn render(&self, width: usize, store: Option<&str>) -> String {
        if self.experiments.is_empty() {
            return "no experiment yet; `powerband try` makes one\n".into();
        }
        let head = ["id", "began (UTC)", "machine", "what", "blocks", "outcome"].map(String::from);
        let rows: Vec<Vec<String>> =
            [head].into_iter().chain(self.experiments.iter().map(cells)).map(Vec::from).collect();
        let mut lines = aligned(&rows, 6, width.max(40), &[2, 3, 5]);
        let interrupted = self.experiments.iter().filter(|row| row.state == "interrupted");
        lines.extend(interrupted.flat_map(|row| {
            let next = format!("powerband{} resume {}", store_option(store), row.id);
            fold(&format!("{} was interrupted; resume it with `{next}`", row.id), width.max(40), 0)
        }));
        lines.push(String::new());
        lines.join("\n")
    }
}

fn cells(row: &ListRow) -> [String; 6] {
    let loaded = || row.title.clone().or_else(|| row.load.as_ref().map(load));
    let what = row.sought.clone().or_else(loaded).unwrap_or_else(|| "-".into());
    [
        row.id.to_string(),
        utc(row.started_unix_s),
        row.machine.clone().unwrap_or_else(|| "-".into()),
        what,
        row.counts.blocks.to_string(),
        outcome(row),
    ]
}

fn outcome(row: &ListRow) -> String {
    if row.sought.is_some() {
        return searched(row).into();
    }
    let decided = match (&row.knee, row.counts.decided, row.counts.open) {
        (Some(knee), _, _) => format!("knee {knee}"),
        (None, 0, 0) => String::new(),
        (None, decided, open) => format!("{decided} of {} decided", decided + open),
    };
    let end = match (&row.reason, row.state.as_str()) {
        (Some(CloseReason::Decided | CloseReason::Blocks | CloseReason::Budget), _) if !decided.is_empty() => "",
        (Some(CloseReason::Stopped), _) => "stopped",
        (Some(reason), _) => ending(&ExperimentEnd::Closed(reason.clone())),
        (None, state) => state,
    };
    [end, decided.as_str()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// The pick of a search, or how it ended without one.
fn searched(row: &ListRow) -> &str {
    match (&row.pick, &row.reason, row.state.as_str()) {
        (Some(pick), _, _) if pick == BASELINE => "keep the baseline",
        (Some(pick), _, _) => pick,
        (None, Some(CloseReason::Decided | CloseReason::Blocks | CloseReason::Budget), _) => "nothing confirmed",
        (None, Some(CloseReason::Stopped), _) => "stopped",
        (None, Some(reason), _) => ending(&ExperimentEnd::Closed(reason.clone())),
        (None, None, state) => state,
    }
}
