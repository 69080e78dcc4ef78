//! Metering of trials: one meter a machine and the figures of its state that are asked for, and their metrics by side.
use std::collections::BTreeMap;

use powerband_machine::{Handle, Look, Sample, Sampling, World};
use powerband_meter::state::{AskedFigure, OpenFigure};
use powerband_meter::{MeterInstance, MeterUnavailable, MeterValue, OpenCourses, Session};
use powerband_record::{CpuList, MeterChoice, Recording, Side, Timeline, format_duration};

use crate::PlanError;
use crate::choice::meters_read;
use crate::courses::of_side;

/// What every meter gives.
const METRICS: [&str; 2] = ["power_w", "energy_j"];

/// The meters that are read during trials: of each machine the one asked for or the first of those found, as the numbers of two on one machine
/// may overlap and are never added up. Those of two machines never do.
#[derive(Debug, Default)]
pub(crate) struct Metering {
    meters: BTreeMap<Side, MeterInstance>,
    /// How many machines there are.
    machines: usize,
    figures: Vec<(Side, AskedFigure)>,
    /// What is kept of the CPUs meanwhile.
    courses: Vec<Recording>,
    /// The CPUs figures and courses are of; all when `None`.
    cpus: Option<CpuList>,
}

/// What was read around a load, by side.
pub(crate) type Around = BTreeMap<Side, Vec<Vec<Sample>>>;

/// What the meters said about one run.
#[derive(Debug, Default)]
pub(crate) struct Metered {
    /// Value by metric name.
    pub(crate) values: BTreeMap<String, f64>,
    /// Why a metric was refused.
    pub(crate) refused: BTreeMap<String, String>,
    /// What meters that are read meanwhile showed.
    pub(crate) timelines: Vec<Timeline>,
    /// How many readings were left out for a metric, where some were.
    pub(crate) left_out: BTreeMap<String, u32>,
}

/// Meters open for one run.
pub(crate) struct Sessions {
    meters: BTreeMap<Side, Session>,
    /// The side of sums over them.
    sum: Option<Side>,
    courses: BTreeMap<Side, OpenCourses>,
    figures: BTreeMap<Side, Figures>,
}

/// Figures open for one run.
#[derive(Default)]
struct Figures {
    open: Vec<OpenFigure>,
    /// Those that could not be opened, and why.
    refused: Vec<(String, String)>,
}

impl Metering {
    /// Looks for meters on the machines of a rig; a program that is declared is the near machine's.
    ///
    /// # Errors
    /// [`PlanError::NoSuchMeter`].
    pub(crate) fn find(
        world: &mut dyn World,
        choices: &[MeterChoice],
        declared: Option<&MeterInstance>,
    ) -> Result<Self, PlanError> {
        let mut meters = meters_read(world, choices)?;
        meters.extend(declared.map(|meter| (Side::Near, meter.clone())));
        Ok(Metering { meters, machines: world.sides().len(), ..Metering::default() })
    }

    /// With those figures that are among some metrics.
    pub(crate) fn with_figures<'a>(self, metrics: impl Iterator<Item = &'a str>, cpus: Option<&CpuList>) -> Self {
        let mut figures: Vec<(Side, AskedFigure)> = Vec::new();
        for (side, figure) in metrics.filter_map(figure_of) {
            // One that two metrics are made of is read once.
            if !figures.iter().any(|known| (known.0, known.1.name()) == (side, figure.name())) {
                figures.push((side, figure));
            }
        }
        Metering { figures, cpus: cpus.cloned(), ..self }
    }

    /// With what is kept of the CPUs meanwhile.
    pub(crate) fn with_courses(self, recordings: &[Recording]) -> Self {
        Metering { courses: recordings.to_vec(), ..self }
    }

    /// The slowest meter a metric is measured by that a load of this length is too short for.
    pub(crate) fn too_slow(&self, metric: &str, length_ns: u64) -> Option<&MeterInstance> {
        let side = side_of(metric)?;
        let meters = self.meters.iter().filter(|(machine, _)| side.covers(**machine)).map(|(_, meter)| meter);
        meters.filter(|meter| meter.shortest_ns() > length_ns).max_by_key(|meter| meter.shortest_ns())
    }

    /// Whether a machine has one.
    pub(crate) fn has(&self, side: Side) -> bool {
        self.meters.contains_key(&side)
    }

    /// What they measure, the near machine's first, with the boundary of each.
    pub(crate) fn metrics(&self) -> Vec<(String, String)> {
        let of = |side: Side| {
            let boundary = self.boundary(side)?;
            Some(METRICS.map(|metric| (named(side, metric), boundary.clone())))
        };
        let machines = self.meters.keys().copied();
        machines.chain(self.sum()).filter_map(of).flatten().collect()
    }

    /// Whether these are the meters of a list of machines.
    fn is_list(&self) -> bool {
        self.meters.keys().any(|side| matches!(side, Side::Node(_)))
    }

    /// The side of sums: both ends of a link, or all machines of a list whose meters read the same.
    fn sum(&self) -> Option<Side> {
        // A sum is of all machines or of none.
        if self.meters.len() < self.machines.max(2) || self.apart().is_some() {
            return None;
        }
        Some(if self.is_list() { Side::All } else { Side::Both })
    }

    /// Where the meters of a list of machines do not all read the same: what each reads.
    pub(crate) fn apart(&self) -> Option<String> {
        let mut boundaries = self.meters.values().map(|meter| (&meter.meter, &meter.boundary));
        let first = boundaries.next().filter(|_| self.is_list())?;
        if boundaries.all(|other| other == first) {
            return None;
        }
        let each = |(side, meter): (&Side, &MeterInstance)| format!("{side}: {} ({})", meter.boundary, meter.meter);
        let each: Vec<String> = self.meters.iter().map(each).collect();
        Some(format!("{}; choose one of each with --meter NODE/NAME", each.join(", ")))
    }

    /// What the numbers of a side cover; of both, if both have a meter.
    pub(crate) fn boundary(&self, side: Side) -> Option<String> {
        let of = |side: &Side| self.meters.get(side).map(|meter| &meter.boundary);
        Some(match side {
            Side::Near => of(&Side::Near)?.clone(),
            Side::Far => format!("far {}", of(&Side::Far)?),
            Side::Node(_) => format!("{side} {}", of(&side)?),
            Side::All => {
                let names: Vec<String> = self.meters.keys().map(ToString::to_string).collect();
                format!("{} of {}", self.meters.values().next()?.boundary, names.join(" + "))
            }
            Side::Both => format!("near {} + far {}", of(&Side::Near)?, of(&Side::Far)?),
        })
    }

    /// What a reader of the numbers should know of how they were read.
    pub(crate) fn notes(&self) -> Vec<String> {
        let note = |(side, meter): (&Side, &MeterInstance)| {
            let late = format_duration(meter.lag_ns.filter(|&lag_ns| lag_ns > 0)?);
            Some(format!(
                "{} of the {side} machine has a delay of {late}, and its readings are shifted by that",
                meter.boundary
            ))
        };
        let apart = self
            .apart()
            .map(|why| format!("power and energy are not added up over machines, as their meters differ: {why}"));
        self.meters.iter().filter_map(note).chain(apart).collect()
    }

    /// For how long the machines are read on after a load at most, ns.
    pub(crate) fn late_ns(&self) -> u64 {
        let meters = self.meters.values().map(MeterInstance::linger_ns);
        meters.chain(self.courses.iter().map(|recording| recording.after_ns)).max().unwrap_or(0)
    }

    /// Opens the meters of some machines, and all figures, for a run.
    pub(crate) fn open(&self, world: &mut dyn World, sides: &[Side]) -> Sessions {
        let mut meters = BTreeMap::new();
        for (&side, meter) in self.meters.iter().filter(|(side, _)| sides.contains(side)) {
            if let Some(machine) = world.machine(side) {
                meters.insert(side, Session::open(machine, std::slice::from_ref(meter)));
            }
        }
        let mut courses = BTreeMap::new();
        for side in world.sides() {
            let asked = of_side(&self.courses, side);
            let Some(machine) = world.machine(side).filter(|_| !asked.is_empty()) else { continue };
            // One that was there before the start and is not now leaves no course; no metric rests on it.
            courses.extend(OpenCourses::open(machine, &asked, self.cpus.as_ref()).ok().map(|open| (side, open)));
        }
        let mut figures: BTreeMap<Side, Figures> = BTreeMap::new();
        for (side, figure) in &self.figures {
            let Some(machine) = world.machine(*side) else { continue };
            let of = figures.entry(*side).or_default();
            match figure.open(machine, self.cpus.as_ref()) {
                Ok(open) => of.open.push(open),
                Err(why) => of.refused.push((figure.name(), why)),
            }
        }
        let sum = self.sum().filter(|_| meters.len() == self.meters.len());
        Sessions { meters, sum, courses, figures }
    }
}

impl Sessions {
    /// What is to be read around the load, by side.
    pub(crate) fn watches(&self) -> BTreeMap<Side, Vec<Sampling>> {
        let mut watches: BTreeMap<Side, Vec<Sampling>> =
            self.meters.iter().map(|(&side, session)| (side, session.watches())).collect();
        for (&side, courses) in &self.courses {
            watches.entry(side).or_default().extend(courses.watches());
        }
        for (&side, figures) in &self.figures {
            watches.entry(side).or_default().push(figures.watch());
        }
        watches
    }

    /// Why a meter that is a program cannot be read.
    pub(crate) fn unavailable(&self) -> Option<MeterUnavailable> {
        self.meters.values().find_map(Session::unavailable)
    }

    /// Gives the meters up; nothing was read.
    pub(crate) fn give_up(self, world: &mut dyn World) {
        drop(self.close(world, &Around::new(), &Around::new()));
    }

    /// For how long the machines are to be read on after the load, ns, and what of: meters whose numbers come late, and
    /// courses that are asked for beyond the load.
    pub(crate) fn late(&self) -> (u64, BTreeMap<Side, Vec<Sampling>>) {
        let mut watches: BTreeMap<Side, Vec<Sampling>> = BTreeMap::new();
        let mut linger_ns = 0;
        for (&side, session) in self.meters.iter().filter(|(_, session)| session.linger_ns() > 0) {
            linger_ns = linger_ns.max(session.linger_ns());
            watches.entry(side).or_default().extend(session.watches());
        }
        for (&side, courses) in self.courses.iter().filter(|(_, courses)| courses.after_ns() > 0) {
            linger_ns = linger_ns.max(courses.after_ns());
            watches.entry(side).or_default().extend(courses.watches());
        }
        (linger_ns, watches)
    }

    /// Closes the meters and tells what the machines read around the load, and after it.
    pub(crate) fn close(self, world: &mut dyn World, around: &Around, after: &Around) -> Metered {
        let mut metered = Metered::default();
        let mut results: BTreeMap<(Side, String), Result<f64, String>> = BTreeMap::new();
        for (side, figures) in self.figures {
            let Some(machine) = world.machine(side) else { continue };
            // They are the last of what is read on a side.
            let moments = around.get(&side).and_then(|read| read.last()).map_or(&[][..], Vec::as_slice);
            results.extend(figures.close(machine, moments).into_iter().map(|(name, value)| ((side, name), value)));
        }
        for (side, courses) in self.courses {
            let Some(machine) = world.machine(side) else { continue };
            // Those of the meter come first.
            let meter = self.meters.get(&side);
            let before = meter.map_or(0, |session| session.watches().len());
            let (around, after) = (of(around, side).get(before..), of(after, side).get(meter.map_or(0, read_on)..));
            let timelines = courses.timelines(side, around.unwrap_or_default(), after.unwrap_or_default());
            metered.timelines.extend(timelines);
            courses.close(machine);
        }
        let metered_machines = self.meters.len();
        for (side, session) in self.meters {
            let Some(machine) = world.machine(side) else { continue };
            let (around, after) = (of(around, side), of(after, side).get(..read_on(&session)).unwrap_or_default());
            metered.timelines.extend(session.timelines(side, around, after));
            for reading in session.close(machine, around, after) {
                if let MeterValue::Value { left_out: left_out @ 1.., .. } = reading.measured {
                    metered.left_out.insert(named(side, reading.metric), u32::try_from(left_out).unwrap_or(u32::MAX));
                }
                let notes: String = reading.notes.iter().map(|note| format!("; {note}")).collect();
                let refusal = || format!("{}{notes}", reading.refusal().unwrap_or_default());
                results.insert((side, reading.metric.to_owned()), reading.value().ok_or_else(refusal));
            }
        }
        if let Some(sum) = self.sum {
            for metric in METRICS {
                let of_metric = results.iter().filter(|((_, name), _)| name == metric);
                let of = |((side, _), results): (&(Side, String), &Result<f64, String>)| {
                    results.clone().map_err(|why| format!("the {side} machine: {why}"))
                };
                let values: Vec<Result<f64, String>> = of_metric.map(of).collect();
                // What was not metered this time is not a part of any sum.
                if values.len() == metered_machines {
                    results.insert((sum, metric.to_owned()), values.into_iter().sum());
                }
            }
        }
        for ((side, metric), results) in results {
            match results {
                Ok(value) => drop(metered.values.insert(named(side, &metric), value)),
                Err(why) => drop(metered.refused.insert(named(side, &metric), why)),
            }
        }
        metered
    }
}

impl Figures {
    /// All of them at once, before and after and never meanwhile.
    fn watch(&self) -> Sampling {
        let handles: Vec<Handle> = self.open.iter().flat_map(OpenFigure::handles).copied().collect();
        Sampling { handles, period_ns: None }
    }

    fn close(self, machine: &mut dyn Look, moments: &[Sample]) -> Vec<(String, Result<f64, String>)> {
        let mut results: Vec<_> = self.refused.into_iter().map(|(name, why)| (name, Err(why))).collect();
        let mut at = 0;
        for figure in self.open {
            let own = at..at + figure.handles().len();
            at = own.end;
            let part = |moment: &Sample| {
                let texts = moment.texts.get(own.clone()).unwrap_or_default().to_vec();
                Sample { at_ns: moment.at_ns, texts }
            };
            let value = match moments {
                [first, .., last] => figure.tell(&part(first), &part(last)),
                _ => Err("it was not read".to_owned()),
            };
            results.push((figure.name().to_owned(), value));
            figure.close(machine);
        }
        results
    }
}

/// The figure a metric is, by its name, and the machine it is of.
pub(crate) fn figure_of(metric: &str) -> Option<(Side, AskedFigure)> {
    let (side, name) = Side::split(metric);
    let figure = AskedFigure::named(name).or_else(|| AskedFigure::named(of_a_stretch(name)?));
    figure.map(|figure| (side, figure)).filter(|(side, _)| !matches!(side, Side::Both | Side::All))
}

/// The machines whose meters a metric asks for, by its name.
pub(crate) fn side_of(metric: &str) -> Option<Side> {
    let (side, name) = Side::split(metric);
    let of_meter = |name: &str| METRICS.contains(&name);
    if of_meter(name) || of_a_stretch(name).is_some_and(of_meter) {
        return Some(side);
    }
    // A ladder divides by what the near machine's meter says.
    (name == BY_METER || of_a_stretch(name) == Some(BY_METER)).then_some(Side::Near)
}

/// What a ladder makes of a meter.
const BY_METER: &str = "score_per_w";

/// A metric of one stretch of a load without what says of which: `power_w` of `at_50_power_w`.
fn of_a_stretch(name: &str) -> Option<&str> {
    let level = || name.strip_prefix("at_")?.split_once('_').filter(|(level, _)| level.parse::<u32>().is_ok());
    name.strip_prefix("idle_").or_else(|| level().map(|(_, rest)| rest))
}

/// The name of a metric of a stretch: `far/at_50_power_w` of `far/power_w`.
pub(crate) fn of_stretch(prefix: &str, name: &str) -> String {
    match name.split_once('/') {
        Some((side, name)) => format!("{side}/{prefix}{name}"),
        None => format!("{prefix}{name}"),
    }
}

/// How many of the places that are read on after the load are a meter's: they are the first of its side.
fn read_on(session: &Session) -> usize {
    if session.linger_ns() > 0 { session.watches().len() } else { 0 }
}

/// What was read of a side.
fn of(read: &Around, side: Side) -> &[Vec<Sample>] {
    read.get(&side).map_or(&[], Vec::as_slice)
}

/// A metric with its side; the near machine's goes without.
fn named(side: Side, metric: &str) -> String {
    format!("{}{metric}", side.prefix())
}
