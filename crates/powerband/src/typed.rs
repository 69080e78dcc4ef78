//! Commands of ours as they are typed: for the same machines, with words as a shell takes them.
use std::ffi::OsString;

use powerband_record::quoted;
use powerband_rig::Names;

use crate::streams;

/// The words of this command, the program first, without a password in the URL of a store.
pub(crate) fn words() -> impl Iterator<Item = String> {
    as_text().map(|word| powerband_session::without_passwords(&word))
}

/// The words as text: what is no UTF-8 shows as U+FFFD.
pub(crate) fn as_text() -> impl Iterator<Item = String> {
    streams::words().into_iter().map(|word| word.to_string_lossy().into_owned())
}

/// The words after the program, as they were typed.
pub(crate) fn after_program() -> impl Iterator<Item = OsString> {
    streams::words().into_iter().skip(1)
}

/// How a verb is typed that means these machines.
pub(crate) fn for_machines(names: &Names, verb: &str) -> String {
    let listed = names.listed();
    if !listed.is_empty() {
        let each: String = listed.iter().map(|machine| format!(" --machines {}", quoted(machine))).collect();
        return format!("powerband{each} {verb}");
    }
    let near = if names.here() { String::new() } else { format!(" --machine {}", quoted(names.near())) };
    let far = names.far().map(|far| format!(" --far {}", quoted(far))).unwrap_or_default();
    format!("powerband{near}{far} {verb}")
}
