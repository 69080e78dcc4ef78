//! The order of restoring: newest first, but a CPU has to be in service before what sits on it is written.
use std::cmp::Reverse;
use std::collections::BTreeMap;

use powerband_machine::{Action, EntryId, OpenEntry};
use powerband_record::InOrder;
use powerband_sysfs::topology::CPUS;

/// The entries in the order of undoing. Those of the switch of a CPU that was in service come before all others, newest
/// first: taking it out and in again on the way would lose what was restored on it. What a step has hidden of a file that was changed
/// after it is restored last of that step.
pub(super) fn order(entries: &[EntryId], open: &BTreeMap<EntryId, OpenEntry>) -> Vec<EntryId> {
    // The oldest entry of a switch knows what the CPU was.
    let mut served: BTreeMap<&str, bool> = BTreeMap::new();
    for (path, text) in entries.iter().filter_map(|id| switch(open.get(id)?)) {
        served.entry(path).or_insert(text.trim() != "0");
    }
    let brings_back = |id: &EntryId| {
        let switch = open.get(id).and_then(switch);
        switch.is_some_and(|(path, _)| served.get(path) == Some(&true))
    };
    let mut order: Vec<EntryId> = entries.iter().rev().copied().collect();
    let hidden_by =
        |id: &EntryId| open.get(id).filter(|entry| entry.turn.saves_what_is_hidden()).map(|entry| entry.step);
    let mut steps: BTreeMap<EntryId, usize> = BTreeMap::new();
    let mut places: BTreeMap<EntryId, usize> = BTreeMap::new();
    for (place, id) in entries.iter().enumerate() {
        places.insert(*id, place);
        if let Some(entry) = open.get(id).filter(|entry| !entry.turn.saves_what_is_hidden()) {
            steps.entry(entry.step).or_insert(place);
        }
    }
    let place = |id: &EntryId| hidden_by(id).and_then(|step| steps.get(&step)).or_else(|| places.get(id)).copied();
    order.order_by_key(|id| (!brings_back(id), Reverse(place(id)), hidden_by(id).is_some()));
    order
}

/// The file that takes a CPU in and out of service and what undoing writes there, if that is what an entry is about.
fn switch(entry: &OpenEntry) -> Option<(&str, &str)> {
    let Some(Action::WriteFile { path, text }) = &entry.turn.undo else { return None };
    let number = path.strip_prefix(CPUS)?.strip_prefix("/cpu")?.strip_suffix("/online")?;
    number.bytes().all(|digit| digit.is_ascii_digit()).then_some((path, text))
}

#[cfg(test)]
mod tests {
    use powerband_machine::{Before, EntryOrigin, Hold, Turn};

    use super::*;

    fn order_of(undos: &[(&str, &str)]) -> Vec<u64> {
        let entry = |(id, (path, text)): (u64, &(&str, &str))| {
            let undo = Action::WriteFile { path: format!("{CPUS}/{path}"), text: (*text).into() };
            let (hold, words) = (Hold::Set, String::new);
            let turn = Turn {
                action: undo.clone(),
                undo: Some(undo),
                hold,
                knob: words(),
                site: words(),
                asked: words(),
                before: Before::Unknown,
                read_back: None,
                step: None,
                moves: BTreeMap::new(),
            };
            let (id, boot_id, origin) = (EntryId(id), words(), EntryOrigin::default());
            (id, OpenEntry { id, step: id, boot_id, origin, turn, acted: true, errno: None, reads_back: None })
        };
        let open: BTreeMap<EntryId, OpenEntry> = (1..).zip(undos).map(entry).collect();
        order(&open.keys().copied().collect::<Vec<_>>(), &open).iter().map(|id| id.0).collect()
    }

    #[test]
    fn a_cpu_that_was_in_service_is_back_before_anything_is_written_on_it() {
        let (out, into, governor) = (("cpu1/online", "1\n"), ("cpu1/online", "0\n"), ("cpu1/cpufreq/x", "y"));
        assert_eq!(order_of(&[governor, out, governor]), [2, 3, 1]);
        // Out, in, something on it: undone in reverse it would be taken out again after that something.
        assert_eq!(order_of(&[out, into, governor]), [2, 1, 3]);
        // One that was out of service has to stay in until everything on it is back.
        assert_eq!(order_of(&[into, governor, out]), [3, 2, 1]);
        assert_eq!(order_of(&[("online", "1\n"), governor]), [2, 1]);
    }
}
