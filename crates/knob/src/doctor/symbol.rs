//! What of a kernel's configuration the catalogue lives on: one row a symbol, with its place in `make menuconfig`.
//!
//! Names, prompts, menus and dependencies are those of Linux 6.1, whose own configurator keeps what is made of them. `since`
//! is the first kernel that is asked for a symbol: the one it came with, or with which it began to bring what is said of
//! it (control groups are of use here since `CFS_BANDWIDTH`). A row without it is asked of every kernel, which is right for 2.6.18
//! and later ones.
//!
//! Where the years come from. Documentation/ABI of 6.1: `CPU_IDLE` and its first governors, `POWERCAP`, `INTEL_RAPL`. Debian's
//! changelog of its kernels: `X86_AMD_PSTATE` (5.17, a module until 6.0). Trees of that age: `SENSORS_ACPI_POWER` (in 3.0; in
//! 2.6.35 its driver still had another symbol; not seen between), `ACPI_CPPC_CPUFREQ` (in a vendor's 4.4), the default governors (all
//! five in 2.6.32), `ARM_IMX6Q_CPUFREQ` and `X86_INTEL_PSTATE` (in 3.9). The kernel's own history: `ARM_OMAP2PLUS_CPUFREQ` (made on
//! 3.3-rc4 for 3.4; 3.3 builds that driver wherever `ARCH_OMAP2PLUS` is on), `GENERIC_CPUFREQ_CPU0` (September 2012, so 3.7), and
//! `CPUFREQ_DT`, which it became (3.18). Remembered, and held against no source: `PROC_SYSCTL`, `PERF_EVENTS`,
//! `PERF_EVENTS_INTEL_RAPL`, `INTEL_IDLE`, `CFS_BANDWIDTH`, `CPU_FREQ_GOV_SCHEDUTIL`, `ARM_SCMI_CPUFREQ`, `CPU_IDLE_GOV_TEO`,
//! `CPU_IDLE_GOV_HALTPOLL`, `ETHTOOL_NETLINK`, the last kernel with `CPU_FREQ_STAT_DETAILS`, and of the drivers of i.MX8M, Allwinner
//! and Raspberry Pi the first kernel.
use super::config::{Arch, Config};

/// What a symbol is for, which decides how much it matters that it is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Area {
    /// `cpufreq.*` and the tunables of governors.
    Cpufreq,
    /// A driver that changes the clock.
    Driver,
    /// `cgroup.cpu_quota`.
    Quota,
    /// `sysctl.*` and `file:` of the kernel's own files.
    Files,
    /// Good to have: not of the catalogue, or with another way.
    Beside,
    /// Needed by others alone.
    Below,
}

/// Where a symbol is found; what it is called there differs between architectures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Menu {
    Power,
    Clock,
    Idle,
    Acpi,
    Processor,
    PerfDrivers,
    Perf,
    Groups,
    Controller,
    Networking,
    Drivers,
    Powercap,
    Hwmon,
    Pseudo,
}

/// How it may be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// In the kernel or not at all.
    Bool,
    /// Either; in the kernel where we have the choice, so that nothing needs to be loaded.
    Built,
    /// Either; as a module where the kernel has modules.
    Module,
}

/// One symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    /// Without `CONFIG_`.
    pub(super) name: &'static str,
    /// What menuconfig calls it; empty for one that follows others by itself.
    pub(super) prompt: &'static str,
    menu: Menu,
    pub(super) kind: Kind,
    pub(super) area: Area,
    /// The only architecture that has it.
    arch: Option<Arch>,
    /// First kernel that is asked for it.
    since: (u32, u32, u32),
    /// First kernel that no longer has it.
    until: (u32, u32, u32),
    /// What must be on with it. Those with a row of their own can be turned on for it; others are given or not, and of
    /// `A|B` one must be.
    pub(super) needs: &'static [&'static str],
    /// What it brings.
    pub(super) brings: &'static str,
    /// Its module, as `modprobe` takes it; empty for what is no module.
    pub(super) module: &'static str,
}

impl Symbol {
    /// Whether kernels like this one have it.
    pub(super) fn applies(&self, config: &Config) -> bool {
        self.arch.is_none_or(|arch| arch == config.arch()) && (self.since..self.until).contains(&config.version())
    }

    /// The menus that lead to it.
    pub(super) fn menu(&self, arch: Arch) -> &'static [&'static str] {
        let x86 = arch == Arch::X86;
        match self.menu {
            Menu::Power if x86 => &["Power management and ACPI options"],
            Menu::Power => &["CPU Power Management"],
            Menu::Clock => clock_menu(arch),
            Menu::Idle if x86 => &["Power management and ACPI options", "CPU Idle"],
            Menu::Idle => &["CPU Power Management", "CPU Idle"],
            Menu::Acpi => {
                &["Power management and ACPI options", "ACPI (Advanced Configuration and Power Interface) Support"]
            }
            Menu::Processor if x86 => &["Processor type and features"],
            Menu::Processor => &["Kernel Features"],
            Menu::PerfDrivers => &["Processor type and features", "Performance monitoring"],
            Menu::Perf => &["General setup", "Kernel Performance Events And Counters"],
            Menu::Groups => &["General setup", "Control Group support"],
            Menu::Controller => &["General setup", "Control Group support", "CPU controller"],
            Menu::Networking => &["Networking support"],
            Menu::Drivers => &["Device Drivers"],
            Menu::Powercap => &["Device Drivers", "Generic powercap sysfs driver"],
            Menu::Hwmon => &["Device Drivers", "Hardware Monitoring support"],
            Menu::Pseudo => &["File systems", "Pseudo filesystems"],
        }
    }

    /// The menus and the prompt, for people.
    pub(super) fn path(&self, arch: Arch) -> String {
        let prompt = (!self.prompt.is_empty()).then_some(self.prompt);
        self.menu(arch).iter().copied().chain(prompt).collect::<Vec<_>>().join(" → ")
    }
}

/// The menus that lead to cpufreq.
pub(super) fn clock_menu(arch: Arch) -> &'static [&'static str] {
    match arch {
        Arch::X86 => &["Power management and ACPI options", "CPU Frequency scaling"],
        Arch::Arm | Arch::Other => &["CPU Power Management", "CPU Frequency scaling"],
    }
}

/// The row of a symbol, where kernels like this one have it.
pub(super) fn row(name: &str, config: &Config) -> Option<&'static Symbol> {
    ALL.iter().find(|symbol| symbol.name == name && symbol.applies(config))
}

/// The governors that can be the default, as the command and the kernel's symbols name them.
pub(super) const DEFAULTS: [(&str, &str, &str); 6] = [
    ("performance", "CPU_FREQ_GOV_PERFORMANCE", "CPU_FREQ_DEFAULT_GOV_PERFORMANCE"),
    ("powersave", "CPU_FREQ_GOV_POWERSAVE", "CPU_FREQ_DEFAULT_GOV_POWERSAVE"),
    ("userspace", "CPU_FREQ_GOV_USERSPACE", "CPU_FREQ_DEFAULT_GOV_USERSPACE"),
    ("ondemand", "CPU_FREQ_GOV_ONDEMAND", "CPU_FREQ_DEFAULT_GOV_ONDEMAND"),
    ("conservative", "CPU_FREQ_GOV_CONSERVATIVE", "CPU_FREQ_DEFAULT_GOV_CONSERVATIVE"),
    ("schedutil", "CPU_FREQ_GOV_SCHEDUTIL", "CPU_FREQ_DEFAULT_GOV_SCHEDUTIL"),
];

const X86: Option<Arch> = Some(Arch::X86);
const ARM: Option<Arch> = Some(Arch::Arm);

/// No kernel is without it yet.
const NEVER: (u32, u32, u32) = (u32::MAX, 0, 0);

const fn bool(name: &'static str, prompt: &'static str, menu: Menu, brings: &'static str) -> Symbol {
    let (kind, area) = (Kind::Bool, Area::Beside);
    Symbol {
        name,
        prompt,
        menu,
        kind,
        area,
        arch: None,
        since: (2, 6, 0),
        until: NEVER,
        needs: &[],
        brings,
        module: "",
    }
}

const fn below(name: &'static str, prompt: &'static str, menu: Menu) -> Symbol {
    Symbol { area: Area::Below, ..bool(name, prompt, menu, "what others here build on") }
}

const fn governor(name: &'static str, prompt: &'static str, module: &'static str, brings: &'static str) -> Symbol {
    Symbol {
        kind: Kind::Built,
        area: Area::Cpufreq,
        needs: &["CPU_FREQ"],
        module,
        ..bool(name, prompt, Menu::Clock, brings)
    }
}

const fn driver(
    name: &'static str,
    prompt: &'static str,
    arch: Option<Arch>,
    module: &'static str,
    brings: &'static str,
) -> Symbol {
    let kind = if module.is_empty() { Kind::Bool } else { Kind::Module };
    Symbol { kind, area: Area::Driver, arch, module, ..bool(name, prompt, Menu::Clock, brings) }
}

/// Every symbol; what others need comes before them.
pub(super) const ALL: &[Symbol] = &[
    Symbol { arch: X86, ..below("SMP", "Symmetric multi-processing support", Menu::Processor) },
    Symbol { arch: X86, ..below("PCI", "PCI support", Menu::Drivers) },
    Symbol { arch: X86, ..below("ACPI", "ACPI (Advanced Configuration and Power Interface) Support", Menu::Power) },
    Symbol { arch: X86, kind: Kind::Built, needs: &["ACPI"], ..below("ACPI_PROCESSOR", "Processor", Menu::Acpi) },
    below("NET", "Networking support", Menu::Networking),
    below("PROC_FS", "/proc file system support", Menu::Pseudo),
    Symbol {
        area: Area::Cpufreq,
        ..bool("CPU_FREQ", "CPU Frequency scaling", Menu::Clock, "all of cpufreq: governors, frequencies, limits")
    },
    governor("CPU_FREQ_GOV_PERFORMANCE", "'performance' governor", "cpufreq_performance", "governor=performance"),
    governor("CPU_FREQ_GOV_POWERSAVE", "'powersave' governor", "cpufreq_powersave", "governor=powersave"),
    governor(
        "CPU_FREQ_GOV_USERSPACE",
        "'userspace' governor for userspace frequency scaling",
        "cpufreq_userspace",
        "governor=userspace, and with it freq",
    ),
    governor(
        "CPU_FREQ_GOV_ONDEMAND",
        "'ondemand' cpufreq policy governor",
        "cpufreq_ondemand",
        "governor=ondemand and its tunables",
    ),
    governor(
        "CPU_FREQ_GOV_CONSERVATIVE",
        "'conservative' cpufreq governor",
        "cpufreq_conservative",
        "governor=conservative and its tunables",
    ),
    Symbol {
        kind: Kind::Bool,
        since: (4, 7, 0),
        needs: &["CPU_FREQ", "SMP"],
        ..governor(
            "CPU_FREQ_GOV_SCHEDUTIL",
            "'schedutil' cpufreq policy governor",
            "",
            "governor=schedutil and its tunable",
        )
    },
    Symbol {
        needs: &["CPU_FREQ"],
        ..bool(
            "CPU_FREQ_STAT",
            "CPU frequency transition statistics",
            Menu::Clock,
            "the time spent at each frequency (stats/time_in_state)",
        )
    },
    // Later kernels always have the table.
    Symbol {
        until: (4, 10, 0),
        needs: &["CPU_FREQ_STAT"],
        ..bool(
            "CPU_FREQ_STAT_DETAILS",
            "CPU frequency transition statistics details",
            Menu::Clock,
            "the changes between each two frequencies (stats/trans_table)",
        )
    },
    Symbol {
        since: (3, 9, 0),
        needs: &["CPU_FREQ"],
        ..driver("X86_INTEL_PSTATE", "Intel P state control", X86, "", "the driver intel_pstate")
    },
    Symbol {
        since: (5, 17, 0),
        needs: &["CPU_FREQ", "ACPI"],
        ..driver("X86_AMD_PSTATE", "AMD Processor P-State driver", X86, "", "the driver amd-pstate")
    },
    Symbol {
        needs: &["CPU_FREQ", "ACPI_PROCESSOR"],
        ..driver(
            "X86_ACPI_CPUFREQ",
            "ACPI Processor P-States driver",
            X86,
            "acpi-cpufreq",
            "the driver acpi-cpufreq, under which every governor works",
        )
    },
    Symbol {
        since: (3, 18, 0),
        needs: &["CPU_FREQ", "OF", "HAVE_CLK"],
        ..driver("CPUFREQ_DT", "Generic DT based cpufreq driver", ARM, "cpufreq-dt", "the driver cpufreq-dt")
    },
    Symbol {
        since: (3, 7, 0),
        until: (3, 18, 0),
        needs: &["CPU_FREQ", "OF", "HAVE_CLK", "REGULATOR"],
        ..driver("GENERIC_CPUFREQ_CPU0", "Generic CPU0 cpufreq driver", ARM, "cpufreq-cpu0", "the driver cpufreq-cpu0")
    },
    Symbol {
        since: (3, 4, 0),
        needs: &["CPU_FREQ", "ARCH_OMAP2PLUS"],
        ..driver("ARM_OMAP2PLUS_CPUFREQ", "TI OMAP2+", ARM, "", "the driver omap")
    },
    Symbol {
        since: (3, 9, 0),
        needs: &["CPU_FREQ", "ARCH_MXC", "REGULATOR_ANATOP"],
        ..driver(
            "ARM_IMX6Q_CPUFREQ",
            "Freescale i.MX6 cpufreq support",
            ARM,
            "imx6q-cpufreq",
            "the driver imx6q-cpufreq",
        )
    },
    Symbol {
        since: (5, 3, 0),
        needs: &["CPU_FREQ", "ARCH_MXC", "CPUFREQ_DT"],
        ..driver(
            "ARM_IMX_CPUFREQ_DT",
            "Freescale i.MX8M cpufreq support",
            ARM,
            "imx-cpufreq-dt",
            "cpufreq-dt with the speed grades of i.MX8M",
        )
    },
    Symbol {
        since: (5, 3, 0),
        needs: &["CPU_FREQ", "ARCH_SUNXI", "NVMEM_SUNXI_SID"],
        ..driver(
            "ARM_ALLWINNER_SUN50I_CPUFREQ_NVMEM",
            "Allwinner nvmem based SUN50I CPUFreq driver",
            ARM,
            "sun50i-cpufreq-nvmem",
            "cpufreq-dt with the speed bins of Allwinner's H6",
        )
    },
    Symbol {
        since: (5, 3, 0),
        needs: &["CPU_FREQ", "CLK_RASPBERRYPI", "CPUFREQ_DT"],
        ..driver(
            "ARM_RASPBERRYPI_CPUFREQ",
            "Raspberry Pi cpufreq support",
            ARM,
            "raspberrypi-cpufreq",
            "cpufreq-dt with the frequencies of a Raspberry Pi's firmware",
        )
    },
    Symbol {
        since: (4, 17, 0),
        needs: &["CPU_FREQ", "ARM_SCMI_PROTOCOL"],
        ..driver("ARM_SCMI_CPUFREQ", "SCMI based CPUfreq driver", ARM, "scmi-cpufreq", "the driver scmi-cpufreq")
    },
    Symbol {
        since: (4, 4, 0),
        needs: &["CPU_FREQ", "ACPI_PROCESSOR"],
        ..driver(
            "ACPI_CPPC_CPUFREQ",
            "CPUFreq driver based on the ACPI CPPC spec",
            ARM,
            "cppc_cpufreq",
            "the driver cppc_cpufreq",
        )
    },
    Symbol {
        area: Area::Quota,
        since: (3, 2, 0),
        ..bool("CGROUPS", "Control Group support", Menu::Groups, "groups for a load")
    },
    Symbol {
        area: Area::Quota,
        since: (3, 2, 0),
        needs: &["CGROUPS"],
        ..bool("CGROUP_SCHED", "CPU controller", Menu::Groups, "CPU time by group")
    },
    Symbol {
        area: Area::Quota,
        since: (3, 2, 0),
        needs: &["CGROUP_SCHED"],
        ..bool("FAIR_GROUP_SCHED", "Group scheduling for SCHED_OTHER", Menu::Controller, "CPU time by group")
    },
    Symbol {
        area: Area::Quota,
        since: (3, 2, 0),
        needs: &["FAIR_GROUP_SCHED"],
        ..bool("CFS_BANDWIDTH", "CPU bandwidth provisioning for FAIR_GROUP_SCHED", Menu::Controller, "cgroup.cpu_quota")
    },
    Symbol { area: Area::Files, ..bool("SYSFS", "sysfs file system support", Menu::Pseudo, "every knob under /sys") },
    Symbol {
        since: (2, 6, 19),
        area: Area::Files,
        needs: &["PROC_FS"],
        ..bool("PROC_SYSCTL", "Sysctl support (/proc/sys)", Menu::Pseudo, "sysctl.*")
    },
    Symbol {
        since: (5, 6, 0),
        needs: &["NET"],
        ..bool(
            "ETHTOOL_NETLINK",
            "Netlink interface for ethtool",
            Menu::Networking,
            "nic.* by netlink, with the driver's own words; without it by ioctl",
        )
    },
    Symbol {
        since: (2, 6, 24),
        ..bool("CPU_IDLE", "CPU idle PM support", Menu::Idle, "idle states that can be closed (cpuidle.disable)")
    },
    Symbol {
        since: (2, 6, 24),
        needs: &["CPU_IDLE"],
        ..bool("CPU_IDLE_GOV_MENU", "Menu governor (for tickless system)", Menu::Idle, "the idle governor menu")
    },
    Symbol {
        since: (2, 6, 24),
        needs: &["CPU_IDLE"],
        ..bool(
            "CPU_IDLE_GOV_LADDER",
            "Ladder governor (for periodic timer tick)",
            Menu::Idle,
            "the idle governor ladder",
        )
    },
    Symbol {
        since: (5, 1, 0),
        needs: &["CPU_IDLE"],
        ..bool(
            "CPU_IDLE_GOV_TEO",
            "Timer events oriented (TEO) governor (for tickless systems)",
            Menu::Idle,
            "the idle governor teo",
        )
    },
    Symbol {
        arch: X86,
        since: (5, 4, 0),
        needs: &["CPU_IDLE", "KVM_GUEST"],
        ..bool(
            "CPU_IDLE_GOV_HALTPOLL",
            "Haltpoll governor (for virtualized systems)",
            Menu::Idle,
            "the idle governor haltpoll of virtual machines",
        )
    },
    Symbol {
        arch: X86,
        since: (2, 6, 35),
        needs: &["CPU_IDLE", "CPU_SUP_INTEL"],
        ..bool("INTEL_IDLE", "Cpuidle Driver for Intel Processors", Menu::Power, "the deep idle states of Intel CPUs")
    },
    Symbol {
        arch: X86,
        needs: &["SMP"],
        ..bool("HOTPLUG_CPU", "", Menu::Processor, "CPUs that can be taken off (cpu.online)")
    },
    Symbol {
        arch: ARM,
        needs: &["SMP"],
        ..bool(
            "HOTPLUG_CPU",
            "Support for hot-pluggable CPUs",
            Menu::Processor,
            "CPUs that can be taken off (cpu.online)",
        )
    },
    Symbol {
        since: (2, 6, 32),
        needs: &["HAVE_PERF_EVENTS"],
        ..bool("PERF_EVENTS", "Kernel performance events and counters", Menu::Perf, "hardware counters (perf)")
    },
    Symbol {
        kind: Kind::Module,
        arch: X86,
        since: (4, 7, 0),
        needs: &["PERF_EVENTS", "PCI", "CPU_SUP_INTEL|CPU_SUP_AMD"],
        module: "rapl",
        ..bool(
            "PERF_EVENTS_INTEL_RAPL",
            "Intel/AMD rapl performance events",
            Menu::PerfDrivers,
            "the energy of package and memory by perf",
        )
    },
    Symbol {
        since: (3, 13, 0),
        ..bool(
            "POWERCAP",
            "Generic powercap sysfs driver",
            Menu::Drivers,
            "energy and power limits (/sys/class/powercap)",
        )
    },
    Symbol {
        kind: Kind::Module,
        arch: X86,
        since: (3, 13, 0),
        needs: &["POWERCAP", "PCI"],
        module: "intel_rapl_msr",
        ..bool(
            "INTEL_RAPL",
            "Intel RAPL Support via MSR Interface",
            Menu::Powercap,
            "the energy of package and memory by powercap",
        )
    },
    Symbol {
        kind: Kind::Module,
        needs: &["HAS_IOMEM"],
        module: "hwmon",
        ..bool("HWMON", "Hardware Monitoring support", Menu::Drivers, "the meter hwmon")
    },
    Symbol {
        since: (3, 0, 0),
        kind: Kind::Module,
        arch: X86,
        needs: &["HWMON", "ACPI"],
        module: "acpi_power_meter",
        ..bool(
            "SENSORS_ACPI_POWER",
            "ACPI 4.0 power meter",
            Menu::Hwmon,
            "the watts of the whole server, where its firmware measures them (meter hwmon)",
        )
    },
];
