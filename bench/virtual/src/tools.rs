//! Programs of this machine for a guest, with the libraries they are linked to.
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{BenchError, Result};
use crate::places;

/// Where a program of this machine lies, if it has it.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// The field's load tools for the ends of a cable, those of them that this machine has.
#[must_use]
pub fn for_cables() -> Vec<String> {
    ["iperf3", "nuttcp"].into_iter().filter(|name| find(name).is_some()).map(str::to_owned).collect()
}

/// A program and everything it is linked to, by the path each has in the guest.
///
/// # Errors
/// When this machine does not have it, or its libraries cannot be told.
pub(crate) fn with_libraries(name: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let program = find(name).ok_or_else(|| BenchError::Missing(format!("there is no {name} here; install it")))?;
    let output = Command::new("ldd").arg(&program).output().map_err(BenchError::file("start", Path::new("ldd")))?;
    let mut files = vec![(format!("bin/{name}"), places::read(&program)?)];
    for library in libraries(&String::from_utf8_lossy(&output.stdout)) {
        files.push((library.trim_start_matches('/').to_owned(), places::read(Path::new(library))?));
    }
    Ok(files)
}

/// The paths in what `ldd` prints: `libc.so.6 => /lib/libc.so.6 (0x…)`, and of the loader `/lib64/ld-linux.so.2 (0x…)`. What
/// the kernel brings itself has none.
fn libraries(told: &str) -> impl Iterator<Item = &str> {
    told.lines().filter_map(|line| {
        let path = line.split_once("=>").map_or(line, |(_, path)| path);
        path.split_whitespace().next().filter(|path| path.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ldd_says_is_read() {
        let told = "\tlinux-vdso.so.1 (0x00007ffc)\n\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let paths: Vec<&str> = libraries(told).collect();
        assert_eq!(paths, ["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"]);
        assert_eq!(libraries("\tnot a dynamic executable\n").count(), 0);
    }
}
