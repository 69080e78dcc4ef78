//! `get`: what knobs read now.
use powerband_knob::Reading;
use powerband_machine::Machine;
use powerband_record::{KnobRef, Side};

use crate::cli::{Get, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::output;
use crate::rig::{self, Purpose};

pub(crate) fn run(shared: &Shared, args: &Get) -> Answer {
    let mut rig = rig::open(&rig::Names::plain(shared), shared.seed, Purpose::Look)?;
    let narrow = rig::narrow(shared)?;
    let mut readings = Vec::new();
    for text in &args.knobs {
        let knob = KnobRef::parse(text).map_err(usage)?;
        for &side in knob.side.each() {
            let machine: &mut dyn Machine = rig.world().machine(side).ok_or_else(|| no_far(text))?;
            let found = powerband_knob::get(machine, &knob, &narrow).map_err(rig::knob_failure)?;
            readings.extend(found.into_iter().map(|reading| (side, reading)));
        }
    }
    // What a lost machine does not answer is no reading.
    rig::lost(rig.world()).map_or(Ok(()), Err)?;
    if shared.json {
        let rows: Vec<_> = readings.iter().map(|(side, r)| serde_json::json!({ "side": side, "reading": r })).collect();
        return output::say_json(&serde_json::json!({ "version": 1, "readings": rows }));
    }
    let mut text = String::new();
    for (side, reading) in &readings {
        let side = if *side == Side::Far { "far/" } else { "" };
        let cpus = reading.cpus.as_ref().map(|cpus| format!(" (cpus {cpus})")).unwrap_or_default();
        text += &format!("{side}{}@{}{cpus} = {}\n", reading.knob, reading.site, reading.shown);
    }
    text.extend(apart(&readings).into_iter().map(|line| line + "\n"));
    output::say(&text);
    Ok(Exit::Fine as u8)
}

/// A line for each knob that does not read the same at all its sites: `cpufreq.governor: ondemand at 1 of 2 sites, …`.
fn apart(readings: &[(Side, Reading)]) -> Vec<String> {
    let mut knobs: Vec<(Side, &str)> = readings.iter().map(|(side, it)| (*side, it.knob.as_str())).collect();
    knobs.dedup();
    let told = |(side, knob): (Side, &str)| {
        let of_it = readings.iter().filter(|(its, reading)| *its == side && reading.knob == knob);
        let shown: Vec<&str> = of_it.map(|(_, reading)| reading.shown.as_str()).collect();
        let side = if side == Side::Far { "far/" } else { "" };
        shares(&shown).map(|shares| format!("{side}{knob}: {shares} sites"))
    };
    knobs.into_iter().filter_map(told).collect()
}

/// `ondemand at 1 of 2, schedutil at 1 of 2`, where not all of several are the same.
pub(super) fn shares(all: &[&str]) -> Option<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for one in all {
        match counts.iter_mut().find(|(known, _)| known == one) {
            Some((_, count)) => *count += 1,
            None => counts.push((one, 1)),
        }
    }
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let told: Vec<String> = counts.iter().map(|(one, count)| format!("{one} at {count} of {}", all.len())).collect();
    (counts.len() > 1 && counts.len() < all.len().max(3)).then(|| told.join(", "))
}

fn no_far(text: &str) -> Failure {
    Failure::new(Exit::Usage, format!("{text} is on the far machine, and there is none; name it with --far"))
}
