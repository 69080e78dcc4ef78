//! The unit behind a number, as programs print it, and its size in one base for each dimension.
use powerband_record::unit_of;

use super::length::is_time_word;

/// A unit, as a multiple of the base of its dimension: s, B, bit, B/s, bit/s, Hz, W, J, 1/s, %, or none for a bare K, M or G.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    pub(super) factor: f64,
    pub(super) base: &'static str,
}

impl Unit {
    /// How many of another's base one of its own base is; `None` where they have nothing to do with each other.
    pub(super) fn times(self, other: Unit) -> Option<f64> {
        match (self.base, other.base) {
            (own, other) if own == other => Some(1.0),
            ("B", "bit") | ("B/s", "bit/s") => Some(8.0),
            ("bit", "B") | ("bit/s", "B/s") => Some(0.125),
            ("Hz", "1/s") | ("1/s", "Hz") => Some(1.0),
            _ => None,
        }
    }

    /// Whether a number in it may be one in another.
    pub(super) fn fits(self, other: Unit) -> bool {
        !self.base.is_empty() && self.times(other).is_some()
    }
}

/// What is behind a number: its unit, or else the word that is there, and how many bytes it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Behind<'t> {
    pub(super) unit: Option<Unit>,
    /// Empty where there is a unit or no word.
    pub(super) word: &'t str,
    pub(super) len: usize,
}

/// Words for one second below a slash or after "per".
const SECOND: [&str; 5] = ["s", "sec", "secs", "second", "seconds"];
/// Other words below a slash, s.
const TIMES: [(&str, f64); 9] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("ms", 1e-3),
    ("min", 60.0),
    ("minute", 60.0),
    ("h", 3600.0),
    ("hour", 3600.0),
    ("d", 86_400.0),
    ("day", 86_400.0),
];
/// What is counted by the second.
const COUNTED: [&str; 45] = [
    "",
    "1",
    "op",
    "ops",
    "operations",
    "req",
    "reqs",
    "request",
    "requests",
    "io",
    "ios",
    "query",
    "queries",
    "tx",
    "txn",
    "transaction",
    "transactions",
    "trans",
    "event",
    "events",
    "msg",
    "msgs",
    "message",
    "messages",
    "packet",
    "packets",
    "pkt",
    "pkts",
    "it",
    "iter",
    "iterations",
    "item",
    "items",
    "call",
    "calls",
    "flop",
    "tok",
    "token",
    "tokens",
    "frame",
    "frames",
    "row",
    "rows",
    "sample",
    "samples",
];
/// Rates that are one word.
const RATES: [&str; 8] = ["pps", "tps", "qps", "rps", "iops", "IOPS", "flops", "FLOPS"];

/// A unit's size from its word, if it is a known one; `m` and `min` are not, for they are also milli and minimum.
pub(super) fn known(word: &str) -> Option<Unit> {
    let word = word.replace(['µ', 'μ'], "u");
    let Some((over, under)) = word.split_once('/') else { return simple(&word) };
    if SECOND.contains(&under) {
        return per_second(over);
    }
    if let Some((_, seconds)) = TIMES.iter().find(|(time, _)| *time == under)
        && let Some(unit) = per_second(over).filter(|_| !over.is_empty())
    {
        return Some(Unit { factor: unit.factor / seconds, ..unit });
    }
    // The time, size or energy of one of something: ns/op.
    let of_one = !under.is_empty() && under.chars().all(char::is_alphabetic) && !["min", "m", "h"].contains(&under);
    simple(over).filter(|unit| of_one && ["s", "B", "J"].contains(&unit.base))
}

fn per_second(over: &str) -> Option<Unit> {
    let unit = |factor, base| Some(Unit { factor, base });
    match simple(over) {
        Some(Unit { factor, base: "B" }) => unit(factor, "B/s"),
        Some(Unit { factor, base: "bit" }) => unit(factor, "bit/s"),
        Some(Unit { factor, base: "" }) => unit(factor, "1/s"),
        Some(_) => None,
        None => counted(over, &COUNTED),
    }
}

fn counted(word: &str, of: &[&str]) -> Option<Unit> {
    let scaled = |(factor, rest): (f64, &str)| of.contains(&rest).then_some(Unit { factor, base: "1/s" });
    scaled((1.0, word)).or_else(|| scaled(prefix(word, "kKMG")?))
}

/// A word without its prefix, and the size of that.
fn prefix<'w>(word: &'w str, allowed: &str) -> Option<(f64, &'w str)> {
    let first = word.chars().next().filter(|c| allowed.contains(*c))?;
    let factor = match first {
        'u' => 1e-6,
        'm' => 1e-3,
        'k' | 'K' => 1e3,
        'M' => 1e6,
        'G' => 1e9,
        _ => 1e12,
    };
    Some((factor, &word[1..]))
}

fn simple(word: &str) -> Option<Unit> {
    let unit = |factor, base| Some(Unit { factor, base });
    match word {
        "ns" | "nsec" | "nsecs" | "nanos" | "nanosecond" | "nanoseconds" => return unit(1e-9, "s"),
        "us" | "usec" | "usecs" | "micros" | "microsecond" | "microseconds" => return unit(1e-6, "s"),
        "ms" | "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => return unit(1e-3, "s"),
        "s" | "sec" | "secs" | "second" | "seconds" => return unit(1.0, "s"),
        "mins" | "minute" | "minutes" => return unit(60.0, "s"),
        "h" | "hr" | "hrs" | "hour" | "hours" => return unit(3600.0, "s"),
        "day" | "days" => return unit(86_400.0, "s"),
        "Sec" | "Secs" | "Second" | "Seconds" => return unit(1.0, "s"),
        "watt" | "watts" | "Watt" | "Watts" => return unit(1.0, "W"),
        "joule" | "joules" | "Joule" | "Joules" => return unit(1.0, "J"),
        "%" => return unit(1.0, "%"),
        "B" | "byte" | "bytes" | "Byte" | "Bytes" => return unit(1.0, "B"),
        "K" | "k" => return unit(1e3, ""),
        "M" => return unit(1e6, ""),
        "G" => return unit(1e9, ""),
        "mWh" | "Wh" | "kWh" => return unit(3600.0 * prefix(word, "mk").map_or(1.0, |(factor, _)| factor), "J"),
        _ => {}
    }
    let binary = ["Ki", "Mi", "Gi", "Ti"].iter().zip(1..).find_map(|(prefix, power)| {
        let rest = word.strip_prefix(prefix)?;
        let base = ["B", "bit", "bits", ""].iter().position(|stem| *stem == rest)?;
        Some(Unit { factor: 1024_f64.powi(power), base: ["B", "bit", "bit", ""][base] })
    });
    let scaled = |stems: &[&str], allowed: &str, base| {
        let fits = |(factor, rest): (f64, &str)| stems.contains(&rest).then_some(Unit { factor, base });
        fits((1.0, word)).or_else(|| fits(prefix(word, allowed)?))
    };
    binary
        .or_else(|| scaled(&["B"], "kKMGT", "B"))
        .or_else(|| scaled(&["bit", "bits"], "kKMGT", "bit"))
        .or_else(|| scaled(&["bps"], "kKMGT", "bit/s"))
        .or_else(|| scaled(&["Bps"], "kKMGT", "B/s"))
        .or_else(|| scaled(&["Hz"], "kKMG", "Hz"))
        .or_else(|| scaled(&["W"], "umkM", "W"))
        .or_else(|| scaled(&["J"], "umkM", "J"))
        .or_else(|| counted(word, &RATES))
}

/// Blanks within a line.
fn blanks(text: &str) -> usize {
    let is_blank = |c: char| c.is_whitespace() && !matches!(c, '\n' | '\r');
    text.len() - text.trim_start_matches(is_blank).len()
}

/// The word at the beginning of a text, without the full stop of a sentence.
fn token(text: &str) -> &str {
    let ends = |c: char| c.is_whitespace() || ",;:()[]{}|\"'<>=±".contains(c);
    text.split(ends).next().unwrap_or_default().trim_end_matches(['.', '!'])
}

/// What is behind a number on its line; `is_time` where the metric is a time, so that `m` and `min` are minutes.
///
/// # Errors
/// Why that is unclear, in words that follow the number.
pub(super) fn behind(after: &str, is_time: bool) -> Result<Behind<'_>, String> {
    let after = after.split(['\n', '\r']).next().unwrap_or_default();
    let skipped = error_len(after);
    let blank = blanks(&after[skipped..]);
    let mut at = skipped + blank;
    at +=
        usize::from(after[at..].starts_with(['(', '[']) && !after[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    let rest = &after[at..];
    let word = token(rest);
    let none = Behind { unit: None, word: "", len: 0 };
    let end = at + word.len();
    let next = &after[end..];
    let next = &next[blanks(next)..];
    // The label of the number after it: tx=5 B=6.
    let labels = next.starts_with('=')
        || next.strip_prefix(':').is_some_and(|it| it.trim_start().starts_with(|c: char| c.is_ascii_digit()));
    if word.is_empty() || blank > 0 && labels {
        return Ok(none);
    }
    let starts = |words: &[&str]| words.iter().any(|it| token(next) == *it);
    let per = word == "per" || word == "/" || starts(&["per", "/"]);
    if per {
        let (over, second) = if word == "per" || word == "/" {
            ("", token(next))
        } else {
            let skip = token(next).len();
            (word, token(&next[skip + blanks(&next[skip..])..]))
        };
        if SECOND.contains(&second) {
            let len = second.as_ptr() as usize - after.as_ptr() as usize + second.len();
            let unit = per_second(&over.replace(['µ', 'μ'], "u"));
            return Ok(Behind { unit, word: if unit.is_some() { "" } else { word }, len });
        }
    }
    let lower = after.to_ascii_lowercase();
    let is_least = blank > 0 && word == "min" && ["max", "avg", "mean"].iter().any(|it| lower.contains(it));
    if is_time && is_least {
        return Err("has a 'min' after it, which is minutes or minimum".into());
    }
    let minutes = word == "min" && (blank == 0 || is_time) || word == "m" && is_time;
    let unit = match word {
        _ if minutes => Some(Unit { factor: 60.0, base: "s" }),
        "d" if is_time => Some(Unit { factor: 86_400.0, base: "s" }),
        _ => known(word),
    };
    match unit {
        Some(scale @ Unit { base: "", .. }) => scaled(scale, word, next, blank, end, after),
        Some(unit) => Ok(Behind { unit: Some(unit), word: "", len: end }),
        None if blank == 0
            && skipped == 0
            && word.chars().any(|c| c.is_ascii_digit())
            && word.starts_with(char::is_alphabetic) =>
        {
            Err(format!("is a part of a word that goes on with '{word}'"))
        }
        None => {
            let is_word = word.contains(char::is_alphabetic) && !word.contains(|c: char| c.is_ascii_digit());
            Ok(Behind { word: if is_word { word } else { "" }, len: if is_word { end } else { 0 }, ..none })
        }
    }
}

/// A bare K, M or G, which the unit after it may belong to: 1.5 K req/s.
fn scaled<'t>(
    scale: Unit,
    word: &str,
    next: &'t str,
    blank: usize,
    end: usize,
    after: &'t str,
) -> Result<Behind<'t>, String> {
    if blank > 0 && next.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(format!("has a '{word}' after it that may be the name of the next number"));
    }
    let more = token(next);
    let gap = after.len() - next.len() - end;
    match known(more).filter(|_| gap > 0) {
        Some(unit) if !unit.base.is_empty() => {
            let unit = Unit { factor: scale.factor * unit.factor, ..unit };
            Ok(Behind { unit: Some(unit), word: "", len: after.len() - next.len() + more.len() })
        }
        _ => {
            let is_word = gap > 0 && !more.is_empty() && more.chars().all(|c| c.is_alphabetic() || "/%°-".contains(c));
            Ok(Behind { unit: Some(scale), word: if is_word { more } else { "" }, len: end })
        }
    }
}

/// Bytes of an error between a number and its unit: 12.3 ± 0.5 ms, 12.3 (± 4 %) ms, and of the last digits 12.3(5) ms.
pub(super) fn error_len(after: &str) -> usize {
    let rest = &after[blanks(after)..];
    let opened = rest.strip_prefix('(');
    let signed = ["±", "+/-", "+-"].iter().find_map(|sign| opened.unwrap_or(rest).strip_prefix(sign));
    let Some(error) = signed.or_else(|| after.strip_prefix('(')) else { return 0 };
    let error = &error[blanks(error)..];
    let rest = error.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
    let (is_number, percent) = (rest.len() < error.len(), rest[blanks(rest)..].strip_prefix('%'));
    let rest = percent.unwrap_or(rest);
    let rest = if opened.is_some() { rest.strip_prefix(')') } else { Some(rest) };
    rest.filter(|_| is_number).map_or(0, |rest| after.len() - rest.len())
}

/// Whether a power of ten follows a number, apart from it: 9.8 x 10^2, 9.8·10², 9.8 E2.
pub(super) fn has_power(after: &str) -> bool {
    let rest = &after[blanks(after)..];
    let digits = |text: &str| text.trim_start_matches(['+', '-', '−']).starts_with(|c: char| c.is_ascii_digit());
    let raised = |text: &str| {
        let times = text.strip_prefix("10")?;
        Some(times.starts_with(['^', '⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹', '⁻']) || times.starts_with("**"))
    };
    let times = rest.strip_prefix(['x', '×', '·', '*']).map(|text| &text[blanks(text)..]);
    times.is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit()))
        || times.and_then(raised) == Some(true)
        || rest.len() < after.len() && rest.strip_prefix(['e', 'E']).is_some_and(digits)
}

/// What stands behind the last of several numbers with slashes between them, `1/980.2/3 us`, which is behind each of them.
///
/// # Errors
/// Where two whole numbers may be a fraction and the pattern matches no slash (`is_matched`), in words that follow the number.
pub(super) fn in_list<'t>(
    before: &str,
    number: &str,
    after: &'t str,
    is_matched: bool,
) -> Result<Option<&'t str>, String> {
    let is_whole = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (mut rest, mut members) = (after, Vec::new());
    while let Some(text) = rest[blanks(rest)..].strip_prefix('/') {
        let text = &text[blanks(text)..];
        if !text.starts_with(|c: char| c.is_ascii_digit()) {
            break;
        }
        let Ok(read) = super::number::number(text, Some('.')) else { break };
        let (member, behind) = text.split_at(read.len);
        members.push(member);
        rest = behind;
    }
    let lead = before.trim_end_matches(' ').strip_suffix('/').map(|text| text.trim_end_matches(' '));
    let earlier = lead.map(|text| {
        let head = text.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        (&text[head.len()..], head.trim_end_matches(' ').ends_with('/'))
    });
    let is_fraction = match (members[..].first(), earlier.filter(|(text, _)| !text.is_empty())) {
        (Some(other), None) => members.len() == 1 && is_whole(other),
        (None, Some((other, is_more))) => !is_more && is_whole(other),
        _ => false,
    };
    if is_fraction && !is_matched && is_whole(number) {
        return Err("may be a part of a fraction; let the pattern match what is behind the slash".into());
    }
    Ok((!members.is_empty()).then_some(rest))
}

/// Whether a word behind a number that is no known unit looks like one: a time in another language, a slash, a size of
/// something counted, or a unit in other letters.
pub(super) fn is_claim(word: &str) -> bool {
    let small = word.to_lowercase();
    let is_known = |word: &str| known(word).is_some_and(|unit| !unit.base.is_empty());
    word.contains('/')
        || !word.is_ascii()
        || is_time_word(word)
        || is_known(&small)
        || is_scaled(word)
        || ["byte", "bit", "octet"].iter().any(|stem| small.contains(stem))
}

/// Whether a word is something by the second, and no thousands of it: Anfragen/s.
pub(super) fn is_rate(word: &str) -> bool {
    word.split_once('/')
        .is_some_and(|(over, under)| !over.starts_with(['k', 'K', 'M', 'G', 'T']) && SECOND.contains(&under))
}

/// Whether a word is a size of something counted: Kops, Mreq.
pub(super) fn is_scaled(word: &str) -> bool {
    let last = word.rsplit_once('_').map_or(word, |(_, last)| last);
    prefix(last, "kKMGT").is_some_and(|(_, rest)| rest.len() > 1 && COUNTED.contains(&rest))
}

/// Whether a pattern has a word as such, so that it is the user's.
pub(super) fn is_spelled(word: &str, pattern: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphabetic());
    !word.is_empty()
        && pattern
            .match_indices(word)
            .any(|(at, _)| edge(pattern[..at].chars().next_back()) && edge(pattern[at + word.len()..].chars().next()))
}

/// Whether two words may be sizes of the same: Kops and Mops.
pub(super) fn are_sizes(one: &str, other: &str) -> bool {
    let stem = |word: &str| word.strip_prefix(['k', 'K', 'M', 'G', 'T', 'm', 'u', 'n', 'µ']).map(str::to_owned);
    let (short, long) = (stem(one), stem(other));
    short.is_some() && short == long || short.as_deref() == Some(other) || long.as_deref() == Some(one)
}

/// The unit that a key of an object or a table has last: `lat_ns`, `durationMs`.
pub(super) fn unit_of_key(key: &str) -> Option<Unit> {
    let in_camel_case = || {
        let at = key.rfind(|c: char| c.is_ascii_uppercase()).filter(|at| *at > 0)?;
        let is_word = key[..at].ends_with(|c: char| c.is_ascii_lowercase());
        known(&key[at..].to_lowercase()).filter(|unit| is_word && key.len() - at > 1 && unit.base == "s")
    };
    let last = key.rsplit_once('_').map(|(_, last)| last).filter(|last| last.len() > 1);
    let of = |unit: Unit| Some(unit).filter(|unit| !unit.base.is_empty());
    known(unit_of(key)).and_then(of).or_else(|| last.and_then(known).and_then(of)).or_else(in_camel_case)
}

/// Whether a text ends in what names a unit: `unit:`, `units=`.
fn is_named_unit(lead: &str) -> bool {
    let name = lead.trim_end_matches([':', '=', ' ', '"', '\'']).to_lowercase();
    name.ends_with("unit") || name.ends_with("units")
}

/// Units in a line that are no number's: in its words, `(usec)`, `in us`, `unit="us"`, `time_us`. Where a number has no unit of its
/// own, one of these may be meant.
pub(super) fn loose_units(line: &str) -> impl Iterator<Item = &str> {
    labels_and_units(line).map(|(word, _)| word)
}

/// The same, and whether each surely is a unit, by how it is written: another may be a word of a sentence.
pub(super) fn labels_and_units(line: &str) -> impl Iterator<Item = (&str, bool)> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '%' | '/' | 'µ' | 'μ' | '_');
    let words = line.split(move |c: char| !is_word(c)).flat_map(|word| {
        // `op/lat_us` is two words, `us/op` is one.
        let parts = if known(word).is_some() { vec![word] } else { word.split('/').collect() };
        parts.into_iter().filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'))
    });
    words.filter_map(move |word| {
        let at = word.as_ptr() as usize - line.as_ptr() as usize;
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        let lead = before.trim_end_matches([' ', '\t']);
        let is_unit = known(word).is_some_and(|unit| !unit.base.is_empty()) || unit_of_key(word).is_some();
        let is_label = word.contains('_') || is_cell(before, after);
        let counts = is_unit && (word.chars().count() > 1 || is_label) || is_scaled(word) && is_label;
        (counts && !lead.ends_with(|c: char| c.is_ascii_digit())).then_some((word, is_label))
    })
}

/// Whether a word between two texts is alone in brackets or a column, or named as a unit.
fn is_cell(before: &str, after: &str) -> bool {
    let (lead, rest) = (before.trim_end_matches([' ', '\t']), after.trim_start_matches([' ', '\t']));
    let is_in = lead.ends_with(" in") || lead == "in" || is_named_unit(lead);
    // Of `request(s)`.
    let is_plural = before.strip_suffix('(').is_some_and(|text| text.ends_with(char::is_alphabetic))
        && after.starts_with(')')
        && lead.len() == before.len();
    let ends = [')', ']', ',', ';', '|', '"'];
    let is_apart = (lead.is_empty() || lead.ends_with(['(', '[', ',', ';', '|', '=', '"', ':']))
        && (rest.is_empty() || rest.starts_with(ends) || rest.starts_with("per "));
    is_in || !is_plural && is_apart
}
