//! What a machine's files read, and what the kernel itself puts there when a governor or a CPU comes back.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use powerband_knob::policies;
use powerband_machine::{Action, Before, Hold, Machine, Turn, World};
use powerband_record::Side;
use powerband_sim::{Profile, SimWorld};

/// Text by path, trimmed at its end.
pub(super) type Files = BTreeMap<String, String>;

/// Machines that stories play on.
pub(super) const MACHINES: [&str; 3] = ["omap3530", "pc", "quadcore"];

/// Where the kernel keeps cpufreq.
const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";

/// Names that move by themselves or cannot be read.
const MOVING: [&str; 4] = ["scaling_cur_freq", "cpuinfo_cur_freq", "stats", "random"];

/// A machine by name, read once.
pub(super) fn profile(name: &str) -> Profile {
    static ALL: OnceLock<BTreeMap<&str, Profile>> = OnceLock::new();
    let all = || MACHINES.iter().map(|name| (*name, Profile::builtin(name).unwrap())).collect();
    ALL.get_or_init(all)[name].clone()
}

/// Everything that can be turned, as it reads.
pub(super) fn snapshot(machine: &mut dyn Machine) -> Files {
    let mut files = Files::new();
    for folder in [CPUFREQ, "/proc/sys", "/etc", "/tmp"] {
        walk(machine, folder, &mut files);
    }
    for policy in policies(machine, "").map(|all| all.active).unwrap_or_default() {
        if !policy.folder.starts_with(CPUFREQ) {
            walk(machine, &policy.folder, &mut files);
        }
    }
    files
}

fn walk(machine: &mut dyn Machine, folder: &str, files: &mut Files) {
    for entry in machine.list(folder).unwrap_or_default() {
        let path = format!("{folder}/{}", entry.name);
        if MOVING.contains(&entry.name.as_str()) {
            continue;
        }
        if entry.folder {
            walk(machine, &path, files);
        } else if let Ok(text) = machine.read(&path)
            && text.trim() != "<unsupported>"
        {
            files.insert(path, text.trim_end().to_owned());
        }
    }
}

/// Every value that a file has by itself under some governor.
pub(super) fn by_itself(name: &str) -> &'static BTreeMap<String, BTreeSet<String>> {
    static ALL: OnceLock<BTreeMap<&str, BTreeMap<String, BTreeSet<String>>>> = OnceLock::new();
    let all = || MACHINES.iter().map(|name| (*name, under_every_governor(name))).collect();
    &ALL.get_or_init(all)[name]
}

fn under_every_governor(name: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut world = SimWorld::new(profile(name), None, 1).unwrap();
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let all = policies(world.machine(Side::Near).unwrap(), "").unwrap().active;
    let mut governors = all[0].governors(world.machine(Side::Near).unwrap()).unwrap();
    governors.insert(0, String::new());
    for governor in governors {
        let machine = world.machine(Side::Near).unwrap();
        for policy in all.iter().filter(|_| !governor.is_empty()) {
            machine.act(&write(&policy.file("scaling_governor"), &governor)).unwrap();
        }
        let now_ns = world.now_ns();
        world.wait(Some(now_ns + 50_000_000));
        for (path, text) in snapshot(world.machine(Side::Near).unwrap()) {
            known.entry(path).or_default().insert(text);
        }
    }
    known
}

/// A write that nothing takes back.
pub(super) fn write(path: &str, text: &str) -> Turn {
    Turn {
        action: Action::WriteFile { path: path.into(), text: text.into() },
        undo: None,
        hold: Hold::Held,
        knob: "by hand".into(),
        site: "-".into(),
        asked: text.into(),
        before: Before::Unknown,
        read_back: None,
        step: None,
        moves: BTreeMap::new(),
    }
}
