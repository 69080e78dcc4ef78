//! A setting on a real kernel is turned whole or not at all, what differs between policies is counted, and clocks witness.
use powerband_bench_virtual::Guest;
use serde_json::json;

use crate::desk::{Desk, on_desk};

/// Values in the order of turning; the ninth is one that the kernel refuses.
const EIGHT: &str = "governor@policy0=ondemand governor@policy1=conservative ondemand.up_threshold=70 \
    ondemand.sampling_down_factor=5 conservative.freq_step=20 conservative.down_threshold=30 max_freq@policy0=2133MHz \
    max_freq@policy1=2133MHz";
const FOUR: &str =
    "sysctl.vm.swappiness=500 sysctl.vm.dirty_ratio=30 sysctl.vm.overcommit_ratio=60 sysctl.vm.stat_interval=2";

/// Everything that they concern.
fn all(desk: &mut Guest) -> String {
    desk.knobs() + &desk.sh("cd /proc/sys/vm; cat swappiness dirty_ratio overcommit_ratio stat_interval")
}

#[test]
fn of_twelve_values_none_is_turned_where_the_kernel_refuses_the_ninth_or_the_owner_is_killed_before_it() {
    on_desk(|desk| {
        let before = all(desk);
        let planned = desk.powerband(0, &format!("set --dry-run {EIGHT} {FOUR}"));
        let steps: Vec<&str> = planned.lines().filter(|line| !line.starts_with("note: ")).collect();
        assert_eq!(steps.len(), 12, "{planned}");
        assert!(steps[8].starts_with("sysctl.vm.swappiness"), "{planned}");
        let (_, why) = desk.ended(2, &format!("powerband set {EIGHT} {FOUR}"));
        assert!(why.contains("sysctl.vm.swappiness=500") && why.contains("nothing is changed"), "{why}");
        assert_eq!(all(desk), before);
        assert_eq!(desk.json("info turned")["turned"], json!([]));

        let slow = "[knobs.slow]\nget = \"echo 0\"\nset = \"touch /run/begun; sleep 600; : {value}\"\n";
        desk.put("/run/knobs.toml", slow.as_bytes()).unwrap();
        let owner = desk.start(&format!("setsid powerband set --knobs /run/knobs.toml {EIGHT} slow=1"));
        desk.until("the ninth has begun", |desk| desk.sh("ls /run").contains("begun"));
        let turned = all(desk);
        assert!(turned.contains("governor: conservative") && turned.matches(": 2133000").count() == 2, "{turned}");
        desk.sh(&format!("kill -9 {owner}"));
        desk.until("everything is back", |desk| all(desk) == before);
        desk.until_nobody();
        assert_eq!(desk.json("info turned")["turned"], json!([]));
    });
}

/// What is told of a setting with a line that is waited for: in one moment a CPU that has nothing to do may have to serve
/// another.
#[track_caller]
fn witnessed(desk: &mut Guest, is: impl Fn(&str) -> bool) -> String {
    let mut told = String::new();
    for _ in 0..10 {
        told = desk.powerband(0, "set governor=userspace freq=1600MHz");
        desk.powerband(0, "undo");
        if told.lines().any(&is) {
            return told;
        }
    }
    panic!("ten times otherwise: {told}");
}

#[test]
fn a_governor_at_one_of_two_policies_is_told_as_such_and_a_clock_witnesses_while_its_cpu_works() {
    on_desk(|desk| {
        desk.sh("echo ondemand >/sys/devices/system/cpu/cpufreq/policy1/scaling_governor");
        let got = desk.powerband(0, "get governor");
        assert!(got.contains("cpufreq.governor: schedutil at 1 of 2, ondemand at 1 of 2 sites"), "{got}");
        let info = desk.powerband(0, "info cpu");
        assert!(info.contains("governors: schedutil at 1 of 2, ondemand at 1 of 2 policies"), "{info}");
        desk.sh("echo schedutil >/sys/devices/system/cpu/cpufreq/policy1/scaling_governor");
        assert!(!desk.powerband(0, "get governor").contains("of 2"));

        let kept = "cannot verify the frequency while the CPU is idle; the kernel kept it at 1600 MHz by time_in_state";
        let idle = witnessed(desk, |line| line.contains(kept));
        assert!(idle.contains("applied to 4 of 4 targets"), "{idle}");
        let spinner = desk.start("taskset 2 sh -c 'while :; do :; done'");
        // The other CPU is among those that work where the command itself keeps it busy.
        let runs = "policy1: asked 1600 MHz, runs at 1600 MHz by time_in_state";
        witnessed(desk, |line| line.starts_with("witness: ") && line.ends_with(runs));
        let (_, heard) = desk.ended(0, "powerband with -c 1 max_freq=1867MHz -- sleep 1");
        assert!(heard.contains("witness: policy1: asked at most 1867 MHz, runs at "), "{heard}");
        desk.sh(&format!("kill {spinner}"));
    });
}
