//! Writes to files, by fanotify: marks on the files themselves, so that no other file of theirs costs anything.
//!
//! Only what was really written counts (FAN_MODIFY): somebody who opened a file and was refused has changed nothing.
//! A mark sits on an inode. Those of sysfs are the same for as long as they are marked; those of procfs live as long as the
//! kernel remembers their name, so that is held; a file that is replaced, or a folder made anew (the tunables of a
//! governor), is marked again. That an ordinary file was replaced or removed is heard by inotify.
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};

use powerband_machine::Errno;
use powerband_record::Writer;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{Mode, OFlags, Stat};

use super::{Heard, Ours, hand};
use crate::{errno, io_errno};

/// Where names are the kernel's: what is made anew there is no file that somebody has replaced.
const KERNELS: [&str; 2] = ["/proc/", "/sys/"];

/// Why nobody is named who replaced a file.
const REPLACED: &str = "the file was replaced or removed, and the kernel does not report by whom";

/// Device and inode.
type Inode = (u64, u64);

/// The files that are watched.
pub(super) struct Files {
    group: OwnedFd,
    /// Tells when an ordinary file is another one.
    replaced: OwnedFd,
    /// By path; `None` where there is none, or none that can be marked.
    marked: BTreeMap<String, Option<Marked>>,
}

struct Marked {
    inode: Inode,
    /// The file by its name, not opened.
    _held: Option<OwnedFd>,
}

/// Why there is no watching.
pub(super) fn in_words(errno: Errno) -> String {
    match errno {
        Errno::EPERM | Errno::EACCES => "only root may watch files (CAP_SYS_ADMIN)".into(),
        Errno::ENOSYS => "this kernel was built without fanotify (CONFIG_FANOTIFY)".into(),
        errno => format!("the kernel has no fanotify to give: {errno}"),
    }
}

fn inode(stat: &Stat) -> Inode {
    (stat.st_dev, stat.st_ino)
}

fn is_kernels(path: &str) -> bool {
    KERNELS.iter().any(|folder| path.starts_with(folder))
}

impl Files {
    pub(super) fn new() -> Result<Files, Errno> {
        let group = crate::raw::fanotify().map_err(|error| io_errno(&error))?;
        let replaced = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(errno)?;
        Ok(Files { group, replaced, marked: BTreeMap::new() })
    }

    pub(super) fn fds(&self) -> [&OwnedFd; 2] {
        [&self.group, &self.replaced]
    }

    /// From now on these paths; answers the first that is there and cannot be marked.
    pub(super) fn aim(&mut self, paths: &[&String]) -> Result<(), String> {
        let mut before = std::mem::take(&mut self.marked);
        let mut trouble = Ok(());
        for &path in paths {
            let marked = match before.remove(path) {
                Some(Some(marked)) => Some(marked),
                _ => match self.mark(path) {
                    Err(errno) if errno != Errno::ENOENT && trouble.is_ok() => {
                        trouble = Err(format!("{path} cannot be watched: {errno}"));
                        None
                    }
                    marked => marked.ok(),
                },
            };
            self.marked.insert(path.clone(), marked);
        }
        // The marks of the others stay; nobody asks for what they tell.
        trouble
    }

    fn mark(&self, path: &str) -> Result<Marked, Errno> {
        let named = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(errno)?;
        let inode = inode(&rustix::fs::fstat(&named).map_err(errno)?);
        crate::raw::fanotify_mark(self.group.as_fd(), path).map_err(|error| io_errno(&error))?;
        if !is_kernels(path) {
            // Another name in its place takes one of its names away.
            let gone = WatchFlags::ATTRIB | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
            inotify::add_watch(&self.replaced, path, gone).map_err(errno)?;
        }
        // Thousands of files may be watched: only where it is needed is a descriptor spent.
        Ok(Marked { inode, _held: path.starts_with("/proc/").then_some(named) })
    }

    /// Takes what has come.
    pub(super) fn listen(&mut self, ours: &Ours, heard: &mut Heard) {
        self.hear_writes(ours, heard);
        let (mut events, mut any) = ([0; 4096], false);
        while let Ok(1..) = rustix::io::read(&self.replaced, &mut events) {
            any = true;
        }
        if any {
            self.look_again(heard);
        }
    }

    fn hear_writes(&self, ours: &Ours, heard: &mut Heard) {
        loop {
            match crate::raw::fanotify_events(self.group.as_fd()) {
                Ok(events) if events.is_empty() => return,
                Ok(events) => {
                    for (pid, file) in events {
                        self.tell(pid, file, ours, heard);
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                // The file that was written could not be shown to us; the kernel has forgotten who it was.
                Err(_) => self.somewhere("the kernel could not show which file it was", heard),
            }
        }
    }

    /// One event. Without a file, the kernel had more to tell than it could keep.
    fn tell(&self, pid: u32, file: Option<OwnedFd>, ours: &Ours, heard: &mut Heard) {
        if ours.own.contains(&pid) {
            return;
        }
        let Some(file) = file else {
            return self.somewhere("there were more writes than the kernel could keep", heard);
        };
        // First of all its name: it may be gone the next moment.
        let by = hand::writer(pid);
        let by_load = ours.is_load(pid);
        let Ok(stat) = rustix::fs::fstat(&file) else { return };
        let written = inode(&stat);
        let is_it = |marked: &Option<Marked>| marked.as_ref().is_some_and(|marked| marked.inode == written);
        for (path, _) in self.marked.iter().filter(|(_, marked)| is_it(marked)) {
            heard.note(path, &by, by_load);
        }
    }

    fn somewhere(&self, why: &str, heard: &mut Heard) {
        self.marked.keys().for_each(|path| heard.note(path, &Writer::unknown(why), false));
    }

    /// Marks what has come to be there, or is another file now.
    pub(super) fn look_again(&mut self, heard: &mut Heard) {
        let paths: Vec<String> = self.marked.keys().cloned().collect();
        for path in paths {
            let now = rustix::fs::stat(path.as_str()).ok().map(|stat| inode(&stat));
            let before = self.marked.get(&path).and_then(|marked| marked.as_ref()).map(|marked| marked.inode);
            if now == before {
                continue;
            }
            if before.is_some() && !is_kernels(&path) {
                heard.note(&path, &Writer::unknown(REPLACED), false);
            }
            let marked = self.mark(&path).ok();
            self.marked.insert(path, marked);
        }
    }
}
