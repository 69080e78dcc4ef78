//! The way to a machine by ssh: the user's own client and configuration; this very program is carried there, run, and gone.
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use powerband_machine::Errno;
use powerband_machine::wire::Hello;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal};

use crate::io_errno;
use crate::remote::{RemoteError, RemoteMachine};

/// How long connecting may take, ns.
const CONNECT_NS: u64 = 60_000_000_000;
/// How long carrying the program may stand still, ns.
const STILL_NS: u64 = 30_000_000_000;
/// At most so much is read of what the far end answers, bytes.
const ANSWER_BYTES: usize = 64 << 10;

/// Said there, by any POSIX shell: what the machine is, a private folder, the program from standard input. What it
/// prints begins each line with a word of ours, as start-up files may print too.
const UNPACK: &str = "umask 077; echo powerband-arch $(uname -m); d=$(mktemp -d \"${TMPDIR:-/tmp}/powerband.XXXXXXXX\") || exit 9; \
echo powerband-folder \"$d\"; cat > \"$d/NAME\" && chmod 700 \"$d/NAME\" && echo powerband-bytes $(wc -c < \"$d/NAME\")";

/// A host as the user's ssh knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ssh {
    /// The machine as named: `ssh:HOST`.
    pub name: String,
    /// `HOST` or `USER@HOST`.
    pub host: String,
}

impl Ssh {
    /// Carries this program there and speaks to the agent it becomes.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn connect(&self, hello: Hello) -> Result<RemoteMachine, RemoteError> {
        if self.host.starts_with('-') || self.host.is_empty() {
            return Err(self.unreachable("this is no host's name".into()));
        }
        let program = std::fs::read("/proc/self/exe")
            .map_err(|error| self.unreachable(format!("cannot read our own program: {}", io_errno(&error))))?;
        let name = format!("powerband-{:016x}", fnv(&program));
        let folder = self.carry(&program, &name)?;
        // The agent removes both as it begins, so that whatever happens nothing of ours stays there.
        let run = format!("exec '{folder}/{name}' agent --carried");
        RemoteMachine::connect(&self.name, &self.words(&run), hello).inspect_err(|_| self.remove(&folder, &name))
    }

    fn unreachable(&self, why: String) -> RemoteError {
        RemoteError::Unreachable { name: self.name.clone(), why, by_hand: format!("ssh {} true", self.host) }
    }

    /// The user's client: no terminal there, and no questions here, as nobody sees them.
    fn words(&self, script: &str) -> Vec<String> {
        let words = ["ssh", "-T", "-o", "BatchMode=yes", "--", &self.host];
        // Whatever the login shell is, a POSIX one understands this.
        let quoted = format!("exec sh -c '{}'", script.replace('\'', "'\\''"));
        words.iter().map(ToString::to_string).chain([quoted]).collect()
    }

    /// Answers the folder there.
    fn carry(&self, program: &[u8], name: &str) -> Result<String, RemoteError> {
        let words = self.words(&UNPACK.replace("NAME", name));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let child = command.spawn().map_err(|error| RemoteError::NotStarted {
            name: self.name.clone(),
            program: words[0].clone(),
            errno: io_errno(&error),
        })?;
        let mut way = Way { child, heard: String::new() };
        let carried = self.carry_on(&mut way, program);
        if let (Err(_), Some(folder)) = (&carried, way.told("powerband-folder")) {
            way.end();
            self.remove(&folder, name);
        }
        carried
    }

    fn carry_on(&self, way: &mut Way, program: &[u8]) -> Result<String, RemoteError> {
        let until_ns = crate::now_ns() + CONNECT_NS;
        let arch = way.wait_for("powerband-arch", until_ns).map_err(|why| self.unreachable(why))?;
        if arch != std::env::consts::ARCH {
            let ours = std::env::consts::ARCH;
            let why = format!(
                "it is {arch} and this powerband is built for {ours}; install one for {arch} there and use cmd:ssh {} powerband agent",
                self.host
            );
            return Err(RemoteError::Refused { name: self.name.clone(), exit: 4, why });
        }
        let folder = way.wait_for("powerband-folder", until_ns).map_err(|why| self.unreachable(why))?;
        if !folder.starts_with('/') || folder.contains('\'') {
            return Err(self.unreachable(format!("its temporary folder is called {folder}")));
        }
        let put = |errno: Errno| self.unreachable(format!("the program could not be carried there: {errno}"));
        way.put(program).map_err(put)?;
        let bytes = way.wait_for("powerband-bytes", crate::now_ns() + STILL_NS).map_err(|why| self.unreachable(why))?;
        if bytes != program.len().to_string() {
            return Err(self.unreachable(format!("of {} bytes of the program {bytes} came there", program.len())));
        }
        Ok(folder)
    }

    /// What an agent that never began could not remove itself; as good as it goes.
    fn remove(&self, folder: &str, name: &str) {
        let words = self.words(&format!("rm -f '{folder}/{name}'; rmdir '{folder}'"));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        if let Ok(child) = command.spawn() {
            let mut way = Way { child, heard: String::new() };
            way.wait_for_end(crate::now_ns() + STILL_NS);
        }
    }
}

/// FNV-1a, 64 bits: a name that tells one build from another.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// An ssh that runs a script there; killed when dropped.
struct Way {
    child: Child,
    heard: String,
}

impl Way {
    /// What stands behind a word of ours in a whole line.
    fn told(&self, word: &str) -> Option<String> {
        let whole = self.heard.rsplit_once('\n')?.0;
        whole.lines().find_map(|line| line.strip_prefix(word)).map(|rest| rest.trim().to_owned())
    }

    fn wait_for(&mut self, word: &str, until_ns: u64) -> Result<String, String> {
        loop {
            if let Some(told) = self.told(word) {
                return Ok(told);
            }
            let Some(output) = &mut self.child.stdout else { return Err("it says nothing".into()) };
            let mut fds = [PollFd::new(&*output, PollFlags::IN)];
            let polled = rustix::event::poll(&mut fds, Some(&crate::time_until(until_ns)));
            if crate::now_ns() >= until_ns {
                return Err("it says nothing in time".into());
            }
            if !matches!(polled, Ok(1..)) {
                continue;
            }
            let mut chunk = [0; 4096];
            match output.read(&mut chunk) {
                Ok(got @ 1..) if self.heard.len() < ANSWER_BYTES => {
                    self.heard += &String::from_utf8_lossy(&chunk[..got]);
                }
                _ => {
                    self.wait_for_end(crate::now_ns() + 1_000_000_000);
                    let ended = self.child.try_wait().ok().flatten().map(|status| format!(" ({status})"));
                    return Err(format!("it ended before it said {word}{}", ended.unwrap_or_default()));
                }
            }
        }
    }

    /// Everything into its standard input, then its end.
    fn put(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let input = self.child.stdin.take().ok_or(Errno::EPIPE)?;
        let input = OwnedFd::from(input);
        let flags = rustix::fs::fcntl_getfl(&input).map_err(crate::errno)?;
        rustix::fs::fcntl_setfl(&input, flags | OFlags::NONBLOCK).map_err(crate::errno)?;
        let mut left = bytes;
        while !left.is_empty() {
            match rustix::io::write(&input, left) {
                Ok(written) => left = &left[written..],
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => {
                    let still = crate::time_until(crate::now_ns() + STILL_NS);
                    let mut fds = [PollFd::new(&input, PollFlags::OUT)];
                    if rustix::event::poll(&mut fds, Some(&still)) == Ok(0) {
                        return Err(Errno::ETIMEDOUT);
                    }
                }
                Err(error) => return Err(crate::errno(error)),
            }
        }
        Ok(())
    }

    fn wait_for_end(&mut self, until_ns: u64) {
        while matches!(self.child.try_wait(), Ok(None)) && crate::now_ns() < until_ns {
            crate::pause_until(crate::now_ns() + 5_000_000);
        }
    }

    fn end(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = rustix::process::kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            self.wait_for_end(crate::now_ns() + 1_000_000_000);
        }
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        // After a good end only its last breath is missing.
        self.child.stdin = None;
        self.wait_for_end(crate::now_ns() + 500_000_000);
        self.end();
    }
}
