//! The network devices, in words.
use crate::look::{Devices, NetDevice};
use crate::{Probed, ProbedParameter};
use powerband_machine::PARAMETERS;

use super::lines::Lines;

/// Parameters that are told also when a driver has them not.
const ALWAYS: [&str; 6] = ["adaptive-rx", "adaptive-tx", "rx-usecs", "rx-frames", "tx-usecs", "tx-frames"];

/// Driver, link and coalescing of each.
pub fn net(lines: &mut Lines, devices: &Devices) {
    if devices.devices.is_empty() {
        lines.say(0, "net: the kernel shows no network device (/proc/net/dev)");
    }
    for device in &devices.devices {
        lines.say(0, &format!("net: {}: {}", device.name, link(device).join(", ")));
        lines.say(4, &coalescing(device));
    }
}

fn link(device: &NetDevice) -> Vec<String> {
    let mut told =
        vec![device.driver.as_ref().map_or_else(|| "no driver named".into(), |name| format!("driver {name}"))];
    told.extend(device.state.clone());
    told.extend(device.carrier.map(|there| if there { "link".to_owned() } else { "no link".to_owned() }));
    told.extend(device.speed_mbit.map(|mbit| format!("{mbit} Mbit/s")));
    told.extend(device.duplex.as_ref().map(|duplex| format!("{duplex} duplex")));
    told.extend(device.mtu_bytes.map(|bytes| format!("mtu {bytes} bytes")));
    told
}

/// As `ethtool -c` does, the parameters hardly any driver has left out where this one has them not.
fn coalescing(device: &NetDevice) -> String {
    if let Some(why) = &device.no_coalescing {
        return format!("coalescing n/a: {why}");
    }
    let told = PARAMETERS.iter().filter_map(|parameter| {
        let value = device.coalescing.get(parameter.name).copied().flatten();
        let value = value.map(|value| parameter.typed(value));
        let value = value.or_else(|| ALWAYS.contains(&parameter.name).then(|| "n/a".to_owned()))?;
        Some(format!("{} {value}", parameter.name))
    });
    format!("coalescing {}", told.collect::<Vec<_>>().join(", "))
}

/// More refused values than this are not listed.
const LISTED: usize = 6;

/// What probing found, and that it is over.
pub fn probed(lines: &mut Lines, all: &[Probed]) {
    if all.is_empty() {
        lines.say(0, "probed: no driver of a network device coalesces");
    }
    for probed in all {
        let device = &probed.device;
        if probed.parameters.is_empty() {
            lines.say(0, &format!("probed: {device}: its driver has no number to set"));
            continue;
        }
        for found in &probed.parameters {
            lines.say(0, &format!("probed: {device}: {} {}", found.name, takes(found)));
        }
        let names: Vec<&str> = probed.parameters.iter().map(|found| found.name).collect();
        let off = match &probed.switched_off[..] {
            [] => String::new(),
            switches => format!(", with {} off meanwhile", switches.join(" and ")),
        };
        let (names, times) = (names.join(", "), probed.settings);
        lines.say(0, &format!("probed: {device}: set {names}, {times} times in all{off}; everything was restored"));
    }
}

fn takes(found: &ProbedParameter) -> String {
    let stretch = |&(low, high): &(u32, u32)| if low == high { low.to_string() } else { format!("{low} to {high}") };
    let stretches: Vec<String> = found.takes.iter().map(stretch).collect();
    let mut refused: Vec<String> = found.refused.keys().take(LISTED).map(u32::to_string).collect();
    if found.refused.len() > LISTED {
        refused.push("…".into());
    }
    let why = found.refused.values().next().map(ToString::to_string).unwrap_or_default();
    if stretches.is_empty() {
        return format!("takes nothing that was tried: {why}");
    }
    let mut told = format!("takes {}", stretches.join(", "));
    if found.is_open() {
        told += " and perhaps more";
    }
    if let Some(step) = found.step {
        told += &format!(", in steps of {step}");
    }
    if let Some(most) = found.clamped_to {
        told += &format!("; more becomes {most}");
    }
    if !found.ignored.is_empty() {
        let ignored: Vec<String> = found.ignored.iter().map(u32::to_string).collect();
        let change = if ignored.len() == 1 { "changes" } else { "change" };
        told += &format!("; ignores {}, which {change} nothing", ignored.join(", "));
    }
    if !refused.is_empty() {
        told += &format!("; refused {}: {why}", refused.join(", "));
    }
    told
}
