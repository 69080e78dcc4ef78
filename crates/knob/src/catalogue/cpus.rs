//! `cpu.*`, `sched.*`: which CPUs are in service, and how the scheduler of old kernels packs work onto them.
use powerband_machine::Errno;
use powerband_sysfs::topology;

use super::plain::{Place, PlainFile};
use super::takes::Takes;
use crate::{About, Phase, Scope};

pub(super) const ONLINE: PlainFile = PlainFile::new(
    &About {
        name: "cpu.online",
        short: "online",
        aliases: &[],
        unit: "",
        scope: Scope::Cpu,
        summary: "whether a CPU is online",
        doc: "A CPU that goes offline loses what is set on it: its idle states are all enabled when it comes back, and old \
              kernels begin with their default governor and limits. powerband saves that first, sets this knob before all \
              others, and on undo brings CPUs online first. A process that may run on this CPU alone is moved to others by \
              the kernel and stays there: that is not restored. CPU 0 often cannot go offline.",
        accepts: "0 or 1",
        needs: "",
        source: "cpuN/online; Linux Documentation/core-api/cpu_hotplug.rst",
        invalid: "it takes 0 or 1",
        phase: Phase::Cpu,
    },
    Place::EachCpu("online"),
    Takes::Flag,
    "none of these CPUs can be taken out of service",
    &[
        (Errno::EBUSY, "it is the last CPU that does the kernel's own work, or the machine is switching CPUs just now"),
        (Errno::EPERM, "its core's second thread is switched off: set smt=on first"),
        (Errno::EOPNOTSUPP, "this platform takes no CPU out of service"),
    ],
);

pub(super) const SMT: PlainFile = PlainFile::new(
    &About {
        name: "cpu.smt",
        short: "smt",
        aliases: &["hyperthreading"],
        unit: "",
        scope: Scope::System,
        summary: "whether cores run two threads each",
        doc: "off takes every second thread of a core offline. forceoff does so until the next boot; powerband does not \
              offer it, because it could not be restored.",
        accepts: "on, off",
        needs: "",
        source: "smt/control; Linux Documentation/admin-guide/hw-vuln/l1tf.rst, kernel/cpu.c",
        invalid: "it takes on or off",
        phase: Phase::Cpu,
    },
    Place::System(&[topology::SMT_CONTROL]),
    Takes::Words(&["on", "off"]),
    "this kernel has no /sys/devices/system/cpu/smt (Linux 4.19 and later have)",
    &[
        (Errno::ENODEV, "these cores run one thread each"),
        (Errno::EPERM, "it was switched off for good (nosmt=force); only a boot brings it back"),
    ],
);

const REMOVED: &str = "it was removed in Linux 3.5; kernels from 2.6.18 have it where there is more than one \
                       package (mc) or thread (smt)";

const SAVINGS: About = About {
    name: "sched.mc_power_savings",
    short: "mc_power_savings",
    aliases: &["sched_mc_power_savings", "sched_mc"],
    unit: "",
    scope: Scope::System,
    summary: "whether the scheduler fills one package with work before it wakes the next",
    doc: "0 spreads work over packages; 1 gathers it while a package has room; 2 gathers what wakes up as well (2.6.29 \
          and later).",
    accepts: "0, 1, 2",
    needs: "",
    source: "sched_mc_power_savings; Linux 2.6.18 to 3.4 kernel/sched.c",
    invalid: "it takes 0, 1, and from Linux 2.6.29 on 2",
    phase: Phase::Scheduler,
};

pub(super) const MC_POWER_SAVINGS: PlainFile = PlainFile::new(
    &SAVINGS,
    Place::System(&[topology::SCHED_MC_POWER_SAVINGS]),
    Takes::Since { before: (0, 1), since: (2, 6, 29), then: (0, 2) },
    REMOVED,
    &[],
);

pub(super) const SMT_POWER_SAVINGS: PlainFile = PlainFile::new(
    &About {
        name: "sched.smt_power_savings",
        short: "smt_power_savings",
        aliases: &["sched_smt_power_savings", "sched_smt"],
        summary: "whether the scheduler fills both threads of a core before it wakes the next core",
        source: "sched_smt_power_savings; Linux 2.6.18 to 3.4 kernel/sched.c",
        ..SAVINGS
    },
    Place::System(&[topology::SCHED_SMT_POWER_SAVINGS]),
    Takes::Since { before: (0, 1), since: (2, 6, 29), then: (0, 2) },
    REMOVED,
    &[],
);
