//! The doctor on prepared machines: drivers, virtual machines, containers, rivals, rights.
use powerband_knob::doctor::{Config, DefaultGovernor, DoctorFinding, Examined, Mark, examine, examine_file};
use powerband_machine::{Coalescing, Errno};

use crate::fake::{Fake, ROOT, Rules, bare, cpufreq};

/// A kernel of 6.1 with all the catalogue needs, acpi-cpufreq as a module.
const CONFIG: &str = "# Linux/x86 6.1.192 Kernel Configuration\nCONFIG_X86=y\nCONFIG_SMP=y\nCONFIG_MODULES=y\nCONFIG_HZ=250\n\
    CONFIG_NO_HZ_FULL=y\nCONFIG_ACPI=y\nCONFIG_ACPI_PROCESSOR=y\nCONFIG_CPU_FREQ=y\nCONFIG_CPU_FREQ_GOV_PERFORMANCE=y\n\
    CONFIG_CPU_FREQ_GOV_POWERSAVE=m\nCONFIG_CPU_FREQ_GOV_USERSPACE=m\nCONFIG_CPU_FREQ_GOV_ONDEMAND=m\n\
    CONFIG_CPU_FREQ_GOV_CONSERVATIVE=m\nCONFIG_CPU_FREQ_GOV_SCHEDUTIL=y\nCONFIG_CPU_FREQ_DEFAULT_GOV_SCHEDUTIL=y\n\
    CONFIG_X86_ACPI_CPUFREQ=m\nCONFIG_CGROUPS=y\nCONFIG_CGROUP_SCHED=y\nCONFIG_FAIR_GROUP_SCHED=y\nCONFIG_CFS_BANDWIDTH=y\n\
    CONFIG_SYSFS=y\nCONFIG_PROC_SYSCTL=y\n";

const ONDEMAND: &str = "CONFIG_CPU_FREQ_GOV_ONDEMAND";

/// The machine with these files next to what it has.
fn with(mut fake: Fake, files: &[(&str, &str)]) -> Fake {
    fake.files.extend(files.iter().map(|(path, text)| ((*path).into(), (*text).into())));
    fake
}

/// Four CPUs in two policies, and the configuration of its kernel in the place Debian has it.
fn whole() -> Fake {
    let files = [
        ("/proc/sys/kernel/osrelease", "6.1.0-1-amd64\n"),
        ("/boot/config-6.1.0-1-amd64", CONFIG),
        ("/proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t0\t57\t1\n"),
        ("/proc/sys/vm/swappiness", "60\n"),
        ("/proc/1/comm", "systemd\n"),
    ];
    with(cpufreq(2, 2, Rules::default()), &files)
}

#[track_caller]
fn found<'a>(examined: &'a Examined, section: &str, about: &str) -> &'a DoctorFinding {
    let sections = examined.sections.iter().filter(|one| one.name == section);
    let mut findings = sections.flat_map(|one| &one.findings);
    findings.find(|one| one.about == about).unwrap_or_else(|| panic!("no {about} in {section}: {examined:#?}"))
}

#[track_caller]
fn says(finding: &DoctorFinding, mark: Mark, words: &[&str]) {
    let all = format!("{}; {}", finding.told, finding.todo.as_deref().unwrap_or_default());
    assert!(finding.mark == mark && words.iter().all(|word| all.contains(word)), "{finding:#?}");
}

#[test]
fn a_machine_with_everything_lacks_nothing() {
    let examined = examine(&mut whole(), None, None);
    assert_eq!(examined.missing(), 0, "{examined:#?}");
    says(found(&examined, "driver", "driver"), Mark::Ok, &["fake drives 2 policies", "schedutil"]);
    says(found(&examined, "kernel", ONDEMAND), Mark::Ok, &["a module (cpufreq_ondemand), not loaded"]);
    says(found(&examined, "tick", "HZ"), Mark::Ok, &["8000 us"]);
    says(found(&examined, "reach", "cpufreq.*"), Mark::Ok, &["governor, freq, min_freq, max_freq at policy0, policy2"]);
    says(found(&examined, "reach", "conservative.*"), Mark::Note, &["governor=conservative", "ondemand is in force"]);
    says(found(&examined, "rivals", "others"), Mark::Ok, &[]);
    let kernel = examined.kernel.unwrap();
    assert_eq!((kernel.source.as_str(), kernel.release.as_deref()), ("/boot/config-6.1.0-1-amd64", Some("6.1.192")));
    let row = kernel.symbols.iter().find(|row| row.symbol == ONDEMAND).unwrap();
    assert_eq!((row.module, row.loaded), (Some("cpufreq_ondemand"), Some(false)));
    assert_eq!((row.menu[1], row.prompt), ("CPU Frequency scaling", "'ondemand' cpufreq policy governor"));
}

#[test]
fn a_governor_that_is_not_built_is_missing_where_there_is_a_clock() {
    let lacking = CONFIG.replace("CONFIG_CPU_FREQ_GOV_ONDEMAND=m", "# CONFIG_CPU_FREQ_GOV_ONDEMAND is not set");
    let path = "Power management and ACPI options → CPU Frequency scaling → 'ondemand' cpufreq policy governor";
    let examined = examine(&mut with(whole(), &[("/boot/config-6.1.0-1-amd64", &lacking)]), None, None);
    says(found(&examined, "kernel", ONDEMAND), Mark::Missing, &["off", path]);
    assert_eq!(examined.missing(), 1);
    assert!(examined.kernel.unwrap().fragment.contains(&"CONFIG_CPU_FREQ_GOV_ONDEMAND=y".to_owned()));
    // What the kernel itself shows wins over a file, and a given one over both.
    let mut fake = with(whole(), &[("/proc/config.gz", &lacking)]);
    assert_eq!(examine(&mut fake, None, None).missing(), 1);
    let given = (Config::parse(CONFIG).unwrap(), "given".to_owned());
    assert_eq!(examine(&mut fake, Some(given), None).kernel.unwrap().source, "given");
    // A guest has no clock, whatever its kernel could do.
    let files = [("/boot/config-6.1.0-1-amd64", lacking.as_str()), ("/sys/class/dmi/id/sys_vendor", "QEMU\n")];
    let mut guest = with(whole(), &files);
    guest.files.retain(|path, _| !path.starts_with(ROOT));
    let examined = examine(&mut guest, None, None);
    says(found(&examined, "kernel", ONDEMAND), Mark::Note, &[path]);
    says(found(&examined, "driver", "driver"), Mark::Note, &["virtual", "QEMU"]);
    assert_eq!(examined.missing(), 0, "{examined:#?}");
}

#[test]
fn a_machine_that_tells_no_configuration_says_where_it_was_sought() {
    let mut fake = whole();
    fake.files.remove("/boot/config-6.1.0-1-amd64");
    let examined = examine(&mut fake, None, None);
    let words = ["/proc/config.gz, /boot/config-6.1.0-1-amd64", "modprobe configs", "--kernel FILE"];
    says(found(&examined, "kernel", "configuration"), Mark::Note, &words);
    assert!(examined.kernel.is_none() && examined.missing() == 0);
}

#[test]
fn a_driver_that_chooses_by_itself_says_what_it_rules_out() {
    let driven_by = |driver: &str, files: &[(&str, &str)]| {
        let mut fake = with(whole(), files);
        for policy in ["policy0", "policy2"] {
            fake.files.insert(format!("{ROOT}/{policy}/scaling_driver"), format!("{driver}\n"));
        }
        examine(&mut fake, None, None)
    };
    let status = "/sys/devices/system/cpu/intel_pstate/status";
    let examined = driven_by("intel_pstate", &[(status, "active\n")]);
    let words = ["performance and powersave alone", "`powerband set pstate=passive governor=schedutil`"];
    says(found(&examined, "driver", "intel_pstate"), Mark::Note, &words);
    says(found(&examined, "driver", "intel_pstate"), Mark::Note, &["intel_pstate=disable", "modprobe acpi-cpufreq"]);
    says(found(&driven_by("intel_pstate", &[]), "driver", "intel_pstate"), Mark::Note, &["no switch here"]);
    says(
        found(&driven_by("amd-pstate-epp", &[]), "driver", "amd-pstate"),
        Mark::Note,
        &["no switch", "amd_pstate=passive"],
    );
    says(found(&driven_by("intel_cpufreq", &[]), "driver", "intel_cpufreq"), Mark::Note, &["every governor"]);
}

#[test]
fn bare_hardware_without_a_driver_is_told_the_likeliest_reason() {
    let undriven = |files: &[(&str, &str)]| {
        let mut fake = with(whole(), files);
        fake.files.retain(|path, _| !path.starts_with(ROOT));
        examine(&mut fake, None, None)
    };
    let examined = undriven(&[]);
    says(found(&examined, "driver", "driver"), Mark::Missing, &["modprobe acpi-cpufreq", "BIOS"]);
    says(found(&examined, "kernel", "CONFIG_X86_ACPI_CPUFREQ"), Mark::Note, &["not loaded", "modprobe acpi-cpufreq"]);
    let examined = undriven(&[("/proc/cmdline", "ro cpufreq.off=1 quiet\n")]);
    says(found(&examined, "driver", "driver"), Mark::Missing, &["take cpufreq.off=1 off"]);
    let without = CONFIG.replace("CONFIG_CPU_FREQ=y", "# CONFIG_CPU_FREQ is not set");
    let examined = undriven(&[("/boot/config-6.1.0-1-amd64", &without)]);
    says(found(&examined, "driver", "driver"), Mark::Missing, &["CONFIG_CPU_FREQ"]);
}

#[test]
fn guests_and_containers_are_known_by_what_they_show() {
    let by = |files: &[(&str, &str)]| {
        let examined = examine(&mut with(whole(), files), None, None);
        let place = examined.sections.into_iter().find(|section| section.name == "place");
        place.map(|place| place.findings.iter().map(|one| format!("{} {}", one.about, one.told)).collect::<String>())
    };
    assert_eq!(
        by(&[("/proc/cpuinfo", "flags\t\t: fpu vme\n"), ("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n")]),
        None
    );
    for (path, text, word) in [
        ("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n", "hypervisor"),
        ("/sys/class/dmi/id/product_name", "VMware Virtual Platform\n", "VMware"),
        ("/sys/class/dmi/id/product_name", "Virtual Machine\n", "Hyper-V"),
        ("/sys/hypervisor/type", "xen\n", "xen"),
        ("/proc/device-tree/hypervisor/compatible", "linux,kvm\0", "linux,kvm"),
        ("/run/systemd/container", "lxc\n", "lxc"),
        ("/.dockerenv", "", "docker"),
        ("/proc/1/cgroup", "0::/kubepods/besteffort/pod1\n", "kubernetes"),
    ] {
        let told = by(&[(path, text)]);
        assert!(told.as_ref().is_some_and(|told| told.contains(word)), "{path} {text}: {told:?}");
    }
}

#[test]
fn who_fights_over_the_knobs_is_named_with_what_stops_it() {
    let mut files = vec![
        ("/run/systemd/system/x", ""),
        ("/proc/812/comm", "power-profiles-\n"),
        ("/proc/813/comm", "gamemoded\n"),
        ("/proc/814/comm", "tunedish\n"),
        ("/etc/systemd/system/multi-user.target.wants/tlp.service", ""),
    ];
    let examined = examine(&mut with(whole(), &files), None, None);
    let words = ["process 812", "`systemctl stop power-profiles-daemon`"];
    says(found(&examined, "rivals", "power-profiles-daemon"), Mark::Note, &words);
    says(found(&examined, "rivals", "gamemoded"), Mark::Note, &["`kill 813`"]);
    says(found(&examined, "rivals", "tlp"), Mark::Note, &["starts at boot", "`systemctl disable tlp`"]);
    assert_eq!(examined.sections.iter().find(|one| one.name == "rivals").unwrap().findings.len(), 3);
    assert_eq!(examined.missing(), 0);
    // Before systemd.
    files[0] = ("/etc/rc3.d/S13cpuspeed", "");
    files.push(("/proc/815/comm", "irqbalance\n"));
    let examined = examine(&mut with(whole(), &files), None, None);
    says(found(&examined, "rivals", "cpuspeed"), Mark::Note, &["starts at boot", "`update-rc.d cpuspeed disable`"]);
    says(found(&examined, "rivals", "irqbalance"), Mark::Note, &["`service irqbalance stop`"]);
    // Where there is chkconfig.
    files.push(("/etc/rc.d/init.d/cpuspeed", ""));
    let examined = examine(&mut with(whole(), &files), None, None);
    says(found(&examined, "rivals", "cpuspeed"), Mark::Note, &["starts at boot", "`chkconfig cpuspeed off`"]);
}

#[test]
fn who_is_not_root_is_told_the_narrowest_right_for_each() {
    let mut fake = whole().asked_by_nobody();
    fake.files.insert("/proc/net/dev".into(), "a\nb\n  eth0: 0 0\n".into());
    fake.cards.insert("eth0".into(), Coalescing::parse("rx-usecs 3\n"));
    let examined = examine(&mut fake, None, None);
    let lines = [
        "`z /sys/devices/system/cpu/cpufreq/policy*/scaling_governor 0664 root powerband`",
        "`z /sys/devices/system/cpu/cpufreq/ondemand/up_threshold 0664 root powerband`",
        "/etc/tmpfiles.d/powerband.conf",
    ];
    says(found(&examined, "rights", "cpufreq.*"), Mark::Missing, &lines);
    says(found(&examined, "rights", "nic.*"), Mark::Missing, &["setcap cap_net_admin+ep", "-g powerband"]);
    says(found(&examined, "rights", "sysctl.*"), Mark::Note, &["set sysctl.vm.swappiness=10", "without a `*`"]);
    says(found(&examined, "rights", "cgroup.cpu_quota"), Mark::Note, &["systemd-run --user --scope"]);
    assert_eq!(examined.missing(), 2);
    let capable = [("/proc/self/status", "Name:\tpowerband\nCapEff:\t0000000000001000\n")];
    let examined = examine(&mut with(fake, &capable), None, None);
    says(found(&examined, "rights", "nic.*"), Mark::Ok, &["CAP_NET_ADMIN"]);
}

#[test]
fn root_may_turn_all_but_what_a_container_withholds() {
    let mut fake = whole();
    fake.files.insert("/proc/net/dev".into(), "a\nb\n  eth0: 0 0\n".into());
    fake.cards.insert("eth0".into(), Coalescing::parse("rx-usecs 3\n"));
    assert_eq!(examine(&mut fake, None, None).missing(), 0);
    let incapable = [("/proc/self/status", "CapEff:\t00000000a80405fb\n")];
    let examined = examine(&mut with(fake, &incapable), None, None);
    says(found(&examined, "rights", "user"), Mark::Ok, &["root"]);
    says(found(&examined, "rights", "nic.*"), Mark::Missing, &["lacks CAP_NET_ADMIN", "--cap-add NET_ADMIN"]);
    let mounts = [("/proc/self/mounts", "sysfs /sys sysfs ro,nosuid 0 0\nproc /proc proc rw 0 0\n")];
    let examined = examine(&mut with(whole(), &mounts), None, None);
    says(found(&examined, "rights", "/sys"), Mark::Missing, &["mounted read-only", "on the host"]);
    let mounts = [("/proc/self/mounts", "sysfs /sys sysfs ro 0 0\nsysfs /sys sysfs rw 0 0\n")];
    assert_eq!(examine(&mut with(whole(), &mounts), None, None).missing(), 0);
}

#[test]
fn a_kernel_whose_controller_is_off_gives_no_quota() {
    let files = [("/proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t0\t1\t0\n")];
    let examined = examine(&mut with(whole(), &files), None, None);
    says(found(&examined, "reach", "cgroup.cpu_quota"), Mark::Missing, &["cgroup_disable=cpu"]);
    let files = [files[0], ("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io\n")];
    assert_eq!(examine(&mut with(whole(), &files), None, None).missing(), 0);
}

#[test]
fn the_tick_is_what_configuration_and_command_line_make_it() {
    let tick = |config: &str, cmdline: &str| {
        let files = [("/boot/config-6.1.0-1-amd64", config), ("/proc/cmdline", cmdline)];
        let examined = examine(&mut with(whole(), &files), None, None);
        let tick = found(&examined, "tick", "tick");
        (tick.mark, tick.told.clone())
    };
    assert!(matches!(tick(CONFIG, "quiet\n"), (Mark::Ok, told) if told.contains("nohz_full=")));
    assert!(matches!(tick(CONFIG, "nohz=on nohz=off\n"), (Mark::Note, told) if told.starts_with("periodic")));
    let periodic = CONFIG.replace("NO_HZ_FULL", "HZ_PERIODIC");
    assert!(matches!(tick(&periodic, ""), (Mark::Note, told) if told.starts_with("periodic")));
    assert!(matches!(tick(&CONFIG.replace("NO_HZ_FULL", "NO_HZ"), ""), (Mark::Ok, told) if told.contains("idle CPUs")));
    let full = [("/sys/devices/system/cpu/nohz_full", "2-3\n")];
    let examined = examine(&mut with(whole(), &full), None, None);
    says(found(&examined, "tick", "nohz_full"), Mark::Note, &["cpus 2-3"]);
}

#[test]
fn a_configuration_alone_is_held_against_all_of_its_architecture() {
    let config = Config::parse(CONFIG).unwrap();
    let examined = examine_file(&config, "x", None);
    assert_eq!(examined.missing(), 0, "{examined:#?}");
    says(found(&examined, "kernel", "default governor"), Mark::Ok, &["schedutil"]);
    let governor = |name| Some(DefaultGovernor::parse(name).unwrap());
    let examined = examine_file(&config, "x", governor("ondemand"));
    let words = ["schedutil, not ondemand", "Default CPUFreq governor", "cpufreq.default_governor=ondemand"];
    says(found(&examined, "kernel", "default governor"), Mark::Missing, &words);
    let intel = Config::parse(&format!("{CONFIG}CONFIG_X86_INTEL_PSTATE=y\n")).unwrap();
    let examined = examine_file(&intel, "x", governor("conservative"));
    says(found(&examined, "kernel", "default governor"), Mark::Missing, &["intel_pstate", "cpufreq.default_governor="]);
    // Without the governor no word does it; as a module it has to be there before the driver.
    let todo = |config: String, name| {
        let examined = examine_file(&Config::parse(&config).unwrap(), "x", governor(name));
        found(&examined, "kernel", "default governor").todo.clone().unwrap()
    };
    let off = todo(CONFIG.replace("CONFIG_CPU_FREQ_GOV_ONDEMAND=", "CONFIG_X="), "ondemand");
    assert!(off.contains("as the fragment does") && !off.contains("without building"), "{off}");
    let module = todo(CONFIG.to_owned(), "ondemand");
    assert!(module.contains("load cpufreq_ondemand before the driver"), "{module}");
    let active = todo(format!("{CONFIG}CONFIG_X86_INTEL_PSTATE=y\n"), "ondemand");
    assert!(active.contains("write intel_pstate=passive cpufreq.default_governor=ondemand"), "{active}");
    let old = todo(CONFIG.replace("6.1.192", "5.4.0"), "ondemand");
    assert!(old.contains("after each boot") && !old.contains("command line"), "{old}");
    assert!(DefaultGovernor::parse("turbo").is_err_and(|why| why.contains("takes performance, powersave")));
    // One without cpufreq and without a driver lacks both; a board of another kind gets its own menus and drivers.
    let bare =
        "# Linux/arm64 6.1.0 Kernel Configuration\nCONFIG_ARM64=y\nCONFIG_OF=y\nCONFIG_HAVE_CLK=y\nCONFIG_SMP=y\n";
    let examined = examine_file(&Config::parse(bare).unwrap(), "x", None);
    says(
        found(&examined, "kernel", "CONFIG_CPU_FREQ"),
        Mark::Missing,
        &["CPU Power Management → CPU Frequency scaling"],
    );
    says(found(&examined, "kernel", "CONFIG_CPUFREQ_DT"), Mark::Missing, &["Generic DT based cpufreq driver"]);
}

#[test]
fn a_machine_of_nothing_is_no_reason_to_fail() {
    let examined = examine(&mut bare(), None, None);
    says(found(&examined, "driver", "driver"), Mark::Missing, &["BIOS"]);
    assert_eq!(examined.missing(), 1, "{examined:#?}");
}

#[test]
fn a_file_that_stands_for_others_and_cannot_be_read_is_named() {
    let swappiness = "/proc/sys/vm/swappiness";
    let state = "/sys/devices/system/cpu/cpu0/cpuidle/state1/disable";
    let mut fake = with(whole(), &[(state, "0\n")]);
    says(found(&examine(&mut fake, None, None), "reach", "sysctl.*"), Mark::Ok, &["/proc/sys"]);
    fake.unreadable.extend([(swappiness.to_owned(), Errno::EFBIG), (state.to_owned(), Errno::EILSEQ)]);
    let examined = examine(&mut fake, None, None);
    says(found(&examined, "reach", "sysctl.*"), Mark::Note, &[swappiness, "EFBIG"]);
    says(found(&examined, "reach", &format!("file:{state}")), Mark::Note, &["EILSEQ"]);
    // What is told in its own place is not told again.
    assert!(examined.sections.iter().all(|section| section.name != "unread"), "{examined:#?}");
}

#[test]
fn a_file_that_was_taken_for_absent_and_cannot_be_read_is_named() {
    let mut fake = whole();
    let [vendor, process] = ["/sys/class/dmi/id/sys_vendor", "/proc/1/cgroup"];
    fake.unreadable.extend([(vendor.to_owned(), Errno::EIO), (process.to_owned(), Errno::ENOENT)]);
    let examined = examine(&mut fake, None, None);
    says(found(&examined, "unread", vendor), Mark::Note, &["cannot be read", "EIO"]);
    assert_eq!(examined.sections.last().unwrap().findings.len(), 1);
}

#[test]
fn a_symbol_is_not_missed_in_kernels_before_it_came() {
    for (release, missed) in [("2.6.18-398.el5", false), ("2.6.19", true), ("2.6.32", true), ("3.10.0", true)] {
        let heading = format!("# Linux kernel version: {release}");
        let text =
            CONFIG.replace("# Linux/x86 6.1.192 Kernel Configuration", &heading).replace("CONFIG_PROC_SYSCTL=y\n", "");
        let given = (Config::parse(&text).unwrap(), "given".to_owned());
        let kernel = examine(&mut whole(), Some(given), None).kernel.unwrap();
        let is_asked = kernel.symbols.iter().any(|row| row.symbol == "CONFIG_PROC_SYSCTL");
        let is_added = kernel.fragment.contains(&"CONFIG_PROC_SYSCTL=y".to_owned());
        assert_eq!((is_asked, is_added), (missed, missed), "{release}");
    }
}
