//! Outcomes of changing files: what counts as which, and the table of them.
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes of a value that the table shows at most.
const MAX_VALUE: usize = 40;

/// The outcome of changing one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was changed and everything is as before.
    Restored,
    /// powerband took the value, and the file showed the same as before.
    Unchanged,
    /// powerband did not change it, for this reason.
    NotChanged(String),
    /// The kernel refused the value.
    Refused(String),
    /// It shows nothing that another value could be made of.
    NoValue,
    /// Something is not as before, or powerband failed.
    Different(String),
}

impl Outcome {
    /// From powerband's code and words, the lines that differ, and whether the file showed another value meanwhile.
    pub(super) fn of(code: i32, err: &str, differing: &str, changed: bool) -> Outcome {
        let said = err.trim().to_owned();
        match code {
            _ if !differing.trim().is_empty() => Outcome::Different(format!("code {code}: {said}\n{differing}")),
            0 if changed => Outcome::Restored,
            0 => Outcome::Unchanged,
            4 if said.contains("it is not changed") => Outcome::NotChanged(said),
            2..=4 => Outcome::Refused(said),
            8 if said.contains("the kernel refused") => Outcome::Refused(said),
            _ => Outcome::Different(format!("code {code}: {said}")),
        }
    }

    /// True where powerband refused to change it.
    pub(super) fn is_not_changed(&self) -> bool {
        matches!(self, Outcome::NotChanged(_))
    }
}

/// One file.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub(super) path: String,
    pub(super) value: String,
    pub(super) outcome: Outcome,
}

/// The number of files of each outcome.
pub(super) fn summary(judged: &[Judged]) -> String {
    let count = |is: fn(&Outcome) -> bool| judged.iter().filter(|it| is(&it.outcome)).count();
    format!(
        "{} files: {} restored exactly, {} not changed, {} whose values the kernel refused, {} that showed no change, {} different",
        judged.len(),
        count(|it| matches!(it, Outcome::Restored)),
        count(Outcome::is_not_changed),
        count(|it| matches!(it, Outcome::Refused(_))),
        count(|it| matches!(it, Outcome::Unchanged | Outcome::NoValue)),
        count(|it| matches!(it, Outcome::Different(_)))
    )
}

/// Writes the table of files that are not changed into the documents.
pub(super) fn record(release: &str, judged: &[Judged]) {
    let mut rows: BTreeMap<String, String> = BTreeMap::new();
    for it in judged {
        if let Outcome::NotChanged(said) = &it.outcome {
            rows.insert(every(&it.path), reason(said));
        }
    }
    let rows: String = rows.iter().map(|(path, why)| format!("| `{path}` | {why} |\n")).collect();
    let text = format!(
        "# Files that powerband does not change\n\n\
         A file whose undo does not work is not changed; `powerband with` ends with code 4 and the reason. This table is written by\n\
         `cargo xtask sweep --only guests`, which changes every writable file below `/proc/sys`, `/sys/devices/system/cpu`,\n\
         `/sys/kernel/mm`, `/sys/block/*/queue` and `/sys/class/net` of the virtual bench and compares all files afterwards.\n\n\
         Linux {release}, {}.\n\n| file | reason |\n|---|---|\n{rows}",
        summary(judged)
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/design/unrestorable.md");
    std::fs::write(path, text).unwrap();
}

/// A file of one CPU, policy or device as the pattern of that file of all of them.
fn every(path: &str) -> String {
    let one = |part: &str| {
        let kind = part.trim_end_matches(|digit: char| digit.is_ascii_digit());
        match kind {
            "lo" | "eth" => "*".to_owned(),
            "cpu" | "policy" | "state" | "rx-" | "tx-" if kind != part => format!("{kind}*"),
            _ => part.to_owned(),
        }
    };
    path.split('/').map(one).collect::<Vec<_>>().join("/")
}

/// The reason in powerband's words, without the file's name and without a long value.
fn reason(said: &str) -> String {
    let (_, why) = said.split_once("so it is not changed: ").unwrap_or(("", said));
    let why = why.rsplit_once(" (/").map_or(why, |(why, _)| why);
    match why.split_once(", '").and_then(|(before, rest)| Some((before, rest.rsplit_once("': ")?))) {
        Some((before, (value, after))) if value.len() > MAX_VALUE => format!("{before}: {after}"),
        _ => why.to_owned(),
    }
}

/// Fails with everything that differs.
#[track_caller]
pub(super) fn assert_none_differs(judged: &[Judged]) {
    let differing: Vec<String> = judged
        .iter()
        .filter_map(|it| match &it.outcome {
            Outcome::Different(what) => Some(format!("{}={}: {what}", it.path, it.value)),
            _ => None,
        })
        .collect();
    assert!(differing.is_empty(), "{} of {} differ:\n{}", differing.len(), judged.len(), differing.join("\n"));
}
