//! What is kept until it is confirmed: its first boot is noted in the state folder, and in another one it is over.
use std::fs;
use std::io::ErrorKind;

use powerband_machine::KEPT;
use powerband_persist::{KeepError, Manifest};
use powerband_record::{Side, system_words};
use powerband_rig::lock_folder;

use crate::cli::Shared;
use crate::exit::{Exit, Failure};
use crate::rig::{self, Purpose};

/// The file that names the first boot, in the state folder: the entry of the ledger it is about, and the boot.
const NOTE: &str = "kept.first-boot";

/// Whether what is kept has had a boot in which somebody could have confirmed it. The first boot is noted.
pub(super) fn is_over(shared: &Shared) -> Result<bool, Failure> {
    let mut rig = rig::open(shared, Purpose::Look)?;
    let Some(machine) = rig.world().machine(Side::Near) else { return Ok(false) };
    if !Manifest::read(machine).map_err(KeepError::from)?.until_confirmed {
        return Ok(false);
    }
    let boot = machine.identity().boot_id.clone();
    // A later `keep` begins anew.
    let newest = machine.open_entries().iter().filter(|entry| entry.turn.knob == KEPT).map(|entry| entry.id.0).max();
    let this = format!("{} {boot}\n", newest.unwrap_or_default());
    let path = lock_folder(&rig::names(shared))?.join(NOTE);
    let cannot =
        |error: std::io::Error| Failure::new(Exit::CannotGoOn, format!("{}: {}", path.display(), system_words(&error)));
    let noted = match fs::read_to_string(&path) {
        Ok(noted) => noted,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(cannot(error)),
    };
    let same_keep = noted.split(' ').next() == this.split(' ').next();
    if same_keep {
        return Ok(noted != this);
    }
    fs::write(&path, &this).map_err(cannot)?;
    Ok(false)
}
