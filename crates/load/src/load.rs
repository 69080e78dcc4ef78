//! The load: its parts, what it measures by itself, and how metrics are read from what the parts reported.
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use powerband_machine::Finished;
use powerband_record::{Better, CpuList, Histogram, IntoOrdered as _, Metric, Side, Void, Work};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ladder::{Calibrate, mixed};
use crate::reported::{Finishes, reported};
use crate::{
    CommandLoad, CounterLoad, IdleLoad, LadderLoad, OrdersLoad, PingLoad, PrimesLoad, ShopLoad, Stage, StreamLoad,
    WakeLoad,
};

/// What makes the machine work, as a plan spells it: `kind = "counter"`, ….
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", expecting = "a table, e.g. [load] with kind = \"counter\"")]
#[non_exhaustive]
pub enum Load {
    /// Counts in a loop for a fixed time.
    Counter(CounterLoad),
    /// Bulk transfers for a fixed time.
    Stream(StreamLoad),
    /// Small packets there and back.
    Ping(PingLoad),
    /// A thread that sleeps and wakes.
    Wake(WakeLoad),
    /// Primes counted by ranks that wait for one another.
    Primes(PrimesLoad),
    /// An order system at one rate.
    Orders(OrdersLoad),
    /// Levels of a load.
    Ladder(LadderLoad),
    /// A web shop and its customers.
    Shop(ShopLoad),
    /// Any program.
    Command(CommandLoad),
    /// Nothing: the machine as it idles.
    Idle(IdleLoad),
}

/// What the rig has, for loads that need two ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RigEnds {
    /// Address of the near machine, as the far one reaches it.
    pub near: String,
    /// Address of the far machine, when there is one.
    pub far: Option<String>,
}

/// One process of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadPart {
    /// `load`, `send`, `receive`, `echo`.
    pub name: &'static str,
    /// Where it runs.
    pub side: Side,
    /// What it does. A `port` of 0 in a sender is filled in from what `after` says it listens on.
    pub work: Work,
    /// CPUs it is pinned to.
    pub cpus: Option<CpuList>,
    /// The part that must have said it is ready before this one starts.
    pub after: Option<&'static str>,
    /// Whether it makes the load on its side: meters are read around this part. One a side at most.
    pub metered: bool,
}

/// A part that serves the others: ready when it listens, and ended when they have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its name.
    pub part: &'static str,
    /// The port it listens on, TCP or UDP; whichever comes to listen when `None`.
    pub port: Option<u16>,
}

/// What a load measured by itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Concluded {
    /// Values by metric.
    pub values: BTreeMap<String, f64>,
    /// Why a metric it promises is not there this time.
    pub missing: BTreeMap<String, String>,
    /// What one should know about the values.
    pub notes: BTreeSet<String>,
}

impl From<BTreeMap<String, f64>> for Concluded {
    fn from(values: BTreeMap<String, f64>) -> Self {
        Concluded { values, ..Concluded::default() }
    }
}

/// Why a load cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// No such load.
    #[error(
        "there is no load '{name}'; there are: counter, stream, ping, wake, primes, orders, ladder, shop, idle, or any command behind --"
    )]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// A fixed duration that is zero.
    #[error("a {0} needs a length above zero; write e.g. --for 5s")]
    NoTime(&'static str),
    /// A fixed duration where there is none.
    #[error("the load '{0}' runs to its own end; leave out --for")]
    OwnEnd(&'static str),
    /// A count that cannot be made.
    #[error("primes: {0}; write e.g. ranks = 4, limit = 10000000")]
    Primes(&'static str),
    /// A rate that is none.
    #[error("ping: {0}; write e.g. rate = 200, size = 64")]
    Ping(&'static str),
    /// A sleeper that cannot be.
    #[error("wake: {0}; write e.g. interval = \"1ms\", priority = 80")]
    Wake(&'static str),
    /// Orders that cannot be.
    #[error("orders: {0}; write e.g. rate_per_s = 10000.0, batch = 1000")]
    Orders(&'static str),
    /// Levels that are none.
    #[error("ladder: {0}; write e.g. levels = [100, 50, 10], calibrations = 3")]
    Ladder(&'static str),
    /// A shop that cannot be.
    #[error("shop: {0}; write e.g. customers = 50, think = \"1s\"")]
    Shop(&'static str),
    /// A window that is none.
    #[error("stream: {0}; write e.g. window_bytes = 65536, or leave it to the kernel")]
    Stream(&'static str),
    /// A peer's port without a peer.
    #[error(
        "far_port is the port of far_command; write e.g. far_command = [\"iperf3\", \"-s\", \"-1\"], or leave it out"
    )]
    PortAlone,
    /// A command without a program.
    #[error("the command is empty; put a program behind --")]
    Empty,
    /// One command in two places.
    #[error("a load has either argv or commands; leave one of them out")]
    TwoCommands,
    /// A number of runs for a command that runs once.
    #[error(
        "a command whose output is read, which has a far command or whose cost is modelled runs once in each trial; leave --repeat out"
    )]
    Repeated,
    /// A command line that cannot be read.
    #[error("{0}")]
    Command(String),
    /// A setting that changes what the load has not.
    #[error("{0}")]
    Variant(String),
}

impl Load {
    /// A built-in load by name, with its default length or the one given.
    ///
    /// # Errors
    /// [`LoadError`] when there is none of that name or the length is zero.
    pub fn builtin(name: &str, for_ns: Option<u64>) -> Result<Self, LoadError> {
        let load = match name {
            "counter" => Load::Counter(
                for_ns.map_or_else(CounterLoad::default, |for_ns| CounterLoad { for_ns, ..CounterLoad::default() }),
            ),
            "stream" => Load::Stream(
                for_ns.map_or_else(StreamLoad::default, |for_ns| StreamLoad { for_ns, ..StreamLoad::default() }),
            ),
            "ping" => {
                Load::Ping(for_ns.map_or_else(PingLoad::default, |for_ns| PingLoad { for_ns, ..PingLoad::default() }))
            }
            "wake" => {
                Load::Wake(for_ns.map_or_else(WakeLoad::default, |for_ns| WakeLoad { for_ns, ..WakeLoad::default() }))
            }
            "orders" => Load::Orders(
                for_ns.map_or_else(OrdersLoad::default, |for_ns| OrdersLoad { for_ns, ..OrdersLoad::default() }),
            ),
            "ladder" => Load::Ladder(
                for_ns.map_or_else(LadderLoad::default, |for_ns| LadderLoad { for_ns, ..LadderLoad::default() }),
            ),
            "shop" => {
                Load::Shop(for_ns.map_or_else(ShopLoad::default, |for_ns| ShopLoad { for_ns, ..ShopLoad::default() }))
            }
            "primes" if for_ns.is_some() => return Err(LoadError::OwnEnd("primes")),
            "primes" => Load::Primes(PrimesLoad::default()),
            "idle" => Load::Idle(for_ns.map_or_else(IdleLoad::default, |for_ns| IdleLoad { for_ns })),
            _ => return Err(LoadError::Unknown { name: name.into() }),
        };
        load.check().map(|()| load)
    }

    /// Whether it makes sense at all.
    ///
    /// # Errors
    /// [`LoadError`] when a length is zero or a command empty.
    pub fn check(&self) -> Result<(), LoadError> {
        match self {
            Load::Command(command) => command.mistake().map_or(Ok(()), Err),
            timed if timed.measured_ns() == Some(0) => Err(LoadError::NoTime(timed.kind())),
            Load::Stream(stream) => stream.mistake().map_or(Ok(()), |why| Err(LoadError::Stream(why))),
            Load::Ping(ping) => ping.mistake().map_or(Ok(()), |why| Err(LoadError::Ping(why))),
            Load::Wake(wake) => wake.mistake().map_or(Ok(()), |why| Err(LoadError::Wake(why))),
            Load::Primes(primes) => primes.mistake().map_or(Ok(()), |why| Err(LoadError::Primes(why))),
            Load::Orders(orders) => orders.mistake().map_or(Ok(()), |why| Err(LoadError::Orders(why))),
            Load::Ladder(ladder) => ladder.mistake().map_or(Ok(()), |why| Err(LoadError::Ladder(why))),
            Load::Shop(shop) => shop.mistake().map_or(Ok(()), |why| Err(LoadError::Shop(why))),
            _ => Ok(()),
        }
    }

    /// The kind, as a plan spells it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Load::Counter(_) => "counter",
            Load::Stream(_) => "stream",
            Load::Ping(_) => "ping",
            Load::Wake(_) => "wake",
            Load::Primes(_) => "primes",
            Load::Orders(_) => "orders",
            Load::Ladder(_) => "ladder",
            Load::Shop(_) => "shop",
            Load::Command(_) => "command",
            Load::Idle(_) => "idle",
        }
    }

    /// One line for people.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Load::Command(command) => command.describe(),
            Load::Primes(primes) => primes.describe(),
            Load::Ladder(ladder) => ladder.describe(),
            Load::Shop(shop) => shop.describe(),
            other => match other.measured_ns() {
                Some(ns) => format!("{} for {}", other.kind(), powerband_record::format_duration(ns)),
                None => other.kind().into(),
            },
        }
    }

    /// How long it runs when that is fixed, ns.
    #[must_use]
    pub fn length_ns(&self) -> Option<u64> {
        match self {
            Load::Counter(counter) => Some(counter.for_ns),
            Load::Stream(stream) => Some(stream.for_ns),
            Load::Ping(ping) => Some(ping.for_ns),
            Load::Wake(wake) => Some(wake.for_ns),
            Load::Idle(idle) => Some(idle.for_ns),
            Load::Orders(orders) => Some(orders.ramp_ns.saturating_add(orders.for_ns)),
            Load::Ladder(ladder) => Some(ladder.length_ns()),
            Load::Shop(shop) => Some(shop.ramp_ns.saturating_add(shop.for_ns)),
            Load::Primes(_) | Load::Command(_) => None,
        }
    }

    /// How long its meters are read when that is fixed, ns: of several stretches the length of one.
    #[must_use]
    pub fn measured_ns(&self) -> Option<u64> {
        match self {
            Load::Orders(orders) => Some(orders.for_ns),
            Load::Ladder(ladder) => Some(ladder.for_ns),
            Load::Shop(shop) => Some(shop.for_ns),
            other => other.length_ns(),
        }
    }

    /// What it measures by itself, the judged one first.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let metric = |name: &str, better, judged| Metric { name: name.into(), better, judged, boundary: None };
        match self {
            Load::Counter(_) => {
                vec![metric("count_per_s", Better::Higher, true), metric("count", Better::Higher, false)]
            }
            Load::Stream(stream) => stream.metrics(),
            Load::Ping(_) => vec![
                metric("rtt_ms", Better::Lower, true),
                metric("mean_us", Better::Lower, false),
                metric("p50_us", Better::Lower, false),
                metric("p90_us", Better::Lower, false),
                metric("p99_us", Better::Lower, false),
                metric("max_us", Better::Lower, false),
                metric("lost_percent", Better::Lower, true),
            ],
            Load::Wake(_) => vec![
                metric("p50_us", Better::Lower, true),
                metric("p90_us", Better::Lower, false),
                metric("p99_us", Better::Lower, false),
                metric("max_us", Better::Lower, false),
                metric("mean_us", Better::Lower, false),
            ],
            Load::Primes(_) => vec![
                metric("real_s", Better::Lower, true),
                metric("user_s", Better::Lower, false),
                metric("sys_s", Better::Lower, false),
                metric("primes", Better::Higher, false),
                metric("ranks", Better::Higher, false),
            ],
            Load::Orders(_) => vec![
                metric("score_per_s", Better::Higher, true),
                metric("due_per_s", Better::Higher, false),
                metric("p50_us", Better::Lower, false),
                metric("p90_us", Better::Lower, false),
                metric("p99_us", Better::Lower, true),
                metric("max_us", Better::Lower, false),
            ],
            Load::Ladder(ladder) => ladder.metrics(),
            Load::Shop(_) => vec![
                metric("requests_per_s", Better::Higher, true),
                metric("orders_per_s", Better::Higher, false),
                metric("mean_us", Better::Lower, false),
                metric("p50_us", Better::Lower, false),
                metric("p90_us", Better::Lower, false),
                metric("p99_us", Better::Lower, true),
                metric("max_us", Better::Lower, false),
            ],
            Load::Command(command) => command.metrics(),
            Load::Idle(_) => Vec::new(),
        }
    }

    /// What it measures next to that where the near machine has a meter of power, the judged one first.
    #[must_use]
    pub fn metrics_by_meter(&self) -> Vec<Metric> {
        match self {
            Load::Ladder(ladder) => ladder.by_meter(),
            _ => Vec::new(),
        }
    }

    /// Its processes, in the order they start.
    #[must_use]
    pub fn parts(&self, rig: &RigEnds) -> Vec<LoadPart> {
        match self {
            Load::Counter(counter) => counter.parts(),
            Load::Stream(stream) => stream.parts(rig),
            Load::Ping(ping) => ping.parts(rig),
            Load::Wake(wake) => wake.parts(),
            Load::Primes(primes) => primes.parts(),
            Load::Orders(orders) => orders.parts(),
            // Anyone who runs it runs its stages.
            Load::Ladder(ladder) => ladder.calibration().load.parts(rig),
            Load::Shop(shop) => shop.parts(),
            Load::Command(command) => command.parts(rig),
            Load::Idle(idle) => idle.parts(),
        }
    }

    /// Reads the metrics out of what the parts came to.
    ///
    /// # Errors
    /// [`Void::LoadFailed`] when a part did not end well or did not report.
    pub fn conclude(&self, finishes: &Finishes) -> Result<Concluded, Void> {
        for (name, finished) in finishes {
            let tolerated = matches!(self, Load::Command(command) if command.ignore_failure);
            if let (false, Load::Command(command)) = (finished.status.success(), self)
                && let Some(lossy) = command.lossy(finishes)
            {
                // ping(8) fails where no answer came, which says how much was lost.
                return Err(lossy);
            }
            if !finished.status.success() && !tolerated {
                return Err(Void::LoadFailed { why: failure(name, self, finished) });
            }
        }
        let values = match self {
            Load::Counter(_) => counter_metrics(finishes),
            Load::Stream(stream) => stream.conclude(finishes),
            Load::Ping(_) => crate::ping::metrics(finishes),
            Load::Wake(_) => crate::wake::metrics(finishes),
            Load::Primes(primes) => primes.metrics(finishes),
            Load::Orders(orders) => orders.metrics(finishes),
            Load::Ladder(_) => Ok(BTreeMap::new()),
            Load::Shop(_) => crate::shop::metrics(finishes),
            Load::Command(command) => return command.conclude(finishes),
            Load::Idle(_) => Ok(BTreeMap::new()),
        };
        values.map(Concluded::from)
    }

    /// The part that serves the others and does not say so itself.
    #[must_use]
    pub fn server(&self) -> Option<Server> {
        match self {
            Load::Command(command) if !command.far_command.is_empty() => {
                Some(Server { part: crate::command::FAR_END, port: command.far_port })
            }
            _ => None,
        }
    }

    /// Whether the far machine's address is among its words.
    #[must_use]
    pub fn names_far(&self) -> bool {
        matches!(self, Load::Command(command) if command.names_far())
    }

    /// What to say before it runs: how to have its output read, where it is a tool that is known.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        match self {
            Load::Command(command) => command.advice(),
            _ => None,
        }
    }

    /// What it means that there is no peer, for loads that are about two ends.
    #[must_use]
    pub fn without_peer(&self) -> Option<&'static str> {
        match self {
            Load::Stream(_) => Some(
                "stream has no peer: both of its ends run on this machine, over loopback, so it measures how fast the machine copies to itself, and no network; name a peer with --far",
            ),
            Load::Ping(_) => Some(
                "ping has no peer: this machine answers itself, over loopback, so it measures no network and no NIC; name a peer with --far",
            ),
            _ => None,
        }
    }

    /// Whether what it prints is read by a driver, and so has to be kept whole.
    #[must_use]
    pub fn is_read(&self) -> bool {
        matches!(self, Load::Command(command) if command.driver().is_some())
    }

    /// The parts as metrics are picked from what they printed: without the words of anyone who started them.
    #[must_use]
    pub fn own_words<'a>(&self, finishes: &'a Finishes) -> Cow<'a, Finishes> {
        let driver = if let Load::Command(command) = self { command.driver() } else { None };
        let own = driver.and_then(|driver| driver.own(&finishes.get("load")?.output));
        let Some(output) = own else { return Cow::Borrowed(finishes) };
        let mut finishes = finishes.clone();
        if let Some(finished) = finishes.get_mut("load") {
            finished.output = output;
        }
        Cow::Owned(finishes)
    }
}

/// Loads of several stretches, each measured by itself.
impl Load {
    /// An interval as fast as it goes, and under which setting, for a load at shares of what it can do that does not know that.
    #[must_use]
    pub fn calibration(&self) -> Option<(Calibrate, Stage)> {
        match self {
            Load::Ladder(ladder) if ladder.full_per_s.is_none() => Some((ladder.calibrate, ladder.calibration())),
            _ => None,
        }
    }

    /// The most it can do, from what its calibrating intervals came to; `None` while it takes more of them.
    ///
    /// # Errors
    /// [`Void::LoadFailed`] when they do not settle.
    pub fn calibrated(&self, intervals: &[BTreeMap<String, f64>]) -> Result<Option<f64>, Void> {
        let scores: Vec<f64> = intervals.iter().filter_map(|it| it.get("score_per_s").copied()).collect();
        match self {
            Load::Ladder(ladder) => ladder.calibrated(&scores),
            _ => Ok(None),
        }
    }

    /// The stretches of one trial, in order. `draw` is what the trial shares with those it is compared with.
    #[must_use]
    pub fn stages(&self, full_per_s: Option<f64>, draw: u64) -> Vec<Stage> {
        match self {
            Load::Ladder(ladder) => ladder.stages(ladder.full_per_s.or(full_per_s).unwrap_or(1.0), draw),
            other => vec![Stage::whole(other.drawn(draw))],
        }
    }

    /// With chance of its own for each trial, where it has any that must not be the same in all.
    fn drawn(&self, draw: u64) -> Load {
        let mut load = self.clone();
        match &mut load {
            Load::Orders(OrdersLoad { seed, .. }) | Load::Shop(ShopLoad { seed, .. }) => *seed = mixed(*seed, draw),
            _ => {}
        }
        load
    }

    /// What is in front of the names of what a meter measures: one name for each stretch.
    #[must_use]
    pub fn prefixes(&self) -> Vec<String> {
        match self {
            Load::Ladder(ladder) => ladder.prefixes(),
            _ => vec![String::new()],
        }
    }

    /// What follows from all its stretches.
    pub fn sum_up(&self, full_per_s: Option<f64>, measured: &mut BTreeMap<String, f64>) {
        if let Load::Ladder(ladder) = self {
            ladder.sum_up(ladder.full_per_s.or(full_per_s).unwrap_or(1.0), measured);
        }
    }

    /// Distributions behind its metrics, by name and unit.
    #[must_use]
    pub fn histograms(&self, finishes: &Finishes) -> BTreeMap<String, Histogram> {
        let named =
            |name: &str| crate::latency::histogram(finishes).map(|it| (name.to_owned(), it)).into_iter().into_map();
        match self {
            Load::Ping(_) => named("rtt_ns"),
            Load::Wake(_) => named("wake_ns"),
            Load::Orders(_) => named("batch_ns"),
            Load::Shop(_) => named("answer_ns"),
            _ => BTreeMap::new(),
        }
    }
}

/// One sentence about a command that failed: what, how, and its last words.
#[must_use]
pub fn failed(what: &str, finished: &Finished) -> String {
    let said = [&finished.output.stderr, &finished.output.stdout];
    match said.iter().find_map(|text| text.lines().rev().find(|line| !line.trim().is_empty())) {
        Some(last) => format!("{what} ended with {}: {}", finished.status, last.trim()),
        None => format!("{what} ended with {} and printed nothing", finished.status),
    }
}

/// Most characters of a command line in a sentence that has more to say.
const BRIEF: usize = 48;

/// A command line, cut off so that the reason behind it is not.
fn briefly(line: &str) -> String {
    match line.char_indices().nth(BRIEF) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// One sentence about a part that failed.
fn failure(part: &str, load: &Load, finished: &Finished) -> String {
    let driver = if let Load::Command(command) = load { command.driver() } else { None };
    let complaint = driver.filter(|_| part == "load").and_then(|driver| driver.complaint(&finished.output));
    let load = briefly(&load.describe());
    let what = if part == "load" { load } else { format!("{load} ({part})") };
    match complaint {
        Some(last) => format!("the load '{what}' ended with {}: {}", finished.status, last.trim()),
        None => failed(&format!("the load '{what}'"), finished),
    }
}

fn counter_metrics(finishes: &Finishes) -> Result<BTreeMap<String, f64>, Void> {
    let (count, seconds) = (reported(finishes, "load", "count")?, reported(finishes, "load", "seconds")?);
    if seconds <= 0.0 || count <= 0.0 {
        return Err(Void::LoadFailed { why: format!("the counter counted {count} in {seconds} s") });
    }
    Ok([("count".to_owned(), count), ("count_per_s".to_owned(), count / seconds)].into())
}

/// Durations in plans: `"5s"`, printed again in the largest unit that is exact.
pub(crate) mod duration {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(ns: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
        let exact = units.iter().find(|(unit, _)| *ns > 0 && ns.is_multiple_of(*unit)).unwrap_or(&(1, "ns"));
        serializer.serialize_str(&format!("{}{}", ns / exact.0, exact.1))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        powerband_record::parse_duration_ns(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
mod variant;
