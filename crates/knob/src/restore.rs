//! Putting back: ledger entries in reverse, with what only a knob can judge about somebody else's hand.
mod order;

use std::collections::{BTreeMap, BTreeSet};

use powerband_machine::{Action, Before, Change, EntryId, Errno, LastChange, Look, OpenEntry, Undone, World};
use powerband_record::{InOrder, Side, placed};
use powerband_sysfs::cpufreq::steps_khz;
use serde::Serialize;

use crate::kernel_file::is_kernel_file;

/// How often a limit that was restored is looked at …
const LOOKS: u32 = 10;
/// … and how long after each look, ns: it takes a few milliseconds.
const PAUSE_NS: u64 = 10_000_000;

/// What a file of the kernel answers to an undo that it will never take.
const FOR_GOOD: [Errno; 3] = [Errno::EINVAL, Errno::ENODEV, Errno::EOPNOTSUPP];

/// A value of somebody else's that was left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Foreign {
    /// Canonical name.
    pub knob: String,
    /// Site.
    pub site: String,
    /// What is there.
    pub found: String,
    /// What we had left there, or what read there before.
    pub ours: String,
    /// The file it reads from.
    pub path: String,
    /// When that file was last changed, and whose it is, if anybody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<LastChange>,
}

/// Something that could not be restored, or not from here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Failed {
    /// Canonical name.
    pub knob: String,
    /// Site.
    pub site: String,
    /// Why.
    pub why: String,
}

/// What came of restoring.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Restored {
    /// Entries undone.
    pub undone: usize,
    /// Entries that were as before already, or whose boot is over.
    pub already: usize,
    /// Left alone: somebody else has turned it since.
    pub foreign: Vec<Foreign>,
    /// Not restored.
    pub failed: Vec<Failed>,
    /// Left alone: it belongs to another network namespace, or to a device that is no longer there.
    pub elsewhere: Vec<Failed>,
    /// Entries of that kind that were let go of without being touched, because the caller insisted.
    pub given_up: usize,
    /// What the kernel took away, file and value: nothing is left to restore.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<Failed>,
    /// Restored, and yet something else than before reads there: a limit that takes a moment, or firmware's hand.
    pub inexact: Vec<Foreign>,
}

impl Restored {
    /// Whether everything is as it was, as far as the kernel says. A limit takes a moment: see [`Restored::wait_for_limits`].
    #[must_use]
    pub fn complete(&self) -> bool {
        self.not_restored().is_empty()
    }

    /// Everything that does not read as before, a few words each.
    #[must_use]
    pub fn not_restored(&self) -> Vec<String> {
        self.left().into_iter().chain(self.differs()).collect()
    }

    /// Everything that is not back, a few words each.
    #[must_use]
    pub fn left(&self) -> Vec<String> {
        let foreign = self.foreign.iter().map(|it| format!("{} (found {})", placed(&it.knob, &it.site), it.found));
        let failed = self.failed.iter().chain(&self.elsewhere);
        foreign.chain(failed.map(|it| format!("{} ({})", placed(&it.knob, &it.site), it.why))).collect()
    }

    /// Everything that was restored and yet reads differently than before, a few words each.
    #[must_use]
    pub fn differs(&self) -> Vec<String> {
        let shown = |text: &str| if text.is_empty() { "nothing".to_owned() } else { text.to_owned() };
        let words = |it: &Foreign| {
            let (found, before) = (shown(&it.found), shown(&it.ours));
            format!("{} reads {found} where it read {before} before", placed(&it.knob, &it.site))
        };
        self.inexact.iter().map(words).collect()
    }

    /// Reads again what differed, for a moment: since Linux 5.3 a limit takes effect a little after it was restored.
    /// For when nothing runs any more, as it waits.
    pub fn wait_for_limits(&mut self, world: &mut dyn World, side: Side) {
        for _ in 0..LOOKS {
            if let Some(machine) = world.machine(side) {
                self.inexact.retain_mut(|it| match machine.read(&it.path) {
                    Ok(now) => {
                        now.trim().clone_into(&mut it.found);
                        it.found != it.ours
                    }
                    Err(_) => true,
                });
            }
            if self.inexact.is_empty() {
                return;
            }
            world.wait(Some(world.now_ns() + PAUSE_NS));
        }
    }

    /// Adds what came of another machine.
    pub fn extend(&mut self, more: Restored) {
        self.undone += more.undone;
        self.already += more.already;
        self.given_up += more.given_up;
        self.gone.extend(more.gone);
        self.foreign.extend(more.foreign);
        self.failed.extend(more.failed);
        self.elsewhere.extend(more.elsewhere);
        self.inexact.extend(more.inexact);
    }
}

/// Takes entries back, newest first; `entries` are given in the order they were made, as [`crate::Applied`] has them.
/// CPUs that they took out of service come back before everything else. What these have hidden of files that were changed later comes
/// back with them. What fails is tried once more after the rest, as it may have waited for another entry.
pub fn restore(machine: &mut dyn Change, entries: &[EntryId], force: bool) -> Restored {
    let open: BTreeMap<EntryId, OpenEntry> =
        machine.open_entries().into_iter().map(|entry| (entry.id, entry)).collect();
    let mut entries = entries.to_vec();
    let steps: BTreeSet<EntryId> = entries.iter().filter_map(|id| Some(open.get(id)?.step)).collect();
    let hidden = open.values().filter(|entry| entry.turn.saves_what_is_hidden() && steps.contains(&entry.step));
    let hidden: Vec<EntryId> = hidden.map(|entry| entry.id).filter(|id| !entries.contains(id)).collect();
    entries.extend(hidden);
    let in_order = order::order(&entries, &open);
    let mut work = Work { covered: covered(&open, &entries), open, ..Work::default() };
    let mut again = Vec::new();
    for id in in_order {
        if let Some(outcome) = work.undo(machine, id, force) {
            again.push((id, outcome));
        }
    }
    work.stuck.clear();
    for (id, first) in again {
        match work.undo(machine, id, force || work.waits_in_vain(id)) {
            Some(second) => work.report(machine, id, second),
            None => drop(first),
        }
    }
    entries.order_by_key(|id| *id);
    work.compare(machine, &entries);
    work.restored
}

/// A file in a network namespace.
type Place = (String, Option<u64>);

/// Where an entry changes something.
fn place(entry: &OpenEntry) -> Option<Place> {
    Some((entry.turn.read_back.clone()?, entry.origin.net_ns))
}

/// Steps below a later one that is not undone now and has changed the same file: undone alone, an earlier step would bring back what the
/// later one hides, and that one later what it found.
fn covered(open: &BTreeMap<EntryId, OpenEntry>, entries: &[EntryId]) -> BTreeSet<EntryId> {
    let others = open.values().filter(|other| !entries.contains(&other.id) && !other.turn.saves_what_is_hidden());
    let later: BTreeMap<Place, EntryId> = others.filter_map(|other| Some((place(other)?, other.id))).collect();
    let ours = entries.iter().filter_map(|id| open.get(id));
    let is_covered =
        |entry: &&OpenEntry| place(entry).and_then(|place| later.get(&place)).is_some_and(|id| *id > entry.id);
    ours.filter(is_covered).map(|entry| entry.step).collect()
}

#[derive(Default)]
struct Work {
    open: BTreeMap<EntryId, OpenEntry>,
    /// Steps that are not undone before a later one.
    covered: BTreeSet<EntryId>,
    /// Steps in which a governor is not back, so that its tunables cannot be.
    held_up: BTreeSet<EntryId>,
    /// Entries whose files are no longer what was turned, so that what reads there says nothing.
    not_ours: BTreeSet<EntryId>,
    /// Files of which a newer entry is not back: an older one undone first would be overwritten by it later.
    stuck: BTreeSet<String>,
    /// What ordinary files read right after they were restored: one may be another one by another name.
    reads: BTreeMap<String, String>,
    restored: Restored,
}

impl Work {
    /// Undoes one entry; answers why it is not back, if it is not.
    fn undo(&mut self, machine: &mut dyn Change, id: EntryId, force: bool) -> Option<Undone> {
        let path = self.open.get(&id).and_then(|entry| entry.turn.read_back.clone());
        let is_covered = self.open.get(&id).is_some_and(|entry| self.covered.contains(&entry.step));
        let newer = is_covered || path.as_ref().is_some_and(|path| self.stuck.contains(path));
        let outcome = if newer {
            Some(Undone::Failed { why: "a newer entry of the same file is not back".into() })
        } else if self.is_used(id) {
            Some(Undone::Failed { why: "a file in it is not back".into() })
        } else {
            self.undo_now(machine, id, force)
        };
        if outcome.is_some() {
            self.stuck.extend(path.or_else(|| self.folder(id).map(str::to_owned)));
        }
        outcome
    }

    /// The folder that an entry removes again.
    fn folder(&self, id: EntryId) -> Option<&str> {
        match self.open.get(&id)?.turn.undo.as_ref()? {
            Action::RemoveFolder { path } => Some(path),
            _ => None,
        }
    }

    /// Whether it removes a folder that has something of ours in it: its entry stays open with that.
    fn is_used(&self, id: EntryId) -> bool {
        let inside = |folder: &str, path: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        self.folder(id).is_some_and(|folder| self.stuck.iter().any(|path| inside(folder, path)))
    }

    fn undo_now(&mut self, machine: &mut dyn Change, id: EntryId, force: bool) -> Option<Undone> {
        let failed = |error: powerband_machine::LedgerError| Undone::Failed { why: error.to_string() };
        let force = force && !self.waits(id);
        let entry = self.open.get(&id);
        let asleep = entry.and_then(|entry| asleep(machine, entry));
        let mut outcome = asleep.unwrap_or_else(|| machine.undo(id, force).unwrap_or_else(failed));
        if let Undone::Foreign { found, .. } = &outcome
            && self.open.get(&id).is_some_and(|entry| is_ours_after_all(machine, entry, found))
        {
            outcome = machine.undo(id, true).unwrap_or_else(failed);
        }
        // Another attempt would be refused as this one was, and whoever insists need not be reminded for ever.
        let is_kernels = |entry: &OpenEntry| matches!(&entry.turn.undo, Some(Action::WriteFile { path, .. }) if is_kernel_file(path));
        if let Undone::Failed { why } = &outcome
            && force
            && FOR_GOOD.iter().any(|errno| *why == errno.to_string())
            && self.open.get(&id).is_some_and(is_kernels)
        {
            outcome = machine.keep(&[id]).map_or_else(failed, |()| Undone::GivenUp);
        }
        let path = self.open.get(&id).and_then(|entry| entry.turn.read_back.as_ref());
        if let Some(path) = path.filter(|path| path.starts_with('/') && !is_kernel_file(path))
            && let Ok(text) = machine.read(path)
        {
            self.reads.insert(path.clone(), text);
        }
        match outcome {
            Undone::Undone => self.restored.undone += 1,
            Undone::AlreadyBack => {
                self.restored.already += 1;
                self.note_gone(machine, id);
            }
            Undone::Rebooted => {
                self.restored.already += 1;
                self.not_ours.insert(id);
            }
            Undone::GivenUp => {
                self.restored.given_up += 1;
                self.not_ours.insert(id);
            }
            // Where we are does not change while we are here.
            Undone::Elsewhere | Undone::OtherDevice { .. } => {
                self.not_ours.insert(id);
                self.report(machine, id, outcome);
            }
            Undone::Foreign { .. } | Undone::Failed { .. } => {
                if let Some(entry) = self.open.get(&id).filter(|entry| entry.turn.knob == "cpufreq.governor") {
                    self.held_up.insert(entry.step);
                }
                return Some(outcome);
            }
        }
        None
    }

    /// Notes a file that is gone while its folder stays; the folder of a governor's tunables leaves with the governor.
    fn note_gone(&mut self, machine: &mut dyn Look, id: EntryId) {
        let Some(OpenEntry { turn, .. }) = self.open.get(&id).filter(|entry| !entry.is_refused()) else { return };
        let Some(Action::WriteFile { path, .. }) = turn.undo.as_ref().filter(|undo| **undo != turn.action) else {
            return;
        };
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        if machine.read(path) == Err(Errno::ENOENT) && machine.list(folder).is_ok() {
            let why = format!("{path} is gone, and what was set there with it");
            self.restored.gone.push(Failed { knob: turn.knob.clone(), site: turn.site.clone(), why });
        }
    }

    /// Whether an entry keeps what a governor has lost that is not back.
    fn waits(&self, id: EntryId) -> bool {
        self.open.get(&id).is_some_and(|entry| is_saved(entry) && self.held_up.contains(&entry.step))
    }

    /// Whether it keeps something for a governor that is not to come: what was there before is back, and is another one.
    fn waits_in_vain(&self, id: EntryId) -> bool {
        !self.waits(id) && self.open.get(&id).is_some_and(is_saved)
    }

    fn report(&mut self, machine: &mut dyn Look, id: EntryId, outcome: Undone) {
        let (knob, site) = self.open.get(&id).map_or_else(
            || (format!("ledger entry {}", id.0), "-".into()),
            |entry| (entry.turn.knob.clone(), entry.turn.site.clone()),
        );
        match outcome {
            Undone::Foreign { found, ours } => {
                let path = self.open.get(&id).and_then(|entry| entry.turn.read_back.clone()).unwrap_or_default();
                let changed = machine.last_change(&path);
                self.restored.foreign.push(Foreign { knob, site, found, ours, path, changed });
            }
            // What waits for a governor that is not back is no news of its own; the entry stays open with it.
            Undone::Failed { .. } if self.waits(id) || self.is_used(id) => {}
            Undone::Failed { why } => self.restored.failed.push(Failed { knob, site, why }),
            Undone::Elsewhere => {
                let why = "it was set in another network namespace; run undo there".into();
                self.restored.elsewhere.push(Failed { knob, site, why });
            }
            Undone::OtherDevice { device, ours, found } => {
                let there = found.map_or_else(|| "is gone".into(), |found| format!("is another one now, {found}"));
                let why = format!("it was set on {device} with the address {ours}, and {device} {there}");
                self.restored.elsewhere.push(Failed { knob, site, why });
            }
            Undone::Undone | Undone::AlreadyBack | Undone::Rebooted | Undone::GivenUp => {}
        }
    }

    /// Compares each file with what it read before the first of our entries for it, or before the first whose undo writes it:
    /// a write of one member of a pair has changed the other one too.
    fn compare(&mut self, machine: &mut dyn Look, entries: &[EntryId]) {
        let mut seen = BTreeSet::new();
        for entry in entries.iter().filter_map(|id| self.open.get(id)) {
            if self.not_ours.contains(&entry.id) || entry.is_refused() {
                continue;
            }
            let turn = &entry.turn;
            let shown = turn.read_back.as_ref().map(|path| (path, turn.before.text()));
            let other = match &turn.undo {
                Some(Action::WriteFile { path, text }) if shown.is_some() => Some((path, Some(text.as_str()))),
                _ => None,
            };
            let is_left = |knob: &str, site: &str| knob == turn.knob && site == turn.site;
            let named = self.restored.foreign.iter().any(|it| is_left(&it.knob, &it.site))
                || self.restored.failed.iter().any(|it| is_left(&it.knob, &it.site));
            for (path, before) in shown.into_iter().chain(other).filter(|(path, _)| seen.insert((*path).clone())) {
                let now = self.reads.get(path).cloned().map_or_else(|| machine.read(path), Ok);
                let (Some(before), Ok(now)) = (before, now) else { continue };
                let (before, now) = (before.trim(), now.trim());
                // A frequency that could be set only under our own governor is gone with it.
                if !named && before != now && now != "<unsupported>" {
                    let (knob, site) = (turn.knob.clone(), turn.site.clone());
                    let (found, ours, path) = (now.into(), before.into(), path.clone());
                    self.restored.inexact.push(Foreign { knob, site, found, ours, path, changed: None });
                }
            }
        }
    }
}

/// True for an entry that saved a value by writing it again.
fn is_saved(entry: &OpenEntry) -> bool {
    matches!(entry.turn.before, Before::Saved { .. })
}

/// Under old kernels a policy without a CPU in service has no files. It has them again, and in them what we left, when one
/// comes back: the entry must not be taken for one whose file is gone for good.
fn asleep(machine: &mut dyn Look, entry: &OpenEntry) -> Option<Undone> {
    let path = entry.turn.read_back.as_deref().filter(|path| path.contains("/cpufreq/scaling_"))?;
    let here = entry.boot_id == machine.identity().boot_id;
    (here && machine.read(path) == Err(Errno::ENOENT)).then(|| Undone::Failed { why: Errno::ENOENT.to_string() })
}

/// Whether what the ledger takes for somebody else's value is what we asked for: a limit takes effect a moment after
/// the write (Linux 5.3 and later), so what was read back right then may still have been the old one.
fn is_ours_after_all(machine: &mut dyn Look, entry: &OpenEntry, found: &str) -> bool {
    let turn = &entry.turn;
    let (found, asked) = (found.trim(), turn.asked.trim());
    if found == asked {
        return true;
    }
    let read_too_early = entry.reads_back.as_deref().map(str::trim) == turn.before.text().map(str::trim);
    let (Ok(found), Ok(asked), Some(path)) = (found.parse::<u32>(), asked.parse::<u32>(), &turn.read_back) else {
        return false;
    };
    let steps = path.rsplit_once('/').map_or_else(Vec::new, |(folder, _)| steps_khz(machine, folder));
    // The kernel rounds an upper limit down and a lower limit up to a step of the table.
    let rounded = match turn.knob.as_str() {
        "cpufreq.max_freq" => steps.into_iter().rev().find(|&step| step <= asked),
        "cpufreq.min_freq" => steps.into_iter().find(|&step| step >= asked),
        _ => None,
    };
    read_too_early && rounded == Some(found)
}
