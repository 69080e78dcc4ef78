//! Simulated machines by their names: their files, and a World of them.
use powerband_sim::{Profile, SimWorld};

use crate::{MAX_WRITTEN_BYTES, RigError, read_text};

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
