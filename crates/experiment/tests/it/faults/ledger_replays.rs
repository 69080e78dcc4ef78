//! Whatever the disk holds, a ledger loads from it: what was announced and not closed is open, nothing else is, a torn
//! tail is dropped and the next record is whole, and damage is reported by its line. What an owner that ended by itself has
//! done is on the disk with its result, unless the disk was full.
use std::cell::RefCell;
use std::rc::Rc;

use powerband_machine::{Errno, Ledger, MemoryLedger};
use powerband_testkit::faults::Image;
use serde_json::Value;

use super::files::write;
use super::play::{Found, Record};

/// Records in doubt of which all combinations are tried.
const IN_DOUBT: usize = 6;

pub(super) fn check(record: &Record) -> Result<(), String> {
    record.found.iter().try_for_each(|found| {
        was_read(found)?;
        beginnings(&found.image.bytes)?;
        damage(&found.image.bytes)
    })?;
    let after = record.found.iter().skip(1).map(|found| &found.image).chain([&record.disk]);
    let ends = record.found.iter().zip(&record.done).zip(after);
    ends.filter(|((_, done), _)| done.ended.is_none()).try_for_each(|((found, _), after)| results(&found.image, after))
}

/// Each action between two moments of the disk has its result there.
fn results(before: &Image, after: &Image) -> Result<(), String> {
    let known: Vec<u64> = ids(before.acknowledged.iter().chain(&before.unsure), "intent").collect();
    let refused = after.refused.iter().map(|(_, record)| record);
    let told: Vec<u64> = ids(after.acknowledged.iter().chain(refused), "done").collect();
    let silent = |id: &u64| !known.contains(id) && !told.contains(id);
    let silent = ids(&after.acknowledged, "intent").find(silent);
    silent.map_or(Ok(()), |id| Err(format!("what came of entry {id} was not recorded")))
}

/// The entries that records of one kind are about.
fn ids<'a>(records: impl IntoIterator<Item = &'a Vec<u8>>, kind: &str) -> impl Iterator<Item = u64> {
    records
        .into_iter()
        .filter_map(|record| json(record))
        .filter(move |record| record["record"] == kind)
        .filter_map(|record| record["id"].as_u64())
}

/// The owner found open what its predecessors were told is durable, and what was in doubt as it pleased.
fn was_read(found: &Found) -> Result<(), String> {
    // An owner that could not read its ledger did nothing.
    let Some(open) = &found.open else { return Ok(()) };
    let doubtful = &found.image.unsure[found.image.unsure.len().saturating_sub(IN_DOUBT)..];
    let possible = |choice: u32| {
        let chosen = (0..).zip(doubtful).filter(|(place, _): &(u32, _)| choice >> place & 1 == 1);
        replay(found.image.acknowledged.iter().chain(chosen.map(|(_, record)| record)).map(Vec::as_slice))
    };
    if (0..1 << doubtful.len()).any(|choice| possible(choice) == *open) {
        return Ok(());
    }
    Err(format!("entries {open:?} were found open, and {:?} should have been", possible(0)))
}

/// The open entries after these records, each a whole line or else ignored: the rules of the format once more.
fn replay<'a>(records: impl Iterator<Item = &'a [u8]>) -> Vec<u64> {
    let mut open: Vec<u64> = Vec::new();
    for record in records.filter_map(json) {
        let id = record["id"].as_u64().unwrap_or_default();
        match record["record"].as_str() {
            Some("intent") => open.push(id),
            Some("closed") => open.retain(|&other| other != id),
            _ => {}
        }
    }
    open
}

pub(super) fn json(line: &[u8]) -> Option<Value> {
    // The end of a file may lack the newline alone: then the record is whole.
    let text = std::str::from_utf8(line).ok()?;
    serde_json::from_str(text.splitn(3, ' ').nth(2)?).ok()
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|&byte| byte == b'\n')
}

/// Every beginning is a ledger: tried at a few places that differ from story to story.
fn beginnings(bytes: &[u8]) -> Result<(), String> {
    for part in [1, 3, 7] {
        let cut = bytes.len() * part / 7 - usize::from(part == 7 && !bytes.is_empty()) * (bytes.len() % 2);
        let bytes = &bytes[..cut];
        let store = store(bytes);
        let mut ledger = load(&store)?;
        let mut expected = replay(lines(bytes));
        if numbers(&ledger) != expected || !ledger.damage().is_empty() {
            return Err(format!("of the first {cut} bytes {:?} were open instead of {expected:?}", numbers(&ledger)));
        }
        expected.push(
            ledger.intend(&write("/tmp/next", "1"), &mut |_| Err(Errno::ENOENT)).map_err(|error| error.to_string())?.0,
        );
        let again = load(&store)?;
        if numbers(&again) != expected || !again.damage().is_empty() || !store.aside.borrow().is_empty() {
            return Err(format!("a record behind the first {cut} bytes was lost"));
        }
    }
    Ok(())
}

/// A line that was altered is named, and the others stand.
fn damage(bytes: &[u8]) -> Result<(), String> {
    let whole = lines(bytes).filter(|line| line.ends_with(b"\n")).count();
    if whole < 2 {
        return Ok(());
    }
    let altered = whole / 2;
    let mut damaged: Vec<Vec<u8>> = lines(bytes).map(<[u8]>::to_vec).collect();
    let middle = damaged[altered].len() / 2;
    damaged[altered][middle] ^= 0x01;
    let store = store(&damaged.concat());
    let ledger = load(&store)?;
    let others = (0..).zip(lines(bytes)).filter(|(place, _)| *place != altered).map(|(_, line)| line);
    let expected = replay(others);
    let named = u32::try_from(altered + 1).unwrap();
    let told: Vec<u32> = ledger.damage().iter().map(|damage| damage.line).collect();
    if told != [named] || numbers(&ledger) != expected || !store.aside.borrow().is_empty() {
        return Err(format!("line {named} was altered, and {told:?} are named"));
    }
    Ok(())
}

fn load(store: &MemoryLedger) -> Result<Ledger, String> {
    Ledger::load(Box::new(store.clone()), "boot").map_err(|error| error.to_string())
}

fn numbers(ledger: &Ledger) -> Vec<u64> {
    ledger.open().iter().map(|entry| entry.id.0).collect()
}

fn store(bytes: &[u8]) -> MemoryLedger {
    MemoryLedger { bytes: Rc::new(RefCell::new(bytes.to_vec())), ..MemoryLedger::default() }
}
