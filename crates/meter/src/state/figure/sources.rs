//! Where each figure comes from: which files, and what lies between two readings of them.
use std::collections::BTreeMap;

use powerband_machine::Look;
use powerband_record::{CpuList, IntoOrdered as _};
use powerband_sysfs::{cpufreq, cpuidle, parsed, proc, topology};

use super::super::thermal::{ThermalZones, celsius};
use super::super::{Text, number, rate, share};
use super::{Found, Tell};

/// Texts of a file each.
fn found(files: Vec<String>, tell: Box<Tell>) -> Result<Found, String> {
    Ok(Found { files, told_from: None, tell })
}

/// Time that is neither idle nor waiting for a disk, of all time.
pub(super) fn busy(_: &mut dyn Look, cpus: &CpuList) -> Result<Found, String> {
    let cpus = cpus.clone();
    let tell = move |first: &[Text], last: &[Text], _: u64| {
        let (first, last) = (super::super::utilisation::times(first), super::super::utilisation::times(last));
        let (mut busy, mut total) = (0, 0);
        for (cpu, last) in last.iter().filter(|(cpu, _)| cpus.contains(**cpu)) {
            let Some(first) = first.get(cpu) else { continue };
            busy += last.busy_ticks.saturating_sub(first.busy_ticks);
            total += last.total_ticks.saturating_sub(first.total_ticks);
        }
        share(busy, total)
    };
    found(vec![proc::STAT.into()], Box::new(tell))
}

/// Folders of the policies that drive one of some CPUs, with how many CPUs each drives.
fn policies(machine: &mut dyn Look, cpus: &CpuList) -> Result<Vec<(String, usize)>, String> {
    let mut all: Vec<(String, CpuList)> = Vec::new();
    for &cpu in cpus.as_slice() {
        let folder = cpufreq::of_cpu(cpu);
        let Some(drives) = cpufreq::cpus(machine, &format!("{folder}/affected_cpus")) else { continue };
        if !drives.is_empty() && !all.iter().any(|(_, known)| *known == drives) {
            all.push((folder, drives));
        }
    }
    if all.is_empty() { Err("there is no cpufreq for these CPUs".into()) } else { Ok(sized(all)) }
}

fn sized(policies: Vec<(String, CpuList)>) -> Vec<(String, usize)> {
    policies.into_iter().map(|(folder, cpus)| (folder, cpus.len())).collect()
}

/// By the time in each state where the kernel counts that, else what the clock is as the load ends.
pub(super) fn clock(machine: &mut dyn Look, cpus: &CpuList) -> Result<Found, String> {
    let policies = policies(machine, cpus)?;
    let files = |name: &str| policies.iter().map(|(folder, _)| format!("{folder}/{name}")).collect::<Vec<_>>();
    let weights: Vec<usize> = policies.iter().map(|(_, cpus)| *cpus).collect();
    let stats = files("stats/time_in_state");
    if stats.iter().all(|file| machine.read(file).is_ok()) {
        let mean = move |first: &[Text], last: &[Text]| {
            let of = |(first, last): (&Text, &Text)| in_state_mhz(&states(first), &states(last));
            weighted(first.iter().zip(last).map(of), &weights)
        };
        let tell = move |first: &[Text], last: &[Text], _: u64| mean(first, last);
        return Ok(Found { files: stats, told_from: Some("time in state".into()), tell: Box::new(tell) });
    }
    let tell = move |_: &[Text], last: &[Text], _: u64| {
        weighted(last.iter().map(|text| Some(number(Some(text))? as f64 / 1e3)), &weights)
    };
    let told_from = Some("scaling_cur_freq as the load ends".into());
    Ok(Found { files: files("scaling_cur_freq"), told_from, tell: Box::new(tell) })
}

/// Ticks by kHz.
fn states(text: &Text) -> BTreeMap<u32, u64> {
    text.iter().flat_map(|text| cpufreq::time_in_state(text)).into_map()
}

/// `None` where no tick has passed.
fn in_state_mhz(first: &BTreeMap<u32, u64>, last: &BTreeMap<u32, u64>) -> Option<f64> {
    let (mut sum, mut ticks) = (0.0, 0);
    for (khz, last) in last {
        let spent = last.checked_sub(first.get(khz).copied().unwrap_or_default())?;
        sum += f64::from(*khz) / 1e3 * spent as f64;
        ticks += spent;
    }
    (ticks > 0).then(|| sum / ticks as f64)
}

fn weighted(values: impl Iterator<Item = Option<f64>>, weights: &[usize]) -> Option<f64> {
    let sum: Option<f64> = values.zip(weights).map(|(value, weight)| Some(value? * *weight as f64)).sum();
    let weights: usize = weights.iter().sum();
    sum.filter(|_| weights > 0).map(|sum| sum / weights as f64)
}

/// What counts in several files came to, together.
pub(super) fn counted(first: &[Text], last: &[Text]) -> Option<u64> {
    first.iter().zip(last).map(|(first, last)| number(Some(last))?.checked_sub(number(Some(first))?)).sum()
}

fn counts_per_s() -> Box<Tell> {
    Box::new(|first, last, ns| rate(counted(first, last)?, ns))
}

pub(super) fn transitions(machine: &mut dyn Look, cpus: &CpuList) -> Result<Found, String> {
    let files = policies(machine, cpus)?.into_iter().map(|(folder, _)| format!("{folder}/stats/total_trans"));
    found(files.collect(), counts_per_s())
}

/// A file of each idle state of some CPUs.
fn idle_files(machine: &mut dyn Look, cpus: &CpuList, name: &str) -> Result<Vec<String>, String> {
    let states = cpus.as_slice().iter().flat_map(|&cpu| cpuidle::states(machine, cpu));
    let files: Vec<String> = states.map(|state| format!("{state}/{name}")).collect();
    if files.is_empty() { Err("there is no cpuidle for these CPUs".into()) } else { Ok(files) }
}

pub(super) fn idle(machine: &mut dyn Look, cpus: &CpuList) -> Result<Found, String> {
    let files = idle_files(machine, cpus, "time")?;
    let sleeping = cpus.as_slice().iter().filter(|cpu| {
        let folder = format!("{}/", cpuidle::of_cpu(**cpu));
        files.iter().any(|file| file.starts_with(&folder))
    });
    let sleeping = sleeping.count() as u64;
    let tell = move |first: &[Text], last: &[Text], ns: u64| {
        share(counted(first, last)?.saturating_mul(1000), ns.saturating_mul(sleeping))
    };
    found(files, Box::new(tell))
}

pub(super) fn wakeups(machine: &mut dyn Look, cpus: &CpuList) -> Result<Found, String> {
    found(idle_files(machine, cpus, "usage")?, counts_per_s())
}

pub(super) fn interrupts(_: &mut dyn Look, cpus: &CpuList) -> Result<Found, String> {
    by_cpu(proc::INTERRUPTS, cpus)
}

pub(super) fn softirqs(_: &mut dyn Look, cpus: &CpuList) -> Result<Found, String> {
    by_cpu(proc::SOFTIRQS, cpus)
}

/// The sum of a table with a column for each CPU.
fn by_cpu(file: &str, cpus: &CpuList) -> Result<Found, String> {
    let cpus = cpus.clone();
    let sum = move |texts: &[Text]| {
        let counts = super::super::interrupts::sums(texts);
        let of: u64 = counts.iter().filter(|(cpu, _)| cpus.contains(**cpu)).map(|(_, count)| *count).sum();
        (!counts.is_empty()).then_some(of)
    };
    let tell = move |first: &[Text], last: &[Text], ns: u64| rate(sum(last)?.checked_sub(sum(first)?)?, ns);
    found(vec![file.into()], Box::new(tell))
}

pub(super) fn context_switches(machine: &mut dyn Look) -> Result<Found, String> {
    let file = proc::STAT;
    let count = |texts: &[Text]| -> Option<u64> {
        let text = texts.first()?.as_ref().ok()?;
        text.lines().find_map(|line| line.strip_prefix("ctxt "))?.trim().parse().ok()
    };
    if count(&[machine.read(file)]).is_none() {
        return Err(format!("{file} counts no context switches"));
    }
    found(vec![file.into()], Box::new(move |first, last, ns| rate(count(last)?.checked_sub(count(first)?)?, ns)))
}

pub(super) fn temperature(machine: &mut dyn Look) -> Result<Found, String> {
    let zones = ThermalZones::find(machine);
    if zones.is_empty() {
        return Err("no thermal zone reports a temperature".into());
    }
    found(zones.files, Box::new(|_, last, _| last.iter().filter_map(celsius).reduce(f64::max)))
}

/// Of the threads of one core, which all show its count, the first.
pub(super) fn throttles(machine: &mut dyn Look, cpus: &CpuList) -> Result<Found, String> {
    let mut files = Vec::new();
    for &cpu in cpus.as_slice() {
        let threads: Option<CpuList> = parsed(machine, &topology::file(cpu, "topology/thread_siblings_list"));
        let first = threads.as_ref().and_then(|threads| threads.as_slice().iter().find(|&&it| cpus.contains(it)));
        let file = topology::file(cpu, "thermal_throttle/core_throttle_count");
        if first.is_none_or(|&first| first == cpu) && machine.read(&file).is_ok() {
            files.push(file);
        }
    }
    if files.is_empty() {
        return Err("no CPU counts how often heat slowed it down".into());
    }
    found(files, Box::new(|first, last, _| counted(first, last).map(|count| count as f64)))
}

pub(super) fn pressure(_: &mut dyn Look) -> Result<Found, String> {
    let waited_us = |texts: &[Text]| -> Option<u64> {
        let text = texts.first()?.as_ref().ok()?;
        let line = text.lines().find(|line| line.starts_with("some "))?;
        line.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
    };
    let tell = move |first: &[Text], last: &[Text], ns: u64| {
        share(waited_us(last)?.checked_sub(waited_us(first)?)?.saturating_mul(1000), ns)
    };
    found(vec![proc::CPU_PRESSURE.into()], Box::new(tell))
}
