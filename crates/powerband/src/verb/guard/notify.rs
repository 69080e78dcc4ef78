//! What a service manager is told (sd_notify(3)): datagrams to the socket it names in the environment.
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Where systemd says where it listens.
const VARIABLE: &str = "NOTIFY_SOCKET";

/// A service manager that listens, or nobody.
pub(super) struct Manager(Option<(UnixDatagram, SocketAddr)>);

impl Manager {
    /// The one that the environment names: a path, or behind `@` a name of the kernel's abstract namespace.
    pub(super) fn of_environment() -> Manager {
        Manager(powerband_host::text_variable(VARIABLE).as_deref().and_then(listener))
    }

    /// Says something, a `KEY=value` a line. One that does not listen is told nothing, and nothing hangs on it.
    pub(super) fn tell(&self, text: &str) {
        if let Some((socket, manager)) = &self.0 {
            let _ = socket.send_to_addr(text.as_bytes(), manager);
        }
    }
}

fn listener(name: &str) -> Option<(UnixDatagram, SocketAddr)> {
    let address = match name.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(name),
    };
    let socket = UnixDatagram::unbound().ok()?;
    // One that is stopped must not stop us.
    socket.set_nonblocking(true).ok()?;
    Some((socket, address.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_is_told_at_a_path_or_an_abstract_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let by_path = UnixDatagram::bind(&path).unwrap();
        let name = format!("powerband/test/{}", std::process::id());
        let by_name = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        for (listens, socket) in [(by_path, path.display().to_string()), (by_name, format!("@{name}"))] {
            Manager(listener(&socket)).tell("READY=1\nSTATUS=watching");
            let mut heard = [0; 64];
            let got = listens.recv(&mut heard).unwrap();
            assert_eq!(&heard[..got], b"READY=1\nSTATUS=watching");
        }
        Manager(listener("/nowhere")).tell("READY=1");
        Manager(None).tell("READY=1");
    }
}
