//! Tests on guests of their own: where one fails and a guest hangs, it runs once more, on others.
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use crate::error::Result;
use crate::guest::Guest;

/// What a test runs on: a guest, or guests that belong together.
pub trait GuestRig {
    /// All its guests.
    fn guests(&mut self) -> Vec<&mut Guest>;
}

impl GuestRig for Guest {
    fn guests(&mut self) -> Vec<&mut Guest> {
        vec![self]
    }
}

/// Runs a test on what `boot` makes. If it fails and a guest does not answer a command that does nothing within `answer`, that is
/// reported with the failure and the consoles, and the test runs once more: then it passes or fails for good.
///
/// # Errors
/// When the guests cannot be booted.
///
/// # Panics
/// As the test does, unless it passes the second time.
pub fn on_guests<R: GuestRig>(
    name: &str,
    report: &mut dyn Write,
    answer: Duration,
    boot: impl Fn() -> Result<R>,
    test: impl Fn(&mut R),
) -> Result<()> {
    let mut rig = boot()?;
    let Err(failure) = catch_unwind(AssertUnwindSafe(|| test(&mut rig))) else { return Ok(()) };
    let mut consoles = String::new();
    for guest in rig.guests() {
        if guest.is_lost() || guest.run_within(&["true"], answer).is_err() {
            consoles += &format!("a guest did not answer; its console:\n{}\n", guest.console());
        }
    }
    drop(rig);
    if consoles.is_empty() {
        resume_unwind(failure);
    }
    let text = failure.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| failure.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
    // Without the console, which the consoles below have whole.
    let text = text.lines().next().unwrap_or_default();
    // On lines of its own: the name of the running test may be on this one. If nobody reads it the test runs anyway.
    let _ = writeln!(report, "\nrepeated once after a hang: {name}\n{text}\n{consoles}");
    let _ = report.flush();
    test(&mut boot()?);
    Ok(())
}
