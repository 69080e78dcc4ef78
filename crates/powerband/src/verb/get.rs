//! `get`: what knobs read now.
use powerband_knob::look::text::shares;
use powerband_knob::{KnobReading, machines_of};
use powerband_machine::{Before, Errno, Hold, Machine, OpenEntry};
use powerband_record::{KnobRef, Side};
use powerband_rig::leftovers;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{Get, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::output::{self, Document};
use crate::rig::{self, Purpose};

/// What knobs read now.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Readings {
    /// Each knob at each of its sites.
    readings: Vec<Row>,
}

/// A knob at a site.
#[derive(Serialize, JsonSchema)]
struct Row {
    /// Of which machine.
    side: Side,
    /// What reads there.
    reading: KnobReading,
    /// What `set` had left there, where something else reads now: that was lost, or somebody has changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    was_set_to: Option<String>,
}

impl Document for Readings {
    const KIND: &'static str = "get";
}

pub(crate) fn run(shared: &Shared, args: &Get) -> Answer {
    let mut rig = rig::open(shared, Purpose::Look)?;
    let narrow = rig::selection(shared)?;
    let mut readings = Vec::new();
    for text in &args.knobs {
        let knob = KnobRef::parse(text).map_err(usage)?;
        for side in machines_of(&knob, rig.world())? {
            let machine: &mut dyn Machine = rig.world().machine(side).ok_or_else(|| rig::no_far(text))?;
            let found = powerband_knob::get(machine, &knob, &narrow)?;
            let set = leftovers::in_force(machine);
            readings.extend(found.into_iter().map(|reading| {
                let was_set_to = lost(&set, &reading);
                Row { side, reading, was_set_to }
            }));
        }
    }
    // What a lost machine does not answer is no reading.
    rig::check_lost(rig.world())?;
    let unreadable = unreadable(&readings);
    if shared.json {
        let said = output::print_document(&Readings { readings })?;
        return unreadable.map_or(Ok(said), Err);
    }
    let mut text = String::new();
    // The failure says all that is known of one alone.
    let failed = readings.iter().filter(|row| row.reading.unreadable.is_some()).count();
    let told = |row: &&Row| failed != 1 || row.reading.unreadable.is_none();
    for Row { side, reading, was_set_to } in readings.iter().filter(told) {
        let side = side.prefix();
        let cpus = reading.cpus.as_ref().map(|cpus| format!(" (cpus {cpus})")).unwrap_or_default();
        let lost = was_set_to.as_ref().map_or_else(String::new, |ours| {
            format!(" (powerband set it to {ours}; that was lost, or somebody has changed it)")
        });
        text += &format!("{side}{}@{}{cpus} = {}{lost}\n", reading.knob, reading.site, reading.shown);
    }
    text.extend(apart(&readings).into_iter().map(|line| line + "\n"));
    output::print(&text);
    unreadable.map_or(Ok(Exit::Fine as u8), Err)
}

/// The failure of what cannot be read: the first of them, and how many others there are.
fn unreadable(readings: &[Row]) -> Option<Failure> {
    let mut all = readings.iter().filter_map(|row| Some((&row.reading, row.reading.unreadable.as_ref()?)));
    let (reading, (path, errno)) = all.next()?;
    let denied = matches!(*errno, Errno::EACCES | Errno::EPERM);
    let (exit, next) =
        if denied { (Exit::Denied, "; run it as root: `sudo powerband …`") } else { (Exit::Unsupported, "") };
    let others = match all.count() {
        0 => String::new(),
        others => format!(", and {others} more"),
    };
    // A file that is read as a knob is named by its path.
    let from = if reading.knob.ends_with(path) { String::new() } else { format!(" from {path}") };
    Some(Failure::new(exit, format!("cannot read {}{from}: {errno}{others}{next}", reading.knob)))
}

/// What `set` had left where something else reads now. Limits, which show what came of a request a moment later, are not
/// asked: the ledger has no value of theirs to compare with.
fn lost(set: &[OpenEntry], reading: &KnobReading) -> Option<String> {
    let is_it = |it: &&OpenEntry| it.turn.knob == reading.knob && it.turn.site == reading.site;
    let entry = set
        .iter()
        .rev()
        .find(is_it)
        .filter(|it| matches!(it.turn.before, Before::Reads(_)) && it.turn.hold == Hold::Set)?;
    let (now, asked) = (reading.value.as_deref()?.trim(), entry.turn.asked.trim());
    let ours = entry.reads_back.as_deref().unwrap_or(asked).trim();
    (now != ours && now != asked).then(|| ours.to_owned())
}

/// A line for each knob that does not read the same at all its sites: `cpufreq.governor: ondemand at 1 of 2 sites, …`.
fn apart(readings: &[Row]) -> Vec<String> {
    let mut knobs: Vec<(Side, &str)> = readings.iter().map(|row| (row.side, row.reading.knob.as_str())).collect();
    knobs.dedup();
    let told = |(side, knob): (Side, &str)| {
        let of_it = readings.iter().filter(|row| row.side == side && row.reading.knob == knob);
        let shown: Vec<&str> = of_it.map(|row| row.reading.shown.as_str()).collect();
        let side = side.prefix();
        shares(&shown).map(|shares| format!("{side}{knob}: {shares} sites"))
    };
    knobs.into_iter().filter_map(told).collect()
}
