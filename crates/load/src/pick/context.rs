//! Units that may be a number's where it has none of its own: in its line, in the headings of an output, and around a JSON node.
use std::collections::BTreeSet;

use serde_json::Value;
use serde_json_path::{NormalizedPath, PathElement};

use super::reading::Place;
use super::unit::{Unit, is_scaled, known, labels_and_units, loose_units, unit_of_key};

/// The units around a number, the nearest first: a nearer one decides.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Context {
    levels: Vec<Level>,
}

/// Units that are equally near.
#[derive(Clone, Debug, PartialEq)]
struct Level {
    units: BTreeSet<String>,
    /// Whether one that is alone here is surely the number's: a heading may be that of other numbers.
    is_own: bool,
}

/// The unit that a number with a known dimension has by its context.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ByContext {
    /// None, or the one it has by the metric's name.
    AsNamed,
    Other(Unit, String),
    /// One of these, or the one of the name.
    Unclear(String),
}

impl Context {
    /// The units around a number in a text: those in its line, then those in lines without a number.
    pub(super) fn in_text(place: &Place<'_>) -> Context {
        let line = place.line();
        let (labels, words): (Vec<_>, Vec<_>) = labels_and_units(line).partition(|(_, is_label)| *is_label);
        let of = |units: Vec<(&str, bool)>| units.into_iter().map(|(word, _)| word.to_owned()).collect();
        let mut labels: BTreeSet<String> = of(labels);
        labels.extend(end_of_list(&place.text[place.group.end..]).map(str::to_owned));
        let headings = place.text.split(['\n', '\r']).filter(|line| !has_number(line)).flat_map(loose_units);
        let headings = headings.map(str::to_owned).collect();
        let level = |units, is_own| Level { units, is_own };
        Context { levels: vec![level(labels, true), level(of(words), false), level(headings, false)] }
    }

    /// The units around a node: in the keys that lead to it, in strings of the objects it is in, and in what is called units.
    pub(super) fn in_json(document: &Value, location: &NormalizedPath<'_>) -> Context {
        let mut context = Context::default();
        let (mut at, mut folders) = (document, vec![]);
        for element in location.iter() {
            let (next, key) = match element {
                PathElement::Name(name) => (at.get(name), Some(*name)),
                PathElement::Index(index) => (at.get(index), None),
            };
            folders.push((at, key));
            at = next.unwrap_or(&Value::Null);
        }
        let keys: Vec<&str> = folders.iter().filter_map(|(_, key)| *key).collect();
        for (folder, key) in folders.iter().rev() {
            let mut near: BTreeSet<String> = BTreeSet::new();
            let mut far: BTreeSet<String> = BTreeSet::new();
            near.extend(key.filter(|key| size(key).is_some()).map(str::to_owned));
            for (name, value) in folder.as_object().into_iter().flatten() {
                match value {
                    Value::String(text) => {
                        let is_unit = size(text.trim()).is_some() || name.to_lowercase().contains("unit");
                        let units = if is_unit { &mut near } else { &mut far };
                        units.extend(loose_units(text).map(str::to_owned));
                    }
                    Value::Array(items) => {
                        let texts = items.iter().filter_map(Value::as_str);
                        far.extend(texts.flat_map(loose_units).map(str::to_owned));
                    }
                    Value::Object(_) if name.to_lowercase().contains("unit") => {
                        let mut named = BTreeSet::new();
                        units_below(value, &keys, false, &mut named);
                        if named.is_empty() {
                            units_below(value, &[], true, &mut far);
                        }
                        near.extend(named);
                    }
                    _ => {}
                }
            }
            context.levels.push(Level { units: near, is_own: true });
            context.levels.push(Level { units: far, is_own: false });
        }
        if context.levels.iter().all(|level| level.units.is_empty()) {
            let mut units = BTreeSet::new();
            units_anywhere(document, &mut units);
            context.levels.push(Level { units, is_own: false });
        }
        context
    }

    /// All units that may be meant where the metric is in `wanted`, in words.
    pub(super) fn words(&self, wanted: Option<Unit>) -> String {
        let fits = |word: &&String| wanted.is_none_or(|wanted| size(word).is_some_and(|unit| unit.fits(wanted)));
        let units: BTreeSet<&str> =
            self.levels.iter().flat_map(|level| &level.units).filter(fits).map(String::as_str).collect();
        units.into_iter().collect::<Vec<_>>().join(" ")
    }

    /// The unit of a number whose metric is in `wanted` by its name.
    pub(super) fn unit(&self, wanted: Unit) -> ByContext {
        for level in &self.levels {
            let fitting = level.units.iter().filter_map(|word| Some((size(word)?, word)));
            let fitting: Vec<(Unit, &String)> = fitting.filter(|(unit, _)| unit.fits(wanted)).collect();
            let Some((unit, word)) = fitting.first() else { continue };
            if fitting.iter().any(|(unit, _)| *unit == wanted) {
                return ByContext::AsNamed;
            }
            // How much a Kops is by the second is not known.
            let is_one = fitting.iter().all(|(other, word)| other == unit && !is_scaled(word));
            if level.is_own && is_one {
                return ByContext::Other(*unit, (*word).clone());
            }
            let words: Vec<&str> = fitting.iter().map(|(_, word)| word.as_str()).collect();
            return ByContext::Unclear(words.join(", "));
        }
        ByContext::AsNamed
    }
}

fn size(word: &str) -> Option<Unit> {
    let scaled = || is_scaled(word).then_some(Unit { factor: 1e3, base: "1/s" });
    known(word).filter(|unit| !unit.base.is_empty()).or_else(|| unit_of_key(word)).or_else(scaled)
}

/// The units in all that is called unit in a document.
fn units_anywhere(value: &Value, units: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if name.to_lowercase().contains("unit") {
                    units_below(value, &[], true, units);
                }
                units_anywhere(value, units);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| units_anywhere(item, units)),
        _ => {}
    }
}

/// The units that an object of units has: those of the keys that lead to a node, or all.
fn units_below(value: &Value, keys: &[&str], is_meant: bool, units: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if is_meant => units.extend(loose_units(text).map(str::to_owned)),
        Value::Object(members) => {
            for (name, value) in members {
                units_below(value, keys, is_meant || keys.contains(&name.as_str()), units);
            }
        }
        _ => {}
    }
}

/// Whether a line has a number that is no part of a word as `p99` is.
fn has_number(line: &str) -> bool {
    let mut before = ' ';
    line.chars().any(|c| {
        let begins = c.is_ascii_digit() && !before.is_alphanumeric();
        // The digits of a word belong to it.
        before = c;
        begins
    })
}

/// The unit behind the last of several numbers that only marks part: `980.2, 3 us`.
fn end_of_list(after: &str) -> Option<&str> {
    let line = after.split(['\n', '\r']).next().unwrap_or_default();
    let rest = line.trim_start_matches(|c: char| !c.is_alphabetic() && c != 'µ');
    let list = &line[..line.len() - rest.len()];
    let parts = list.chars().all(|c| c.is_ascii_digit() || c.is_whitespace() || ".,;/|+-".contains(c));
    let word = rest.split(|c: char| !c.is_alphabetic() && c != 'µ' && c != '/').next().unwrap_or_default();
    (parts && list.contains(|c: char| c.is_ascii_digit()) && size(word).is_some()).then_some(word)
}
