//! Metering of trials: one meter a machine, and their metrics by side.
use std::collections::BTreeMap;

use powerband_machine::{Sample, Watch, World};
use powerband_meter::{Measured, MeterInstance, Session};
use powerband_record::{MeterChoice, Side, Timeline, format_duration};

use crate::PlanError;
use crate::choice::meters_read;

/// What every meter gives.
const METRICS: [&str; 2] = ["power_w", "energy_j"];

/// The sides a metric can be of.
const SIDES: [Side; 3] = [Side::Near, Side::Far, Side::Both];

/// The meters that are read during trials: of each machine the one asked for or the first of those found, as the numbers of two on one machine
/// may overlap and are never added up. Those of two machines never do.
#[derive(Debug, Default)]
pub(crate) struct Metering {
    meters: BTreeMap<Side, MeterInstance>,
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
pub(crate) struct Sessions(BTreeMap<Side, Session>);

impl Metering {
    /// Looks for meters on the machines of a rig.
    ///
    /// # Errors
    /// [`PlanError::NoSuchMeter`].
    pub(crate) fn find(world: &mut dyn World, choices: &[MeterChoice]) -> Result<Self, PlanError> {
        Ok(Metering { meters: meters_read(world, choices)? })
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
        SIDES.into_iter().filter_map(of).flatten().collect()
    }

    /// What the numbers of a side cover; of both, if both have a meter.
    fn boundary(&self, side: Side) -> Option<String> {
        let of = |side: &Side| self.meters.get(side).map(|meter| &meter.boundary);
        Some(match side {
            Side::Near => of(&Side::Near)?.clone(),
            Side::Far => format!("far {}", of(&Side::Far)?),
            Side::Both => format!("near {} + far {}", of(&Side::Near)?, of(&Side::Far)?),
        })
    }

    /// What a reader of the numbers should know of how they were read.
    pub(crate) fn notes(&self) -> Vec<String> {
        let note = |(side, meter): (&Side, &MeterInstance)| {
            let late = format_duration(meter.lag_ns.filter(|&lag_ns| lag_ns > 0)?);
            Some(format!(
                "{} of the {side} machine comes {late} late, and its readings are put back by that",
                meter.boundary
            ))
        };
        self.meters.iter().filter_map(note).collect()
    }

    /// Opens the meters of some machines for a run.
    pub(crate) fn open(&self, world: &mut dyn World, sides: &[Side]) -> Sessions {
        let mut sessions = BTreeMap::new();
        for (&side, meter) in self.meters.iter().filter(|(side, _)| sides.contains(side)) {
            if let Some(machine) = world.machine(side) {
                sessions.insert(side, Session::open(machine, std::slice::from_ref(meter)));
            }
        }
        Sessions(sessions)
    }
}

impl Sessions {
    /// What is to be read around the load, by side.
    pub(crate) fn watches(&self) -> BTreeMap<Side, Vec<Watch>> {
        self.0.iter().map(|(&side, session)| (side, session.watches())).collect()
    }

    /// For how long the meters are to be read on after the load, ns, and what of: those whose numbers come late.
    pub(crate) fn late(&self) -> (u64, BTreeMap<Side, Vec<Watch>>) {
        let late = self.0.iter().filter(|(_, session)| session.linger_ns() > 0);
        let linger_ns = late.clone().map(|(_, session)| session.linger_ns()).max().unwrap_or(0);
        (linger_ns, late.map(|(&side, session)| (side, session.watches())).collect())
    }

    /// Closes the meters and tells what the machines read around the load, and after it.
    pub(crate) fn close(self, world: &mut dyn World, around: &Around, after: &Around) -> Metered {
        let mut metered = Metered::default();
        let mut told: BTreeMap<(Side, &str), Result<f64, String>> = BTreeMap::new();
        for (side, session) in self.0 {
            let Some(machine) = world.machine(side) else { continue };
            let (around, after) = (of(around, side), of(after, side));
            metered.timelines.extend(session.timelines(side, around, after));
            for reading in session.close(machine, around, after) {
                if let Measured::Value { left_out: left_out @ 1.., .. } = reading.measured {
                    metered.left_out.insert(named(side, reading.metric), u32::try_from(left_out).unwrap_or(u32::MAX));
                }
                let notes: String = reading.notes.iter().map(|note| format!("; {note}")).collect();
                let refusal = || format!("{}{notes}", reading.refusal().unwrap_or_default());
                told.insert((side, reading.metric), reading.value().ok_or_else(refusal));
            }
        }
        for metric in METRICS {
            if let (Some(near), Some(far)) = (told.get(&(Side::Near, metric)), told.get(&(Side::Far, metric))) {
                let refusal = |side: Side, told: &Result<f64, String>| {
                    told.clone().map_err(|why| format!("the {side} machine: {why}"))
                };
                let sum = refusal(Side::Near, near).and_then(|near| Ok(near + refusal(Side::Far, far)?));
                told.insert((Side::Both, metric), sum);
            }
        }
        for ((side, metric), told) in told {
            match told {
                Ok(value) => drop(metered.values.insert(named(side, metric), value)),
                Err(why) => drop(metered.refused.insert(named(side, metric), why)),
            }
        }
        metered
    }
}

/// The machines whose meters a metric asks for, by its name.
pub(crate) fn sides_of(metric: &str) -> &'static [Side] {
    let is = |side: &&Side| METRICS.iter().any(|name| named(**side, name) == metric);
    SIDES.iter().find(is).map_or(&[], |side| side.each())
}

/// What was read of a side.
fn of(read: &Around, side: Side) -> &[Vec<Sample>] {
    read.get(&side).map_or(&[], Vec::as_slice)
}

/// A metric with its side; the near machine's goes without.
fn named(side: Side, metric: &str) -> String {
    if side == Side::Near { metric.to_owned() } else { format!("{side}/{metric}") }
}
