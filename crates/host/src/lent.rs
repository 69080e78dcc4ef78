//! A machine that its owner lends: a powerband that an experiment starts as a daemon changes it while the experiment holds it.
use std::collections::BTreeMap;

/// Names the process that lends, for the one it started.
const LENT_BY: &str = "POWERBAND_LENT_BY";

/// The environment of a program to which this process lends the machine: it keeps a ledger of its own below ours, and the claim
/// to the kernel's settings is no obstacle to it. Empty where there is no place for a ledger.
#[must_use]
pub fn lent_environment() -> BTreeMap<String, String> {
    let Some(folder) = crate::state_folder() else { return BTreeMap::new() };
    let folder = folder.join("daemon").display().to_string();
    [(LENT_BY.to_owned(), std::process::id().to_string()), ("POWERBAND_STATE_DIR".to_owned(), folder)].into()
}

/// The process that lends this one the machine. It counts only while that process has the claim.
pub(crate) fn lender() -> Option<u32> {
    crate::surroundings::text_variable(LENT_BY)?.parse().ok()
}
