//! What goes with the programs (manual pages, completions, units, plans, machines) and the tarball of all of it.
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::Architecture;
use super::build::Programs;
use crate::cargo::{output, top};

/// Files beside the programs in the tarball.
const BESIDE: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Completions: the shell, and where Debian looks for its file.
pub(super) const SHELLS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/powerband"),
    ("zsh", "usr/share/zsh/vendor-completions/_powerband"),
    ("fish", "usr/share/fish/vendor_completions.d/powerband.fish"),
];

/// The units, and the folders that a plan may name files of.
pub(super) const UNITS: [&str; 3] = ["powerband.service", "powerband-guard.service", "powerband-undo.service"];
pub(super) const SHARED: [&str; 3] = ["plans", "machines/sim", "machines/tables"];

/// Copies files, making the folders above, with Debian's modes.
pub(super) fn put(from: &Path, to: &Path, mode: &str) -> Result<()> {
    output(Command::new("install").args(["-D", "-m", mode]).arg(from).arg(to))?;
    Ok(())
}

/// Writes a text to a new file.
pub(super) fn write(to: &Path, text: &[u8]) -> Result<()> {
    std::fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
    std::fs::write(to, text).with_context(|| to.display().to_string())
}

/// Copies the plans and the machines they name, without what only the tests replay.
pub(super) fn shared(into: &Path) -> Result<()> {
    for folder in SHARED {
        std::fs::create_dir_all(into)?;
        output(Command::new("cp").args(["-r", "--preserve=mode"]).arg(top().join(folder)).arg(into))?;
    }
    output(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(into))?;
    Ok(())
}

/// Writes every manual page of the command into a folder.
pub(super) fn manual(architecture: &Architecture, programs: &Programs, into: &Path) -> Result<()> {
    std::fs::create_dir_all(into)?;
    output(architecture.run(&programs.powerband).args(["man", "--dir"]).arg(into))?;
    Ok(())
}

/// The completions for a shell.
pub(super) fn completions(architecture: &Architecture, programs: &Programs, shell: &str) -> Result<String> {
    output(architecture.run(&programs.powerband).args(["completions", shell]))
}

/// When the commit that is packed was made, s since 1970: the same tree gives the same bytes.
pub(super) fn committed_s() -> Result<String> {
    Ok(output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(top()))?.trim().to_owned())
}

/// `powerband-VERSION-ARCHITECTURE.tar.xz`: everything in one folder, for machines without packages.
///
/// # Errors
/// When a file cannot be written or tar fails.
pub(super) fn tarball(
    architecture: &Architecture,
    programs: &Programs,
    version: &str,
    into: &Path,
) -> Result<Option<PathBuf>> {
    let name = format!("powerband-{version}-{}", architecture.debian);
    let folder = into.join("trees").join(&name);
    let _ = std::fs::remove_dir_all(&folder);
    put(&programs.powerband, &folder.join("powerband"), "755")?;
    put(&programs.agent, &folder.join("powerband-agent"), "755")?;
    for file in BESIDE {
        put(&top().join(file), &folder.join(file), "644")?;
    }
    for unit in UNITS {
        put(&top().join("etc").join(unit), &folder.join("units").join(unit), "644")?;
    }
    for (shell, _) in SHELLS {
        write(&folder.join("completions").join(shell), completions(architecture, programs, shell)?.as_bytes())?;
    }
    manual(architecture, programs, &folder.join("man1"))?;
    shared(&folder)?;
    let path = into.join(format!("{name}.tar.xz"));
    let mut tar = Command::new("tar");
    tar.args(["--create", "--xz", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg(format!("--mtime=@{}", committed_s()?)).arg("--file").arg(&path);
    output(tar.arg("--directory").arg(into.join("trees")).arg(&name))?;
    Ok(Some(path))
}
