//! `cgroup.cpu_quota`: how much CPU the load may use, by a control group of its own, or a unit of systemd's, by its group.
use powerband_machine::{Action, Change, Errno, Look};
use powerband_sysfs::cgroup::MOUNTED;

use crate::knob::Turning;
use crate::{About, Knob, KnobError, Landed, Phase, Scope, Selection, Site, Sites, Value, value::parse_quota};

/// The load's CPU share.
#[derive(Clone, Copy, Debug)]
pub struct CpuQuotaKnob;

const ABOUT: About = About {
    name: "cgroup.cpu_quota",
    short: "cpu_quota",
    aliases: &["quota"],
    unit: "percent of one CPU",
    scope: Scope::Load,
    summary: "how much CPU the load and its children may use together",
    doc: "A control group is made for the load, so this works on every machine, a virtual one without cpufreq included: \
          25% behaves like a CPU at a quarter of its speed, in slices. 100% is one whole CPU and 250% two and a half; \
          limits of groups above still hold. The group ends with the load. `cgroup.cpu_quota@nginx.service=50%` limits a unit \
          of systemd's instead (control groups of version 2): a server under test, where the load only asks it for work.",
    accepts: "1% to 6553600%, a bare number is percent",
    needs: "",
    source: "Linux Documentation/admin-guide/cgroup-v2.rst (cpu.max), Documentation/scheduler/sched-bwc.rst (cpu.cfs_quota_us)",
    invalid: "",
    phase: Phase::Quota,
};

/// One percent and 65536 CPUs, in millionths of a CPU.
const RANGE: std::ops::RangeInclusive<u64> = 10_000..=65_536_000_000;

/// The kernel counts whole microseconds in a period of 10 ms: a ten-thousandth of a CPU, in millionths.
const ROUNDING: u64 = 100;

/// The one site.
const SITE: &str = "load";

/// What group names begin with.
const PREFIX: &str = "powerband-load-";

/// Ends of the names of systemd's units that have a control group.
const UNITS: [&str; 3] = [".service", ".slice", ".scope"];

/// The file of a group that limits it (version 2).
const LIMIT: &str = "cpu.max";

/// The period of a unit's limit, us: the kernel's and systemd's own.
const PERIOD_US: u64 = 100_000;

/// Groups below groups that a unit is looked for in: a user's service is four below the root.
const DEPTH: usize = 5;

/// The folder of a unit's group.
fn unit_folder(name: &str, unit: &str, machine: &mut dyn Look) -> Result<String, KnobError> {
    let mut folders = vec![MOUNTED.to_owned()];
    for _ in 0..DEPTH {
        let mut below = Vec::new();
        for folder in &folders {
            let entries = machine.list(folder).unwrap_or_default().into_iter().filter(|entry| entry.folder);
            below.extend(entries.map(|entry| format!("{folder}/{}", entry.name)));
        }
        let ends = format!("/{unit}");
        if let Some(found) = below.iter().find(|folder| folder.ends_with(&ends)) {
            return match machine.read(&format!("{found}/{LIMIT}")) {
                Ok(_) => Ok(found.clone()),
                Err(_) => {
                    let why =
                        format!("{found} has no {LIMIT}: systemctl set-property {unit} CPUAccounting=yes makes one");
                    Err(KnobError::absent(name, why))
                }
            };
        }
        folders = below.into_iter().filter(|folder| UNITS.iter().any(|end| folder.ends_with(end))).collect();
    }
    Err(KnobError::absent(name, format!("no control group below {MOUNTED} is called {unit}; is it running?")))
}

/// The share of a CPU that a limit (`25000 100000`, `max 100000`) is, millionths.
fn of_limit(text: &str) -> Option<u64> {
    let (quota_us, period_us) = text.trim().split_once(' ')?;
    let (quota_us, period_us): (u64, u64) = (quota_us.parse().ok()?, period_us.parse().ok()?);
    quota_us.checked_mul(1_000_000)?.checked_div(period_us)
}

impl Knob for CpuQuotaKnob {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn sites(&self, name: &str, machine: &mut dyn Look, at: &Selection) -> Result<Sites, KnobError> {
        match at.site.as_deref() {
            None | Some(SITE | "-") => {
                Ok(Sites { sites: vec![Site { name: SITE.into(), path: None, policy: None }], ..Sites::default() })
            }
            Some(unit) if UNITS.iter().any(|end| unit.ends_with(end)) => {
                let path = format!("{}/{LIMIT}", unit_folder(name, unit, machine)?);
                Ok(Sites {
                    sites: vec![Site { name: unit.into(), path: Some(path), policy: None }],
                    ..Sites::default()
                })
            }
            Some(site) => Err(KnobError::NoSite { knob: name.into(), site: site.into(), there: vec![SITE.into()] }),
        }
    }

    fn parse(&self, name: &str, text: &str, _machine: &mut dyn Look, _site: &Site) -> Result<Value, KnobError> {
        let millionths = parse_quota(text).map_err(|why| KnobError::value(name, why))?;
        if RANGE.contains(&millionths) {
            return Ok(Value::Quota(millionths));
        }
        Err(KnobError::value(name, format!("{} is out of range; it takes {}", text.trim(), ABOUT.accepts)))
    }

    fn choices(&self, _machine: &mut dyn Look, _site: &Site) -> Vec<Value> {
        Vec::new()
    }

    fn only_held(&self) -> Option<&'static str> {
        Some(
            "it applies to the load's own control group and ends with it; for a unit, type systemctl set-property UNIT CPUQuota=…",
        )
    }

    fn same(&self, asked: &Value, reads: &str) -> bool {
        let reads = parse_quota(reads).ok().filter(|_| reads.trim().ends_with('%')).or_else(|| of_limit(reads));
        asked.number().zip(reads).is_some_and(|(asked, reads)| asked.abs_diff(reads) <= ROUNDING)
    }

    fn landed_elsewhere(&self, reads: &str) -> Landed {
        Landed::Clamped { to: reads.to_owned() }
    }

    fn turn(&self, value: &Value, machine: &mut dyn Change, site: &Site) -> Result<Turning, Errno> {
        let quota = value.quota().ok_or(Errno::EINVAL)?;
        if let Some(path) = site.path.clone() {
            let before = machine.read(&path)?.trim_end().to_owned();
            let text = format!("{} {PERIOD_US}", quota.millionths * PERIOD_US / 1_000_000);
            let undo = Some(Action::WriteFile { path: path.clone(), text: before.clone() });
            return Ok(Turning { action: Action::WriteFile { path, text }, undo, before: Some(before) });
        }
        // Rising past every entry that is still open keeps the name clear of a group that could not be removed.
        let number = machine.open_entries().iter().map(|entry| entry.id.0).max().map_or(1, |id| id + 1);
        // Groups are the machine's, ledgers are not: the owner keeps two of them apart.
        let group = format!("{PREFIX}{}-{number}", machine.identity().owner);
        let undo = Some(Action::RemoveGroup { group: group.clone() });
        Ok(Turning { action: Action::MakeGroup { group, quota }, undo, before: None })
    }
}
