//! The look at a trial's end: is every knob still where it landed?
use powerband_machine::Look;
use powerband_record::{Void, placed};

use crate::Applied;

/// A knob that is no longer where it landed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedKnob {
    /// Canonical name.
    pub knob: String,
    /// Site.
    pub site: String,
    /// The place that was read.
    pub path: String,
    /// What was in force after turning.
    pub expected: String,
    /// What is there now.
    pub found: String,
}

impl From<MovedKnob> for Void {
    fn from(moved: MovedKnob) -> Void {
        let knob = placed(&moved.knob, &moved.site);
        Void::KnobMoved { knob, expected: moved.expected, found: moved.found, by: Vec::new() }
    }
}

/// Reads every knob of a setting in force and names those that somebody moved. What reads as asked is fine even where
/// it read otherwise at first: limits take effect a moment after the write.
pub fn verify(machine: &mut dyn Look, applied: &Applied) -> Vec<MovedKnob> {
    let mut moved = Vec::new();
    for reached in &applied.sites {
        let (Some(path), Some(expected)) = (&reached.site.path, &reached.reads_back) else { continue };
        let knob = reached.named.knob;
        let found = match machine.read(path) {
            Ok(text) if text.trim() == expected || knob.same(&reached.asked, &text) => continue,
            Ok(text) => knob.shown(&text),
            Err(errno) => format!("nothing to read: {errno}"),
        };
        moved.push(MovedKnob {
            knob: reached.named.name.clone(),
            site: reached.site.name.clone(),
            path: path.clone(),
            expected: knob.shown(expected),
            found,
        });
    }
    moved
}
