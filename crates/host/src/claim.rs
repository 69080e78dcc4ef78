//! Claims: names that one process of this machine has at a time, independent of any file.
//!
//! A claim is a listening socket in the kernel's abstract namespace (unix(7)): deleting a folder does not free it, the
//! kernel frees it when its process ends in any way, and anyone who finds it taken learns the process that has it. Such names
//! belong to a network namespace; processes of two of them do not see each other's.
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;

/// Ours until it is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    _socket: UnixListener,
}

/// What asking for a name came to.
#[derive(Debug)]
pub(crate) enum Claimed {
    /// It is ours.
    Ours(Claim),
    /// A process has it that may have it: of this user or root's, or of anybody where we are root.
    Theirs {
        /// Its number; 0 when it is in another process namespace.
        pid: u32,
    },
    /// The kernel has no such names here, or a process has it that belongs to neither us nor root. It could have been taken
    /// only to stop us, so it stops nobody.
    Unknown,
}

/// Asks for a name.
pub(crate) fn claim(name: &str) -> Claimed {
    let Ok(address) = SocketAddr::from_abstract_name(name) else { return Claimed::Unknown };
    match UnixListener::bind_addr(&address) {
        Ok(socket) => Claimed::Ours(Claim { _socket: socket }),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => owner_of(&address),
        Err(_) => Claimed::Unknown,
    }
}

fn owner_of(address: &SocketAddr) -> Claimed {
    // One that lets go just now refuses; anyone who asks again has it.
    let Ok(stream) = UnixStream::connect_addr(address) else { return Claimed::Theirs { pid: 0 } };
    let Ok((pid, uid, _)) = crate::raw::peer_of(stream.as_fd()) else { return Claimed::Unknown };
    let own = rustix::process::geteuid().as_raw();
    let may_have_it = uid == 0 || uid == own || crate::Caller::of_sudo().is_some_and(|caller| caller.uid() == uid);
    if may_have_it { Claimed::Theirs { pid } } else { Claimed::Unknown }
}

/// How long one that lets go within moments is waited for, ns.
const PATIENCE_NS: u64 = 3_000_000_000;

/// That this process is the one that changes this machine's kernel; who is, where another process has that claim. `None` where
/// the kernel has no such names.
pub(crate) fn claim_machine() -> Result<Option<Claim>, String> {
    let until_ns = crate::now_ns() + PATIENCE_NS;
    loop {
        match claim("powerband/machine") {
            Claimed::Ours(claim) => return Ok(Some(claim)),
            Claimed::Unknown => return Ok(None),
            Claimed::Theirs { pid } if crate::lent::lender() == Some(pid) => return Ok(None),
            Claimed::Theirs { .. } if crate::now_ns() < until_ns => crate::pause_until(crate::now_ns() + 5_000_000),
            Claimed::Theirs { pid: 0 } => return Err("another powerband".into()),
            Claimed::Theirs { pid } => return Err(format!("powerband {pid}")),
        }
    }
}

/// The name for a ledger's folder, wherever links to it lead.
pub(crate) fn name_of_folder(folder: &Path) -> String {
    let path = folder.canonicalize().or_else(|_| std::path::absolute(folder)).unwrap_or_else(|_| folder.into());
    format!("powerband/state/{:016x}", fnv1a(path.as_os_str().as_encoded_bytes()))
}

/// FNV-1a of 64 bits: the same in every version of this program, and short enough for a socket's name.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_process_s_until_it_lets_go() {
        let name = format!("powerband/test/{}", std::process::id());
        let Claimed::Ours(first) = claim(&name) else { panic!("nobody has it yet") };
        assert!(matches!(claim(&name), Claimed::Theirs { pid } if pid == std::process::id()));
        drop(first);
        // A process that another test forks keeps our socket open until it executes its program.
        let until_ns = crate::now_ns() + PATIENCE_NS;
        while !matches!(claim(&name), Claimed::Ours(_)) {
            assert!(crate::now_ns() < until_ns, "the name stays taken although its owner let go");
            crate::pause_until(crate::now_ns() + 1_000_000);
        }
    }

    #[test]
    fn a_folder_has_one_name_by_every_way_to_it() {
        let place = tempfile::tempdir().unwrap();
        let (folder, link) = (place.path().join("state"), place.path().join("link"));
        std::fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        let name = name_of_folder(&folder);
        assert_eq!(name_of_folder(&link), name);
        std::fs::remove_dir(&folder).unwrap();
        assert_eq!(name_of_folder(&folder), name, "a deleted folder keeps its name");
        assert_ne!(name_of_folder(&place.path().join("other")), name);
    }
}
