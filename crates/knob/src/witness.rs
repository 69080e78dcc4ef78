//! A physical witness of what landed: the clock a policy ran at for a moment, by the best source there is, against what was
//! asked of it. Network cards have none, so of them nothing is said.
use std::collections::BTreeMap;

use powerband_machine::Look;
use powerband_record::{CpuList, format_khz};
use powerband_sysfs::proc::{CpuTime, STAT, cpu_times};

use crate::look::{TICK_MS, times_in_state};
use crate::{Applied, Policy};

/// A CPU that worked less than this share of the moment says nothing by its clock.
const IDLE_BELOW: f64 = 0.1;

/// How far a clock may be from what was asked and still be it.
const TOLERANCE: f64 = 0.03;

/// Drivers whose processors choose their clock between the limits whatever the governor is called.
const CHOOSE_THEMSELVES: [&str; 2] = ["intel_pstate", "amd-pstate-epp"];

/// What a setting asks of one policy's clock, kHz.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Asked {
    at_least: Option<u32>,
    at_most: Option<u32>,
}

impl Asked {
    fn words(self) -> String {
        match (self.at_least, self.at_most) {
            (Some(low), Some(high)) if low == high => format_khz(low),
            (Some(low), Some(high)) => format!("{} to {}", format_khz(low), format_khz(high)),
            (Some(low), None) => format!("at least {}", format_khz(low)),
            (None, high) => format!("at most {}", format_khz(high.unwrap_or_default())),
        }
    }

    fn is_met_by(self, khz: f64) -> bool {
        self.at_least.is_none_or(|low| khz >= f64::from(low) * (1.0 - TOLERANCE))
            && self.at_most.is_none_or(|high| khz <= f64::from(high) * (1.0 + TOLERANCE))
    }
}

/// The clocks that a setting was to change, from the beginning of a moment on.
#[derive(Clone, Debug, Default)]
pub struct Witness {
    clocks: Vec<Clock>,
    worked: BTreeMap<u32, CpuTime>,
}

#[derive(Clone, Debug)]
struct Clock {
    policy: Policy,
    asked: Asked,
    times: Vec<(u32, u64)>,
}

impl Witness {
    /// Begins to look at the policies whose clock a setting has changed.
    pub fn begin(machine: &mut dyn Look, applied: &Applied) -> Self {
        let mut clocks: Vec<Clock> = Vec::new();
        for reached in &applied.sites {
            let Some(policy) = &reached.site.policy else { continue };
            let reads = reached.reads_back.as_deref().unwrap_or_default();
            let asked = asked_of(machine, &reached.named.name, policy, reads);
            if asked == Asked::default() {
                continue;
            }
            match clocks.iter_mut().find(|clock| clock.policy.name == policy.name) {
                Some(clock) => {
                    clock.asked.at_least = clock.asked.at_least.max(asked.at_least);
                    clock.asked.at_most = clock.asked.at_most.into_iter().chain(asked.at_most).min();
                }
                None => clocks.push(Clock { times: times_in_state(machine, policy), policy: policy.clone(), asked }),
            }
        }
        let worked = if clocks.is_empty() { BTreeMap::new() } else { worked(machine) };
        Witness { clocks, worked }
    }

    /// Whether there is anything to look at.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.clocks.is_empty()
    }

    /// What the clocks did since, a line for each group of policies that did the same.
    pub fn tell(&self, machine: &mut dyn Look) -> Vec<String> {
        let worked = worked(machine);
        let mut told: Vec<(String, Vec<&str>)> = Vec::new();
        for clock in &self.clocks {
            let words = clock.told(machine, self.is_idle(&clock.policy.online, &worked));
            match told.iter_mut().find(|(other, _)| *other == words) {
                Some((_, policies)) => policies.push(&clock.policy.name),
                None => told.push((words, vec![&clock.policy.name])),
            }
        }
        told.into_iter().map(|(words, policies)| format!("witness: {}: {words}", policies.join(", "))).collect()
    }

    /// Whether all these CPUs did next to nothing meanwhile; not where nobody counts.
    fn is_idle(&self, cpus: &CpuList, now: &BTreeMap<u32, CpuTime>) -> bool {
        let share = |cpu: &u32| now.get(cpu)?.busy_since(self.worked.get(cpu)?);
        let shares: Vec<f64> = cpus.as_slice().iter().filter_map(share).collect();
        !shares.is_empty() && shares.iter().all(|&share| share < IDLE_BELOW)
    }
}

impl Clock {
    fn told(&self, machine: &mut dyn Look, idle: bool) -> String {
        let asked = self.asked.words();
        let measured = self.policy.khz(machine, "cpuinfo_avg_freq").filter(|_| !idle);
        let (khz, source) = match measured.map(|khz| (f64::from(khz), "cpuinfo_avg_freq")) {
            Some(found) => found,
            None => match self.mean_khz(machine) {
                Some(khz) => (khz, "time_in_state"),
                None if idle => return format!("asked {asked}; cannot verify the frequency while the CPU is idle"),
                None => return self.hearsay(machine, &asked),
            },
        };
        let shown = format_khz(khz.round() as u32);
        match (idle, self.asked.is_met_by(khz)) {
            (true, _) => format!(
                "asked {asked}; cannot verify the frequency while the CPU is idle; the kernel kept it at {shown} by {source}"
            ),
            (false, true) => format!("asked {asked}, runs at {shown} by {source}"),
            (false, false) => format!("asked {asked}, but runs at {shown} by {source}"),
        }
    }

    /// Returns the mean frequency since the beginning by `time_in_state`, kHz. Each line of that file rounds down to a tick,
    /// so a single tick at another frequency may have passed before the setting: it is left out where there are others.
    fn mean_khz(&self, machine: &mut dyn Look) -> Option<f64> {
        let passed = |&(khz, ms): &(u32, u64)| {
            let before = self.times.iter().find(|(other, _)| *other == khz).map_or(0, |&(_, ms)| ms);
            (f64::from(khz), ms.saturating_sub(before))
        };
        let passed: Vec<(f64, u64)> = times_in_state(machine, &self.policy).iter().map(passed).collect();
        let sum = |passed: &[(f64, u64)]| passed.iter().map(|&(_, ms)| ms).sum::<u64>();
        let asked: Vec<_> = passed.iter().copied().filter(|&(khz, _)| self.asked.is_met_by(khz)).collect();
        let rounded = sum(&asked) > TICK_MS && sum(&passed) == sum(&asked) + TICK_MS;
        let counted = if rounded { asked } else { passed };
        let all = sum(&counted);
        (all > 0).then(|| counted.iter().map(|&(khz, ms)| khz * ms as f64).sum::<f64>() / all as f64)
    }

    /// Where nothing measures: what the hardware answers, or what the kernel asked of it.
    fn hearsay(&self, machine: &mut dyn Look, asked: &str) -> String {
        if let Some(khz) = self.policy.khz(machine, "cpuinfo_cur_freq") {
            let but = if self.asked.is_met_by(f64::from(khz)) { "" } else { "but " };
            return format!("asked {asked}, {but}the hardware answers {} (cpuinfo_cur_freq)", format_khz(khz));
        }
        let last = self.policy.khz(machine, "scaling_cur_freq").map(format_khz);
        let last =
            last.map_or_else(String::new, |khz| format!("; {khz} is what the kernel asked for (scaling_cur_freq)"));
        format!("asked {asked}; nothing here measures the frequency{last}")
    }
}

/// What a knob that landed asks of the clock.
fn asked_of(machine: &mut dyn Look, knob: &str, policy: &Policy, reads: &str) -> Asked {
    let khz = reads.trim().parse().ok();
    let exactly = |khz: Option<u32>| Asked { at_least: khz, at_most: khz };
    match knob {
        "cpufreq.freq" => exactly(khz),
        "cpufreq.max_freq" => Asked { at_most: khz, ..Asked::default() },
        "cpufreq.min_freq" => Asked { at_least: khz, ..Asked::default() },
        "cpufreq.governor" => {
            let driver = policy.read(machine, "scaling_driver").unwrap_or_default();
            match reads.trim() {
                _ if CHOOSE_THEMSELVES.contains(&driver.as_str()) => Asked::default(),
                "performance" => exactly(policy.khz(machine, "scaling_max_freq")),
                "powersave" => exactly(policy.khz(machine, "scaling_min_freq")),
                _ => Asked::default(),
            }
        }
        _ => Asked::default(),
    }
}

/// How long each CPU worked and how long it was there.
fn worked(machine: &mut dyn Look) -> BTreeMap<u32, CpuTime> {
    cpu_times(&machine.read(STAT).unwrap_or_default())
}
