//! Lists of values: udev rules, tmpfiles.d, sysfs.d, sysctl.d, module options.
use powerband_persist::{BootPhase, BootStanding};

use crate::tree::{Tree, at, cpus, empty};

fn machine(governor: &str) -> Tree {
    cpus("acpi-cpufreq", "ondemand performance powersave schedutil", governor)
        .default_governor("schedutil")
        .systemd(&[])
}

#[test]
fn a_udev_rule_sets_an_attribute() {
    let path = "/etc/udev/rules.d/50-governor.rules";
    let rule = "# a rule\nSUBSYSTEM==\"cpu\", ACTION==\"add\", \\\n  ATTR{cpufreq/scaling_governor}=\"performance\"\n";
    let why = machine("performance").file(path, rule).why("governor");
    assert_eq!((at(&why, path).line, at(&why, path).phase), (Some(2), BootPhase::Devices));
    assert!(
        why.sentence.ends_with("then udev (when a device of cpu says add) sets performance; it reads performance now")
    );
    let one = "KERNEL==\"cpu[2-9]\", SUBSYSTEM==\"cpu\", ATTR{cpufreq/scaling_governor}=\"performance\"\n";
    assert_eq!(at(&machine("performance").file(path, one).why("governor"), path).sites, ["policy2"]);
    let run = "SUBSYSTEM==\"cpu\", RUN+=\"/bin/sh -c 'echo performance > /sys$devpath/cpufreq/scaling_governor'\"\n";
    assert_eq!(at(&machine("performance").file(path, run).why("governor"), path).values, ["performance"]);
    let compared = "SUBSYSTEM==\"cpu\", ATTR{cpufreq/scaling_governor}==\"performance\", TAG+=\"x\"\n";
    assert_eq!(machine("performance").file(path, compared).why("governor").findings.len(), 1);
}

#[test]
fn a_file_of_the_administrator_hides_one_of_the_same_name() {
    let rule = |governor: &str| format!("SUBSYSTEM==\"cpu\", ATTR{{cpufreq/scaling_governor}}=\"{governor}\"\n");
    let why = machine("powersave")
        .file("/usr/lib/udev/rules.d/50-x.rules", &rule("performance"))
        .file("/lib/udev/rules.d/50-x.rules", &rule("performance"))
        .file("/etc/udev/rules.d/50-x.rules", &rule("powersave"))
        .file("/etc/udev/rules.d/40-x.rules", &rule("ondemand"))
        .why("governor");
    let values: Vec<&str> = why.findings[1..].iter().map(|finding| finding.values[0].as_str()).collect();
    assert_eq!(values, ["ondemand", "powersave"], "in the order of names");
}

#[test]
fn tmpfiles_write_by_patterns() {
    let path = "/etc/tmpfiles.d/governor.conf";
    let line = "w /sys/devices/system/cpu/cpu[01]/cpufreq/scaling_governor - - - - performance\n";
    let mut tree = machine("performance").file(path, line);
    let why = tree.why("governor@policy0");
    assert!(
        why.sentence.ends_with("then systemd-tmpfiles sets performance; it reads performance now"),
        "{}",
        why.sentence
    );
    assert_eq!(tree.why("governor@policy2").findings.len(), 1);
    let both = tree.why("governor");
    assert!(
        both.sentence.starts_with("at policy0: ")
            && both.sentence.contains("at policy2: the kernel starts with schedutil")
    );
}

#[test]
fn sysfs_conf_needs_its_service() {
    let line = "devices/system/cpu/cpu0/cpufreq/scaling_governor = performance\n";
    let tree = || machine("performance").file("/etc/sysfs.conf", line);
    assert!(matches!(&at(&tree().why("governor"), "/etc/sysfs.conf").standing, BootStanding::Off { .. }));
    assert!(at(&tree().systemd(&["+sysfsutils"]).why("governor"), "/etc/sysfs.conf").explains);
}

fn swappiness(reads: &str) -> Tree {
    empty().systemd(&[]).file("/proc/sys/vm/swappiness", &format!("{reads}\n")).file("/proc/cmdline", "quiet\n")
}

#[test]
fn the_last_of_sysctl_d_wins() {
    let mut tree = swappiness("5")
        .file("/usr/lib/sysctl.d/50-default.conf", "# x\n-vm.swappiness = 60\nvm/overcommit_memory=1\n")
        .file("/etc/sysctl.d/90-mine.conf", "vm/swappiness=5\n");
    let why = tree.why("sysctl.vm.swappiness");
    assert_eq!(
        why.sentence,
        "/usr/lib/sysctl.d/50-default.conf sets 60, then /etc/sysctl.d/90-mine.conf sets 5; it reads 5 now"
    );
    let first = &at(&why, "/usr/lib/sysctl.d/50-default.conf").standing;
    assert_eq!(*first, BootStanding::Overridden { by: "/etc/sysctl.d/90-mine.conf".into() });
}

#[test]
fn sysctl_conf_counts_where_something_reads_it() {
    let line = "vm.swappiness=5\n";
    let linked = swappiness("5")
        .file("/etc/sysctl.conf", line)
        .file("/etc/sysctl.d/99-sysctl.conf", line)
        .why("sysctl.vm.swappiness");
    assert_eq!(linked.findings.len(), 1);
    let alone = swappiness("5").file("/etc/sysctl.conf", line).why("sysctl.vm.swappiness");
    assert!(
        alone.sentence.contains("perhaps /etc/sysctl.conf (/etc/sysctl.conf:1): systemd reads only sysctl.d"),
        "{}",
        alone.sentence
    );
    let before =
        empty().file("/proc/sys/vm/swappiness", "5\n").file("/etc/sysctl.conf", line).why("sysctl.vm.swappiness");
    assert!(before.sentence.ends_with("/etc/sysctl.conf sets 5; it reads 5 now"), "{}", before.sentence);
}

#[test]
fn what_nothing_sets_is_said_so() {
    assert_eq!(
        swappiness("60").why("sysctl.vm.swappiness").sentence,
        "nothing found here sets 60; it is its own default, or something set it by hand or at run time"
    );
    let line = swappiness("7").file("/proc/cmdline", "sysctl.vm.swappiness=7\n").why("sysctl.vm.swappiness");
    assert!(line.sentence.starts_with("the command line sets 7 (sysctl.vm.swappiness=7)"), "{}", line.sentence);
}

#[test]
fn a_parameter_of_a_module_comes_from_the_command_line_or_modprobe() {
    let knob = "file:/sys/module/snd_hda_intel/parameters/power_save";
    let tree = || empty().file("/sys/module/snd_hda_intel/parameters/power_save", "1\n");
    let why = tree().file("/etc/modprobe.d/audio.conf", "# x\noptions snd-hda-intel power_save=1 x=2\n").why(knob);
    assert_eq!(
        (at(&why, "/etc/modprobe.d/audio.conf").line, at(&why, "/etc/modprobe.d/audio.conf").explains),
        (Some(2), true)
    );
    let why = tree().file("/proc/cmdline", "snd-hda-intel.power_save=1 quiet\n").why(knob);
    assert!(why.sentence.starts_with("the command line sets 1"), "{}", why.sentence);
}
