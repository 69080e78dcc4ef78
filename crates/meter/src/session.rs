//! Reading meters around a piece of work: open them, let the machine that runs it read them, and get numbers with their
//! boundaries.
use std::collections::BTreeMap;

use powerband_machine::{Errno, Handle, Machine, Sample as Moment, Watch};
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

/// Meters open for one piece of work.
#[derive(Debug)]
pub struct Session {
    meters: Vec<Open>,
    /// Places of the meters that are read at one period.
    watched: Vec<(Option<u64>, Vec<usize>)>,
}

/// One open meter.
#[derive(Debug)]
struct Open {
    instance: MeterInstance,
    handle: Result<Handle, Errno>,
}

impl Session {
    /// Opens `instances`. One that cannot be opened is refused at the end, with the reason.
    pub fn open(machine: &mut dyn Machine, instances: &[MeterInstance]) -> Session {
        let open = |it: &MeterInstance| Open { handle: machine.open(&it.source), instance: it.clone() };
        let meters: Vec<Open> = instances.iter().map(open).collect();
        let mut watched: BTreeMap<Option<u64>, Vec<usize>> = BTreeMap::new();
        for (i, open) in meters.iter().enumerate().filter(|(_, open)| open.handle.is_ok()) {
            watched.entry(period_ns(open.instance.kind)).or_default().push(i);
        }
        Session { meters, watched: watched.into_iter().collect() }
    }

    /// What the work's job is to say of them.
    #[must_use]
    pub fn watches(&self) -> Vec<Watch> {
        let handles = |members: &[usize]| members.iter().filter_map(|&i| self.meters[i].handle.ok()).collect();
        let watch = |(period_ns, members): &(Option<u64>, Vec<usize>)| Watch {
            handles: handles(members),
            period_ns: *period_ns,
        };
        self.watched.iter().map(watch).collect()
    }

    /// Closes them and answers what the machine read around the work by [`Session::watches`]; nothing, when the work never
    /// ran. Every meter gives `power_w` and `energy_j`, or says twice why not.
    pub fn close(self, machine: &mut dyn Machine, around: &[Vec<Moment>]) -> Vec<Reading> {
        let mut read: BTreeMap<usize, Vec<Sample>> = BTreeMap::new();
        for ((_, members), moments) in self.watched.iter().zip(around) {
            for moment in moments {
                for (&i, text) in members.iter().zip(&moment.texts) {
                    read.entry(i).or_default().push((moment.at_ns, parse(text.clone())));
                }
            }
        }
        let mut readings = Vec::new();
        for (i, open) in self.meters.into_iter().enumerate() {
            let samples = read.remove(&i).unwrap_or_default();
            let span = samples.first().zip(samples.last()).map_or((0, 0), |(first, last)| (first.0, last.0));
            let energy = match (open.handle, open.instance.kind) {
                (Err(errno), _) => Err(format!("{} cannot be opened: {errno}", open.instance.source)),
                (Ok(_), _) if samples.is_empty() => Err("it was not read".to_owned()),
                (Ok(_), Kind::Counter { wrap }) => counted(&samples, span, wrap),
                (Ok(_), Kind::Gauge { interval_ns, window }) => mean(&samples, span, interval_ns, window)
                    .map(|uw| (uw * 1e-6 * seconds(span), samples.iter().filter(|(_, it)| it.is_ok()).count()))
                    .map_err(|error| error.to_string()),
            };
            if let Ok(handle) = open.handle {
                machine.close(handle);
            }
            let steady = steady(&open.instance, &samples);
            readings.extend(report(open.instance, energy, span, steady));
        }
        readings
    }
}

/// How often it is read meanwhile: gauges as often as they make numbers, counters only if they may wrap.
fn period_ns(kind: Kind) -> Option<u64> {
    match kind {
        Kind::Gauge { interval_ns, .. } => Some(interval_ns.max(SHORTEST_PERIOD_NS)),
        Kind::Counter { wrap } => wrap.map(|wrap| (wrap.shortest_ns() / 4).max(SHORTEST_PERIOD_NS)),
    }
}

fn parse(text: Result<String, Errno>) -> Result<u64, String> {
    let text = text.map_err(|errno| errno.to_string())?;
    text.trim().parse().map_err(|_| format!("'{}' is not a number", text.trim()))
}

/// Energy by a counter, J, and how many readings it rests on. The first and the last must have come; of those between
/// them, which are for its wraps alone, some may be missing.
fn counted(samples: &[Sample], (start_ns, end_ns): (u64, u64), wrap: Option<Wrap>) -> Result<(f64, usize), String> {
    if let Some(Err(why)) =
        [samples.first(), samples.last()].into_iter().flatten().map(|it| &it.1).find(|it| it.is_err())
    {
        return Err(why.clone());
    }
    let readings: Vec<(u64, u64)> =
        samples.iter().filter_map(|(at, value)| Some((*at, *value.as_ref().ok()?))).collect();
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
