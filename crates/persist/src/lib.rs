//! What keeps a knob where it is over reboots: who set it, in the order of time.
//!
//! [`why`] walks every place of a machine that sets a knob when it boots, from the kernel's own default to what
//! powerband itself has `set`, one source a file (`source/`), and judges in the end which of them is in force and
//! whether that explains what reads now (`verdict.rs`). Files are only read, never run: what a script would do is
//! recognised from the commands in it (`shell.rs`), without evaluating its conditions.
//! [`keep`] finds the place that makes a setting survive a reboot, and [`check`] compares what is kept with what is in force.
//! What happens from now on is [`KnobWatch`]'s: every change of a knob, and who wrote; [`KnobSetter::configured`] finds the line of a
//! configuration that a writer went by.
//! Everything goes through [`powerband_machine::Look`]; a file that is broken or may not be read is a [`BootFinding`]
//! that says so.
mod configured;
mod finding;
mod glob;
mod keep;
mod keys;
mod scene;
mod service;
mod shell;
mod source;
mod target;
mod text;
mod verdict;
mod watch;

use powerband_knob::{KnobError, KnobReading, Selection, get, resolve_here};
use powerband_machine::{Look, OpenEntry};
use powerband_record::KnobRef;
use serde::Serialize;

pub use configured::Configured;
pub use finding::{BootFinding, BootPhase, BootStanding};
pub use keep::{
    Checked, FileChange, KeepError, KeepRequest, Keeping, KeptFile, KeptSetting, MANIFEST, Manifest, ManifestError,
    Origin, Rounded, Set, check, diff, keep, set_by,
};
pub use watch::{KnobChange, KnobWatch};

use scene::Scene;
use target::Target;

/// Who set a knob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct KnobSetter {
    /// Canonical name.
    pub knob: String,
    /// The whole chain in one sentence, without a final stop.
    pub sentence: String,
    /// What reads now, a site each.
    pub readings: Vec<KnobReading>,
    /// Every place that sets it or could, in the order in which they act.
    pub findings: Vec<BootFinding>,
}

/// Finds out who set a knob on a machine; `open` is what powerband itself has set there.
///
/// # Errors
/// [`KnobError`] when the name, the site or the knob is not there.
pub fn why(
    machine: &mut dyn Look,
    open: &[OpenEntry],
    knob: &KnobRef,
    narrow: &Selection,
) -> Result<KnobSetter, KnobError> {
    let named = resolve_here(&knob.name, &[], machine)?;
    let sites = named.knob.sites(&named.name, machine, &narrow.at(knob.site.as_deref()))?;
    let readings = get(machine, knob, narrow)?;
    let target = Target::new(named, sites.sites, machine);
    let (target, mut findings, side_by_side) = walk(machine, open, target);
    let sentence = verdict::judge(&target, &mut findings, side_by_side);
    Ok(KnobSetter { knob: target.named.name, sentence, readings, findings })
}

/// Every place that sets a knob, in the order of time, and whether services start side by side.
fn walk(machine: &mut dyn Look, open: &[OpenEntry], target: Target) -> (Target, Vec<BootFinding>, bool) {
    let mut scene = Scene::new(machine, open, target);
    for source in source::ALL {
        scene.enter(source.phase);
        (source.look)(&mut scene);
    }
    let side_by_side = scene.services().has_systemd();
    let (target, mut findings) = scene.leave();
    verdict::refuse_what_is_not_offered(&target, &mut findings);
    (target, findings, side_by_side)
}
