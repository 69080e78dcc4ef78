//! Trying where a light load goes while a scheduler gathers work and while it spreads it.
use powerband_machine::{Job, Wake, World as _};
use powerband_record::{InOrder, Work};
use powerband_report::replication::{ClaimOutcome, Tried};
use powerband_sysfs::{numbered, proc, topology::CPUS};

use super::booted::Booted;
use crate::SessionError;

/// The article's lowest level.
const LEVEL: f64 = 0.1;
/// How long as much as goes is counted, and how long the level then runs before it is looked at, and while, ns.
const CALIBRATE_NS: u64 = 10_000_000_000;
const RAMP_NS: u64 = 30_000_000_000;
const LOOK_NS: u64 = 600_000_000_000;

/// A published share and one that was found are this far apart at most.
const FACTOR: f64 = 1.5;

/// What is idle by its share of the machine's work, as the published "idle".
const IDLE: f64 = 0.03;

/// Shares of the time that each CPU worked at the level, and the machine's CPUs.
fn busy(name: &str, file: &str, value: &str) -> Result<Vec<f64>, SessionError> {
    let mut machine = Booted::new(name)?;
    let full = orders(&mut machine, None, CALIBRATE_NS, 0)?;
    let cpus = cpus(&mut machine)?;
    for cpu in 0..cpus {
        machine.write(cpu, "scaling_governor", "conservative")?;
    }
    if let Some(errno) = machine.write_to(&format!("{CPUS}/{file}"), value)? {
        return Err(SessionError::Failed(format!("sim:{name} refuses {file}={value}: {errno}")));
    }
    orders(&mut machine, Some(full * LEVEL), RAMP_NS, 0)?;
    let before = busy_ticks(&mut machine)?;
    let began_ns = machine.world.now_ns();
    orders(&mut machine, Some(full * LEVEL), LOOK_NS, 1)?;
    let ticks = (machine.world.now_ns() - began_ns) as f64 / 1e7;
    Ok(busy_ticks(&mut machine)?.iter().zip(before).map(|(after, before)| (after - before) / ticks).collect())
}

fn cpus(machine: &mut Booted) -> Result<u32, SessionError> {
    // Kernels before 2.6.24 have no file that lists them.
    Ok(u32::try_from(numbered(machine.list(CPUS)?, "cpu").len()).unwrap_or(1))
}

/// Transactions a second of the order system.
fn orders(machine: &mut Booted, rate_per_s: Option<f64>, for_ns: u64, seed: u64) -> Result<f64, SessionError> {
    let failed = |why: &dyn std::fmt::Display| SessionError::Failed(why.to_string());
    let work = Work::Orders { rate_per_s, workers: None, bound: false, batch: 1_000, ramp_ns: 0, for_ns, seed };
    let job = Job { work, cpus: None, group: None, user: None, output_limit: None, around: Vec::new() };
    let process = machine.machine()?.spawn(&job).map_err(|error| failed(&error))?;
    while !matches!(machine.world.wait(None), Wake::Ended(..) | Wake::Deadline) {}
    let finished = machine.machine()?.finished(process);
    let report =
        finished.and_then(|finished| finished.report).ok_or_else(|| failed(&"an order system reported nothing"))?;
    let number = |key: &str| report[key].as_f64().unwrap_or(f64::NAN);
    Ok(number("transactions") / number("seconds"))
}

/// What each CPU worked so far, hundredths of a second, proc_stat(5): all but idle and waiting for a disk.
fn busy_ticks(machine: &mut Booted) -> Result<Vec<f64>, SessionError> {
    Ok(proc::cpu_times(&machine.read(proc::STAT)?).values().map(|time| time.busy_ticks as f64).collect())
}

/// What shares are multiplied by so that they add up as the published ones do.
fn scale(shares: &[f64]) -> f64 {
    LEVEL * shares.len() as f64 / shares.iter().sum::<f64>()
}

/// The upper and the lower half of some shares, each in the mean and scaled.
fn halves(shares: &[f64], scale: f64) -> (f64, f64) {
    let mut shares = shares.to_vec();
    shares.sort_by(f64::total_cmp);
    let (low, high) = shares.split_at(shares.len() / 2);
    let mean = |half: &[f64]| half.iter().sum::<f64>() / half.len().max(1) as f64 * scale;
    (mean(high), mean(low))
}

/// Work by CPU with sched_mc_power_savings off and on. Shares are of the machine's work: at the lowest clock, where
/// conservative stays, the same work takes more of the time than the tenth that the published shares add up to.
pub(super) fn work_by_cpu(name: &str) -> Result<Tried, SessionError> {
    let file = "sched_mc_power_savings";
    let (off, on) = (busy(name, file, "0")?, busy(name, file, "1")?);
    let read =
        |shares: &[f64]| shares.iter().map(|share| format!("{:.0}", share * 100.0)).collect::<Vec<_>>().join(" ");
    let raw = format!("as read, at the lowest frequency: off {} %, on {} %", read(&off), read(&on));
    let near = |found: f64, published: f64| (found / published).max(published / found) <= FACTOR;
    let as_published = |((off_high, off_low), (on_high, on_low)): ((f64, f64), (f64, f64))| {
        near(off_high, 0.15) && near(off_low, 0.05) && near(on_high, 0.20) && on_low <= IDLE
    };
    let of_the_time = (halves(&off, 1.0), halves(&on, 1.0));
    let of_the_work = (halves(&off, scale(&off)), halves(&on, scale(&on)));
    let holds = match (as_published(of_the_time), as_published(of_the_work)) {
        (true, _) => ClaimOutcome::Yes,
        (false, true) => ClaimOutcome::Deviates,
        (false, false) => ClaimOutcome::No,
    };
    let ((off_high, off_low), (on_high, on_low)) = of_the_work;
    let percent = |share: f64| format!("{:.1}", share * 100.0);
    let seen = format!(
        "of a tenth of the machine's work, off: four CPUs {} %, four {} % (15, 5); on: four {} %, four {} % (20, 0); {raw}",
        percent(off_high),
        percent(off_low),
        percent(on_high),
        percent(on_low)
    );
    Ok(Tried { holds, seen })
}

/// Cores that work with sched_smt_power_savings off and on.
pub(super) fn work_by_core(name: &str) -> Result<Tried, SessionError> {
    let file = "sched_smt_power_savings";
    let mut used = Vec::new();
    let mut seen = Vec::new();
    for value in ["0", "1"] {
        let shares = busy(name, file, value)?;
        let mut machine = Booted::new(name)?;
        let mut cores: Vec<(String, f64)> = Vec::new();
        for (cpu, share) in shares.iter().enumerate() {
            let place = format!("{CPUS}/cpu{cpu}/topology");
            let core = format!(
                "{}:{}",
                machine.read(&format!("{place}/physical_package_id"))?,
                machine.read(&format!("{place}/core_id"))?
            );
            match cores.iter_mut().find(|(known, _)| *known == core) {
                Some((_, sum)) => *sum += share,
                None => cores.push((core, *share)),
            }
        }
        let all: f64 = cores.iter().map(|(_, share)| share).sum();
        let mut parts: Vec<f64> = cores.iter().map(|(_, share)| share / all).collect();
        parts.order_by(|a, b| b.total_cmp(a));
        seen.push(parts.iter().map(|part| format!("{:.0}", part * 100.0)).collect::<Vec<_>>().join(" "));
        // As many cores as even shares would need to give the same sum of squares.
        used.push(1.0 / parts.iter().map(|part| part * part).sum::<f64>());
    }
    let so = used.get(1).zip(used.first()).is_some_and(|(on, off)| *on < off * 0.9);
    let seen = format!("shares of the work by core, off: {} %; on: {} %", seen[0], seen[1]);
    Ok(Tried::so(so, seen))
}
