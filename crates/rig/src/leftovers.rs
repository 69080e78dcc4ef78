//! What an earlier powerband left: putting it back before anything else is turned, and telling of it when one only looks.
use std::path::PathBuf;

use powerband_host::{FileLedger, holder};
use powerband_knob::{Foreign, Restored, restore};
use powerband_machine::{Damage, EntryId, Errno, Hold, Ledger, LedgerStore, Machine, OpenEntry, Turn, World};
use powerband_record::{Side, placed};

use crate::away;
use crate::exit::{Exit, Failure};
use crate::{incomplete, output};

/// Where the ledger of one machine of a rig is kept.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// Which machine.
    pub(crate) side: Side,
    /// Ledger, lock, and what was set aside.
    pub(crate) folder: PathBuf,
    /// Set when that folder is on another machine.
    pub(crate) away: Option<Away>,
}

/// What an agent said of a ledger that cannot be looked at from here.
#[derive(Clone, Debug)]
pub(crate) struct Away {
    /// The machine, as named.
    pub(crate) machine: String,
    /// Who held it when we came, if anybody else did.
    pub(crate) held: Option<String>,
}

impl Kept {
    /// The ledger's path.
    pub(crate) fn ledger(&self) -> String {
        self.there(FileLedger::new(&self.folder).place())
    }

    /// Whether anybody holds it.
    pub(crate) fn is_held(&self) -> bool {
        self.away.as_ref().map_or_else(|| holder(&self.folder).is_some(), |away| away.held.is_some())
    }

    fn there(&self, path: String) -> String {
        self.away.as_ref().map_or_else(|| path.clone(), |away| format!("{path} on {}", away.machine))
    }

    /// The path of what was set aside.
    fn damaged(&self) -> String {
        self.there(FileLedger::damaged(&self.folder).display().to_string())
    }
}

/// Whether an entry is what somebody asked for; the others only keep what a governor would forget.
pub(crate) fn tells(turn: &Turn) -> bool {
    turn.undo.as_ref() != Some(&turn.action)
}

/// What is held and in force, oldest first: an owner that is gone has left it.
pub(crate) fn held(machine: &dyn Machine) -> Vec<EntryId> {
    let open = machine.open_entries();
    open.iter().filter(|entry| entry.turn.hold == Hold::Held).map(|entry| entry.id).collect()
}

/// What is open and has not ended with another boot.
pub(crate) fn in_force(machine: &dyn Machine) -> Vec<OpenEntry> {
    let boot_id = &machine.identity().boot_id;
    machine.open_entries().into_iter().filter(|entry| !entry.is_over(boot_id)).collect()
}

/// Puts back what is held and closes what a reboot has ended.
pub(crate) fn put_back(world: &mut dyn World, kept: &[Kept], force: bool) -> Restored {
    let mut restored = Restored::default();
    for kept in kept {
        let Some(machine) = world.machine(kept.side) else { continue };
        let boot_id = machine.identity().boot_id.clone();
        let open = machine.open_entries();
        let ours = open.iter().filter(|entry| entry.turn.hold == Hold::Held || entry.is_over(&boot_id));
        let entries: Vec<EntryId> = ours.map(|entry| entry.id).collect();
        let mut one = restore(machine, &entries, force);
        one.wait_for_limits(world, kept.side);
        restored.extend(one);
    }
    restored
}

/// Before anything is turned: puts back what an owner that is gone had left, and sets aside what cannot be read.
pub(crate) fn clear(world: &mut dyn World, kept: &[Kept]) -> Result<(), Failure> {
    let put_back = put_back_first(world, kept);
    sort_out(world, kept)?;
    put_back
}

/// Puts back what an owner that is gone had left, and tells of it.
pub(crate) fn put_back_first(world: &mut dyn World, kept: &[Kept]) -> Result<(), Failure> {
    let machines = kept.iter().filter_map(|kept| world.machine(kept.side).map(|machine| held_in_force(machine)));
    let were_held: usize = machines.sum();
    let restored = put_back(world, kept, false);
    let left = restored.failed.len() + restored.elsewhere.len() + restored.foreign.len();
    if were_held > left {
        output::remark(&format!("restored {} settings that an interrupted powerband had left", were_held - left));
    }
    for it in &restored.foreign {
        output::remark(&format!(
            "before this boot an interrupted powerband had set {} to {}; it reads {} now{}, so it is left alone; \
             `powerband undo --left --force` restores what was there before",
            placed(&it.knob, &it.site),
            it.ours,
            it.found,
            whose(it)
        ));
    }
    for it in &restored.elsewhere {
        output::remark(&format!(
            "an interrupted powerband left {} set: {}; `powerband undo --left --force` forgets it",
            placed(&it.knob, &it.site),
            it.why
        ));
    }
    if restored.failed.is_empty() {
        // What reads otherwise is out of the ledger; it must not keep every later command from running.
        restored.differs().iter().for_each(|differs| output::remark(&format!("RESTORE INCOMPLETE: {differs}")));
        return Ok(());
    }
    let places: Vec<String> = kept.iter().map(Kept::ledger).collect();
    let next = format!("an interrupted powerband had left it; {} says what was there", places.join(" or "));
    Err(incomplete::failure(&restored.not_restored(), &next))
}

/// ` (changed 3 min ago, file of alice)`, as far as anybody knows.
pub(crate) fn whose(foreign: &Foreign) -> String {
    let Some(changed) = &foreign.changed else { return String::new() };
    let ago = match powerband_host::unix_time_s().saturating_sub(changed.unix_s) {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3600 => format!("{} min", s / 60),
        s @ 3600..172_800 => format!("{} h", s / 3600),
        s => format!("{} days", s / 86_400),
    };
    format!(" (changed {ago} ago, file of {})", changed.owner)
}

fn held_in_force(machine: &dyn Machine) -> usize {
    in_force(machine).iter().filter(|entry| entry.turn.hold == Hold::Held).count()
}

/// Sets damaged lines aside. What they announced only a person can put back.
///
/// # Errors
/// [`Exit::CannotRestore`] when a line mattered: once, as the next command finds it set aside.
pub(crate) fn sort_out(world: &mut dyn World, kept: &[Kept]) -> Result<(), Failure> {
    let mut told = Vec::new();
    for kept in kept {
        let Some(machine) = world.machine(kept.side) else { continue };
        if let Some(tail) = machine.torn_tail() {
            output::remark(&cut_off(&tail, kept));
        }
        let damage = machine.set_damage_aside().map_err(|error| Failure::new(Exit::CannotGoOn, error))?;
        for harmless in damage.iter().filter(|damage| !damage.matters) {
            output::remark(&format!(
                "line {} of {} was damaged; nothing is lost with it",
                harmless.line,
                kept.ledger()
            ));
        }
        told.extend(
            describe(&damage, kept)
                .map(|damaged| format!("{damaged}: look at it, set it right by hand and delete {}", kept.damaged())),
        );
    }
    if told.is_empty() { Ok(()) } else { Err(Failure::new(Exit::CannotRestore, told.join("; "))) }
}

/// What a last line that is not whole means. Nothing is done for it: a writer that was killed in it had not acted yet.
fn cut_off(tail: &Damage, kept: &Kept) -> String {
    let ledger = kept.ledger();
    if !tail.is_intent() {
        return format!("the last line of {ledger} is cut off; nothing is lost with it");
    }
    format!(
        "{tail} of {ledger} is cut off ({}): a powerband that is killed while it writes has changed nothing yet, but if the \
         file was cut off later, look at it by hand",
        tail.story()
    )
}

/// `entry 3 of LEDGER is damaged (it turned …)`, for every line that matters.
fn describe(damage: &[Damage], kept: &Kept) -> Option<String> {
    let ledger = kept.ledger();
    let lost = damage.iter().filter(|damage| damage.matters);
    let lost: Vec<String> = lost.map(|it| format!("{it} of {ledger} is damaged ({})", it.story())).collect();
    (!lost.is_empty()).then(|| lost.join(", "))
}

/// Says where lines of a damaged ledger wait for a person, if there are any.
pub(crate) fn remark_damaged(kept: &Kept) {
    if FileLedger::damaged(&kept.folder).exists() {
        output::remark(&format!(
            "{} holds what a damaged ledger had announced: look at it, set it right by hand and delete it",
            kept.damaged()
        ));
    }
}

/// One line each on standard error about what is still turned without an owner, and about what was damaged. Says
/// nothing of what one may not read. Of machines behind an agent it knows what is noted here.
pub(crate) fn warn(kept: &[Kept]) {
    away::warn();
    for kept in kept.iter().filter(|kept| kept.away.is_none()) {
        remark_damaged(kept);
        let boot_id = powerband_host::boot_id();
        let ledger = match Ledger::load(Box::new(FileLedger::new(&kept.folder)), &boot_id) {
            Ok(ledger) => ledger.on_machine(powerband_host::machine_name()),
            Err(error) if error.errno() == Some(Errno::EACCES) => continue,
            Err(error) => {
                output::remark(&error.to_string());
                continue;
            }
        };
        if let Some(damaged) = describe(ledger.damage(), kept) {
            output::remark(&format!("{damaged}; the next command that sets a knob moves it away"));
        }
        if let Some(tail) = ledger.torn_tail().filter(|tail| tail.is_intent()) {
            output::remark(&cut_off(tail, kept));
        }
        let mut others: Vec<&str> = ledger.of_others().iter().filter_map(|it| it.origin.machine.as_deref()).collect();
        others.dedup();
        for other in others {
            output::remark(&format!(
                "{} has settings of another machine, {}; `powerband undo` there restores them",
                kept.ledger(),
                other.split('#').next().unwrap_or_default()
            ));
        }
        let is_left =
            |entry: &&OpenEntry| entry.turn.hold == Hold::Held && tells(&entry.turn) && !entry.is_over(&boot_id);
        let left = ledger.open().iter().filter(is_left).count();
        if left > 0 && holder(&kept.folder).is_none() {
            let (settings, are, them) = if left == 1 { ("setting", "is", "it") } else { ("settings", "are", "them") };
            output::remark(&format!(
                "{left} {settings} {are} still set by an interrupted powerband; `powerband undo --left` or the next command that sets a knob restores {them}"
            ));
        }
    }
}

/// How an entry that is held is told of: by whom, if its owner lives.
pub(crate) fn holder_words(kept: Option<&Kept>) -> (Option<u32>, String) {
    if let Some(away) = kept.and_then(|kept| kept.away.as_ref())
        && let Some(held) = &away.held
    {
        return (None, format!("held there: {held}"));
    }
    match kept.filter(|kept| kept.away.is_none()).and_then(|kept| holder(&kept.folder)) {
        Some(holder) if holder.pid != 0 => (Some(holder.pid), format!("held by powerband {}", holder.pid)),
        Some(_) => (None, "held by another powerband".into()),
        None => (None, "left by an interrupted powerband; `powerband undo --left` restores it".into()),
    }
}
