//! The clock as CPUs count it themselves: cycles while not idle, by the kernel's perf.
use powerband_machine::{Look, PerfPlace};
use powerband_record::CpuList;

use super::super::{Text, number};
use super::Found;

const DEVICE: &str = "msr";

/// Cycles at the clock of the moment, ticks of a clock that stays, both while not idle, and ticks of that all the time.
const EVENTS: [&str; 3] = ["aperf", "mperf", "tsc"];

/// What the clock is: cycles by ticks, times how fast the ticks come.
const TOLD_FROM: &str = "APERF / MPERF × TSC frequency";

/// The mean over the time in which the CPUs were not idle. MPERF ticks as the TSC does, which is what the kernel reckons with,
/// too (arch/x86/kernel/cpu/aperfmperf.c).
pub(super) fn clock(machine: &mut dyn Look, cpus: &CpuList) -> Result<Found, String> {
    for event in EVENTS {
        let file = PerfPlace { device: DEVICE, event, cpu: 0 }.file();
        machine.read(&file).map_err(|errno| {
            format!(
                "the kernel's perf counts no {event} here ({file}: {errno}), as on most virtual machines and processors \
                 that are not x86; clock_mhz reports the requested frequency"
            )
        })?;
    }
    let online = powerband_sysfs::topology::online(machine);
    let counts = |cpu: &&u32| online.as_ref().is_none_or(|online| online.contains(**cpu));
    let counted = cpus.as_slice().iter().filter(counts);
    let files: Vec<String> =
        counted.flat_map(|&cpu| EVENTS.map(|event| PerfPlace { device: DEVICE, event, cpu }.to_string())).collect();
    if files.is_empty() {
        return Err("none of these CPUs is online".into());
    }
    Ok(Found { files, told_from: Some(TOLD_FROM.into()), tell: Box::new(mhz) })
}

/// `None` where no CPU ever ran.
fn mhz(first: &[Text], last: &[Text], ns: u64) -> Option<f64> {
    let (mut cycles_mhz, mut ticks) = (0.0, 0.0);
    for (first, last) in first.chunks(EVENTS.len()).zip(last.chunks(EVENTS.len())) {
        let passed = |place: usize| -> Option<f64> {
            Some(number(last.get(place))?.checked_sub(number(first.get(place))?)? as f64)
        };
        let (cycles, own_ticks, tsc) = (passed(0)?, passed(1)?, passed(2)?);
        cycles_mhz += cycles * (tsc * 1e3 / ns as f64);
        ticks += own_ticks;
    }
    (ticks > 0.0).then(|| cycles_mhz / ticks)
}
