//! `cpufreq.freq`: one fixed frequency, under the governor userspace.
use powerband_machine::Machine;

use crate::{About, Knob, KnobError, Landed, Phase, Scope, Selection, Site, Sites, Value, frequency, policy::policies};

/// One fixed frequency.
#[derive(Clone, Copy, Debug)]
pub struct Freq;

const ABOUT: About = About {
    name: "cpufreq.freq",
    short: "freq",
    aliases: &["scaling_setspeed", "setspeed", "frequency"],
    unit: "kHz",
    scope: Scope::Policy,
    summary: "one fixed frequency, under the governor userspace",
    doc: "The kernel keeps the request inside the limits and rounds it up to the next step of the driver's table; what is \
          read back is the frequency the CPU was put to, so a request between two steps lands on the upper one and is \
          reported as clamped. The kernel accepts every number even when the driver then fails, which only the \
          reading shows.",
    accepts: "a frequency from cpuinfo_min_freq to cpuinfo_max_freq: 1867MHz, 2.4GHz, or kHz as a bare number",
    needs: "governor=userspace",
    source: "scaling_setspeed; Linux 6.1 drivers/cpufreq/cpufreq_userspace.c",
    invalid: "the governor here is not userspace: write governor=userspace as well",
    phase: Phase::Frequency,
};

impl Knob for Freq {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn governor(&self) -> Option<&'static str> {
        Some("userspace")
    }

    fn sites(&self, name: &str, machine: &mut dyn Machine, at: &Selection) -> Result<Sites, KnobError> {
        policies(machine, name)?.sites(name, "scaling_setspeed", at)
    }

    fn parse(&self, name: &str, text: &str, machine: &mut dyn Machine, site: &Site) -> Result<Value, KnobError> {
        frequency::parse(name, text, machine, site.policy.as_ref())
    }

    fn choices(&self, machine: &mut dyn Machine, site: &Site) -> Vec<Value> {
        site.policy.as_ref().map_or_else(Vec::new, |policy| frequency::choices(machine, policy))
    }

    fn shows_outcome(&self) -> bool {
        true
    }

    fn landed_elsewhere(&self, reads: &str) -> Landed {
        Landed::Clamped { to: frequency::shown(reads) }
    }

    fn shown(&self, reads: &str) -> String {
        frequency::shown(reads)
    }
}
