//! Lengths of time of several parts, `1m02.5s` or `1 min. 2 sec.`: read whole, or known to be one.
use super::unit::known;

/// Parts that are read, the largest first, s.
const PARTS: [(&str, f64); 9] = [
    ("d", 86_400.0),
    ("h", 3600.0),
    ("m", 60.0),
    ("min", 60.0),
    ("s", 1.0),
    ("ms", 1e-3),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ns", 1e-9),
];
/// Beginnings of words for times in other languages and spellings, in small letters.
const TIMES: [&str; 18] = [
    "day", "tag", "jour", "dia", "hour", "hr", "std", "stunde", "heure", "hora", "min", "sec", "sek", "seg", "mil",
    "mic", "mik", "nano",
];
/// Words between parts.
const JOINING: [&str; 5] = ["and", "und", "et", "y", "e"];

/// Whether a word may be one for a time.
pub(super) fn is_time_word(word: &str) -> bool {
    let small = word.to_lowercase();
    word_size(word).is_some() || TIMES.iter().any(|time| small.starts_with(time))
}

/// What a word for a time is in s.
fn word_size(word: &str) -> Option<f64> {
    let part = PARTS.iter().find(|(name, _)| *name == word).map(|(_, part)| *part);
    part.or_else(|| known(word).filter(|unit| unit.base == "s").map(|unit| unit.factor))
}

fn is_word(c: char) -> bool {
    c.is_alphabetic() || c == 'µ'
}

/// A length of time of several parts, `1m02.5s` or `1min 2s`, in seconds, and the bytes it takes.
pub(super) fn length(text: &str) -> Option<(f64, usize)> {
    let (mut at, mut seconds, mut count, mut least) = (0, 0.0, 0, f64::INFINITY);
    loop {
        let rest = &text[at..];
        let rest = if count > 0 { rest.strip_prefix(' ').unwrap_or(rest) } else { rest };
        let digits = &rest[..rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(rest.len())];
        let behind = &rest[digits.len()..];
        let word = &behind[..behind.find(|c: char| !is_word(c)).unwrap_or(behind.len())];
        let part = PARTS.iter().find(|(name, part)| *name == word && *part < least);
        let value: Option<f64> = digits.replace(',', ".").parse().ok();
        let (Some((_, part)), Some(value)) = (part, value) else { break };
        // Below a larger part, nothing has thousands.
        if count > 0 && value * part >= least {
            break;
        }
        (seconds, least, count) = (seconds + value * part, *part, count + 1);
        at = text.len() - behind.len() + word.len();
        if digits.contains(['.', ',']) {
            break;
        }
    }
    (count > 1).then_some((seconds, at))
}

/// Whether a number with what is behind it begins a length of time that goes on behind `len` bytes of that: ` 50 ms`,
/// `. 2 sec`, ` and 30 seconds`, `, 03:00:00`.
pub(super) fn goes_on(after: &str) -> bool {
    let text = after.trim_start_matches([' ', '\u{a0}', '\u{202f}', '\u{2009}', '(', '[']);
    let word = &text[..text.find(|c: char| !is_word(c)).unwrap_or(text.len())];
    if !is_time_word(word) {
        return false;
    }
    let Some(rest) = joined(&text[word.len()..], str::strip_prefix, |text| text.trim_start_matches(' ')) else {
        return false;
    };
    let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
    let digits = rest[..rest.len() - behind.len()].trim_end_matches(['.', ',']);
    let spaced = behind.strip_prefix([' ', '\u{a0}']).unwrap_or(behind);
    let next = &spaced[..spaced.find(|c: char| !is_word(c)).unwrap_or(spaced.len())];
    if digits.is_empty() {
        return false;
    }
    behind.starts_with(':') || is_time_word(next) && is_part(digits, word_size(next), word_size(word))
}

/// Whether what is before a number is a larger part of the same length of time, and not 0: `1m` of `1m02s`, `5 minutes and `;
/// `own` is the number's unit in s, and `number` the number.
pub(super) fn is_end_of_length(before: &str, number: &str, own: Option<f64>) -> bool {
    let Some(text) = joined(before, str::strip_suffix, |text| text.trim_end_matches(' ')) else { return false };
    let rest = text.trim_end_matches(is_word);
    let word = &text[rest.len()..];
    let spaced = rest.strip_suffix(' ').unwrap_or(rest);
    let digits = &spaced[spaced.trim_end_matches(|c: char| c.is_ascii_digit()).len()..];
    let is_larger = word_size(word).is_none_or(|size| size >= 1.0);
    is_larger
        && is_time_word(word)
        && digits.bytes().any(|b| b != b'0')
        && (own.is_none() || is_part(number, own, word_size(word)))
}

/// Whether a number of a time may be a part below a larger one, as far as both are known.
fn is_part(number: &str, own: Option<f64>, larger: Option<f64>) -> bool {
    let value: Option<f64> = number.replace(',', ".").parse().ok();
    match (own, larger, value) {
        (Some(own), Some(larger), Some(value)) => own < larger && value * own < larger,
        (Some(own), Some(larger), None) => own < larger,
        _ => true,
    }
}

/// A text without what may join it to another part of a length of time at one of its ends; `None` where that is too much for it.
fn joined<'t>(
    text: &'t str,
    strip: impl Fn(&'t str, &'static str) -> Option<&'t str>,
    blanks: impl Fn(&'t str) -> &'t str,
) -> Option<&'t str> {
    let apart = |text: &'t str| {
        let rest = blanks(text);
        (text.len() - rest.len() < 2).then_some(rest)
    };
    let mut rest = apart(text)?;
    let mark = [".,", ".;", ".", ",", ";", "+", "&"].into_iter().find_map(|mark| strip(rest, mark));
    rest = mark.map_or(Some(rest), apart)?;
    let word = JOINING.into_iter().find_map(|word| strip(rest, word).filter(|text| blanks(text).len() < text.len()));
    rest = word.map_or(Some(rest), apart)?;
    Some(rest)
}
