//! The kernel's side of the file system: inodes, open files, and passing questions on.
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::mpsc::{Sender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, Errno as Refusal, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    LockOwner, OpenAccMode, OpenFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use powerband_machine::{Entry, Errno};

use crate::answer::{Ask, MountAnswer, What};

/// Nothing is remembered by the kernel: governors' folders come and go.
const FORGOTTEN: Duration = Duration::ZERO;

/// Size of every file, as in sysfs, bytes.
const SIZE_BYTES: u64 = 4096;

/// The file system.
pub(crate) struct Window {
    asks: Sender<Ask>,
    known: Mutex<Known>,
}

/// What the kernel knows by a number.
#[derive(Default)]
struct Known {
    /// Paths of the machine; an inode is its place here and 1. The first is the folder that is mounted.
    paths: Vec<String>,
    inodes: BTreeMap<String, u64>,
    /// Texts being read, by handle.
    texts: BTreeMap<u64, String>,
    handles: u64,
    /// Owners and permissions that were changed, by path: sysfs lets root change them, until the next boot.
    owners: BTreeMap<String, Owner>,
}

/// Who owns a file and what its owner and others may do.
#[derive(Clone, Copy)]
struct Owner {
    uid: u32,
    gid: u32,
    mode: u32,
}

impl Known {
    fn inode(&mut self, path: &str) -> u64 {
        if let Some(&inode) = self.inodes.get(path) {
            return inode;
        }
        self.paths.push(path.to_owned());
        let inode = self.paths.len() as u64;
        self.inodes.insert(path.to_owned(), inode);
        inode
    }

    fn path(&self, inode: INodeNo) -> Result<String, Errno> {
        let place = usize::try_from(inode.0).ok().and_then(|inode| inode.checked_sub(1));
        place.and_then(|place| self.paths.get(place)).cloned().ok_or(Errno::ENOENT)
    }
}

impl Window {
    /// Serves a folder of the machine; `""` is all of it.
    pub(crate) fn new(root: &str, asks: Sender<Ask>) -> Self {
        let mut known = Known::default();
        known.inode(root);
        Window { asks, known: Mutex::new(known) }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the thread that has the machine. Once that has stopped listening there is no machine any more.
    fn ask(&self, what: What) -> Result<MountAnswer, Errno> {
        let (to, answer) = sync_channel(1);
        self.asks.send(Ask { what, to }).map_err(|_| Errno::ENODEV)?;
        answer.recv().map_err(|_| Errno::ENODEV)?
    }

    fn path(&self, inode: INodeNo) -> Result<String, Errno> {
        self.known().path(inode)
    }

    /// What is at a path. The mounted folder itself is known without asking the machine.
    fn entry(&self, path: &str) -> Result<Entry, Errno> {
        if self.known().paths.first().is_some_and(|root| root == path) {
            return Ok(Entry::new("", true, 0o755));
        }
        match self.ask(What::Kind(path.to_owned()))? {
            MountAnswer::Kind(entry) => Ok(entry),
            _ => Err(Errno::EIO),
        }
    }

    fn attributes(&self, path: &str) -> Result<FileAttr, Errno> {
        let entry = self.entry(path)?;
        let inode = self.known().inode(path);
        let owner = self.owner(path, &entry);
        // Lengths of folders and links are those of sysfs.
        let is_file = kind(&entry) == FileType::RegularFile;
        Ok(FileAttr {
            ino: INodeNo(inode),
            size: if is_file { SIZE_BYTES } else { 0 },
            blocks: 0,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: kind(&entry),
            perm: u16::try_from(owner.mode & 0o7777).unwrap_or(0o444),
            nlink: if kind(&entry) == FileType::Directory { 2 } else { 1 },
            uid: owner.uid,
            gid: owner.gid,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    fn owner(&self, path: &str, entry: &Entry) -> Owner {
        let mode = match kind(entry) {
            FileType::Symlink => 0o777,
            FileType::Directory => 0o755,
            _ => entry.mode,
        };
        self.known().owners.get(path).copied().unwrap_or(Owner { uid: 0, gid: 0, mode })
    }

    /// The kernel has looked whether the caller may do that.
    fn change_owner(&self, path: &str, mode: Option<u32>, uid: Option<u32>, gid: Option<u32>) -> Result<(), Errno> {
        if mode.or(uid).or(gid).is_some() {
            let entry = self.entry(path)?;
            let Owner { uid: old_uid, gid: old_gid, mode: old_mode } = self.owner(path, &entry);
            let owner =
                Owner { uid: uid.unwrap_or(old_uid), gid: gid.unwrap_or(old_gid), mode: mode.unwrap_or(old_mode) };
            self.known().owners.insert(path.to_owned(), owner);
        }
        Ok(())
    }

    /// A new handle; like the kernel's own, not even root opens a file for what it is not for.
    fn open_file(&self, inode: INodeNo, flags: OpenFlags) -> Result<u64, Errno> {
        let path = self.path(inode)?;
        let mode = self.owner(&path, &self.entry(&path)?).mode;
        let (reads, writes) = match flags.acc_mode() {
            OpenAccMode::O_RDONLY => (true, false),
            OpenAccMode::O_WRONLY => (false, true),
            OpenAccMode::O_RDWR => (true, true),
        };
        if (reads && mode & 0o444 == 0) || (writes && mode & 0o222 == 0) {
            return Err(Errno::EACCES);
        }
        let mut known = self.known();
        known.handles += 1;
        Ok(known.handles)
    }

    /// A file is read anew from its beginning, and then on from what was read.
    fn text(&self, inode: INodeNo, handle: u64, offset: u64) -> Result<String, Errno> {
        let path = self.path(inode)?;
        if offset > 0
            && let Some(text) = self.known().texts.get(&handle)
        {
            return Ok(text.clone());
        }
        let MountAnswer::Text(text) = self.ask(What::Read(path))? else { return Err(Errno::EIO) };
        self.known().texts.insert(handle, text.clone());
        Ok(text)
    }

    /// One write is one command.
    fn command(&self, inode: INodeNo, bytes: &[u8]) -> Result<u32, Errno> {
        let path = self.path(inode)?;
        let text = std::str::from_utf8(bytes).map_err(|_| Errno::EINVAL)?.to_owned();
        self.ask(What::Write(path, text))?;
        u32::try_from(bytes.len()).map_err(|_| Errno::EINVAL)
    }

    fn names(&self, inode: INodeNo) -> Result<Vec<(u64, FileType, String)>, Errno> {
        let path = self.path(inode)?;
        let MountAnswer::List(entries) = self.ask(What::List(path.clone()))? else { return Err(Errno::EIO) };
        let above = path.rsplit_once('/').map_or("", |(above, _)| above);
        let mut known = self.known();
        let dots = [(path.as_str(), "."), (above, "..")];
        let mut names: Vec<_> =
            dots.map(|(path, name)| (known.inode(path), FileType::Directory, name.to_owned())).into();
        for entry in entries {
            names.push((known.inode(&format!("{path}/{}", entry.name)), kind(&entry), entry.name));
        }
        Ok(names)
    }
}

fn kind(entry: &Entry) -> FileType {
    match entry {
        Entry { link: Some(_), .. } => FileType::Symlink,
        Entry { folder: true, .. } => FileType::Directory,
        _ => FileType::RegularFile,
    }
}

fn refusal(errno: Errno) -> Refusal {
    Refusal::from_i32(errno.0)
}

impl Filesystem for Window {
    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let path = self.path(parent).and_then(|parent| {
            let name = name.to_str().ok_or(Errno::ENOENT)?;
            Ok(format!("{parent}/{name}"))
        });
        match path.and_then(|path| self.attributes(&path)) {
            Ok(attributes) => reply.entry(&FORGOTTEN, &attributes, Generation(0)),
            Err(errno) => reply.error(refusal(errno)),
        }
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        match self.path(inode).and_then(|path| self.attributes(&path)) {
            Ok(attributes) => reply.attr(&FORGOTTEN, &attributes),
            Err(errno) => reply.error(refusal(errno)),
        }
    }

    fn readlink(&self, _request: &Request, inode: INodeNo, reply: ReplyData) {
        match self.path(inode).and_then(|path| self.entry(&path)?.link.ok_or(Errno::EINVAL)) {
            Ok(target) => reply.data(target.as_bytes()),
            Err(errno) => reply.error(refusal(errno)),
        }
    }

    /// Files are cut to nothing before they are written, which means nothing here; times cannot be changed.
    fn setattr(
        &self,
        _request: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        _size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let changed = self.path(inode).and_then(|path| {
            self.change_owner(&path, mode, uid, gid)?;
            self.attributes(&path)
        });
        match changed {
            Ok(attributes) => reply.attr(&FORGOTTEN, &attributes),
            Err(errno) => reply.error(refusal(errno)),
        }
    }

    fn open(&self, _request: &Request, inode: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match self.open_file(inode, flags) {
            Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::FOPEN_DIRECT_IO),
            Err(errno) => reply.error(refusal(errno)),
        }
    }

    fn read(
        &self,
        _request: &Request,
        inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.text(inode, handle.0, offset) {
            Ok(text) => {
                let from = usize::try_from(offset).map_or(text.len(), |offset| offset.min(text.len()));
                let to = usize::try_from(size).map_or(text.len(), |size| from.saturating_add(size).min(text.len()));
                reply.data(&text.as_bytes()[from..to]);
            }
            Err(errno) => reply.error(refusal(errno)),
        }
    }

    fn write(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        _offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.command(inode, data) {
            Ok(size) => reply.written(size),
            Err(errno) => reply.error(refusal(errno)),
        }
    }

    fn release(
        &self,
        _request: &Request,
        _inode: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.known().texts.remove(&handle.0);
        reply.ok();
    }

    fn readdir(&self, _request: &Request, inode: INodeNo, _handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        match self.names(inode) {
            Ok(names) => {
                for (place, (inode, kind, name)) in (1..).zip(names).skip(usize::try_from(offset).unwrap_or(0)) {
                    if reply.add(INodeNo(inode), place, kind, &name) {
                        break;
                    }
                }
                reply.ok();
            }
            Err(errno) => reply.error(refusal(errno)),
        }
    }

    /// The kernel makes and removes its files itself; sysfs has no operations for that, which is answered with EPERM.
    fn unlink(&self, _request: &Request, _parent: INodeNo, _name: &OsStr, reply: ReplyEmpty) {
        reply.error(refusal(Errno::EPERM));
    }

    fn rmdir(&self, _request: &Request, _parent: INodeNo, _name: &OsStr, reply: ReplyEmpty) {
        reply.error(refusal(Errno::EPERM));
    }

    fn mkdir(&self, _request: &Request, _parent: INodeNo, _name: &OsStr, _mode: u32, _umask: u32, reply: ReplyEntry) {
        reply.error(refusal(Errno::EPERM));
    }

    /// Without such an operation the kernel answers EACCES.
    fn create(
        &self,
        _request: &Request,
        _parent: INodeNo,
        _name: &OsStr,
        _mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        reply.error(refusal(Errno::EACCES));
    }
}
