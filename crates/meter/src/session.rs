//! Reading meters around a piece of work: open them, let the machine that runs it read them, and get numbers with their
//! boundaries.
use std::collections::BTreeMap;

use powerband_machine::{Errno, Handle, Look, Sample as Moment, Sampling};
use powerband_record::{IntoOrdered as _, MeterQuantity, MeterReading, Side, Timeline};
use serde::Serialize;

use crate::followed;
use crate::integrate::{Energy, integrate, seconds};
use crate::late::PERIOD_NS;
use crate::{GaugeSample, Kind, MeterInstance};

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
    pub measured: MeterValue,
    /// What a person should know of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A number or a refusal.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MeterValue {
    /// Measured.
    Value {
        /// In the unit the metric's name ends with.
        value: f64,
        /// How many readings it rests on.
        samples: usize,
        /// How many were left out, as no machine draws what they showed.
        left_out: usize,
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
            MeterValue::Value { value, .. } => Some(value),
            MeterValue::Refused { .. } => None,
        }
    }

    /// Why there is no number.
    #[must_use]
    pub fn refusal(&self) -> Option<&str> {
        match &self.measured {
            MeterValue::Value { .. } => None,
            MeterValue::Refused { why } => Some(why),
        }
    }
}

/// Gauges are not read more often than this, however fast the chip is: 10 Hz.
const MIN_PERIOD_NS: u64 = 100_000_000;

/// Meters open for one piece of work.
#[derive(Debug)]
pub struct Session {
    meters: Vec<MeterInstance>,
    /// What is read for them: themselves, or their parts.
    open: Vec<Open>,
    /// Places of what is read at one period.
    watched: Vec<(Option<u64>, Vec<usize>)>,
}

/// One open meter.
#[derive(Debug)]
struct Open {
    /// Place of the meter it is read for.
    of: usize,
    instance: MeterInstance,
    /// Its file, and that which it is multiplied by; or which cannot be opened.
    handles: Result<Vec<Handle>, (String, Errno)>,
}

/// Why a meter that is a program cannot be read, a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeterUnavailable {
    /// The machine runs no programs of meters.
    NotHere(String),
    /// It does not start, or prints nothing.
    Silent(String),
}

impl Session {
    /// Opens `instances`. One that cannot be opened is refused at the end, with the reason.
    pub fn open(machine: &mut dyn Look, instances: &[MeterInstance]) -> Session {
        let mut open = Vec::new();
        for (of, instance) in instances.iter().enumerate() {
            for part in instance.read() {
                open.push(Open { of, handles: handles(machine, part), instance: part.clone() });
            }
        }
        let mut watched: BTreeMap<Option<u64>, Vec<usize>> = BTreeMap::new();
        for (i, open) in open.iter().enumerate().filter(|(_, open)| open.handles.is_ok()) {
            watched.entry(period_ns(&open.instance)).or_default().push(i);
        }
        Session { meters: instances.to_vec(), open, watched: watched.into_iter().collect() }
    }

    /// Why those of its meters that are programs cannot be read, the first of them.
    #[must_use]
    pub fn unavailable(&self) -> Option<MeterUnavailable> {
        let programs = self.open.iter().filter(|open| open.instance.prints.is_some());
        let mut refused = programs.filter_map(|open| Some((&open.instance, open.handles.as_ref().err()?)));
        refused.next().map(|(meter, (path, errno))| {
            let why = unopened(meter, path, *errno);
            if has_no_programs(*errno) { MeterUnavailable::NotHere(why) } else { MeterUnavailable::Silent(why) }
        })
    }

    /// What the work's job is to say of them.
    #[must_use]
    pub fn watches(&self) -> Vec<Sampling> {
        let handles = |members: &[usize]| members.iter().flat_map(|&i| self.open[i].handles()).copied().collect();
        let watch = |(period_ns, members): &(Option<u64>, Vec<usize>)| Sampling {
            handles: handles(members),
            period_ns: *period_ns,
        };
        self.watched.iter().map(watch).collect()
    }

    /// What they showed around the work and after it, reading by reading; nothing of those that were read before and after
    /// it alone. Readings that failed are left out.
    #[must_use]
    pub fn timelines(&self, side: Side, around: &[Vec<Moment>], after: &[Vec<Moment>]) -> Vec<Timeline> {
        let mut read = self.sorted(around);
        add(&mut read, self.sorted(after));
        let timeline = |(i, samples): (&usize, &Vec<GaugeSample>)| {
            let meter = &self.open[*i].instance;
            let readings: Vec<MeterReading> =
                samples.iter().filter_map(|(at, value)| Some((*at, *value.as_ref().ok()?))).collect();
            let quantity = match meter.kind {
                Kind::Gauge { .. } => MeterQuantity::PowerUw,
                Kind::Counter { .. } => MeterQuantity::EnergyUj,
            };
            Timeline::pack(side, meter.meter, &meter.boundary, quantity, &readings)
        };
        read.iter().filter_map(timeline).collect()
    }

    /// For how long after the work the machine is to read on by [`Session::watches`], ns: until what comes late has come.
    #[must_use]
    pub fn linger_ns(&self) -> u64 {
        self.meters.iter().map(MeterInstance::linger_ns).max().unwrap_or(0)
    }

    /// Closes them and answers what the machine read around the work by [`Session::watches`], nothing when the work never
    /// ran, and for [`Session::linger_ns`] after it. Every meter gives `power_w` and `energy_j`, or says twice why not.
    pub fn close(self, machine: &mut dyn Look, around: &[Vec<Moment>], after: &[Vec<Moment>]) -> Vec<Reading> {
        let mut read = self.sorted(around);
        let span = |samples: &Vec<GaugeSample>| samples.first().zip(samples.last()).map_or((0, 0), |(a, b)| (a.0, b.0));
        let spans: BTreeMap<usize, (u64, u64)> = read.iter().map(|(&i, samples)| (i, span(samples))).into_map();
        add(&mut read, self.sorted(after));
        let mut totals: Vec<Total> = self.meters.into_iter().map(Total::of).collect();
        for (i, open) in self.open.into_iter().enumerate() {
            open.handles().iter().for_each(|&handle| machine.close(handle));
            let span = spans.get(&i).copied().unwrap_or_default();
            totals[open.of].add(&open, read.remove(&i).unwrap_or_default(), span);
        }
        totals.into_iter().flat_map(Total::report).collect()
    }

    /// What was read of each open meter.
    fn sorted(&self, moments: &[Vec<Moment>]) -> BTreeMap<usize, Vec<GaugeSample>> {
        let mut read: BTreeMap<usize, Vec<GaugeSample>> = BTreeMap::new();
        let mut printed: BTreeMap<usize, Printed> = BTreeMap::new();
        for ((_, members), moments) in self.watched.iter().zip(moments) {
            for moment in moments {
                let mut texts = moment.texts.as_slice();
                for &i in members {
                    let open = &self.open[i];
                    let Some((own, rest)) = texts.split_at_checked(open.handles().len()) else { break };
                    texts = rest;
                    if open.instance.prints.is_some() {
                        printed
                            .entry(i)
                            .or_default()
                            .push((moment.at_ns, own.first().cloned().unwrap_or(Err(Errno::EBADF))));
                        continue;
                    }
                    read.entry(i).or_default().push((moment.at_ns, parse(&open.instance, own)));
                }
            }
        }
        for (i, printed) in printed {
            read.insert(i, told(&self.open[i].instance, &printed));
        }
        read
    }
}

impl Open {
    fn handles(&self) -> &[Handle] {
        self.handles.as_deref().unwrap_or_default()
    }
}

/// Puts later readings behind those there are.
fn add(read: &mut BTreeMap<usize, Vec<GaugeSample>>, after: BTreeMap<usize, Vec<GaugeSample>>) {
    for (i, samples) in after {
        read.entry(i).or_default().extend(samples);
    }
}

/// Why a meter cannot be opened.
fn unopened(meter: &MeterInstance, path: &str, errno: Errno) -> String {
    let program = path.strip_prefix("lines:").unwrap_or(path);
    match errno {
        _ if meter.prints.is_none() => format!("{path} cannot be opened: {errno}"),
        Errno::ENODEV => format!("the program `{program}` ended before it printed a line; try it by hand"),
        Errno::ETIMEDOUT => {
            format!("the program `{program}` printed no line for 8 s; let it print one as soon as it can")
        }
        _ if has_no_programs(errno) => format!("no program of a meter can be run there (`{program}`: {errno})"),
        _ => format!("the program `{program}` cannot be started: {errno}"),
    }
}

/// Whether it is the machine that has no programs, not this one that fails.
fn has_no_programs(errno: Errno) -> bool {
    matches!(errno, Errno::ENOENT | Errno::EOPNOTSUPP)
}

/// Both files or none.
fn handles(machine: &mut dyn Look, meter: &MeterInstance) -> Result<Vec<Handle>, (String, Errno)> {
    let mut handles = Vec::new();
    for path in [Some(&meter.source), meter.times.as_ref()].into_iter().flatten() {
        match machine.open(path) {
            Ok(handle) => handles.push(handle),
            Err(errno) => {
                handles.into_iter().for_each(|handle| machine.close(handle));
                return Err((path.clone(), errno));
            }
        }
    }
    Ok(handles)
}

/// What was read of a program's lines, and when.
type Printed = Vec<(u64, Result<String, Errno>)>;

/// The readings a program's lines come to, of the time from the first to the last that was read of them.
fn told(meter: &MeterInstance, printed: &Printed) -> Vec<GaugeSample> {
    let (Some(first), Some(last), Some(unit)) = (printed.first(), printed.last(), meter.prints) else {
        return Vec::new();
    };
    let texts: Vec<String> = printed.iter().filter_map(|(_, text)| text.clone().ok()).collect();
    followed::samples(meter, unit, &texts, (first.0, last.0))
}

/// How often it is read meanwhile: gauges as often as they make numbers, counters only if they may wrap, late ones often
/// enough to tell when their numbers changed, and programs never, as their lines are kept with the time they came.
fn period_ns(meter: &MeterInstance) -> Option<u64> {
    match meter.kind {
        _ if meter.prints.is_some() => None,
        _ if meter.shift_ns().is_some() => Some(PERIOD_NS),
        Kind::Gauge { interval_ns, .. } => Some(interval_ns.max(MIN_PERIOD_NS)),
        Kind::Counter { wrap } => wrap.map(|wrap| (wrap.shortest_ns() / 4).max(MIN_PERIOD_NS)),
    }
}

fn parse(meter: &MeterInstance, texts: &[Result<String, Errno>]) -> Result<u64, String> {
    if let Some(Err(errno)) = texts.iter().find(|text| text.is_err()) {
        return Err(errno.to_string());
    }
    meter.number(texts.iter().flatten().map(String::as_str))
}

/// What a meter, or the parts of a sum, came to so far.
struct Total {
    instance: MeterInstance,
    energy: Result<Energy, String>,
    /// The longest of the parts' times; they are read around the same work.
    span: (u64, u64),
}

impl Total {
    fn of(instance: MeterInstance) -> Total {
        Total { instance, energy: Ok(Energy::default()), span: (0, 0) }
    }

    fn add(&mut self, open: &Open, samples: Vec<GaugeSample>, span: (u64, u64)) {
        let mut notes = Vec::new();
        let part = match &open.handles {
            Err((path, errno)) => Err(unopened(&open.instance, path, *errno)),
            Ok(_) => integrate(&open.instance, samples, span, &mut notes),
        };
        let named = |words: String| match self.instance.parts.is_empty() {
            true => words,
            false => format!("{}: {words}", open.instance.boundary),
        };
        self.instance.notes.extend(notes.into_iter().map(named));
        if seconds(span) > seconds(self.span) {
            self.span = span;
        }
        match (&mut self.energy, part.map_err(named)) {
            (Ok(total), Ok(part)) => {
                total.joules += part.joules;
                total.samples += part.samples;
                total.left_out += part.left_out;
            }
            (total @ Ok(_), Err(why)) => *total = Err(why),
            (Err(_), _) => {}
        }
    }

    fn report(self) -> [Reading; 2] {
        let Total { instance, energy, span } = self;
        let energy = energy.and_then(|it| if seconds(span) > 0.0 { Ok(it) } else { Err("no time passed".into()) });
        ["power_w", "energy_j"].map(|metric| Reading {
            metric,
            meter: instance.meter,
            boundary: instance.boundary.clone(),
            source: instance.source.clone(),
            measured: match &energy {
                Ok(Energy { joules, samples, left_out }) => {
                    let value = if metric == "power_w" { joules / seconds(span) } else { *joules };
                    MeterValue::Value { value, samples: *samples, left_out: *left_out }
                }
                Err(why) => MeterValue::Refused { why: why.clone() },
            },
            notes: instance.notes.clone(),
        })
    }
}
