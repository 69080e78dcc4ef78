//! The network devices, in words.
use powerband_knob::look::{Device, Devices};
use powerband_machine::PARAMETERS;

use super::lines::Lines;

/// Parameters that are told also when a driver has them not.
const ALWAYS: [&str; 6] = ["adaptive-rx", "adaptive-tx", "rx-usecs", "rx-frames", "tx-usecs", "tx-frames"];

/// Driver, link and coalescing of each.
pub(super) fn net(lines: &mut Lines, devices: &Devices) {
    if devices.devices.is_empty() {
        lines.say(0, "net: the kernel shows no network device (/proc/net/dev)");
    }
    for device in &devices.devices {
        lines.say(0, &format!("net: {}: {}", device.name, link(device).join(", ")));
        lines.say(4, &coalescing(device));
    }
}

fn link(device: &Device) -> Vec<String> {
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
fn coalescing(device: &Device) -> String {
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
