//! The command as the benchmarks race it: built as they were, and run where mounts end with it. How a benchmark ends.
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, ensure};

/// Builds `powerband` as this program was built, for release or not, and says where it is.
///
/// # Errors
/// When it cannot be built, or this program is in no folder of cargo's.
pub fn powerband() -> Result<PathBuf> {
    let ours = std::env::current_exe().context("cannot find this program")?;
    let folder = ours.parent().context("this program is in no folder")?;
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    build.current_dir(root).args(["build", "--quiet", "-p", "powerband"]);
    if folder.ends_with("release") {
        build.arg("--release");
    }
    ensure!(build.status().context("cannot start cargo")?.success(), "the command cannot be built");
    Ok(folder.join("powerband"))
}

/// Builds the command and begins this program anew in a mount namespace that ends with it: `--inside` with the command's
/// place, and our own words behind it. Its exit code. Only for root.
///
/// # Errors
/// When the command cannot be built, or util-linux's unshare cannot be started.
pub fn begin_with_own_mounts() -> Result<ExitCode> {
    let powerband = powerband()?;
    let ours = std::env::current_exe().context("cannot find this program")?;
    let mut again = Command::new("unshare");
    again.args(["--mount", "--propagation", "private"]).arg(ours).arg("--inside").arg(powerband);
    let status = again.args(std::env::args_os().skip(1)).status().context("cannot start unshare")?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::from(2), ExitCode::from))
}

/// Ends a benchmark: with its exit code, or with 2 and why it could not run.
#[expect(clippy::print_stderr, reason = "an error must reach whoever started the benchmark")]
#[must_use]
pub fn end(name: &str, done: Result<ExitCode>) -> ExitCode {
    done.unwrap_or_else(|error| {
        eprintln!("{name}: {error:#}");
        ExitCode::from(2)
    })
}

/// The exit code of a benchmark that ran: 0 when its goals are met, else 1.
#[must_use]
pub fn goals(met: bool) -> ExitCode {
    if met { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// Prints the result.
#[expect(clippy::print_stdout, reason = "printing the result is what benchmarks are for")]
pub fn print(result: &str) {
    println!("{result}");
}
