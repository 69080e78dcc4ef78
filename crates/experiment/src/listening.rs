//! Who listens on a machine, as its kernel reports it: for a peer that does not say itself when it is ready.
use std::collections::BTreeSet;

use powerband_machine::{Errno, Look};
use powerband_sysfs::net;

/// Files of sockets, and the state in them that waits for others: LISTEN of TCP, and of UDP a socket that is tied to no peer
/// (the numbers of tcp_states.h, in hexadecimal).
const SOCKETS: [(&str, &str); 4] = [(net::TCP, "0A"), (net::TCP6, "0A"), (net::UDP, "07"), (net::UDP6, "07")];

/// What can be reached: file and port.
pub(crate) type Listening = BTreeSet<(&'static str, u16)>;

/// Everything that listens; absent where there are more sockets than can be read, as thousands that wait after a test of a web
/// server. A file that is not there has nobody in it.
pub(crate) fn listening(machine: &mut dyn Look) -> Option<Listening> {
    among(|path| machine.read(path))
}

fn among(mut read: impl FnMut(&str) -> Result<String, Errno>) -> Option<Listening> {
    let mut all = Listening::new();
    for (path, state) in SOCKETS {
        match read(path) {
            Ok(text) => {
                all.extend(text.lines().skip(1).filter_map(|line| port(line, state)).map(|port| (path, port)));
            }
            Err(Errno::EFBIG) => return None,
            Err(_) => {}
        }
    }
    Some(all)
}

/// The port of a line `sl local_address rem_address st …` in some state.
fn port(line: &str, wanted: &str) -> Option<u16> {
    let mut words = line.split_whitespace().skip(1);
    let (local, _, state) = (words.next()?, words.next()?, words.next()?);
    let (_, port) = local.rsplit_once(':')?;
    u16::from_str_radix(port, 16).ok().filter(|_| state == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_sockets_are_read() {
        let listens =
            "   0: 0100007F:1451 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0";
        assert_eq!(port(listens, "0A"), Some(5201));
        assert_eq!(port(listens, "07"), None);
        let of_ipv6 =
            "  1: 00000000000000000000000000000000:14B7 00000000000000000000000000000000:0000 07 0:0 0:0 0 0 0 2";
        assert_eq!(port(of_ipv6, "07"), Some(5303));
        let head = "  sl  local_address rem_address   st";
        let text = |path: &str| match path {
            net::TCP => Ok(format!("{head}\n{listens}\n")),
            net::TCP6 => Err(Errno::ENOENT),
            _ => Ok(format!("{head}\n")),
        };
        assert_eq!(among(text), Some(Listening::from([(net::TCP, 5201)])));
        // So many sockets that nobody knows who listens.
        assert_eq!(among(|path| if path == net::TCP { Err(Errno::EFBIG) } else { text(path) }), None);
        assert_eq!(["", "sl local", "0: x:y z 0A", "0: 0:99999 0:0 0A"].map(|line| port(line, "0A")), [None; 4]);
    }
}
