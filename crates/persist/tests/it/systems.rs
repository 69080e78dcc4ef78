//! The chain of whole systems, from the kernel's default to what reads now.
use powerband_persist::{BootPhase, BootStanding};

use crate::tree::{Tree, acting, at, cpus};

/// CentOS 6: everything by scripts, cpufreq a module. Also in `crates/powerband/tests/it/explained.rs`.
fn centos(governor: &str, driver: &str) -> Tree {
    cpus(driver, "ondemand userspace performance powersave conservative", governor)
        .file("/boot/config-6.1.0", "CONFIG_CPU_FREQ_DEFAULT_GOV_USERSPACE=y\nCONFIG_X86_ACPI_CPUFREQ=m\n")
        .file("/etc/inittab", "id:3:initdefault:\n")
        .executable("/etc/init.d/cpuspeed", "#!/bin/sh\nstart() {\n    modprobe acpi-cpufreq\n}\n")
        .file("/etc/sysconfig/cpuspeed", "DRIVER=\nGOVERNOR=\nMAX_SPEED=\nMIN_SPEED=\nUP_THRESHOLD=\n")
        .file("/etc/rc3.d/S06cpuspeed", "")
        .file("/etc/rc5.d/S06cpuspeed", "")
        .file("/etc/rc0.d/K94cpuspeed", "")
}

#[test]
fn centos_6_goes_from_userspace_to_ondemand_by_cpuspeed() {
    let why = centos("ondemand", "acpi-cpufreq").why("governor");
    assert_eq!(
        why.sentence,
        "the kernel starts with userspace (CONFIG_CPU_FREQ_DEFAULT_GOV_USERSPACE), then cpuspeed (on in runlevel 3) \
         loads acpi-cpufreq and sets ondemand, because the driver is acpi-cpufreq; it reads ondemand now"
    );
    let phases: Vec<BootPhase> = why.findings.iter().map(|finding| finding.phase).collect();
    assert_eq!(phases, [BootPhase::Kernel, BootPhase::Services]);
    let kernel = at(&why, "/boot/config-6.1.0");
    assert_eq!((kernel.line, &kernel.standing), (Some(1), &BootStanding::Overridden { by: "cpuspeed".into() }));
    let script = at(&why, "/etc/init.d/cpuspeed");
    assert!(script.explains && script.standing == BootStanding::Acts, "{script:?}");
    assert_eq!(script.sites, ["policy0", "policy2"]);
}

#[test]
fn cpuspeed_goes_by_its_driver_and_its_configuration() {
    let why = centos("userspace", "p4-clockmod").why("governor");
    assert!(
        why.sentence.contains("sets userspace, because the driver is p4-clockmod, on which its own daemon"),
        "{}",
        why.sentence
    );
    let configured =
        centos("performance", "acpi-cpufreq").file("/etc/sysconfig/cpuspeed", "# GOVERNOR=x\nGOVERNOR=performance\n");
    let why =
        configured.file("/etc/sysconfig/cpuspeed", "DRIVER=powernow-k8\nGOVERNOR=\"performance\"\n").why("governor");
    let config = at(&why, "/etc/sysconfig/cpuspeed");
    assert_eq!((config.line, config.explains), (Some(2), true));
    assert!(why.sentence.contains("loads powernow-k8 and sets performance"), "{}", why.sentence);
}

#[test]
fn cpuspeed_that_is_off_explains_nothing() {
    let why = centos("ondemand", "acpi-cpufreq").file("/etc/inittab", "id:1:initdefault:\n").why("governor");
    let off = at(&why, "/etc/init.d/cpuspeed");
    assert_eq!(off.standing, BootStanding::Off { why: "cpuspeed is not on in runlevel 1".into() });
    assert_eq!(
        why.sentence,
        "the kernel starts with userspace (CONFIG_CPU_FREQ_DEFAULT_GOV_USERSPACE); but it reads ondemand now, and nothing \
         found here sets that: something set it by hand or at run time; cpuspeed (/etc/init.d/cpuspeed) would set that, \
         but cpuspeed is not on in runlevel 1"
    );
}

#[test]
fn cpuspeed_writes_tunables_too() {
    let tree = centos("ondemand", "acpi-cpufreq")
        .file("/sys/devices/system/cpu/cpufreq/ondemand/up_threshold", "98\n")
        .file("/etc/sysconfig/cpuspeed", "UP_THRESHOLD=98\nMAX_SPEED=2000000\n");
    let mut tree = tree;
    let why = tree.why("ondemand.up_threshold");
    assert!(why.sentence.ends_with("cpuspeed (on in runlevel 3) sets 98; it reads 98 now"), "{}", why.sentence);
    let limit = tree.why("max_freq");
    assert_eq!(at(&limit, "/etc/sysconfig/cpuspeed").values, ["2000000"]);
    assert!(!at(&limit, "/etc/sysconfig/cpuspeed").explains, "the limit reads 3 GHz");
}

#[test]
fn debian_keeps_the_kernels_default() {
    let mut tree =
        cpus("acpi-cpufreq", "performance schedutil", "schedutil").default_governor("schedutil").systemd(&[]);
    assert_eq!(
        tree.why("governor").sentence,
        "the kernel starts with schedutil (CONFIG_CPU_FREQ_DEFAULT_GOV_SCHEDUTIL), and nothing found here changes it; it \
         reads schedutil now"
    );
}

/// Debian with cpufrequtils, whose script a generator starts.
fn cpufrequtils(governor: &str) -> Tree {
    let script = "#!/bin/sh\nENABLE=\"true\"\nGOVERNOR=\"ondemand\"\nMAX_SPEED=\"0\"\nMIN_SPEED=\"0\"\n";
    cpus("acpi-cpufreq", "ondemand performance schedutil", governor)
        .default_governor("schedutil")
        .systemd(&[])
        .executable("/etc/init.d/cpufrequtils", script)
        .file("/etc/rc2.d/S01cpufrequtils", "")
}

#[test]
fn cpufrequtils_has_a_default_in_its_script_and_another_in_its_configuration() {
    let why = cpufrequtils("ondemand").why("governor");
    assert!(why.sentence.ends_with("then cpufrequtils (on in runlevel 2) sets ondemand; it reads ondemand now"));
    assert_eq!(at(&why, "/etc/init.d/cpufrequtils").line, Some(3));
    let configured = |text: &str, reads| cpufrequtils(reads).file("/etc/default/cpufrequtils", text).why("governor");
    let why = configured("GOVERNOR='performance'\n", "performance");
    assert!(at(&why, "/etc/default/cpufrequtils").explains, "{why:?}");
    let why = configured("ENABLE=\"false\"\nGOVERNOR=performance\n", "schedutil");
    let off = BootStanding::Off { why: "/etc/default/cpufrequtils does not say ENABLE=true".into() };
    assert_eq!(at(&why, "/etc/default/cpufrequtils").standing, off);
    assert!(why.sentence.contains("nothing found here changes it"), "{}", why.sentence);
    // Zero is no limit; a limit is one.
    assert_eq!(cpufrequtils("ondemand").why("max_freq").findings, []);
    let mut limited = cpufrequtils("ondemand").file("/etc/default/cpufrequtils", "MAX_SPEED=3000000");
    assert!(limited.why("max_freq").sentence.contains("sets 3000000; it reads 3000 MHz now"));
}

#[test]
fn ubuntu_changes_the_governor_a_minute_after_boot() {
    let script = cpus("acpi-cpufreq", "conservative ondemand performance powersave", "ondemand")
        .default_governor("performance")
        .executable("/etc/init.d/ondemand", "#!/bin/sh\nsleep 60\n")
        .file("/etc/rc2.d/S99ondemand", "")
        .why("governor");
    assert_eq!(
        script.sentence,
        "the kernel starts with performance (CONFIG_CPU_FREQ_DEFAULT_GOV_PERFORMANCE), then ondemand (on in runlevel 2) \
         sets ondemand, a minute after boot: the first of interactive, ondemand, powersave that is offered; it reads \
         ondemand now"
    );
    let unit = cpus("intel_pstate", "performance powersave", "powersave").default_governor("performance");
    let command = "[Service]\nExecStart=/lib/systemd/set-cpufreq\n";
    let unit = unit.systemd(&["+ondemand"]).file("/usr/lib/systemd/system/ondemand.service", command);
    let mut unit = unit.executable(
        "/lib/systemd/set-cpufreq",
        "echo powersave > /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor\n",
    );
    let unit = unit.why("governor");
    assert_eq!(acting(&unit).len(), 2, "told once beside the driver: {unit:?}");
    assert!(
        unit.sentence.contains("then ondemand (enabled for multi-user.target) sets powersave"),
        "{}",
        unit.sentence
    );
    assert!(unit.sentence.contains("at the end of the boot"), "{}", unit.sentence);
    // The script of old looked at nothing.
    let text = "#!/bin/sh\nsleep 60\nfor f in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do echo ondemand > $f; done\n";
    let old = cpus("acpi-cpufreq", "performance powersave", "performance").default_governor("performance");
    let old = old.executable("/etc/init.d/ondemand", text).file("/etc/rc2.d/S99ondemand", "").why("governor");
    assert!(!old.sentence.contains("sets powersave"), "{}", old.sentence);
}

#[test]
fn a_driver_that_picks_the_frequency_has_a_default_of_its_own() {
    let intel = || cpus("intel_pstate", "performance powersave", "powersave");
    let why = intel().default_governor("schedutil").why("governor");
    assert_eq!(
        why.sentence,
        "the driver intel_pstate starts with powersave, because it has only performance and powersave, and the kernel's \
         default is neither, and nothing found here changes it; it reads powersave now"
    );
    let kernel = at(&why, "/boot/config-6.1.0");
    assert!(
        matches!(&kernel.standing, BootStanding::Off { why } if why.contains("offers only performance, powersave"))
    );
    let why = intel().default_governor("powersave").why("governor");
    assert_eq!(acting(&why).len(), 1, "a default the driver has is taken over");
    let amd = |profile| {
        let tree = cpus("amd-pstate-epp", "performance powersave", "performance").default_governor("schedutil");
        tree.file("/sys/firmware/acpi/pm_profile", profile).why("governor").sentence
    };
    assert!(amd("4\n").contains("it reads performance now") && !amd("4\n").contains("but it reads"), "a server");
    assert!(amd("2\n").contains("starts with powersave") && amd("2\n").contains("but it reads"), "a laptop");
}

#[test]
fn the_command_line_wins_over_the_configuration() {
    let tree = cpus("acpi-cpufreq", "ondemand performance schedutil", "performance").default_governor("schedutil");
    let line =
        "BOOT_IMAGE=/vmlinuz intel_pstate=disable cpufreq.default_governor=performance -- cpufreq.default_governor=x";
    let why = tree.file("/proc/cmdline", line).why("governor");
    assert_eq!(
        why.sentence,
        "the kernel starts with schedutil (CONFIG_CPU_FREQ_DEFAULT_GOV_SCHEDUTIL), then the command line asks for \
         performance (cpufreq.default_governor=performance); it reads performance now"
    );
    assert!(why.findings.iter().any(|finding| finding.text == "intel_pstate=disable"));
}

#[test]
fn without_a_configuration_the_kernels_parameter_tells() {
    let bare = || cpus("acpi-cpufreq", "ondemand schedutil", "schedutil");
    let why = bare().file("/sys/module/cpufreq/parameters/default_governor", "schedutil\n").why("governor");
    assert!(
        why.sentence.starts_with("the kernel starts with schedutil (its default), and nothing"),
        "{}",
        why.sentence
    );
    let why = bare().unreadable("/proc/config.gz", powerband_machine::Errno::EILSEQ).why("governor");
    assert!(matches!(&at(&why, "/proc/config.gz").standing, BootStanding::Unreadable { why } if why.contains("zgrep")));
    assert_eq!(
        why.sentence,
        "nothing found here sets schedutil; it is the kernel's own default, which cannot be read here, or something set it \
         by hand or at run time; 1 file could not be read"
    );
}
