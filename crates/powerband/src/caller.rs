//! The user who called sudo: who runs the loads, and with whom we end.
use powerband_host::Caller;
use powerband_machine::User;

use crate::exit::{Exit, Failure, usage};

/// The user loads run as; `None` for ourselves.
pub(crate) fn user_of_loads(as_root: bool) -> Result<Option<User>, Failure> {
    let caller = if as_root { None } else { Caller::of_sudo() };
    caller.map(|caller| caller.user().map_err(usage)).transpose()
}

/// Their number, as the journal keeps it.
pub(crate) fn number(user: Option<&User>) -> u32 {
    user.map_or_else(powerband_host::own_uid, |user| user.uid)
}

/// For what holds or measures: it does not outlive the sudo that runs it.
pub(crate) fn end_with_sudo() -> Result<(), Failure> {
    if powerband_host::end_with_sudo() {
        Ok(())
    } else {
        Err(Failure::new(Exit::Stopped, "sudo has ended; nothing was changed"))
    }
}
