//! Words as a shell takes them: for commands that are advised, and for what is shown of those that run.

/// The text as one word of a POSIX shell, in quotes where it needs them.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@#=+,%".contains(c);
    if !word.is_empty() && !word.starts_with('#') && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The words of a command as a shell takes them.
#[must_use]
pub fn quoted_line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_read_more_into_it() {
        for plain in ["sim:pc#1", "freq=2.4GHz,1GHz", "a/b-c_d@e%", "postgresql://me@db/x"] {
            assert_eq!(quoted(plain), plain);
        }
        for live in ["", "a b", "#a", "$(touch x)", "a;b", "`x`", "~", "*", "x>y", "é", "a\nb"] {
            assert_eq!(quoted(live), format!("'{live}'"));
        }
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted_line(&["ssh".into(), "b2;x".into(), "true".into()]), "ssh 'b2;x' true");
    }
}
