//! Knobs that a plan declares next to the catalogue, each by its commands.
use std::collections::BTreeMap;

use powerband_record::CommandKnob;

use crate::catalogue::Command;
use crate::{KnobError, Named, resolve};

/// Characters a name may have next to letters and digits.
const IN_NAMES: [char; 3] = ['_', '-', '.'];

/// The knobs of one plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared(Vec<&'static Command>);

impl Declared {
    /// Checks what is declared and makes knobs of it. They last as long as the process, as the catalogue's do.
    ///
    /// # Errors
    /// [`KnobError::Value`], one sentence: a name that is no name or the catalogue's, a command that cannot be one.
    pub fn of(knobs: &BTreeMap<String, CommandKnob>) -> Result<Self, KnobError> {
        let all = knobs.iter().map(|(name, knob)| {
            check_name(name)?;
            Command::new(name, knob).map(|command| &*Box::leak(Box::new(command)))
        });
        all.collect::<Result<_, _>>().map(Declared)
    }

    /// The knob of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Named> {
        let knob = *self.0.iter().find(|knob| knob.name() == name)?;
        Some(Named { knob, name: name.to_owned() })
    }
}

fn check_name(name: &str) -> Result<(), KnobError> {
    let wrong = |why: String| Err(KnobError::value(&format!("[knobs.{name}]"), why));
    let is_name = |c: char| c.is_ascii_alphanumeric() || IN_NAMES.contains(&c);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(is_name) {
        return wrong("a name begins with a letter and has letters, digits, '_', '-' and '.'".into());
    }
    match resolve(name) {
        Ok(_) | Err(KnobError::Ambiguous { .. }) => wrong(format!(
            "the catalogue has a knob of that name; `powerband knobs {name}` explains it: take another name"
        )),
        Err(_) => Ok(()),
    }
}
