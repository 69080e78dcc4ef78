//! `cpufreq.min_freq`: the lowest frequency a governor may choose.
use powerband_machine::Machine;

use crate::{About, Knob, KnobError, Landed, Phase, Scope, Selection, Site, Sites, Value, frequency, policy::policies};

/// The lower limit.
#[derive(Clone, Copy, Debug)]
pub struct MinFreq;

const ABOUT: About = About {
    name: "cpufreq.min_freq",
    short: "min_freq",
    aliases: &["scaling_min_freq"],
    unit: "kHz",
    scope: Scope::Policy,
    summary: "the lowest frequency a governor may choose",
    doc: "Since Linux 5.3 the file takes any number and shows what came of it: raised to the next step of the table, never above \
          the upper limit, and not below what firmware or thermal control ask for. Older kernels refuse a lower limit \
          above the upper one; powerband writes the two in the order that neither kind refuses.",
    accepts: "a frequency from cpuinfo_min_freq to cpuinfo_max_freq: 1867MHz, 2.4GHz, or kHz as a bare number",
    needs: "",
    source: "scaling_min_freq; Linux 6.1 drivers/cpufreq/cpufreq.c (request and effective limit), Linux 2.6.32 (errors)",
    invalid: "it lies above max_freq: set max_freq as well",
    phase: Phase::Limit,
};

impl Knob for MinFreq {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn sites(&self, name: &str, machine: &mut dyn Machine, at: &Selection) -> Result<Sites, KnobError> {
        policies(machine, name)?.sites(name, "scaling_min_freq", at)
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
