//! `hwmon`: power and energy of sensor chips, power supplies and firmware meters under /sys/class/hwmon.
use powerband_machine::Look;
use powerband_sysfs::{names, parsed, power::HWMON as FOLDER, power::POWER_SUPPLY, text};

use crate::{Absent, Kind, Meter, MeterAbout, MeterInstance, PowerScope, Window};

/// Sensors of the kernel's hardware monitoring class.
#[derive(Clone, Copy, Debug)]
pub struct Hwmon;

const ABOUT: MeterAbout = MeterAbout {
    name: "hwmon",
    summary: "power and energy of sensor chips, power supplies and firmware meters",
    unit: "uW, uJ",
    boundary: "what the chip is wired to: its name and the channel's label say it, if anything does",
    kind: "gauge (power) and counter (energy)",
    cost: "one read per update of the meter; some chips sit on a slow bus and hold the reader for milliseconds",
    source: "Linux Documentation/hwmon/sysfs-interface.rst",
};

/// A reading below this is none of a chip that measures a supply, uW: some drivers count in mW where the kernel's rules say uW.
const MIN_UW: i64 = 1_000;

/// Interval assumed for a gauge that tells none, ns: firmware meters average over about a second.
const ASSUMED_NS: u64 = 1_000_000_000;

const NS_PER_MS: u64 = 1_000_000;

impl Meter for Hwmon {
    fn about(&self) -> &'static MeterAbout {
        &ABOUT
    }

    fn find(&self, machine: &mut dyn Look) -> Result<Vec<MeterInstance>, Absent> {
        let absent = |why: String| Absent::new(ABOUT.name, why);
        let chips = machine.list(FOLDER).map_err(|errno| absent(format!("{FOLDER}: {errno}")))?;
        if chips.is_empty() {
            return Err(absent(format!("{FOLDER} is empty; a virtual machine usually has no sensors")));
        }
        let (mut found, mut names) = (Vec::new(), Vec::new());
        for chip in chips {
            let chip = Chip::open(machine, &format!("{FOLDER}/{}", chip.name));
            match chip.feeds_nobody(machine) {
                Some(status) => names.push(format!("{} (a battery that is {status})", chip.name)),
                None => {
                    found.extend(chip.meters(machine));
                    names.push(chip.name);
                }
            }
        }
        if found.is_empty() {
            return Err(absent(format!("no sensor measures power here; the chips are: {}", names.join(", "))));
        }
        Ok(found)
    }
}

/// One chip.
struct Chip {
    name: String,
    /// Folder its channels are in: the chip's own, or `device` in it on kernels before 3.13 or so.
    folder: String,
    files: Vec<String>,
}

impl Chip {
    fn open(machine: &mut dyn Look, folder: &str) -> Chip {
        let device = format!("{folder}/device");
        let mut chip = Chip { name: String::new(), folder: folder.to_owned(), files: Vec::new() };
        for place in [folder, &device] {
            let files = names(machine, place);
            if chip.name.is_empty() {
                chip.name = text(machine, &format!("{place}/name")).unwrap_or_default();
            }
            if files.iter().any(|file| channel(file).is_some()) {
                (chip.folder, chip.files) = (place.to_owned(), files);
                break;
            }
        }
        if chip.name.is_empty() {
            chip.name = folder.rsplit('/').next().unwrap_or(folder).to_owned();
        }
        chip
    }

    fn meters(&self, machine: &mut dyn Look) -> Vec<MeterInstance> {
        let mut meters = Vec::new();
        for file in &self.files {
            let Some((channel, form)) = channel(file) else { continue };
            // Where a chip shows both, its own average misses nothing between two looks.
            if form == Form::Instant && self.files.contains(&format!("{channel}_average")) {
                continue;
            }
            let label = text(machine, &format!("{}/{channel}_label", self.folder)).filter(|text| !text.is_empty());
            let mut notes = Vec::new();
            if label.is_none() {
                notes.push(format!("the chip does not say what {channel} of {} measures", self.name));
            }
            let kind = match form {
                Form::Energy => Kind::Counter { wrap: None },
                Form::Average | Form::Instant => self.gauge(machine, &channel, form, &mut notes),
            };
            let boundary = format!("{} {}", self.name, label.unwrap_or(channel));
            let source = format!("{}/{file}", self.folder);
            let reads: Option<i64> = parsed(machine, &source).filter(|_| form != Form::Energy);
            if let Some(uw) = reads.filter(|uw| (1..MIN_UW).contains(&uw.abs())) {
                notes.push(format!(
                    "it reads {uw} uW, too little for a supply in use; its driver may count in another unit"
                ));
            }
            let meter = MeterInstance::new(ABOUT.name, boundary, source, kind);
            meters.push(MeterInstance { scope: self.scope(), notes, ..meter });
        }
        meters
    }

    /// What a battery does other than discharge, if it is one and says so: then its power is not what the machine draws.
    fn feeds_nobody(&self, machine: &mut dyn Look) -> Option<String> {
        let PowerScope::Battery(_) = self.scope() else { return None };
        let status = text(machine, &format!("{POWER_SUPPLY}/{}/status", self.name))?.to_lowercase();
        (status != "discharging").then_some(status)
    }

    /// ACPI's meter sits at the supply of the whole machine; batteries show themselves here, too.
    fn scope(&self) -> PowerScope {
        match self.name.as_str() {
            "power_meter" => PowerScope::Machine,
            battery if battery.starts_with("BAT") => PowerScope::Battery(battery.to_owned()),
            _ => PowerScope::Unknown,
        }
    }

    fn gauge(&self, machine: &mut dyn Look, channel: &str, form: Form, notes: &mut Vec<String>) -> Kind {
        let mut ms = |file: String| -> Option<u64> {
            let ms: u64 = parsed(machine, &format!("{}/{file}", self.folder))?;
            (ms > 0).then_some(ms)
        };
        let averaged = (form == Form::Average).then(|| ms(format!("{channel}_average_interval"))).flatten();
        let interval_ns = averaged.or_else(|| ms("update_interval".into())).map(|ms| ms.saturating_mul(NS_PER_MS));
        if interval_ns.is_none() {
            notes.push("the chip does not report how often it measures; once per second is assumed".into());
        }
        let window = if form == Form::Average { Window::Before } else { Window::Instant };
        Kind::Gauge { interval_ns: interval_ns.unwrap_or(ASSUMED_NS), window }
    }
}

/// What a channel's file shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Average,
    Instant,
    Energy,
}

/// `power1_average` is channel `power1`.
fn channel(file: &str) -> Option<(String, Form)> {
    let (channel, rest) = file.split_once('_')?;
    let numbered = |prefix: &str| {
        channel.strip_prefix(prefix).is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let form = match rest {
        "average" if numbered("power") => Form::Average,
        "input" if numbered("power") => Form::Instant,
        "input" if numbered("energy") => Form::Energy,
        _ => return None,
    };
    Some((channel.to_owned(), form))
}
