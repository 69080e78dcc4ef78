//! Optuna as a peer: an environment with it, made once in the target folder, and a process that asks and is told.

use powerband_advice::Factor;
use serde::Deserialize;
use serde_json::json;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What is installed; another version is another peer.
const OPTUNA: &str = "optuna==5.0.0";

/// What its Gaussian process needs besides: some gigabytes.
const FOR_GP: [&str; 2] = ["scipy", "torch"];

/// What asks and is told at the other end of the pipes.
const DRIVER: &str = include_str!("../optuna_peer.py");

/// One of Optuna's samplers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sampler {
    /// Its default: a tree of Parzen estimators, ten first trials at random.
    Tpe,
    /// The same over all knobs together, five first trials at random.
    TpeMultivariate,
    /// A Gaussian process, five first trials at random.
    Gp,
}

impl Sampler {
    /// As it is called in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Sampler::Tpe => "tpe",
            Sampler::TpeMultivariate => "tpe-multivariate",
            Sampler::Gp => "gp",
        }
    }
}

/// A Python that has Optuna.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    python: PathBuf,
    driver: PathBuf,
}

impl Environment {
    /// Makes or finds it in `folder`; `gp` also fetches what the Gaussian process needs.
    ///
    /// # Errors
    /// A sentence that says what could not be had.
    pub(crate) fn in_folder(folder: &Path, gp: bool) -> Result<Self, String> {
        std::fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let home = folder.join("python");
        let python = home.join("bin/python");
        if !python.exists() {
            run(Command::new("python3").args(["-m", "venv"]).arg(&home), "cannot make a Python environment")?;
        }
        let mut wanted = vec![(OPTUNA, "optuna")];
        if gp {
            wanted.extend(FOR_GP.map(|package| (package, package)));
        }
        for (package, module) in wanted {
            let has = Command::new(&python).args(["-c", &format!("import {module}")]).stderr(Stdio::null()).status();
            if !has.is_ok_and(|status| status.success()) {
                let mut pip = Command::new(&python);
                let pip = pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]);
                run(pip, &format!("cannot fetch {package} from PyPI"))?;
            }
        }
        let driver = folder.join("optuna_peer.py");
        std::fs::write(&driver, DRIVER).map_err(|error| format!("cannot write {}: {error}", driver.display()))?;
        Ok(Self { python, driver })
    }

    /// Starts a process that answers for one sampler, search after search.
    ///
    /// # Errors
    /// When it does not start.
    pub(crate) fn start(&self, sampler: Sampler) -> Result<Peer, String> {
        let mut child = Command::new(&self.python)
            .arg(&self.driver)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", self.python.display()))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(to), Some(from)) => Ok(Peer { child, to: Some(to), from: BufReader::new(from), sampler }),
            _ => Err("Optuna's process has no pipes".to_owned()),
        }
    }
}

fn run(command: &mut Command, what: &str) -> Result<(), String> {
    match command.stdout(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stderr);
            Err(format!("{what}: {}", words.trim().lines().last().unwrap_or("it said nothing")))
        }
        Err(error) => Err(format!("{what}: {error}")),
    }
}

/// A process of Optuna's. Ends when dropped.
pub(crate) struct Peer {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    sampler: Sampler,
}

#[derive(Deserialize)]
struct Levels {
    levels: Vec<usize>,
}

impl Peer {
    /// Begins a new search over these knobs.
    pub(crate) fn open(&mut self, seed: u64, factors: &[Factor]) -> Result<(), String> {
        let knob = |factor: &Factor| match factor.is_ordered() {
            true => json!({ "numbers": factor.levels() }),
            false => json!({ "names": factor.levels() }),
        };
        let knobs: Vec<serde_json::Value> = factors.iter().map(knob).collect();
        self.say(&json!({ "open": { "sampler": self.sampler.name(), "seed": seed, "knobs": knobs } })).map(|_| ())
    }

    /// The levels of the next trial.
    pub(crate) fn ask(&mut self) -> Result<Vec<usize>, String> {
        let answer = self.say(&json!({ "ask": true }))?;
        let levels: Levels = serde_json::from_str(&answer).map_err(|error| format!("Optuna said {answer}: {error}"))?;
        Ok(levels.levels)
    }

    /// What the trial brought; an excess above 0 breaks a bound.
    pub(crate) fn tell(&mut self, goal: f64, excess: &[f64]) -> Result<(), String> {
        self.say(&json!({ "tell": { "goal": goal, "excess": excess } })).map(|_| ())
    }

    fn say(&mut self, what: &serde_json::Value) -> Result<String, String> {
        let lost = |error: &dyn std::fmt::Display| format!("Optuna's process went away: {error}");
        let to = self.to.as_mut().ok_or("Optuna's process was closed")?;
        writeln!(to, "{what}").and_then(|()| to.flush()).map_err(|error| lost(&error))?;
        let mut answer = String::new();
        match self.from.read_line(&mut answer) {
            Ok(0) => Err(lost(&"it closed its output; its error stands above")),
            Ok(_) => Ok(answer),
            Err(error) => Err(lost(&error)),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Its loop ends with its input.
        self.to = None;
        let _ = self.child.wait();
    }
}
