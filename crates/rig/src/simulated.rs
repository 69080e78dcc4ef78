//! Simulated machines by their names: their files, and a World of them.
use powerband_record::Side;
use powerband_sim::{Profile, SimWorld};

use crate::machine_name::simulated;
use crate::{MAX_WRITTEN_BYTES, Names, RigError, read_text};

/// A built-in machine file, or one at a path.
///
/// # Errors
/// When there is no such machine, or its file cannot be read or is none.
pub fn profile(name: &str) -> Result<Profile, RigError> {
    if name.ends_with(".toml") {
        let text = read_text(name.as_ref(), "the machine file", MAX_WRITTEN_BYTES)?;
        return Profile::parse(&text).map_err(|error| RigError::MachineFile { name: name.to_owned(), error });
    }
    Ok(Profile::builtin(name)?)
}

/// A World of one or two simulated machines, each the piece that the seed behind its name says.
pub(crate) fn simulated_world(near: &str, far: Option<&str>, seed: u64) -> Result<SimWorld, RigError> {
    let (near, far) = (piece(near)?, far.map(piece).transpose()?);
    SimWorld::new(near, far, seed).map_err(|error| RigError::Boot(error.to_string()))
}

/// A simulated machine by its whole name; the seed behind that says what silicon it has.
fn piece(machine: &str) -> Result<Profile, RigError> {
    let profile = profile(simulated(machine).unwrap_or_default())?;
    match machine.split_once('#') {
        None => Ok(profile),
        Some((_, seed)) => {
            seed.parse().map(|seed| profile.piece(seed)).map_err(|_| RigError::NotASeed(seed.to_owned()))
        }
    }
}

/// A World of a list of simulated machines, each the piece that the seed behind its name says.
pub(crate) fn simulated_nodes(names: &Names, seed: u64) -> Result<SimWorld, RigError> {
    let mut nodes = Vec::new();
    for (side, machine) in names.sides() {
        let (Side::Node(name), Some(_)) = (side, simulated(machine)) else { return Err(RigError::MixedClocks) };
        nodes.push((name, piece(machine)?));
    }
    SimWorld::of_nodes(nodes, seed).map_err(|error| RigError::Boot(error.to_string()))
}
