//! The grammar of settings: `[SIDE/]KNOB[@SITE]=VALUE…`, a whole setting with or without a name, an axis of values.
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Side;

/// A knob as it was typed: side, name (short or `family.name`), site.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KnobRef {
    /// Which machine.
    #[serde(default)]
    pub side: Side,
    /// Name as typed; `knob` resolves short names.
    pub name: String,
    /// `policy0`, `cpu0-3`, `eth0`; absent = everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
}

/// One knob to one value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Assignment {
    /// Which knob.
    pub knob: KnobRef,
    /// The value as typed.
    pub value: String,
}

/// One knob to several values, not yet expanded (`10,20`, `10..100:10`, `all`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// Which knob.
    pub knob: KnobRef,
    /// The list as typed.
    pub values: String,
}

/// Values at sites, one or many knobs; may have a name. No assignment at all is the baseline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Its name, if it was given one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it turns.
    pub assignments: Vec<Assignment>,
}

/// Label of the setting that changes nothing and has no name: the current settings.
pub const BASELINE: &str = "baseline";

/// Why a text is not a setting.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SettingError {
    /// No `=`.
    #[error("'{0}' is not KNOB[@SITE]=VALUE; write e.g. governor=performance")]
    NoValue(String),
    /// Nothing before `=`.
    #[error("'{0}' names no knob before '='")]
    NoKnob(String),
    /// Nothing behind `=`.
    #[error("'{0}' has no value behind '='; write e.g. governor=performance")]
    EmptyValue(String),
    /// `side/` that is none.
    #[error("'{0}' names no machine; use near/, far/, both/, all/ or the name of a machine in a list")]
    Side(String),
    /// Nothing behind `@`.
    #[error("'{0}' has no site behind '@'; write e.g. governor@policy0")]
    EmptySite(String),
    /// A quote that is not closed.
    #[error("a quote is not closed in: {0}")]
    Quote(String),
}

/// Knob names that are a path: everything up to `=` belongs to them, `/`, `@` and `:` included.
const PATH_FAMILY: &str = "file:";

impl KnobRef {
    /// Reads `[SIDE/]KNOB[@SITE]`.
    ///
    /// # Errors
    /// [`SettingError`] when the side is none, or the name or the site is empty.
    pub fn parse(text: &str) -> Result<Self, SettingError> {
        let (side, rest) = match text.split_once('/') {
            Some((side, rest)) if !side.starts_with(PATH_FAMILY) && !side.contains(['@', '.']) && !side.is_empty() => {
                (side.parse().map_err(|_| SettingError::Side(side.into()))?, rest)
            }
            _ => (Side::Near, text),
        };
        if rest.is_empty() {
            return Err(SettingError::NoKnob(text.into()));
        }
        if rest.starts_with(PATH_FAMILY) {
            return Ok(KnobRef { side, name: rest.into(), site: None });
        }
        match rest.split_once('@') {
            Some(("", _)) => Err(SettingError::NoKnob(text.into())),
            Some((_, "")) => Err(SettingError::EmptySite(text.into())),
            Some((name, site)) => Ok(KnobRef { side, name: name.into(), site: Some(site.into()) }),
            None => Ok(KnobRef { side, name: rest.into(), site: None }),
        }
    }

    /// Whether its name is a path, in which anything may be.
    #[must_use]
    pub fn is_path(&self) -> bool {
        self.name.starts_with(PATH_FAMILY)
    }
}

impl fmt::Display for KnobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.side != Side::Near {
            write!(f, "{}/", self.side)?;
        }
        f.write_str(&self.name)?;
        self.site.as_ref().map_or(Ok(()), |site| write!(f, "@{site}"))
    }
}

fn split_value(text: &str) -> Result<(KnobRef, String), SettingError> {
    let (knob, value) = text.split_once('=').ok_or_else(|| SettingError::NoValue(text.into()))?;
    if knob.is_empty() {
        return Err(SettingError::NoKnob(text.into()));
    }
    if value.trim().is_empty() {
        return Err(SettingError::EmptyValue(text.into()));
    }
    Ok((KnobRef::parse(knob)?, value.to_owned()))
}

impl Assignment {
    /// Reads `[SIDE/]KNOB[@SITE]=VALUE`.
    ///
    /// # Errors
    /// [`SettingError`] saying what is missing.
    pub fn parse(text: &str) -> Result<Self, SettingError> {
        split_value(text).map(|(knob, value)| Assignment { knob, value })
    }
}

impl fmt::Display for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", quoted(&self.knob.to_string()), quoted(&self.value))
    }
}

impl Axis {
    /// Reads `[SIDE/]KNOB[@SITE]=LIST`.
    ///
    /// # Errors
    /// [`SettingError`] saying what is missing.
    pub fn parse(text: &str) -> Result<Self, SettingError> {
        split_value(text).map(|(knob, values)| Axis { knob, values })
    }
}

impl Setting {
    /// Reads `[NAME:][ASSIGNMENT…]`, words separated by blanks, quotes as in a shell: `base:`,
    /// `tuned:governor=conservative up_threshold=98`, `b:file:/tmp/x/knob=1`.
    ///
    /// # Errors
    /// [`SettingError`] for the first assignment that is none.
    pub fn parse(text: &str) -> Result<Self, SettingError> {
        let text = text.trim();
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) if !text.starts_with(PATH_FAMILY) && is_name(name) => (Some(name.to_owned()), rest),
            _ => (None, text),
        };
        let words = split_words(rest).ok_or_else(|| SettingError::Quote(rest.into()))?;
        let assignments = words.iter().map(|word| Assignment::parse(word)).collect::<Result<_, _>>()?;
        Ok(Setting { name, assignments })
    }

    /// Its name, or what it sets, or [`BASELINE`].
    #[must_use]
    pub fn label(&self) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None if self.assignments.is_empty() => BASELINE.into(),
            None => self.turns(),
        }
    }

    /// What it turns, as it can be typed again.
    #[must_use]
    pub fn turns(&self) -> String {
        self.assignments.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+'))
}

/// The text as one word of a shell, such that [`split_words`] also gives it back: with quotes only where it needs them.
fn quoted(text: &str) -> String {
    if !text
        .contains(|c: char| c.is_whitespace() || "'\"".contains(c) || LIVE.contains(c) || LIVE_IN_QUOTES.contains(c))
    {
        return text.to_owned();
    }
    // In double quotes where they say it all, else in single ones, and a single quote in double ones.
    let (inner, outer) = match text.contains(|c: char| c == '"' || LIVE_IN_QUOTES.contains(c)) {
        true => ('\'', '"'),
        false => ('"', '\''),
    };
    let part = |part: &str| if part.is_empty() { String::new() } else { format!("{inner}{part}{inner}") };
    text.split(inner).map(part).collect::<Vec<_>>().join(&format!("{outer}{inner}{outer}"))
}

/// What a shell reads more into, outside of quotes.
const LIVE: &str = ";&|<>()*?[{";
/// What it reads more into also inside of double quotes.
const LIVE_IN_QUOTES: &str = "$`\\!";

/// Splits at blanks, keeping what stands in single or double quotes together; `None` when a quote is not closed.
#[must_use]
pub fn split_words(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut open, mut quote) = (Vec::new(), String::new(), false, None);
    for c in text.chars() {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => word.push(c),
            None if c == '"' || c == '\'' => (quote, open) = (Some(c), true),
            None if c.is_whitespace() => {
                if open {
                    words.push(std::mem::take(&mut word));
                }
                open = false;
            }
            None => {
                word.push(c);
                open = true;
            }
        }
    }
    if open {
        words.push(word);
    }
    quote.is_none().then_some(words)
}
