//! Reading meters around a piece of work: start, let it run, stop, and get numbers with their boundaries.
use std::collections::BTreeMap;

use powerband_machine::{Errno, Handle, Machine, RecorderId};
use serde::Serialize;

use crate::{Kind, MeterInstance, Sample, Wrap, advance_uj, mean};

/// One number, or why there is none. There is never a number without its boundary.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// Metric: `power_w` or `energy_j`.
    pub metric: &'static str,
    /// Name of the kind of meter.
    pub meter: &'static str,
    /// What the number covers.
    pub boundary: String,
    /// The file it was read from.
    pub source: String,
    /// The number.
    #[serde(flatten)]
    pub measured: Measured,
    /// What a person should know of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A number or a refusal.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// Measured.
    Value {
        /// In the unit the metric's name ends with.
        value: f64,
        /// How many readings it rests on.
        samples: usize,
    },
    /// Not measured.
    Refused {
        /// Why, and what would help.
        why: String,
    },
}

impl Reading {
    /// The number, if there is one.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        match self.measured {
            Measured::Value { value, .. } => Some(value),
            Measured::Refused { .. } => None,
        }
    }

    /// Why there is no number.
    #[must_use]
    pub fn refusal(&self) -> Option<&str> {
        match &self.measured {
            Measured::Value { .. } => None,
            Measured::Refused { why } => Some(why),
        }
    }
}

/// Gauges are not read more often than this, however fast the chip is: 10 Hz.
const SHORTEST_PERIOD_NS: u64 = 100_000_000;

/// Meters being read.
#[derive(Debug)]
pub struct Session {
    start_ns: u64,
    meters: Vec<Running>,
    recorders: Vec<(RecorderId, Vec<usize>)>,
}

/// One meter being read.
#[derive(Debug)]
struct Running {
    instance: MeterInstance,
    handle: Result<Handle, Errno>,
    first: Option<Result<u64, String>>,
}

impl Session {
    /// Begins to read `instances`; `now_ns` is the World's clock. Call it right before the work starts. A meter that
    /// cannot be opened is refused at the end, with the reason.
    pub fn start(machine: &mut dyn Machine, instances: &[MeterInstance], now_ns: u64) -> Session {
        let mut meters: Vec<Running> = instances
            .iter()
            .map(|instance| Running { handle: machine.open(&instance.source), instance: instance.clone(), first: None })
            .collect();
        let mut by_period: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (i, running) in meters.iter().enumerate().filter(|(_, running)| running.handle.is_ok()) {
            if let Some(period_ns) = period_ns(running.instance.kind) {
                by_period.entry(period_ns).or_default().push(i);
            }
        }
        let recorders = by_period
            .into_iter()
            .map(|(period_ns, members)| {
                let handles: Vec<Handle> = members.iter().filter_map(|&i| meters[i].handle.ok()).collect();
                (machine.record(&handles, period_ns), members)
            })
            .collect();
        // Counters last, so that nothing but their own reading lies between them and the work.
        for (running, value) in read_counters(machine, &meters) {
            meters[running].first = Some(value);
        }
        Session { start_ns: now_ns, meters, recorders }
    }

    /// Ends reading; `now_ns` is the World's clock. Call it right after the work has ended. Every meter gives
    /// `power_w` and `energy_j`, or says twice why not.
    pub fn stop(self, machine: &mut dyn Machine, now_ns: u64) -> Vec<Reading> {
        let mut last: BTreeMap<usize, Result<u64, String>> = read_counters(machine, &self.meters).into_iter().collect();
        let mut recorded: BTreeMap<usize, Vec<Sample>> = BTreeMap::new();
        for (recorder, members) in &self.recorders {
            for moment in machine.end_record(*recorder) {
                for (&i, text) in members.iter().zip(moment.texts) {
                    recorded.entry(i).or_default().push((moment.at_ns, parse(text)));
                }
            }
        }
        let span = (self.start_ns, now_ns);
        let mut readings = Vec::new();
        for (i, running) in self.meters.into_iter().enumerate() {
            let between = recorded.remove(&i).unwrap_or_default();
            let energy = match (running.handle, running.instance.kind) {
                (Err(errno), _) => Err(format!("{} cannot be opened: {errno}", running.instance.source)),
                (Ok(_), Kind::Counter { wrap }) => counted(running.first, &between, last.remove(&i), span, wrap),
                (Ok(_), Kind::Gauge { interval_ns, window }) => mean(&between, span, interval_ns, window)
                    .map(|uw| (uw * 1e-6 * seconds(span), between.iter().filter(|(_, it)| it.is_ok()).count()))
                    .map_err(|error| error.to_string()),
            };
            if let Ok(handle) = running.handle {
                machine.close(handle);
            }
            let steady = steady(&running.instance, &between);
            readings.extend(report(running.instance, energy, span, steady));
        }
        readings
    }
}

/// How often the recorder reads it: gauges as often as they make numbers, counters only if they may wrap meanwhile.
fn period_ns(kind: Kind) -> Option<u64> {
    match kind {
        Kind::Gauge { interval_ns, .. } => Some(interval_ns.max(SHORTEST_PERIOD_NS)),
        Kind::Counter { wrap } => wrap.map(|wrap| (wrap.shortest_ns() / 4).max(SHORTEST_PERIOD_NS)),
    }
}

fn read_counters(machine: &mut dyn Machine, meters: &[Running]) -> Vec<(usize, Result<u64, String>)> {
    let is_counter = |running: &Running| matches!(running.instance.kind, Kind::Counter { .. });
    let counters: Vec<(usize, Handle)> = meters
        .iter()
        .enumerate()
        .filter(|(_, running)| is_counter(running))
        .filter_map(|(i, running)| Some((i, running.handle.ok()?)))
        .collect();
    let handles: Vec<Handle> = counters.iter().map(|&(_, handle)| handle).collect();
    let mut texts = Vec::new();
    machine.read_many(&handles, &mut texts);
    counters.into_iter().map(|(i, _)| i).zip(texts.into_iter().map(parse)).collect()
}

fn parse(text: Result<String, Errno>) -> Result<u64, String> {
    let text = text.map_err(|errno| errno.to_string())?;
    text.trim().parse().map_err(|_| format!("'{}' is not a number", text.trim()))
}

/// Energy by a counter, J, and how many readings it rests on.
fn counted(
    first: Option<Result<u64, String>>,
    between: &[Sample],
    last: Option<Result<u64, String>>,
    (start_ns, end_ns): (u64, u64),
    wrap: Option<Wrap>,
) -> Result<(f64, usize), String> {
    let missing = || Err("it was not read".to_owned());
    let mut readings = vec![(start_ns, first.unwrap_or_else(missing)?)];
    let inside = between.iter().filter(|(at, _)| (start_ns + 1..end_ns).contains(at));
    readings.extend(inside.filter_map(|(at, value)| Some((*at, *value.as_ref().ok()?))));
    readings.push((end_ns, last.unwrap_or_else(missing)?));
    match advance_uj(&readings, wrap).map_err(|error| error.to_string())? {
        0 => Err(format!(
            "the counter did not move in {} ms: the meter is dead, or too coarse for so short a load",
            (end_ns - start_ns) / 1_000_000
        )),
        uj => Ok((uj as f64 * 1e-6, readings.len())),
    }
}

/// A remark on a gauge that showed one and the same number throughout.
fn steady(instance: &MeterInstance, samples: &[Sample]) -> Option<String> {
    let mut values = samples.iter().filter_map(|(_, value)| value.as_ref().ok());
    let first = values.next()?;
    let same = matches!(instance.kind, Kind::Gauge { .. }) && samples.len() > 2 && values.all(|value| value == first);
    same.then(|| format!("it showed the same number in all of {} readings", samples.len()))
}

fn seconds((start_ns, end_ns): (u64, u64)) -> f64 {
    end_ns.saturating_sub(start_ns) as f64 * 1e-9
}

fn report(
    instance: MeterInstance,
    energy: Result<(f64, usize), String>,
    span: (u64, u64),
    steady: Option<String>,
) -> [Reading; 2] {
    let energy = energy.and_then(|it| if seconds(span) > 0.0 { Ok(it) } else { Err("no time passed".into()) });
    let mut notes = instance.notes;
    notes.extend(steady);
    ["power_w", "energy_j"].map(|metric| Reading {
        metric,
        meter: instance.meter,
        boundary: instance.boundary.clone(),
        source: instance.source.clone(),
        measured: match &energy {
            Ok((joules, samples)) => {
                let value = if metric == "power_w" { joules / seconds(span) } else { *joules };
                Measured::Value { value, samples: *samples }
            }
            Err(why) => Measured::Refused { why: why.clone() },
        },
        notes: notes.clone(),
    })
}
