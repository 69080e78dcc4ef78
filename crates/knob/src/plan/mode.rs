//! A driver's change of mode, which comes before everything else: the governors that are offered until then say nothing of
//! those that will be.
use powerband_machine::Machine;

use super::{Move, Part};
use crate::{KnobError, Named, Phase, Site};

/// The governors of a driver with its own rules.
const OF_ACTIVE: [&str; 2] = ["performance", "powersave"];

/// The sites at which a value is checked: those given, but nowhere in particular for a governor that comes after a change of
/// mode. Its policies are asked again when that is done, see [`check_governors`].
///
/// # Errors
/// [`KnobError::Value`] for a governor that the mode to come is known not to have.
pub(super) fn before_change(
    named: &Named,
    earlier: &[Part],
    text: &str,
    machine: &mut dyn Machine,
    sites: &[Site],
) -> Result<Vec<Site>, KnobError> {
    let mode = if named.knob.about().phase == Phase::Governor { coming(earlier, machine) } else { None };
    let Some(mode) = mode else { return Ok(sites.to_vec()) };
    let governor = text.trim().to_lowercase();
    if mode == "active" && !OF_ACTIVE.contains(&governor.as_str()) {
        let why =
            format!("'{governor}' is no governor of the mode active, which has {} alone", OF_ACTIVE.join(" and "));
        return Err(KnobError::value(&named.name, format!("{why}; leave out pstate=active, or choose one of them")));
    }
    Ok(sites.iter().map(|site| Site { policy: None, ..site.clone() }).collect())
}

/// The mode a driver is put into, where that is another one than it is in.
fn coming(parts: &[Part], machine: &mut dyn Machine) -> Option<String> {
    let part = parts.iter().find(|part| part.named.knob.about().phase == Phase::Mode)?;
    let mut paths = part.sites.iter().flat_map(|sites| &sites.sites).filter_map(|site| site.path.as_ref());
    let is_so = paths.all(|path| machine.read(path).is_ok_and(|text| part.named.knob.same(&part.value, &text)));
    (!is_so).then(|| part.value.typed())
}

/// Looks, once a change of mode is done, whether the governors that are about to be turned are there.
///
/// # Errors
/// [`KnobError::Value`] for the first that is not, with those that are.
pub(crate) fn check_governors(parts: &[Part], moves: &[Move], machine: &mut dyn Machine) -> Result<(), KnobError> {
    let changed = parts.iter().any(|part| part.named.knob.about().phase == Phase::Mode);
    for step in moves.iter().filter(|step| changed && step.named.knob.about().phase == Phase::Governor) {
        step.named.knob.parse(&step.named.name, &step.value.typed(), machine, &step.site)?;
    }
    Ok(())
}
