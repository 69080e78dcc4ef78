//! Meters, in words: what each covers and how it is read, what overlaps, why the others are absent, and how they behave.
use powerband_knob::look::text::Lines;
use powerband_machine::{Wake, World};
use powerband_meter::{Inventory, Kind, MeterInstance, Relation, Window, advance_uj};
use powerband_record::{Side, format_duration, format_number};
use powerband_rig::RigError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::meter_reader::MeterReader;
use crate::{SessionError, meter_lag};

/// What was seen of a meter that was read for a while.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Heard {
    /// What the meter covers.
    boundary: String,
    /// How often its number changed, ns; nothing when it changed less than twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes_every_ns: Option<u64>,
    /// It changed at every look, so it may change more often than that.
    at_every_look: bool,
    /// What it came to: of a counter the mean, of a gauge the last number, W.
    #[serde(skip_serializing_if = "Option::is_none")]
    power_w: Option<f64>,
    /// Why it came to nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

/// For so long meters are read, ns.
const LISTEN_NS: u64 = 2_000_000_000;

/// And so often, ns.
const LOOK_NS: u64 = 5_000_000;

/// A delay below this is none, ns.
const LAG_NS: u64 = 100_000_000;

/// Reads meters for a while.
pub fn listen(world: &mut dyn World, meters: &[MeterInstance]) -> Result<Vec<Heard>, SessionError> {
    let gone = || SessionError::from(RigError::Gone);
    let machine = world.machine(Side::Near).ok_or_else(gone)?;
    let mut parts: Vec<Vec<MeterReader>> = meters
        .iter()
        .map(|meter| meter.read().iter().map(|part| MeterReader::open(machine, part.clone())).collect())
        .collect();
    let began_ns = world.now_ns();
    let ended = loop {
        let now_ns = world.now_ns();
        let machine = world.machine(Side::Near).ok_or_else(gone)?;
        parts.iter_mut().flatten().for_each(|part| part.look(machine, now_ns));
        if now_ns >= began_ns + LISTEN_NS {
            break Ok(());
        }
        match world.wait(Some((now_ns + LOOK_NS).min(began_ns + LISTEN_NS))) {
            Wake::Stop(_) => break Err(SessionError::Stopped("stopped; nothing was changed")),
            Wake::Lost(..) => break Err(gone()),
            _ => {}
        }
    };
    if let Some(machine) = world.machine(Side::Near) {
        parts.iter().flatten().for_each(|part| part.close(machine));
    }
    ended.map(|()| meters.iter().zip(&parts).map(|(meter, parts)| heard(meter, parts)).collect())
}

/// What one part came to, W.
fn power_w(part: &MeterReader) -> Result<f64, String> {
    part.handles.as_ref().map_err(String::clone)?;
    let mut readings = Vec::new();
    for (at_ns, number) in &part.read {
        readings.push((*at_ns, *number.as_ref().map_err(String::clone)?));
    }
    let (Some(first), Some(last)) = (readings.first(), readings.last()) else {
        return Err("it was not read".into());
    };
    match part.meter.kind {
        Kind::Gauge { .. } => Ok(last.1 as f64 / 1e6),
        Kind::Counter { wrap } => {
            let uj = advance_uj(&readings, wrap).map_err(|error| error.to_string())?;
            if uj == 0 {
                Err("the counter did not move".into())
            } else {
                Ok(uj as f64 * 1e3 / (last.0 - first.0) as f64)
            }
        }
    }
}

/// How often its number changed.
fn changes(part: &MeterReader) -> usize {
    part.read.windows(2).filter(|pair| pair[0].1 != pair[1].1).count()
}

fn heard(meter: &MeterInstance, parts: &[MeterReader]) -> Heard {
    let power: Result<Vec<f64>, String> = parts.iter().map(power_w).collect();
    // A sum is as fast as its slowest part.
    let slowest = parts.iter().min_by_key(|part| changes(part));
    let changes = slowest.map_or(0, changes);
    let looks = slowest.map_or(0, |part| part.read.len());
    Heard {
        boundary: meter.boundary.clone(),
        changes_every_ns: (changes > 1).then(|| LISTEN_NS / changes as u64),
        at_every_look: changes > 1 && changes + 1 == looks,
        power_w: power.as_ref().ok().map(|parts| parts.iter().sum()),
        refused: power.err(),
    }
}

/// How late a meter shows what was.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Lag {
    /// What the meter covers.
    boundary: String,
    /// How late, ns, beyond its own interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    lag_ns: Option<u64>,
    /// Why that cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<String>,
}

/// Estimates how late meters are.
pub fn lags(world: &mut dyn World, meters: &[MeterInstance]) -> Result<Vec<Lag>, SessionError> {
    let told = meter_lag::estimate(world, Side::Near, meters)?;
    let lag = |(meter, told): (&MeterInstance, Result<u64, String>)| Lag {
        boundary: meter.boundary.clone(),
        lag_ns: told.as_ref().ok().copied(),
        unknown: told.err(),
    };
    Ok(meters.iter().zip(told).map(lag).collect())
}

/// A delay in words; what is below a tenth of a second is none that could be told from the looks.
fn late(lag: &Lag) -> String {
    match (lag.lag_ns, &lag.unknown) {
        (Some(ns), _) if ns < LAG_NS => "its numbers come no later than they are made".into(),
        (Some(ns), _) => {
            let late = format_duration((ns + 500_000) / 1_000_000 * 1_000_000);
            let ms = (ns + 500_000) / 1_000_000;
            format!("its numbers come {late} late; --meter-lag {ms}ms lets trials wait for them")
        }
        (None, why) => format!("its delay is not known: {}", why.as_deref().unwrap_or("unread")),
    }
}

/// All of them; `heard` and `lags` are empty or as long as the meters.
pub fn text(lines: &mut Lines, found: &Inventory, heard: &[Heard], lags: &[Lag]) {
    for (i, meter) in found.meters.iter().enumerate() {
        lines.say(0, &format!("meter: {} covers {}, read from {}", meter.meter, meter.boundary, meter.source));
        lines.say(4, &how(meter));
        overlaps(lines, meter, &found.meters);
        if let Some(heard) = heard.get(i) {
            lines.say(4, &told(heard));
        }
        if let Some(lag) = lags.get(i) {
            lines.say(4, &late(lag));
        }
        meter.notes.iter().for_each(|note| lines.say(4, note));
    }
    for absent in &found.absent {
        let colon = if absent.lines.is_empty() { "" } else { ":" };
        lines.say(0, &format!("no {} meter: {}{colon}", absent.meter, absent.why));
        absent.lines.iter().for_each(|line| lines.row(&format!("    {line}")));
    }
}

/// How its numbers come about, by its own word.
fn how(meter: &MeterInstance) -> String {
    let slowest = meter.read().iter().filter_map(|part| part.updates_ns).max();
    let updates = slowest.map_or_else(String::new, |ns| format!(", new every {}", format_duration(ns)));
    match meter.kind {
        Kind::Counter { .. } => {
            let wrap =
                meter.read().iter().filter_map(|part| if let Kind::Counter { wrap } = part.kind { wrap } else { None });
            let soonest = wrap.min_by_key(|wrap| wrap.shortest_ns());
            let quiet = "read before and after a load";
            match soonest {
                Some(wrap) => format!(
                    "counts energy{updates}; {quiet}, and every {} of a longer one: at {} W it would come round in {}",
                    whole_seconds(wrap.shortest_ns() / 4),
                    wrap.at_most_w,
                    whole_seconds(wrap.shortest_ns())
                ),
                None => format!("counts energy{updates}; {quiet}"),
            }
        }
        Kind::Gauge { interval_ns, window } => {
            let every = format_duration(interval_ns);
            let shows = match window {
                Window::Before => format!("shows the mean power of the last {every}"),
                Window::Instant => format!("shows the power of a moment{updates}"),
            };
            let shortest = format_duration(interval_ns.saturating_mul(10));
            format!(
                "{shows}; read every {} of a load that lasts {shortest} or longer",
                format_duration(interval_ns.max(100_000_000))
            )
        }
    }
}

fn whole_seconds(ns: u64) -> String {
    format_duration(if ns < 10_000_000_000 { ns } else { ns / 1_000_000_000 * 1_000_000_000 })
}

/// What it must not be added to.
fn overlaps(lines: &mut Lines, meter: &MeterInstance, all: &[MeterInstance]) {
    let named = |relation: Relation| {
        let others = all.iter().filter(|other| *other != meter && meter.relation(other) == relation);
        others.map(|other| other.boundary.as_str()).collect::<Vec<_>>().join(", ")
    };
    let told: Vec<String> = [
        ("contains", Relation::Contains),
        ("lies within", Relation::Within),
        ("may share a part with", Relation::Unclear),
    ]
    .into_iter()
    .map(|(words, relation)| (words, named(relation)))
    .filter(|(_, others)| !others.is_empty())
    .map(|(words, others)| format!("{words} {others}"))
    .collect();
    if !told.is_empty() {
        lines.say(4, &told.join("; "));
    }
}

/// What was seen of it.
fn told(heard: &Heard) -> String {
    let listened = format_duration(LISTEN_NS);
    let every = match heard.changes_every_ns {
        Some(_) if heard.at_every_look => format!("another number at every look, {} apart", format_duration(LOOK_NS)),
        Some(ns) => format!("another number every {}", format_duration(ns / 100_000 * 100_000)),
        None => format!("no more than one change in {listened}"),
    };
    match (&heard.power_w, &heard.refused) {
        (Some(watts), _) => {
            format!("measured for {listened}: {} W; {every}", format_number((watts * 1000.0).round() / 1000.0))
        }
        (None, why) => format!("measured for {listened}: {}", why.as_deref().unwrap_or("nothing")),
    }
}

#[cfg(test)]
mod tests {
    use powerband_meter::{Absent, PowerScope, Wrap, sum};

    use super::*;

    #[test]
    fn meters_tell_what_they_cover_and_share_and_how_they_are_read() {
        let kind = Kind::Counter { wrap: Some(Wrap { at_uj: 262_143_328_850, at_most_w: 2000 }) };
        let zone = |scope: PowerScope, name: &str| {
            let meter = MeterInstance::new("powercap", name.into(), format!("/{name}"), kind);
            MeterInstance { scope, updates_ns: Some(1_000_000), ..meter }
        };
        let [zero, one] = ["0", "1"].map(|n| zone(PowerScope::Package(n.into()), &format!("package-{n}")));
        let meters = vec![sum(&[&zero, &one]).unwrap(), zero, one, zone(PowerScope::Platform, "psys")];
        let absent = Absent { lines: vec!["a line".into()], ..Absent::new("hwmon", "not for you".into()) };
        let heard = Heard {
            boundary: meters[0].boundary.clone(),
            changes_every_ns: Some(5_000_000),
            at_every_look: true,
            power_w: Some(41.25),
            refused: None,
        };
        let late = Lag { boundary: meters[0].boundary.clone(), lag_ns: Some(3_049_700_000), unknown: None };
        let mut lines = Lines::default();
        self::text(&mut lines, &Inventory { meters, absent: vec![absent], unread: Vec::new() }, &[heard], &[late]);
        let told = "meter: powercap covers package-0 + package-1, read from /package-0 + /package-1\n    \
                    counts energy, new every 1 ms; read before and after a load, and every 32 s\n        \
                    of a longer one: at 2000 W it would come round in 2 min 11 s\n    \
                    contains package-0, package-1; lies within psys\n    \
                    measured for 2 s: 41.25 W; another number at every look, 5 ms apart\n    \
                    its numbers come 3.05 s late; --meter-lag 3050ms lets trials wait for them\n    \
                    the sum of 2 meters that share no part\n";
        assert!(lines.text().starts_with(told), "{}", lines.text());
        assert!(lines.text().ends_with("\nno hwmon meter: not for you:\n    a line\n"), "{}", lines.text());
    }
}
