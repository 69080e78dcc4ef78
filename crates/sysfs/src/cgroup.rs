//! The control group that powerband itself is in: what limits its CPU time, and with it that of every load it starts.
//! Linux Documentation/admin-guide/cgroup-v2.rst (cpu.max, cpu.stat), Documentation/scheduler/sched-bwc.rst (cpu.cfs_quota_us).
use powerband_machine::Look;

use crate::{parsed, text};

paths! {
    OWN = "/proc/self/cgroup";
    MOUNTED = "/sys/fs/cgroup";
}

/// The tightest limit on CPU time around powerband.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuLimit {
    /// Whole CPUs that everything in the group may use together.
    pub cpus: f64,
    /// The file that says so.
    pub file: String,
    /// The file that counts how often and for how long it held the group back.
    pub stat: String,
}

/// Periods and time in which a limit held its group back since the group was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldBack {
    /// Periods in which it did.
    pub periods: u64,
    /// For how long, all CPUs together, ns.
    pub ns: u64,
}

impl CpuLimit {
    /// The tightest of the limits of powerband's group and of all groups above it; `None` where there is none. In a container
    /// whose group is its root, that is the whole container's.
    pub fn find(machine: &mut dyn Look) -> Option<CpuLimit> {
        let found = around(machine).into_iter().filter_map(|folder| limit(machine, &folder));
        found.min_by(|a, b| a.cpus.total_cmp(&b.cpus))
    }

    /// The limit of a group by its name that powerband made for a load: below its own group, or below one above that.
    pub fn of_group(machine: &mut dyn Look, name: &str) -> Option<CpuLimit> {
        around(machine).into_iter().rev().find_map(|folder| limit(machine, &format!("{folder}/{name}")))
    }

    /// The kernel's count until now, if it keeps one.
    pub fn held_back(&self, machine: &mut dyn Look) -> Option<HeldBack> {
        let text = text(machine, &self.stat)?;
        let number = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        let ns = number("throttled_time ").or_else(|| number("throttled_usec ")?.checked_mul(1_000))?;
        Some(HeldBack { periods: number("nr_throttled ")?, ns })
    }
}

/// Folders of powerband's group and of all groups above it, the highest first.
fn around(machine: &mut dyn Look) -> Vec<String> {
    let own = machine.read(OWN).unwrap_or_default();
    let mut folders = Vec::new();
    for (roots, group) in own.lines().filter_map(hierarchy) {
        // A container often sees its own group as the root, though its processes name the whole path.
        let above = group.match_indices('/').map(|(at, _)| &group[..at]).chain([group]);
        folders.extend(roots.iter().flat_map(|root| above.clone().map(move |group| format!("{root}{group}"))));
    }
    folders
}

/// Where the hierarchy of a line of `/proc/PID/cgroup` may be mounted, and the group in it; nothing where it limits no CPU time.
fn hierarchy(line: &str) -> Option<(Vec<String>, &str)> {
    let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
    let roots = match controllers {
        "" => vec![MOUNTED.to_owned(), format!("{MOUNTED}/unified")],
        _ if controllers.split(',').any(|name| name == "cpu") => {
            vec![format!("{MOUNTED}/{controllers}"), format!("{MOUNTED}/cpu")]
        }
        _ => return None,
    };
    Some((roots, group.trim_end_matches('/')))
}

/// The limit of one group.
fn limit(machine: &mut dyn Look, folder: &str) -> Option<CpuLimit> {
    let stat = format!("{folder}/cpu.stat");
    let file = format!("{folder}/cpu.max");
    if let Some(text) = text(machine, &file) {
        let (quota_us, period_us) = text.split_once(' ')?;
        let (quota_us, period_us): (f64, f64) = (quota_us.parse().ok()?, period_us.parse().ok()?);
        return Some(CpuLimit { cpus: quota_us / period_us, file, stat });
    }
    let file = format!("{folder}/cpu.cfs_quota_us");
    let quota_us: f64 = parsed(machine, &file).filter(|quota_us| *quota_us > 0.0)?;
    let period_us: f64 = parsed(machine, &format!("{folder}/cpu.cfs_period_us"))?;
    Some(CpuLimit { cpus: quota_us / period_us, file, stat })
}
