//! What knobs are set on: the CPUs that were picked, and the knobs that a file declares.
use std::collections::BTreeMap;
use std::path::Path;

use powerband_experiment::Plan;
use powerband_knob::{Declared, Selection};
use powerband_record::{CommandKnob, CpuList};
use powerband_rig::{MAX_WRITTEN_BYTES, read_text};

use crate::SessionError;

/// The CPUs that were picked, and the knobs that are declared.
///
/// # Errors
/// When the file cannot be read or declares what is no knob.
pub fn selection(cpus: Option<&CpuList>, declared: Option<&Path>) -> Result<Selection, SessionError> {
    let declared = Declared::of(&declared_knobs(declared)?)?;
    Ok(Selection { cpus: cpus.cloned(), declared, ..Selection::everywhere() })
}

/// The knobs that a file declares.
///
/// # Errors
/// When it cannot be read, or declares none.
pub fn declared_knobs(file: Option<&Path>) -> Result<BTreeMap<String, CommandKnob>, SessionError> {
    let Some(path) = file else { return Ok(BTreeMap::new()) };
    let name = path.display().to_string();
    let text = read_text(path, "", MAX_WRITTEN_BYTES)?;
    match Plan::knobs_in(&name, &text)? {
        knobs if knobs.is_empty() => Err(SessionError::NoKnobs(name)),
        knobs => Ok(knobs),
    }
}
