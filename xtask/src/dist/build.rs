//! Compiling for an architecture, and trying what came of it.
use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::Architecture;
use crate::cargo::{cargo, output, succeeds};
use crate::metadata::target_folder;

/// The programs of an architecture.
pub(super) struct Programs {
    pub(super) powerband: PathBuf,
    pub(super) agent: PathBuf,
}

/// Builds them in release and runs each once.
///
/// # Errors
/// When the compiler is not there or fails, or a program does not start.
pub(super) fn programs(architecture: &Architecture) -> Result<Programs> {
    let mut command = cargo();
    command.args(["build", "--release", "--locked", "-p", "powerband", "-p", "powerband-agent"]);
    architecture.target(&mut command)?;
    ensure!(succeeds(&mut command)?, "powerband cannot be built for {}", architecture.triple);
    let folder = target_folder()?.join(architecture.triple).join("release");
    let programs = Programs { powerband: folder.join("powerband"), agent: folder.join("powerband-agent") };
    for program in [&programs.powerband, &programs.agent] {
        output(architecture.run(program).arg("--version"))?;
    }
    Ok(programs)
}
