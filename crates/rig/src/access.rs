//! The access service: users without rights set the knobs that a policy of root's lets them set, for as long as they are
//! connected ([docs/design/access.md](../../../docs/design/access.md)).
mod bucket;
mod policy;
mod range;
mod rule;
mod service;
mod session;

use thiserror::Error;

pub use policy::{POLICY_FILE, Policy, PolicyError, policy_of, user_of};
pub use rule::Granted;
pub use service::{Serving, serve_access};
pub use session::serve_client;

use powerband_host::{ListenerError, PeerRefused, RemoteError, TrustError};
use powerband_machine::wire::{Hello, Purpose, WIRE_VERSION};

/// Why there is no access service, or no session of it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AccessError {
    /// The policy cannot be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The policy's file is not root's alone.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// There is no socket to listen at.
    #[error(transparent)]
    Listener(#[from] ListenerError),
    /// Nobody is at the other end.
    #[error(transparent)]
    Peer(#[from] PeerRefused),
    /// Only root can set for others what they may not.
    #[error("the access service sets what only root may set: run it as root")]
    NotRoot,
}

/// What the access service of this machine lets us set, a line each; `None` where we need none or there is none.
///
/// # Errors
/// [`RemoteError`] where it does not answer.
pub fn allowed_here() -> Option<Result<Vec<String>, RemoteError>> {
    let socket = powerband_host::service_socket()?;
    Some(powerband_host::allowed(&socket, hello(Purpose::Look, "looking")))
}

/// Those of these lines that are about a knob.
#[must_use]
pub fn lines_about<'a>(knob: &str, lines: &'a [String]) -> Vec<&'a str> {
    let about = |line: &&'a str| rule::line_means(line, knob);
    lines.iter().map(String::as_str).filter(about).collect()
}

/// What we say to the service.
pub(crate) fn hello(purpose: Purpose, doing: &str) -> Hello {
    Hello {
        wire: WIRE_VERSION,
        powerband: env!("CARGO_PKG_VERSION").into(),
        purpose,
        doing: powerband_host::shortened(doing),
        owner: None,
    }
}
