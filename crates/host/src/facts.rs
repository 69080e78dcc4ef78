//! What a header says of this host and of our own cost.
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use powerband_machine::wire::OwnerPlace;

use crate::Caller;

/// The variable that names the folder of ledger, lock and results.
const STATE_VARIABLE: &str = "POWERBAND_STATE_DIR";

/// Where root keeps ledger, lock and results.
const ROOTS_FOLDER: &str = "/var/lib/powerband";

/// What we cost ourselves so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObserverUsage {
    /// CPU time of this process, user and kernel, s.
    pub cpu_s: f64,
    /// How often it woke: voluntary context switches.
    pub wakeups: u64,
}

/// The host's name.
#[must_use]
pub fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// CPU time and wake-ups of this process (getrusage(2)), without its children.
#[must_use]
pub fn observer_usage() -> ObserverUsage {
    let (cpu_ns, wakeups) = crate::raw::own_usage();
    ObserverUsage { cpu_s: cpu_ns as f64 / 1e9, wakeups }
}

/// Wall time, s since 1970; 0 for a clock that stands before.
#[must_use]
pub fn unix_time_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The same in ms.
#[must_use]
pub fn unix_time_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The address of ours that the kernel would use to reach `other`; sends nothing. `None` without a way there, or when
/// `other` is no address.
#[must_use]
pub fn address_towards(other: &str) -> Option<String> {
    let other: std::net::IpAddr = other.parse().ok()?;
    let any: std::net::IpAddr =
        if other.is_ipv4() { std::net::Ipv4Addr::UNSPECIFIED.into() } else { std::net::Ipv6Addr::UNSPECIFIED.into() };
    let socket = std::net::UdpSocket::bind((any, 0)).ok()?;
    // The port does not matter: connecting only asks for the route.
    socket.connect((other, 9)).ok()?;
    socket.local_addr().ok().map(|address| address.ip().to_string())
}

/// A number from the operating system's randomness (getrandom(2)), short enough to be typed.
///
/// # Errors
/// When the kernel has none to give.
pub fn random_seed() -> std::io::Result<u32> {
    random_bytes().map(u32::from_ne_bytes)
}

/// A key that nobody else draws: 128 bits of the operating system's randomness as hexadecimal digits.
///
/// # Errors
/// When the kernel has none to give.
pub fn random_key() -> std::io::Result<String> {
    random_bytes().map(|bytes| format!("{:032x}", u128::from_ne_bytes(bytes)))
}

fn random_bytes<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// Identity of this boot; empty where it is hidden, as in some containers: then every boot looks the same.
#[must_use]
pub fn boot_id() -> String {
    crate::files::read("/proc/sys/kernel/random/boot_id", &mut Vec::new()).unwrap_or_default().trim_end().to_owned()
}

/// Where this process runs and keeps its ledger; `None` where that cannot be known, as without a boot id.
#[must_use]
pub fn own_place() -> Option<OwnerPlace> {
    let (boot, folder) = (boot_id(), state_folder()?.display().to_string());
    let network_namespace = crate::files::net_ns()?;
    (!boot.is_empty()).then_some(OwnerPlace { boot, network_namespace, folder })
}

/// This machine, as the ledger tells it from others: its name and what it was called when it was installed.
#[must_use]
pub fn machine_name() -> Option<String> {
    let identity = crate::files::read("/etc/machine-id", &mut Vec::new()).unwrap_or_default();
    powerband_machine::EntryOrigin::machine_name(&hostname(), &identity)
}

/// Where results live: `$POWERBAND_STATE_DIR`, else `/var/lib/powerband` for root, else `$XDG_STATE_HOME/powerband` or
/// `~/.local/state/powerband`. `None` when none of these is set. Not made here.
#[must_use]
pub fn store_folder() -> Option<PathBuf> {
    choose_state_folder(rustix::process::geteuid().is_root(), &|name| {
        crate::surroundings::variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
    })
}

/// The folder that `$POWERBAND_STATE_DIR` names, where it is not root's usual one.
#[must_use]
pub fn named_state_folder() -> Option<PathBuf> {
    let named = crate::surroundings::variable(STATE_VARIABLE).map(PathBuf::from);
    named.filter(|path| path.is_absolute() && path != Path::new(ROOTS_FOLDER))
}

/// What `$POWERBAND_STATE_DIR` says where that is no whole path, which would be another folder for each place it is used from.
#[must_use]
pub fn relative_state_folder() -> Option<PathBuf> {
    let named = crate::surroundings::variable(STATE_VARIABLE).map(PathBuf::from);
    named.filter(|path| !path.as_os_str().is_empty() && !path.is_absolute())
}

/// Where ledger and lock live: with the results, unless root was called by sudo and they lie in a folder of the caller's.
/// What he could write there root would do, so that they are in `/var/lib/powerband` then. Not made here.
#[must_use]
pub fn state_folder() -> Option<PathBuf> {
    store_folder().map(|named| choose_ledger_folder(named, Caller::of_sudo(), &crate::caller::owner))
}

fn choose_ledger_folder(named: PathBuf, caller: Option<Caller>, owner: &dyn Fn(&Path) -> Option<u32>) -> PathBuf {
    if caller.is_some_and(|caller| caller.commands(&named, owner)) { ROOTS_FOLDER.into() } else { named }
}

fn choose_state_folder(root: bool, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    variable(STATE_VARIABLE).or_else(|| match root {
        true => Some(ROOTS_FOLDER.into()),
        false => variable("XDG_STATE_HOME")
            .or_else(|| variable("HOME").map(|home| home.join(".local/state")))
            .map(|state| state.join("powerband")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_folder_follows_who_asks() {
        let with = |set: &'static [(&str, &str)]| {
            move |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| PathBuf::from(value))
        };
        let all: &[_] = &[("POWERBAND_STATE_DIR", "/p"), ("XDG_STATE_HOME", "/x"), ("HOME", "/h")];
        for (root, set, folder) in [
            (true, all, Some("/p")),
            (false, all, Some("/p")),
            (true, &all[1..], Some("/var/lib/powerband")),
            (false, &all[1..], Some("/x/powerband")),
            (false, &all[2..], Some("/h/.local/state/powerband")),
            (false, &all[3..], None),
        ] {
            assert_eq!(choose_state_folder(root, &with(set)), folder.map(PathBuf::from));
        }
    }

    #[test]
    fn what_root_will_do_is_not_kept_where_the_caller_can_write() {
        let owner = |path: &Path| Some(if path.starts_with("/home/nobody") { 65534 } else { 0 });
        let nobody = Caller::of(65534, 65534);
        for (named, caller, folder) in [
            ("/home/nobody/state", Some(nobody), "/var/lib/powerband"),
            ("/home/nobody/state", None, "/home/nobody/state"),
            ("/srv/state", Some(nobody), "/srv/state"),
        ] {
            assert_eq!(choose_ledger_folder(named.into(), caller, &owner), Path::new(folder));
        }
    }

    #[test]
    fn our_own_cost_grows() {
        let before = observer_usage();
        let until = crate::now_ns() + 30_000_000;
        while crate::now_ns() < until {}
        crate::pause_until(crate::now_ns() + 1_000_000);
        let after = observer_usage();
        assert!(after.cpu_s > before.cpu_s && after.wakeups > before.wakeups, "{before:?} {after:?}");
        assert!(unix_time_s() > 1_700_000_000 && !hostname().is_empty());
    }
}
