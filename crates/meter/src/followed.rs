//! `cmd:` meters: a program that prints watts or joules, a line a number, and what its lines tell of the time of a load.
use powerband_machine::LinesPlace;
use powerband_record::{CommandMeter, MeterUnit, parse_duration_ns};

use crate::{GaugeSample, Kind, MeterInstance, Window};

/// Name of the kind.
pub(crate) const NAME: &str = "cmd";

/// How often such a meter makes a number where that is not said, ns.
const INTERVAL_NS: u64 = 1_000_000_000;

/// A meter that has printed nothing for so many of its intervals has ended, or hangs …
const SILENT_INTERVALS: u64 = 3;
/// … but for no less than this, ns: programs print late on a busy machine.
const SILENT_NS: u64 = 2_000_000_000;

/// A program's line with the time it came, ns.
type Line<'t> = (u64, &'t str);

impl MeterInstance {
    /// The meter a user declares.
    ///
    /// # Errors
    /// What is wrong with it, one sentence.
    pub fn declared(meter: &CommandMeter) -> Result<MeterInstance, String> {
        if meter.boundary.trim().is_empty() || meter.command.trim().is_empty() {
            return Err("a meter's command and its boundary must be said".to_owned());
        }
        let interval_ns = match &meter.interval {
            None => INTERVAL_NS,
            Some(text) => parse_duration_ns(text).map_err(|error| format!("a meter's interval: {error}"))?.max(1),
        };
        let kind = match meter.unit.is_energy() {
            true => Kind::Counter { wrap: None },
            false => Kind::Gauge { interval_ns, window: Window::Before },
        };
        // Nobody's number: the user who called sudo, anyone who that is when it is read.
        let user = meter.as_root.then_some(0);
        let source = LinesPlace { line: &meter.command, user }.to_string();
        let mut instance = MeterInstance::new(NAME, meter.boundary.clone(), source, kind);
        instance.updates_ns = Some(interval_ns);
        instance.prints = Some(meter.unit);
        Ok(instance)
    }
}

/// What a meter's program printed around a load that ran from `start_ns` to `end_ns`, as readings whose first and last are at
/// those times. `texts` are what was read of it, in order.
pub(crate) fn samples(
    meter: &MeterInstance,
    unit: MeterUnit,
    texts: &[String],
    (start_ns, end_ns): (u64, u64),
) -> Vec<GaugeSample> {
    let failed = |why: String| vec![(start_ns, Err(why.clone())), (end_ns, Err(why))];
    let mut numbers: Vec<(u64, u64)> = Vec::new();
    for line in texts.iter().flat_map(|text| text.lines()).filter_map(stamped) {
        match number(line.1, unit) {
            Ok(Some(_)) | Err(_) if numbers.last().is_some_and(|last| last.0 >= line.0) => {}
            Ok(Some(number)) => numbers.push((line.0, number)),
            Ok(None) => {}
            Err(why) => return failed(why),
        }
    }
    let silent_ns = meter.updates_ns.unwrap_or(INTERVAL_NS).saturating_mul(SILENT_INTERVALS).max(SILENT_NS);
    let Some(&last) = numbers.last().filter(|last| last.0 + silent_ns >= end_ns) else {
        return failed(format!(
            "the program printed no number in the last {} ms of the load; it must go on until it is ended",
            end_ns.saturating_sub(numbers.last().map_or(start_ns, |last| last.0.max(start_ns))) / 1_000_000
        ));
    };
    let mut samples: Vec<GaugeSample> = Vec::new();
    let inside = numbers.iter().filter(|(at, _)| (start_ns + 1..end_ns).contains(at));
    match meter.kind {
        // A number stands for the time before it.
        Kind::Gauge { .. } => {
            let first = inside.clone().next().unwrap_or(&last).1;
            samples.push((start_ns, Ok(first)));
            samples.extend(inside.map(|&(at, value)| (at, Ok(value))));
            samples.push((end_ns, Ok(last.1)));
        }
        Kind::Counter { .. } => {
            let at =
                |moment| counter_at(&numbers, moment).ok_or_else(|| "the program printed one number only".to_owned());
            samples.extend([(start_ns, at(start_ns)), (end_ns, at(end_ns))]);
        }
    }
    samples
}

/// What a counter showed at a moment, on the line through the two readings that are nearest.
fn counter_at(numbers: &[(u64, u64)], moment_ns: u64) -> Option<u64> {
    let next = numbers.partition_point(|(at, _)| *at < moment_ns).clamp(1, numbers.len().checked_sub(1)?.max(1));
    let (before, after) = (numbers.get(next - 1)?, numbers.get(next)?);
    let per_ns = (after.1 as f64 - before.1 as f64) / (after.0 - before.0) as f64;
    Some((before.1 as f64 + per_ns * (moment_ns as f64 - before.0 as f64)).max(0.0).round() as u64)
}

fn stamped(line: &str) -> Option<Line<'_>> {
    let (at, words) = line.split_once(' ')?;
    Some((at.parse().ok()?, words))
}

/// The number of a line, in microwatts or microjoules; lines without one, as headers are, say nothing.
fn number(line: &str, unit: MeterUnit) -> Result<Option<u64>, String> {
    let numeral = |word: &str| -> Option<f64> {
        word.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)).then_some(())?;
        word.trim_end_matches(char::is_alphabetic).parse().ok()
    };
    let mut numbers = line.split(|c: char| c.is_whitespace() || ",;=".contains(c)).filter_map(numeral);
    let Some(value) = numbers.next() else { return Ok(None) };
    if numbers.next().is_some() {
        return Err(format!("the program printed '{line}', which holds more than one number; let it print one a line"));
    }
    let micro = value * unit.micro();
    if !(0.0..1e19).contains(&micro) {
        return Err(format!("the program printed '{line}', which no machine draws"));
    }
    Ok(Some(micro.round() as u64))
}

#[cfg(test)]
mod tests;
