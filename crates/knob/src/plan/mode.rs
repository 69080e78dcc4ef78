//! A driver's change of mode, which comes before everything else: the governors that are offered until then say nothing of
//! those that will be.
use powerband_machine::Look;
use powerband_record::{Assignment, Setting};

use super::{Move, Part};
use crate::catalogue::{MAINLINE, STATUS};
use crate::doctor::governors_built;
use crate::policy::policies;
use crate::{Knob, KnobError, Named, Phase, Selection, Site, Value, resolve};

/// The governors of a driver with its own rules.
const OF_ACTIVE: [&str; 2] = ["performance", "powersave"];

/// The knob of the preference.
pub(super) const PREFERENCE: &str = "cpufreq.epp";

/// The reason for refusing a preference.
pub(super) const STUCK: &str = "under the governor performance it stays performance: set governor=powersave as well";

/// Whether a setting asks for a preference that its governor rules out: a driver with its own rules takes performance alone under
/// the governor performance (Linux 6.12 intel_pstate.c, intel_pstate_set_energy_pref_index; amd-pstate.c,
/// store_energy_performance_preference).
#[must_use]
pub fn preference_is_stuck(setting: &Setting, machine: &mut dyn Look) -> bool {
    let last = |name: &str| {
        let is_it = |it: &&Assignment| resolve(&it.knob.name).is_ok_and(|named| named.name == name);
        let found = setting.assignments.iter().rev().find(is_it)?;
        Some((found.value.trim().to_lowercase(), found.knob.site.clone()))
    };
    let Some((preference, site)) = last(PREFERENCE) else { return false };
    let mode = last(STATUS.about().name).map(|(mode, _)| mode);
    if ["performance", "0"].contains(&preference.as_str()) || mode.as_ref().is_some_and(|mode| mode != "active") {
        return false;
    }
    let all = policies(machine, PREFERENCE).map(|all| all.active).unwrap_or_default();
    let own_rules = mode.is_some() || all.iter().any(|policy| policy.has_own_rules(machine));
    own_rules
        && match last("cpufreq.governor") {
            Some((governor, there)) => governor == "performance" && there == site,
            None => {
                let mut governors = all.iter().map(|policy| policy.read(machine, "scaling_governor"));
                !all.is_empty() && governors.all(|read| read.is_ok_and(|governor| governor == "performance"))
            }
        }
}

/// The governors of a driver in one of its modes.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    mode: String,
    /// `None` where they are not told before the driver is in that mode.
    governors: Option<Vec<String>>,
    /// Whether there may be others besides, of no kernel of Linux's own.
    open: bool,
}

impl Offer {
    /// What `mode` offers at `sites`: what is listed where it is in force, else what the driver's rules or the kernel's
    /// configuration say.
    pub(crate) fn of(mode: &str, machine: &mut dyn Look, sites: &[Site]) -> Offer {
        let mode = mode.trim().to_lowercase();
        let mut listed = || sites.iter().find_map(|site| site.policy.as_ref()?.governors(machine));
        let (governors, open) = if mode == "active" {
            (Some(OF_ACTIVE.map(str::to_owned).to_vec()), false)
        } else if let Some(listed) = listed().filter(|_| is_in_force(&mode, machine)) {
            (Some(listed), false)
        } else {
            (governors_built(machine), true)
        };
        Offer { mode, governors, open }
    }

    /// Reads a governor's name.
    ///
    /// # Errors
    /// [`KnobError::Value`] for one that this mode is known not to have.
    pub(crate) fn parse(&self, knob: &str, text: &str) -> Result<Value, KnobError> {
        let (governor, mode) = (text.trim().to_lowercase(), &self.mode);
        let linuxs = MAINLINE.contains(&governor.as_str());
        match &self.governors {
            Some(all) if !all.contains(&governor) && (linuxs || !self.open) => {
                let module = if self.open && linuxs {
                    format!(", or load it if it is a module: modprobe cpufreq_{governor}")
                } else {
                    String::new()
                };
                let has = format!("'{governor}' is no governor of the mode {mode}, which has {}", words(all));
                Err(KnobError::value(
                    knob,
                    format!("{has} alone; leave out pstate={mode}, or choose one of them{module}"),
                ))
            }
            _ => Ok(Value::Word(governor)),
        }
    }

    /// All of them; where they are not told, Linux's own, with a note that says so.
    pub(crate) fn all(&self) -> (Vec<Value>, Option<String>) {
        let guessed = || MAINLINE.map(str::to_owned).to_vec();
        let note = self.governors.is_none().then(|| {
            format!(
                "which governors the mode {} has is not known before it is in force: these are Linux's own; if one is \
                 missing, name the others",
                self.mode
            )
        });
        (self.governors.clone().unwrap_or_else(guessed).into_iter().map(Value::Word).collect(), note)
    }
}

fn words(all: &[String]) -> String {
    match all {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => all.join(", "),
    }
}

fn is_in_force(mode: &str, machine: &mut dyn Look) -> bool {
    let name = STATUS.about().name;
    let Ok(sites) = STATUS.sites(name, machine, &Selection::everywhere()) else { return false };
    let mut paths = sites.sites.iter().filter_map(|site| site.path.as_ref());
    paths.all(|path| machine.read(path).is_ok_and(|text| text.trim().eq_ignore_ascii_case(mode)))
}

/// The sites at which a value is checked: those given, but nowhere in particular for a governor that comes after a change of
/// mode. Its policies are asked again when that is done, see [`check_governors`].
///
/// # Errors
/// [`KnobError::Value`] for a governor that the mode to come is known not to have.
pub(super) fn before_change(
    named: &Named,
    earlier: &[Part],
    text: &str,
    machine: &mut dyn Look,
    sites: &[Site],
) -> Result<Vec<Site>, KnobError> {
    let mode = if named.knob.about().phase == Phase::Governor { coming(earlier, machine) } else { None };
    let Some(mode) = mode else { return Ok(sites.to_vec()) };
    Offer::of(&mode, machine, sites).parse(&named.name, text)?;
    Ok(sites.iter().map(|site| Site { policy: None, ..site.clone() }).collect())
}

/// The mode a driver is put into, where that is another one than it is in.
fn coming(parts: &[Part], machine: &mut dyn Look) -> Option<String> {
    let part = parts.iter().find(|part| part.named.knob.about().phase == Phase::Mode)?;
    let mode = part.value.typed();
    (!is_in_force(&mode, machine)).then_some(mode)
}

/// Looks, once a change of mode is done, whether the governors that are about to be turned are there.
///
/// # Errors
/// [`KnobError::Value`] for the first that is not, with those that are.
pub(crate) fn check_governors(parts: &[Part], moves: &[Move], machine: &mut dyn Look) -> Result<(), KnobError> {
    let changed = parts.iter().any(|part| part.named.knob.about().phase == Phase::Mode);
    for step in moves.iter().filter(|step| changed && step.named.knob.about().phase == Phase::Governor) {
        step.named.knob.parse(&step.named.name, &step.value.typed(), machine, &step.site)?;
    }
    Ok(())
}
