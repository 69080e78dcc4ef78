//! `cgroup.cpu_quota`: how much CPU the load may use, by a control group of its own.
use powerband_machine::{Action, Change, Errno, Look};

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
          limits of groups above still hold. The group ends with the load.",
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

impl Knob for CpuQuotaKnob {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn sites(&self, name: &str, _machine: &mut dyn Look, at: &Selection) -> Result<Sites, KnobError> {
        match at.site.as_deref() {
            None | Some(SITE | "-") => {
                Ok(Sites { sites: vec![Site { name: SITE.into(), path: None, policy: None }], ..Sites::default() })
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
        Some("it applies to the load's own control group and ends with it")
    }

    fn same(&self, asked: &Value, reads: &str) -> bool {
        let reads = parse_quota(reads).ok().filter(|_| reads.trim().ends_with('%'));
        asked.number().zip(reads).is_some_and(|(asked, reads)| asked.abs_diff(reads) <= ROUNDING)
    }

    fn landed_elsewhere(&self, reads: &str) -> Landed {
        Landed::Clamped { to: reads.to_owned() }
    }

    fn turn(&self, value: &Value, machine: &mut dyn Change, _site: &Site) -> Result<Turning, Errno> {
        let quota = value.quota().ok_or(Errno::EINVAL)?;
        // Rising past every entry that is still open keeps the name clear of a group that could not be removed.
        let number = machine.open_entries().iter().map(|entry| entry.id.0).max().map_or(1, |id| id + 1);
        // Groups are the machine's, ledgers are not: the owner keeps two of them apart.
        let group = format!("{PREFIX}{}-{number}", machine.identity().owner);
        let undo = Some(Action::RemoveGroup { group: group.clone() });
        Ok(Turning { action: Action::MakeGroup { group, quota }, undo, before: None })
    }
}
