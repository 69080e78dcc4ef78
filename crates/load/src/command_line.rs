//! Command lines: text for a shell or words for the kernel, and how either becomes the words that are executed.
use powerband_record::split_words;
use serde::{Deserialize, Serialize};

/// A command as a plan spells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CommandLine {
    /// Text, run by the load's shell.
    Text(String),
    /// Program and arguments, executed directly.
    Words(Vec<String>),
}

impl CommandLine {
    /// One line for people, and its name among others: the text, or the words with quotes where they need them.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            CommandLine::Text(text) => text.clone(),
            CommandLine::Words(words) => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        }
    }

    /// The words to execute, each part passed through `fill` first.
    ///
    /// # Errors
    /// One sentence where there is no program or a quote is not closed.
    pub(crate) fn argv(&self, shell: &Shell, fill: impl Fn(&str) -> String) -> Result<Vec<String>, String> {
        let words = match self {
            CommandLine::Words(words) => words.iter().map(|word| fill(word)).collect(),
            CommandLine::Text(text) => shell.argv(&fill(text))?,
        };
        if words.first().is_none_or(String::is_empty) { Err("a command is empty".into()) } else { Ok(words) }
    }
}

/// What runs the text of a command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shell(String);

/// The shell every system has (POSIX.1).
const POSIX: &str = "sh";
/// No shell: the text is split into words.
const NONE: &str = "none";

impl Default for Shell {
    fn default() -> Self {
        Shell(POSIX.into())
    }
}

impl TryFrom<String> for Shell {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Shell::parse(&text)
    }
}

impl From<Shell> for String {
    fn from(shell: Shell) -> Self {
        shell.0
    }
}

impl Shell {
    /// A shell by its command line (`bash --norc`), `default`, or `none` for no shell.
    ///
    /// # Errors
    /// One sentence where it is empty or a quote is not closed.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "default" {
            return Ok(Shell::default());
        }
        let words = split_words(text).filter(|words| !words.is_empty());
        words.map(|_| Shell(text.to_owned())).ok_or_else(|| format!("'{text}' is no shell; write e.g. bash or none"))
    }

    /// No shell.
    #[must_use]
    pub fn none() -> Self {
        Shell(NONE.into())
    }

    /// Whether a program runs between us and the command.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.0 != NONE
    }

    /// Its name, as typed.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }

    /// The words that run a text.
    ///
    /// # Errors
    /// One sentence where there is no shell and a quote of the text is not closed.
    pub fn argv(&self, text: &str) -> Result<Vec<String>, String> {
        if !self.is_there() {
            return split_words(text).ok_or_else(|| format!("a quote is not closed in: {text}"));
        }
        let mut words = split_words(&self.0).unwrap_or_default();
        words.extend(["-c".to_owned(), text.to_owned()]);
        Ok(words)
    }
}

/// Whether a single word from a command line is text for a shell rather than the name of a program.
#[must_use]
pub fn is_shell_text(word: &str) -> bool {
    word.contains(|c: char| c.is_whitespace() || "|&;<>()$`\"'*?[]{}\\".contains(c))
}

/// A word as it can be typed again.
fn quoted(word: &str) -> String {
    if word.is_empty() || is_shell_text(word) { format!("'{}'", word.replace('\'', "'\\''")) } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_runs_by_the_shell_and_words_do_not() {
        let fill = |text: &str| text.replace("{n}", "2");
        let text = CommandLine::Text("sleep {n}; echo \"a b\"".into());
        assert_eq!(text.argv(&Shell::default(), fill).unwrap(), ["sh", "-c", "sleep 2; echo \"a b\""]);
        let bash = Shell::parse("bash --norc").unwrap();
        assert_eq!(text.argv(&bash, fill).unwrap()[..3], ["bash", "--norc", "-c"]);
        assert_eq!(text.argv(&Shell::none(), fill).unwrap(), ["sleep", "2;", "echo", "a b"]);
        let words = CommandLine::Words(vec!["sleep".into(), "{n}".into()]);
        assert_eq!(words.argv(&Shell::default(), fill).unwrap(), ["sleep", "2"]);
        for wrong in [CommandLine::Text("it's".into()), CommandLine::Text(String::new()), CommandLine::Words(vec![])] {
            assert!(wrong.argv(&Shell::none(), fill).is_err(), "{wrong:?}");
        }
        assert_eq!(CommandLine::Words(vec!["a b".into(), "it's".into(), "c".into()]).text(), "'a b' 'it'\\''s' c");
    }
}
