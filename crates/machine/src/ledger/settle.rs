//! What becomes of one entry: whether it is still in force, still ours, and here; then the undo.
use serde::{Deserialize, Serialize};

use super::{OpenEntry, Undone, rounded};
use crate::{Action, Before, Errno, Hold, draft_of, resolved_place};

/// Reads a file of the machine.
pub type Read<'a> = &'a mut dyn FnMut(&str) -> Result<String, Errno>;

/// Where an entry was made, for what is not the same everywhere on one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EntryOrigin {
    /// The network namespace, by its inode, for settings each has of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net_ns: Option<u64>,
    /// The address (MAC) of the network device the action is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The machine: its name, and a checksum of what tells it from others of that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Where the path of an ordinary file led, if not where it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl EntryOrigin {
    /// How the ledger calls a machine: its name, and what tells it from others of that name. Nodes that share a root file
    /// system share their identity (machine-id(5), which is not to be passed on as it is) but not their name. `None` when
    /// nothing is known of it.
    #[must_use]
    pub fn machine_name(name: &str, identity: &str) -> Option<String> {
        let (name, identity) = (name.trim(), identity.trim());
        let known = !name.is_empty() || !identity.is_empty();
        known.then(|| format!("{name}#{:08x}", crc32fast::hash(identity.as_bytes())))
    }

    /// Of an action, seen from a namespace.
    pub(super) fn of(action: &Action, net_ns: Option<u64>, read: Read<'_>) -> EntryOrigin {
        let Some(network) = Network::of(action) else {
            let place = ordinary(action).and_then(|path| place(path, read).filter(|place| place != path));
            return EntryOrigin { place, ..EntryOrigin::default() };
        };
        let device = network.device.and_then(|device| address(device, read));
        EntryOrigin { net_ns, device, ..EntryOrigin::default() }
    }

    /// Whether the entry means the same everywhere on the machine.
    pub(super) fn is_anywhere(&self) -> bool {
        *self == EntryOrigin::default()
    }
}

/// What an action is about that belongs to a network namespace.
struct Network<'p> {
    device: Option<&'p str>,
}

impl<'p> Network<'p> {
    fn of(action: &'p Action) -> Option<Network<'p>> {
        match action {
            Action::WriteFile { path, .. } | Action::RemoveFile { path } => Network::of_path(path),
            Action::Coalesce { device, .. } => Some(Network { device: Some(device) }),
            Action::ReplaceFile { .. }
            | Action::MakeFolder { .. }
            | Action::RemoveFolder { .. }
            | Action::HoldFile { .. }
            | Action::ReleaseFile { .. }
            | Action::MakeGroup { .. }
            | Action::RemoveGroup { .. }
            | Action::Run { .. } => None,
        }
    }

    fn of_path(path: &'p str) -> Option<Network<'p>> {
        let first = |rest: &'p str| rest.split('/').next().filter(|name| !name.is_empty());
        if let Some(rest) = path.strip_prefix("/proc/sys/net/") {
            // net/ipv4/conf/DEVICE/…, net/ipv6/neigh/DEVICE/…; two names there are no devices.
            let mut parts = rest.split('/').skip(1);
            let kind = parts.next();
            let device = parts.next().filter(|name| !matches!(*name, "all" | "default"));
            return Some(Network { device: device.filter(|_| matches!(kind, Some("conf" | "neigh"))) });
        }
        if let Some(rest) = path.strip_prefix("/sys/class/net/") {
            return Some(Network { device: first(rest) });
        }
        let (_, rest) = path.strip_prefix("/sys/devices/")?.split_once("/net/")?;
        Some(Network { device: first(rest) })
    }
}

/// The path of an ordinary file that an action writes, makes or removes.
fn ordinary(action: &Action) -> Option<&str> {
    match action {
        Action::WriteFile { path, .. } | Action::ReplaceFile { path, .. } | Action::RemoveFile { path } => {
            (!is_kernels(path)).then_some(path)
        }
        _ => None,
    }
}

fn is_kernels(path: &str) -> bool {
    ["/sys/", "/proc/"].iter().any(|root| path.starts_with(root))
}

/// Where a path leads.
fn place(path: &str, read: Read<'_>) -> Option<String> {
    let place = read(&resolved_place(path)).ok()?.trim_end_matches('\n').to_owned();
    Some(place).filter(|place| place.starts_with('/'))
}

/// A device's address; none for one that has no such thing.
fn address(device: &str, read: Read<'_>) -> Option<String> {
    let address = read(&format!("/sys/class/net/{device}/address")).ok()?.trim().to_owned();
    (!address.is_empty()).then_some(address)
}

/// Who undoes: this boot, this namespace, and whether somebody insists.
pub(super) struct Stand<'a> {
    pub(super) boot_id: &'a str,
    pub(super) net_ns: Option<u64>,
    pub(super) force: bool,
}

/// Decides and does the undo of one entry.
pub(super) fn settle(
    entry: &OpenEntry,
    stand: &Stand<'_>,
    read: Read<'_>,
    act: &mut dyn FnMut(&Action) -> Result<(), Errno>,
) -> Undone {
    // What the kernel refused is closed at once, unless that could not be written down.
    let Some(undo) = entry.turn.undo.as_ref().filter(|_| !entry.is_refused()) else { return Undone::AlreadyBack };
    if entry.is_over(stand.boot_id, read) {
        return Undone::Rebooted;
    }
    if let Some(away) = away(entry, undo, stand.net_ns, read) {
        return if stand.force { Undone::GivenUp } else { away };
    }
    if let (Some(was), Some(path)) = (&entry.origin.place, ordinary(undo))
        && let Some(now) = place(path, read).filter(|now| now != was)
    {
        return Undone::Failed { why: format!("{path} led to {was} and now leads to {now}, so neither was written") };
    }
    if let Action::ReplaceFile { path, .. } = &entry.turn.action {
        // Anyone who was killed between writing it and giving it its name left it. Mostly it is not there.
        let _ = act(&Action::RemoveFile { path: draft_of(path) });
    }
    let now = entry.turn.read_back.as_ref().map(|path| read(path).map(|text| text.trim_end().to_owned()));
    // One member of a pair reads 0 before and after somebody has set the other one, which is what the undo writes.
    let is_back = match undo {
        Action::WriteFile { path, text } if entry.turn.read_back.as_ref().is_some_and(|place| place != path) => {
            read(path).is_ok_and(|now| now.trim_end() == text.trim_end())
        }
        _ => true,
    };
    if let Some(compared) = compare(entry, undo, now.as_ref(), is_back, stand) {
        return compared;
    }
    match rounded::restore(entry, undo, read, act) {
        Ok(()) => Undone::Undone,
        Err(Errno::ENOENT) if removes(undo) => Undone::AlreadyBack,
        // It was not removed.
        Err(Errno::EEXIST) if matches!(undo, Action::MakeFolder { .. }) => Undone::AlreadyBack,
        // It is not ours alone any more.
        Err(Errno::ENOTEMPTY | Errno::EEXIST) if matches!(undo, Action::RemoveFolder { .. }) => Undone::AlreadyBack,
        Err(errno)
            if (stand.force || !matches!(entry.turn.before, Before::Saved { .. }))
                && has_no_place(undo, now.as_ref(), errno, read) =>
        {
            Undone::AlreadyBack
        }
        Err(errno) if was_never_taken(entry, now.as_ref(), errno) => Undone::AlreadyBack,
        Err(errno) => Undone::Failed { why: errno.to_string() },
    }
}

fn removes(undo: &Action) -> bool {
    matches!(undo, Action::RemoveFile { .. } | Action::RemoveFolder { .. } | Action::RemoveGroup { .. })
}

/// Whether the place refuses the undo for the reason it refused the action, and reads as it did before both: a file that may
/// not be written, or one whose CPU is out of service.
fn was_never_taken(entry: &OpenEntry, now: Option<&Result<String, Errno>>, errno: Errno) -> bool {
    let reads_now = |before: &str| matches!(now, Some(Ok(now)) if now == before.trim_end());
    entry.errno == Some(errno)
        && match entry.turn.before.text() {
            Some(before) => reads_now(before) && entry.reads_as(before),
            None => match now {
                Some(now) => now.is_err(),
                // Nothing reads that could show whether a group or a folder was made; but none was where none can be.
                None => matches!(errno, Errno::EOPNOTSUPP | Errno::EROFS),
            },
        }
}

/// What comparing says, when it says that nothing is to be done.
fn compare(
    entry: &OpenEntry,
    undo: &Action,
    now: Option<&Result<String, Errno>>,
    is_back: bool,
    stand: &Stand<'_>,
) -> Option<Undone> {
    // While its owner lives, what somebody else writes to what is held is a disturbance. In a later boot it is an edit.
    let is_late = entry.is_of_another_boot(stand.boot_id);
    let is_spared = (entry.turn.hold == Hold::Set || is_late) && !stand.force;
    let before = &entry.turn.before;
    let is_before = |now: &str| is_back && before.text().is_some_and(|before| now == before.trim_end());
    // A file that was not there before reads as nothing did.
    let made = matches!(undo, Action::RemoveFile { .. });
    match now? {
        // Nothing is there to be removed: it was never made, or is gone. What is there and cannot be read is not ours.
        Err(Errno::ENOENT) if made => Some(Undone::AlreadyBack),
        Ok(now) if is_before(now) => matches!(before, Before::Reads(_)).then_some(Undone::AlreadyBack),
        Ok(now) if made || !matches!(before, Before::Unknown | Before::Saved { .. }) => {
            let written = match &entry.turn.action {
                Action::WriteFile { text, .. } | Action::ReplaceFile { text, .. } => text,
                _ => &entry.turn.asked,
            };
            // Without a reading we were interrupted between acting and writing down what came of it.
            let ours = entry.reads_back.as_ref().unwrap_or(written);
            let is_foreign =
                is_spared && now != ours.trim_end() && !(is_late && is_torn(now, &entry.turn.action, undo));
            is_foreign.then(|| Undone::Foreign { found: now.clone(), ours: ours.clone() })
        }
        // What cannot be compared may be somebody else's.
        Err(errno) if is_spared && *errno != Errno::ENOENT => Some(Undone::Failed { why: errno.to_string() }),
        _ => None,
    }
}

/// Whether a file was left in the middle of being overwritten in place, by the action or by its undo: the new text is there
/// and the end of the longer old one is not cut off yet. Or it was made, and nothing is in it.
fn is_torn(now: &str, action: &Action, undo: &Action) -> bool {
    if !matches!(action, Action::WriteFile { .. }) {
        return false;
    }
    let text = |action: &Action| match action {
        Action::WriteFile { text, .. } => text.clone(),
        _ => String::new(),
    };
    let (ours, before) = (text(action), text(undo));
    let over = |new: &str, old: &str| {
        let rest = old.as_bytes().get(new.len()..).unwrap_or_default();
        let both = [new.as_bytes(), rest].concat();
        String::from_utf8_lossy(&both).trim_end() == now
    };
    if now.is_empty() { before.is_empty() } else { over(&ours, &before) || over(&before, &ours) }
}

/// Whether the kernel took the file away and with it what was written there, as it does with the tunables of a governor
/// that has left; its set speed stays and says so. What a write is refused with says less than that nothing is there: a shell tries to
/// make the file.
fn has_no_place(undo: &Action, now: Option<&Result<String, Errno>>, errno: Errno, read: Read<'_>) -> bool {
    let is_absent = |path: &str, read: Read<'_>| errno == Errno::ENOENT || read(path) == Err(Errno::ENOENT);
    let gone = now == Some(&Err(Errno::ENOENT))
        && is_volatile(undo)
        && matches!(undo, Action::WriteFile { path, .. } if is_absent(path, read));
    gone || matches!(now, Some(Ok(text)) if text == "<unsupported>")
}

/// Whether what was turned is not what the path leads to here: another namespace's, or another device's of that name.
fn away(entry: &OpenEntry, undo: &Action, net_ns: Option<u64>, read: Read<'_>) -> Option<Undone> {
    if let (Some(made), Some(here)) = (entry.origin.net_ns, net_ns)
        && made != here
    {
        return Some(Undone::Elsewhere);
    }
    let ours = entry.origin.device.as_ref()?;
    let device = Network::of(undo)?.device?;
    let found = address(device, read);
    (found.as_ref() != Some(ours)).then(|| Undone::OtherDevice { device: device.to_owned(), ours: ours.clone(), found })
}

/// Whether the kernel forgets this at a reboot.
pub(super) fn is_volatile(undo: &Action) -> bool {
    match undo {
        Action::WriteFile { path, .. } | Action::RemoveFile { path } => is_kernels(path),
        Action::HoldFile { .. }
        | Action::ReleaseFile { .. }
        | Action::Coalesce { .. }
        | Action::MakeGroup { .. }
        | Action::RemoveGroup { .. } => true,
        Action::ReplaceFile { .. } | Action::MakeFolder { .. } | Action::RemoveFolder { .. } | Action::Run { .. } => {
            false
        }
    }
}
