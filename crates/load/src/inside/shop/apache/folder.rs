//! The folder of a shop, who owns it, what runs in it, and the keeper that takes all of it away when we are killed.
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::FlockOperation;
use rustix::process::{Signal, WaitOptions};

use super::{Failure, group};

const KEEPER: &str = include_str!("keeper.sh");

/// How folders of shops begin, and the file whose lock says that one is in use.
const NAME: &str = "powerband-shop-";
const LOCK: &str = "lock";

/// The user that root lets the servers be.
const SERVANT: &str = "www-data";

/// Longest path of a socket, unix(7), bytes.
const MAX_SOCKET: usize = 107;

/// A folder that goes with us.
pub(super) struct Folder {
    path: PathBuf,
    keeper: Child,
    /// Who owns it and runs the servers, when that is not us.
    servant: Option<(u32, u32)>,
    /// Held as long as we live.
    _lock: File,
}

impl Folder {
    /// Makes a new one, after removing what killed loads left.
    pub(super) fn make() -> Result<Self, Failure> {
        let above = std::env::temp_dir();
        let servant = servant()?;
        remove_left(&above, servant.map_or_else(|| rustix::process::geteuid().as_raw(), |(uid, _)| uid));
        let path = above.join(format!("{NAME}{}", std::process::id()));
        let cannot = || Failure::of(format!("cannot make the folder {}", path.display()));
        if path.join("database.socket").as_os_str().len() > MAX_SOCKET {
            return Err(cannot()(io::Error::other("its path is too long for a socket; set TMPDIR to a shorter one")));
        }
        DirBuilder::new().mode(0o700).create(&path).map_err(cannot())?;
        let made = || -> io::Result<(File, Child)> {
            if let Some((uid, gid)) = servant {
                chown(&path, Some(uid), Some(gid))?;
            }
            let lock = File::create_new(path.join(LOCK))?;
            rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
            let mut keeper = Command::new("/bin/sh");
            keeper.args(["-c", KEEPER, "keeper"]).arg(&path).current_dir("/");
            // What lives in the session of a load is killed with it.
            before_it_executes(&mut keeper, || rustix::process::setsid().map(drop));
            keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            let keeper = keeper.spawn()?;
            group::leave(keeper.id());
            Ok((lock, keeper))
        };
        match made() {
            Ok((lock, keeper)) => Ok(Folder { path, keeper, servant, _lock: lock }),
            Err(error) => {
                let _ = fs::remove_dir_all(&path);
                Err(cannot()(error))
            }
        }
    }

    pub(super) fn shown(&self) -> String {
        self.path.display().to_string()
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.path.join("database.socket")
    }

    fn own(&self, path: &Path) -> io::Result<()> {
        self.servant.map_or(Ok(()), |(uid, gid)| chown(path, Some(uid), Some(gid)))
    }

    pub(super) fn make_folder(&self, name: &str) -> Result<(), Failure> {
        let path = self.path.join(name);
        let made = fs::create_dir(&path).and_then(|()| self.own(&path));
        made.map_err(Failure::of(format!("cannot make {}", path.display())))
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.path.join(name);
        let written = fs::write(&path, text).and_then(|()| self.own(&path));
        written.map_err(Failure::of(format!("cannot write {}", path.display())))
    }

    /// The last line of a log.
    pub(super) fn last_line(&self, name: &str) -> String {
        let text = fs::read(self.path.join(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").to_owned()
    }

    /// Starts a server, in a process group of its own and as the right user, that is sent `signal` when we end and that the
    /// keeper knows of.
    pub(super) fn start(&mut self, mut server: Command, signal: Signal, log: &str) -> Result<Child, Failure> {
        let program = server.get_program().to_string_lossy().into_owned();
        let cannot = || Failure::of(format!("cannot start {program}"));
        let log = self.path.join(log);
        let said = File::options().create(true).append(true).open(&log).map_err(cannot())?;
        self.own(&log).map_err(cannot())?;
        let complained = said.try_clone().map_err(cannot())?;
        server.current_dir("/").process_group(0).stdin(Stdio::null()).stdout(said).stderr(complained);
        if let Some((uid, gid)) = self.servant {
            server.uid(uid).gid(gid);
        }
        // The kernel signals it when the thread that starts it ends, which is our first.
        before_it_executes(&mut server, move || rustix::process::set_parent_process_death_signal(Some(signal)));
        let started = server.spawn().map_err(cannot())?;
        let told = self.keeper.stdin.as_mut().map(|pipe| writeln!(pipe, "{}", started.id()));
        told.unwrap_or(Ok(())).map_err(cannot())?;
        Ok(started)
    }

    /// Removes it, once everything of it that was ended is gone.
    pub(super) fn remove(mut self) {
        // The keeper has nothing to keep, and the groups it knows are no more.
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
        // What Apache's first process left was handed to us.
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::empty()) {}
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Has a new process make one system call before it becomes its program.
#[expect(unsafe_code, reason = "only between fork and exec can a process ask for this")]
fn before_it_executes(command: &mut Command, call: impl Fn() -> rustix::io::Result<()> + Send + Sync + 'static) {
    let order = move || Ok(call()?);
    // SAFETY: a system call is safe after a fork, and nothing is allocated.
    unsafe { command.pre_exec(order) };
}

/// Whom root lets the servers be; nothing for everybody else.
fn servant() -> Result<Option<(u32, u32)>, Failure> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd").map_err(Failure::of("cannot read /etc/passwd"))?;
    let found = user_in(&users, SERVANT);
    found.map(Some).ok_or_else(|| Failure::Load(format!("the shop needs the user {SERVANT}, which is not here")))
}

/// User and group of a name, passwd(5).
fn user_in(users: &str, name: &str) -> Option<(u32, u32)> {
    let mut fields = users
        .lines()
        .map(|line| line.split(':'))
        .find_map(|mut fields| (fields.next() == Some(name)).then_some(fields))?;
    let uid = fields.nth(1)?.parse().ok()?;
    Some((uid, fields.next()?.parse().ok()?))
}

/// Removes folders of shops whose loads are gone, and their keepers with them: those of one owner.
fn remove_left(above: &Path, owner: u32) {
    let entries = fs::read_dir(above).map(|entries| entries.flatten().collect::<Vec<_>>()).unwrap_or_default();
    for entry in entries.iter().filter(|entry| entry.file_name().to_string_lossy().starts_with(NAME)) {
        let path = entry.path();
        let ours = fs::symlink_metadata(&path).is_ok_and(|about| about.is_dir() && about.uid() == owner);
        let Some(lock) = ours.then(|| File::open(path.join(LOCK)).ok()).flatten() else { continue };
        if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // What cannot be removed is left to the next.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name() {
        let users = "root:x:0:0:root:/root:/bin/bash\nwww-data:x:33:34:www-data:/var/www:/usr/sbin/nologin\n";
        assert_eq!((user_in(users, "www-data"), user_in(users, "www")), (Some((33, 34)), None));
    }
}
