//! Guests that tests share, one test at a time. One that hangs is reset, or booted anew; the test that met it runs once more,
//! and no other test learns of it.
use std::io::Write;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;

use crate::error::Result;
use crate::guest::Guest;

/// How long a healthy guest may take for a command that does nothing; it takes milliseconds where CPUs are free.
const ANSWER: Duration = Duration::from_secs(60);

/// What tests share: a guest, or guests that belong together.
pub trait GuestRig {
    /// All its guests.
    fn guests(&mut self) -> Vec<&mut Guest>;
}

impl GuestRig for Guest {
    fn guests(&mut self) -> Vec<&mut Guest> {
        vec![self]
    }
}

/// Guests for whichever test needs them, booted for the first. While no test holds them their CPUs are stopped, so that they
/// take nothing from the others.
#[derive(Debug)]
pub struct Shared<R: GuestRig> {
    boot: fn() -> Result<R>,
    rig: Mutex<Option<R>>,
}

impl<R: GuestRig> Shared<R> {
    /// Nothing is booted yet.
    pub const fn new(boot: fn() -> Result<R>) -> Self {
        Shared { boot, rig: Mutex::new(None) }
    }

    /// The guests, for one test until it drops them.
    ///
    /// # Errors
    /// When they cannot be booted.
    pub fn hold(&self) -> Result<HeldGuests<'_, R>> {
        // A test that panicked has left them in a state that `recover` judges, not the lock.
        let mut rig = self.rig.lock().unwrap_or_else(PoisonError::into_inner);
        if rig.as_mut().is_some_and(|rig| rig.guests().iter().any(|guest| guest.is_lost())) {
            recover(&mut rig, ANSWER);
        }
        if let Some(rig) = rig.as_mut() {
            for guest in rig.guests() {
                guest.qmp("cont", json!({}))?;
            }
        } else {
            *rig = Some((self.boot)()?);
        }
        Ok(HeldGuests(rig))
    }

    /// Brings back the guests that hang and answers what their consoles show; nothing when all are well. The next test finds
    /// healthy ones.
    pub fn recover(&self) -> Option<String> {
        self.recover_within(ANSWER)
    }

    /// The same, where a healthy guest takes no longer than `answer` for a command that does nothing.
    pub fn recover_within(&self, answer: Duration) -> Option<String> {
        recover(&mut self.rig.lock().unwrap_or_else(PoisonError::into_inner), answer)
    }
}

/// Resets the guests that hang. Where that does not help all are ended, and the next test boots others.
fn recover<R: GuestRig>(rig: &mut Option<R>, answer: Duration) -> Option<String> {
    let mut consoles = String::new();
    let mut well = true;
    for guest in rig.as_mut()?.guests() {
        let runs = guest.is_lost() || guest.qmp("cont", json!({})).is_ok();
        if !runs || guest.is_lost() || guest.run_within(&["true"], answer).is_err() {
            consoles += &format!("a guest did not answer; its console:\n{}\n", guest.console());
            well &= runs && guest.reset().is_ok();
        }
    }
    if !well {
        *rig = None;
    }
    (!consoles.is_empty()).then_some(consoles)
}

/// Shared guests in the hand of one test.
#[derive(Debug)]
pub struct HeldGuests<'s, R: GuestRig>(MutexGuard<'s, Option<R>>);

#[expect(clippy::expect_used, reason = "`hold` made it with guests, and nothing takes them out")]
impl<R: GuestRig> Deref for HeldGuests<'_, R> {
    type Target = R;
    fn deref(&self) -> &R {
        self.0.as_ref().expect("guests")
    }
}

#[expect(clippy::expect_used, reason = "`hold` made it with guests, and nothing takes them out")]
impl<R: GuestRig> DerefMut for HeldGuests<'_, R> {
    fn deref_mut(&mut self) -> &mut R {
        self.0.as_mut().expect("guests")
    }
}

impl<R: GuestRig> Drop for HeldGuests<'_, R> {
    fn drop(&mut self) {
        // What a lost guest did is still to be found out, and the monitor of an emulator that is stopped would not answer.
        for guest in self.guests().into_iter().filter(|guest| !guest.is_lost()) {
            let _ = guest.qmp("stop", json!({}));
        }
    }
}

/// Runs a test. Where it fails and `recover` finds guests that hang, that is reported with the failure and the consoles, and the
/// test runs once more: then it passes or fails for good.
///
/// # Panics
/// As the test does, unless it passes the second time.
pub fn repeat_after_hang(name: &str, report: &mut dyn Write, test: impl Fn(), recover: impl Fn() -> Option<String>) {
    let Err(failure) = catch_unwind(AssertUnwindSafe(&test)) else { return };
    let Some(consoles) = recover() else { resume_unwind(failure) };
    let text = failure.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| failure.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
    // Without the console, which the consoles below have whole.
    let text = text.lines().next().unwrap_or_default();
    // On lines of its own: the name of the running test may be on this one. Where nobody reads it the test goes on all the same.
    let _ = writeln!(report, "\nrepeated once after a hang: {name}\n{text}\n{consoles}");
    let _ = report.flush();
    if let Err(failure) = catch_unwind(AssertUnwindSafe(&test)) {
        recover();
        resume_unwind(failure);
    }
}
