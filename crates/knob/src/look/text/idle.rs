//! The idle states, in words and a table.
use crate::look::{CpuIdle, CpuIdleState, Idle, NO_REQUEST_US};
use powerband_record::{CpuList, format_duration};

use super::lines::{Lines, alike, cpus_named, or_unknown};

/// Driver, states, limits on waking up.
pub fn idle(lines: &mut Lines, idle: &Idle) {
    let mut told = format!(
        "idle: driver {}, governor {}",
        idle.driver.as_deref().unwrap_or("none"),
        idle.governor.as_deref().unwrap_or("none")
    );
    if !idle.available_governors.is_empty() {
        told += &format!(" (of {})", idle.available_governors.join(", "));
    }
    lines.say(0, &told);
    if idle.cpus.is_empty() {
        lines.say(4, "no CPU has idle states to choose from");
    }
    for group in alike(&idle.cpus, has_the_same_states) {
        table(lines, &group);
    }
    match idle.cpu_dma_latency_us {
        Some(NO_REQUEST_US) => lines.say(4, "no limit on wake-up latency: no process holds /dev/cpu_dma_latency"),
        Some(us) => lines.say(4, &format!("wake-up latency limited to {us} us: a process holds /dev/cpu_dma_latency")),
        None => {}
    }
    for limit in &idle.resume_limits {
        let most = match limit.latency_us.as_str() {
            "n/a" => "no time at all".to_owned(),
            us => format!("{us} us"),
        };
        lines.say(4, &format!("waking up {} may take {most} (pm_qos_resume_latency_us)", cpus_named(&limit.cpus)));
    }
}

fn has_the_same_states(one: &CpuIdle, other: &CpuIdle) -> bool {
    let shape = |state: &CpuIdleState| (state.state.clone(), state.name.clone(), state.latency_us, state.residency_us);
    one.states.iter().map(shape).eq(other.states.iter().map(shape))
}

/// One line a state: sums over the CPUs, and on which of them it is kept from use.
fn table(lines: &mut Lines, group: &[&CpuIdle]) {
    let cpus = CpuList::new(group.iter().map(|cpu| cpu.cpu).collect());
    lines.say(4, &format!("{}:", cpus_named(&cpus)));
    let head = ["state", "latency", "residency", "entered", "time", "too deep", "too shallow"];
    lines.row(&row(&head.map(str::to_owned)));
    for (number, state) in group.first().iter().flat_map(|cpu| cpu.states.iter().enumerate()) {
        let all: Vec<(u32, &CpuIdleState)> =
            group.iter().filter_map(|cpu| Some((cpu.cpu, cpu.states.get(number)?))).collect();
        let sum = |value: fn(&CpuIdleState) -> Option<u64>| {
            let told: Vec<u64> = all.iter().filter_map(|(_, state)| value(state)).collect();
            (!told.is_empty()).then(|| told.into_iter().fold(0, u64::saturating_add))
        };
        let us = |value: Option<u64>| or_unknown(value.map(|us| format!("{us} us")));
        let count = |value: Option<u64>| value.map_or_else(|| "-".into(), |count| count.to_string());
        let time = sum(|state| state.time_us).map(|us| format_duration(us.saturating_mul(1000)));
        lines.row(&row(&[
            state.name.clone().unwrap_or_else(|| state.state.clone()),
            us(state.latency_us),
            state.residency_us.map_or_else(|| "-".into(), |us| format!("{us} us")),
            count(sum(|state| state.entered)),
            time.unwrap_or_else(|| "-".into()),
            count(sum(|state| state.too_deep)),
            count(sum(|state| state.too_shallow)),
        ]));
        let off: Vec<u32> = all.iter().filter(|(_, state)| state.disabled == Some(true)).map(|(cpu, _)| *cpu).collect();
        if !off.is_empty() {
            lines.say(8, &format!("kept from use on {}", cpus_named(&CpuList::new(off))));
        }
    }
}

/// 80 columns: a name to the left, figures to the right.
fn row([name, latency, residency, entered, time, too_deep, too_shallow]: &[String; 7]) -> String {
    format!("    {name:<8} {latency:>9} {residency:>10} {entered:>11} {time:>12} {too_deep:>9} {too_shallow:>11}")
}
