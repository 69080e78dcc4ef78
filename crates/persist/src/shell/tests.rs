//! What counts as setting a knob in shell text, and what only looks like it.
use powerband_knob::{Selection, resolve};
use powerband_sim::{Profile, SimWorld};

use super::*;

/// The values a text sets of the governor on a simulated machine with four policies, with their sites.
fn set_by(text: &str) -> Vec<(Option<String>, Vec<String>)> {
    let mut world = SimWorld::new(Profile::builtin("quadcore").unwrap(), None, 1).unwrap();
    let machine = powerband_machine::World::machine(&mut world, powerband_record::Side::Near).unwrap();
    let named = resolve("governor").unwrap();
    let sites = named.knob.sites(&named.name, machine, &Selection::everywhere()).unwrap().sites;
    let target = Target::new(named, sites, machine);
    claims(text, &target).into_iter().map(|claim| (claim.value, claim.sites)).collect()
}

#[test]
fn every_way_to_write_a_governor_is_recognised() {
    for text in [
        "echo performance > /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        "echo -n \"performance\" >/sys/devices/system/cpu/cpufreq/policy*/scaling_governor 2>/dev/null",
        "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor >/dev/null",
        "printf '%s\\n' performance > /sys/bus/cpu/devices/cpu*/cpufreq/scaling_governor",
        "for c in $(seq 0 3); do echo performance > /sys/devices/system/cpu/cpu$c/cpufreq/scaling_governor; done",
        "for c in 0 1 2 3\ndo\n  echo performance > /sys/devices/system/cpu/cpu${c}/cpufreq/scaling_governor\ndone",
        "D=/sys/devices/system/cpu\nfor f in $D/cpu*/cpufreq/scaling_governor; do [ -w $f ] && echo performance > $f; done",
        "G=${GOVERNOR:-performance}; cpupower frequency-set -g \"$G\"",
        "/usr/bin/cpupower -c all frequency-set --governor=performance",
        "[ -x /usr/bin/cpupower ] && exec cpupower frequency-set -gperformance || true",
        "cpufreq-set -c 0-3 -r -g performance",
        "bash -c \"sh -c 'cpupower frequency-set -g performance'\"",
        "start() {\n  set_cpu_governor performance\n}\nstop() {\n  set_cpu_governor ondemand\n}",
    ] {
        let found = set_by(text);
        let [(value, sites)] = &found[..] else { panic!("{text}: {found:?}") };
        assert_eq!((value.as_deref(), sites.len()), (Some("performance"), 4), "{text}");
    }
}

#[test]
fn what_only_looks_like_it_is_left_alone() {
    for text in [
        "# echo performance > /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "echo 'echo performance > /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor'",
        "cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "echo performance > /sys/devices/system/cpu/cpu0/cpufreq/scaling_setspeed",
        "echo performance > \"$file\"",
        "cpupower frequency-info -g performance",
        "cpupower frequency-set -u 2GHz",
        "grep performance < /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "stop() {\n  echo performance > /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor\n}",
    ] {
        assert_eq!(set_by(text), [], "{text}");
    }
}

#[test]
fn sites_and_values_are_no_more_than_what_is_written() {
    let one = |text: &str| set_by(text).remove(0);
    assert_eq!(one("echo x > /sys/devices/system/cpu/cpu2/cpufreq/scaling_governor").1.len(), 1);
    assert_eq!(one("cpufreq-set -g x").1.len(), 1, "the first CPU");
    let unknown = one("echo $GOVERNOR > /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    assert_eq!(unknown.0, None);
    let fixed = one("cpupower frequency-set -f 2GHz");
    assert_eq!(fixed.0.as_deref(), Some("userspace"), "a fixed frequency needs it");
}

#[test]
fn keys_of_sysctl_are_written_both_ways() {
    for (key, path) in [
        ("vm.swappiness", "/proc/sys/vm/swappiness"),
        ("-net/ipv4/conf/eth0.5/forwarding", "/proc/sys/net/ipv4/conf/eth0.5/forwarding"),
        ("net.ipv4.conf.eth0/5.forwarding", "/proc/sys/net/ipv4/conf/eth0.5/forwarding"),
    ] {
        assert_eq!(sysctl_path(key), path);
    }
}
