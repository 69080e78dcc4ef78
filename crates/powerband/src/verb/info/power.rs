//! Limits of power and heat, in words.
use powerband_knob::look::{Limit, Power, Throttled};
use powerband_record::{CpuList, format_duration, format_number};

use super::lines::{Lines, alike, cpus_named, or_unknown};

/// Zones, cooling, the firmware's profile, throttling.
pub(super) fn power(lines: &mut Lines, power: &Power) {
    zones(lines, power);
    if let Some(profile) = &power.profile {
        let of = power.available_profiles.join(", ");
        let of = if of.is_empty() { of } else { format!(" (of {of})") };
        lines.say(0, &format!("power: the firmware's profile is {profile}{of}"));
    }
    let holding: Vec<_> = power.cooling.iter().filter(|device| device.state.is_some_and(|state| state > 0)).collect();
    for device in &holding {
        let (state, most) = (or_unknown(device.state), or_unknown(device.max_state));
        lines.say(0, &format!("power: {} ({}) holds CPUs down: {state} of {most}", device.device, device.kind));
    }
    if let (true, count @ 1..) = (holding.is_empty(), power.cooling.len()) {
        lines.say(0, &format!("power: no cooling device holds CPUs down (of {count})"));
    }
    throttling(lines, &power.throttled);
}

fn zones(lines: &mut Lines, power: &Power) {
    if power.zones.is_empty() {
        lines.say(0, "power: the kernel shows no zone whose power can be limited (/sys/class/powercap)");
    }
    for zone in &power.zones {
        let enabled = match zone.enabled {
            Some(true) => ", in force",
            Some(false) => ", not in force",
            None => "",
        };
        let name = zone.name.as_deref().unwrap_or("?");
        let none = if zone.limits.is_empty() { "; no limits are shown" } else { "" };
        lines.say(0, &format!("power: {name} ({}){enabled}{none}", zone.zone));
        zone.limits.iter().for_each(|limit| lines.say(4, &told(limit)));
    }
}

fn told(limit: &Limit) -> String {
    let watts = |uw: u64| format!("{} W", format_number(uw as f64 / 1e6));
    let name = limit.name.as_deref().unwrap_or("a limit");
    let over = limit
        .time_window_us
        .map_or_else(String::new, |us| format!(" over {}", format_duration(us.saturating_mul(1000))));
    // 0 is a most that the hardware does not tell.
    let most =
        limit.max_power_uw.filter(|&uw| uw > 0).map_or_else(String::new, |uw| format!(", at most {}", watts(uw)));
    format!("{name} {}{over}{most}", or_unknown(limit.power_limit_uw.map(watts)))
}

fn throttling(lines: &mut Lines, all: &[Throttled]) {
    if all.is_empty() {
        return;
    }
    let counts = |one: &Throttled| (one.core_count, one.core_time_ms, one.package_count, one.package_time_ms);
    let (slowed, calm): (Vec<Throttled>, Vec<Throttled>) = all.iter().cloned().partition(|one| {
        one.core_count.is_some_and(|count| count > 0) || one.package_count.is_some_and(|count| count > 0)
    });
    let named = |group: &[&Throttled]| cpus_named(&CpuList::new(group.iter().map(|one| one.cpu).collect()));
    for group in alike(&slowed, |one, other| counts(one) == counts(other)) {
        let Some(first) = group.first() else { continue };
        let times = |count: Option<u64>, ms: Option<u64>| {
            let long = ms.map(|ms| format!(" ({})", format_duration(ms.saturating_mul(1_000_000))));
            format!("{} times{}", or_unknown(count), long.unwrap_or_default())
        };
        let core = times(first.core_count, first.core_time_ms);
        let package = times(first.package_count, first.package_time_ms);
        lines.say(0, &format!("power: heat slowed {}: each core {core}, the package {package}", named(&group)));
    }
    if !calm.is_empty() {
        let calm: Vec<&Throttled> = calm.iter().collect();
        lines.say(0, &format!("power: heat never slowed {}", named(&calm)));
    }
}
