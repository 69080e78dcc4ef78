//! A powerband on this machine, with ledger and results of its own, whose machines are guests.
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use powerband_bench_virtual::{Guest, machine, powerband, with_machines};
use serde_json::Value;
use tempfile::TempDir;

/// Ends what waits for a guest in vain; nothing here takes so long.
const LIMIT: &str = "timeout --kill-after=10 900";

/// State folder and machines.
pub(crate) struct Owner {
    state: TempDir,
    near: String,
    far: Option<String>,
    program: PathBuf,
}

impl Owner {
    /// With these guests as its machines.
    pub(crate) fn of(near: &Guest, far: Option<&Guest>) -> Owner {
        let named = |guest: &Guest| machine(guest, Path::new(env!("CARGO_BIN_EXE_bench-virtual")));
        let (near, far) = (named(near), far.map(named));
        Owner { state: TempDir::new().unwrap(), near, far, program: powerband().unwrap() }
    }

    /// A file next to its ledger, with this text.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.state.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// With what comes before it on its command line.
    fn command(&self, mut before: Vec<String>, words: &str) -> Command {
        before.push(self.program.display().to_string());
        before.extend(with_machines(&split(words), Some(&self.near), self.far.as_deref()));
        let mut command = Command::new(&before[0]);
        command.args(&before[1..]).stdin(Stdio::null());
        command.env("POWERBAND_STATE_DIR", self.state.path().join("state")).current_dir(self.state.path());
        // An emulated kernel answers late next to compilers.
        command.env("POWERBAND_PEER_TIMEOUT", "60s");
        command.env("POWERBAND_SEED", "1");
        for name in ["POWERBAND_MACHINE", "POWERBAND_STORE"] {
            command.env_remove(name);
        }
        command
    }

    /// Starts it; it does not outlive its test.
    pub(crate) fn start(&self, words: &str) -> Running {
        let child = self.command(Vec::new(), words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Running(Some(child))
    }

    /// What it prints, having ended with `code`: standard output, standard error. It is ended where it waits for a guest in vain.
    #[track_caller]
    pub(crate) fn run(&self, code: i32, words: &str) -> (String, String) {
        ended(&self.command(split(LIMIT), words).output().unwrap(), code)
    }

    /// The same as JSON, having ended well.
    #[track_caller]
    pub(crate) fn json(&self, words: &str) -> Value {
        let (out, _) = self.run(0, &format!("--json {words}"));
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }
}

/// The words of a line; spaces between single quotes separate none.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A powerband that runs.
pub(crate) struct Running(Option<Child>);

impl Running {
    /// What it printed, having ended with `code` by itself.
    #[track_caller]
    pub(crate) fn end(mut self, code: i32) -> (String, String) {
        let deadline = Instant::now() + Duration::from_secs(300);
        while self.0.as_mut().unwrap().try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        ended(&self.0.take().unwrap().wait_with_output().unwrap(), code)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[track_caller]
fn ended(output: &Output, code: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    (out, err)
}

/// The setting of a report by its label.
#[track_caller]
fn setting<'r>(report: &'r Value, label: &str) -> &'r Value {
    let settings = report["settings"].as_array().unwrap();
    settings.iter().find(|setting| setting["label"] == label).unwrap_or_else(|| panic!("no {label} in {report}"))
}

/// The typical value of a metric at a setting.
#[track_caller]
pub(crate) fn typical(report: &Value, label: &str, metric: &str) -> f64 {
    let value = setting(report, label)["levels"][metric]["typical"].as_f64();
    value.unwrap_or_else(|| panic!("no {metric} of {label}: {report}"))
}

/// The verdict on a setting by a metric.
#[track_caller]
pub(crate) fn verdict<'r>(report: &'r Value, label: &str, metric: &str) -> &'r str {
    let verdict = setting(report, label)["verdicts"][metric]["verdict"].as_str();
    verdict.unwrap_or_else(|| panic!("no verdict on {metric} of {label}: {report}"))
}
