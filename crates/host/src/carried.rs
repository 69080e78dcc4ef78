//! The agent's file: which one is copied to a peer, and what the agent does with its own file when it starts there.
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use powerband_record::ErrorClass;

use crate::remote::RemoteError;
use crate::{AgentError, io_errno};

/// How long this program's file stays on the machine it was copied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// For this run: file and folder are removed at the start. A running program needs neither.
    Once,
    /// Until somebody removes it, under a name that ends with the hash of its bytes.
    Kept,
}

impl Carried {
    /// Removes the file of this program, or checks it against the hash in its name.
    ///
    /// # Errors
    /// [`AgentError::Changed`] when a kept file does not have that hash. It is removed if it is in a folder of kept agents.
    pub fn settle(self) -> Result<(), AgentError> {
        let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
        match self {
            Carried::Once => {
                // Under the name that it was copied with; one that was started by hand has another.
                let checked = check(&program);
                remove_with_folder(&program);
                checked
            }
            Carried::Kept => check(&program),
        }
    }
}

fn remove_with_folder(program: &Path) {
    let Some(folder) = program.parent() else { return };
    let is_ours = folder.file_name().is_some_and(|name| name.as_bytes().starts_with(b"powerband."));
    if is_ours && std::fs::remove_file(program).is_ok() {
        let _ = std::fs::remove_dir(folder);
    }
}

fn check(program: &Path) -> Result<(), AgentError> {
    if std::fs::read(program).is_ok_and(|bytes| program.ends_with(name_of(&bytes))) {
        return Ok(());
    }
    // Only a file that powerband named: this may also be an installed program that was started with the wrong words.
    if is_kept(program) {
        let _ = std::fs::remove_file(program);
    }
    Err(AgentError::Changed(program.display().to_string()))
}

/// Whether a path is `powerband/powerband-HASH`, as kept agents are called.
fn is_kept(program: &Path) -> bool {
    let name = program.file_name().and_then(|name| name.to_str());
    let hash = name.and_then(|name| name.strip_prefix(PREFIX)).unwrap_or_default();
    let in_folder = program.parent().is_some_and(|folder| folder.ends_with("powerband"));
    in_folder && hash.len() == 16 && hash.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// What names of copied agents begin with.
const PREFIX: &str = "powerband-";

/// Returns the name of a program on the machines it is copied to. Each build has its own.
pub(crate) fn name_of(program: &[u8]) -> String {
    format!("{PREFIX}{:016x}", crate::claim::fnv1a(program))
}

/// Returns the program to copy to a machine of this architecture (as in `uname -m`): an agent in the folder of this program or in
/// its `../lib/powerband`, else this program itself where it can run there.
pub(crate) fn program_for(arch: &str) -> Result<Vec<u8>, NoProgram> {
    let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    if let Some(agent) = program.parent().and_then(|folder| agent_near(folder, arch)) {
        return Ok(agent);
    }
    if arch != std::env::consts::ARCH {
        return Err(NoProgram::OtherArchitecture);
    }
    std::fs::read("/proc/self/exe").map_err(NoProgram::Unreadable)
}

fn agent_near(folder: &Path, arch: &str) -> Option<Vec<u8>> {
    // A 64-bit kernel's name for its 32-bit programs.
    let arch = if arch == "armv8l" { "armv7l" } else { arch };
    let names = [format!("powerband-agent-{arch}"), "powerband-agent".to_owned()];
    // The name without an architecture is that of this program's own.
    let names = if arch == std::env::consts::ARCH { &names[..] } else { &names[..1] };
    let folders = [folder.to_path_buf(), folder.join("../lib/powerband")];
    folders
        .iter()
        .flat_map(|folder| names.iter().map(|name| folder.join(name)))
        .find_map(|path| std::fs::read(path).ok())
}

impl NoProgram {
    /// As a sentence on the machine of this name and architecture.
    pub(crate) fn error(self, name: &str, arch: &str) -> RemoteError {
        let (class, why) = match self {
            NoProgram::OtherArchitecture => {
                let ours = std::env::consts::ARCH;
                let why = format!(
                    "it is {arch} and this powerband is built for {ours}; put powerband-agent-{arch}, an agent built for {arch}, next to this program"
                );
                (ErrorClass::Unsupported, why)
            }
            NoProgram::Unreadable(error) => {
                (ErrorClass::Aborted, format!("cannot read our own program: {}", io_errno(&error)))
            }
        };
        RemoteError::Refused { name: name.into(), class, why }
    }
}

/// Why there is nothing to copy.
pub(crate) enum NoProgram {
    /// There is no agent for that machine here.
    OtherArchitecture,
    /// This program cannot be read.
    Unreadable(std::io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_gets_the_agent_of_its_architecture() {
        let place = tempfile::tempdir().unwrap();
        let (bin, lib) = (place.path().join("bin"), place.path().join("lib/powerband"));
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::create_dir_all(&lib).unwrap();
        let own = std::env::consts::ARCH;
        assert_eq!(agent_near(&bin, own), None);
        std::fs::write(bin.join("powerband-agent"), "own").unwrap();
        std::fs::write(lib.join("powerband-agent-vax"), "vax").unwrap();
        assert_eq!(agent_near(&bin, own).as_deref(), Some(&b"own"[..]));
        assert_eq!(agent_near(&bin, "vax").as_deref(), Some(&b"vax"[..]));
        assert_eq!(agent_near(&bin, "pdp11"), None, "an agent of another architecture cannot run there");
    }

    #[test]
    fn a_kept_agent_that_was_changed_is_removed_and_an_installed_program_is_not() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("powerband");
        std::fs::create_dir(&folder).unwrap();
        let kept = folder.join(name_of(b"agent"));
        std::fs::write(&kept, "agent").unwrap();
        check(&kept).unwrap();
        std::fs::write(&kept, "another").unwrap();
        check(&kept).unwrap_err();
        assert!(!kept.exists());
        let installed = folder.join("powerband-agent");
        std::fs::write(&installed, "agent").unwrap();
        check(&installed).unwrap_err();
        assert!(installed.exists());
    }
}
