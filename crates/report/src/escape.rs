//! Text from outside as characters and nothing else: on pages, in drawings and on terminals alike.
use std::fmt::Write as _;

/// Characters that show nothing but change how others are shown (Unicode 15, UAX 9 and the default ignorables in use), and
/// what XML cannot hold.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}')
}

/// A text such that every character of it is seen and none of them moves others: those that are not stand as their code
/// points, `U+202E`. Line ends and tabs stay.
#[must_use]
pub fn seen(text: &str) -> String {
    let mut seen = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '\n' | '\t' => seen.push(c),
            c if c.is_control() || is_unseen(c) => {
                let _ = write!(seen, "U+{:04X}", u32::from(c));
            }
            c => seen.push(c),
        }
    }
    seen
}

/// [`seen`], and such that neither an element nor an attribute of HTML or XML can end in it.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + text.len() / 8);
    for c in seen(text).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_outside_is_text() {
        assert_eq!(escaped("<script>\"'&</script>"), "&lt;script&gt;&quot;&#39;&amp;&lt;/script&gt;");
        assert_eq!(escaped("a\u{202e}b\u{0}c\u{1b}[1m\u{2066}\u{feff}"), "aU+202EbU+0000cU+001B[1mU+2066U+FEFF");
        assert_eq!(escaped("שלום, ж, 測"), "שלום, ж, 測");
    }
}
