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

/// A World of machines by their names without seeds; `piece`: the seed behind the near machine's name, which says what silicon
/// it has.
pub(crate) fn simulated_world(
    near: &str,
    piece: Option<u64>,
    far: Option<&str>,
    seed: u64,
) -> Result<SimWorld, RigError> {
    let far = far.map(profile).transpose()?;
    let near = profile(near)?;
    let near = match piece {
        Some(piece) => near.piece(piece),
        None => near,
    };
    SimWorld::new(near, far, seed).map_err(|error| RigError::Boot(error.to_string()))
}

/// A World of a list of simulated machines, each the piece that the seed behind its name says.
pub(crate) fn simulated_nodes(names: &Names, seed: u64) -> Result<SimWorld, RigError> {
    let mut nodes = Vec::new();
    for (side, machine) in names.sides() {
        let (Side::Node(name), Some(model)) = (side, simulated(machine)) else { return Err(RigError::MixedClocks) };
        let piece = machine.split_once('#').map(|(_, piece)| piece.parse::<u64>());
        let piece = piece.transpose().map_err(|_| RigError::NotASeed(machine.to_owned()))?;
        let profile = profile(model)?;
        nodes.push((name, piece.map_or_else(|| profile.clone(), |piece| profile.clone().piece(piece))));
    }
    SimWorld::of_nodes(nodes, seed).map_err(|error| RigError::Boot(error.to_string()))
}
