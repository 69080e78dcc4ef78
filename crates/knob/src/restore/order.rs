//! The order of putting back: newest first, but a CPU has to be in service while what sits on it is written.
use std::collections::BTreeMap;

use powerband_machine::{Action, EntryId, OpenEntry};

use crate::policy::CPU;

/// When an entry's turn comes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// Brings a CPU back.
    First,
    Between,
    /// Takes a CPU that was not in service out of it again.
    Last,
}

/// The entries in the order of undoing. All entries of one CPU's switch stay together, newest first, and go where the
/// oldest belongs: it decides what the CPU is in the end.
pub(super) fn order(entries: &[EntryId], open: &BTreeMap<EntryId, OpenEntry>) -> Vec<EntryId> {
    let mut ends: BTreeMap<&str, Turn> = BTreeMap::new();
    for (path, text) in entries.iter().filter_map(|id| switch(open.get(id)?)) {
        ends.entry(path).or_insert(if text.trim() == "0" { Turn::Last } else { Turn::First });
    }
    let turn = |id: &EntryId| {
        let switch = open.get(id).and_then(switch);
        switch.and_then(|(path, _)| ends.get(path)).copied().unwrap_or(Turn::Between)
    };
    let mut order: Vec<EntryId> = entries.iter().rev().copied().collect();
    order.sort_by_key(turn);
    order
}

/// The file that takes a CPU in and out of service and what undoing writes there, if that is what an entry is about.
fn switch(entry: &OpenEntry) -> Option<(&str, &str)> {
    let Some(Action::WriteFile { path, text }) = &entry.turn.undo else { return None };
    let number = path.strip_prefix(CPU)?.strip_prefix("/cpu")?.strip_suffix("/online")?;
    number.bytes().all(|digit| digit.is_ascii_digit()).then_some((path, text))
}
