//! The emulator's process: its private folder, the keeper that ends both when we have ended, its rank on this machine.
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{BenchError, Result};
use crate::places;
use crate::port::{Port, quoted};
use crate::qmp::Qmp;

/// The emulator of a PC.
pub(crate) const PC_EMULATOR: &str = "qemu-system-x86_64";

/// How long it may take until the emulator listens; it takes less than a second where CPUs are free.
const START: Duration = Duration::from_secs(300);

/// The emulator's version as far as what a guest does depends on it: `QEMU 7.2`.
///
/// # Errors
/// When it is not on this machine.
pub fn version() -> Result<String> {
    let said = places::run(Command::new(PC_EMULATOR).arg("--version"))?;
    let number =
        said.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit())).unwrap_or_default();
    Ok(format!("QEMU {}", number.splitn(3, '.').take(2).collect::<Vec<_>>().join(".")))
}

/// Who comes first on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// The emulator, as far as it has the right to: what its clocks allow it the guest shall get, also next to others at work.
    Ahead,
    /// Nobody.
    Equal,
}

impl Rank {
    /// As `chrt` has it.
    fn words(self) -> [&'static str; 2] {
        match self {
            Rank::Ahead => ["--rr", "1"],
            Rank::Equal => ["--other", "0"],
        }
    }
}

/// A private folder for sockets, disk and console, with a keeper that removes it when we have ended, in whatever manner. The
/// keeper makes it too, so that there is no moment in which nobody would remove it.
#[derive(Debug)]
pub(crate) struct Kept {
    keeper: Child,
    stdout: BufReader<ChildStdout>,
    path: PathBuf,
}

impl Kept {
    /// Starts the keeper.
    pub(crate) fn make() -> Result<Self> {
        use std::os::unix::process::CommandExt as _;
        let failed = || BenchError::file("hear from", Path::new("sh"));
        let mut command = Command::new("sh");
        command.args(["-c", include_str!("../guest/keeper.sh"), "keeper"]).arg(std::env::temp_dir());
        // A Ctrl-C is for us; the keeper and the emulator end after us, in order.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut keeper = command.spawn().map_err(BenchError::file("start", Path::new("sh")))?;
        let stdout = keeper.stdout.take().ok_or_else(|| failed()(ErrorKind::BrokenPipe.into()))?;
        let mut kept = Kept { keeper, stdout: BufReader::new(stdout), path: PathBuf::new() };
        kept.path = PathBuf::from(kept.line()?);
        if kept.path.is_dir() { Ok(kept) } else { Err(BenchError::Missing("no temporary folder can be made".into())) }
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Starts the emulator under the keeper, which ends it when we end.
    pub(crate) fn start(mut self, program: &str, words: &[String]) -> Result<Emulator> {
        let words = std::iter::once(program).chain(words.iter().map(String::as_str));
        let quoted: Vec<Vec<u8>> = words.map(|word| quoted(word.as_bytes())).collect();
        places::write(&self.path.join("words"), &quoted.join(&b' '))?;
        let told = self.keeper.stdin.as_mut().map(|stdin| stdin.write_all(b"start\n"));
        told.transpose().map_err(BenchError::file("speak to", Path::new("sh")))?;
        let process = self.line()?.parse().unwrap_or(0);
        let emulator = Emulator { folder: self, process };
        if process == 0 { Err(emulator.failed("the emulator's keeper did not start it")) } else { Ok(emulator) }
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.stdout.read_line(&mut line).map_err(BenchError::file("hear from", Path::new("sh")))?;
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // It ends the emulator at once, removes the folder, and cannot fail to end itself.
        let _ = self.keeper.wait();
    }
}

/// The emulator's process with everything that lies around it.
#[derive(Debug)]
pub(crate) struct Emulator {
    folder: Kept,
    pub(crate) process: u32,
}

impl Emulator {
    /// Puts all its threads before the others of this machine, or among them. Without the right to it they stay where they are.
    pub(crate) fn set_rank(&self, rank: Rank) {
        let [policy, priority] = rank.words();
        let mut chrt = Command::new("chrt");
        chrt.args(["--all-tasks", policy, "--pid", priority]).arg(self.process.to_string());
        let _ = chrt.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }

    /// Ends it at once and waits for its end; the folder stays.
    pub(crate) fn kill(&self) {
        let process = i32::try_from(self.process).ok().and_then(Pid::from_raw);
        let _ = process.map(|process| kill_process(process, Signal::KILL));
        while self.lives() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Connects the port and two monitors.
    pub(crate) fn attach(&self) -> Result<(Port, Qmp, Qmp)> {
        let place = self.folder.path();
        let attached = self.wait_for(&place.join("silicon.sock")).and_then(|()| {
            Ok((
                Port::connect(&place.join("port.sock"))?,
                Qmp::connect(&place.join("monitor.sock"))?,
                Qmp::connect(&place.join("silicon.sock"))?,
            ))
        });
        attached.map_err(|error| self.failed(&error.to_string()))
    }

    fn wait_for(&self, socket: &Path) -> Result<()> {
        let deadline = Instant::now() + START;
        while !socket.exists() {
            if !self.lives() || Instant::now() > deadline {
                return Err(BenchError::Missing("the emulator did not start".into()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// The private folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Whether it runs. What ended stays a zombie until its keeper is told to end.
    pub(crate) fn lives(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process)).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    }

    /// What the guest's console shows so far.
    pub(crate) fn console(&self) -> String {
        let text = fs::read(self.folder.path().join("console.log")).unwrap_or_default();
        String::from_utf8_lossy(&text).replace('\r', "")
    }

    /// An error that shows what the emulator and the guest have said. The first line of a kernel's warning says what it is
    /// about, and may be far above the last: so all of it.
    pub(crate) fn failed(&self, what: &str) -> BenchError {
        let said = fs::read_to_string(self.folder.path().join("emulator.log")).unwrap_or_default();
        BenchError::Guest { what: what.to_owned(), console: said + &self.console() }
    }
}
