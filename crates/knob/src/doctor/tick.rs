//! The timer tick: whether idle CPUs are left asleep, and how often governors can look.
use powerband_machine::Look;
use powerband_sysfs::{text, topology};

use super::config::Config;
use super::{DoctorFinding, Section};

/// What configuration and command line say of the tick; `machine` is absent for a configuration alone.
pub(super) fn section(config: Option<&Config>, machine: Option<&mut dyn Look>, cmdline: &str) -> Section {
    let mut findings: Vec<DoctorFinding> = mode(config, cmdline).into_iter().collect();
    let full = machine.and_then(|machine| text(machine, topology::NOHZ_FULL));
    if let Some(cpus) = full.filter(|cpus| !cpus.is_empty() && cpus != "(null)") {
        let told = format!(
            "cpus {cpus} run a single task without ticks; their load is sampled late by ondemand and conservative"
        );
        findings.push(DoctorFinding::note("nohz_full", told));
    }
    let hz: Option<u32> = config.and_then(|config| config.value("HZ")?.parse().ok()).filter(|&hz| hz > 0);
    if let Some(hz) = hz {
        let least_us = 2_000_000 / hz;
        findings.push(DoctorFinding::ok(
            "HZ",
            format!("{hz} ticks a second: sampling_rate of governors is at least {least_us} us"),
        ));
    }
    Section { name: "tick", title: "timer tick".into(), findings }
}

fn mode(config: Option<&Config>, cmdline: &str) -> Option<DoctorFinding> {
    const ABOUT: &str = "tick";
    const PERIODIC: &str = "periodic: idle CPUs are woken at every tick, which costs power and deep idle states";
    let off = cmdline
        .split_whitespace()
        .rfind(|word| word.starts_with("nohz="))
        .is_some_and(|word| matches!(word, "nohz=off" | "nohz=0" | "nohz=n"));
    if off {
        return Some(DoctorFinding::note(ABOUT, PERIODIC).with("take nohz=off off the kernel's command line"));
    }
    let config = config?;
    // Before Linux 3.10 there was NO_HZ alone.
    let has = |name: &str| config.has(name);
    Some(if has("NO_HZ_FULL") {
        DoctorFinding::ok(ABOUT, "stops on idle CPUs, and on busy ones where nohz_full= says so (CONFIG_NO_HZ_FULL)")
    } else if has("NO_HZ_IDLE") || has("NO_HZ") {
        DoctorFinding::ok(ABOUT, "stops on idle CPUs (CONFIG_NO_HZ_IDLE)")
    } else if has("HZ_PERIODIC") {
        DoctorFinding::note(ABOUT, PERIODIC).with(
            "choose \"Idle dynticks system (tickless idle)\" at General setup → Timers subsystem → Timer tick handling",
        )
    } else {
        return None;
    })
}
