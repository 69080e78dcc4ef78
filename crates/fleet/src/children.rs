//! Tasks as child processes of ours, each behind a command that runs a command on a node.
//!
//! No folder has to be shared: the task reads what it is to do from its standard input and prints its header and events, which
//! we append to the node's file. When its standard input ends, because we cancel it or because we are gone, it restores what
//! it changed and ends. What a command prints besides is a stranger's: little of it is kept, and much of it ends the command.
use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
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

/// Bytes that may come beside results, and as much of standard error is kept from its beginning and from its end.
const TALK: usize = 1 << 20;

/// Bytes of a line of results at most.
const LINE: usize = 64 << 20;

/// Characters of a launcher's line that are quoted.
const QUOTED: usize = 200;

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
    /// Gets the last line of its standard error.
    said: Receiver<Option<String>>,
    cancelled: Option<Instant>,
}

/// What a task has handed back.
#[derive(Debug, Default)]
struct Kept {
    /// Why its results could not be kept.
    failed: Option<String>,
    /// Whether there were any.
    any: bool,
    /// Whether the task began, however that went on.
    greeted: bool,
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

/// A command for a shell that ends with all that it has started when we are gone, whatever ended us: first as by Ctrl-C.
fn watched(line: &str) -> String {
    let us = std::process::id();
    format!(
        "(trap '' TERM; while kill -0 {us} 2>&1; do sleep 1; done; kill -TERM 0; sleep {}; kill -KILL 0) </dev/null >/dev/null 2>&1 & {line}",
        RESTORING.as_secs()
    )
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
        let hello = task.hello();
        let task = serde_json::to_string(&task).map_err(|error| FleetError::NoFleet(error.to_string()))?;
        let log = folder.path().join(format!("node-{}-{}.log", node.name, file.number()));
        let opened = OpenOptions::new().append(true).create(true).open(&log);
        let mut log = opened.map_err(|error| FleetError::file("make", &log, &error))?;
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(watched(&line(&self.command, &node.name, &fleet.program)));
        // Ctrl-C is for us: we end the tasks, and wait for them.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let none =
            |error: std::io::Error| FleetError::NoProgram { program: "/bin/sh".into(), why: system_words(&error) };
        let mut child = command.spawn().map_err(none)?;
        let mut input = child.stdin.take();
        if let Some(input) = &mut input {
            // One that ended at once says why by its end.
            drop(input.write_all(task.as_bytes()).and_then(|()| input.write_all(b"\n")).and_then(|()| input.flush()));
        }
        let ((tell, kept), (tell_said, said)) = (channel(), channel());
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || drop(tell.send(keep(output, &hello, &mut file))));
        }
        if let Some(errors) = child.stderr.take() {
            std::thread::spawn(move || drop(tell_said.send(log_errors(errors, &mut log))));
        }
        self.ended.remove(&position);
        self.running.insert(position, Running { child, input, kept, said, cancelled: None });
        Ok(None)
    }

    fn look(&mut self, _: &Fleet) -> Result<BTreeMap<u32, Seen>, FleetError> {
        let positions: Vec<u32> = self.running.keys().copied().collect();
        for position in positions {
            let Some(running) = self.running.get_mut(&position) else { continue };
            let early = running.kept.try_recv().ok();
            // A task whose results cannot be kept restores and ends; a command that never began one has nothing to restore.
            if early.as_ref().is_some_and(|kept| kept.failed.is_some() && !kept.greeted)
                || running.cancelled.is_some_and(|since| since.elapsed() >= RESTORING)
            {
                end(&running.child);
            }
            if let Some(early) = early {
                let (tell, kept) = channel();
                running.kept = kept;
                drop(tell.send(early));
            }
            let Ok(Some(status)) = running.child.try_wait() else { continue };
            // What it left, and what watches over it, ends with it.
            end(&running.child);
            // All it printed is in the file by then; what holds its output open after its end is waited for in vain.
            let kept = running.kept.recv_timeout(Duration::from_secs(5)).unwrap_or_default();
            let said = running.said.recv_timeout(Duration::from_secs(5)).unwrap_or_default();
            self.ended.insert(position, why(status, &kept, said.as_deref()));
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

    fn end(&mut self) {
        self.running.values().for_each(|running| end(&running.child));
    }

    fn period_ms(&self) -> u64 {
        PERIOD_MS
    }
}

/// Why a task that has ended did not do what it was to do, where that is so; `said` is the last line of its standard error.
fn why(status: ExitStatus, kept: &Kept, said: Option<&str>) -> Option<String> {
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

/// Appends what a task prints to its file, from its hello on. Other lines are a launcher's, such as a greeting.
fn keep(output: impl Read, hello: &str, file: &mut AttemptFile) -> Kept {
    let (mut output, mut kept, mut talk) = (BufReader::new(output), Kept::default(), 0);
    let failed = |kept: Kept, why: String| Kept { failed: Some(why), ..kept };
    let mut line = Vec::new();
    loop {
        line.clear();
        let most = if kept.greeted { LINE } else { TALK };
        match (&mut output).take(most as u64).read_until(b'\n', &mut line) {
            Ok(1..) => {}
            Ok(0) | Err(_) => return kept,
        }
        let is_whole = line.pop_if(|last| *last == b'\n').is_some();
        let text = String::from_utf8_lossy(&line);
        if !kept.greeted && text.trim_end() == hello {
            kept.greeted = true;
        } else if kept.greeted && text.is_empty() {
            file.touch();
        } else if kept.greeted && text.starts_with('{') {
            kept.any = true;
            let written = if is_whole || line.len() < LINE {
                file.line(&text, text.contains("\"block_done\"")).map_err(|error| error.to_string())
            } else {
                Err(format!("it handed back a line of more than {} MB", LINE >> 20))
            };
            if let Err(why) = written {
                file.failed(&why);
                // What it prints now is not kept; its next line meets a closed pipe, and it restores and ends.
                return failed(kept, why);
            }
        } else {
            talk += line.len() + 1;
            kept.printed = quotable(&text).or(kept.printed);
            if talk > TALK {
                let last = kept.printed.clone().unwrap_or_default();
                return failed(
                    kept,
                    format!("its launcher printed more than {} MB that are no results, as '{last}'", TALK >> 20),
                );
            }
        }
    }
}

/// Writes the first and the last [`TALK`] of a launcher's standard error to its log; the last line of it.
fn log_errors(mut errors: impl Read, log: &mut File) -> Option<String> {
    let (mut buffer, mut last, mut count) = ([0; 1 << 16], VecDeque::new(), 0_usize);
    while let Ok(got @ 1..) = errors.read(&mut buffer) {
        let first = got.min(TALK.saturating_sub(count));
        // A log that is full is a log that ends there.
        drop(log.write_all(&buffer[..first]));
        last.extend(&buffer[..got]);
        last.drain(..last.len().saturating_sub(TALK));
        count += got;
    }
    let last: Vec<u8> = last.into();
    if count > TALK {
        let left_out = count.saturating_sub(2 * TALK);
        let rest = &last[last.len() - (count - TALK).min(TALK)..];
        drop(writeln!(log, "\n({left_out} bytes left out)").and_then(|()| log.write_all(rest)));
    }
    String::from_utf8_lossy(&last).lines().rev().find_map(quotable)
}

/// The beginning of a line, where it says something.
fn quotable(line: &str) -> Option<String> {
    let line: String = line.trim().chars().filter(|c| !c.is_control()).take(QUOTED).collect();
    (!line.is_empty()).then_some(line)
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
        let ended = |code: i32, kept: Kept, said: &str| {
            why(ExitStatus::from_raw(code << 8), &kept, Some(said).filter(|said| !said.is_empty()))
        };
        let printed = |line: &str| Kept { printed: Some(line.into()), ..Kept::default() };
        let results = || Kept { any: true, ..Kept::default() };
        assert_eq!(ended(0, results(), "a note"), None);
        assert_eq!(
            ended(0, printed("hello n1"), "").unwrap(),
            "its launcher ended with exit code 0 and printed 'hello n1', and no results"
        );
        assert_eq!(
            ended(255, Kept::default(), "").unwrap(),
            "its launcher ended with exit code 255 and printed nothing"
        );
        let refused = "ssh: connect to host n1 port 22: Connection refused";
        assert!(ended(255, printed("hello"), refused).unwrap().contains("exit code 255 and printed 'ssh: connect to"));
        // What a task says of itself is what it is about.
        assert_eq!(ended(7, results(), "powerband: the load failed").unwrap(), "the load failed");
        assert_eq!(why(ExitStatus::from_raw(9), &results(), None).unwrap(), "its launcher ended with signal 9");
    }

    #[test]
    fn the_command_runs_a_command_on_a_node() {
        assert_eq!(line("ssh {node}", "n1", "/usr/bin/powerband"), "ssh n1 /usr/bin/powerband fleet task --stdio");
        assert_eq!(line("", "n1", "a b"), "exec 'a b' fleet task --stdio");
    }

    /// What is kept of an output behind the task's hello, and the node's file.
    fn kept(output: impl Read) -> (Kept, String) {
        let folder = tempfile::tempdir().unwrap();
        let mut file = AttemptFile::next(folder.path(), "n1").unwrap();
        let kept = keep(output, "powerband task 1 0.0", &mut file);
        (kept, std::fs::read_to_string(folder.path().join("node-n1-0.jsonl")).unwrap())
    }

    #[test]
    fn results_are_what_comes_behind_the_tasks_hello() {
        let text = "motd\n{\"of\": \"a launcher\"}\npowerband task 1 0.0\n{\"a\":1}\n\nwarning: x\n{\"b\":2}\n";
        let (of_task, file) = kept(text.as_bytes());
        assert_eq!((of_task.any, of_task.failed, file.as_str()), (true, None, "{\"a\":1}\n{\"b\":2}\n"));
        for text in ["", "{\"a\":1}\n", "powerband task 2 0.0\n{}\n"] {
            let (of_stranger, file) = kept(text.as_bytes());
            assert_eq!((of_stranger.any, of_stranger.greeted, file.as_str()), (false, false, ""), "{text}");
        }
    }

    #[test]
    fn a_launcher_that_prints_without_end_is_not_read_without_end() {
        let mut cycle = b"{\"json\": \"of others\"}\n".iter().cycle();
        let others = std::iter::repeat_with(|| *cycle.next().unwrap()).take(1 << 26).collect::<Vec<u8>>();
        for output in
            [Box::new(std::io::repeat(0)) as Box<dyn Read>, Box::new(std::io::repeat(b'y')), Box::new(&others[..])]
        {
            let (of_launcher, file) = kept(output);
            let why = of_launcher.failed.unwrap();
            assert!(
                why.starts_with("its launcher printed more than 1 MB that are no results") && why.len() < 300,
                "{why}"
            );
            assert_eq!(file, "");
        }
        let mut log = tempfile::tempfile().unwrap();
        let errors = format!("first\n{}last\n", "x\n".repeat(5 << 20));
        assert_eq!(log_errors(errors.as_bytes(), &mut log).as_deref(), Some("last"));
        let length = usize::try_from(log.metadata().unwrap().len()).unwrap();
        assert!((2 * TALK..2 * TALK + 100).contains(&length), "{length}");
    }
}
