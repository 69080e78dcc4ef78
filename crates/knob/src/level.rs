//! What a value of a knob is to a search: a number with neighbours, a word in an order, or something of its own.
use powerband_machine::Look;

use crate::value::PER_PERCENT;
use crate::{KnobError, Named, Selection, Value, place_of_word};

/// A value of a knob among others.
#[derive(Clone, Debug, PartialEq)]
pub enum RankedValue {
    /// A number: kHz, per cent of a CPU, or the knob's own unit.
    Number(f64),
    /// A word of an order, by its place.
    Place(usize, String),
    /// A word, or a number that stands for something else than its size (a mode of a driver).
    Word(String),
}

/// What a value is, read as it is typed at the sites of its knob.
///
/// # Errors
/// [`KnobError`] for what the knob does not take there.
pub fn level(named: &Named, text: &str, machine: &mut dyn Look, at: &Selection) -> Result<RankedValue, KnobError> {
    let sites = named.sites_or_later(machine, at)?;
    let value = named.parse_at(text, machine, &sites)?;
    let typed = value.typed();
    if sites.iter().any(|site| named.knob.stands_for(&typed, machine, site).is_some()) {
        return Ok(RankedValue::Word(typed));
    }
    if let Some(place) = place_of_word(&named.name, &typed) {
        return Ok(RankedValue::Place(place, typed));
    }
    let size = |number: u64| match value {
        Value::Quota(_) => number as f64 / PER_PERCENT as f64,
        _ => number as f64,
    };
    Ok(value.number().map_or(RankedValue::Word(typed), |number| RankedValue::Number(size(number))))
}
