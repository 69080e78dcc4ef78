//! .link files of systemd: what udev sets on a network card when it appears. One file a card, the first that fits.
use powerband_machine::Look;
use powerband_sysfs::{net, text};

use crate::finding::{BootFinding, BootStanding};
use crate::glob;
use crate::keys::{Key, keys};
use crate::scene::{Scene, shelved};

pub(super) fn look(scene: &mut Scene<'_>) {
    let Some(wanted) = scene.target.parameter().and_then(option_of) else { return };
    let mut free: Vec<String> = scene.target.everywhere();
    for path in scene.shelved("systemd/network", ".link") {
        if scene.text(&path).is_none() {
            continue;
        }
        let keys = with_drop_ins(scene.machine(), &path);
        let mut standings: Vec<(String, BootStanding)> = Vec::new();
        for device in free.clone() {
            match applies(scene.machine(), &path, &keys, &device) {
                Some(true) => standings.push((device, BootStanding::Acts)),
                Some(false) => {}
                None => {
                    let why = "whether it applies to this device is not known".to_owned();
                    standings.push((device, BootStanding::Unsure { why }));
                }
            }
        }
        let key = keys.iter().rfind(|(_, key)| key.section == "Link" && key.name == wanted);
        for (device, standing) in standings {
            if standing == BootStanding::Acts {
                free.retain(|other| *other != device);
            }
            let value = key.and_then(|found| value(&wanted, &found.1.value).map(|value| (found, value)));
            if let Some(((file, key), value)) = value {
                let finding = BootFinding::new("udev", file.clone()).line(key.line, &key.text).standing(standing);
                scene.push(finding.how("when the device appears").sets(vec![value], vec![device]));
            }
        }
    }
}

/// The assignments of a file and then of its drop-ins, each with the file it stands in.
fn with_drop_ins(machine: &mut dyn Look, path: &str) -> Vec<(String, Key)> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let drop_ins = shelved(machine, &format!("systemd/network/{name}.d"), ".conf");
    let mut found = Vec::new();
    for file in std::iter::once(path.to_owned()).chain(drop_ins) {
        let text = machine.read(&file).unwrap_or_default();
        found.extend(keys(&text).into_iter().map(|key| (file.clone(), key)));
    }
    found
}

/// The file that udev applies to a device; `None` where there is none, or an earlier one may apply.
pub(crate) fn file_of(machine: &mut dyn Look, device: &str) -> Option<String> {
    for path in shelved(machine, "systemd/network", ".link") {
        let keys = with_drop_ins(machine, &path);
        if applies(machine, &path, &keys, device)? {
            return Some(path);
        }
    }
    None
}

/// What systemd.link(5) calls a parameter of coalescing.
pub(crate) fn option_of(parameter: &str) -> Option<String> {
    Some(match parameter {
        "adaptive-rx" => "UseAdaptiveRxCoalesce".into(),
        "adaptive-tx" => "UseAdaptiveTxCoalesce".into(),
        "pkt-rate-low" => "CoalescePacketRateLow".into(),
        "pkt-rate-high" => "CoalescePacketRateHigh".into(),
        "sample-interval" => "CoalescePacketRateSampleIntervalSec".into(),
        "stats-block-usecs" => "StatisticsBlockCoalesceSec".into(),
        other => {
            let (way, rest) = other.split_at_checked(2)?;
            let way = match way {
                "rx" => "Rx",
                "tx" => "Tx",
                _ => return None,
            };
            let rest = rest.strip_prefix('-')?;
            let (kind, when) = rest.split_once('-').unwrap_or((rest, ""));
            let when = match when {
                "" => "",
                "irq" => "Irq",
                "low" => "Low",
                "high" => "High",
                _ => return None,
            };
            match kind {
                "usecs" => format!("{way}{when}CoalesceSec"),
                "frames" => format!("{way}Max{when}CoalescedFrames"),
                _ => return None,
            }
        }
    })
}

/// The value as `ethtool -C` takes it: microseconds, seconds for the sample interval, on or off.
fn value(option: &str, text: &str) -> Option<String> {
    if option.starts_with("UseAdaptive") {
        let on = matches!(text.to_lowercase().as_str(), "yes" | "true" | "on" | "1");
        return Some(if on { "on" } else { "off" }.to_owned());
    }
    if option.ends_with("Sec") {
        let us = time_us(text)?;
        return Some(if option.contains("SampleInterval") { us / 1_000_000 } else { us }.to_string());
    }
    (!text.is_empty()).then(|| text.to_owned())
}

/// A time as systemd writes it, in microseconds; a bare number is seconds.
fn time_us(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "us" | "usec" | "µs" => 1,
        "ms" | "msec" => 1000,
        "" | "s" | "sec" | "second" | "seconds" => 1_000_000,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// Whether udev applies a file to a device that no earlier one was for: as its database has it, or else as the file says.
fn applies(machine: &mut dyn Look, path: &str, keys: &[(String, Key)], device: &str) -> Option<bool> {
    match property(machine, device, "ID_NET_LINK_FILE") {
        Some(applied) => Some(applied.rsplit('/').next() == path.rsplit('/').next()),
        None => fits(machine, keys, device),
    }
}

/// What udev's database has of a device, by the name of a property.
fn property(machine: &mut dyn Look, device: &str, name: &str) -> Option<String> {
    let index = text(machine, &net::file(device, "ifindex"))?;
    let known = machine.read(&format!("/run/udev/data/n{index}")).ok()?;
    let prefix = format!("E:{name}=");
    known.lines().find_map(|line| line.strip_prefix(prefix.as_str()).map(str::to_owned))
}

/// Whether a file is for a device; `None` when it asks what cannot be told from here.
fn fits(machine: &mut dyn Look, keys: &[(String, Key)], device: &str) -> Option<bool> {
    let mut sure = true;
    for (_, key) in keys.iter().filter(|(_, key)| key.section == "Match") {
        let (wanted, negated) = key.value.strip_prefix('!').map_or((key.value.as_str(), false), |rest| (rest, true));
        let found = match key.name.as_str() {
            // The name it had before udev gave it another is forgotten.
            "OriginalName" if wanted == "*" => Some(true),
            "OriginalName" | "Name" => {
                wanted.split_whitespace().any(|name| glob::matches(name, device)).then_some(true)
            }
            "MACAddress" | "PermanentMACAddress" => {
                let address = net::address(machine, device).unwrap_or_default().to_lowercase();
                Some(wanted.split_whitespace().any(|one| one.to_lowercase().replace('-', ":") == address))
            }
            "Driver" => machine.read(&net::event(device)).ok().map(|text| {
                let driver = net::driver_in(&text).unwrap_or_default();
                wanted.split_whitespace().any(|name| glob::matches(name, &driver))
            }),
            _ => None,
        };
        match found {
            Some(found) if found == negated => return Some(false),
            Some(_) => {}
            None => sure = false,
        }
    }
    sure.then_some(true)
}
