//! How busy CPUs were since the last look: the estimate ondemand and conservative share.
use super::config::{BootConfig, KernelRules};
use super::context::Context;
use super::cpu::LoadSnapshot;
use super::tunables::Tunables;

/// What one look at a policy's CPUs gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    /// Of the busiest CPU, percent.
    pub(crate) percent: u32,
    /// Whole sampling periods the CPUs slept through, if any slept long.
    pub(crate) idle_periods: Option<u32>,
}

/// Ticks since boot.
pub(crate) fn ticks(ns: u64, config: &BootConfig) -> u64 {
    ns / config.tick_ns()
}

/// The tick `n` after the last one, ns.
pub(crate) fn after_ticks(n: u64, now_ns: u64, config: &BootConfig) -> u64 {
    (ticks(now_ns, config) + n) * config.tick_ns()
}

/// A time in ticks, rounded up.
pub(crate) fn ticks_of_us(us: u32, config: &BootConfig) -> u64 {
    (u64::from(us) * u64::from(config.hz)).div_ceil(1_000_000).max(1)
}

/// Whether idle time is known to the microsecond.
fn fine(config: &BootConfig) -> bool {
    config.nohz && config.rules != KernelRules::V2_6_18
}

/// Idle sum and wall time of a CPU in the unit of [`LoadSnapshot`].
fn sums(cpu: u32, io_is_busy: bool, cx: &Context<'_>) -> (u64, u64) {
    let worker_ns = cx.cpus[cpu as usize].load.worker_ns;
    let (idle, iowait) = (cx.times.idle_ns(cpu).saturating_sub(worker_ns), cx.times.iowait_ns(cpu));
    if fine(cx.config) {
        let waiting = if io_is_busy { 0 } else { iowait / 1000 };
        return (idle / 1000 + waiting, cx.now_ns / 1000);
    }
    let (idle, wall) = (ticks(idle, cx.config) + ticks(iowait, cx.config), ticks(cx.now_ns, cx.config));
    if cx.config.rules == KernelRules::V2_6_18 {
        return (idle, wall);
    }
    let us = |ticks: u64| ticks * 1_000_000 / u64::from(cx.config.hz);
    (us(idle), us(wall))
}

/// Time of nice tasks between two sums (ns), in the unit of [`LoadSnapshot`].
fn nice_between(before_ns: u64, now_ns: u64, config: &BootConfig) -> u64 {
    let in_ticks = || ticks(now_ns, config) - ticks(before_ns.min(now_ns), config);
    match config.rules {
        KernelRules::V6_1 => now_ns.saturating_sub(before_ns) / 1000,
        KernelRules::V2_6_32 => in_ticks() * 1_000_000 / u64::from(config.hz),
        KernelRules::V2_6_18 => in_ticks(),
    }
}

/// Ends the windows of these CPUs here, unseen.
pub(crate) fn snapshot(cpus: &[u32], set: &Tunables, cx: &mut Context<'_>) {
    for &cpu in cpus {
        let (idle, wall) = sums(cpu, set.io_is_busy, cx);
        let nice = cx.times.nice_ns(cpu);
        let load = &mut cx.cpus[cpu as usize].load;
        (load.idle, load.wall, load.nice, load.idle_down) = (idle, wall, nice, 0);
    }
}

/// Ends a CPU's window here; wall and idle time of it, as the kernel's 32-bit numbers.
#[expect(clippy::cast_possible_truncation, reason = "the kernel keeps the low 32 bits")]
pub(crate) fn window(cpu: u32, set: &Tunables, cx: &mut Context<'_>) -> (u32, u32) {
    let (idle_now, wall_now) = sums(cpu, set.io_is_busy, cx);
    let nice_now = cx.times.nice_ns(cpu);
    let nice = if set.ignore_nice { nice_between(cx.cpus[cpu as usize].load.nice, nice_now, cx.config) } else { 0 };
    let load = &mut cx.cpus[cpu as usize].load;
    let wall = wall_now.wrapping_sub(load.wall) as u32;
    let idle = (idle_now.saturating_sub(load.idle) + nice) as u32;
    (load.idle, load.wall, load.nice) = (idle_now, wall_now, nice_now);
    (wall, idle)
}

/// Load of one CPU over a window, with the long-idle rule of Linux 6.1 cpufreq_governor.c: after a sleep of more than
/// two periods the load before it counts once more. `rate` is the effective sampling rate, µs.
fn of_window(load: &mut LoadSnapshot, wall: u32, idle: u32, rate: u32) -> u32 {
    if wall == 0 {
        return load.load;
    }
    if idle > rate.wrapping_mul(2) && load.load != 0 {
        return std::mem::take(&mut load.load);
    }
    load.load = if wall > idle { 100u32.wrapping_mul(wall - idle) / wall } else { 0 };
    load.load
}

/// The 6.1 estimate over a policy's CPUs. `rate` is the effective sampling rate, µs.
pub(crate) fn evaluate(cpus: &[u32], rate: u32, set: &Tunables, cx: &mut Context<'_>) -> Load {
    let mut result = Load { percent: 0, idle_periods: None };
    for &cpu in cpus {
        let (wall, idle) = window(cpu, set, cx);
        let percent = of_window(&mut cx.cpus[cpu as usize].load, wall, idle, rate);
        result.percent = result.percent.max(percent);
        if idle > rate.wrapping_mul(2)
            && let Some(periods) = idle.checked_div(rate)
        {
            result.idle_periods = Some(result.idle_periods.map_or(periods, |p| p.min(periods)));
        }
    }
    result
}
