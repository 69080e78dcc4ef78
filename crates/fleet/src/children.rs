//! Tasks as child processes of ours, each behind a command that runs a command on a node.
//!
//! No folder has to be shared: the task reads what it is to do from its standard input and prints its header and events, which
//! we append to the node's file. When its standard input ends, because we cancel it or because we are gone, it restores what
//! it changed and ends.
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use powerband_record::{IntoOrdered as _, quoted, system_words};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::{AttemptFile, Fleet, FleetError, Folder, Launcher, Seen, Task};

const PERIOD_MS: u64 = 200;

/// How long a task may take to restore once its input has ended, before its command is ended.
const RESTORING: Duration = Duration::from_secs(60);

/// Child processes.
#[derive(Debug, Default)]
pub struct Children {
    command: String,
    running: BTreeMap<u32, Running>,
    ended: BTreeMap<u32, Option<String>>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    /// Open while it may run.
    input: Option<ChildStdin>,
    /// Gets what it handed back, once all of it has come.
    kept: Receiver<Kept>,
    log: std::path::PathBuf,
    cancelled: Option<Instant>,
}

/// What a task has handed back.
#[derive(Debug, Default)]
struct Kept {
    /// Why its results could not be kept.
    failed: Option<String>,
    /// Whether there were any.
    any: bool,
    /// The last line that is none of ours: what a launcher prints instead.
    printed: Option<String>,
}

impl Children {
    /// Behind a command, in which `{node}` is the node's name; an empty one runs tasks here.
    #[must_use]
    pub fn new(command: &str) -> Children {
        Children { command: command.to_owned(), ..Children::default() }
    }
}

/// Ends a command with all that it has started.
fn end(child: &Child) {
    // It may have ended meanwhile.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

/// The words that start a task on a node, for a shell.
fn line(command: &str, node: &str, program: &str) -> String {
    let task = format!("{} fleet task --stdio", quoted(program));
    if command.is_empty() { format!("exec {task}") } else { format!("{} {task}", command.replace("{node}", node)) }
}

impl Launcher for Children {
    fn start(&mut self, fleet: &Fleet, folder: &Folder, position: u32) -> Result<Option<String>, FleetError> {
        let Some(node) = fleet.node(position) else { return Ok(Some("it is not in the order".into())) };
        let mut file = folder.next_attempt(&node.name)?;
        let task = Task { fleet: fleet.clone(), position, attempt: file.number() };
        let task = serde_json::to_string(&task).map_err(|error| FleetError::NoFleet(error.to_string()))?;
        let log = folder.path().join(format!("node-{}-{}.log", node.name, file.number()));
        let opened = OpenOptions::new().append(true).create(true).open(&log);
        let errors = opened.map_err(|error| FleetError::file("make", &log, &error))?;
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line(&self.command, &node.name, &fleet.program));
        // Ctrl-C is for us: we end the tasks, and wait for them.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let none =
            |error: std::io::Error| FleetError::NoProgram { program: "/bin/sh".into(), why: system_words(&error) };
        let mut child = command.spawn().map_err(none)?;
        let mut input = child.stdin.take();
        if let Some(input) = &mut input {
            // One that ended at once says why by its end.
            drop(input.write_all(task.as_bytes()).and_then(|()| input.write_all(b"\n")).and_then(|()| input.flush()));
        }
        let (tell, kept) = channel();
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || drop(tell.send(keep(output, &mut file))));
        }
        self.ended.remove(&position);
        self.running.insert(position, Running { child, input, kept, log, cancelled: None });
        Ok(None)
    }

    fn look(&mut self, _: &Fleet) -> Result<BTreeMap<u32, Seen>, FleetError> {
        let positions: Vec<u32> = self.running.keys().copied().collect();
        for position in positions {
            let Some(running) = self.running.get_mut(&position) else { continue };
            if running.cancelled.is_some_and(|since| since.elapsed() >= RESTORING) {
                end(&running.child);
            }
            let Ok(Some(status)) = running.child.try_wait() else { continue };
            // All it printed is in the file by then; what holds its output open after its end is waited for in vain.
            let kept = running.kept.recv_timeout(Duration::from_secs(5)).unwrap_or_default();
            let said = std::fs::read_to_string(&running.log).unwrap_or_default();
            self.ended.insert(position, why(status, &kept, &said));
            self.running.remove(&position);
        }
        let running = self.running.keys().map(|at| (*at, Seen::Running));
        let ended = self.ended.iter().map(|(at, why)| (*at, Seen::Ended(why.clone())));
        Ok(running.chain(ended).into_map())
    }

    fn cancel(&mut self, _: &Fleet, positions: &[u32]) -> Result<(), FleetError> {
        for (_, running) in self.running.iter_mut().filter(|(at, _)| positions.contains(at)) {
            running.input = None;
            running.cancelled.get_or_insert_with(Instant::now);
        }
        Ok(())
    }

    fn has_begun_what_runs(&self) -> bool {
        false
    }

    fn period_ms(&self) -> u64 {
        PERIOD_MS
    }
}

/// Why a task that has ended did not do what it was to do, where that is so; `said` is what came on its standard error.
fn why(status: ExitStatus, kept: &Kept, said: &str) -> Option<String> {
    let said = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let of_task = said.and_then(|line| line.strip_prefix("powerband: ")).filter(|_| !status.success());
    if let Some(why) = kept.failed.as_deref().or(of_task) {
        return Some(why.to_owned());
    }
    if status.success() && kept.any {
        return None;
    }
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or_default()),
    };
    Some(match (said.or(kept.printed.as_deref()), kept.any) {
        (Some(line), true) => format!("its launcher ended with {how} and printed '{line}'"),
        (Some(line), false) => format!("its launcher ended with {how} and printed '{line}', and no results"),
        (None, true) => format!("its launcher ended with {how}"),
        (None, false) => format!("its launcher ended with {how} and printed nothing"),
    })
}

/// Appends what a task prints to its file. Lines that are not of ours, such as a greeting, show that it lives.
fn keep(output: impl std::io::Read, file: &mut AttemptFile) -> Kept {
    let mut kept = Kept::default();
    for line in BufReader::new(output).lines() {
        let Ok(line) = line else { break };
        if !line.starts_with('{') {
            file.touch();
            kept.printed = Some(line.trim().to_owned()).filter(|line| !line.is_empty()).or(kept.printed);
            continue;
        }
        kept.any = true;
        if let Err(error) = file.line(&line, line.contains("\"block_done\"")) {
            let why = error.to_string();
            file.failed(&why);
            // What it prints now is not kept; its next line meets a closed pipe, and it restores and ends.
            return Kept { failed: Some(why), ..kept };
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_ends_with_what_it_has_started() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "sleep 1000 & echo started; wait"]).process_group(0).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "started");
        let (tell, ended) = channel();
        std::thread::spawn(move || tell.send(lines.next().is_none()));
        end(&child);
        child.wait().unwrap();
        // What it started would hold the output open.
        assert!(ended.recv_timeout(Duration::from_secs(60)).unwrap());
    }

    #[test]
    fn a_launcher_that_started_no_task_is_quoted() {
        let ended = |code: i32, kept: Kept, said: &str| why(ExitStatus::from_raw(code << 8), &kept, said);
        let printed = |line: &str| Kept { printed: Some(line.into()), ..Kept::default() };
        let results = || Kept { any: true, ..Kept::default() };
        assert_eq!(ended(0, results(), "a note\n"), None);
        assert_eq!(
            ended(0, printed("hello n1"), "").unwrap(),
            "its launcher ended with exit code 0 and printed 'hello n1', and no results"
        );
        assert_eq!(
            ended(255, Kept::default(), "").unwrap(),
            "its launcher ended with exit code 255 and printed nothing"
        );
        let refused = "ssh: connect to host n1 port 22: Connection refused\n\n";
        assert!(ended(255, printed("hello"), refused).unwrap().contains("exit code 255 and printed 'ssh: connect to"));
        // What a task says of itself is what it is about.
        assert_eq!(ended(7, results(), "powerband: the load failed\n").unwrap(), "the load failed");
        assert_eq!(why(ExitStatus::from_raw(9), &results(), "").unwrap(), "its launcher ended with signal 9");
    }

    #[test]
    fn the_command_runs_a_command_on_a_node() {
        assert_eq!(line("ssh {node}", "n1", "/usr/bin/powerband"), "ssh n1 /usr/bin/powerband fleet task --stdio");
        assert_eq!(line("", "n1", "a b"), "exec 'a b' fleet task --stdio");
    }
}
