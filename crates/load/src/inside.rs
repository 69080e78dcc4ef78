//! What runs inside the child of built-in work: the only part of this crate that calls the system.
//!
//! The command calls [`main`] for its hidden verb, with the work as JSON. What is said while running, and the report,
//! go as one JSON value a line into the descriptor that `POWERBAND_CONTROL_FD` numbers. Everything is bounded in time.
use std::fs::File;
use std::io::{self, Write};

use powerband_record::{CpuList, Schedule, Work};
use rustix::thread::ClockId as SleepClock;
use rustix::time::{ClockId, Timespec};
use serde_json::{Value, json};
use thiserror::Error;

mod affinity;
mod chance;
mod counter;
mod datagrams;
mod echo;
mod icmp;
mod latencies;
mod orders;
mod packet;
mod ping;
mod primes;
mod repeat;
mod shop;
mod stamped;
mod stream;
mod times;
mod wake;

/// The environment variable with the number of the control descriptor; `host` sets it.
const CONTROL_FD_VARIABLE: &str = "POWERBAND_CONTROL_FD";

/// Why built-in work failed.
#[derive(Debug, Error)]
enum Failure {
    /// Our own two halves disagree.
    #[error("cannot understand the work: {0}")]
    Work(String),
    /// No one listens to us.
    #[error("cannot report: {0}")]
    Control(io::Error),
    /// Anything else.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: String,
        /// Why not.
        error: io::Error,
    },
    /// The load itself says why.
    #[error("{0}")]
    Load(String),
    /// The wall clock was set while we counted by it.
    #[error("the wall clock was set back while counting")]
    Clock,
}

impl Failure {
    fn of(what: impl Into<String>) -> impl FnOnce(io::Error) -> Failure {
        move |error| Failure::System { what: what.into(), error }
    }
}

/// Does one piece of built-in work, given as JSON of [`Work`]; answers the exit code: 0, 1 when it failed (one
/// sentence on standard error), 2 when it could not be understood.
#[must_use]
pub fn main(json: &str) -> i32 {
    let (code, failure) = match work(json) {
        Ok(()) => return 0,
        Err(failure @ Failure::Work(_)) => (2, failure),
        Err(failure) => (1, failure),
    };
    // With nobody to read it, the exit code says enough.
    let _ = writeln!(io::stderr(), "{failure}");
    code
}

fn work(json: &str) -> Result<(), Failure> {
    let work: Work = serde_json::from_str(json).map_err(|error| Failure::Work(error.to_string()))?;
    let mut control = Control::open()?;
    let report = match work {
        Work::Counter { for_ns, align_to_second } => counter::count(for_ns, align_to_second)?,
        Work::StreamReceive { address, port } => stream::receive(&address, port, &mut control)?,
        Work::StreamSend { address, port, for_ns, rtt_exchanges, window_bytes, segment_bytes, write_bytes } => {
            let limits = stream::Limits { window_bytes, segment_bytes, write_bytes };
            stream::send(&address, port, for_ns, rtt_exchanges, limits)?
        }
        Work::DatagramReceive { address, port } => datagrams::receive(&address, port, &mut control)?,
        Work::DatagramSend { address, port, for_ns, size_bytes, rate_kbit_s, rtt_exchanges } => {
            datagrams::send(&address, port, &datagrams::Asked { for_ns, size_bytes, rate_kbit_s, rtt_exchanges })?
        }
        Work::Echo { protocol, address, port } => echo::answer(protocol, &address, port, &mut control)?,
        Work::Ping { protocol, address, port, for_ns, rate_per_s, arrivals, seed, size_bytes } => {
            let times = Schedule::new(arrivals, rate_per_s, seed);
            let way = ping::Way::to(protocol, &address, port, size_bytes)?;
            ping::ping(way, times.take_while(|&at_ns| at_ns < for_ns))?
        }
        Work::Wake { for_ns, interval_ns, priority } => wake::wake(for_ns, interval_ns, priority)?,
        Work::Primes { ranks, limit, mpirun, among } => primes::launch(ranks, limit, mpirun, among)?,
        Work::PrimesShare { rank, ranks, limit } => primes::share(rank, ranks, limit)?,
        Work::Orders { rate_per_s, workers, bound, batch, ramp_ns, for_ns, seed } => {
            orders::run(&orders::Demand { rate_per_s, workers, bound, batch, ramp_ns, for_ns, seed }, &mut control)?
        }
        Work::Shop { server, customers, think_ns, ramp_ns, for_ns, seed } => {
            shop::run(&shop::Plan { server, customers, think_ns, ramp_ns, for_ns, seed }, &mut control)?
        }
        Work::Idle { for_ns } => {
            sleep_until(now_ns(ClockId::Monotonic).saturating_add(for_ns))?;
            json!({})
        }
        Work::Command { argv, invocation, .. } if invocation.repeats() => repeat::run(&argv, &invocation)?,
        // The way from a launcher to mpirun; a load that is a command is executed without us.
        Work::Command { argv, .. } => return Err(primes::become_mpirun(&argv)),
        other => return Err(Failure::Work(format!("{} is not built in", other.kind()))),
    };
    control.say(&json!({ "report": report }))
}

/// The way back to who started us.
struct Control(Box<dyn Write>);

impl Control {
    /// Opens the pipe anew by its number; standard output when we were started by hand.
    fn open() -> Result<Self, Failure> {
        let Ok(number) = std::env::var(CONTROL_FD_VARIABLE) else { return Ok(Control(Box::new(io::stdout()))) };
        let pipe = File::options().append(true).open(format!("/proc/self/fd/{number}"));
        pipe.map(|pipe| Control(Box::new(pipe) as Box<dyn Write>)).map_err(Failure::Control)
    }

    /// Others may come to this port.
    fn ready(&mut self, port: u16) -> Result<(), Failure> {
        self.say(&json!({ "ready": { "port": port } }))
    }

    /// The one that was waited for has come: what is read around this work is read from here on.
    fn begin(&mut self) -> Result<(), Failure> {
        self.say(&json!({ "begins": true }))
    }

    fn say(&mut self, value: &Value) -> Result<(), Failure> {
        // One write, so that a line is never seen in parts.
        self.0.write_all(format!("{value}\n").as_bytes()).map_err(Failure::Control)
    }
}

/// Sleeps until a time of the monotonic clock, ns.
fn sleep_until(due_ns: u64) -> Result<(), Failure> {
    let due = timespec(due_ns);
    loop {
        match rustix::thread::clock_nanosleep_absolute(SleepClock::Monotonic, &due) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(Failure::of("cannot sleep")(errno.into())),
        }
    }
}

/// A time or a span as the kernel takes it.
fn timespec(ns: u64) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(ns % 1_000_000_000).unwrap_or(0),
    }
}

/// CPUs that are online.
fn online() -> Result<u32, Failure> {
    let cannot = "cannot read which CPUs are online";
    let text = std::fs::read_to_string(powerband_sysfs::topology::ONLINE).map_err(Failure::of(cannot))?;
    let cpus: CpuList = text.trim().parse().map_err(|_| Failure::of(cannot)(io::Error::other(text.clone())))?;
    Ok(u32::try_from(cpus.len()).unwrap_or(1).max(1))
}

/// A clock, ns. Reads it without entering the kernel where the vDSO can.
#[inline]
fn now_ns(clock: ClockId) -> u64 {
    let now = rustix::time::clock_gettime(clock);
    // None of the clocks used here is ever before its start.
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// CPU time of this process so far, user and kernel, s.
fn cpu_seconds() -> f64 {
    now_ns(ClockId::ProcessCPUTime) as f64 / 1e9
}
