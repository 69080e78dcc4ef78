//! `undo`: take back what `set` turned, the last step first.
use std::collections::BTreeMap;

use powerband_knob::{Restored, restore, shown};
use powerband_machine::{Action, Before, EntryId, Hold, OpenEntry, Turn, World};
use powerband_record::{Side, placed};
use powerband_rig::leftovers::{self, is_requested};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{Shared, Undo};
use crate::exit::{Answer, Exit, Failure};
use crate::incomplete;
use crate::output::{self, Document};
use crate::rig::{self, Names, Purpose, Rig};
use crate::typed::for_machines;

/// What was undone.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TakenBack<'a> {
    /// What came of it.
    restored: &'a Restored,
    /// Earlier steps that are still in force.
    steps_left: usize,
    /// Empty where nothing was turned.
    #[serde(skip_serializing_if = "Option::is_none")]
    undone: Option<[EntryId; 0]>,
}

/// What is turned.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Turned<'a> {
    /// The file that says what was there.
    ledger: &'a str,
    /// Entries that are in force, the oldest step first; what an interrupted powerband has left last.
    open: Vec<Row<'a>>,
}

/// An entry that is in force.
#[derive(Serialize, JsonSchema)]
struct Row<'a> {
    /// On which machine.
    side: Side,
    /// What was there, or else what the undo would write; null where that is nothing.
    was: Option<&'a str>,
    /// As the ledger has it.
    entry: &'a OpenEntry,
}

impl Document for TakenBack<'_> {
    const KIND: &'static str = "undo";
}

impl Document for Turned<'_> {
    const KIND: &'static str = "undo-list";
}

/// What one `set` turned on one machine.
struct Step {
    side: Side,
    id: EntryId,
    entries: Vec<OpenEntry>,
}

impl Step {
    /// What somebody asked for. A step that found everything as it was asked for is still a step, and told of as a whole.
    fn told(&self) -> impl Iterator<Item = &OpenEntry> {
        let any = self.entries.iter().any(|entry| is_requested(&entry.turn));
        self.entries.iter().filter(move |entry| !any || is_requested(&entry.turn))
    }
}

pub(crate) fn run(shared: &Shared, args: &Undo) -> Answer {
    let purpose = if args.list { Purpose::Look } else { Purpose::PutBack };
    let names = rig::names(shared);
    let mut rig = rig::open(shared, purpose)?;
    if args.left {
        return undo_left(shared, args, rig, &names);
    }
    let (ledgers, ledger) = (rig.ledgers(), rig.ledger_place());
    if !args.list {
        leftovers::restore_left(rig.world(), &ledgers, &mut output::note)?;
    }
    let sides = rig.world().sides();
    let steps: Vec<Step> = sides.iter().flat_map(|&side| steps(rig.world(), side)).collect();
    rig::check_lost(rig.world())?;
    if args.list {
        let left = unowned(&mut rig);
        return list(shared, &steps, &left, &ledger);
    }
    // The last step of each machine: a rig's ledgers do not say which of two was later.
    let newest = |step: &&Step| args.all || steps.iter().all(|other| other.side != step.side || other.id <= step.id);
    let wanted: Vec<&Step> = steps.iter().filter(newest).collect();
    if wanted.is_empty() {
        leftovers::set_damage_aside(rig.world(), &ledgers, &mut output::note)?;
        let here = ledgers.iter().filter(|ledger| ledger.remote.is_none());
        here.for_each(|ledger| leftovers::note_damaged(ledger, &mut output::note));
        if shared.json {
            let restored = &Restored::default();
            return output::print_document(&TakenBack { restored, steps_left: 0, undone: Some([]) });
        }
        output::print("nothing is changed");
        return Ok(Exit::Fine as u8);
    }
    let mut restored = Restored::default();
    for side in sides {
        let mine = wanted.iter().filter(|step| step.side == side).flat_map(|step| &step.entries);
        let entries: Vec<EntryId> = mine.map(|entry| entry.id).collect();
        if let Some(machine) = rig.world().machine(side) {
            let mut one = restore(machine, &entries, args.force);
            one.wait_for_limits(rig.world(), side);
            restored.extend(one);
        }
    }
    rig::check_lost(rig.world())?;
    report(shared, &restored, steps.len() - wanted.len())?;
    let outcome = outcome(&restored, &names, "undo");
    // Last, as it needs somebody to look: the rest is restored by now.
    leftovers::set_damage_aside(rig.world(), &ledgers, &mut output::note).inspect_err(|_| {
        if let Err(other) = &outcome {
            output::error(&other.sentence);
        }
    })?;
    outcome
}

/// Puts back what an interrupted powerband has left and closes what a reboot has ended, and nothing else.
fn undo_left(shared: &Shared, args: &Undo, mut rig: Rig, names: &Names) -> Answer {
    let ledgers = rig.ledgers();
    let restored = leftovers::restore_held(rig.world(), &ledgers, args.force);
    rig::check_lost(rig.world())?;
    if shared.json || restored != Restored::default() {
        report(shared, &restored, 0)?;
    } else {
        output::print("nothing is left");
    }
    leftovers::set_damage_aside(rig.world(), &ledgers, &mut output::note)?;
    outcome(&restored, names, "undo --left")
}

/// Steps that are set and not yet undone, oldest first.
fn steps(world: &mut dyn World, side: Side) -> Vec<Step> {
    let open = world.machine(side).map(leftovers::in_force).unwrap_or_default();
    let mut steps: BTreeMap<EntryId, Vec<OpenEntry>> = BTreeMap::new();
    for entry in open.into_iter().filter(|entry| entry.turn.hold == Hold::Set) {
        steps.entry(entry.step).or_default().push(entry);
    }
    steps.into_iter().map(|(id, entries)| Step { side, id, entries }).collect()
}

/// What an interrupted powerband has left in force; nothing while somebody holds the machine.
fn unowned(rig: &mut Rig) -> Vec<(Side, OpenEntry)> {
    let mut left = Vec::new();
    for ledger in rig.ledgers() {
        if ledger.is_held() {
            continue;
        }
        let open = rig.world().machine(ledger.side).map(leftovers::in_force).unwrap_or_default();
        left.extend(open.into_iter().filter(|it| it.turn.hold == Hold::Held).map(|entry| (ledger.side, entry)));
    }
    left
}

fn list(shared: &Shared, steps: &[Step], left: &[(Side, OpenEntry)], ledger: &str) -> Answer {
    if shared.json {
        let told = steps.iter().flat_map(|step| step.told().map(|entry| (step.side, entry)));
        let left = left.iter().map(|(side, entry)| (*side, entry)).filter(|(_, entry)| is_requested(&entry.turn));
        let told = told.chain(left);
        let open = told.map(|(side, entry)| Row { side, was: before(&entry.turn), entry }).collect();
        return output::print_document(&Turned { ledger, open });
    }
    let mut text = String::new();
    for step in steps.iter().rev() {
        let side = if step.side == Side::Near { String::new() } else { format!(" on the {}", step.side.words()) };
        text += &format!("step {}{side}:\n", step.id.0);
        text.extend(step.told().map(|entry| line(&entry.turn)));
    }
    if !left.is_empty() {
        let undo = for_machines(&rig::names(shared), "undo --left");
        text += &format!("left by an interrupted powerband; `{undo}` restores it:\n");
        text.extend(left.iter().map(|(_, entry)| &entry.turn).filter(|turn| is_requested(turn)).map(line));
    }
    output::print(if text.is_empty() { "nothing is changed" } else { &text });
    Ok(Exit::Fine as u8)
}

/// One entry of the list.
fn line(turn: &Turn) -> String {
    let before = before(turn).map_or_else(|| "nothing".into(), |before| shown(&turn.knob, before));
    format!("    {}: {} (was {before})\n", placed(&turn.knob, &turn.site), shown(&turn.knob, &turn.asked))
}

/// What was there; of an outcome the request that the undo makes.
fn before(turn: &Turn) -> Option<&str> {
    let before = match (&turn.before, &turn.undo) {
        (Before::Outcome { .. } | Before::Unknown, Some(Action::WriteFile { text, .. })) => Some(text.as_str()),
        (before, _) => before.text(),
    };
    before.map(str::trim)
}

fn report(shared: &Shared, restored: &Restored, steps_left: usize) -> Result<(), Failure> {
    if shared.json {
        return output::print_document(&TakenBack { restored, steps_left, undone: None }).map(drop);
    }
    let mut text = format!("restored: {}", restored.undone);
    if restored.already > 0 {
        text += &format!(", already as before: {}", restored.already);
    }
    if restored.given_up > 0 {
        text += &format!(", let go of without touching them: {}", restored.given_up);
    }
    text.extend(restored.gone.iter().map(|gone| format!("\n{}: {}", placed(&gone.knob, &gone.site), gone.why)));
    text.extend(restored.differs().iter().map(|differs| format!("\n{differs}")));
    if steps_left > 0 {
        let (steps, them) = if steps_left == 1 { ("step is", "it") } else { ("steps are", "them") };
        let all = output::again_with("--all");
        text += &format!("\n{steps_left} earlier {steps} still in force; `{all}` undoes {them} too");
    }
    output::print(&text);
    Ok(())
}

/// What is not restored decides the code; what was left alone on purpose is a refusal. `verb` with `--force` behind it insists.
fn outcome(restored: &Restored, names: &Names, verb: &str) -> Answer {
    if !restored.failed.is_empty() {
        let next = format!("`{}` tries again", for_machines(names, verb));
        return Err(incomplete::failure(&restored.not_restored(), &next));
    }
    if !restored.inexact.is_empty() {
        incomplete::check(restored, names)?;
    }
    if let Some(foreign) = restored.foreign.first() {
        let sentence = format!(
            "{} was set to {} and now reads {}{}: another program changed it, so it was left alone; `powerband {verb} --force` restores it all the same",
            placed(&foreign.knob, &foreign.site),
            foreign.ours,
            foreign.found,
            leftovers::changed_by(foreign)
        );
        return Err(Failure::new(Exit::Failed, sentence));
    }
    if let Some(it) = restored.elsewhere.first() {
        let sentence = format!(
            "{} was left alone: {}; `powerband {verb} --force` lets go of it without touching it",
            placed(&it.knob, &it.site),
            it.why
        );
        return Err(Failure::new(Exit::Failed, sentence));
    }
    Ok(Exit::Fine as u8)
}
