//! Which meter of each machine is read: the one that is asked for by name, a program that is declared, or the first that is
//! found.
use std::collections::BTreeMap;

use powerband_machine::World;
use powerband_meter::{MeterInstance, find_all};
use powerband_record::{CommandMeter, MeterChoice, Side, parse_duration_ns};

use crate::{Plan, PlanError};

/// What a plan says of a delay that is to be estimated before the experiment begins.
pub const ESTIMATE: &str = "auto";

/// A text with the machine it is about, as typed: `far/psys`, `3s`.
#[must_use]
pub fn sided(text: &str) -> (Side, &str) {
    Side::split(text)
}

/// What a plan asks of the machines' meters. A delay that is still to be estimated is not known.
///
/// # Errors
/// [`PlanError::Quantity`] for a delay that cannot be read, [`PlanError::TwoMeters`] when two are asked for of one machine.
pub fn choices(plan: &Plan) -> Result<Vec<MeterChoice>, PlanError> {
    let mut choices: BTreeMap<Side, MeterChoice> = BTreeMap::new();
    let is_program = |text: &&String| plan.meters.contains_key(text.as_str());
    let named = plan.meter.iter().filter(|text| !is_program(text)).map(|text| (sided(text), true));
    for ((side, text), is_name) in named.chain(plan.meter_lag.iter().map(|text| (sided(text), false))) {
        let choice = choices.entry(side).or_insert(MeterChoice { side, name: None, lag_ns: None });
        if is_name {
            if choice.name.replace(text.to_owned()).is_some() {
                return Err(PlanError::TwoMeters(side));
            }
        } else if text != ESTIMATE {
            let lag_ns = parse_duration_ns(text);
            choice.lag_ns =
                Some(lag_ns.map_err(|error| PlanError::Quantity { key: "meter-lag", why: error.to_string() })?);
        }
    }
    Ok(choices.into_values().collect())
}

/// The program that is read as the near machine's meter: the one that is named, or the only one that is declared where no
/// other meter of the near machine is named.
///
/// # Errors
/// [`PlanError::TwoMeters`] when another is named as well, [`PlanError::Meter`] when it is not known which of several is
/// meant, or when a delay is given, which lines that are read as they come have not.
pub(crate) fn program(plan: &Plan) -> Result<Option<&CommandMeter>, PlanError> {
    let near: Vec<&String> = plan.meter.iter().filter(|text| sided(text).0 == Side::Near).collect();
    let meter = match (&near[..], plan.meters.len()) {
        ([], 0) => return Ok(None),
        ([], 1) => plan.meters.values().next(),
        ([], _) => {
            let known = plan.meters.keys().cloned().collect::<Vec<_>>().join(", ");
            return Err(PlanError::Meter(format!("several meters are declared; choose one with --meter: {known}")));
        }
        ([name], _) => plan.meters.get(*name),
        _ if near.iter().any(|name| plan.meters.contains_key(*name)) => return Err(PlanError::TwoMeters(Side::Near)),
        _ => None,
    };
    if meter.is_some() && plan.meter_lag.iter().any(|text| sided(text).0 == Side::Near) {
        let why = "the lines of a program are taken for true as they come; leave --meter-lag out, or let the program say less late";
        return Err(PlanError::Meter(why.to_owned()));
    }
    Ok(meter)
}

/// The meter that is read of each machine that has one.
///
/// # Errors
/// [`PlanError::NoSuchMeter`] naming those there are.
pub fn meters_read(world: &mut dyn World, choices: &[MeterChoice]) -> Result<BTreeMap<Side, MeterInstance>, PlanError> {
    let mut read = BTreeMap::new();
    let machines = world.sides();
    let elsewhere = choices.iter().map(|choice| choice.side).filter(|side| !machines.iter().any(|it| side.covers(*it)));
    for side in machines.iter().copied().chain(elsewhere) {
        let own = choices.iter().find(|choice| choice.side == side);
        let choice = own.or_else(|| choices.iter().find(|choice| choice.side.covers(side)));
        let name = choice.and_then(|choice| choice.name.as_deref());
        let found = world.machine(side).map(|machine| find_all(machine).meters).unwrap_or_default();
        let place = match name {
            Some(name) => Some(place(&found, name).ok_or_else(|| unknown(name, side, &found))?),
            None => (!found.is_empty()).then_some(0),
        };
        let Some(meter) = place.and_then(|place| found.into_iter().nth(place)) else { continue };
        let lag_ns = choice.and_then(|choice| choice.lag_ns);
        read.insert(side, lag_ns.map_or_else(|| meter.clone(), |lag_ns| meter.clone().with_lag(lag_ns)));
    }
    Ok(read)
}

/// A boundary before a kind, as kinds have many.
fn place(found: &[MeterInstance], name: &str) -> Option<usize> {
    let is = |test: &dyn Fn(&MeterInstance) -> bool| found.iter().position(test);
    is(&|meter| meter.boundary == name)
        .or_else(|| is(&|meter| name == format!("{}:{}", meter.meter, meter.boundary) || meter.source == name))
        .or_else(|| is(&|meter| meter.meter == name))
}

fn unknown(name: &str, side: Side, found: &[MeterInstance]) -> PlanError {
    let known = found.iter().map(|meter| format!("'{}'", meter.boundary)).collect::<Vec<_>>().join(", ");
    PlanError::NoSuchMeter { name: name.into(), side, known: if known.is_empty() { "none".into() } else { known } }
}
