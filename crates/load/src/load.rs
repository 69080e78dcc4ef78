//! The load: its parts, what it measures by itself, and how metrics are read from what the parts reported.
use std::collections::BTreeMap;

use powerband_machine::Finished;
use powerband_record::{Better, CpuList, Histogram, Metric, Side, Void, Work};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ladder::mixed;
use crate::{
    CommandLoad, CounterLoad, IdleLoad, LadderLoad, OrdersLoad, PingLoad, PrimesLoad, ShopLoad, Stage, StreamLoad,
    WakeLoad,
};

/// What makes the machine work, as a plan spells it: `kind = "counter"`, ….
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
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
pub struct Rig {
    /// Address of the near machine, as the far one reaches it.
    pub near: String,
    /// Address of the far machine, when there is one.
    pub far: Option<String>,
}

/// One process of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
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

/// What the parts came to, by name.
pub type Finishes = BTreeMap<&'static str, Finished>;

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
    /// A command without a program.
    #[error("the command is empty; put a program behind --")]
    Empty,
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
            Load::Command(command) if command.argv.first().is_none_or(String::is_empty) => Err(LoadError::Empty),
            Load::Command(_) => Ok(()),
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
            Load::Command(command) => command.argv.join(" "),
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
                metric("lost_percent", Better::Lower, false),
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
                metric("p99_us", Better::Lower, false),
                metric("max_us", Better::Lower, false),
            ],
            Load::Ladder(ladder) => ladder.metrics(),
            Load::Shop(_) => vec![
                metric("requests_per_s", Better::Higher, true),
                metric("orders_per_s", Better::Higher, false),
                metric("mean_us", Better::Lower, false),
                metric("p50_us", Better::Lower, false),
                metric("p90_us", Better::Lower, false),
                metric("p99_us", Better::Lower, false),
                metric("max_us", Better::Lower, false),
            ],
            Load::Command(_) => vec![
                metric("real_s", Better::Lower, true),
                metric("user_s", Better::Lower, false),
                metric("sys_s", Better::Lower, false),
                metric("peak_rss_kib", Better::Lower, false),
            ],
            Load::Idle(_) => Vec::new(),
        }
    }

    /// What it measures beside that where the near machine has a meter of power, the judged one first.
    #[must_use]
    pub fn metrics_by_meter(&self) -> Vec<Metric> {
        match self {
            Load::Ladder(ladder) => ladder.by_meter(),
            _ => Vec::new(),
        }
    }

    /// Its processes, in the order they start.
    #[must_use]
    pub fn parts(&self, rig: &Rig) -> Vec<Part> {
        match self {
            Load::Counter(counter) => counter.parts(),
            Load::Stream(stream) => stream.parts(rig),
            Load::Ping(ping) => ping.parts(rig),
            Load::Wake(wake) => wake.parts(),
            Load::Primes(primes) => primes.parts(),
            Load::Orders(orders) => orders.parts(),
            // Whoever runs it runs its stages.
            Load::Ladder(ladder) => ladder.calibration().load.parts(rig),
            Load::Shop(shop) => shop.parts(),
            Load::Command(command) => command.parts(),
            Load::Idle(idle) => idle.parts(),
        }
    }

    /// Reads the metrics out of what the parts came to.
    ///
    /// # Errors
    /// [`Void::LoadFailed`] when a part did not end well or did not report.
    pub fn conclude(&self, finishes: &Finishes) -> Result<BTreeMap<String, f64>, Void> {
        for (name, finished) in finishes {
            let tolerated = matches!(self, Load::Command(command) if command.ignore_failure);
            if !finished.status.success() && !tolerated {
                return Err(Void::LoadFailed { why: failure(name, self, finished) });
            }
        }
        match self {
            Load::Counter(_) => counter_metrics(finishes),
            Load::Stream(stream) => stream.conclude(finishes),
            Load::Ping(_) => crate::ping::metrics(finishes),
            Load::Wake(_) => crate::wake::metrics(finishes),
            Load::Primes(primes) => primes.metrics(finishes),
            Load::Orders(orders) => orders.metrics(finishes),
            Load::Ladder(_) => Ok(BTreeMap::new()),
            Load::Shop(_) => crate::shop::metrics(finishes),
            Load::Command(_) => crate::command::metrics(finishes),
            Load::Idle(_) => Ok(BTreeMap::new()),
        }
    }
}

/// Loads of several stretches, each measured by itself.
impl Load {
    /// An interval as fast as it goes, for a load that is a share of the most it can do and does not know that yet.
    #[must_use]
    pub fn calibration(&self) -> Option<Stage> {
        match self {
            Load::Ladder(ladder) if ladder.full_per_s.is_none() => Some(ladder.calibration()),
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
            |name: &str| crate::latency::histogram(finishes).map(|it| (name.to_owned(), it)).into_iter().collect();
        match self {
            Load::Ping(_) => named("rtt_ns"),
            Load::Wake(_) => named("wake_ns"),
            Load::Orders(_) => named("batch_ns"),
            Load::Shop(_) => named("answer_ns"),
            _ => BTreeMap::new(),
        }
    }
}

/// One sentence about a part that failed: what, how, and its last words.
fn failure(part: &str, load: &Load, finished: &Finished) -> String {
    let said = [&finished.output.stderr, &finished.output.stdout];
    let last = said.iter().find_map(|text| text.lines().rev().find(|line| !line.trim().is_empty()));
    let what = if part == "load" { load.describe() } else { format!("{} ({part})", load.describe()) };
    match last {
        Some(last) => format!("the load '{what}' ended with {}: {}", finished.status, last.trim()),
        None => format!("the load '{what}' ended with {} and printed nothing", finished.status),
    }
}

/// A number from a built-in part's report.
///
/// # Errors
/// [`Void::LoadFailed`] when the part did not run, or reported no such number.
pub(crate) fn reported(finishes: &Finishes, part: &'static str, key: &str) -> Result<f64, Void> {
    let finished = finishes
        .get(part)
        .ok_or_else(|| Void::LoadFailed { why: format!("the part '{part}' of the load never ran") })?;
    finished
        .report
        .as_ref()
        .and_then(|report| report.get(key))
        .and_then(serde_json::Value::as_f64)
        .ok_or_else(|| Void::LoadFailed { why: format!("the part '{part}' of the load reported no '{key}'") })
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
mod tests {
    use powerband_record::{ExitStatus, Output, Usage};
    use serde_json::json;

    use super::*;

    fn finished(report: serde_json::Value, status: ExitStatus, stderr: &str) -> Finished {
        let output = Output { stdout: String::new(), stderr: stderr.into(), cut: false };
        let usage = Usage { real_ns: 1_500_000_000, ..Usage::default() };
        Finished { status, usage, report: Some(report), output, around: Vec::new() }
    }

    #[test]
    fn a_stream_gives_nuttcps_columns() {
        let load = Load::builtin("stream", None).unwrap();
        let finishes: Finishes = [
            (
                "receive",
                finished(json!({"bytes": 62_500_000, "seconds": 10.0, "cpu_seconds": 2.4}), ExitStatus::Code(0), ""),
            ),
            (
                "send",
                finished(
                    json!({"bytes": 62_500_000, "seconds": 10.0, "cpu_seconds": 0.7, "retransmits": 3, "rtt_ms": 1.6}),
                    ExitStatus::Code(0),
                    "",
                ),
            ),
        ]
        .into();
        let metrics = load.conclude(&finishes).unwrap();
        assert_eq!(metrics["rate_mbit_s"], 50.0);
        assert!((metrics["rx_percent"] - 24.0).abs() < 1e-9 && (metrics["tx_percent"] - 7.0).abs() < 1e-9);
        assert_eq!((metrics["retransmits"], metrics["rtt_ms"]), (3.0, 1.6));
        assert!(load.metrics().iter().all(|metric| metrics.contains_key(&metric.name)), "every promised metric comes");
    }

    #[test]
    fn both_ends_of_a_stream_on_one_machine_when_there_is_no_far_one() {
        let stream = StreamLoad::default();
        let alone = Rig { near: "127.0.0.1".into(), far: None };
        assert!(stream.parts(&alone).iter().all(|part| part.side == Side::Near));
        let pair = Rig { near: "near".into(), far: Some("far".into()) };
        let sides: Vec<_> = stream.parts(&pair).iter().map(|part| (part.name, part.side)).collect();
        assert_eq!(sides, [("receive", Side::Near), ("send", Side::Far)]);
    }

    #[test]
    fn meters_are_read_around_one_part_of_each_side_that_has_any() {
        let mut loads: Vec<Load> = ["counter", "stream", "ping", "wake", "primes", "orders", "ladder", "shop", "idle"]
            .map(|name| Load::builtin(name, None).unwrap())
            .into();
        loads.push(Load::Stream(StreamLoad { direction: crate::Direction::NearToFar, ..StreamLoad::default() }));
        loads.push(Load::Command(CommandLoad::default()));
        for far in [None, Some("far".to_owned())] {
            let rig = Rig { near: "near".into(), far };
            for load in &loads {
                let parts = load.parts(&rig);
                for side in [Side::Near, Side::Far] {
                    let here: Vec<_> = parts.iter().filter(|part| part.side == side).collect();
                    let metered = here.iter().filter(|part| part.metered).count();
                    assert_eq!(metered, here.len().min(1), "{} on the {side} machine", load.kind());
                }
            }
        }
    }

    #[test]
    fn failures_are_one_sentence() {
        let load = Load::Command(CommandLoad { argv: vec!["false".into()], ..CommandLoad::default() });
        let finishes: Finishes =
            [("load", finished(json!(null), ExitStatus::Code(3), "warming\nout of cheese\n"))].into();
        let Err(Void::LoadFailed { why }) = load.conclude(&finishes) else {
            panic!("a failing command is a failing load")
        };
        assert_eq!(why, "the load 'false' ended with exit status 3: out of cheese");
        let tolerant =
            Load::Command(CommandLoad { argv: vec!["false".into()], ignore_failure: true, ..CommandLoad::default() });
        assert_eq!(tolerant.conclude(&finishes).unwrap()["real_s"], 1.5);
    }

    #[test]
    fn plans_spell_loads_and_unknown_words_are_refused() {
        let load: Load =
            serde_json::from_value(json!({"kind": "counter", "for": "5s", "align_to_second": true, "pin": "1"}))
                .unwrap();
        assert_eq!(load.length_ns(), Some(5_000_000_000));
        assert_eq!(serde_json::from_value::<Load>(serde_json::to_value(&load).unwrap()).unwrap(), load);
        assert!(serde_json::from_value::<Load>(json!({"kind": "counter", "fro": "5s"})).is_err());
        assert!(serde_json::from_value::<Load>(json!({"kind": "dance"})).is_err());
        assert!(Load::builtin("dance", None).is_err() && Load::builtin("counter", Some(0)).is_err());
    }
}
