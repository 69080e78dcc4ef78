//! What is kept until it is confirmed: its first boot is noted in the state folder, and in another one it is over.
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use powerband_persist::{KeepError, Manifest};
use powerband_record::{Side, system_words};
use powerband_rig::lock_folder;

use crate::cli::Shared;
use crate::exit::{Exit, Failure};
use crate::rig::{self, Purpose};

/// The file that names the first boot, in the state folder.
const NOTE: &str = "kept.first-boot";

fn note(shared: &Shared) -> Result<PathBuf, Failure> {
    Ok(lock_folder(&rig::names(shared))?.join(NOTE))
}

fn cannot(path: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::CannotGoOn, format!("{}: {}", path.display(), system_words(error)))
}

/// Whether what is kept has had a boot in which somebody could have confirmed it. The first boot is noted.
pub(super) fn is_over(shared: &Shared) -> Result<bool, Failure> {
    let mut rig = rig::open(shared, Purpose::Look)?;
    let Some(machine) = rig.world().machine(Side::Near) else { return Ok(false) };
    if !Manifest::read(machine).map_err(KeepError::from)?.until_confirmed {
        return Ok(false);
    }
    let boot = machine.identity().boot_id.clone();
    let path = note(shared)?;
    match fs::read_to_string(&path) {
        Ok(noted) => Ok(noted.trim_end() != boot),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fs::write(&path, boot + "\n").map_err(|error| cannot(&path, &error))?;
            Ok(false)
        }
        Err(error) => Err(cannot(&path, &error)),
    }
}

/// Begins anew: what is kept from now on has had no boot.
pub(super) fn forget(shared: &Shared) -> Result<(), Failure> {
    let path = note(shared)?;
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(cannot(&path, &error)),
        _ => Ok(()),
    }
}
