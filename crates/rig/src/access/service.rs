//! The service itself: it takes connections, and refuses those that the policy or a limit rules out. What a client says is heard
//! in a process of its own (`session.rs`).
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use powerband_host::{HostWorld, Listener, Peer};
use powerband_machine::World as _;
use powerband_machine::wire::{Purpose, Refusal};
use powerband_record::{ErrorClass, Side};

use super::bucket::Bucket;
use super::policy::policy_in;
use super::session::who;
use super::{AccessError, Policy, policy_of};
use crate::real::local_machine;
use crate::{LedgerLocation, Notes, RigError, leftovers, lock, state_folder};

/// So many clients at once …
const MAX_SESSIONS: usize = 64;
/// … of which so many are one user's.
const MAX_OF_USER: usize = 8;
/// How many connections a user may make at once …
const CONNECTIONS: u64 = 40;
/// … and how long it takes to one more, ns.
const CONNECTION_NS: u64 = 250_000_000;
/// Of how many users that is known at once.
const KNOWN_USERS: usize = 1000;

/// Where the service has its files.
#[derive(Clone, Debug)]
pub struct Serving {
    /// The socket.
    pub socket: PathBuf,
    /// The policy.
    pub policy: PathBuf,
    /// The arguments with which this program serves one client.
    pub client_arguments: Vec<String>,
}

/// Serves until it is asked to stop. `log` takes what is to be kept of who was refused and why.
///
/// # Errors
/// [`RigError`]: without root, with a policy that has a slip, or with another service at the socket.
pub fn serve_access(serving: &Serving, notes: &mut dyn Notes, log: &mut dyn FnMut(&str)) -> Result<(), RigError> {
    if powerband_host::own_uid() != 0 {
        return Err(AccessError::NotRoot.into());
    }
    policy_of(&serving.policy)?.warnings.iter().for_each(|warning| log(warning));
    let clock = HostWorld::new(local_machine(&state_folder()?, Purpose::Look)?).map_err(RigError::World)?;
    let listener = Listener::at(&serving.socket, serving.client_arguments.clone()).map_err(AccessError::from)?;
    restore_left(notes, log);
    log(&format!("serving at {} by {}", serving.socket.display(), serving.policy.display()));
    let mut doors = Doors { policy: &serving.policy, read: None, users: BTreeMap::new(), log };
    listener.serve(&mut |peer, own, all| doors.admit(peer, own, all, clock.now_ns()));
    Ok(())
}

/// What a service that was killed together with its guardian has left.
fn restore_left(notes: &mut dyn Notes, log: &mut dyn FnMut(&str)) {
    let mut restore = || {
        let folder = state_folder()?;
        let _lock = lock(&folder, "restoring what was left")?;
        let mut world = HostWorld::new(local_machine(&folder, Purpose::PutBack)?).map_err(RigError::World)?;
        leftovers::clear(&mut world, &[LedgerLocation::here(Side::Near, folder.clone())], notes)
    };
    // Somebody who holds the machine has restored it; the next one who changes something tries again.
    if let Err(error) = restore() {
        log(&format!("nothing was restored at the start: {error}"));
    }
}

/// Who is let in.
struct Doors<'a> {
    policy: &'a Path,
    /// The policy as it was read last, with its text: names are looked up once for each text, as a directory service may be slow.
    read: Option<(String, Policy)>,
    users: BTreeMap<u32, Bucket>,
    log: &'a mut dyn FnMut(&str),
}

impl Doors<'_> {
    fn policy(&mut self) -> Result<Policy, AccessError> {
        let text = powerband_host::trusted_text(self.policy)?;
        if let Some((_, policy)) = self.read.as_ref().filter(|(read, _)| *read == text) {
            return Ok(policy.clone());
        }
        let policy = policy_in(&text, self.policy)?;
        self.read = Some((text, policy.clone()));
        Ok(policy)
    }

    fn admit(&mut self, peer: &Peer, own: usize, all: usize, now_ns: u64) -> Result<(), Refusal> {
        let refused = |class, why: &str| Err(Refusal { class, why: why.to_owned() });
        if self.users.len() >= KNOWN_USERS {
            self.users.retain(|_, bucket| !bucket.is_full(now_ns));
        }
        let bucket = self.users.entry(peer.uid).or_insert_with(|| Bucket::new(CONNECTIONS, CONNECTION_NS, now_ns));
        // Nothing is logged of what comes too often, or a user could fill the log.
        if bucket.take(now_ns).is_err() {
            return refused(ErrorClass::Aborted, "you connect too often; try again in a moment");
        }
        if own >= MAX_OF_USER || all >= MAX_SESSIONS {
            return refused(ErrorClass::Aborted, "too many connections; try again when one of them has ended");
        }
        match self.policy() {
            Ok(policy) if policy.granted(peer.uid, &peer.groups).is_empty() => {
                (self.log)(&format!("{}: refused: the policy has no rule for this user", who(peer)));
                refused(ErrorClass::Denied, "the access policy does not let you set anything")
            }
            Ok(_) => Ok(()),
            Err(error) => {
                (self.log)(&format!("{}: refused: {error}", who(peer)));
                refused(
                    ErrorClass::Aborted,
                    "the access policy cannot be used; its administrator finds the reason in the log",
                )
            }
        }
    }
}
