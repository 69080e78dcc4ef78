//! Axes: `a,b`, `10..100:10`, `10..100`, `all` become values; what cannot be compared is left out and said.
use powerband_machine::Look;
use powerband_record::{Axis, parse_frequency_khz};

use crate::plan::Offer;
use crate::value::{PER_PERCENT, parse_quota};
use crate::{KnobError, Named, Phase, Selection, Site, Value};

/// A range without a step and `all` give at most this many values, evenly spread, both ends included.
const THINNED: usize = 50;

/// A list longer than this is taken for a slip of the keyboard.
const MAX: u64 = 1000;

/// What the same comparison chooses next to an axis, all lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// The governors, which tell namesakes apart.
    pub governors: Vec<String>,
    /// The modes the driver is put into, which say what governors there are; none where it stays in the one it is in.
    pub modes: Vec<String>,
}

/// An axis with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expanded {
    /// The knob.
    pub named: Named,
    /// Its values, each once, in the order given.
    pub values: Vec<Value>,
    /// What a person should know: what was left out, what was thinned.
    pub notes: Vec<String>,
    /// Of governors next to modes of their driver: a mode with a value that it has not.
    pub lacking: Vec<(String, Value)>,
}

/// Expands an axis for a machine.
///
/// # Errors
/// [`KnobError`], a sentence: unknown name, empty list, a value or an end of a range that the knob does not take.
pub fn expand(axis: &Axis, machine: &mut dyn Look, narrow: &Selection, beside: &Beside) -> Result<Expanded, KnobError> {
    listed(axis, machine, narrow, beside).map_err(|error| error.with_target_first(&axis.knob, &axis.values))
}

fn listed(axis: &Axis, machine: &mut dyn Look, narrow: &Selection, beside: &Beside) -> Result<Expanded, KnobError> {
    let named = narrow.resolve(&axis.knob.name, &beside.governors, machine)?;
    let sites = named.sites_or_later(machine, &narrow.at(axis.knob.site.as_deref()))?;
    let mut list = List { named, sites, values: Vec::new(), notes: Vec::new() };
    if list.named.knob.about().phase == Phase::Governor && !beside.modes.is_empty() {
        return list.governors(&axis.values, &beside.modes, machine);
    }
    for item in axis.values.split(',').map(str::trim) {
        list.add(item, machine)?;
    }
    let List { named, values, notes, .. } = list;
    Ok(Expanded { named, values, notes, lacking: Vec::new() })
}

/// The list as it grows.
struct List {
    named: Named,
    sites: Vec<Site>,
    values: Vec<Value>,
    notes: Vec<String>,
}

impl List {
    fn wrong(&self, why: impl Into<String>) -> KnobError {
        KnobError::value(&self.named.name, why)
    }

    fn nothing_listed(&self) -> KnobError {
        self.wrong("an entry of its list is empty; write e.g. 10,20 or 10..100:10")
    }

    fn add(&mut self, item: &str, machine: &mut dyn Look) -> Result<(), KnobError> {
        if item.is_empty() {
            return Err(self.nothing_listed());
        }
        if item == "all" {
            return self.add_all(machine);
        }
        if let Some((first, rest)) = item.split_once("..") {
            let (last, step) = rest.split_once(':').map_or((rest, None), |(last, step)| (last, Some(step)));
            if let Some(range) = self.range(first.trim(), last.trim(), machine)? {
                return self.add_range(item, range, step, machine);
            }
        }
        let value = self.named.parse_at(item, machine, &self.sites)?;
        self.push(value);
        Ok(())
    }

    fn push(&mut self, value: Value) {
        if !self.values.contains(&value) {
            self.values.push(value);
        }
    }

    /// Values that every site has.
    fn choices(&self, machine: &mut dyn Look) -> Vec<Value> {
        let mut common: Option<Vec<Value>> = None;
        for site in &self.sites {
            let here = self.named.knob.choices(machine, site);
            common = Some(match common {
                None => here,
                Some(common) => common.into_iter().filter(|value| here.contains(value)).collect(),
            });
        }
        common.unwrap_or_default()
    }

    fn add_all(&mut self, machine: &mut dyn Look) -> Result<(), KnobError> {
        let mut choices = self.choices(machine);
        if choices.is_empty() {
            let short = self.named.knob.about().short;
            return Err(self.wrong(format!(
                "its values cannot all be listed; write a list or a range, e.g. {short}=A,B or {short}=A..B:STEP"
            )));
        }
        self.leave_out(&mut choices);
        if let [only] = &choices[..] {
            let only = only.to_string();
            return Err(
                self.wrong(format!("all is one value here, {only}: there is nothing to compare; leave this knob out"))
            );
        }
        self.extend_thinned(choices);
        Ok(())
    }

    /// Takes from `all` what cannot be compared.
    fn leave_out(&mut self, choices: &mut Vec<Value>) {
        let knob = self.named.knob;
        for why in choices.iter().filter_map(|value| knob.left_out(value)) {
            if self.notes.iter().all(|note| note != why) {
                self.notes.push(why.into());
            }
        }
        choices.retain(|value| knob.left_out(value).is_none());
    }

    /// Governors of a driver that is put into one of these modes or another: each that one of them has.
    fn governors(mut self, items: &str, modes: &[String], machine: &mut dyn Look) -> Result<Expanded, KnobError> {
        let offers: Vec<Offer> = modes.iter().map(|mode| Offer::of(mode, machine, &self.sites)).collect();
        for item in items.split(',').map(str::trim) {
            if item.is_empty() {
                return Err(self.nothing_listed());
            }
            if item == "all" {
                for (mut choices, note) in offers.iter().map(Offer::all) {
                    self.leave_out(&mut choices);
                    self.notes.extend(note);
                    choices.into_iter().for_each(|value| self.push(value));
                }
                continue;
            }
            let mut read: Vec<_> = offers.iter().map(|offer| offer.parse(&self.named.name, item)).collect();
            let best = read.iter().position(Result::is_ok).unwrap_or(0);
            let value = read.swap_remove(best)?;
            self.push(value);
        }
        let List { named, values, mut notes, .. } = self;
        notes.dedup();
        let has = |offer: &Offer, value: &Value| offer.parse(&named.name, &value.typed()).is_ok();
        let of_mode = |(mode, offer): (&String, &Offer)| -> Vec<(String, Value)> {
            let lacks = values.iter().filter(|value| !has(offer, value));
            lacks.map(|value| (mode.clone(), value.clone())).collect()
        };
        let lacking = modes.iter().zip(&offers).flat_map(of_mode).collect();
        Ok(Expanded { named, values, notes, lacking })
    }

    fn extend_thinned(&mut self, values: Vec<Value>) {
        let count = values.len();
        if count > THINNED {
            self.notes.push(format!("{}: {THINNED} of {count} values, evenly spread", self.named.name));
            for place in (0..THINNED).map(|i| i * (count - 1) / (THINNED - 1)) {
                self.push(values[place].clone());
            }
        } else {
            values.into_iter().for_each(|value| self.push(value));
        }
    }

    /// Both ends, or `None` when this is no range but a text with dots.
    fn range(&self, first: &str, last: &str, machine: &mut dyn Look) -> Result<Option<(Value, u64, u64)>, KnobError> {
        let first = self.named.parse_at(first, machine, &self.sites);
        if let Ok(Value::Word(_)) = first {
            return Err(self.wrong("it takes names, not a range; write e.g. governor=ondemand,performance"));
        }
        let first = first?;
        let last = self.named.parse_at(last, machine, &self.sites)?;
        match (first.number(), last.number()) {
            (Some(low), Some(high)) if low <= high => Ok(Some((first, low, high))),
            (Some(_), Some(_)) => Err(self.wrong(format!("the range {first}..{last} ends below its beginning"))),
            _ => Ok(None),
        }
    }

    fn add_range(
        &mut self,
        item: &str,
        (kind, low, high): (Value, u64, u64),
        step: Option<&str>,
        machine: &mut dyn Look,
    ) -> Result<(), KnobError> {
        let Some(step) = step else {
            let listed = self.choices(machine);
            let inside = |value: &Value| value.number().is_some_and(|number| (low..=high).contains(&number));
            let values: Vec<Value> = listed.into_iter().filter(inside).collect();
            if values.is_empty() {
                self.add_even(&kind, low, high);
            } else {
                self.extend_thinned(values);
            }
            return Ok(());
        };
        let step = match &kind {
            Value::Khz(_) => parse_frequency_khz(step).map(u64::from).map_err(|error| error.to_string()),
            Value::Quota(_) => parse_quota(step),
            _ => step.trim().parse().map_err(|_| format!("'{step}' is not a step; write e.g. 10..100:10")),
        };
        let step = step.map_err(|why| self.wrong(why))?;
        if step == 0 {
            return Err(self.wrong(format!("the step of {item} is 0; write e.g. 10..100:10")));
        }
        let count = (high - low) / step + 1;
        if count > MAX {
            return Err(self.wrong(format!("{item} gives {count} values, and at most {MAX} are taken; widen the step")));
        }
        for number in (0..count).map(|i| low + i * step) {
            self.push(like(&kind, number));
        }
        Ok(())
    }

    /// A range of a knob that cannot list its values: whole numbers (whole percents), thinned without listing them.
    fn add_even(&mut self, kind: &Value, low: u64, high: u64) {
        let unit = if matches!(kind, Value::Quota(_)) { PER_PERCENT } else { 1 };
        let last = (high - low) / unit;
        let parts = last.min(THINNED as u64 - 1);
        if parts < last {
            self.notes.push(format!("{}: {THINNED} of {} values, evenly spread", self.named.name, last + 1));
        }
        for i in 0..=parts {
            let place = u128::from(last) * u128::from(i) / u128::from(parts.max(1));
            self.push(like(kind, low + u64::try_from(place).unwrap_or(last) * unit));
        }
    }
}

/// A value of the same kind.
fn like(kind: &Value, number: u64) -> Value {
    match kind {
        Value::Khz(_) => Value::Khz(u32::try_from(number).unwrap_or(u32::MAX)),
        Value::Quota(_) => Value::Quota(number),
        Value::Text(_) => Value::Text(number.to_string()),
        _ => Value::Number(number),
    }
}
