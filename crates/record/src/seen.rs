//! Text from outside as characters and nothing else: on terminals, on pages and in drawings alike.
use std::fmt::Write as _;

/// Characters that show nothing but change how others are shown (Unicode 15, UAX 9 and the default ignorables in use), and
/// what XML cannot hold.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}')
}

/// A text such that every character of it is seen and none of them moves others: any other is replaced by its code
/// point, `U+202E`. Line ends and tabs stay.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_or_hides_letters_is_replaced_by_its_code_point() {
        assert_eq!(seen("a\u{202e}b\u{0}c\u{1b}[1m\u{2066}\u{feff}\n\td"), "aU+202EbU+0000cU+001B[1mU+2066U+FEFF\n\td");
        assert_eq!(seen("שלום, ж, 測"), "שלום, ж, 測");
    }
}
