//! Frequencies for one policy: read as cpufreq-set takes them, checked against the CPU's range, with the unit people forgot.
use powerband_machine::Look;
use powerband_record::{format_khz, parse_frequency_khz};

use crate::{KnobError, Policy, Value};

/// Reads a frequency for `policy`.
///
/// # Errors
/// [`KnobError::Value`] when it is none, or lies outside what the CPU has; a bare number that makes sense in another
/// unit is answered with that unit.
pub(crate) fn parse(
    knob: &str,
    text: &str,
    machine: &mut dyn Look,
    policy: Option<&Policy>,
) -> Result<Value, KnobError> {
    let khz = parse_frequency_khz(text).map_err(|error| KnobError::value(knob, error.to_string()))?;
    let Some(policy) = policy else { return Ok(Value::Khz(khz)) };
    let Some((least, most)) = range(machine, policy) else { return Ok(Value::Khz(khz)) };
    if (least..=most).contains(&khz) {
        return Ok(Value::Khz(khz));
    }
    let (side, bound) = if khz < least { ("below", least) } else { ("above", most) };
    let (text, owner) = (text.trim(), owner(machine, policy));
    let bound = format_khz(bound);
    if !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        let why = format!(
            "{} is {side} {owner} {bound}; it goes from {} to {}",
            format_khz(khz),
            format_khz(least),
            format_khz(most)
        );
        return Err(KnobError::value(knob, why));
    }
    let meant = ["MHz", "GHz", "Hz"]
        .iter()
        .map(|unit| format!("{text}{unit}"))
        .find(|candidate| parse_frequency_khz(candidate).is_ok_and(|khz| (least..=most).contains(&khz)));
    let short = knob.rsplit('.').next().unwrap_or(knob);
    let next = meant.map_or_else(
        || format!("write a unit, e.g. {short}={}", bound.replace(' ', "")),
        |meant| format!("did you mean {meant}?"),
    );
    Err(KnobError::value(knob, format!("{text} kHz is {}, {side} {owner} {bound}; {next}", format_khz(khz))))
}

/// Lowest and highest frequency the driver offers now.
pub(crate) fn range(machine: &mut dyn Look, policy: &Policy) -> Option<(u32, u32)> {
    let least = policy.khz(machine, "cpuinfo_min_freq")?;
    let most = policy.khz(machine, "cpuinfo_max_freq")?;
    (least <= most).then_some((least, most))
}

/// "this CPU's" where all CPUs are alike to the reader, else whose.
fn owner(machine: &mut dyn Look, policy: &Policy) -> String {
    let alone = crate::policy::policies(machine, "").is_ok_and(|all| all.active.len() <= 1);
    if alone { "this CPU's".into() } else { format!("{}'s", policy.name) }
}

/// Distance of the steps offered where the driver has no table, kHz.
const STEP_WITHOUT_TABLE_KHZ: u32 = 100_000;

/// Every frequency a policy has, ascending; every 100 MHz and both ends where the driver has no table.
pub(crate) fn choices(machine: &mut dyn Look, policy: &Policy) -> Vec<Value> {
    let Some((least, most)) = range(machine, policy) else { return Vec::new() };
    let mut steps = policy.steps_khz(machine);
    steps.retain(|khz| (least..=most).contains(khz));
    if steps.is_empty() {
        let first_round = least.div_ceil(STEP_WITHOUT_TABLE_KHZ).saturating_mul(STEP_WITHOUT_TABLE_KHZ);
        steps.push(least);
        steps.extend((first_round..=most).step_by(STEP_WITHOUT_TABLE_KHZ as usize));
        steps.push(most);
        steps.dedup();
    }
    steps.into_iter().map(Value::Khz).collect()
}

/// What a frequency file shows, for people; anything that is no number as it stands.
pub(crate) fn shown(reads: &str) -> String {
    let reads = reads.trim();
    reads.parse().map_or_else(|_| reads.to_owned(), format_khz)
}
