//! `pmqos.*`: how long waking up may take, for the whole machine while somebody asks for it, and for single CPUs.
use powerband_machine::{Action, Change, Errno, LATENCY_DEVICE, Look};

use super::plain::{Place, PlainFile};
use super::takes::Takes;
use crate::knob::Turning;
use crate::{About, Knob, KnobError, Landed, Phase, Scope, Selection, Site, Sites, Value};

/// How long waking up may take anywhere, while it is held.
#[derive(Clone, Copy, Debug)]
pub struct CpuDmaLatency;

const ABOUT: About = About {
    name: "pmqos.cpu_dma_latency",
    short: "cpu_dma_latency",
    aliases: &["dma_latency", "force_latency"],
    unit: "us",
    scope: Scope::System,
    summary: "longest allowed wake-up time: idle states that take longer are not used while this is held",
    doc: "The kernel keeps the request only as long as a process holds /dev/cpu_dma_latency open. It can be held by `with` \
          and in trials, and cannot be set permanently. The smallest of all requests counts: where another program \
          holds a smaller one, that one reads back. 0 keeps CPUs out of every idle state but the first.",
    accepts: "microseconds, 0 to 2000000000",
    needs: "",
    source: "Linux Documentation/power/pm_qos_interface.rst, kernel/power/qos.c",
    invalid: "it takes 0 to 2000000000 microseconds",
    phase: Phase::Idle,
};

const TAKES: Takes = Takes::Number { least: 0, most: 2_000_000_000 };

impl Knob for CpuDmaLatency {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn sites(&self, name: &str, machine: &mut dyn Look, at: &Selection) -> Result<Sites, KnobError> {
        super::file::only_everywhere(name, at)?;
        match machine.read(LATENCY_DEVICE) {
            Err(Errno::ENOENT | Errno::ENODEV | Errno::ENXIO) => {
                Err(KnobError::absent(name, format!("there is no {LATENCY_DEVICE} (containers often hide it)")))
            }
            _ => Ok(Sites { sites: vec![Site::system(LATENCY_DEVICE.into())], ..Sites::default() }),
        }
    }

    fn parse(&self, name: &str, text: &str, machine: &mut dyn Look, site: &Site) -> Result<Value, KnobError> {
        TAKES.parse(&ABOUT, name, text, machine, site)
    }

    fn choices(&self, _machine: &mut dyn Look, _site: &Site) -> Vec<Value> {
        Vec::new()
    }

    fn only_held(&self) -> Option<&'static str> {
        Some("the kernel drops it as soon as no process holds it")
    }

    fn landed_elsewhere(&self, reads: &str) -> Landed {
        Landed::Overridden { by: "a smaller request that another program holds".into(), reads: reads.to_owned() }
    }

    fn turn(&self, value: &Value, machine: &mut dyn Change, _site: &Site) -> Result<Turning, Errno> {
        let before = machine.read(LATENCY_DEVICE)?.trim().to_owned();
        let number = value.number().ok_or(Errno::EINVAL)?;
        let path = LATENCY_DEVICE.to_owned();
        // Ten characters of hexadecimal: the only text the device takes.
        let action = Action::HoldFile { path: path.clone(), text: format!("0x{number:08x}") };
        Ok(Turning { action, undo: Some(Action::ReleaseFile { path }), before: Some(before) })
    }
}

pub(super) const RESUME_LATENCY_US: PlainFile = PlainFile::new(
    &About {
        name: "pmqos.resume_latency_us",
        short: "resume_latency_us",
        aliases: &["pm_qos_resume_latency_us"],
        unit: "us",
        scope: Scope::Cpu,
        summary: "longest allowed wake-up time of one CPU",
        doc: "Idle states of that CPU that take longer are not used. 0 is no limit; n/a allows no wait at all.",
        accepts: "n/a, or microseconds",
        needs: "",
        source: "cpuN/power/pm_qos_resume_latency_us; Linux 6.12 drivers/base/power/sysfs.c",
        invalid: "it takes n/a or microseconds",
        phase: Phase::Idle,
    },
    Place::EachCpu("power/pm_qos_resume_latency_us"),
    Takes::NumberOr { word: "n/a", most: i32::MAX as u64 },
    "this kernel has no limit for single CPUs (Linux 4.16 and later have)",
    &[],
);
