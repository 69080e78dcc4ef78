//! How every verb ends when something could not be restored: one sentence, with what to type, and one exit code.
use powerband_knob::{Foreign, Restored};
use powerband_record::quoted;
use powerband_rig::Names;

use crate::exit::{Exit, Failure};
use crate::typed::for_machines;

/// Ends with [`Exit::CannotRestore`] unless everything reads as before.
///
/// # Errors
/// The sentence that names what is not restored.
pub(crate) fn check(restored: &Restored, names: &Names) -> Result<(), Failure> {
    let not_restored = restored.not_restored();
    if not_restored.is_empty() {
        return Ok(());
    }
    let open = restored.failed.len() + restored.foreign.len() + restored.elsewhere.len();
    let again: Vec<String> = restored.inexact.iter().filter_map(requested).collect();
    let next = match again.as_slice() {
        [_, ..] if open == 0 => {
            format!("`{}` requests it again", for_machines(names, &format!("set {}", again.join(" "))))
        }
        _ => format!("`{}` tries again", for_machines(names, "undo --left")),
    };
    Err(failure(&not_restored, &next))
}

/// The failure for what is not restored, a few words each, with what to do `next`.
pub(crate) fn failure(not_restored: &[String], next: &str) -> Failure {
    Failure::new(Exit::CannotRestore, format!("RESTORE INCOMPLETE: {}; {next}", not_restored.join(", ")))
}

/// The sentence for what an experiment did not restore.
pub(crate) fn of_experiment(left: &[String], id: i64, names: Option<&Names>) -> String {
    let undo = names.map_or_else(|| "powerband undo --left".to_owned(), |names| for_machines(names, "undo --left"));
    failure(left, &format!("`{undo}` tries again, `powerband show {id}` has it")).sentence
}

/// What requests the value that read there before, as `set` takes it: `nic.rx-usecs@eth0=261 nic.tx-usecs@eth0=40000`.
fn requested(it: &Foreign) -> Option<String> {
    let at = if it.site.is_empty() || it.site == "-" || it.knob.ends_with(&it.site) {
        String::new()
    } else {
        format!("@{}", it.site)
    };
    let knobs: Vec<&str> = it.knob.split(", ").collect();
    let one = |(knob, value): (&&str, &str)| quoted(&format!("{knob}{at}={value}"));
    let words: Vec<String> = match knobs.as_slice() {
        _ if it.ours.is_empty() => return None,
        [knob] => vec![one((knob, &it.ours))],
        several => several.iter().zip(it.ours.split(' ')).map(one).collect(),
    };
    Some(words.join(" "))
}
