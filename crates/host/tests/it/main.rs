//! This box as it really is: processes, groups, signals, files. Run as root; nothing is left behind.
//!
//! `cargo test -p powerband-host` builds the helper the loads are started through (`examples/scenes.rs`).
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on has failed, and says why")]
mod counting;
mod groups;
mod ledger;
mod pinging;
mod processes;
mod ranks;
mod serving;
mod signals;
mod stream;
mod stretch;
mod turning;
mod waiting;
mod wake;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use powerband_host::{FileLedger, HostWorld, LocalMachine};
use powerband_machine::{Finished, Job, Machine, ProcessId, Wake, World};
use powerband_record::{Side, Work};
use tempfile::TempDir;

/// The helper, which cargo builds next to the tests.
fn helper() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let path = own.parent().and_then(|deps| deps.parent()).unwrap().join("examples/scenes");
    assert!(path.exists(), "{} is missing: run cargo test -p powerband-host, without --test", path.display());
    path
}

/// A scene of the helper.
fn scene(words: &[&str]) -> Command {
    let mut command = Command::new(helper());
    command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null());
    command
}

/// A world with a ledger of its own.
struct Stage {
    world: HostWorld,
    folder: TempDir,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let machine = LocalMachine::new(FileLedger::new(folder.path())).unwrap().with_program(&helper());
        Stage { world: HostWorld::new(machine).unwrap(), folder }
    }

    fn near(&mut self) -> &mut dyn Machine {
        self.world.machine(Side::Near).unwrap()
    }

    /// Waits until it has ended; answers what it said meanwhile, too.
    fn end_of(&mut self, process: ProcessId) -> (Finished, Vec<serde_json::Value>) {
        let deadline = self.world.now_ns() + 60_000_000_000;
        let mut said = Vec::new();
        loop {
            match self.world.wait(Some(deadline)) {
                Wake::Ended(Side::Near, ended) if ended == process => break,
                Wake::Said(Side::Near, from, value) if from == process => said.push(value),
                other => panic!("{other:?}"),
            }
        }
        let finished = self.near().finished(process).unwrap();
        assert!(self.near().finished(process).is_none(), "only once");
        (finished, said)
    }

    fn run(&mut self, job: &Job) -> Finished {
        let process = self.near().spawn(job).unwrap();
        self.end_of(process).0
    }

    fn sh(&mut self, script: &str) -> Finished {
        self.run(&sh(script))
    }
}

impl Drop for Stage {
    /// Also of a test that failed nothing stays turned.
    fn drop(&mut self) {
        for entry in self.near().open_entries() {
            let _ = self.near().undo(entry.id, true);
        }
    }
}

fn job(work: Work) -> Job {
    Job { work, cpus: None, group: None, user: None, output_limit: Some(10_000), around: Vec::new() }
}

fn command(argv: &[&str]) -> Job {
    job(Work::command(argv.iter().map(|&word| word.to_owned()).collect()))
}

fn sh(script: &str) -> Job {
    command(&["sh", "-c", script])
}

fn counter(ms: u64) -> Work {
    Work::Counter { for_ns: ms * 1_000_000, align_to_second: false }
}

/// Whether a test that needs root can run. With CI=true one that cannot is a failure.
fn can_be_root() -> bool {
    let root = std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    assert!(root || std::env::var("CI").as_deref() != Ok("true"), "this test needs root, and CI=true");
    if !root {
        eprintln!("not run: needs root");
    }
    root
}
