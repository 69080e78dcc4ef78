//! A knob that is one file of a policy holding a frequency: what the fixed frequency and the two limits have in common.
use powerband_machine::Machine;

use crate::{About, Knob, KnobError, Landed, Selection, Site, Sites, Value, frequency, policy::policies};

/// One file of a policy that takes kHz and shows what came of it.
#[derive(Clone, Copy, Debug)]
pub struct FrequencyFile {
    pub(super) file: &'static str,
    pub(super) governor: Option<&'static str>,
    pub(super) about: &'static About,
}

impl Knob for FrequencyFile {
    fn about(&self) -> &'static About {
        self.about
    }

    fn governor(&self) -> Option<&'static str> {
        self.governor
    }

    fn sites(&self, name: &str, machine: &mut dyn Machine, at: &Selection) -> Result<Sites, KnobError> {
        policies(machine, name)?.sites(name, self.file, at)
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
