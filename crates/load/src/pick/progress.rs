//! Whether several matches are lines of progress before a result, of which the last counts.
use super::reading::Place;
use super::unit::known;

/// Whether all matches before the last are lines of one shape and label, each on its own: two of them, or one that the last
/// resembles. A label that counts something other than time, `thread 1:`, `p99`, is that of one of several results.
pub(super) fn are_progress(places: &[Place<'_>]) -> bool {
    let of = |place: &Place<'_>| {
        let label = &place.text[place.line_start()..place.group.start];
        (place.line_start(), shape(place.line()), without_times(label))
    };
    let lines: Vec<(usize, String, String)> = places.iter().map(of).collect();
    let apart = lines.windows(2).all(|pair| pair[0].0 != pair[1].0);
    let alike = |lines: &[(usize, String, String)]| {
        lines.len() > 1 && lines.windows(2).all(|pair| pair[0].1 == pair[1].1 && pair[0].2 == pair[1].2)
    };
    let same_shape = lines.windows(2).all(|pair| pair[0].1 == pair[1].1);
    apart && (alike(&lines) || !same_shape && lines.split_last().is_some_and(|(_, earlier)| alike(earlier)))
}

/// The letters of a line, and where numbers are between them.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for c in line.chars() {
        match c {
            '0'..='9' if !shape.ends_with('#') => shape.push('#'),
            c if c.is_alphabetic() => shape.push(c),
            _ => {}
        }
    }
    shape
}

/// A label with a mark for every number that is a time, a share done or has a fraction, as stamps have; blanks left out.
fn without_times(label: &str) -> String {
    let (mut plain, mut rest) = (String::new(), label);
    while let Some(c) = rest.chars().next() {
        if !c.is_ascii_digit() {
            plain.extend(Some(c).filter(|c| !c.is_whitespace()));
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit() || ".,:".contains(c));
        let number = &rest[..rest.len() - behind.len()];
        let number = number.trim_end_matches([':', ',', '.']);
        let spaced = rest[number.len()..].trim_start_matches(' ');
        let word = spaced.split(|c: char| !c.is_alphabetic() && c != '%').next().unwrap_or_default();
        let is_time = known(word).is_some_and(|unit| matches!(unit.base, "s" | "%")) || number.contains([':', '.']);
        plain.push_str(if is_time { "#" } else { number });
        rest = &rest[number.len()..];
    }
    plain
}
