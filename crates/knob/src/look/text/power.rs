//! Limits of power and heat, in words.
use crate::look::{Power, Throttled, ZoneLimit};
use powerband_record::{CpuList, format_duration, format_number};

use super::lines::{Lines, alike, cpus_named, or_unknown};

/// Zones, cooling, the firmware's profile, throttling.
pub fn power(lines: &mut Lines, power: &Power) {
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

fn told(limit: &ZoneLimit) -> String {
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
        let times = |what: &str, count: Option<u64>, ms: Option<u64>| {
            let long = ms.map(|ms| format!(" ({})", format_duration(ms.saturating_mul(1_000_000))));
            count.map(|count| format!("{what} {count} times{}", long.unwrap_or_default()))
        };
        let core = times("each core", first.core_count, first.core_time_ms);
        let package = times("the package", first.package_count, first.package_time_ms);
        let told: Vec<String> = core.into_iter().chain(package).collect();
        lines.say(0, &format!("power: heat slowed {}: {}", named(&group), told.join(", ")));
    }
    if !calm.is_empty() {
        let calm: Vec<&Throttled> = calm.iter().collect();
        lines.say(0, &format!("power: heat never slowed {}", named(&calm)));
    }
}

#[cfg(test)]
mod tests {
    use crate::look::{Cooling, Zone};

    use super::*;

    #[test]
    fn limits_cooling_and_throttling_read_as_sentences() {
        let limit = ZoneLimit {
            name: Some("long_term".into()),
            power_limit_uw: Some(15_000_000),
            time_window_us: Some(28_000_000),
            max_power_uw: Some(0),
        };
        let heat = |cpu, core_count, package_count| Throttled {
            cpu,
            core_count,
            core_time_ms: Some(1500),
            package_count,
            package_time_ms: None,
        };
        let found = Power {
            zones: vec![Zone {
                zone: "intel-rapl:0".into(),
                name: Some("package-0".into()),
                enabled: Some(true),
                limits: vec![limit],
            }],
            cooling: vec![Cooling {
                device: "cooling_device1".into(),
                kind: "Processor".into(),
                state: Some(3),
                max_state: Some(10),
            }],
            profile: Some("balanced".into()),
            available_profiles: vec!["low-power".into(), "balanced".into()],
            throttled: vec![heat(0, Some(2), Some(5)), heat(1, Some(0), Some(0)), heat(2, Some(2), Some(5))],
            unread: Vec::new(),
        };
        let mut lines = Lines::default();
        power(&mut lines, &found);
        let told = "power: package-0 (intel-rapl:0), in force\n    long_term 15 W over 28 s\n\
                    power: the firmware's profile is balanced (of low-power, balanced)\n\
                    power: cooling_device1 (Processor) holds CPUs down: 3 of 10\n\
                    power: heat slowed cpus 0,2: each core 2 times (1.5 s), the package 5 times\n\
                    power: heat never slowed cpu 1\n";
        assert_eq!(lines.text(), told);
    }
}
