//! The state folder of one node of a cluster, where the homes of users are shared between nodes.
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::exit::{Exit, Failure};

/// The variable that names the folder of lock and ledger.
const STATE_FOLDER: &str = "POWERBAND_STATE_DIR";

/// Homes of users are often shared between nodes, and lock and ledger belong to one machine: then we become the same command with
/// a state folder of this node's own.
pub(crate) fn own_state() -> Result<(), Failure> {
    if powerband_host::own_uid() == 0 || powerband_host::variable(STATE_FOLDER).is_some() {
        return Ok(());
    }
    let folder = powerband_rig::store_folder()?.join("nodes").join(powerband_host::hostname());
    let mut same = Command::new("/proc/self/exe");
    let error = same.args(crate::typed::after_program()).env(STATE_FOLDER, &folder).exec();
    Err(Failure::new(
        Exit::CannotGoOn,
        format!("powerband cannot be started with {}: {}", folder.display(), powerband_record::system_words(&error)),
    ))
}
