//! The socket of the access service: who connects gets a process of its own, or a reason why not. Nothing that a client sends
//! is read here.
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use powerband_machine::Errno;
use powerband_machine::wire::{FromAgent, Refusal};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal};
use thiserror::Error;

use super::{Peer, TrustError, trusted_place};
use crate::signals::StopPipes;
use crate::talk::Mouth;
use crate::{io_errno, now_ns};

/// How often ended sessions are looked for while nobody connects, ns.
const LOOK_UP_NS: u64 = 500_000_000;
/// How long sessions have to restore what they hold when the service stops, ns.
const PARTING_NS: u64 = 20_000_000_000;
/// How long the service waits when it cannot take a connection, as with too many files open, ns.
const BREATH_NS: u64 = 20_000_000;

/// Why there is no service.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ListenerError {
    /// The place of the socket is not root's.
    #[error(transparent)]
    Place(#[from] TrustError),
    /// There is one already.
    #[error("an access service listens at {0} already")]
    Taken(String),
    /// The socket cannot be made.
    #[error("cannot listen at {place}: {errno}")]
    Unusable {
        /// Where.
        place: String,
        /// Why.
        errno: Errno,
    },
}

/// One client's process.
struct Session {
    child: Child,
    uid: u32,
}

/// The socket, and the sessions of those who connected.
pub struct Listener {
    socket: UnixListener,
    path: PathBuf,
    stops: StopPipes,
    sessions: Vec<Session>,
    program: PathBuf,
    arguments: Vec<String>,
}

impl Listener {
    /// Listens at `path`; each client is served by this program with `arguments`, with the connection as standard input and
    /// output.
    ///
    /// # Errors
    /// [`ListenerError`].
    pub fn at(path: &Path, arguments: Vec<String>) -> Result<Listener, ListenerError> {
        let unusable = |error: &std::io::Error| ListenerError::Unusable {
            place: path.display().to_string(),
            errno: io_errno(error),
        };
        if let Some(folder) = path.parent() {
            // One that is there is looked at below.
            let _ = std::fs::DirBuilder::new().mode(0o755).create(folder);
        }
        trusted_place(path.parent().unwrap_or(path))?;
        if UnixStream::connect(path).is_ok() {
            return Err(ListenerError::Taken(path.display().to_string()));
        }
        // What a service that was killed has left.
        let _ = std::fs::remove_file(path);
        let socket = UnixListener::bind(path).map_err(|error| unusable(&error))?;
        socket.set_nonblocking(true).map_err(|error| unusable(&error))?;
        // Anybody may connect; what they may set is the policy's to say.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o666)).map_err(|error| unusable(&error))?;
        let stops =
            StopPipes::new().map_err(|errno| ListenerError::Unusable { place: path.display().to_string(), errno })?;
        let program = PathBuf::from("/proc/self/exe");
        Ok(Listener { socket, path: path.into(), stops, sessions: Vec::new(), program, arguments })
    }

    /// Serves until it is asked to stop. `admit` says of each who connects, with how many sessions that user has and how many
    /// there are, whether it may; no client is waited for.
    pub fn serve(mut self, admit: &mut dyn FnMut(&Peer, usize, usize) -> Result<(), Refusal>) {
        notify("READY=1");
        loop {
            let mut fds: Vec<PollFd<'_>> = self.stops.fds().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
            fds.push(PollFd::new(&self.socket, PollFlags::IN));
            let timeout = crate::time_until(now_ns() + LOOK_UP_NS);
            // Interrupted, we look again.
            let _ = rustix::event::poll(&mut fds, Some(&timeout));
            drop(fds);
            if !self.stops.take().is_empty() {
                break;
            }
            self.sessions.retain_mut(|session| matches!(session.child.try_wait(), Ok(None)));
            match self.socket.accept() {
                Ok((stream, _)) => self.take(stream, admit),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => crate::pause_until(now_ns() + BREATH_NS),
            }
        }
        notify("STOPPING=1");
        self.end();
    }

    fn take(&mut self, stream: UnixStream, admit: &mut dyn FnMut(&Peer, usize, usize) -> Result<(), Refusal>) {
        let Ok(peer) = Peer::of(&stream) else { return };
        let own = self.sessions.iter().filter(|session| session.uid == peer.uid).count();
        let admitted = admit(&peer, own, self.sessions.len());
        let started = admitted.and_then(|()| {
            let failed = |error: std::io::Error| Refusal {
                class: powerband_record::ErrorClass::Aborted,
                why: format!(
                    "no process can be started for this connection: {}",
                    powerband_record::system_words(&error)
                ),
            };
            let output = stream.try_clone().map_err(failed)?;
            self.start(stream.try_clone().map_err(failed)?.into(), output.into()).map_err(failed)
        });
        match started {
            Ok(child) => self.sessions.push(Session { child, uid: peer.uid }),
            Err(refusal) => {
                // There is room for so little in a new socket; one without gets no reason.
                let _ = Mouth::new(stream.into()).say(&FromAgent::Refused(refusal), now_ns());
            }
        }
    }

    fn start(&self, input: OwnedFd, output: OwnedFd) -> std::io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::from(input)).stdout(Stdio::from(output));
        // It restores what it holds when we are gone.
        crate::raw::end_with_us(&mut command);
        command.spawn()
    }

    /// Ends every session, and waits until each has restored what it held.
    fn end(mut self) {
        let _ = std::fs::remove_file(&self.path);
        for session in &self.sessions {
            // Not reaped yet, so the number is its own.
            let _ = rustix::process::kill_process(Pid::from_child(&session.child), Signal::TERM);
        }
        let until_ns = now_ns() + PARTING_NS;
        while now_ns() < until_ns {
            self.sessions.retain_mut(|session| matches!(session.child.try_wait(), Ok(None)));
            if self.sessions.is_empty() {
                return;
            }
            crate::pause_until(now_ns() + 5_000_000);
        }
    }
}

/// Notifies the service manager, where there is one that listens (sd_notify(3)).
fn notify(state: &str) {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::SocketAddr;
    let Some(name) = crate::surroundings::variable("NOTIFY_SOCKET") else { return };
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(&name),
    };
    let sent = UnixDatagram::unbound().and_then(|socket| socket.send_to_addr(state.as_bytes(), &address?));
    // A manager that does not listen does not wait for it either.
    drop(sent);
}
