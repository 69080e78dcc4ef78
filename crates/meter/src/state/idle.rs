//! How CPUs slept, by cpuidle: time in each idle state and how often it was entered.
use powerband_machine::{Handle, Look};
use powerband_record::CpuList;
use powerband_sysfs::{cpuidle, text};

use super::{Text, number, rate, share};

/// The counts of cpuidle, open.
#[derive(Debug, Default)]
pub struct IdleTimes {
    cpus: Vec<CpuSleeps>,
    /// Two a state: its time and its entries.
    handles: Vec<Handle>,
}

/// A CPU that has idle states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuSleeps {
    /// The CPU.
    pub cpu: u32,
    /// Names of its states, from the lightest: `POLL`, `C1`.
    pub states: Vec<String>,
}

/// One idle state of one CPU since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SleepTime {
    /// Time in it, us.
    pub time_us: Option<u64>,
    /// How often it was entered.
    pub entered: Option<u64>,
}

impl IdleTimes {
    /// Opens the states of `cpus`; none where the kernel has none.
    pub fn open(machine: &mut dyn Look, cpus: &CpuList) -> Self {
        let mut all = IdleTimes::default();
        for &cpu in cpus.as_slice() {
            let mut states = Vec::new();
            for state in cpuidle::states(machine, cpu) {
                let file = |name: &str| format!("{state}/{name}");
                let (time, entered) = (machine.open(&file("time")), machine.open(&file("usage")));
                if let (Ok(time), Ok(entered)) = (time, entered) {
                    all.handles.extend([time, entered]);
                    let name = text(machine, &file("name")).filter(|name| !name.is_empty());
                    states.push(name.unwrap_or_else(|| state.rsplit('/').next().unwrap_or_default().to_owned()));
                }
            }
            if !states.is_empty() {
                all.cpus.push(CpuSleeps { cpu, states });
            }
        }
        all
    }

    /// What is read of them.
    #[must_use]
    pub fn handles(&self) -> Vec<Handle> {
        self.handles.clone()
    }

    /// The CPUs that have states.
    #[must_use]
    pub fn cpus(&self) -> &[CpuSleeps] {
        &self.cpus
    }

    /// Each CPU's states, in the order of [`IdleTimes::cpus`], from what its handles read.
    #[must_use]
    pub fn snapshot(&self, texts: &[Text]) -> Vec<Vec<SleepTime>> {
        let mut pairs =
            texts.chunks(2).map(|pair| SleepTime { time_us: number(pair.first()), entered: number(pair.get(1)) });
        self.cpus.iter().map(|cpu| pairs.by_ref().take(cpu.states.len()).collect()).collect()
    }
}

impl SleepTime {
    /// The share of the `ns` since `earlier` that was spent in it, 0 to 1. The kernel books a sleep when it ends, so that
    /// a long one shows late, and then as the whole of the time at most.
    #[must_use]
    pub fn share_since(&self, earlier: &SleepTime, ns: u64) -> Option<f64> {
        share(self.time_us?.checked_sub(earlier.time_us?)?.saturating_mul(1000), ns)
    }

    /// How often a second it was entered since `earlier`: the CPU woke as often.
    #[must_use]
    pub fn entries_per_s(&self, earlier: &SleepTime, ns: u64) -> Option<f64> {
        rate(self.entered?.checked_sub(earlier.entered?)?, ns)
    }
}
