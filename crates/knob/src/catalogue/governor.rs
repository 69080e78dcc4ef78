//! `cpufreq.governor`: the rule that picks the frequency.
use powerband_machine::Look;
use powerband_sysfs::cpufreq;

use crate::{About, Knob, KnobError, Phase, Scope, Selection, Site, Sites, Value, policy::policies};

/// The rule that picks the frequency.
#[derive(Clone, Copy, Debug)]
pub struct GovernorKnob;

const ABOUT: About = About {
    name: "cpufreq.governor",
    short: "governor",
    aliases: &["scaling_governor", "gov"],
    unit: "",
    scope: Scope::Policy,
    summary: "the rule that picks the CPU's frequency",
    doc: "performance keeps the highest frequency the limits allow and powersave the lowest; ondemand jumps to the top \
          under load and falls back in proportion; conservative climbs and descends step by step; schedutil follows the \
          scheduler's own account of demand; userspace keeps the frequency set by cpufreq.freq. A governor's tunables are lost \
          when the last policy leaves it: powerband saves them first and restores them on undo.",
    accepts: "a name from scaling_available_governors",
    needs: "",
    source: "scaling_governor; Linux 6.1 drivers/cpufreq/cpufreq.c, Documentation/admin-guide/pm/cpufreq.rst",
    invalid: "the governor could not be started on this driver",
    phase: Phase::Governor,
};

/// Governors of mainline Linux, which may be modules that are not loaded yet.
pub(crate) const MAINLINE: [&str; 6] =
    ["conservative", "ondemand", "performance", "powersave", "schedutil", "userspace"];

/// Drivers with rules of their own, as they are called while these are in force, their mode, and their word of the kernel's
/// command line.
const OWN_RULES: [(&str, &str, &str); 2] =
    [("intel_pstate", cpufreq::INTEL_STATUS, "intel_pstate"), ("amd-pstate-epp", cpufreq::AMD_STATUS, "amd_pstate")];

/// How a kernel's governor is had under a driver that has its own rules in force.
fn in_passive_mode(machine: &mut dyn Look, site: &Site, governor: &str) -> Option<String> {
    let driver = site.policy.as_ref()?.read(machine, "scaling_driver").ok()?;
    let (_, status, word) = OWN_RULES.into_iter().find(|(name, ..)| *name == driver)?;
    Some(match machine.read(status) {
        Ok(_) => format!(", all that {driver} has in its active mode; set both: pstate=passive governor={governor}"),
        Err(_) => format!(", all that {driver} has in its active mode; boot with {word}=passive"),
    })
}

impl Knob for GovernorKnob {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn sites(&self, name: &str, machine: &mut dyn Look, at: &Selection) -> Result<Sites, KnobError> {
        policies(machine, name)?.sites(name, "scaling_governor", at)
    }

    fn parse(&self, name: &str, text: &str, machine: &mut dyn Look, site: &Site) -> Result<Value, KnobError> {
        let governor = text.trim().to_lowercase();
        let Some(there) = site.policy.as_ref().and_then(|policy| policy.governors(machine)) else {
            return Ok(Value::Word(governor));
        };
        if there.contains(&governor) {
            return Ok(Value::Word(governor));
        }
        let hint = if MAINLINE.contains(&governor.as_str()) {
            in_passive_mode(machine, site, &governor)
                .unwrap_or_else(|| format!("; if it is a module, load it with: modprobe cpufreq_{governor}"))
        } else {
            crate::resolve::nearest_of(&governor, there.iter().map(String::as_str))
                .map_or_else(String::new, |meant| format!("; did you mean governor={meant}?"))
        };
        let mut sorted = there;
        sorted.sort_unstable();
        Err(KnobError::value(
            name,
            format!("'{governor}' is not a governor here; there are: {}{hint}", sorted.join(", ")),
        ))
    }

    fn choices(&self, machine: &mut dyn Look, site: &Site) -> Vec<Value> {
        let governors = site.policy.as_ref().and_then(|policy| policy.governors(machine)).unwrap_or_default();
        governors.into_iter().map(Value::Word).collect()
    }

    fn left_out(&self, value: &Value) -> Option<&'static str> {
        (value.typed() == "userspace").then_some(
            "userspace is left out: it does nothing without a frequency; compare it with its frequencies, governor=userspace freq=all",
        )
    }

    fn skips_when_equal(&self) -> bool {
        true
    }

    fn same(&self, asked: &Value, reads: &str) -> bool {
        reads.trim().eq_ignore_ascii_case(&asked.typed())
    }
}
