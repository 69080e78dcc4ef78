//! A program that a powerband elsewhere copied here: which one is sent, and what it does with its own file once it runs.
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::AgentError;

/// How this very program came here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// For this run alone: its file and folder go as it begins. What runs needs neither.
    Once,
    /// To stay, under a name that ends with the hash of its bytes.
    Kept,
}

impl Carried {
    /// Removes the file, or checks it.
    ///
    /// # Errors
    /// [`AgentError::Changed`] when the file that was to stay is not what it was; it is removed then.
    pub fn settle(self) -> Result<(), AgentError> {
        let Ok(program) = std::fs::read_link("/proc/self/exe") else { return Ok(()) };
        match self {
            Carried::Once => remove(&program),
            Carried::Kept if is_named_after_its_bytes(&program) => {}
            Carried::Kept => {
                // Whatever it is, it is not to be run again.
                let _ = std::fs::remove_file(&program);
                return Err(AgentError::Changed(program.display().to_string()));
            }
        }
        Ok(())
    }
}

fn remove(program: &Path) {
    let Some(folder) = program.parent() else { return };
    let is_ours = folder.file_name().is_some_and(|name| name.as_bytes().starts_with(b"powerband."));
    if is_ours && std::fs::remove_file(program).is_ok() {
        let _ = std::fs::remove_dir(folder);
    }
}

fn is_named_after_its_bytes(program: &Path) -> bool {
    std::fs::read("/proc/self/exe").is_ok_and(|bytes| program.ends_with(name_of(&bytes)))
}

/// What a program is called where it is copied to: one name for one build.
pub(crate) fn name_of(program: &[u8]) -> String {
    format!("powerband-{:016x}", crate::claim::fnv1a(program))
}

/// The program to send to a machine of this architecture, as `uname -m` calls it: an agent that lies next to this program or in
/// its `../lib/powerband`, else this program itself, where it can run there.
pub(crate) fn program_for(arch: &str) -> Result<Vec<u8>, NoProgram> {
    let own = arch == std::env::consts::ARCH;
    let beside = std::fs::read_link("/proc/self/exe").ok().and_then(|program| program.parent().map(PathBuf::from));
    let folders = beside.iter().flat_map(|folder| [folder.clone(), folder.join("../lib/powerband")]);
    let names = [Some(format!("powerband-agent-{arch}")), own.then(|| "powerband-agent".to_owned())];
    for folder in folders {
        for name in names.iter().flatten() {
            if let Ok(bytes) = std::fs::read(folder.join(name)) {
                return Ok(bytes);
            }
        }
    }
    if !own {
        return Err(NoProgram::OtherArchitecture);
    }
    std::fs::read("/proc/self/exe").map_err(NoProgram::Unreadable)
}

/// Why there is nothing to send.
pub(crate) enum NoProgram {
    /// There is no agent for that machine here.
    OtherArchitecture,
    /// This program cannot be read.
    Unreadable(std::io::Error),
}
