//! Several that set the same: the later wins, and it is told.
use powerband_persist::{BootPhase, BootStanding};

use crate::tree::{acting, at, cpus};

const ALL: &str = "conservative ondemand userspace powersave performance schedutil";

#[test]
fn of_two_that_set_it_the_later_wins() {
    let why = cpus("acpi-cpufreq", ALL, "performance")
        .default_governor("schedutil")
        .systemd(&["+cpupower", "+tuned"])
        .file("/etc/udev/rules.d/50-x.rules", "SUBSYSTEM==\"cpu\", ATTR{cpufreq/scaling_governor}=\"powersave\"\n")
        .file("/etc/default/cpupower", "governor=ondemand\n")
        .file("/etc/tuned/active_profile", "mine\n")
        .file("/usr/lib/tuned/mine/tuned.conf", "[cpu]\ngovernor=performance\n")
        .why("governor");
    let chain: Vec<(&str, &str)> = acting(&why).iter().map(|f| (f.who.as_str(), f.values[0].as_str())).collect();
    assert_eq!(
        chain,
        [("the kernel", "schedutil"), ("udev", "powersave"), ("cpupower", "ondemand"), ("TuneD", "performance")]
    );
    for finding in &why.findings[..3] {
        assert_eq!(finding.standing, BootStanding::Overridden { by: "TuneD".into() });
    }
    assert!(why.findings.is_sorted_by_key(|finding| finding.phase));
    assert_eq!(why.findings.iter().filter(|finding| finding.explains).count(), 1);
}

#[test]
fn scripts_start_one_after_the_other() {
    let why = cpus("acpi-cpufreq", ALL, "ondemand")
        .executable("/etc/init.d/cpuspeed", "#!/bin/sh\n")
        .file("/etc/rc2.d/S06cpuspeed", "")
        .executable("/etc/init.d/ktune", "#!/bin/sh\n")
        .file("/etc/rc2.d/S27ktune", "")
        .file("/etc/tune-profiles/active-profile", "latency\n")
        .file("/etc/tune-profiles/latency/ktune.sh", "start() {\n  set_cpu_governor performance\n}\n")
        .why("governor");
    assert!(why.sentence.contains("by its profile latency; but it reads ondemand now"), "{}", why.sentence);
    assert!(why.findings.iter().all(|finding| !finding.explains));
}

#[test]
fn of_daemons_that_start_side_by_side_the_one_that_reads_came_last() {
    let both = |reads: &str| {
        cpus("acpi-cpufreq", ALL, reads)
            .systemd(&["+tlp", "+tuned"])
            .file("/etc/tlp.conf", "CPU_SCALING_GOVERNOR_ON_AC=powersave\n")
            .file("/etc/tuned/active_profile", "mine\n")
            .file("/etc/tuned/mine/tuned.conf", "[cpu]\ngovernor=performance\n")
            .why("governor")
    };
    let tlp = both("powersave");
    assert!(at(&tlp, "/etc/tlp.conf").explains, "{}", tlp.sentence);
    assert!(
        tlp.sentence.ends_with("sets powersave, as the machine is on the mains; it reads powersave now"),
        "{}",
        tlp.sentence
    );
    assert_eq!(at(&tlp, "/etc/tuned/mine/tuned.conf").standing, BootStanding::Overridden { by: "TLP".into() });
    assert!(at(&both("performance"), "/etc/tuned/mine/tuned.conf").explains);
    let neither = both("schedutil");
    assert!(neither.findings.iter().all(|finding| !finding.explains && finding.phase == BootPhase::Daemons));
    assert!(neither.sentence.contains("nothing found here sets that"), "{}", neither.sentence);
}
