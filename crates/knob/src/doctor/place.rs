//! Where the kernel runs: on bare hardware, in a virtual machine, in a container; what that takes away.
use powerband_machine::Look;
use powerband_sysfs::{proc, text};

use super::{DoctorFinding, Section};

/// What is known of the surroundings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The hypervisor, or how one was seen.
    pub(super) virtual_by: Option<String>,
    /// The container's kind.
    pub(super) container: Option<String>,
    /// Whether there is a BIOS or UEFI that somebody could look into.
    pub(super) firmware: bool,
    /// Of `/sys` and `/proc/sys`, those that are mounted read-only.
    pub(super) read_only: Vec<&'static str>,
}

/// What software puts into the firmware's tables, and its name. Clouds that also rent out bare machines are not here.
const FIRMWARE: [(&str, &str); 10] = [
    ("QEMU", "QEMU"),
    ("KVM", "KVM"),
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("Virtual Machine", "Hyper-V"),
    ("HVM domU", "Xen"),
    ("Parallels", "Parallels"),
    ("BHYVE", "bhyve"),
    ("OpenStack", "OpenStack"),
    ("Bochs", "Bochs"),
];

/// Who made the machine, where firmware says it.
const VENDOR: &str = "/sys/class/dmi/id/sys_vendor";

/// Files that only a container has, and its kind.
const CONTAINER_FILES: [(&str, &str); 2] = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];

/// Words in the control group of the first process, and the kind of container.
const CONTAINER_GROUPS: [(&str, &str); 4] =
    [("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("/lxc", "lxc")];

impl Place {
    /// Looks for signs of each.
    pub(super) fn look(machine: &mut dyn Look) -> Place {
        let read_only = read_only(&machine.read(proc::OWN_MOUNTS).unwrap_or_default());
        let firmware = machine.read(VENDOR).is_ok();
        Place { virtual_by: hypervisor(machine), container: container(machine), firmware, read_only }
    }

    /// What it means for what can be turned.
    pub(super) fn section(&self) -> Section {
        let mut findings = Vec::new();
        if let Some(by) = &self.virtual_by {
            findings.push(
                DoctorFinding::note(
                    "virtual machine",
                    format!("{by}; its host sets frequencies and power, a guest usually cannot"),
                )
                .with("set here what can be set here (below), the rest on the host with `--machine ssh:HOST`"),
            );
        }
        if let Some(kind) = &self.container {
            let told = format!("{kind}; the kernel is the host's and shared with others");
            findings.push(DoctorFinding::note("container", told).with("set the kernel's knobs on the host"));
        }
        Section { name: "place", title: "where this is".into(), findings }
    }
}

fn hypervisor(machine: &mut dyn Look) -> Option<String> {
    let mut read = |path: &str| machine.read(path).map(|text| text.trim_matches(['\0', '\n', ' ']).to_owned()).ok();
    // Some leave a file there and nothing in it.
    let named = read("/sys/hypervisor/type").filter(|name| !name.is_empty());
    let dmi = ["product_name", "sys_vendor", "board_vendor"];
    let firmware: Vec<String> = dmi.iter().filter_map(|file| read(&format!("/sys/class/dmi/id/{file}"))).collect();
    let told = FIRMWARE.iter().find(|(word, _)| firmware.iter().any(|text| text.contains(word)));
    let tree = read("/proc/device-tree/hypervisor/compatible").filter(|name| !name.is_empty());
    // Windows starts it without firmware's tables.
    let wsl = read(proc::OSRELEASE).filter(|release| release.to_lowercase().contains("microsoft"));
    let tree = tree.or_else(|| wsl.map(|_| "WSL2".to_owned()));
    let flagged = read(proc::CPUINFO).is_some_and(|text| proc::has_flag(&text, "hypervisor"));
    let by = told.map(|(_, name)| (*name).to_owned()).or(named).or(tree);
    by.or_else(|| flagged.then(|| "its CPU says that a hypervisor runs it".to_owned()))
}

fn container(machine: &mut dyn Look) -> Option<String> {
    let told = text(machine, "/run/systemd/container");
    if let Some(kind) = told.filter(|kind| !kind.is_empty()) {
        return Some(kind);
    }
    if let Some((_, kind)) = CONTAINER_FILES.iter().find(|(file, _)| machine.read(file).is_ok()) {
        return Some((*kind).to_owned());
    }
    let group = machine.read(&proc::of_process(1, "cgroup")).unwrap_or_default();
    CONTAINER_GROUPS.iter().find(|(word, _)| group.contains(word)).map(|(_, kind)| (*kind).to_owned())
}

/// The later of two mounts at one place lies on top.
fn read_only(mounts: &str) -> Vec<&'static str> {
    let options = |place: &str| {
        let fields = mounts.lines().rev().map(|line| line.split(' ').collect::<Vec<_>>());
        fields.into_iter().find(|fields| fields.get(1) == Some(&place)).and_then(|fields| fields.get(3).copied())
    };
    let is_read_only = |place: &str| options(place).is_some_and(|options| options.split(',').any(|one| one == "ro"));
    ["/sys", "/proc/sys"].into_iter().filter(|place| is_read_only(place)).collect()
}
