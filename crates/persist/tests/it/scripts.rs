//! Scripts of the administrator: rc.local, cron, init scripts without a source of their own, the old tuned.
use powerband_persist::{BootPhase, BootStanding};

use crate::tree::{Tree, at, cpus};

fn machine(governor: &str) -> Tree {
    cpus("acpi-cpufreq", "ondemand performance powersave schedutil", governor).default_governor("schedutil")
}

#[test]
fn rc_local_acts_last_and_only_before_its_exit() {
    let text = "#!/bin/sh\n# echo ondemand > /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor\n\
                for f in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do echo performance > \"$f\"; done\n\
                exit 0\necho powersave > /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor\n";
    let why = machine("performance").executable("/etc/rc.local", text).why("governor");
    let told: Vec<(Option<usize>, BootPhase)> = why.findings[1..].iter().map(|f| (f.line, f.phase)).collect();
    assert_eq!(told, [(Some(3), BootPhase::Late)]);
    assert!(why.sentence.ends_with("then rc.local sets performance; it reads performance now"), "{}", why.sentence);
    let plain = machine("schedutil").systemd(&[]).file("/etc/rc.local", text).why("governor");
    let off = BootStanding::Off { why: "/etc/rc.local may not be executed".into() };
    assert_eq!(at(&plain, "/etc/rc.local").standing, off);
}

#[test]
fn cron_runs_some_jobs_at_boot() {
    let command = "cpufreq-set -c 2 -g powersave";
    let mut tree = machine("powersave")
        .file("/etc/cron.d/fast", &format!("MAILTO=x\n@reboot root {command}\n* * * * * root {command}\n"));
    let why = tree.why("governor@policy2");
    assert!(why.sentence.ends_with("then cron (@reboot) sets powersave; it reads powersave now"), "{}", why.sentence);
    assert_eq!((at(&why, "/etc/cron.d/fast").line, why.findings.len()), (Some(2), 2));
    assert!(tree.why("governor@policy0").findings.iter().all(|finding| finding.phase == BootPhase::Kernel));
    let mut own = machine("performance")
        .file("/var/spool/cron/root", "@reboot sleep 5 && /root/fast\n")
        .executable("/root/fast", "#!/bin/sh\nG=performance\nsudo cpupower -c all frequency-set --governor=$G\n");
    assert_eq!(at(&own.why("governor"), "/root/fast").line, Some(3));
}

#[test]
fn any_init_script_that_is_started_is_read() {
    let text = "#!/bin/sh\ncase \"$1\" in\n  start)\n    echo performance > /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor\n    ;;\n\
                \x20 stop)\n    echo ondemand > /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor\n    ;;\nesac\n";
    let script = || machine("performance").executable("/etc/init.d/fast", text);
    let why = script().file("/etc/rc2.d/S20fast", "").why("governor");
    let told: Vec<(Option<usize>, &[String])> = why.findings[1..].iter().map(|f| (f.line, &f.sites[..])).collect();
    assert_eq!(told, [(Some(4), &["policy0".to_owned()][..])]);
    assert_eq!(script().file("/etc/rc3.d/S20fast", "").why("governor").findings.len(), 1, "not in this runlevel");
}

#[test]
fn the_tuned_of_centos_6_sets_it_in_a_function() {
    let script = "#!/bin/sh\n. /etc/tune-profiles/functions\nstart() {\n\tset_cpu_governor performance\n}\nstop() {\n\tset_cpu_governor ondemand\n}\n";
    let why = machine("performance")
        .file("/etc/tune-profiles/active-profile", "latency\n")
        .file("/etc/tune-profiles/latency/ktune.sh", script)
        .executable("/etc/init.d/ktune", "#!/bin/sh\n")
        .file("/etc/rc2.d/S27ktune", "")
        .why("governor");
    assert!(
        why.sentence.ends_with(
            "then tuned (on in runlevel 2) sets performance, by its profile latency; it reads performance now"
        )
    );
}
