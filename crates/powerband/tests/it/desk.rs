//! The binary as a process in a state folder, and what else only a process shows.
use std::ops::Deref;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

#[path = "../pure/desk.rs"]
mod called;
pub(crate) use called::*;

/// How long anything may take that is waited for here; far beyond what it takes.
const PATIENCE: Duration = Duration::from_secs(180);

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

/// A fresh state folder, whose words the binary is started with if they need a process.
pub(crate) struct Desk(called::Desk);

impl Deref for Desk {
    type Target = called::Desk;

    fn deref(&self) -> &called::Desk {
        &self.0
    }
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Ran {
        Ran {
            code: output.status.code(),
            out: String::from_utf8(output.stdout.clone()).unwrap(),
            err: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }
}

/// Whether these words read a store, or look at or set a machine that is not real: then no process is needed. Experiments are run by a
/// process, because its end is what resuming one asks for.
fn is_called(words: &[String]) -> bool {
    let mut left = words.iter().map(String::as_str);
    let (mut verb, mut modelled, mut other) = (None, false, false);
    while let Some(word) = left.next() {
        match word {
            "--" => break,
            "--machine" | "--far" => {
                let is_modelled = |it: &str| ["sim:", "recorded:", "table:"].iter().any(|kind| it.starts_with(kind));
                let machine = left.next().is_some_and(is_modelled);
                (modelled, other) = (modelled || machine, other || !machine);
            }
            "--machines" => other = true,
            "--store" => other |= left.next().is_some_and(|store| store.contains("://")),
            _ if !word.starts_with('-') => verb = verb.or(Some(word)),
            _ => {}
        }
    }
    let reads = ["list", "show", "export", "report", "compare", "knobs", "help"];
    let runs = ["info", "get", "set", "undo", "doctor", "why"];
    !other && verb.is_some_and(|verb| reads.contains(&verb) || (modelled && runs.contains(&verb)))
}

/// The binary, ready to start with these words.
fn command(desk: &called::Desk, words: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_powerband"));
    furnish(desk, &mut command);
    command.args(words);
    command
}

fn furnish(desk: &called::Desk, command: &mut Command) {
    command.current_dir(workspace()).stdin(Stdio::null());
    for (name, value) in desk.variables() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

impl Desk {
    pub(crate) fn new() -> Desk {
        let mut desk = called::Desk::new();
        desk.by = |desk, words| match is_called(words) {
            true => desk.call(words),
            false => Ran::of(&command(desk, words).output().unwrap()),
        };
        Desk(desk)
    }

    /// One, if a test that needs root can run.
    pub(crate) fn as_root() -> Option<Desk> {
        root().then(Desk::new)
    }

    /// `file:` and the path of a file next to the state.
    pub(crate) fn knob(&self, name: &str) -> String {
        format!("file:{}", self.beside(name).display())
    }

    /// The binary, ready to start with these words.
    pub(crate) fn command(&self, words: &(impl Words + ?Sized)) -> Command {
        command(self, &words.words())
    }

    /// Gives a command this state folder and none of the surroundings' options.
    pub(crate) fn furnish(&self, command: &mut Command) {
        furnish(self, command);
    }

    /// Starts it, to be looked at while it runs.
    pub(crate) fn start(&self, words: &(impl Words + ?Sized)) -> Started {
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
