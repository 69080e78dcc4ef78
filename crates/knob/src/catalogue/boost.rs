//! `cpufreq.boost`: frequencies above the nominal one, for the whole machine or a policy.
use powerband_machine::{Errno, Look};
use powerband_sysfs::{cpufreq::BOOST, cpufreq::NO_TURBO};

use super::takes::{Takes, valued_by};
use crate::policy::policies;
use crate::{About, Knob, KnobError, Phase, Scope, Selection, Site, Sites, Value};

/// Frequencies above the nominal one.
#[derive(Clone, Copy, Debug)]
pub struct Boost;

const ABOUT: About = About {
    name: "cpufreq.boost",
    short: "boost",
    aliases: &["turbo", "cpb"],
    unit: "",
    scope: Scope::System,
    summary: "whether the CPU may run above its nominal frequency",
    doc: "One switch for the machine, which is set when no target is named. Newer drivers have one for each policy as well \
          (@policy0): it can be on only while the machine's is. Switching it on lifts the upper limit of drivers with a \
          table of frequencies. Under intel_pstate the switch is pstate.no_turbo, the other way round.",
    accepts: "0 or 1, on or off",
    needs: "",
    source: "cpufreq/boost, policyN/boost; Linux 6.12 drivers/cpufreq/cpufreq.c",
    invalid: "a policy boosts only while the machine does (boost=1 without a site first), and only where its driver can",
    phase: Phase::Boost,
};

impl Knob for Boost {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn sites(&self, name: &str, machine: &mut dyn Look, at: &Selection) -> Result<Sites, KnobError> {
        let narrowed = at.cpus.is_some() || at.site.as_deref().is_some_and(|site| site != "-");
        let global = machine.read(BOOST) != Err(Errno::ENOENT);
        if global && !narrowed {
            return Ok(Sites { sites: vec![Site::system(BOOST.into())], ..Sites::default() });
        }
        let mut sites = policies(machine, name)?.sites(name, "boost", at)?;
        let has = |site: &Site| site.path.as_deref().is_some_and(|path| machine.read(path) != Err(Errno::ENOENT));
        sites.sites.retain(has);
        if !sites.sites.is_empty() {
            return Ok(sites);
        }
        let why = if global {
            "this driver boosts all policies or none; leave the site out"
        } else if machine.read(NO_TURBO).is_ok() {
            "intel_pstate switches it by pstate.no_turbo, 1 being off"
        } else {
            "this driver has nothing above the nominal frequency, or does not let it be switched"
        };
        Err(KnobError::absent(name, format!("there is no {BOOST} for it: {why}")))
    }

    valued_by!(self => Takes::Flag);
}
