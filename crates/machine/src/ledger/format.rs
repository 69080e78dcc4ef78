//! The ledger's bytes: records to lines and back, and what can still be told of a line that does not check out.
use serde::{Deserialize, Serialize};

use super::{EntryId, EntryOrigin, Undone};
use crate::{Errno, Turn};

/// What every line begins with: the version of the format.
const MARK: &str = "PBL1 ";

/// One line of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub(super) enum Record {
    /// About to act.
    Intent {
        id: EntryId,
        boot_id: String,
        #[serde(default, skip_serializing_if = "EntryOrigin::is_anywhere")]
        origin: EntryOrigin,
        turn: Box<Turn>,
    },
    /// Acted, with what came of it.
    Done { id: EntryId, errno: Option<Errno>, reads_back: Option<String> },
    /// Held until now, set from now on: one record for all, so that they change together.
    Kept { ids: Vec<EntryId> },
    /// No longer ours to undo.
    Closed { id: EntryId, outcome: Undone },
}

/// What can be told of a damaged line; nobody acts on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damage {
    /// Number of the line, from 1.
    pub line: u32,
    /// Number of the entry, if it can be read.
    pub entry: Option<EntryId>,
    /// The knob, if it can be read.
    pub knob: Option<String>,
    /// The site, if it can be read.
    pub site: Option<String>,
    /// What was there before, if it can be read.
    pub before: Option<String>,
    /// Whether what the line announced may still be in force, so that a person has to look.
    pub matters: bool,
    /// The line as found; it stays on its machine.
    #[serde(skip)]
    pub(super) bytes: Vec<u8>,
    #[serde(skip)]
    pub(super) kind: Kind,
}

impl Damage {
    /// Whether it is, or was the beginning of, an announcement of something to be done.
    #[must_use]
    pub fn is_intent(&self) -> bool {
        self.kind == Kind::Intent
    }
}

/// What kind of record a damaged line was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    Intent,
    Done,
    Closed,
    #[default]
    Unknown,
}

impl std::fmt::Display for Damage {
    /// `entry 3`, or `line 4` when the line does not say which.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.entry {
            Some(id) => write!(f, "entry {}", id.0),
            None => write!(f, "line {}", self.line),
        }
    }
}

/// One line of a text that may hold anything.
fn short(text: &str) -> String {
    let text: String = text.trim().chars().take(120).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.is_empty() { "nothing".into() } else { text }
}

impl Damage {
    /// What is left of its words: `it turned cpufreq.governor at policy0, which read ondemand before`.
    #[must_use]
    pub fn story(&self) -> String {
        let Some(knob) = &self.knob else { return "it no longer says what it set".into() };
        let site = self.site.as_ref().filter(|site| *site != "-" && !knob.ends_with(site.as_str()));
        let at = site.map_or_else(String::new, |site| format!(" at {}", short(site)));
        let before = self.before.as_ref().map_or_else(String::new, |it| format!(", which read {} before", short(it)));
        format!("it set {}{at}{before}", short(knob))
    }

    /// Of a whole record of what came of an entry, whose announcement is gone.
    pub(super) fn without_intent(id: EntryId, done: &Record) -> Damage {
        Damage { entry: Some(id), kind: Kind::Intent, matters: true, ..Damage::of(0, encode(done).as_bytes()) }
    }

    fn of(line: u32, bytes: &[u8]) -> Damage {
        let text = String::from_utf8_lossy(bytes);
        let has = |mark: &str| text.contains(mark);
        // Inside a string of the record a quote stands behind a backslash, so these are its own fields.
        let kind = if has("\"record\":\"intent\"") || has("\"turn\":") || has("\"boot_id\":") || has("\"undo\":") {
            Kind::Intent
        } else if has("\"record\":\"done\"") || has("\"reads_back\":") {
            Kind::Done
        } else if has("\"record\":\"closed\"") || has("\"outcome\":") {
            Kind::Closed
        } else {
            Kind::Unknown
        };
        let matters = matches!(kind, Kind::Intent | Kind::Unknown);
        let entry = number(&text, "\"id\":").map(EntryId);
        let field = |name: &str| string(&text, name);
        Damage {
            line,
            entry,
            knob: field("\"knob\":"),
            site: field("\"site\":"),
            before: ["before", "outcome", "saved"].iter().find_map(|name| field(&format!("\"{name}\":"))),
            matters,
            bytes: bytes.to_vec(),
            kind,
        }
    }
}

fn number(text: &str, field: &str) -> Option<u64> {
    let rest = text.split_once(field)?.1;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    // A digit that became something else must not leave a shorter number.
    if rest[end..].starts_with([',', '}']) { rest[..end].parse().ok() } else { None }
}

fn string(text: &str, field: &str) -> Option<String> {
    let rest = text.split_once(field)?.1.strip_prefix('"')?;
    let mut escaped = false;
    let end = rest.find(|c: char| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    serde_json::from_str(&format!("\"{}\"", &rest[..end])).ok()
}

/// What a file holds, in order.
pub(super) enum Part {
    /// A record whose sum is right.
    Whole(Record),
    /// Something that is none.
    Damaged(Damage),
    /// The end of a file that was being written when everything stopped, or that was cut off since.
    Torn(Damage),
}

/// Takes a file apart. A newline that was damaged joins two records or ends one too early, and costs neither.
pub(super) fn parts(bytes: &[u8]) -> Vec<Part> {
    let mut parts = Vec::new();
    for (number, line) in (1..).zip(bytes.split_inclusive(|&byte| byte == b'\n')) {
        let pieces = pieces(line);
        let last = pieces.len();
        for (place, piece) in (1..).zip(pieces) {
            if let Some(record) = decode(piece) {
                parts.push(Part::Whole(record));
            } else if place == last && !line.ends_with(b"\n") && is_beginning(piece) {
                parts.push(Part::Torn(Damage { matters: false, ..Damage::of(number, piece) }));
            } else if let Some(Part::Damaged(before)) = parts.last_mut().filter(|part| part.goes_on_with(piece)) {
                let joined = [&before.bytes, piece].concat();
                *before = Damage::of(before.line, &joined);
            } else {
                parts.push(Part::Damaged(Damage::of(number, piece)));
            }
        }
    }
    parts
}

/// A line cut before each mark that is not its beginning.
fn pieces(line: &[u8]) -> Vec<&[u8]> {
    // A text that holds the mark by itself is no reason to cut.
    if decode(line).is_some() {
        return vec![line];
    }
    let mark = MARK.as_bytes();
    let mut cuts: Vec<usize> = line
        .windows(mark.len())
        .enumerate()
        .filter(|&(place, window)| window == mark && place > 0)
        .map(|(place, _)| place)
        .collect();
    cuts.insert(0, 0);
    cuts.push(line.len());
    let pieces = cuts.windows(2).map(|cut| &line[cut[0]..cut[1]]);
    // A record whose newline was lost may also be followed by less than a mark.
    let split = |piece| match whole_bytes(piece) {
        Some(end) if end < piece.len() => vec![&piece[..end], &piece[end..]],
        _ => vec![piece],
    };
    pieces.flat_map(split).collect()
}

/// How long the whole record is that a piece begins with, if it does, with what has become of its newline.
fn whole_bytes(piece: &[u8]) -> Option<usize> {
    let head = MARK.len() + "00000000 ".len();
    let mut values = serde_json::Deserializer::from_slice(piece.get(head..)?).into_iter::<serde::de::IgnoredAny>();
    values.next()?.ok()?;
    let end = (head + values.byte_offset() + 1).min(piece.len());
    decode(&piece[..end]).map(|_| end)
}

/// Whether it is the beginning of a line, or room that was never written.
fn is_beginning(piece: &[u8]) -> bool {
    let mark = MARK.as_bytes();
    piece.starts_with(mark) || mark.starts_with(piece) || piece.iter().all(|&byte| byte == 0)
}

impl Part {
    /// Whether a piece is the rest of this one: a line that was cut in two.
    fn goes_on_with(&self, piece: &[u8]) -> bool {
        let Part::Damaged(damage) = self else { return false };
        let text = String::from_utf8_lossy(piece);
        let has_begun = damage.bytes.contains(&b'{');
        !(text.starts_with(MARK) || has_begun && text.contains("{\"record\""))
    }
}

/// Why a file without a whole record is no ledger of ours, if it is none.
pub(super) fn distrust(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    if !["PBL", "{\"record\"", "\"knob\""].iter().any(|mark| text.contains(mark)) {
        return Some("nothing in it was written by powerband".into());
    }
    // One altered byte makes one line look like another version's, not all of them. Where there is one line alone, it is not
    // acted on either way, and the powerband it names can say what it is.
    let version = text.split(' ').next().filter(|version| is_version(version))?;
    let all = text.lines().all(|line| line.split(' ').next() == Some(version));
    (all && format!("{version} ") != MARK).then(|| format!("it is of another version, {version}; use that powerband"))
}

/// Whether a word is the mark of some version of the format.
fn is_version(word: &str) -> bool {
    let number = word.strip_prefix("PBL").unwrap_or_default();
    !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
}

pub(super) fn encode(record: &Record) -> String {
    // A Record holds only strings and integers, which always serialise.
    let json = serde_json::to_string(record).unwrap_or_default();
    format!("{MARK}{:08x} {json}\n", crc32fast::hash(json.as_bytes()))
}

/// A whole record; what follows its last brace is at most the newline, or what has become of it.
fn decode(line: &[u8]) -> Option<Record> {
    let rest = line.strip_prefix(MARK.as_bytes())?;
    let (crc, json) = (rest.get(..8)?, rest.get(8..)?.strip_prefix(b" ")?);
    let crc = u32::from_str_radix(std::str::from_utf8(crc).ok()?, 16).ok()?;
    let (_, all_but_one) = json.split_last()?;
    let json = [all_but_one, json].into_iter().find(|json| crc32fast::hash(json) == crc)?;
    serde_json::from_slice(json).ok()
}
