//! An order system in memory, under batches of transactions that are due at times fixed beforehand.
//!
//! Each worker is a thread with a warehouse of its own, so that none waits for another. A batch that is not done when the next is
//! due makes that one wait, and its latency counts from when it was due.
use std::thread;

use powerband_record::{Arrivals, Schedule};
use rustix::time::ClockId;
use serde_json::{Value, json};

use self::transactions::transact;
use self::warehouse::Warehouse;
use super::affinity::{stay_on, usable_cpus};
use super::chance::Chance;
use super::latencies::Latencies;
use super::times::Times;
use super::{Control, Failure, now_ns, online, sleep_until};

mod transactions;
mod warehouse;

/// Time before the first batch, ns: what it takes until the threads are there and their warehouses filled does not count.
const FILL_NS: u64 = 200_000_000;

/// After so many transactions a worker looks at the clock.
const LOOK_EVERY: u32 = 64;

/// Batches nearer to each other than this on average, ns, are not told apart: counting them would take longer than doing them.
const MIN_GAP_NS: f64 = 1_000.0;

/// What is asked for.
#[derive(Clone, Debug)]
pub(super) struct Demand {
    pub(super) rate_per_s: Option<f64>,
    pub(super) workers: Option<u32>,
    pub(super) bound: bool,
    pub(super) batch: u32,
    pub(super) ramp_ns: u64,
    pub(super) for_ns: u64,
    pub(super) seed: u64,
}

/// What one worker did within the time measured.
struct Done {
    transactions: u64,
    scheduled: u64,
    latencies: Latencies,
}

/// Runs all workers until the time is up, and reports.
pub(super) fn run(demand: &Demand, control: &mut Control) -> Result<Value, Failure> {
    let workers = demand.workers.map_or_else(online, Ok)?.max(1);
    let gap_ns = demand.rate_per_s.map(|rate| 1e9 * f64::from(demand.batch) * f64::from(workers) / rate);
    if gap_ns.is_some_and(|gap_ns| gap_ns < MIN_GAP_NS) {
        return Err(Failure::Load("batches due more often than one a microsecond; ask for larger ones".into()));
    }
    let start_ns = now_ns(ClockId::Monotonic).saturating_add(FILL_NS);
    let times = Times::new(start_ns, demand.ramp_ns, demand.for_ns);
    let done: Vec<Done> = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..workers).map(|number| scope.spawn(move || worker(demand, gap_ns, number, times))).collect();
        sleep_until(times.begin_ns)?;
        control.begin()?;
        let joined = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(Failure::Load("a worker came to a bad end".into()))));
        joined.collect::<Result<_, _>>()
    })?;
    let mut latencies = Latencies::new()?;
    for worker in &done {
        latencies.merge(&worker.latencies)?;
    }
    let sum = |count: fn(&Done) -> u64| done.iter().map(count).sum::<u64>();
    let report = json!({
        "transactions": sum(|worker| worker.transactions),
        "scheduled": sum(|worker| worker.scheduled),
        "seconds": demand.for_ns as f64 / 1e9,
        "workers": workers,
    });
    Ok(latencies.complete(report.as_object().cloned().unwrap_or_default()))
}

fn worker(demand: &Demand, gap_ns: Option<f64>, number: u32, times: Times) -> Result<Done, Failure> {
    if demand.bound {
        bind(number).map_err(|errno| Failure::of("cannot keep a worker on its CPU")(errno.into()))?;
    }
    let mut chance = Chance::new(demand.seed, u64::from(number) * 2);
    let mut warehouse = Warehouse::new(&mut chance);
    let mut done = Done { transactions: 0, scheduled: 0, latencies: Latencies::new()? };
    sleep_until(times.start_ns)?;
    match gap_ns {
        Some(gap_ns) => {
            let gaps_seed = Chance::new(demand.seed, u64::from(number) * 2 + 1).next();
            let schedule = Schedule::new(Arrivals::Exponential, 1e9 / gap_ns, gaps_seed);
            let due = schedule.map(|after_ns| times.start_ns.saturating_add(after_ns));
            at_times(due, demand.batch, times, &mut warehouse, &mut chance, &mut done)?;
        }
        None => {
            let mut began_ns = now_ns(ClockId::Monotonic);
            while let Some(at_ns) = batch(demand.batch, times.end_ns, &mut warehouse, &mut chance) {
                done.took(demand.batch, began_ns, at_ns, times);
                began_ns = at_ns;
            }
            // As fast as it goes, whatever is done was due.
            done.scheduled = done.transactions;
        }
    }
    Ok(done)
}

/// Keeps this thread on one of the CPUs it may use, the next one for each worker.
fn bind(number: u32) -> rustix::io::Result<()> {
    let cpus = usable_cpus()?;
    cpus.get(number as usize % cpus.len().max(1)).map_or(Ok(()), |&cpu| stay_on(cpu))
}

/// Batches at their times, one after the other, asleep while none is due.
fn at_times(
    due: impl Iterator<Item = u64>,
    size: u32,
    times: Times,
    warehouse: &mut Warehouse,
    chance: &mut Chance,
    done: &mut Done,
) -> Result<(), Failure> {
    let mut in_time = true;
    for due_ns in due.take_while(|&due_ns| due_ns < times.end_ns) {
        if times.measures(due_ns) {
            done.scheduled += u64::from(size);
        }
        if !in_time {
            continue;
        }
        if now_ns(ClockId::Monotonic) < due_ns {
            sleep_until(due_ns)?;
        }
        match batch(size, times.end_ns, warehouse, chance) {
            Some(at_ns) => done.took(size, due_ns, at_ns, times),
            None => in_time = false,
        }
    }
    sleep_until(times.end_ns)
}

impl Done {
    fn took(&mut self, batch: u32, since_ns: u64, at_ns: u64, times: Times) {
        if times.measures(at_ns) {
            self.transactions += u64::from(batch);
            self.latencies.record(at_ns.saturating_sub(since_ns));
        }
    }
}

/// Does one batch; answers when it was done, or nothing when the time was up before.
fn batch(size: u32, end_ns: u64, warehouse: &mut Warehouse, chance: &mut Chance) -> Option<u64> {
    for done in 1..=size {
        std::hint::black_box(transact(warehouse, chance));
        if done % LOOK_EVERY == 0 && now_ns(ClockId::Monotonic) >= end_ns {
            return None;
        }
    }
    let at_ns = now_ns(ClockId::Monotonic);
    (at_ns < end_ns).then_some(at_ns)
}
