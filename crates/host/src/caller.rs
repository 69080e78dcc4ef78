//! The user who called sudo: whom loads run as, and in whose folders nothing of root's is left.
pub(crate) mod surroundings;

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{Gid, Pid, Signal};

/// Who called sudo, by sudo's own word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    uid: u32,
    gid: u32,
}

impl Caller {
    /// The caller, when we are root through sudo (SUDO_UID, SUDO_GID) and it was not root who called.
    #[must_use]
    pub fn of_sudo() -> Option<Caller> {
        Self::named(rustix::process::geteuid().is_root(), &crate::surroundings::text_variable)
    }

    fn named(root: bool, variable: &dyn Fn(&str) -> Option<String>) -> Option<Caller> {
        let number = |name| variable(name)?.parse::<u32>().ok();
        // The largest number is no user: the kernel reads it as "unchanged".
        let is_user = |caller: &Caller| root && caller.uid != 0 && caller.uid != u32::MAX && caller.gid != u32::MAX;
        Some(Caller { uid: number("SUDO_UID")?, gid: number("SUDO_GID")? }).filter(is_user)
    }

    #[cfg(test)]
    pub(crate) fn of(uid: u32, gid: u32) -> Caller {
        Caller { uid, gid }
    }

    /// The caller, where the file at `path` could be moved away and replaced by them: by the path as it is written, or by
    /// where its folder really is.
    pub(crate) fn commanding(path: &Path) -> Option<Caller> {
        let caller = Caller::of_sudo()?;
        let written = std::path::absolute(path).unwrap_or_else(|_| path.into());
        let real = written.parent().and_then(|folder| folder.canonicalize().ok());
        let commands = |path: &Path| caller.commands(path, &owner);
        (commands(&written) || real.is_some_and(|real| commands(&real))).then_some(caller)
    }

    /// His number.
    pub(crate) fn uid(&self) -> u32 {
        self.uid
    }

    /// The number of his group.
    pub(crate) fn gid(&self) -> u32 {
        self.gid
    }

    /// Whether `path`, or where it would be made, is his own.
    fn owns(&self, path: &Path, owner: &dyn Fn(&Path) -> Option<u32>) -> bool {
        path.ancestors().find_map(owner) == Some(self.uid)
    }

    /// Whether `path` lies in a folder of his, where he can move it away and put another there.
    pub(crate) fn commands(&self, path: &Path, owner: &dyn Fn(&Path) -> Option<u32>) -> bool {
        path.ancestors().filter_map(owner).any(|uid| uid == self.uid)
    }
}

/// The number of the user whose rights commands of a plan have: who called sudo, else ours.
#[must_use]
pub fn command_uid() -> u32 {
    Caller::of_sudo().map_or_else(own_uid, |caller| caller.uid)
}

/// The user we act as.
#[must_use]
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whose a file is; of a link, whose the link is. `None` when it is not there.
pub(crate) fn owner(path: &Path) -> Option<u32> {
    std::fs::symlink_metadata(path).ok().map(|found| found.uid())
}

/// Why root must not do what is written in a file or folder of this owner, group and mode: others may have written it.
pub(crate) fn distrusted(uid: u32, gid: u32, mode: u32) -> Option<String> {
    // In a folder as /tmp (the sticky bit) others may make files, which are looked at by themselves, and touch none of ours.
    match (uid, mode & 0o022) {
        (0, 0) => None,
        (0, 0o020) if gid == 0 => None,
        (0, _) if mode & 0o041_000 == 0o041_000 => None,
        (0, _) => Some("may be written by others than root".into()),
        (uid, _) => Some(format!("belongs to the user {uid}")),
    }
}

/// Does what makes or opens the file `path`: under sudo, where the place is the caller's, with the caller's rights, so
/// that what is made is his and no link of his leads where only root may write. `act` stays on this thread.
pub fn with_rights_for<T>(path: &Path, act: impl FnOnce() -> T) -> T {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let Some(caller) = Caller::of_sudo().filter(|caller| caller.owns(&absolute, &owner)) else { return act() };
    with_rights_of(caller, act)
}

/// Does something with this caller's rights on files. `act` stays on this thread.
pub(crate) fn with_rights_of<T>(caller: Caller, act: impl FnOnce() -> T) -> T {
    let _rights = FileRights::of(caller);
    act()
}

/// Another user's rights on files, until dropped.
struct FileRights {
    gid_before: u32,
    /// Root's further groups give rights as well.
    groups_before: Vec<Gid>,
    parent: Option<Pid>,
    /// A change of rights takes this order away.
    at_parents_death: Option<Signal>,
}

impl FileRights {
    fn of(caller: Caller) -> FileRights {
        let before = FileRights {
            gid_before: rustix::process::getegid().as_raw(),
            groups_before: rustix::process::getgroups().unwrap_or_default(),
            parent: rustix::process::getppid(),
            at_parents_death: rustix::process::parent_process_death_signal().ok().flatten(),
        };
        // Where that is refused (a user namespace without setgroups) there are none to give up either.
        let _ = rustix::thread::set_thread_groups(&[Gid::from_raw(caller.gid)]);
        // A root who may become nobody else (no CAP_SETUID) goes on as himself.
        crate::raw::set_file_rights(caller.uid, caller.gid);
        before
    }
}

impl Drop for FileRights {
    fn drop(&mut self) {
        crate::raw::set_file_rights(0, self.gid_before);
        let _ = rustix::thread::set_thread_groups(&self.groups_before);
        if let (Some(signal), Some(parent)) = (self.at_parents_death, self.parent)
            && !end_with(parent, signal)
        {
            // It died while the order was not in force.
            let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
        }
    }
}

/// Under sudo: asks for SIGTERM when sudo dies, so that nothing stays turned for nobody. `false` when it is dead by now.
/// Another parent, as a shell that sudo runs, may end before us.
#[must_use]
pub fn end_with_sudo() -> bool {
    let is_sudo = |parent: &Pid| {
        let name = std::fs::read_to_string(format!("/proc/{parent}/comm")).unwrap_or_default();
        matches!(name.trim_end(), "sudo" | "sudo-rs")
    };
    match Caller::of_sudo().and(rustix::process::getppid()).filter(is_sudo) {
        Some(sudo) => end_with(sudo, Signal::TERM),
        None => true,
    }
}

/// Asks for a signal at the parent's death; `false` when it is not the parent any more.
fn end_with(parent: Pid, signal: Signal) -> bool {
    // Refused by no kernel for a signal that exists.
    let _ = rustix::process::set_parent_process_death_signal(Some(signal));
    rustix::process::getppid() == Some(parent)
}

#[cfg(test)]
mod tests;
