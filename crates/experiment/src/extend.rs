//! Extending: an experiment that ended at its block limit goes on to a higher one.
//!
//! The error rate stays, because nothing in it knows the limit: error is spent over the looks by the open-ended spending
//! ([`powerband_stats::Spend::OpenEnded`]), whose boundary at a block is the same whatever number was planned, and is used up
//! only after infinitely many. What was claimed before the extension therefore stays claimed, and what was open is held to
//! the boundaries it would have met in an experiment planned that long, also where the wish to extend came from the results.
use powerband_record::Started;

use crate::ResumeError;

/// The block limits of an experiment in turn: the one it was begun with, those it was extended to, and now `blocks`.
///
/// # Errors
/// [`ResumeError::NotExtended`] for what cannot be extended, with what to type instead.
pub fn extended(started: &Started, before: &[u32], blocks: u32) -> Result<Vec<u32>, ResumeError> {
    let refused = |why: String| Err(ResumeError::NotExtended { why });
    let limit = before.last().copied().unwrap_or(started.max_blocks);
    if started.search.is_some() {
        return refused(format!(
            "a search plans its runs for the limit it was begun with; begin it again with --blocks {blocks}"
        ));
    }
    if started.calibration {
        return refused(format!(
            "a calibration judges nothing; begin it again with --trials {}",
            blocks.saturating_mul(2)
        ));
    }
    if blocks <= limit {
        return refused(format!(
            "its limit is {limit} blocks already; give more, e.g. --blocks {}",
            limit.saturating_mul(2)
        ));
    }
    Ok([before, &[blocks]].concat())
}
