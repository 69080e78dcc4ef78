//! The order of putting back: newest first, but a CPU has to be in service before what sits on it is written.
use std::collections::BTreeMap;

use powerband_machine::{Action, EntryId, OpenEntry};

use crate::policy::CPU;

/// The entries in the order of undoing. Those of the switch of a CPU that was in service come before all others, newest
/// first: taking it out and in again on the way would lose what was put back on it.
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
    order.sort_by_key(|id| !brings_back(id));
    order
}

/// The file that takes a CPU in and out of service and what undoing writes there, if that is what an entry is about.
fn switch(entry: &OpenEntry) -> Option<(&str, &str)> {
    let Some(Action::WriteFile { path, text }) = &entry.turn.undo else { return None };
    let number = path.strip_prefix(CPU)?.strip_prefix("/cpu")?.strip_suffix("/online")?;
    number.bytes().all(|digit| digit.is_ascii_digit()).then_some((path, text))
}
