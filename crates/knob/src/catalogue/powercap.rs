//! `powercap.*`: power limits of the package and its parts (Intel's and AMD's RAPL, and others of that class).
use powerband_machine::{Errno, Look};
use powerband_sysfs::power::POWERCAP as ROOT;

use super::takes::Takes;
use crate::{About, Knob, KnobError, Landed, Phase, Scope, Selection, Site, Sites, Value};

/// One file of each limit of each zone.
#[derive(Clone, Copy, Debug)]
pub struct PowerLimit {
    about: &'static About,
    /// What follows `constraint_N_`.
    file: &'static str,
}

const ANY: About = About {
    name: "powercap.power_limit_uw",
    short: "power_limit_uw",
    aliases: &["power_limit"],
    unit: "uW",
    scope: Scope::Zone,
    summary: "the power a package or a part of it may draw on average: powercap.power_limit_uw@package-0/long_term",
    doc: "The target is a zone by its name, and one of its limits by its name (long_term, short_term, peak_power). Without \
          the second, every limit of the zone is set; without a target, the long_term limit of every package. Where the \
          firmware has locked them, the write is accepted and nothing changes.",
    accepts: "microwatts",
    needs: "",
    source: "Linux Documentation/power/powercap/powercap.rst, drivers/powercap/intel_rapl_common.c",
    invalid: "the hardware takes no such limit",
    phase: Phase::Power,
};

pub(super) const POWER_LIMIT_UW: PowerLimit = PowerLimit { about: &ANY, file: "power_limit_uw" };

pub(super) const TIME_WINDOW_US: PowerLimit = PowerLimit {
    about: &About {
        name: "powercap.time_window_us",
        short: "time_window_us",
        aliases: &["time_window"],
        unit: "us",
        summary: "over how long a power limit is averaged",
        accepts: "microseconds; the hardware rounds",
        ..ANY
    },
    file: "time_window_us",
};

/// A limit of a zone.
struct Limit {
    zone: String,
    limit: String,
    path: String,
}

impl PowerLimit {
    fn limits(&self, machine: &mut dyn Look) -> Vec<Limit> {
        let mut limits = Vec::new();
        for zone in machine.list(ROOT).unwrap_or_default() {
            let folder = format!("{ROOT}/{}", zone.name);
            let Ok(title) = machine.read(&format!("{folder}/name")) else { continue };
            // A part of a package is called as in every other one; its folder tells them apart.
            let is_part = zone.name.matches(':').count() > 1;
            let title = if is_part { format!("{}:{}", zone.name, title.trim()) } else { title.trim().to_owned() };
            for entry in machine.list(&folder).unwrap_or_default() {
                let number = entry.name.strip_prefix("constraint_").and_then(|rest| rest.strip_suffix("_name"));
                let Some(number) = number else { continue };
                let Ok(limit) = machine.read(&format!("{folder}/{}", entry.name)) else { continue };
                let path = format!("{folder}/constraint_{number}_{}", self.file);
                limits.push(Limit { zone: title.clone(), limit: limit.trim().to_owned(), path });
            }
        }
        limits
    }
}

impl Knob for PowerLimit {
    fn about(&self) -> &'static About {
        self.about
    }

    fn sites(&self, name: &str, machine: &mut dyn Look, at: &Selection) -> Result<Sites, KnobError> {
        let limits = self.limits(machine);
        if limits.is_empty() {
            let why = "the kernel shows no power zone that can be limited (/sys/class/powercap); a virtual machine has \
                       none, elsewhere load the module intel_rapl_msr";
            return Err(KnobError::absent(name, why));
        }
        let site = at.site.as_deref().filter(|site| *site != "-");
        let meant = |limit: &&Limit| match site {
            None => limit.limit == "long_term" && limit.zone.starts_with("package"),
            Some(site) => match site.split_once('/') {
                Some((zone, of_it)) => limit.zone == zone && limit.limit == of_it,
                None => limit.zone == site,
            },
        };
        let named = |limit: &Limit| format!("{}/{}", limit.zone, limit.limit);
        let sites: Vec<Site> = limits
            .iter()
            .filter(meant)
            .map(|limit| Site { name: named(limit), path: Some(limit.path.clone()), policy: None })
            .collect();
        if sites.is_empty() {
            let there = limits.iter().map(named).collect();
            return Err(KnobError::NoSite { knob: name.into(), site: site.unwrap_or("-").into(), there });
        }
        Ok(Sites { sites, ..Sites::default() })
    }

    fn parse(&self, name: &str, text: &str, machine: &mut dyn Look, site: &Site) -> Result<Value, KnobError> {
        Takes::Number { least: 1, most: u64::MAX }.parse(self.about, name, text, machine, site)
    }

    fn choices(&self, _machine: &mut dyn Look, _site: &Site) -> Vec<Value> {
        Vec::new()
    }

    fn skips_when_equal(&self) -> bool {
        true
    }

    fn landed_elsewhere(&self, reads: &str) -> Landed {
        Landed::Clamped { to: reads.to_owned() }
    }

    fn meaning(&self, errno: Errno) -> Option<&'static str> {
        match errno {
            Errno::EACCES | Errno::EPERM => None,
            Errno::EIO => Some("the firmware has locked this limit"),
            other => crate::knob::invalid(self.about, other),
        }
    }
}
