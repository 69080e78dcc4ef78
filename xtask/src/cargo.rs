//! Running the cargo that runs us, and reading what it prints while passing it on.
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::tally::{Reader, Tally};

/// The workspace's folder. Cargo says when it starts us where we belong; clones that share a target folder also share
/// this program, so what was compiled in is only for those who start it by hand.
pub(crate) fn top() -> PathBuf {
    let ours = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| OsString::from(env!("CARGO_MANIFEST_DIR")));
    PathBuf::from(ours).join("..")
}

/// Whether this is a run that decides about a change: then nothing may be left out quietly.
pub(crate) fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}

/// A change whose Cargo.lock is stale must not pass by silently making a new one.
pub(crate) fn locked() -> Option<&'static str> {
    in_ci().then_some("--locked")
}

/// `cargo` at the workspace's folder. Told by cargo itself which one it is; found on the path otherwise.
pub(crate) fn cargo() -> Command {
    ours(Command::new(program()))
}

/// The same, which takes the CPU time that tests next to it leave.
pub(crate) fn patient_cargo() -> Command {
    let mut nice = Command::new("nice");
    nice.args(["-n", "19"]).arg(program());
    ours(nice)
}

fn program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"))
}

fn ours(mut command: Command) -> Command {
    command.current_dir(top());
    if in_ci() {
        // Nothing is compiled a second time there, so that what an incremental build keeps is written for nobody.
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// A test binary. Our caller may ignore signals that the tests send (nohup ignores SIGHUP, some servers SIGCHLD), and tests would
/// inherit that.
pub(crate) fn for_tests(program: &Path) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,QUIT,TERM,CHLD"]).arg(program);
    command
}

/// Runs a command with our own output and answers whether it ended well.
///
/// # Errors
/// When it could not be started.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool> {
    let shown = shown(command);
    eprintln!("$ {shown}");
    Ok(command.status().with_context(|| format!("cannot start {shown}"))?.success())
}

/// What a command prints.
///
/// # Errors
/// When it cannot be started or fails; with the last it says.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let ran = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {shown}"))?;
    if !ran.status.success() {
        bail!("{shown} failed: {}", String::from_utf8_lossy(&ran.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// Runs a `cargo test`, passes its output on as it comes, and counts.
///
/// # Errors
/// When it could not be started or its output not read.
pub(crate) fn counted(command: &mut Command) -> Result<Tally> {
    eprintln!("$ {}", shown(command));
    counted_into(command, &mut std::io::stdout().lock())
}

fn counted_into(command: &mut Command, out: &mut dyn Write) -> Result<Tally> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {}", shown(command)))?;
    let mut reader = Reader::of(&shown(command));
    if let Some(stdout) = child.stdout.take() {
        let mut stdout = BufReader::new(stdout);
        let mut line = Vec::new();
        while stdout.read_until(b'\n', &mut line)? > 0 {
            out.write_all(&line)?;
            out.flush()?;
            reader.line(String::from_utf8_lossy(&line).trim_end());
            line.clear();
        }
    }
    let success = child.wait()?.success();
    Ok(reader.end(success))
}

/// A command as it could be typed.
pub(crate) fn shown(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().map_or_else(|| program.display().to_string(), |name| name.display().to_string());
    let mut words: Vec<String> =
        command.get_envs().filter_map(|(key, value)| Some(format!("{}={}", key.display(), value?.display()))).collect();
    words.push(name);
    words.extend(command.get_args().map(|word| word.display().to_string()));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_it_could_be_typed() {
        let mut command = Command::new("/opt/rust/bin/cargo");
        command.env("POWERBAND_SWEEP", "1").args(["test", "-p", "powerband-stats"]);
        assert_eq!(shown(&command), "POWERBAND_SWEEP=1 cargo test -p powerband-stats");
    }

    #[test]
    fn output_is_counted_and_a_failing_command_without_results_is_one_failure() {
        let line = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        // Into a buffer: on our own output it would be counted by anyone who counts us.
        let mut out = Vec::new();
        let tally = counted_into(Command::new("echo").arg(line), &mut out).unwrap();
        assert_eq!(tally, Tally { passed: 2, ..Tally::default() });
        assert_eq!(String::from_utf8(out).unwrap(), format!("{line}\n"));
        let tally = counted_into(&mut Command::new("false"), &mut Vec::new()).unwrap();
        assert_eq!((tally.passed, tally.failed), (0, 1));
    }
}
