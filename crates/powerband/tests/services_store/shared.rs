//! What the cases of a binary share: a component that is started once, belongs to one case at a time, and ends with this process.
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};

/// Runs a script in a folder when this process ends, in whichever way, and removes the folder.
pub(crate) fn at_end(folder: &Path, script: &str) -> Child {
    // Its standard input ends with us.
    let script = format!("cd \"$0\"; read end; {script}; cd /; rm -rf \"$0\"");
    Command::new("sh").args(["-c", &script]).arg(folder).stdin(Stdio::piped()).spawn().unwrap()
}

/// The component, made anew if there is none or a case has failed with it.
pub(crate) fn alone<T>(shared: &'static Mutex<Option<T>>, make: impl FnOnce() -> T) -> MutexGuard<'static, Option<T>> {
    let mut held = shared.lock().unwrap_or_else(|failed| {
        shared.clear_poison();
        let mut held = failed.into_inner();
        *held = None;
        held
    });
    held.get_or_insert_with(make);
    held
}
