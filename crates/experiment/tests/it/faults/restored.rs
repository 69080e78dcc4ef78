//! After the last owner every file reads as before the story, no group and no load is left, and nothing held is open.
//!
//! Three things are excused: what is set and still open, what another hand wrote, and what the kernel itself forgets
//! when it boots, when a policy's last CPU leaves, or when somebody else switches the governor.
use std::collections::BTreeSet;

use powerband_machine::{Action, Hold, OpenEntry};
use powerband_testkit::faults::{Fault, Hand, LoggedWrite};

use super::files::by_itself;
use super::play::Record;

/// Files of a policy that depend on one another.
const LIMITS: [&str; 3] = ["scaling_min_freq", "scaling_max_freq", "scaling_setspeed"];

pub(super) fn check(record: &Record) -> Result<(), String> {
    if let Some(entry) = record.open.iter().find(|entry| entry.turn.hold == Hold::Held && !is_spared(record, entry)) {
        return Err(format!("entry {} of {} is held and still open", entry.id.0, entry.turn.knob));
    }
    if let Some(group) = record.groups.first() {
        return Err(format!("the control group {group} is left"));
    }
    if let Some(deed) = record.outlived.first() {
        return Err(format!("a load outlived {deed}"));
    }
    let excuses = Excuses::of(record);
    let paths: BTreeSet<&String> = record.before.keys().chain(record.after.keys()).collect();
    for path in paths {
        let (before, after) = (record.before.get(path), record.after.get(path));
        if before != after && !excuses.allow(path, after.map(String::as_str)) {
            return Err(format!("{path} reads {after:?} and read {before:?} before"));
        }
    }
    Ok(())
}

/// Whether an entry was held as the power was cut, and what reads there now is an edit: another hand's, or, as nobody can tell
/// them apart, a part of ours that the file took and refused the rest of.
fn is_spared(record: &Record, entry: &OpenEntry) -> bool {
    let Some(path) = &entry.turn.read_back else { return false };
    let after = record.after.get(path);
    let mut here = record.written.iter().filter(|it| it.path == *path);
    // What changes a moment after a write changes by the kernel's hand, of a file as of a knob.
    let is_edit = |it: &LoggedWrite| matches!(it.hand, Hand::Stranger | Hand::Kernel) && it.reads.as_ref() == after;
    let in_part = record.tally.contains_key(&Fault::RefusedInPart);
    let is_files = !path.starts_with("/proc/") && !path.starts_with("/sys/");
    is_files && entry.boot_id != record.boot_id && (in_part || here.any(is_edit))
}

/// What may read otherwise.
struct Excuses<'r> {
    record: &'r Record,
    /// Writes of other hands.
    others: Vec<&'r LoggedWrite>,
    /// Files that are still set.
    set: BTreeSet<&'r str>,
    /// The kernel may have forgotten what cpufreq was set to.
    cpufreq_forgot: bool,
    /// The kernel has forgotten everything.
    rebooted: bool,
}

impl<'r> Excuses<'r> {
    fn of(record: &'r Record) -> Self {
        let others: Vec<&LoggedWrite> =
            record.written.iter().filter(|it| matches!(it.hand, Hand::Stranger | Hand::Kernel)).collect();
        let set: BTreeSet<&str> = record
            .open
            .iter()
            .filter_map(|entry| match &entry.turn.action {
                Action::WriteFile { path, .. } => Some(path.as_str()),
                _ => None,
            })
            .collect();
        let struck = |fault| record.tally.contains_key(&fault);
        let governor = |path: &str| path.ends_with("scaling_governor");
        let rebooted = struck(Fault::PowerCut);
        let cpufreq_forgot = rebooted
            || struck(Fault::Offline)
            || others.iter().any(|it| governor(&it.path))
            || set.iter().any(|path| governor(path));
        Excuses { record, others, set, cpufreq_forgot, rebooted }
    }

    fn allow(&self, path: &str, after: Option<&str>) -> bool {
        self.allows(path, after) || self.allow_as_limit(path, after)
    }

    fn allows(&self, path: &str, after: Option<&str>) -> bool {
        let others = self.others.iter().filter(|it| it.path == path);
        self.set.contains(path)
            || self.was_clamped(path)
            || self.was_left_behind(path)
            || others.clone().any(|it| it.reads.as_deref() == after || it.text.as_deref() == after)
            || (self.forgot(path) && self.by_itself(path, after))
    }

    /// Whether a limit or set speed was turned while a limit of an earlier command may have clamped it: the kernel shows
    /// the clamped one and has no file for the one it remembers.
    fn was_clamped(&self, path: &str) -> bool {
        let Some((folder, _)) = path.rsplit_once('/').filter(|(_, name)| LIMITS.contains(name)) else { return false };
        let command = |step: u64| self.record.done.iter().position(|done| step <= done.steps.1);
        let acts = || self.record.written.iter().filter(|it| it.hand == Hand::Act);
        let is_other =
            |it: &&LoggedWrite| it.path != path && LIMITS.iter().any(|name| it.path == format!("{folder}/{name}"));
        let first = acts().filter(is_other).filter_map(|it| command(it.step)).min();
        acts().any(|it| it.path == path && first.is_some_and(|first| command(it.step) > Some(first)))
    }

    /// Whether a tunable could not be undone because its governor left first, for a refusal or by another hand, and
    /// another hand has brought that governor again: old kernels remember what was set, and have no file for it meanwhile.
    fn was_left_behind(&self, path: &str) -> bool {
        let refused = [Fault::RefusedOnce, Fault::RefusedOften, Fault::RefusedLasting];
        let refused = refused.iter().any(|fault| self.record.tally.contains_key(fault));
        let theirs = self.others.iter().filter(|it| it.path.ends_with("scaling_governor")).count();
        let is_tunable = ["/ondemand/", "/conservative/", "/schedutil/"].iter().any(|folder| path.contains(folder));
        is_tunable && (theirs > 1 || (theirs == 1 && (refused || !self.record.before.contains_key(path))))
    }

    /// Whether the kernel may have forgotten what this file was set to.
    fn forgot(&self, path: &str) -> bool {
        let kernels = path.starts_with("/sys/") || path.starts_with("/proc/");
        (self.rebooted && kernels) || (self.cpufreq_forgot && path.contains("/cpufreq/"))
    }

    fn by_itself(&self, path: &str, after: Option<&str>) -> bool {
        let known = by_itself(self.record.machine);
        // A governor that is not in force has no files.
        after.is_none_or(|after| known.get(path).is_some_and(|values| values.contains(after)))
    }

    /// The limits of a policy and its set speed move one another: what another hand did to one shows in the others.
    fn allow_as_limit(&self, path: &str, after: Option<&str>) -> bool {
        let Some((folder, name)) = path.rsplit_once('/').filter(|(_, name)| LIMITS.contains(name)) else {
            return false;
        };
        let all = LIMITS.map(|name| format!("{folder}/{name}"));
        let disturbed = all.iter().any(|path| {
            self.forgot(path) || self.set.contains(path.as_str()) || self.others.iter().any(|it| it.path == *path)
        });
        let governor = format!("{folder}/scaling_governor");
        // A CPU that came back has the limits and the speed it starts with, whatever is kept for it meanwhile.
        let set_free = self.set.contains(governor.as_str())
            || self.record.tally.contains_key(&Fault::Offline)
            || self.others.iter().any(|it| it.path == governor || all.contains(&it.path));
        let had = |path: &String| after.is_some() && self.record.before.get(path).map(String::as_str) == after;
        disturbed
            && (all.iter().any(|path| had(path) || self.allows(path, after))
                || (name == "scaling_setspeed" && (set_free || after.is_none())))
    }
}
