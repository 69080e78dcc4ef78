//! What of the catalogue has a place on this machine, asked of the catalogue itself.
use std::collections::BTreeSet;

use powerband_machine::{Errno, Look};
use powerband_sysfs::{cgroup::CpuLimit, proc, topology};

use super::{DoctorFinding, Section};
use crate::catalogue::ALL;
use crate::policy::policies;
use crate::{Knob, KnobError, Selection, Site};

/// What has no name of its own yet and can be turned as a file: what it is, and a file of it.
const FILES: [(&str, &str); 4] = [
    ("idle states", "/sys/devices/system/cpu/cpu0/cpuidle/state1/disable"),
    ("CPUs off and on", "/sys/devices/system/cpu/cpu1/online"),
    ("wake-up latency", "/sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us"),
    ("hyper-threads", topology::SMT_CONTROL),
];

/// What can be turned.
#[derive(Debug, Default)]
pub(super) struct Reach {
    findings: Vec<DoctorFinding>,
    /// Files under `/sys` that knobs with a name write here.
    pub(super) files: Vec<String>,
    /// Whether network devices can be turned.
    pub(super) devices: bool,
    /// Whether there are settings under `/proc/sys`.
    pub(super) sysctl: bool,
    /// Whether a load can have a quota.
    pub(super) quota: bool,
}

impl Reach {
    pub(super) fn section(&self) -> Section {
        Section { name: "reach", title: "what can be set here".into(), findings: self.findings.clone() }
    }
}

/// Asks family by family.
pub(super) fn look(machine: &mut dyn Look) -> Reach {
    let mut reach = Reach::default();
    if reach.family(machine, "cpufreq") {
        let offered = offered_governors(machine);
        for governor in ["ondemand", "conservative", "schedutil"] {
            if offered.is_empty() || offered.contains(governor) {
                reach.family(machine, governor);
            }
        }
    }
    reach.family(machine, "nic");
    reach.quota(machine);
    // Every kernel with sysctl has this one.
    reach.sysctl = reach.file(machine, proc::SWAPPINESS, "sysctl.*", "what lies under /proc/sys");
    for (what, path) in FILES {
        reach.file(machine, path, &format!("file:{path}"), what);
    }
    reach
}

impl Reach {
    /// What a file stands for; whether it can be read. One that is there and cannot is named.
    fn file(&mut self, machine: &mut dyn Look, path: &str, about: &str, what: &str) -> bool {
        let read = machine.read(path);
        let is_read = read.is_ok();
        self.findings.extend(match read {
            Ok(_) => Some(DoctorFinding::ok(about, what)),
            Err(Errno::ENOENT | Errno::ENOTDIR) => None,
            Err(errno) => Some(DoctorFinding::note(about, format!("{path} cannot be read: {errno}"))),
        });
        is_read
    }

    /// The knobs of one family, and where they sit; whether there are any.
    fn family(&mut self, machine: &mut dyn Look, family: &str) -> bool {
        let prefix = format!("{family}.");
        let names = ALL.iter().map(|knob| (*knob, knob.about().name));
        let (mut here, mut why): (Vec<(&str, Vec<Site>)>, Option<KnobError>) = (Vec::new(), None);
        for (knob, name) in names.filter(|(_, name)| name.starts_with(&prefix)) {
            match knob.sites(name, machine, &Selection::everywhere()) {
                // Without its governor it does nothing.
                Ok(sites) if family == "cpufreq" && lacks_governor(knob, &sites.sites, machine) => {}
                Ok(sites) => here.push((knob.about().short, sites.sites)),
                Err(error) => why = why.or(Some(error)),
            }
        }
        let about = format!("{family}.*");
        if here.is_empty() {
            self.findings.extend(why.map(|why| DoctorFinding::note(about, words(family, &why))));
            return false;
        }
        for path in here.iter().flat_map(|(_, sites)| sites).filter_map(|site| site.path.as_deref()) {
            if path.starts_with("/sys/") {
                self.files.push(path.to_owned());
            }
        }
        self.devices |= family == "nic";
        let mut sites: Vec<&str> = here.iter().flat_map(|(_, sites)| sites).map(|site| site.name.as_str()).collect();
        // policy2 before policy10.
        sites.sort_unstable_by_key(|name| (name.len(), *name));
        sites.dedup();
        if sites.len() > 1 {
            sites.retain(|name| *name != "-");
        }
        let knobs: Vec<&str> = here.iter().map(|(short, _)| *short).collect();
        self.findings.push(DoctorFinding::ok(about, format!("{} at {}", knobs.join(", "), few(&sites))));
        true
    }

    /// A group of its own for a load needs the kernel's cpu controller. A machine that says nothing of controllers is
    /// taken by the catalogue's word.
    fn quota(&mut self, machine: &mut dyn Look) {
        let version_two = machine.read("/sys/fs/cgroup/cgroup.controllers");
        let all = machine.read("/proc/cgroups");
        let silent = version_two.is_err() && all.is_err();
        let in_two = version_two.is_ok_and(|text| text.split_whitespace().any(|name| name == "cpu"));
        let listed = all.is_ok_and(|text| text.lines().any(has_cpu));
        let mounts = machine.read(proc::OWN_MOUNTS);
        let is_unmounted = listed && mounts.is_ok_and(|text| !text.lines().any(is_of_groups));
        self.quota = (silent || in_two || listed) && !is_unmounted;
        self.findings.push(if is_unmounted {
            let todo = "`mount -t cgroup2 none /sys/fs/cgroup`";
            DoctorFinding::missing("cgroup.cpu_quota", "no control groups are mounted here", todo)
        } else if self.quota {
            DoctorFinding::ok("cgroup.cpu_quota", "a CPU share for the load, on any hardware")
        } else {
            let todo = "take cgroup_disable=cpu off the kernel's command line, or enable CONFIG_CFS_BANDWIDTH";
            DoctorFinding::missing("cgroup.cpu_quota", "this kernel has no cpu controller", todo)
        });
        self.findings.extend(CpuLimit::find(machine).map(|limit| {
            let told = format!("powerband and its loads may use {:.2} CPUs together ({})", limit.cpus, limit.file);
            DoctorFinding::note("quota", told)
                .with("measure outside of that limit, as outside of the container, or raise it")
        }));
    }
}

/// Whether a driver chooses frequencies itself and has not the governor that a knob needs.
fn lacks_governor(knob: &dyn Knob, sites: &[Site], machine: &mut dyn Look) -> bool {
    let mut policies = sites.iter().filter_map(|site| site.policy.as_ref());
    knob.governor().is_some_and(|governor| policies.any(|policy| policy.lacks_governor(governor, machine)))
}

/// Governors that a policy offers; none where no policy names them.
fn offered_governors(machine: &mut dyn Look) -> BTreeSet<String> {
    let policies = policies(machine, "cpufreq.governor").map(|all| all.active).unwrap_or_default();
    let texts = policies.iter().filter_map(|policy| policy.read(machine, "scaling_available_governors").ok());
    let texts: Vec<String> = texts.collect();
    texts.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect()
}

/// True for a line of mounts (device, folder, type, ...) that is of control groups.
fn is_of_groups(line: &str) -> bool {
    matches!(line.split_whitespace().nth(2), Some("cgroup" | "cgroup2"))
}

/// `cpu 3 57 1`: name, hierarchy, groups, enabled.
fn has_cpu(line: &str) -> bool {
    let fields: Vec<&str> = line.split_whitespace().collect();
    fields.first() == Some(&"cpu") && fields.get(3) == Some(&"1")
}

/// Why a family has no place, without what the error's own words repeat.
fn words(family: &str, why: &KnobError) -> String {
    match why {
        KnobError::NeedsFirst { found, .. } => format!("in force under governor={family} alone; {found} is in force"),
        KnobError::Absent { why, .. } => why.clone(),
        other => other.to_string(),
    }
}

fn few(sites: &[&str]) -> String {
    match sites {
        [first, .., last] if sites.len() > 4 => format!("{first} to {last} ({} of them)", sites.len()),
        ["-"] => "the whole machine".to_owned(),
        all => all.join(", "),
    }
}
