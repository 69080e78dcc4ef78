//! `cpuidle.*`: which idle states CPUs may use, and the rule that picks one.
use powerband_machine::{Errno, Look};
use powerband_record::CpuList;

use super::plain::{Place, PlainFile};
use super::takes::{Takes, valued_by};
use crate::policy::parse_cpus;
use crate::{About, Knob, KnobError, Phase, Scope, Selection, Site, Sites, Value, cpu};

pub(super) const GOVERNOR: PlainFile = PlainFile::new(
    &About {
        name: "cpuidle.governor",
        short: "idle_governor",
        aliases: &["current_governor"],
        unit: "",
        scope: Scope::System,
        summary: "the rule that picks an idle state",
        doc: "menu predicts from recent sleeps and timers, teo from timer events, ladder steps down one by one; haltpoll \
              is for guests. What each CPU has learned is lost with a switch.",
        accepts: "a name from cpuidle/available_governors",
        needs: "",
        source: "cpuidle/current_governor; Linux 6.12 drivers/cpuidle/sysfs.c",
        invalid: "there is no idle governor of that name",
        phase: Phase::Idle,
    },
    Place::System(&[powerband_sysfs::cpuidle::CURRENT_GOVERNOR]),
    Takes::Listed { file: "available_governors", raw: None },
    "this kernel has no idle states to choose from, or shows the rule in current_governor_ro alone (boot with \
     cpuidle_sysfs_switch on kernels before 5.10)",
    &[],
);

/// Whether an idle state is kept from use.
#[derive(Clone, Copy, Debug)]
pub struct Disable;

const ABOUT: About = About {
    name: "cpuidle.disable",
    short: "disable",
    aliases: &["idle_disable"],
    unit: "",
    scope: Scope::Cpu,
    summary: "whether an idle state is disabled: cpuidle.disable@cpu1/C6=1, cpuidle.disable@C6=1",
    doc: "The target is a state by its name or number, on one CPU, some or all: @cpu1/C6, @cpu0-3/state2, @C6. A CPU that \
          was offline has all its states enabled again. The file shows only this switch: a state that its driver \
          keeps off reads 0 and stays off.",
    accepts: "0 or 1",
    needs: "",
    source: "cpuN/cpuidle/stateM/disable; Linux 6.12 drivers/cpuidle/sysfs.c",
    invalid: "it takes 0 or 1",
    phase: Phase::Idle,
};

/// A site as typed: CPUs, and a state by name or folder.
struct Asked {
    cpus: Option<CpuList>,
    state: Option<String>,
}

impl Asked {
    fn of(at: &Selection) -> Asked {
        let site = at.site.as_deref().filter(|site| *site != "-");
        let Some(site) = site else { return Asked { cpus: at.cpus.clone(), state: None } };
        let (cpus, state) = site.split_once('/').map_or((site, None), |(cpus, state)| (cpus, Some(state)));
        match (parse_cpus(cpus), state) {
            (Some(cpus), state) => Asked { cpus: Some(cpus), state: state.map(str::to_owned) },
            (None, None) => Asked { cpus: at.cpus.clone(), state: Some(site.to_owned()) },
            // Nothing is called so; the error names what there is.
            (None, Some(_)) => Asked { cpus: at.cpus.clone(), state: Some(site.to_owned()) },
        }
    }

    fn means(&self, folder: &str, name: &str) -> bool {
        self.state.as_ref().is_none_or(|state| state.eq_ignore_ascii_case(name) || state == folder)
    }
}

impl Knob for Disable {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn sites(&self, name: &str, machine: &mut dyn Look, at: &Selection) -> Result<Sites, KnobError> {
        let asked = Asked::of(at);
        let chosen = cpu::chosen(name, machine, &Selection::site(None, asked.cpus.clone()))?;
        let (mut sites, mut there, mut switchless) = (Sites::default(), Vec::new(), false);
        for number in chosen {
            let folder = powerband_sysfs::cpuidle::of_cpu(number);
            for state in machine.list(&folder).unwrap_or_default() {
                let path = format!("{folder}/{}", state.name);
                let Ok(title) = machine.read(&format!("{path}/name")) else { continue };
                let title = title.trim();
                if machine.read(&format!("{path}/disable")) == Err(Errno::ENOENT) {
                    switchless = true;
                    continue;
                }
                let site = format!("cpu{number}/{title}");
                if asked.means(&state.name, title) {
                    let path = Some(format!("{path}/disable"));
                    sites.sites.push(Site { name: site, path, policy: None });
                } else {
                    there.push(site);
                }
            }
        }
        match (sites.sites.is_empty(), there.is_empty()) {
            (false, _) => Ok(sites),
            (true, true) if switchless => Err(KnobError::absent(
                name,
                "this kernel shows its idle states and has no switch for them (Linux 3.6 and later have)",
            )),
            (true, false) => {
                Err(KnobError::NoSite { knob: name.into(), site: at.site.clone().unwrap_or_default(), there })
            }
            (true, true) => Err(KnobError::absent(
                name,
                "the kernel has no idle states to choose from here (no cpuN/cpuidle): a virtual machine often has none, \
                 and cpuidle.off=1 or idle=poll on its command line rules them out",
            )),
        }
    }

    valued_by!(self => Takes::Flag);

    fn meaning(&self, errno: Errno) -> Option<&'static str> {
        match errno {
            Errno::EPERM => Some("it takes the right CAP_SYS_ADMIN, whatever the file's mode says"),
            other => crate::knob::invalid(&ABOUT, other),
        }
    }
}
