//! An action whose result a full disk refused to record is undone in the very next step: its owner reports that nothing was done.
use super::ledger_replays::json;
use super::play::Record;

pub(super) fn check(record: &Record) -> Result<(), String> {
    for (step, line) in &record.disk.refused {
        let Some(refused) = json(line) else { continue };
        // What the kernel refused may have nothing to undo.
        if refused["record"] != "done" || !refused["errno"].is_null() {
            continue;
        }
        let id = refused["id"].as_u64().unwrap_or_default();
        if !record.undos.iter().any(|(at, entry)| *at == step + 1 && entry.0 == id) {
            return Err(format!("the result of entry {id} was not recorded in step {step}, and it was not undone"));
        }
    }
    Ok(())
}
