//! Connects to a machine by ssh, with the user's own client and configuration: copies an agent there and runs it.
use std::os::fd::OwnedFd;

use powerband_machine::Errno;
use powerband_machine::wire::Hello;
use powerband_record::{ErrorClass, quoted};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;

use crate::carried::{name_of, program_for};
use crate::leading::Leading;
use crate::remote::{RemoteError, RemoteMachine};
use crate::talk::{Silence, Stoppable, wait_for};

/// How long carrying the program may stand still, ns.
const STILL_NS: u64 = 30_000_000_000;
/// At most so much is read of what the peer answers, bytes.
const ANSWER_BYTES: usize = 64 << 10;

/// How long an answer may take where nobody says otherwise, ns.
const ANSWER_NS: u64 = 10_000_000_000;

/// What a POSIX shell on the peer executes. It prints the architecture, reads how long the agent stays, its file name and its
/// size, prints the folder, and reads the agent unless the folder has it. A file gets its final name only when it has its full size.
/// Each line printed begins with a word of ours, because start-up files may print too.
const UNPACK: &str = "umask 077; echo powerband-arch $(uname -m); read -r stay name size || exit 9; \
case $stay in keep) d=${XDG_CACHE_HOME:-$HOME/.cache}/powerband; mkdir -p \"$d\" || exit 9;; \
*) d=$(mktemp -d \"${TMPDIR:-/tmp}/powerband.XXXXXXXX\") || exit 9;; esac; \
echo powerband-folder \"$d\"; f=$d/$name; has() { [ -x \"$1\" ] && [ $(wc -c < \"$1\") -eq $size ]; }; \
if has \"$f\"; then echo powerband-state kept; exit; fi; echo powerband-state absent; \
cat > \"$f.$$\" && chmod 700 \"$f.$$\" && has \"$f.$$\" && mv -f \"$f.$$\" \"$f\" && echo powerband-state copied && exit; \
rm -f \"$f.$$\"; [ $stay = keep ] || rmdir \"$d\"; echo powerband-state incomplete";

/// How a machine behind a connection is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkOptions {
    /// How long each answer may take, ns.
    pub answer_ns: u64,
    /// By ssh: leave the agent there, so that it need not be copied again.
    pub keep_agent: bool,
}

impl Default for LinkOptions {
    fn default() -> Self {
        LinkOptions { answer_ns: ANSWER_NS, keep_agent: false }
    }
}

/// A host as the user's ssh knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ssh {
    /// The machine as named: `ssh:HOST`.
    pub name: String,
    /// `HOST` or `USER@HOST`.
    pub host: String,
    /// How it is reached.
    pub link: LinkOptions,
}

/// Where the agent's file is on the peer.
struct Place {
    folder: String,
    name: String,
}

impl Ssh {
    /// Copies an agent there and speaks to it.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn connect(&self, hello: Hello) -> Result<RemoteMachine, RemoteError> {
        let _stoppable = Stoppable::begin();
        if self.host.starts_with('-') || self.host.is_empty() {
            // As an argument of ssh it would be an option.
            let why = "a host's name does not begin with '-'".into();
            return Err(RemoteError::Refused { name: self.name.clone(), class: ErrorClass::Usage, why });
        }
        let place = self.carry()?;
        let Place { folder, name } = &place;
        // An agent for one run removes file and folder when it starts, so nothing of ours stays however the run ends.
        let how = if self.link.keep_agent { "--kept" } else { "--carried" };
        let run = format!("exec '{folder}/{name}' agent {how}");
        RemoteMachine::connect(&self.name, &self.words(&run), hello, self.link.answer_ns).inspect_err(|error| {
            // An agent that refuses works. One that does not answer may be damaged, and is copied again next time.
            if !matches!(error, RemoteError::Refused { .. }) {
                self.remove(&place);
            }
        })
    }

    fn unreachable(&self, why: String) -> RemoteError {
        RemoteError::unreachable(&self.name, why, format!("ssh {} true", quoted(&self.host)))
    }

    /// The user's client: no terminal there, no questions here, as nobody sees them, and no other command than ours.
    fn words(&self, script: &str) -> Vec<String> {
        let words = ["ssh", "-T", "-o", "BatchMode=yes", "-o", "RemoteCommand=none", "--", &self.host];
        // Whatever the login shell is, a POSIX one understands this.
        let quoted = format!("exec sh -c '{}'", script.replace('\'', "'\\''"));
        words.iter().map(ToString::to_string).chain([quoted]).collect()
    }

    fn carry(&self) -> Result<Place, RemoteError> {
        let words = self.words(UNPACK);
        let (leading, input, output) = Leading::start(&words[0], &words[1..])
            .map_err(|errno| RemoteError::NotStarted { name: self.name.clone(), program: words[0].clone(), errno })?;
        let mut way = Way { leading, input: Some(input), output, heard: String::new() };
        let arch = way.wait_for("powerband-arch", self.until_ns()).map_err(|why| self.unreachable(why))?;
        let program = self.program_for(&arch)?;
        let place = self.carry_on(&mut way, &program);
        if let (Err(_), Some(folder)) = (&place, way.told("powerband-folder")) {
            way.leading.end();
            self.remove(&Place { folder, name: name_of(&program) });
        }
        place
    }

    fn until_ns(&self) -> u64 {
        crate::now_ns() + self.link.answer_ns
    }

    fn program_for(&self, arch: &str) -> Result<Vec<u8>, RemoteError> {
        program_for(arch).map_err(|no| no.error(&self.name, arch))
    }

    fn carry_on(&self, way: &mut Way, program: &[u8]) -> Result<Place, RemoteError> {
        let failed = |why: String| self.unreachable(why);
        let put = |errno: Errno| failed(format!("the agent could not be copied there: {errno}"));
        let (stay, name) = (if self.link.keep_agent { "keep" } else { "once" }, name_of(program));
        way.put(format!("{stay} {name} {}\n", program.len()).as_bytes()).map_err(put)?;
        let state = way.wait_for("powerband-state", self.until_ns()).map_err(failed)?;
        let folder = way.told("powerband-folder").unwrap_or_default();
        if !folder.starts_with('/') || folder.contains('\'') {
            return Err(failed(format!("its folder for programs is called {folder}")));
        }
        if state == "absent" {
            way.put(program).map_err(put)?;
            way.input = None;
            let state = way.next("powerband-state", 1, crate::now_ns() + STILL_NS).map_err(failed)?;
            if state != "copied" {
                return Err(failed(format!("of {} bytes of the agent not all came there", program.len())));
            }
        }
        Ok(Place { folder, name })
    }

    /// Removes an agent that never started, as far as possible.
    fn remove(&self, place: &Place) {
        let Place { folder, name } = place;
        let words = self.words(&format!("rm -f '{folder}/{name}'; rmdir '{folder}' 2>/dev/null"));
        if let Ok((leading, input, _output)) = Leading::start(&words[0], &words[1..]) {
            drop(input);
            leading.wait(self.link.answer_ns);
        }
    }
}

/// An ssh that runs a script there; killed when dropped.
struct Way {
    leading: Leading,
    input: Option<OwnedFd>,
    output: OwnedFd,
    heard: String,
}

impl Way {
    /// Returns the rest of the first whole line that begins with a word of ours.
    fn told(&self, word: &str) -> Option<String> {
        self.line(word, 0)
    }

    /// Returns the rest of a whole line that begins with the word, after `skipped` others that do.
    fn line(&self, word: &str, skipped: usize) -> Option<String> {
        let whole = self.heard.rsplit_once('\n')?.0;
        let mut rests = whole.lines().filter_map(|line| line.strip_prefix(word));
        rests.nth(skipped).map(|rest| rest.trim().to_owned())
    }

    fn wait_for(&mut self, word: &str, until_ns: u64) -> Result<String, String> {
        self.next(word, 0, until_ns)
    }

    fn next(&mut self, word: &str, skipped: usize, until_ns: u64) -> Result<String, String> {
        loop {
            if let Some(rest) = self.line(word, skipped) {
                return Ok(rest);
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
                _ => return Err(self.leading.ending(&format!("it ended before it said {word}"))),
            }
        }
    }

    /// Everything into its standard input.
    fn put(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let input = self.input.as_ref().ok_or(Errno::EPIPE)?;
        let flags = rustix::fs::fcntl_getfl(input).map_err(crate::errno)?;
        rustix::fs::fcntl_setfl(input, flags | OFlags::NONBLOCK).map_err(crate::errno)?;
        let mut left = bytes;
        while !left.is_empty() {
            match rustix::io::write(input, left) {
                Ok(written) => left = &left[written..],
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => {
                    let still = crate::time_until(crate::now_ns() + STILL_NS);
                    let mut fds = [PollFd::new(input, PollFlags::OUT)];
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
