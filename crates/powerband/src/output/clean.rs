//! What a terminal gets: text in which nothing moves the cursor, hides or reorders what is read. Every writer of this module
//! passes through here, so that names, files and outputs of other programs need no care where they are printed.
use std::borrow::Cow;
use std::io;

use powerband_report::seen;

/// Codes of "select graphic rendition" (ECMA-48 8.3.117) that reports use: bold, faint, italic, underline, their ends, and
/// colours of letters. None of them hides a letter.
const STYLES: [&str; 23] = [
    "", "0", "1", "2", "3", "4", "22", "23", "24", "31", "32", "33", "34", "35", "36", "39", "90", "91", "92", "93",
    "94", "95", "96",
];

/// Text of several lines. Characters that are not seen show as their code points, `U+001B`; colours stay where `colour`.
pub(super) fn lines(text: &str, colour: bool) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        clean += &seen(&rest[..at]);
        let style = if colour { style(&rest[at..]) } else { None };
        let length = style.map_or(1, str::len);
        match style {
            Some(style) => clean += style,
            None => clean += &seen(&rest[at..=at]),
        }
        rest = &rest[at + length..];
    }
    Cow::Owned(clean + &seen(rest))
}

/// The sequence of [`STYLES`] a text begins with.
fn style(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("\u{1b}[")?;
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == ';')).filter(|&end| rest[end..].starts_with('m'))?;
    let known = rest[..end].split(';').all(|code| STYLES.contains(&code));
    known.then(|| &text[..end + "\u{1b}[m".len()])
}

/// Text of one line: line ends show as their code points too.
pub(crate) fn one_line(text: &str) -> String {
    lines(text, false).replace('\n', "U+000A").replace('\t', " ")
}

/// A part of a JSON string: what is not seen is escaped, so that a program reads the very same string.
pub(super) fn json_fragment<W: ?Sized + io::Write>(out: &mut W, fragment: &str) -> io::Result<()> {
    let is_unseen = |c: char| !c.is_ascii() && seen(c.encode_utf8(&mut [0; 4])).len() != c.len_utf8();
    let mut rest = fragment;
    while let Some(at) = rest.find(|c| c == '\u{7f}' || is_unseen(c)) {
        out.write_all(&rest.as_bytes()[..at])?;
        let c = rest[at..].chars().next().unwrap_or_default();
        for unit in c.encode_utf16(&mut [0; 2]) {
            write!(out, "\\u{unit:04x}")?;
        }
        rest = &rest[at + c.len_utf8()..];
    }
    out.write_all(rest.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_but_letters_and_our_own_colours() {
        let hostile = "a\u{1b}]0;title\u{7}b\u{9b}2Jc\u{202e}d\re\u{1b}[2Jf\u{1b}[8mg\u{1b}[31;8mh\u{7f}\u{0}";
        for colour in [true, false] {
            let clean = lines(hostile, colour);
            let bad = clean.chars().find(|c| c.is_control() || *c == '\u{202e}');
            assert_eq!((bad, clean.contains("U+001B]0;titleU+0007b")), (None, true), "{clean}");
        }
        let ours = "\u{1b}[1mbold\u{1b}[0m \u{1b}[32mbetter\u{1b}[0m ±1\tü\n";
        assert_eq!(lines(ours, true), ours);
        assert_eq!(lines("\u{1b}[1mx\u{1b}", false), "U+001B[1mxU+001B");
        assert_eq!(one_line("a\nb\tc\r"), "aU+000Ab cU+000D");
    }

    #[test]
    fn a_program_reads_the_string_that_was_meant() {
        let hostile = "a\u{9b}b\u{202e}c\u{e0041}d\u{7f}ü\"\\\n";
        let mut out = Vec::new();
        let plain = crate::output::indented::Indented::default();
        serde::Serialize::serialize(hostile, &mut serde_json::Serializer::with_formatter(&mut out, plain)).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), hostile);
        assert!(!text.chars().any(|c| c.is_control() || "\u{202e}\u{e0041}".contains(c)), "{text}");
    }
}
