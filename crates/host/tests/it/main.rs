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
use std::time::{Duration, Instant};

use powerband_host::{FileLedger, HostWorld, LocalMachine};
use powerband_machine::{
    Acted, EntryId, Errno, Finished, Job, Machine, ProcessId, SpawnError, Turn, Undone, Wake, World,
};
use powerband_record::{CpuList, Side, Work};
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

impl Stage {
    /// A stage if we are root.
    fn of_root() -> Option<Self> {
        can_be_root().then(Stage::new)
    }

    fn act(&mut self, turn: &Turn) -> Acted {
        self.near().act(turn).unwrap()
    }

    fn undo(&mut self, entry: EntryId) -> Undone {
        self.near().undo(entry, false).unwrap()
    }

    fn spawn(&mut self, job: &Job) -> ProcessId {
        self.near().spawn(job).unwrap()
    }

    /// The errno of a job that is refused.
    fn refused(&mut self, job: &Job) -> Option<Errno> {
        match self.near().spawn(job).unwrap_err() {
            SpawnError::Refused { errno, .. } => Some(errno),
            _ => None,
        }
    }

    /// Starts what listens, and answers on which port it does.
    fn listening(&mut self, job: &Job) -> (ProcessId, u16) {
        let process = self.spawn(job);
        let Wake::Said(Side::Near, from, said) = self.world.wait(None) else { panic!("it is ready first") };
        assert_eq!(from, process);
        (process, u16::try_from(said["ready"]["port"].as_u64().unwrap()).unwrap())
    }

    /// Waits until all of them have ended, well.
    fn ends_of<const N: usize>(&mut self, processes: [ProcessId; N]) -> [Finished; N] {
        let mut open: Vec<_> = processes.into();
        while !open.is_empty() {
            let Wake::Ended(Side::Near, ended) = self.world.wait(None) else { panic!("only ends") };
            open.retain(|process| *process != ended);
        }
        processes.map(|process| {
            let finished = self.near().finished(process).unwrap();
            assert!(finished.status.success(), "{finished:?}");
            finished
        })
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }
}

/// Waits for what comes in a moment, far longer than that takes.
#[track_caller]
fn until(mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !done() {
        assert!(Instant::now() < deadline, "it does not come to that");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for a file that holds whole lines, and answers its words.
#[track_caller]
fn written(path: &str) -> Vec<String> {
    let read = || std::fs::read_to_string(path).unwrap_or_default();
    until(|| read().ends_with('\n'));
    read().split_whitespace().map(str::to_owned).collect()
}

/// Dead, or a zombie somebody else must reap; killed processes vanish after a moment.
#[track_caller]
fn assert_gone(pid: &str) {
    let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat"));
    until(|| stat().is_ok_and(|stat| stat.contains(") Z ")) || stat().is_err());
}

/// The CPUs that are online.
fn online() -> Vec<u32> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    text.trim().parse::<CpuList>().unwrap().as_slice().to_vec()
}

/// A number in the report of a job that ended well.
fn number(finished: &Finished, key: &str) -> f64 {
    assert!(finished.status.success(), "{finished:?}");
    finished.report.as_ref().unwrap()[key].as_f64().unwrap()
}

/// The cells of a reported histogram, in which something is counted, with mean and maximum as they are reported.
fn cells(finished: &Finished) -> Vec<(u64, u64)> {
    let cells = finished.report.as_ref().unwrap()["histogram"].clone();
    let cells: Vec<(u64, u64)> = serde_json::from_value(cells).unwrap();
    assert!(cells.is_sorted() && cells[0].0 > 0, "{cells:?}");
    let (mean, max) = (number(finished, "mean_ns"), number(finished, "max_ns"));
    assert!(mean > 0.0 && mean <= max, "{mean} {max}");
    cells
}

fn counted(finished: &Finished) -> u64 {
    cells(finished).iter().map(|(_, count)| count).sum()
}

fn cpu_ns(finished: &Finished) -> u64 {
    finished.usage.user_ns + finished.usage.sys_ns
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
    let (cpus, group, user, around) = (None, None, None, Vec::new());
    Job { work, cpus, group, user, output_limit: Some(10_000), around }
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
