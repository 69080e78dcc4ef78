//! How the numbers of each metric are written through an experiment: all its trials are read alike, or not at all.
use std::collections::BTreeMap;

use powerband_record::unit_of;

use super::reading::{Digits, Reading};
use super::unit::{are_sizes, known};

/// How the numbers of each metric are written in an experiment.
#[derive(Clone, Debug, Default)]
pub struct NumberStyles {
    styles: BTreeMap<String, Style>,
    notes: BTreeMap<(String, bool), String>,
}

/// A word behind a number that is no unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Word {
    pub(super) text: String,
    /// Whether the pattern matched it.
    pub(super) is_matched: bool,
    /// Whether the pattern has it as such.
    pub(super) is_spelled: bool,
    /// Whether it looks like a unit.
    pub(super) is_claim: bool,
}

/// How the numbers of one metric are written.
#[derive(Clone, Debug, Default)]
pub(super) struct Style {
    /// What stands before a fraction, once that was seen.
    pub(super) mark: Option<char>,
    /// The output that the first number was in: 0 for standard output, 1 for standard error.
    pub(super) stream: Option<usize>,
    /// What the first number had behind it.
    kind: Option<Kind>,
    /// Units around the first number that had none of its own.
    around: Option<String>,
    /// What digits showed, by the size of their unit.
    digits: Vec<(Digits, f64)>,
}

/// What a number had behind it.
#[derive(Clone, Debug)]
struct Kind {
    base: &'static str,
    word: Word,
    behind: String,
}

impl NumberStyles {
    /// What must be known with what was read, a sentence each.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        self.notes.values().cloned().collect()
    }

    pub(super) fn style(&self, metric: &str) -> Style {
        self.styles.get(metric).cloned().unwrap_or_default()
    }

    pub(super) fn keep(&mut self, metric: &str, style: Style) {
        self.styles.insert(metric.to_owned(), style);
    }

    /// Keeps the first note of a metric about its unit, or about which match was taken.
    pub(super) fn note(&mut self, metric: &str, of_unit: bool, note: impl FnOnce() -> String) {
        self.notes.entry((metric.to_owned(), of_unit)).or_insert_with(note);
    }
}

impl Style {
    /// Holds a reading of a metric against those before it.
    ///
    /// # Errors
    /// Why it may not mean the same, in words.
    pub(super) fn agree(&mut self, read: &Reading, metric: &str) -> Result<(), String> {
        self.mark = self.mark.or(read.mark);
        self.agree_on_dots(read)?;
        let base = read.base();
        if read.printed == 0.0 && base.is_empty() {
            return Ok(());
        }
        let around = read.context.words(known(unit_of(metric)));
        let named = |units: &str| if units.is_empty() { "none".to_owned() } else { units.to_owned() };
        let first = self.around.get_or_insert_with(|| around.clone());
        if base.is_empty() && *first != around {
            return Err(format!(
                "the units in its lines and headings are {} now and were {} before, and the number has none of its own; let the program print one unit",
                named(&around),
                named(first)
            ));
        }
        let shown = if read.behind.is_empty() { read.word.text.clone() } else { read.behind.clone() };
        let now = Kind { base, word: read.word.clone(), behind: shown };
        let first = self.kind.get_or_insert_with(|| now.clone());
        if first.base == base && may_be_alike(&first.word, &now.word) {
            return Ok(());
        }
        let named = |word: &str| if word.is_empty() { "nothing".to_owned() } else { format!("'{word}'") };
        Err(format!(
            "{} follows the number, and {} followed an earlier one: the unit may have changed; let the program print one unit, or put the word into the pattern",
            named(&now.behind),
            named(&first.behind)
        ))
    }

    /// A dot before three digits is not known to be before a fraction where other numbers have none.
    fn agree_on_dots(&mut self, read: &Reading) -> Result<(), String> {
        let size = read.unit.map_or(0.0, |unit| unit.factor);
        let has = |digits: Digits| self.digits.iter().any(|it| it.0 == digits && it.1.total_cmp(&size).is_eq());
        if self.mark == Some(',') && self.digits.iter().any(|it| it.0 == Digits::Dotted) {
            return Err(
                "a dot of an earlier number was before a fraction, and is between thousands in this one; run the command with LC_ALL=C"
                    .into(),
            );
        }
        let clash = match read.digits {
            Digits::Dotted => has(Digits::Few),
            Digits::Few => has(Digits::Dotted),
            _ => false,
        };
        if clash && self.mark.is_none() && !has(Digits::Ungrouped) {
            return Err(
                "the numbers are whole or have a dot before three digits, which may be thousands; run the command with LC_ALL=C, or let the program print more or fewer digits"
                    .into(),
            );
        }
        if read.digits != Digits::Other && !has(read.digits) {
            self.digits.push((read.digits, size));
        }
        Ok(())
    }
}

/// Whether two words may stand behind the same kind of number: the same, or others that the pattern has as such.
fn may_be_alike(first: &Word, now: &Word) -> bool {
    let stem = |word: &Word| word.text.trim_end_matches('s').to_owned();
    let is_users = |word: &Word| word.is_spelled || word.text.is_empty();
    let spelled = is_users(first) && is_users(now) && (first.is_spelled || now.is_spelled);
    let claims = first.text.is_empty() && now.is_claim || now.text.is_empty() && first.is_claim;
    stem(first) == stem(now) || spelled && !claims && !are_sizes(&first.text, &now.text)
}
