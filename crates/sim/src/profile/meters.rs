//! The part of a machine file on meters, and the files the kernel has of each.
use powerband_machine::{Errno, PerfPlace};
use powerband_record::CpuList;
use serde::Deserialize;

use super::ProfileError;
use super::file::{scaled, wrong};
use crate::meters::{MeterSpec, Share, Shows, Wrong};

/// The counter of a package has 32 bits of 2^-14 J.
const UNIT_UJ: f64 = 61.035;
const RANGE_UJ: u64 = 262_143_328_850;

/// Most updates of a meter that are kept, for its window and its delay.
const MAX_KEPT: u64 = 100_000;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Meters {
    powercap: Vec<Zone>,
    perf: Vec<Event>,
    hwmon: Vec<Sensor>,
}

/// A zone of `/sys/class/powercap`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Zone {
    zone: String,
    name: String,
    range_uj: Option<u64>,
    limit_w: Option<f64>,
    unit_uj: Option<f64>,
    update_ms: Option<f64>,
    covers: Covers,
    #[serde(default)]
    wrong: Faulty,
}

/// An event of perf's device `power`, which each package counts but for psys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Event {
    event: String,
    update_ms: Option<f64>,
    covers: Covers,
    #[serde(default)]
    wrong: Faulty,
}

/// A channel of a chip under `/sys/class/hwmon`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sensor {
    chip: String,
    name: String,
    channel: String,
    label: Option<String>,
    update_ms: f64,
    window_ms: Option<f64>,
    unit: Option<f64>,
    covers: Covers,
    #[serde(default)]
    wrong: Faulty,
}

/// Shares of what the parts of the machine draw.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Covers {
    package: Option<u32>,
    #[serde(default)]
    cpus: f64,
    #[serde(default)]
    packages: f64,
    #[serde(default)]
    platform: f64,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Faulty {
    dead_at_s: Option<f64>,
    frozen_at_s: Option<f64>,
    gone_at_s: Option<f64>,
    gone_with: Option<String>,
    spike_share: f64,
    late_s: f64,
}

impl Meters {
    /// Of the first CPU of each package; `threads` a core.
    pub(super) fn specs(&self, packages: u32, threads: u32, present: &CpuList) -> Result<Vec<MeterSpec>, ProfileError> {
        let cores = present.len() / (packages as usize * threads as usize).max(1);
        let firsts = present.as_slice().iter().step_by(cores.max(1)).take(packages as usize);
        let firsts: Vec<u32> = firsts.copied().collect();
        let events = self.perf.iter().flat_map(|event| event.specs(&firsts));
        let zones = self.powercap.iter().map(|zone| zone.spec(packages)).chain(events);
        let specs: Vec<MeterSpec> =
            zones.chain(self.hwmon.iter().map(|sensor| sensor.spec(packages))).collect::<Result<_, _>>()?;
        for (place, spec) in specs.iter().enumerate() {
            if specs[..place].iter().any(|other| other.path == spec.path) {
                return wrong("meters", format!("have {} twice", spec.path));
            }
            let window_ns = if let Shows::Power { window_ns, .. } = spec.shows { window_ns } else { 0 };
            if (spec.wrong.late_ns + window_ns) / spec.every_ns > MAX_KEPT {
                return wrong("meters", format!("are updated too often for so long a delay or window: {}", spec.path));
            }
        }
        Ok(specs)
    }
}

impl Zone {
    fn spec(&self, packages: u32) -> Result<MeterSpec, ProfileError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == ':';
        let Some((control, _)) = self.zone.split_once(':').filter(|_| self.zone.chars().all(fits)) else {
            return wrong("meters.powercap.zone", format!("is '{}'; write e.g. intel-rapl:0", self.zone));
        };
        let class = "/sys/class/powercap";
        let folder = format!("{class}/{}", self.zone);
        let range_uj = self.range_uj.unwrap_or(RANGE_UJ);
        if range_uj < 1_000 {
            return wrong("meters.powercap.range_uj", "must be 1000 or more");
        }
        let file = |name: &str| format!("{folder}/{name}");
        let mut beside = vec![
            (file("name"), format!("{}\n", word("meters.powercap.name", &self.name)?)),
            (file("max_energy_range_uj"), format!("{range_uj}\n")),
        ];
        let mut kept = vec![(file("enabled"), 1, 0, 1), (format!("{class}/{control}/enabled"), 1, 0, 1)];
        if let Some(limit_w) = self.limit_w {
            let limit_uw = scaled("meters.powercap.limit_w", limit_w, 1e6, (0.001, 1e5))?;
            let most = i64::try_from(limit_uw).unwrap_or(i64::MAX);
            beside.push((file("constraint_0_name"), "long_term\n".into()));
            beside.push((file("constraint_0_max_power_uw"), format!("{most}\n")));
            kept.push((file("constraint_0_power_limit_uw"), most, 0, most));
            kept.push((file("constraint_0_time_window_us"), 27_983_872, 976, 100_000_000));
        }
        let every_ns = every_ns("meters.powercap.update_ms", self.update_ms.unwrap_or(1.0))?;
        let unit_nj = scaled("meters.powercap.unit_uj", self.unit_uj.unwrap_or(UNIT_UJ), 1e3, (0.001, 1e9))?;
        Ok(MeterSpec {
            path: file("energy_uj"),
            beside,
            kept,
            mode: 0o400,
            share: self.covers.share(packages)?,
            shows: Shows::Energy { unit_nj, range_uj: Some(range_uj) },
            every_ns,
            wrong: self.wrong.spec(every_ns)?,
        })
    }
}

impl Event {
    fn specs(&self, firsts: &[u32]) -> Vec<Result<MeterSpec, ProfileError>> {
        let count = if self.event == "energy-psys" { 1 } else { firsts.len() };
        (0..).zip(firsts).take(count).map(|(package, cpu)| self.spec(package, *cpu, firsts)).collect()
    }

    fn spec(&self, package: u32, cpu: u32, firsts: &[u32]) -> Result<MeterSpec, ProfileError> {
        const EVENTS: [&str; 5] = ["energy-cores", "energy-pkg", "energy-ram", "energy-gpu", "energy-psys"];
        let Some(number) = EVENTS.iter().position(|event| *event == self.event) else {
            let known = EVENTS.join(", ");
            return wrong("meters.perf.event", format!("is '{}'; there are {known}", self.event));
        };
        if self.covers.package.is_some() {
            return wrong("meters.perf.covers", "needs no package: each has the event");
        }
        let place = PerfPlace { device: "power", event: &self.event, cpu };
        let (folder, file) = (place.folder(), place.file());
        let beside = vec![
            (format!("{folder}/type"), "9\n".into()),
            (format!("{folder}/cpumask"), format!("{}\n", CpuList::new(firsts.to_vec()))),
            (format!("{folder}/format/event"), "config:0-7\n".into()),
            (format!("{file}.scale"), "2.3283064365386962890625e-10\n".into()),
            (format!("{file}.unit"), "Joules\n".into()),
            (file, format!("event=0x{:02x}\n", number + 1)),
        ];
        let every_ns = every_ns("meters.perf.update_ms", self.update_ms.unwrap_or(1.0))?;
        let own = (self.event != "energy-psys").then_some(package);
        let share = Share { package: own, ..self.covers.share(package + 1)? };
        Ok(MeterSpec {
            path: place.to_string(),
            beside,
            kept: Vec::new(),
            mode: 0o400,
            share,
            shows: Shows::Counts,
            every_ns,
            wrong: self.wrong.spec(every_ns)?,
        })
    }
}

impl Sensor {
    fn spec(&self, packages: u32) -> Result<MeterSpec, ProfileError> {
        let numbered = |text: &str, prefix: &str| {
            text.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
        };
        if !numbered(&self.chip, "hwmon") {
            return wrong("meters.hwmon.chip", format!("is '{}'; write e.g. hwmon0", self.chip));
        }
        let (number, form) = self.channel.split_once('_').unwrap_or_default();
        let counts = numbered(number, "energy") && form == "input";
        if !(counts || numbered(number, "power") && matches!(form, "average" | "input")) {
            let known = "write e.g. power1_average, power1_input or energy1_input";
            return wrong("meters.hwmon.channel", format!("is '{}'; {known}", self.channel));
        }
        let every_ns = every_ns("meters.hwmon.update_ms", self.update_ms)?;
        let window_ns = match self.window_ms {
            Some(window_ms) => whole("meters.hwmon.window_ms", window_ms, 1e6, every_ns)?.max(every_ns),
            None => every_ns,
        };
        let unit = self.unit.unwrap_or(if counts { 1.0 } else { 1_000.0 });
        let shows = if counts {
            Shows::Energy { unit_nj: scaled("meters.hwmon.unit", unit, 1e3, (0.001, 1e9))?, range_uj: None }
        } else {
            Shows::Power { window_ns, unit_uw: scaled("meters.hwmon.unit", unit, 1.0, (1.0, 1e9))? }
        };
        let folder = self.folder();
        Ok(MeterSpec {
            path: format!("{folder}/{}", self.channel),
            beside: self.beside(&folder, (number, form), window_ns / 1_000_000)?,
            kept: Vec::new(),
            mode: 0o444,
            share: self.covers.share(packages)?,
            shows,
            every_ns,
            wrong: self.wrong.spec(every_ns)?,
        })
    }

    /// ACPI's power meter, whose driver leaves its files at the device.
    fn is_acpi(&self) -> bool {
        self.name == "power_meter"
    }

    fn folder(&self) -> String {
        format!("/sys/class/hwmon/{}{}", self.chip, if self.is_acpi() { "/device" } else { "" })
    }

    fn beside(
        &self,
        folder: &str,
        (number, form): (&str, &str),
        window_ms: u64,
    ) -> Result<Vec<(String, String)>, ProfileError> {
        let mut texts = vec![("name".to_owned(), word("meters.hwmon.name", &self.name)?)];
        if let Some(label) = &self.label {
            texts.push((format!("{number}_label"), label.replace('\n', " ")));
        }
        if form == "average" {
            texts.push((format!("{number}_average_interval"), window_ms.to_string()));
        }
        if self.is_acpi() {
            for bound in ["min", "max"] {
                texts.push((format!("{number}_average_interval_{bound}"), window_ms.to_string()));
            }
            texts.push((format!("{number}_accuracy"), "99.9%".into()));
            texts.push((format!("{number}_is_battery"), "0".into()));
            for what in ["model_number", "serial_number", "oem_info"] {
                texts.push((format!("{number}_{what}"), "simulated".into()));
            }
        } else if form == "input" && number.starts_with("power") {
            texts.push(("update_interval".into(), self.update_ms.to_string()));
        }
        Ok(texts.into_iter().map(|(name, text)| (format!("{folder}/{name}"), format!("{text}\n"))).collect())
    }
}

impl Covers {
    fn share(&self, packages: u32) -> Result<Share, ProfileError> {
        if self.package.is_some_and(|package| package >= packages) {
            return wrong("meters' covers.package", "is none of the machine's");
        }
        let ppm = |key, share| scaled(key, share, 1e6, (0.0, 10.0));
        Ok(Share {
            package: self.package,
            cpus_ppm: ppm("meters' covers.cpus", self.cpus)?,
            packages_ppm: ppm("meters' covers.packages", self.packages)?,
            platform_ppm: ppm("meters' covers.platform", self.platform)?,
        })
    }
}

impl Faulty {
    fn spec(&self, every_ns: u64) -> Result<Wrong, ProfileError> {
        let at = |key, at_s: Option<f64>| at_s.map(|at_s| scaled(key, at_s, 1e9, (0.0, 1e9))).transpose();
        let errno = match self.gone_with.as_deref() {
            None | Some("ENODEV") => Errno::ENODEV,
            Some("EIO") => Errno::EIO,
            Some(other) => return wrong("meters' wrong.gone_with", format!("is '{other}'; write ENODEV or EIO")),
        };
        Ok(Wrong {
            dead_at_ns: at("meters' wrong.dead_at_s", self.dead_at_s)?,
            frozen_at_ns: at("meters' wrong.frozen_at_s", self.frozen_at_s)?,
            gone_at_ns: at("meters' wrong.gone_at_s", self.gone_at_s)?.map(|at_ns| (at_ns, errno)),
            spikes_ppm: scaled("meters' wrong.spike_share", self.spike_share, 1e6, (0.0, 1.0))?,
            late_ns: whole("meters' wrong.late_s", self.late_s, 1e9, every_ns)?,
        })
    }
}

/// A time between updates, ns.
fn every_ns(key: &str, update_ms: f64) -> Result<u64, ProfileError> {
    scaled(key, update_ms, 1e6, (0.1, 1e6))
}

/// A time of whole updates, ns.
fn whole(key: &str, value: f64, unit: f64, every_ns: u64) -> Result<u64, ProfileError> {
    let ns = scaled(key, value, unit, (0.0, 6e11 / unit))?;
    if ns % every_ns == 0 { Ok(ns) } else { wrong(key, "must be a multiple of update_ms") }
}

/// A name as the kernel shows it.
fn word(key: &str, text: &str) -> Result<String, ProfileError> {
    if text.is_empty() || text.contains(char::is_whitespace) {
        wrong(key, "must be a word")
    } else {
        Ok(text.to_owned())
    }
}
