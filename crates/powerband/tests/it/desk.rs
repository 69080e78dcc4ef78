//! A state folder and the binary in it: what every test here begins with.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use powerband_report::json::Report;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// How long anything may take that is waited for here; far beyond what it takes.
const PATIENCE: Duration = Duration::from_secs(180);

/// A search on the table of this repository, whose rows are formulas: 90 settings.
pub(crate) const KEEPER: [&str; 9] = [
    "--machine",
    "table:machines/tables/keeper.csv",
    "tune",
    "freq=all",
    "rx-usecs=all",
    "--minimize",
    "watts",
    "--require",
    "p99_us<=200",
];

/// The root of the workspace, where `plans/` and `published/` are.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

/// Whether a test that needs root can run. In CI it must.
pub(crate) fn root() -> bool {
    let root = rustix::process::geteuid().is_root();
    let must = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(root || !must, "this test needs root, and CI=true lets nothing be skipped");
    if !root {
        eprintln!("skipped: needs root");
    }
    root
}

/// Control groups and the kernel's settings belong to the machine, not to a state folder, and who changes them waits only
/// moments for another that does: tests that change some do it one after the other.
pub(crate) fn machine_alone() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A fresh state folder.
pub(crate) struct Desk {
    folder: TempDir,
}

/// What a run of the binary came to.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Ran {
        Ran {
            code: output.status.code(),
            out: String::from_utf8(output.stdout.clone()).unwrap(),
            err: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }

    /// It ended with `code`; what it printed.
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Ran {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// It ended with `code` and said why in one line; the sentence.
    #[track_caller]
    pub(crate) fn refused(self, code: i32) -> String {
        let ran = self.ended(code);
        let sentence = ran.err.strip_prefix("powerband: ").and_then(|rest| rest.strip_suffix('\n'));
        let sentence = sentence.unwrap_or_else(|| panic!("not one line of ours: {:?}", ran.err));
        assert!(!sentence.contains('\n') && !sentence.is_empty(), "{:?}", ran.err);
        assert!(!sentence.contains("panicked"), "{sentence}");
        sentence.to_owned()
    }

    /// What it printed, as JSON.
    #[track_caller]
    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.out, self.err))
    }

    /// What it printed, as a report.
    #[track_caller]
    pub(crate) fn report(&self) -> Report {
        Report::parse(&self.out).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.out, self.err))
    }
}

impl Desk {
    pub(crate) fn new() -> Desk {
        Desk { folder: TempDir::new().unwrap() }
    }

    /// Where the state is.
    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// A path next to the state, for files to be turned.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `file:` and the path of a file next to the state.
    pub(crate) fn knob(&self, name: &str) -> String {
        format!("file:{}", self.beside(name).display())
    }

    /// The binary, ready to start with these words.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_powerband"));
        self.furnish(&mut command);
        command.args(words);
        command
    }

    /// Gives a command this state folder and none of the surroundings' options.
    pub(crate) fn furnish(&self, command: &mut Command) {
        command.current_dir(workspace()).stdin(Stdio::null());
        command.env("POWERBAND_STATE_DIR", self.state());
        // A machine that is busy with tests takes its time to answer.
        command.env("POWERBAND_PEER_TIMEOUT", "60s");
        // Expected outputs are those of one order of trials.
        command.env("POWERBAND_SEED", "1");
        for name in ["POWERBAND_MACHINE", "POWERBAND_STORE", "COLUMNS", "NO_COLOR"] {
            command.env_remove(name);
        }
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        Ran::of(&self.command(words).output().unwrap())
    }

    /// Runs it with `--json` to a good end; what it printed.
    #[track_caller]
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        self.run(&[&["--json"], words].concat()).ended(0).value()
    }

    /// Runs an experiment with `--json` to a good end.
    #[track_caller]
    pub(crate) fn report(&self, words: &[&str]) -> Report {
        self.run(&[&["--json"], words].concat()).ended(0).report()
    }

    /// The events of an experiment without the header, as lines.
    #[track_caller]
    pub(crate) fn journal(&self) -> Vec<String> {
        let text = self.run(&["export", "last", "--journal"]).ended(0).out;
        let mut lines = text.lines().map(str::to_owned);
        assert!(lines.next().is_some_and(|line| line.starts_with("{\"header\":")));
        lines.collect()
    }

    /// How many experiments are kept.
    #[track_caller]
    pub(crate) fn experiments(&self) -> usize {
        self.json(&["list"])["experiments"].as_array().unwrap().len()
    }

    /// What is turned on this machine and not undone, as `info turned` tells it.
    #[track_caller]
    pub(crate) fn turned(&self) -> usize {
        self.json(&["info", "turned"])["turned"].as_array().unwrap().len()
    }

    /// Starts it, to be looked at while it runs.
    pub(crate) fn start(&self, words: &[&str]) -> Started {
        Started::of(&mut self.command(words))
    }
}

/// A binary that runs. It does not outlive its test.
pub(crate) struct Started {
    child: Option<Child>,
}

impl Started {
    /// Starts what is ready to start.
    pub(crate) fn of(command: &mut Command) -> Started {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Started { child: Some(child) }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits until it has ended by itself.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ran {
        let mut child = self.child.take().unwrap();
        let deadline = Instant::now() + PATIENCE;
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > deadline {
                let _ = child.kill();
                panic!("it does not end");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ran::of(&child.wait_with_output().unwrap())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A program that writes, and lives on until the end of its input.
pub(crate) fn writer(script: &str) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{script}; read end")]).stdin(Stdio::piped()).spawn().unwrap()
}

/// Ends it.
pub(crate) fn end(mut child: Child) {
    drop(child.stdin.take());
    child.wait().unwrap();
}

/// Waits until `condition` holds.
#[track_caller]
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What a file holds.
#[track_caller]
pub(crate) fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The published figures of one article.
pub(crate) fn published(name: &str) -> powerband_report::published::Published {
    let path = workspace().join("published").join(name);
    powerband_report::published::Published::parse(&text(&path)).unwrap()
}

/// A level of a setting by its label; its trials are not zero.
#[track_caller]
pub(crate) fn level<'a>(report: &'a Report, label: &str, metric: &str) -> &'a powerband_report::json::LevelRow {
    let setting = report.settings.iter().find(|setting| setting.label == label);
    let setting = setting.unwrap_or_else(|| panic!("no setting {label}"));
    setting.levels.get(metric).unwrap_or_else(|| panic!("no {metric} of {label}"))
}

/// The typical value of a metric at a setting.
#[track_caller]
pub(crate) fn typical(report: &Report, label: &str, metric: &str) -> f64 {
    level(report, label, metric).typical.unwrap()
}
