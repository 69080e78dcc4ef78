//! `power_supply`: what batteries and supplies give, under /sys/class/power_supply.
use powerband_machine::{Errno, Look};
use powerband_sysfs::power::POWER_SUPPLY as FOLDER;

use crate::{Absent, FileScale, Kind, Meter, MeterAbout, MeterInstance, PowerScope, Window};

/// Batteries and supplies that show their power.
#[derive(Clone, Copy, Debug)]
pub struct PowerSupply;

const ABOUT: MeterAbout = MeterAbout {
    name: "power_supply",
    summary: "what a battery or a supply gives",
    unit: "uW, or uA times uV",
    boundary: "a discharging battery: the whole machine; a supply: what hangs on it",
    kind: "gauge",
    cost: "one or two reads a second; some are answered by a slow controller",
    source: "Linux Documentation/ABI/testing/sysfs-class-power",
};

/// Interval assumed, ns; no file tells it.
const ASSUMED_NS: u64 = 1_000_000_000;

/// Microamperes times microvolts are a millionth of microwatts.
const UA_UV: FileScale = FileScale { times: 1, per: 1_000_000 };

impl Meter for PowerSupply {
    fn about(&self) -> &'static MeterAbout {
        &ABOUT
    }

    fn find(&self, machine: &mut dyn Look) -> Result<Vec<MeterInstance>, Absent> {
        let absent = |why: String| Absent::new(ABOUT.name, why);
        let supplies = machine.list(FOLDER).map_err(|errno| absent(format!("{FOLDER}: {errno}")))?;
        let (mut found, mut reasons) = (Vec::new(), Vec::new());
        for supply in supplies {
            match meter(machine, &supply.name) {
                Ok(meter) => found.push(meter),
                Err(why) => reasons.push(format!("{} {why}", supply.name)),
            }
        }
        if !found.is_empty() {
            return Ok(found);
        }
        let why = if reasons.is_empty() { "there is no battery and no supply".into() } else { reasons.join("; ") };
        Err(absent(why))
    }
}

/// One supply, or why its numbers are not what the machine draws.
fn meter(machine: &mut dyn Look, name: &str) -> Result<MeterInstance, String> {
    let mut text = |file: &str| powerband_sysfs::text(machine, &format!("{FOLDER}/{name}/{file}"));
    if text("scope").as_deref() == Some("Device") {
        return Err("belongs to a device outside the machine".into());
    }
    let battery = text("type").as_deref() == Some("Battery");
    match text("status").as_deref() {
        Some("Discharging") | None => {}
        Some(status) if battery => {
            let status = status.to_lowercase();
            return Err(format!("is {status}, so it does not feed the machine; unplug the supply to measure by it"));
        }
        Some(_) => {}
    }
    let file = |file: &str| format!("{FOLDER}/{name}/{file}");
    let (source, times, scale) = if text("power_now").is_some() {
        (file("power_now"), None, FileScale { times: 1, per: 1 })
    } else if text("current_now").is_some() && text("voltage_now").is_some() {
        (file("current_now"), Some(file("voltage_now")), UA_UV)
    } else {
        let unreadable = |errno: Errno| (errno != Errno::ENOENT).then(|| format!("shows no power: {errno}"));
        let why = machine.read(&file("power_now")).err().and_then(unreadable);
        return Err(why.unwrap_or_else(|| "shows neither power nor a current with its voltage".into()));
    };
    let mut notes = vec!["it does not report how often it measures; once per second is assumed".to_owned()];
    let scope = if battery {
        notes.push("batteries answer late and smoothed; leave out the first half minute after unplugging".into());
        PowerScope::Battery(name.to_owned())
    } else {
        PowerScope::Unknown
    };
    let kind = Kind::Gauge { interval_ns: ASSUMED_NS, window: Window::Instant };
    let meter = MeterInstance::new(ABOUT.name, name.to_owned(), source, kind);
    Ok(MeterInstance { times, scale, scope, notes, ..meter })
}
