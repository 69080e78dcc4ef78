//! Metering of trials: the meter of the near machine, started and stopped around a load.
use std::collections::BTreeMap;

use powerband_machine::World;
use powerband_meter::{MeterInstance, Session, find_all};
use powerband_record::Side;

/// The meter that is read during trials: the first of those found, as the numbers of two are never added up.
#[derive(Debug, Default)]
pub(crate) struct Metering {
    meter: Option<MeterInstance>,
}

/// What the meter said about one run.
#[derive(Debug, Default)]
pub(crate) struct Metered {
    /// Value by metric name.
    pub(crate) values: BTreeMap<String, f64>,
    /// Why a metric was refused.
    pub(crate) refused: BTreeMap<String, String>,
}

impl Metering {
    /// Looks for meters on the near machine.
    pub(crate) fn find(world: &mut dyn World) -> Self {
        let meters = world.machine(Side::Near).map(|machine| find_all(machine).meters).unwrap_or_default();
        Metering { meter: meters.into_iter().next() }
    }

    /// What it measures, with the boundary of each.
    pub(crate) fn metrics(&self) -> Vec<(String, String)> {
        let of = |meter: &MeterInstance| {
            ["power_w", "energy_j"].map(|name| (name.to_owned(), meter.boundary.clone())).to_vec()
        };
        self.meter.as_ref().map(of).unwrap_or_default()
    }

    /// Begins to read.
    pub(crate) fn start(&self, world: &mut dyn World) -> Option<Session> {
        let (meter, now_ns) = (self.meter.as_ref()?, world.now_ns());
        Some(Session::start(world.machine(Side::Near)?, std::slice::from_ref(meter), now_ns))
    }

    /// Ends reading.
    pub(crate) fn stop(&self, world: &mut dyn World, session: Option<Session>) -> Metered {
        let mut metered = Metered::default();
        let now_ns = world.now_ns();
        let (Some(session), Some(machine)) = (session, world.machine(Side::Near)) else { return metered };
        for reading in session.stop(machine, now_ns) {
            match reading.value() {
                Some(value) => drop(metered.values.insert(reading.metric.to_owned(), value)),
                None => drop(
                    metered.refused.insert(reading.metric.to_owned(), reading.refusal().unwrap_or_default().to_owned()),
                ),
            }
        }
        metered
    }
}
