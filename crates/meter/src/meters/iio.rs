//! `iio`: power channels of converters on a board (INA2xx and their like), under /sys/bus/iio/devices.
use powerband_machine::Look;
use powerband_sysfs::{names, power::IIO as FOLDER};

use crate::{Absent, FileScale, Kind, Meter, MeterAbout, MeterInstance, Window};

/// Power channels of industrial I/O devices.
#[derive(Clone, Copy, Debug)]
pub struct Iio;

const ABOUT: MeterAbout = MeterAbout {
    name: "iio",
    summary: "power channels of converters on the board (INA2xx and their like)",
    unit: "mW, or a raw number with its scale",
    boundary: "the wire the converter sits on: the device's name and the channel's label say it, if anything does",
    kind: "gauge",
    cost: "one read per update of the meter, over the bus the converter is on",
    source: "Linux Documentation/ABI/testing/sysfs-bus-iio",
};

/// Interval assumed for a device that tells none, ns.
const ASSUMED_NS: u64 = 1_000_000_000;

/// uW in the class's mW.
const UW: u64 = 1_000;

impl Meter for Iio {
    fn about(&self) -> &'static MeterAbout {
        &ABOUT
    }

    fn find(&self, machine: &mut dyn Look) -> Result<Vec<MeterInstance>, Absent> {
        let absent = |why: String| Absent::new(ABOUT.name, why);
        let devices = machine.list(FOLDER).map_err(|errno| absent(format!("{FOLDER}: {errno}")))?;
        let mut found = Vec::new();
        for device in &devices {
            found.extend(channels(machine, &device.name));
        }
        if found.is_empty() {
            return Err(absent(format!("no device under {FOLDER} measures power")));
        }
        Ok(found)
    }
}

fn channels(machine: &mut dyn Look, device: &str) -> Vec<MeterInstance> {
    let folder = format!("{FOLDER}/{device}");
    let files = names(machine, &folder);
    let mut text = |file: &str| {
        let text = powerband_sysfs::text(machine, &format!("{folder}/{file}"))?;
        (!text.is_empty()).then_some(text)
    };
    let name = text("name").unwrap_or_else(|| device.to_owned());
    let interval_ns = ["in_power_sampling_frequency", "in_sampling_frequency", "sampling_frequency"]
        .into_iter()
        .find_map(|file| period_ns(&text(file)?));
    let mut meters = Vec::new();
    for file in &files {
        let Some((channel, raw)) = channel(file) else { continue };
        if raw && files.contains(&format!("{channel}_input")) {
            continue;
        }
        let mut notes = Vec::new();
        let scale = if raw {
            let told = text(&format!("{channel}_scale")).or_else(|| text("in_power_scale"));
            // A raw number of unknown scale is not watts.
            let Some(scale) = told.and_then(|told| FileScale::decimal(&told, UW)) else { continue };
            scale
        } else {
            FileScale { times: UW, per: 1 }
        };
        let label = text(&format!("{channel}_label")).or_else(|| text("label"));
        if label.is_none() {
            notes.push(format!("the device does not say what {channel} of {name} measures"));
        }
        if interval_ns.is_none() {
            notes.push("the device does not report how often it measures; once per second is assumed".into());
        }
        let boundary = format!("{name} {}", label.unwrap_or_else(|| channel.to_owned()));
        let kind = Kind::Gauge { interval_ns: interval_ns.unwrap_or(ASSUMED_NS), window: Window::Instant };
        let meter = MeterInstance::new(ABOUT.name, boundary, format!("{folder}/{file}"), kind);
        meters.push(MeterInstance { scale, notes, updates_ns: interval_ns, ..meter });
    }
    meters
}

/// `in_power2_raw` is channel `in_power2`, raw.
fn channel(file: &str) -> Option<(&str, bool)> {
    let (channel, form) = file.rsplit_once('_')?;
    let number = channel.strip_prefix("in_power")?;
    let raw = match form {
        "raw" => true,
        "input" => false,
        _ => return None,
    };
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some((channel, raw))
}

/// From a frequency in Hz.
fn period_ns(hertz: &str) -> Option<u64> {
    let hertz: f64 = hertz.parse().ok()?;
    (hertz.is_finite() && hertz > 0.0).then(|| (1e9 / hertz) as u64).filter(|&ns| ns > 0)
}
