//! `undo`: take back what `set` turned, the last step first.
use std::collections::BTreeMap;

use powerband_knob::{Restored, restore};
use powerband_machine::{Action, EntryId, Hold, OpenEntry, Turn, World};
use powerband_record::Side;
use serde_json::json;

use crate::cli::{Shared, Undo};
use crate::exit::{Answer, Exit, Failure};
use crate::output;
use crate::rig::{self, Purpose};

/// What one `set` turned on one machine.
struct Step {
    side: Side,
    id: EntryId,
    entries: Vec<OpenEntry>,
}

pub(crate) fn run(shared: &Shared, args: &Undo) -> Answer {
    let purpose = if args.list { Purpose::Look } else { Purpose::Turn };
    let mut rig = rig::open(&rig::Names::plain(shared), shared.seed, purpose)?;
    let ledger = rig.ledger_place();
    let steps: Vec<Step> = [Side::Near, Side::Far].into_iter().flat_map(|side| steps(rig.world(), side)).collect();
    if args.list {
        return list(shared, &steps, &ledger);
    }
    // The last step of each machine: a rig's ledgers do not say which of two was later.
    let newest = |step: &&Step| args.all || steps.iter().all(|other| other.side != step.side || other.id <= step.id);
    let wanted: Vec<&Step> = steps.iter().filter(newest).collect();
    if wanted.is_empty() {
        output::say(if shared.json { "{\n  \"version\": 1,\n  \"undone\": []\n}" } else { "nothing is turned" });
        return Ok(Exit::Fine as u8);
    }
    let mut restored = Restored::default();
    for side in [Side::Near, Side::Far] {
        let mine = wanted.iter().filter(|step| step.side == side).flat_map(|step| &step.entries);
        let entries: Vec<EntryId> = mine.map(|entry| entry.id).collect();
        if let Some(machine) = rig.world().machine(side) {
            let more = restore(machine, &entries, args.force);
            restored.undone += more.undone;
            restored.already += more.already;
            restored.foreign.extend(more.foreign);
            restored.failed.extend(more.failed);
            restored.inexact.extend(more.inexact);
        }
    }
    report(shared, &restored, steps.len() - wanted.len())?;
    outcome(&restored, &ledger)
}

/// Steps that are set and not yet taken back, oldest first.
fn steps(world: &mut dyn World, side: Side) -> Vec<Step> {
    let open = world.machine(side).map(|machine| machine.open_entries()).unwrap_or_default();
    let mut steps: BTreeMap<EntryId, Vec<OpenEntry>> = BTreeMap::new();
    for entry in open.into_iter().filter(|entry| entry.turn.hold == Hold::Set) {
        steps.entry(entry.step).or_default().push(entry);
    }
    steps.into_iter().map(|(id, entries)| Step { side, id, entries }).collect()
}

fn list(shared: &Shared, steps: &[Step], ledger: &str) -> Answer {
    if shared.json {
        let told = steps.iter().flat_map(|step| step.entries.iter().map(|entry| (step.side, entry)));
        let told = told.filter(|(_, entry)| tells(&entry.turn));
        let entries: Vec<_> =
            told.map(|(side, entry)| json!({ "side": side, "was": before(&entry.turn), "entry": entry })).collect();
        return output::say_json(&json!({ "version": 1, "ledger": ledger, "open": entries }));
    }
    let mut text = String::new();
    for step in steps.iter().rev() {
        let side = if step.side == Side::Far { " on the far machine" } else { "" };
        text += &format!("step {}{side}:\n", step.id.0);
        for turn in step.entries.iter().map(|entry| &entry.turn).filter(|turn| tells(turn)) {
            let shown = |value: &str| shown(&turn.knob, value);
            let before = before(turn).map_or_else(|| "nothing".into(), shown);
            text += &format!("    {} at {}: {} (was {before})\n", turn.knob, turn.site, shown(&turn.asked));
        }
    }
    output::say(if text.is_empty() { "nothing is turned" } else { &text });
    Ok(Exit::Fine as u8)
}

/// Whether an entry is what somebody asked for; the others only keep what a governor would forget.
pub(super) fn tells(turn: &Turn) -> bool {
    turn.undo.as_ref() != Some(&turn.action)
}

/// A value for people: kHz of the frequency knobs as MHz.
fn shown(knob: &str, value: &str) -> String {
    let khz = knob.starts_with("cpufreq.").then(|| value.trim().parse().ok()).flatten();
    khz.map_or_else(|| value.trim().to_owned(), powerband_record::format_khz)
}

/// What was there, or else what the undo would write.
fn before(turn: &Turn) -> Option<&str> {
    let written = match &turn.undo {
        Some(Action::WriteFile { text, .. }) => Some(text.as_str()),
        _ => None,
    };
    turn.before.as_deref().or(written).map(str::trim)
}

fn report(shared: &Shared, restored: &Restored, steps_left: usize) -> Result<(), Failure> {
    if shared.json {
        return output::say_json(&json!({ "version": 1, "restored": restored, "steps_left": steps_left })).map(drop);
    }
    let mut text = format!("put back: {}", restored.undone);
    if restored.already > 0 {
        text += &format!(", already as before: {}", restored.already);
    }
    for foreign in &restored.inexact {
        text += &format!(
            "\n{} at {} reads {} where it read {} before",
            foreign.knob, foreign.site, foreign.found, foreign.ours
        );
    }
    if steps_left > 0 {
        text += &format!("\n{steps_left} earlier steps are still in force; `powerband undo --all` takes them back too");
    }
    output::say(&text);
    Ok(())
}

/// What is not back decides the code.
fn outcome(restored: &Restored, ledger: &str) -> Answer {
    if !restored.failed.is_empty() {
        let sentence = format!("could not put back {}; {ledger} says what was there", restored.left().join(", "));
        return Err(Failure::new(Exit::CannotRestore, sentence));
    }
    if let Some(foreign) = restored.foreign.first() {
        let sentence = format!(
            "{} at {} was set to {} and now reads {}: somebody else turned it, so it was left alone; `powerband undo --force` puts it back all the same",
            foreign.knob, foreign.site, foreign.ours, foreign.found
        );
        return Err(Failure::new(Exit::Failed, sentence));
    }
    Ok(Exit::Fine as u8)
}
