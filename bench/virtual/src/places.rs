//! Where things are on this machine: the cache below cargo's target folder, the command, programs called.
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{BenchError, Result};

/// Folder of what is fetched once, below the target folder this program was built into.
///
/// # Errors
/// When this program does not lie in a target folder, or the folder cannot be made.
pub(crate) fn cache() -> Result<PathBuf> {
    let here = program_folder()?;
    let target = here.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file() && !is_triple(folder));
    let target = target
        .ok_or_else(|| BenchError::Missing(format!("{} is not in a target folder of cargo's", here.display())))?;
    let cache = target.join("virtual-bench");
    std::fs::create_dir_all(&cache).map_err(BenchError::file("make", &cache))?;
    Ok(cache)
}

/// Whether a folder is a target folder's part for one platform; cargo marks those too.
fn is_triple(folder: &Path) -> bool {
    folder.parent().is_some_and(|parent| parent.join("CACHEDIR.TAG").is_file())
}

/// The folder programs are built into: ours, without `deps` for a test and `examples` for an example.
fn program_folder() -> Result<PathBuf> {
    let ours = std::env::current_exe().map_err(BenchError::file("find", Path::new("/proc/self/exe")))?;
    let folder = ours.parent().unwrap_or(Path::new("/"));
    let below = folder.ends_with("deps") || folder.ends_with("examples");
    Ok(if below { folder.parent().unwrap_or(folder) } else { folder }.to_path_buf())
}

/// A program without its symbols, in which a build's folder stands: the file's bytes.
///
/// # Errors
/// When it is not there, or no `strip`.
pub fn stripped(program: &Path) -> Result<Vec<u8>> {
    stripped_by("strip", program)
}

/// The same by the `strip` of another architecture.
pub(crate) fn stripped_by(strip: &str, program: &Path) -> Result<Vec<u8>> {
    let made = || BenchError::file("make", Path::new("a temporary file"));
    // A file without a name does not stay when we are killed.
    let mut stripped = tempfile::tempfile().map_err(made())?;
    let ours = format!("/proc/{}/fd/{}", std::process::id(), stripped.as_raw_fd());
    run(Command::new(strip).arg("-o").arg(ours).arg(program))?;
    let mut bytes = Vec::new();
    stripped.read_to_end(&mut bytes).map_err(made())?;
    Ok(bytes)
}

/// Names the command where it was built already, with the tests that are running.
const BUILT: &str = "POWERBAND_BUILT";

/// The command: the one that was built with us, or built now in the profile this program was built in.
///
/// # Errors
/// When it cannot be built.
pub fn powerband() -> Result<PathBuf> {
    if let Some(built) = std::env::var_os(BUILT) {
        return Ok(built.into());
    }
    let folder = program_folder()?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut build = Command::new(cargo);
    build.current_dir(top).args(["build", "--quiet", "--package", "powerband"]);
    if let Some(profile) = folder.file_name().filter(|name| *name != "debug") {
        build.arg("--profile").arg(profile);
    }
    run(&mut build)?;
    Ok(folder.join("powerband"))
}

/// A file's bytes.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(BenchError::file("read", path))
}

/// Writes a file.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(BenchError::file("write", path))
}

/// Runs a program to its end and answers its standard output.
///
/// # Errors
/// With what it said last when it failed, or how to install it when it is not there.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let program = shown(command);
    let output = command.output().map_err(|error| BenchError::Program {
        program: program.clone(),
        why: match error.kind() {
            std::io::ErrorKind::NotFound => "is not here; `cargo xtask test --tier guest` fetches it on Debian".into(),
            _ => error.to_string(),
        },
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = [output.stderr, output.stdout].concat();
    let said = String::from_utf8_lossy(&said);
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("failed and said nothing");
    Err(BenchError::Program { program, why: last.to_owned() })
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
