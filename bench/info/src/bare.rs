//! The least that reading can cost: the very files that were read, opened, read to their ends and closed, one after
//! another, and nothing made of them.
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// The system calls that open a file, on every architecture.
const OPENS: &str = "trace=?open,openat,?openat2";

/// What a command opened for reading, in its order and as often as it did; folders and what was not there are left out.
///
/// # Errors
/// When it cannot be traced, or fails.
pub(crate) fn files_read_by(command: &mut Command, work: &Path) -> Result<Vec<String>> {
    let trace = work.join("trace");
    let mut strace = Command::new("strace");
    strace.args(["-ff", "-qq", "-y", "-e", OPENS, "-o"]).arg(&trace);
    strace.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    let output = strace.output().context("cannot start strace; on Debian: apt-get install strace")?;
    ensure!(output.status.success(), "strace: {}", String::from_utf8_lossy(&output.stderr));
    // A file for each thread: in one they would cut each other's lines.
    let mut text = String::new();
    for entry in fs::read_dir(work).context("cannot list what strace wrote")? {
        let path = entry?.path();
        if path.file_stem().is_some_and(|stem| stem == "trace") {
            text += &fs::read_to_string(&path).context("cannot read what strace wrote")?;
            fs::remove_file(&path).context("cannot remove what strace wrote")?;
        }
    }
    // What was its own process's is gone with it.
    let there = |path: &&str| File::open(path).is_ok();
    Ok(text.lines().filter_map(opened).filter(there).map(str::to_owned).collect())
}

/// The path of a line of strace that is an opening for reading and went well: what it opened stands behind its result.
fn opened(line: &str) -> Option<&str> {
    let (call, result) = line.rsplit_once(" = ")?;
    let path = result.split_once('<')?.1.strip_suffix('>').filter(|path| path.starts_with('/'))?;
    (call.contains("O_RDONLY") && !call.contains("O_DIRECTORY")).then_some(path)
}

/// Reads the files a list names, a line each; how many bytes they held.
///
/// # Errors
/// When one of them cannot be opened.
pub(crate) fn read_all(list: &Path) -> Result<u64> {
    let list = fs::read_to_string(list).with_context(|| format!("cannot read {}", list.display()))?;
    let mut buffer = vec![0; 1 << 14];
    let mut bytes = 0;
    for path in list.lines() {
        let mut file = File::open(path).with_context(|| format!("cannot open {path}"))?;
        // A file that cannot be read, as some of network devices without a link, costs a try.
        while let Ok(got @ 1..) = file.read(&mut buffer) {
            bytes += got as u64;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_were_read_are_found_in_a_trace() {
        for (line, path) in [
            (r#"12 openat(AT_FDCWD</>, "/sys/a b", O_RDONLY|O_CLOEXEC) = 3</sys/a b>"#, Some("/sys/a b")),
            (r#"12 openat(4</sys>, "a", O_RDONLY|O_NONBLOCK) = 3</sys/a>"#, Some("/sys/a")),
            (r#"12 openat(AT_FDCWD</>, "/sys/a", O_RDONLY) = -1 ENOENT (No such file or directory)"#, None),
            (r#"12 openat(AT_FDCWD</>, "/sys", O_RDONLY|O_DIRECTORY) = 3</sys>"#, None),
            (r#"12 openat(AT_FDCWD</>, "/tmp/x", O_WRONLY|O_CREAT, 0644) = 3</tmp/x>"#, None),
            ("12 +++ exited with 0 +++", None),
        ] {
            assert_eq!(opened(line), path, "{line}");
        }
    }
}
