//! What an interrupted owner left: restoring it before anything else is changed, and reporting it where one only looks.
use std::path::{Path, PathBuf};

use powerband_host::{FileLedger, LocalMachine, holder, interrupted_remote_notes};
use powerband_knob::{Foreign, Restored, restore};
use powerband_machine::{Damage, EntryId, Errno, Hold, Ledger, LedgerStore, Machine, OpenEntry, Turn, World};
use powerband_record::{Hint, Side, placed};

use crate::{Note, Notes, RigError};

/// Where the ledger of one machine of a rig is kept.
#[derive(Clone, Debug)]
pub struct LedgerLocation {
    /// Which machine.
    pub side: Side,
    /// Ledger, lock, and what was set aside.
    pub folder: PathBuf,
    /// Set when that folder is on another machine.
    pub remote: Option<RemoteLedger>,
}

/// What an agent said of a ledger that cannot be looked at from here.
#[derive(Clone, Debug)]
pub struct RemoteLedger {
    /// The machine, as named.
    pub machine: String,
    /// Who held it when we came, if anybody else did.
    pub held: Option<String>,
}

/// Who holds a setting until they end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeldBy {
    /// Somebody on the remote machine, in its words.
    There(String),
    /// A powerband here; its process, as far as that is known.
    Here(Option<u32>),
    /// Nobody any more: an interrupted owner left it.
    Nobody,
}

impl LedgerLocation {
    /// A folder on this machine.
    #[must_use]
    pub fn here(side: Side, folder: PathBuf) -> Self {
        LedgerLocation { side, folder, remote: None }
    }

    /// The ledger's path.
    #[must_use]
    pub fn ledger(&self) -> String {
        self.there(FileLedger::new(&self.folder).place())
    }

    /// Whether anybody holds it.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.remote.as_ref().map_or_else(|| holder(&self.folder).is_some(), |remote| remote.held.is_some())
    }

    /// Who holds what is held there.
    #[must_use]
    pub fn held_by(&self) -> HeldBy {
        match &self.remote {
            Some(remote) => remote.held.clone().map_or(HeldBy::Nobody, HeldBy::There),
            None => holder(&self.folder)
                .map_or(HeldBy::Nobody, |holder| HeldBy::Here(Some(holder.pid).filter(|&pid| pid != 0))),
        }
    }

    fn there(&self, path: String) -> String {
        self.remote.as_ref().map_or_else(|| path.clone(), |remote| format!("{path} on {}", remote.machine))
    }

    /// The path of what was set aside.
    fn damaged(&self) -> String {
        self.there(FileLedger::damaged(&self.folder).display().to_string())
    }
}

/// Whether an entry is what somebody asked for; the others only keep what a governor would forget.
#[must_use]
pub fn is_requested(turn: &Turn) -> bool {
    turn.undo.as_ref() != Some(&turn.action)
}

/// What is held and in force, oldest first: an owner that is gone has left it.
#[must_use]
pub fn held(machine: &dyn Machine) -> Vec<EntryId> {
    let open = machine.open_entries();
    open.iter().filter(|entry| entry.turn.hold == Hold::Held).map(|entry| entry.id).collect()
}

/// Entries that are open and have not ended with another boot.
#[must_use]
pub fn in_force(machine: &mut dyn Machine) -> Vec<OpenEntry> {
    let boot_id = machine.identity().boot_id.clone();
    let mut open = machine.open_entries();
    open.retain(|entry| !entry.is_over(&boot_id, &mut |path| machine.read(path)));
    open
}

/// Restores what is held and closes what a reboot has ended.
pub fn restore_held(world: &mut dyn World, ledgers: &[LedgerLocation], force: bool) -> Restored {
    let mut restored = Restored::default();
    for LedgerLocation { side, .. } in ledgers {
        let Some(machine) = world.machine(*side) else { continue };
        let boot_id = machine.identity().boot_id.clone();
        let open = machine.open_entries();
        let mut is_ours = |entry: &&OpenEntry| {
            entry.turn.hold == Hold::Held || entry.is_over(&boot_id, &mut |path| machine.read(path))
        };
        let entries: Vec<EntryId> = open.iter().filter(&mut is_ours).map(|entry| entry.id).collect();
        let mut one = restore(machine, &entries, force);
        one.wait_for_limits(world, *side);
        restored.extend(one);
    }
    restored
}

/// Before anything is changed: restores what an owner that is gone left, and sets aside what cannot be read.
///
/// # Errors
/// As [`set_damage_aside`], else as [`restore_left`].
pub fn clear(world: &mut dyn World, ledgers: &[LedgerLocation], notes: &mut dyn Notes) -> Result<(), RigError> {
    let restored = restore_left(world, ledgers, notes);
    set_damage_aside(world, ledgers, notes)?;
    restored
}

/// Restores what an owner that is gone left, and reports it.
///
/// # Errors
/// [`RigError::RestoreIncomplete`].
pub fn restore_left(world: &mut dyn World, ledgers: &[LedgerLocation], notes: &mut dyn Notes) -> Result<(), RigError> {
    let mut were_held = 0;
    for ledger in ledgers {
        let Some(machine) = world.machine(ledger.side) else { continue };
        let held: Vec<OpenEntry> = in_force(machine).into_iter().filter(|it| it.turn.hold == Hold::Held).collect();
        were_held += held.len();
        let boot_id = machine.identity().boot_id.clone();
        for OpenEntry { turn, .. } in held.iter().filter(|it| it.may_be_over(&boot_id)) {
            let what = placed(&turn.knob, &turn.site);
            notes.note(format!("{what} outlived a boot: an interrupted powerband had set it to {}", turn.asked).into());
        }
    }
    let restored = restore_held(world, ledgers, false);
    let left = restored.failed.len() + restored.elsewhere.len() + restored.foreign.len();
    if were_held > left {
        let count = were_held - left;
        notes.note(format!("restored {count} settings that an interrupted powerband had left").into());
    }
    for it in &restored.foreign {
        let text = format!(
            "before this boot an interrupted powerband had set {} to {}; it reads {} now{}, so it is left alone",
            placed(&it.knob, &it.site),
            it.ours,
            it.found,
            changed_by(it)
        );
        notes.note(Note::from(text).with(Hint::RestoreForeign));
    }
    for it in &restored.gone {
        notes.note(format!("{}: {}", placed(&it.knob, &it.site), it.why).into());
    }
    for it in &restored.elsewhere {
        let text = format!("an interrupted powerband left {} set: {}", placed(&it.knob, &it.site), it.why);
        notes.note(Note::from(text).with(Hint::ForgetLeft));
    }
    if restored.failed.is_empty() {
        // What reads otherwise is out of the ledger; it must not keep every later command from running.
        restored.differs().iter().for_each(|differs| notes.note(format!("RESTORE INCOMPLETE: {differs}").into()));
        return Ok(());
    }
    let ledgers = ledgers.iter().map(LedgerLocation::ledger).collect();
    Err(RigError::RestoreIncomplete { left: restored.not_restored(), ledgers })
}

/// ` (changed 3 min ago, file of alice)`, as far as anybody knows.
#[must_use]
pub fn changed_by(foreign: &Foreign) -> String {
    let Some(changed) = &foreign.changed else { return String::new() };
    let ago = match powerband_host::unix_time_s().saturating_sub(changed.unix_s) {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3600 => format!("{} min", s / 60),
        s @ 3600..172_800 => format!("{} h", s / 3600),
        s => format!("{} days", s / 86_400),
    };
    format!(" (changed {ago} ago, file of {})", changed.owner)
}

/// Sets damaged lines aside. What they announced only a person can restore.
///
/// # Errors
/// [`RigError::Damaged`] when a line mattered: once, as the next owner finds it set aside.
pub fn set_damage_aside(
    world: &mut dyn World,
    ledgers: &[LedgerLocation],
    notes: &mut dyn Notes,
) -> Result<(), RigError> {
    let mut lost = Vec::new();
    for ledger in ledgers {
        let Some(machine) = world.machine(ledger.side) else { continue };
        if let Some(tail) = machine.torn_tail() {
            notes.note(cut_off(&tail, ledger).into());
        }
        let damage = machine.set_damage_aside().map_err(RigError::LedgerUnusable)?;
        for harmless in damage.iter().filter(|damage| !damage.matters) {
            let (line, ledger) = (harmless.line, ledger.ledger());
            notes.note(format!("line {line} of {ledger} was damaged; nothing is lost with it").into());
        }
        lost.extend(
            describe(&damage, ledger)
                .map(|damaged| format!("{damaged}: look at it, set it right by hand and delete {}", ledger.damaged())),
        );
    }
    if lost.is_empty() { Ok(()) } else { Err(RigError::Damaged(lost)) }
}

/// What a last line that is not whole means. Nothing is done for it: a writer that was killed in it had not acted yet.
fn cut_off(tail: &Damage, ledger: &LedgerLocation) -> String {
    let ledger = ledger.ledger();
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
fn describe(damage: &[Damage], ledger: &LedgerLocation) -> Option<String> {
    let ledger = ledger.ledger();
    let lost = damage.iter().filter(|damage| damage.matters);
    let lost: Vec<String> = lost.map(|it| format!("{it} of {ledger} is damaged ({})", it.story())).collect();
    (!lost.is_empty()).then(|| lost.join(", "))
}

/// Notes where lines of a damaged ledger wait for a person, if there are any.
pub fn note_damaged(ledger: &LedgerLocation, notes: &mut dyn Notes) {
    if FileLedger::damaged(&ledger.folder).exists() {
        notes.note(
            format!(
                "{} holds what a damaged ledger had announced: look at it, set it right by hand and delete it",
                ledger.damaged()
            )
            .into(),
        );
    }
}

/// One note each about what is still changed without an owner, and about what was damaged. Says nothing of what one may not
/// read. Of remote machines it knows what is noted here.
pub fn report(ledgers: &[LedgerLocation], notes: &mut dyn Notes) {
    for left in interrupted_remote_notes() {
        let (machine, doing) = (left.machine, left.doing);
        let text = format!("an interrupted powerband may have left something changed at {machine} (`{doing}`)");
        notes.note(Note::from(text).with(Hint::RestoreLeftAt(machine)));
    }
    for ledger in ledgers.iter().filter(|ledger| ledger.remote.is_none()) {
        note_damaged(ledger, notes);
        let boot_id = powerband_host::boot_id();
        match Ledger::load(Box::new(FileLedger::new(&ledger.folder)), &boot_id) {
            Ok(entries) => report_one(ledger, &entries.on_machine(powerband_host::machine_name()), &boot_id, notes),
            Err(error) if error.errno() == Some(Errno::EACCES) => {}
            Err(error) => notes.note(error.to_string().into()),
        }
    }
}

fn report_one(location: &LedgerLocation, ledger: &Ledger, boot_id: &str, notes: &mut dyn Notes) {
    if let Some(damaged) = describe(ledger.damage(), location) {
        notes.note(format!("{damaged}; the next command that sets a knob moves it away").into());
    }
    if let Some(tail) = ledger.torn_tail().filter(|tail| tail.is_intent()) {
        notes.note(cut_off(tail, location).into());
    }
    let mut others: Vec<&str> = ledger.of_others().iter().filter_map(|it| it.origin.machine.as_deref()).collect();
    others.dedup();
    for other in others {
        let (ledger, other) = (location.ledger(), other.split('#').next().unwrap_or_default());
        notes.note(Note::from(format!("{ledger} has settings of another machine, {other}")).with(Hint::UndoThere));
    }
    let is_left = |entry: &&OpenEntry| {
        entry.turn.hold == Hold::Held
            && is_requested(&entry.turn)
            && !entry.is_over(boot_id, &mut |path| powerband_host::read_file(path))
    };
    let left = ledger.open().iter().filter(is_left).count();
    if left > 0 && holder(&location.folder).is_none() {
        let (settings, are) = if left == 1 { ("setting", "is") } else { ("settings", "are") };
        let text = format!("{left} {settings} {are} still set by an interrupted powerband");
        notes.note(Note::from(text).with(Hint::RestoreLeft { several: left > 1 }));
    }
}

/// What the guardian of a folder's owner does once the owner is dead: restores what it held, as the next owner would. Waits
/// until then. What cannot be restored, and what is damaged, stays in the ledger for the next owner: nobody is here to report
/// it to.
///
/// # Errors
/// When something could not be restored.
pub fn guard(folder: &Path) -> Result<(), RigError> {
    let Some(taken) = powerband_host::stand_guard(folder) else { return Ok(()) };
    let mut machine = LocalMachine::new(taken.ledger.clone())?;
    let entries = held(&*machine);
    let restored = restore(&mut *machine, &entries, false);
    if !restored.failed.is_empty() {
        return Err(RigError::RestoreIncomplete { left: restored.not_restored(), ledgers: Vec::new() });
    }
    drop(machine);
    taken.end();
    Ok(())
}
