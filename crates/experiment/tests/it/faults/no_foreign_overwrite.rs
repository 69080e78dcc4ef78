//! What another program wrote over a value that was set stays, unless `undo` was forced, and so does what it wrote over an
//! ordinary file that was held as the power was cut; no file is undone that was
//! never turned, and none a second time.
//!
//! Excused is what was only kept because a governor loses it: nothing tells another hand from the governor's own default,
//! so it is written back whatever reads there. And a limit that is undone to nobody's where the stranger wrote the
//! hardware's own: what reads there stays what he wrote.
use powerband_machine::Hold;
use powerband_testkit::faults::{Ending, Hand, LoggedWrite};

use super::play::{Done, Record};
use super::story::Deed;

pub(super) fn check(record: &Record) -> Result<(), String> {
    for (place, write) in record.written.iter().enumerate() {
        let Hand::Undo { hold, .. } = write.hand else { continue };
        let earlier = &record.written[..place];
        let Some(turned) = earlier.iter().rfind(|it| it.path == write.path && it.hand == Hand::Intent) else {
            return Err(format!("{} was taken back and never turned (step {})", write.path, write.step));
        };
        let between = |done: &&Done| done.closed && turned.step <= done.steps.1 && done.steps.1 < write.step;
        if let Some(done) = record.done.iter().find(between) {
            return Err(format!(
                "{} was taken back in step {} though everything was back after step {}",
                write.path, write.step, done.steps.1
            ));
        }
        let is_unforced = if hold == Hold::Set { unforced(record, write.step) } else { true };
        if is_unforced && (hold == Hold::Set || was_cut_between(record, turned.step, write)) {
            spared(earlier, write)?;
        }
    }
    Ok(())
}

/// Whether the power was cut since a file was turned, which the file outlives: then what is there now may be an edit, whoever
/// held it.
fn was_cut_between(record: &Record, turned: u64, write: &LoggedWrite) -> bool {
    let kernels = write.path.starts_with("/proc/") || write.path.starts_with("/sys/");
    let cut = |done: &Done| done.ended == Some(Ending::PowerCut) && turned <= done.steps.1 && done.steps.1 < write.step;
    !kernels && record.done.iter().any(cut)
}

/// Whether a step belongs to an `undo` without force.
fn unforced(record: &Record, step: u64) -> bool {
    let within = |done: &&Done| done.steps.0 < step && step <= done.steps.1;
    matches!(record.done.iter().find(within).map(|done| &done.deed), Some(Deed::Undo { force: false, .. }))
}

/// Whether what a stranger left there was not overwritten. A value of ours in a stranger's hand cannot be told from ours.
fn spared(earlier: &[LoggedWrite], write: &LoggedWrite) -> Result<(), String> {
    let here = || earlier.iter().filter(|it| it.path == write.path);
    let Some(last) = here().rfind(|it| it.hand != Hand::Intent) else { return Ok(()) };
    if last.hand != Hand::Stranger || last.text.is_none() || last.reads != write.was || last.was == last.reads {
        return Ok(());
    }
    let ours = |it: &LoggedWrite| match it.hand {
        Hand::Intent => it.text == write.was,
        Hand::Act => it.reads == write.was,
        _ => false,
    };
    let was_kept = here().any(|it| it.hand == Hand::Intent && it.text == write.text);
    let to_nobodys = match write.path.rsplit('/').next() {
        Some("scaling_min_freq") => write.text.as_deref() == Some("0"),
        Some("scaling_max_freq") => write.text.as_deref() == Some("2147483647"),
        _ => false,
    };
    // Only a limit that showed the hardware's own when it was first to be turned goes back to nobody's; the stranger may have
    // written between that and the turn itself.
    let own = || here().skip_while(|it| it.hand != Hand::Intent).find(|it| it.hand != Hand::Intent)?.was.clone();
    if was_kept || write.text == write.was || here().any(ours) || (to_nobodys && own() == write.was) {
        return Ok(());
    }
    let found = write.was.as_deref().unwrap_or_default();
    Err(format!("{} read {found}, which another program wrote, and step {} overwrote it", write.path, write.step))
}
