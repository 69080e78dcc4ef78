//! How fast CPUs are clocked, and within which limits, by cpufreq.
use powerband_machine::{Handle, Look};
use powerband_record::CpuList;
use powerband_sysfs::{cpufreq, cpufreq::CPUFREQ, names, numbered, proc, topology::present};

use super::{Text, number};

/// The policies of cpufreq, open.
#[derive(Debug, Default)]
pub struct Clocks {
    policies: Vec<ClockPolicy>,
    handles: Vec<Handle>,
    /// Why the clock itself is not read, where that is so.
    pub unread: Option<String>,
}

/// CPUs that share one clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockPolicy {
    /// `policy0`.
    pub name: String,
    /// Its CPUs that were online when it was opened.
    pub cpus: CpuList,
    /// Slowest clock of the hardware, kHz.
    pub lowest_khz: Option<u32>,
    /// Fastest.
    pub highest_khz: Option<u32>,
    /// Which of [`FILES`] are open.
    open: [bool; FILES.len()],
}

/// What a policy's files read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockNow {
    /// The clock as the kernel tells it (`scaling_cur_freq`), kHz: what was asked for, or on x86 what was measured.
    pub khz: Option<u32>,
    /// Governor in force.
    pub governor: Option<String>,
    /// Lower limit, kHz.
    pub min_khz: Option<u32>,
    /// Upper limit, kHz.
    pub max_khz: Option<u32>,
}

const FILES: [&str; 4] = ["scaling_cur_freq", "scaling_governor", "scaling_min_freq", "scaling_max_freq"];

/// Kernels of x86 that interrupt a CPU to answer for its clock: from this release on, before that one.
const INTERRUPTING: [(u32, u32); 2] = [(4, 13), (5, 18)];

impl Clocks {
    /// Opens the policies that drive one of `cpus`; none where there is no cpufreq. Where the kernel interrupts a CPU to
    /// tell its clock, that is left out unless that is `free`.
    pub fn open(machine: &mut dyn Look, cpus: &CpuList, free: bool) -> Self {
        Clocks::with(machine, cpus, free, &FILES)
    }

    /// The same, but the clock is all that is read; where the kernel interrupts a CPU to tell it, nothing is.
    pub fn open_alone(machine: &mut dyn Look, cpus: &CpuList) -> Self {
        Clocks::with(machine, cpus, false, &FILES[..1])
    }

    fn with(machine: &mut dyn Look, cpus: &CpuList, free: bool, files: &[&str]) -> Self {
        let mut all = Clocks::default();
        if !free && interrupts_cpus(machine) {
            all.unread = Some(
                "this kernel interrupts each CPU to read its frequency, so that reading would keep it awake".to_owned(),
            );
        }
        for (number, name) in numbered(names(machine, CPUFREQ), "policy") {
            all.add(machine, number, &format!("{CPUFREQ}/{name}"), cpus, files);
        }
        if all.policies.is_empty() {
            // Kernels before policy folders: each CPU has its own, shared ones name the same CPUs.
            for &cpu in present(machine).as_slice() {
                if !all.policies.iter().any(|policy| policy.cpus.contains(cpu)) {
                    all.add(machine, cpu, &cpufreq::of_cpu(cpu), cpus, files);
                }
            }
        }
        all
    }

    fn add(&mut self, machine: &mut dyn Look, number: u32, folder: &str, wanted: &CpuList, files: &[&str]) {
        let file = |name: &str| format!("{folder}/{name}");
        let affected = cpufreq::cpus(machine, &file("affected_cpus"));
        let Some(cpus) = affected.filter(|cpus| cpus.as_slice().iter().any(|&cpu| wanted.contains(cpu))) else {
            return;
        };
        let skip = usize::from(self.unread.is_some());
        let mut open = [false; FILES.len()];
        for (place, name) in files.iter().enumerate().skip(skip) {
            if let Ok(handle) = machine.open(&file(name)) {
                self.handles.push(handle);
                open[place] = true;
            }
        }
        let mut khz = |name: &str| number_of(Some(&machine.read(&file(name))));
        let (lowest_khz, highest_khz) = (khz("cpuinfo_min_freq"), khz("cpuinfo_max_freq"));
        self.policies.push(ClockPolicy { name: format!("policy{number}"), cpus, lowest_khz, highest_khz, open });
    }

    /// What is read of them.
    #[must_use]
    pub fn handles(&self) -> Vec<Handle> {
        self.handles.clone()
    }

    /// The policies.
    #[must_use]
    pub fn policies(&self) -> &[ClockPolicy] {
        &self.policies
    }

    /// How each policy stands, in the order of [`Clocks::policies`], from what its handles read.
    #[must_use]
    pub fn snapshot(&self, texts: &[Text]) -> Vec<ClockNow> {
        let mut texts = texts.iter();
        let now = |policy: &ClockPolicy| {
            let [khz, governor, min, max] = policy.open.map(|open| if open { texts.next() } else { None });
            let governor = governor.and_then(|text| text.as_ref().ok()).map(|text| text.trim().to_owned());
            ClockNow { khz: number_of(khz), governor, min_khz: number_of(min), max_khz: number_of(max) }
        };
        self.policies.iter().map(now).collect()
    }
}

fn number_of(text: Option<&Text>) -> Option<u32> {
    number(text).and_then(|khz| u32::try_from(khz).ok())
}

/// Whether the kernel measures the clock by interrupting the CPU: on x86 with its counters of cycles, for some years.
fn interrupts_cpus(machine: &mut dyn Look) -> bool {
    let told = machine.read(proc::OSRELEASE).or_else(|_| machine.read(proc::VERSION));
    let Some(release) = told.ok().and_then(|told| release(&told)) else { return false };
    let [from, before] = INTERRUPTING;
    if release < from || release >= before {
        return false;
    }
    machine.read(proc::CPUINFO).is_ok_and(|cpuinfo| proc::has_flag(&cpuinfo, "aperfmperf"))
}

/// `6.1.0-13-amd64` and `Linux version 6.1.0 …` are 6.1.
fn release(text: &str) -> Option<(u32, u32)> {
    let word = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut numbers = word.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}
