//! Times of tests: CPU and wall seconds of each test binary, wall seconds of each test, as libtest and the shell report them.
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};

/// Tests in the table, slowest first.
const SLOWEST: usize = 100;

/// Stands in the line that the shell prints before its times: its own user and system time, and in the next line its children's.
const MARK: &str = "powerband-test-times";

/// One test binary, or a part of it that ran as one process.
#[derive(Clone, Debug, Default, PartialEq)]
struct Binary {
    title: String,
    tests: usize,
    wall_s: f64,
    cpu_s: f64,
}

/// Rows of both tables.
#[derive(Debug, Default)]
struct Rows {
    binaries: Vec<Binary>,
    /// Tests by title and name, with their wall seconds.
    tests: Vec<(String, f64)>,
}

/// Times of all that ran.
#[derive(Debug, Default)]
pub(crate) struct Times(Mutex<Rows>);

/// Runs the same command under a shell that reports its CPU time, with libtest's report of each test's time. libtest hides that
/// option on a stable toolchain; `RUSTC_BOOTSTRAP` shows it and changes nothing else of a program that is already built.
pub(crate) fn timed(command: &Command) -> Command {
    let script = format!("\"$@\" -Zunstable-options --report-time; code=$?; echo; echo {MARK}; times; exit $code");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, "sh"]).arg(command.get_program()).args(command.get_args());
    shell.env("RUSTC_BOOTSTRAP", "1");
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    shell
}

/// Reads one binary's output.
#[derive(Debug, Default)]
pub(crate) struct Timing {
    title: String,
    tests: Vec<(String, f64)>,
    cpu_s: f64,
    /// Lines of the shell's times that come next.
    of_shell: u8,
}

impl Timing {
    /// Of the binary with this title.
    pub(crate) fn of(title: &str) -> Self {
        Timing { title: title.to_owned(), ..Timing::default() }
    }

    /// Takes one line; answers whether it is the shell's, which is no output of the tests.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        if line == MARK {
            self.of_shell = 2;
            return true;
        }
        if self.of_shell > 0 {
            self.of_shell -= 1;
            self.cpu_s = line.split_whitespace().filter_map(minutes).sum();
            return true;
        }
        if let Some((name, time)) = line.strip_prefix("test ").and_then(test) {
            self.tests.push((format!("{} {name}", self.title), time));
        }
        false
    }
}

/// `a::b ... ok <1.250s>`.
fn test(line: &str) -> Option<(&str, f64)> {
    let (name, rest) = line.split_once(" ... ")?;
    let (_, time) = rest.rsplit_once('<')?;
    Some((name, time.strip_suffix("s>")?.parse().ok()?))
}

/// `1m2.500000s`.
fn minutes(text: &str) -> Option<f64> {
    let (minutes, seconds) = text.strip_suffix('s')?.split_once('m')?;
    Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
}

impl Times {
    /// Adds what was read of one binary, which took so long.
    pub(crate) fn add(&self, timing: Timing, wall: Duration) {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (tests, wall_s) = (timing.tests.len(), wall.as_secs_f64());
        rows.binaries.push(Binary { title: timing.title, tests, wall_s, cpu_s: timing.cpu_s });
        rows.tests.extend(timing.tests);
    }

    /// Writes both tables to a file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        std::fs::write(path, self.table()).with_context(|| format!("cannot write {}", path.display()))
    }

    fn table(&self) -> String {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Rows { binaries, tests } = &mut *rows;
        binaries.sort_by(|a, b| b.cpu_s.total_cmp(&a.cpu_s));
        tests.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut text = "| test binary | tests | wall s | CPU s |\n|---|--:|--:|--:|\n".to_owned();
        for Binary { title, tests, wall_s, cpu_s } in &*binaries {
            let _ = writeln!(text, "| {title} | {tests} | {wall_s:.1} | {cpu_s:.1} |");
        }
        text.push_str("\n| test | wall s |\n|---|--:|\n");
        for (name, time) in tests.iter().take(SLOWEST) {
            let _ = writeln!(text, "| {name} | {time:.1} |");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_what_libtest_and_the_shell_print() {
        let mut timing = Timing::of("host/it");
        let lines =
            ["running 2 tests", "test a::b ... ok <1.250s>", "test c ... FAILED <0.010s>", "test d ... ignored"];
        assert!(!lines.into_iter().any(|line| timing.line(line)));
        assert!([MARK, "0m0.01s 0m0.02s", "1m1.50s 0m0.50s"].into_iter().all(|line| timing.line(line)));
        assert!(!timing.line("test result: ok"));
        let times = Times::default();
        times.add(timing, Duration::from_millis(1_300));
        let rows = ["| host/it | 2 | 1.3 | 62.0 |", "| host/it a::b | 1.2 |", "| host/it c | 0.0 |"];
        assert!(rows.iter().all(|row| times.table().lines().any(|line| line == *row)), "{}", times.table());
    }

    #[test]
    fn a_timed_command_ends_as_it_would_without() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo \"$0 $A\"; exit 3", "x"]).env("A", "1");
        let output = timed(&command).output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with("x 1\n") && text.contains(MARK), "{text}");
    }
}
