//! The way to a machine by ssh: the user's own client and configuration; this very program is carried there, run, and gone.
use std::os::fd::OwnedFd;

use powerband_machine::Errno;
use powerband_machine::wire::Hello;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;

use crate::io_errno;
use crate::leading::Leading;
use crate::remote::{RemoteError, RemoteMachine};
use crate::talk::{Silence, Stoppable, wait_for};

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
    /// How long each answer may take, ns.
    pub answer_ns: u64,
}

impl Ssh {
    /// Carries this program there and speaks to the agent it becomes.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn connect(&self, hello: Hello) -> Result<RemoteMachine, RemoteError> {
        let _stoppable = Stoppable::begin();
        if self.host.starts_with('-') || self.host.is_empty() {
            return Err(self.unreachable("this is no host's name".into()));
        }
        let program = std::fs::read("/proc/self/exe")
            .map_err(|error| self.unreachable(format!("cannot read our own program: {}", io_errno(&error))))?;
        let name = format!("powerband-{:016x}", fnv(&program));
        let folder = self.carry(&program, &name)?;
        // The agent removes both as it begins, so that whatever happens nothing of ours stays there.
        let run = format!("exec '{folder}/{name}' agent --carried");
        RemoteMachine::connect(&self.name, &self.words(&run), hello, self.answer_ns)
            .inspect_err(|_| self.remove(&folder, &name))
    }

    fn unreachable(&self, why: String) -> RemoteError {
        RemoteError::unreachable(&self.name, why, format!("ssh {} true", self.host))
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
        let (leading, input, output) = Leading::start(&words[0], &words[1..])
            .map_err(|errno| RemoteError::NotStarted { name: self.name.clone(), program: words[0].clone(), errno })?;
        let mut way = Way { leading, input: Some(input), output, heard: String::new() };
        let carried = self.carry_on(&mut way, program);
        if let (Err(_), Some(folder)) = (&carried, way.told("powerband-folder")) {
            way.leading.end();
            self.remove(&folder, name);
        }
        carried
    }

    fn carry_on(&self, way: &mut Way, program: &[u8]) -> Result<String, RemoteError> {
        let until_ns = crate::now_ns() + self.answer_ns;
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
        if let Ok((leading, input, _output)) = Leading::start(&words[0], &words[1..]) {
            drop(input);
            leading.wait(self.answer_ns);
        }
    }
}

/// FNV-1a, 64 bits: a name that tells one build from another.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// An ssh that runs a script there; killed when dropped.
struct Way {
    leading: Leading,
    input: Option<OwnedFd>,
    output: OwnedFd,
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
            match wait_for(&self.output, PollFlags::IN, until_ns) {
                Ok(()) => {}
                Err(Silence::TooLate) => {
                    return Err("it did not answer in time; where it is only slow, add --peer-timeout 60s".into());
                }
                Err(silence) => return Err(silence.to_string()),
            }
            let mut chunk = [0; 4096];
            match rustix::io::read(&self.output, &mut chunk) {
                Ok(got @ 1..) if self.heard.len() < ANSWER_BYTES => {
                    self.heard += &String::from_utf8_lossy(&chunk[..got]);
                }
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                _ => {
                    let ended = self.leading.end_within(1_000_000_000).map(|status| format!(" ({status})"));
                    return Err(format!("it ended before it said {word}{}", ended.unwrap_or_default()));
                }
            }
        }
    }

    /// Everything into its standard input, then its end.
    fn put(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let input = self.input.take().ok_or(Errno::EPIPE)?;
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
}

impl Drop for Way {
    fn drop(&mut self) {
        // After a good end only its last breath is missing.
        self.input = None;
        self.leading.wait(500_000_000);
        self.leading.end();
    }
}
