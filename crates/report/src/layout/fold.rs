//! Lines: text made safe for a terminal and folded at its width.
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Safe for a terminal: escape sequences (a load's last line may hold colours) go, other control characters and line
/// ends become blanks.
pub(crate) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // ECMA-48 5.4: ESC [, parameters, one final byte.
            '\u{1b}' if chars.peek() == Some(&'[') => {
                chars.next();
                chars.by_ref().find(|c| ('@'..='~').contains(c));
            }
            '\u{1b}' => {}
            c if c.is_control() => cleaned.push(' '),
            c => cleaned.push(c),
        }
    }
    cleaned
}

/// The beginning, when it is longer than `most` columns.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let mut taken = 1;
    let fits = |c: &char| {
        taken += c.width().unwrap_or(0);
        taken <= most
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// The end, when it is longer than `most` columns.
pub(crate) fn cut_before(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let backwards: String = text.chars().rev().collect();
    cut(&backwards, most).chars().rev().collect()
}

/// How many columns a text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// Folds at blanks so that no line takes more than `width` columns; lines after the first are indented. A word longer
/// than a line is cut where the line ends. The blanks at the beginning stay, and a number keeps its percent sign.
pub(crate) fn fold(text: &str, width: usize, indent: usize) -> Vec<String> {
    let text = clean(text);
    let mut lines = vec![];
    let mut line = String::new();
    let mut empty = true;
    for (place, word) in words(&text).into_iter().enumerate() {
        let blank = usize::from(place > 0);
        if !empty && !word.is_empty() && columns(&line) + blank + columns(&word) > width {
            lines.push(line.trim_end().to_owned());
            line = " ".repeat(indent);
        } else if blank == 1 {
            line.push(' ');
        }
        for c in word.chars() {
            if columns(&line) + c.width().unwrap_or(0) > width {
                lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            }
            line.push(c);
            empty = false;
        }
    }
    lines.push(line.trim_end().to_owned());
    lines
}

/// The words of a text; `5 %` is one.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match words.last_mut() {
            Some(number) if word.starts_with('%') && number.ends_with(|c: char| c.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_keeps_its_percent_sign() {
        assert_eq!(fold("within 5 %, and more", 10, 0), ["within", "5 %, and", "more"]);
        assert_eq!(fold("rate of 12 %.", 10, 2), ["rate of", "  12 %."]);
        assert_eq!(fold("a % b", 3, 0), ["a %", "b"]);
    }

    #[test]
    fn folding_keeps_words_whole_where_it_can() {
        assert_eq!(fold("one two three", 7, 2), ["one two", "  three"]);
        assert_eq!(fold("name      what it is", 16, 10), ["name      what", "          it is"]);
        assert_eq!(fold("abcdefghij kl", 4, 1), ["abcd", " efg", " hij", " kl"]);
        assert_eq!(fold("", 4, 0), [""]);
        assert_eq!(fold("測定 測定 結果", 9, 0), ["測定 測定", "結果"]);
    }

    #[test]
    fn a_terminal_is_not_steered_by_what_is_printed() {
        assert_eq!(clean("a\u{1b}[1;31m\nb\u{1b}[0m\tc\u{7}"), "a b c ");
        assert_eq!(clean("\u{1b}]0;title\u{7}x\u{1b}["), "]0;title x");
    }

    #[test]
    fn what_is_too_long_is_cut_and_says_so() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("測定結果", 6), "測定…");
    }

    #[test]
    fn no_line_is_longer_than_its_width() {
        for width in [4, 7, 16, 40] {
            for line in fold("Konfigurationsänderung 測定結果 cpufreq.governor=conservative   x  ", width, 2) {
                assert!(columns(&line) <= width, "{line:?} takes more than {width}");
            }
        }
    }
}
