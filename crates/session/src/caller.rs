//! The user who called sudo: whom the loads run as.
use powerband_host::Caller;
use powerband_machine::User;

use crate::SessionError;

/// The user loads run as; `None` for ourselves.
///
/// # Errors
/// [`SessionError::Caller`] when the user cannot be found.
pub fn user_of_loads(as_root: bool) -> Result<Option<User>, SessionError> {
    let caller = if as_root { None } else { Caller::of_sudo() };
    Ok(caller.map(|caller| caller.user()).transpose()?)
}

/// Their number, as the journal keeps it.
pub(crate) fn number(user: Option<&User>) -> u32 {
    user.map_or_else(powerband_host::own_uid, |user| user.uid)
}
