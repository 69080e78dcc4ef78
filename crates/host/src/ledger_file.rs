//! The ledger's bytes in a file that a full disk cannot surprise.
mod copy;

use std::cell::RefCell;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use powerband_machine::{Errno, Ledger, LedgerError, LedgerStore, Turn};
use rustix::fs::FallocateFlags;

use crate::in_place::{Anchor, is_at};
use crate::{errno, io_errno};
use copy::LedgerCopy;
pub(crate) use copy::inherited;

/// Room kept for what must still be written once something is turned, bytes.
const RESERVE_BYTES: u64 = 64 << 10;

/// A ledger in `FOLDER/ledger`, mode 0600, in a folder made with mode 0700 when it is absent. Nothing is made before
/// the first entry. Clones are the same ledger.
#[derive(Clone, Debug)]
pub struct FileLedger(Rc<RefCell<Inner>>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    /// The folder as it was when the ledger was read; `None` where there was none yet.
    folder: Option<Anchor>,
    file: Option<File>,
    /// What is in the file, as far as it is ours; made when the file is opened to be written.
    copy: Option<LedgerCopy>,
    bytes: u64,
    reserved: u64,
    /// How often another file took the place of the one before.
    replaced: u32,
    /// Whether it is read from the open file, wherever that is now.
    follows_file: bool,
}

impl FileLedger {
    /// The ledger of `folder`; touches nothing yet.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        FileLedger(Rc::new(RefCell::new(Inner {
            path: folder.join("ledger"),
            folder: None,
            file: None,
            copy: None,
            bytes: 0,
            reserved: 0,
            replaced: 0,
            follows_file: false,
        })))
    }

    /// The ledger in an open file that is no longer at its place in `folder`.
    pub(crate) fn in_file(folder: &Path, file: File) -> Self {
        let ledger = FileLedger::new(folder);
        {
            let mut inner = ledger.0.borrow_mut();
            inner.bytes = file.metadata().map_or(0, |found| found.len());
            (inner.file, inner.follows_file) = (Some(file), true);
        }
        ledger
    }

    /// Opens what a guardian needs to read the ledger even when its folder is gone.
    pub(crate) fn open_to_follow(folder: &Path) -> Option<File> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        OpenOptions::new().read(true).append(true).custom_flags(flags).open(folder.join("ledger")).ok()
    }

    /// How often another file took the place of the one before.
    pub(crate) fn replaced(&self) -> u32 {
        self.0.borrow().replaced
    }

    /// The copy in memory, for a guardian to inherit.
    pub(crate) fn copy(&self) -> Option<OwnedFd> {
        self.0.borrow().copy.as_ref().and_then(LedgerCopy::inheritable)
    }

    /// Whether an open ledger still has every line of its copy.
    pub(crate) fn has_all_of(ledger: &File, copy: &File) -> bool {
        copy::bytes(ledger).starts_with(&copy::bytes(copy))
    }

    /// Gives a ledger that was cut off or overwritten in its place the records of its copy again; what is no record is set
    /// aside. Answers whether it has them all. The caller has the folder's lock.
    pub(crate) fn mend(&self, copy: &File) -> bool {
        self.mend_with(&copy::bytes(copy)).is_ok()
    }

    fn mend_with(&self, copy: &[u8]) -> Result<(), Errno> {
        let mut fresh = FileLedger::new(&self.folder());
        let there = fresh.load().map_err(|_| Errno::EIO)?;
        if there.starts_with(copy) {
            return Ok(());
        }
        let (both, strange) = Ledger::union(&there, copy);
        if !strange.is_empty() {
            fresh.set_aside(&strange)?;
        }
        fresh.replace(&both)
    }

    /// Whether nothing at all is in the ledger of `folder`.
    pub(crate) fn is_empty(folder: &Path) -> bool {
        std::fs::metadata(folder.join("ledger")).is_ok_and(|found| found.len() == 0)
    }

    /// For an owner that leaves something open: writes what a deleted ledger held to its place again, and gives one that was
    /// cut off its lines. Where another one is meanwhile, the lines are kept in a file next to it for a person to look at. One
    /// that was only moved is whole where it is.
    pub(crate) fn save(&self) {
        let inner = self.0.borrow();
        let Some(file) = &inner.file else { return };
        let is_there = is_at(file, &inner.path);
        if !is_there && file.metadata().is_ok_and(|found| found.nlink() > 0) {
            return;
        }
        let copied = inner.copy.as_ref().map(LedgerCopy::bytes).filter(|copied| !copied.is_empty());
        let bytes = copied.unwrap_or_else(|| copy::bytes(file));
        let path = inner.path.clone();
        drop(inner);
        if is_there || FileLedger::is_empty(&self.folder()) {
            // There is nobody left to report a failure to.
            let _ = self.mend_with(&bytes);
            return;
        }
        if make_folder(&path).is_err() {
            return;
        }
        let fresh = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        // There is nobody left to report a failure to, and no third place.
        let _ = match fresh {
            Ok(mut file) => file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(|error| io_errno(&error)),
            Err(_) => self.clone().set_aside(&bytes),
        };
        crate::files::sync_folder_of(&path);
    }

    /// Where damaged lines of the ledger of `folder` are kept, until a person has looked at them and deletes it.
    #[must_use]
    pub fn damaged(folder: &Path) -> PathBuf {
        folder.join("ledger.damaged")
    }

    /// Where it is kept.
    pub(crate) fn folder(&self) -> PathBuf {
        self.0.borrow().path.parent().unwrap_or(Path::new(".")).to_path_buf()
    }
}

impl Inner {
    fn is_in_place(&self) -> bool {
        let folder_is = self.folder.as_ref().is_none_or(Anchor::is_in_place);
        let is_whole = |file: &File| file.metadata().is_ok_and(|found| found.len() == self.bytes);
        folder_is && self.file.as_ref().is_none_or(|file| is_at(file, &self.path) && is_whole(file))
    }

    fn open(&mut self) -> Result<&mut File, Errno> {
        if self.file.is_none() {
            if self.folder.as_ref().is_some_and(|folder| !folder.is_in_place()) {
                return Err(Errno::ESTALE);
            }
            make_folder(&self.path)?;
            let file = OpenOptions::new()
                .append(true)
                .read(true)
                .create(true)
                .mode(0o600)
                .custom_flags(libc::O_NOFOLLOW)
                .open(&self.path)
                .map_err(|error| io_errno(&error))?;
            crate::files::sync_folder_of(&self.path);
            self.bytes = file.metadata().map_err(|error| io_errno(&error))?.len();
            self.reserved = 0;
            let there = copy::bytes(&file);
            match &mut self.copy {
                Some(copy) => (copy.clear(), copy.append(&there)).1,
                None => self.copy = LedgerCopy::begin(&there),
            }
            self.file = Some(file);
            self.folder = self.folder.take().or_else(|| Anchor::of(self.path.parent()?));
        }
        self.file.as_mut().ok_or(Errno::EBADF)
    }

    /// Takes the room for an entry of `entry_bytes` and for what will be written of it later. Where a file system cannot
    /// reserve, nothing is reserved.
    fn reserve(&mut self, entry_bytes: u64) -> Result<(), Errno> {
        self.open()?;
        if !self.is_in_place() {
            return Err(Errno::ESTALE);
        }
        let wanted = self.bytes + entry_bytes + RESERVE_BYTES;
        if wanted <= self.reserved {
            return Ok(());
        }
        // Half as much again, so that not every entry asks the file system.
        let until = wanted + RESERVE_BYTES / 2;
        let Some(file) = &self.file else { return Ok(()) };
        match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, 0, until) {
            Ok(()) => self.reserved = until,
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
            Err(error) => return Err(errno(error)),
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        self.open()?;
        let before = self.bytes;
        let file = self.open()?;
        let written = file
            .write_all(bytes)
            .map_err(|error| io_errno(&error))
            .and_then(|()| rustix::fs::fdatasync(&*file).map_err(errno));
        match written {
            Ok(()) => {
                self.bytes += bytes.len() as u64;
                self.copy.iter_mut().for_each(|copy| copy.append(bytes));
            }
            Err(_) => {
                // Half a line must not swallow the next one. If even this fails, the torn line is skipped on reading.
                let _ = rustix::fs::ftruncate(&*file, before);
                self.reserved = 0;
            }
        }
        written
    }

    /// By a second file and a rename, so that at every moment one of the two is whole.
    fn replace(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let beside = self.path.with_extension("new");
        make_folder(&self.path)?;
        let write = || -> std::io::Result<()> {
            // One that a killed owner left behind is of no use.
            match std::fs::remove_file(&beside) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            std::fs::rename(&beside, &self.path)
        };
        write().map_err(|error| io_errno(&error))?;
        crate::files::sync_folder_of(&self.path);
        (self.file, self.replaced) = (None, self.replaced + 1);
        // Whoever dies before this has older lines in the copy, which say the same.
        self.copy.iter_mut().for_each(|copy| (copy.clear(), copy.append(bytes)).1);
        Ok(())
    }

    /// Emptying needs no second file: a truncation is atomic, and works on a full disk.
    fn empty(&mut self) -> Result<(), Errno> {
        let file = self.open()?;
        rustix::fs::ftruncate(&*file, 0).and_then(|()| rustix::fs::fsync(&*file)).map_err(errno)?;
        (self.bytes, self.reserved) = (0, 0);
        self.copy.iter_mut().for_each(LedgerCopy::clear);
        Ok(())
    }
}

/// Makes the folder of `path` for its owner alone; those above it as the umask says.
pub(crate) fn make_folder(path: &Path) -> Result<(), Errno> {
    let Some(folder) = path.parent().filter(|folder| !folder.is_dir()) else { return Ok(()) };
    let made = match folder.parent() {
        Some(above) => std::fs::create_dir_all(above),
        None => Ok(()),
    };
    match made.and_then(|()| DirBuilder::new().mode(0o700).create(folder)) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(io_errno(&error)),
        _ => {
            crate::files::sync_folder_of(folder);
            Ok(())
        }
    }
}

impl LedgerStore for FileLedger {
    fn place(&self) -> String {
        self.0.borrow().path.display().to_string()
    }

    fn load(&mut self) -> Result<Vec<u8>, LedgerError> {
        let place = self.place();
        let mut bytes = Vec::new();
        let mut inner = self.0.borrow_mut();
        if let Some(file) = inner.file.as_ref().filter(|_| inner.follows_file) {
            bytes.resize(usize::try_from(inner.bytes).unwrap_or(0), 0);
            let read = file.read_exact_at(&mut bytes, 0);
            return read.map(|()| bytes).map_err(|error| LedgerError::Unreadable { place, errno: io_errno(&error) });
        }
        inner.folder = inner.folder.take().or_else(|| Anchor::of(inner.path.parent()?));
        // Never waits, not even for the other end of a named pipe.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(&inner.path);
        let read = match opened {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(bytes),
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
                return Err(LedgerError::Untrusted { place, why: "it is a symbolic link".into() });
            }
            Err(error) => Err(error),
            Ok(mut file) => match distrust(&file) {
                Some(why) => return Err(LedgerError::Untrusted { place, why }),
                None => file.read_to_end(&mut bytes),
            },
        };
        read.map(|_| bytes).map_err(|error| LedgerError::Unreadable { place, errno: io_errno(&error) })
    }

    fn reserve(&mut self, turn: &Turn) -> Result<(), Errno> {
        // Written once as the intent; what came of it and its closing are shorter.
        let entry_bytes = serde_json::to_vec(turn).map_or(0, |json| json.len() as u64) * 4;
        self.0.borrow_mut().reserve(entry_bytes)
    }

    /// Folder and file are those that were read and written so far, with what we wrote in them.
    fn is_in_place(&self) -> bool {
        self.0.borrow().is_in_place()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        self.0.borrow_mut().append(bytes)
    }

    fn replace(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let mut inner = self.0.borrow_mut();
        if bytes.is_empty() { inner.empty() } else { inner.replace(bytes) }
    }

    fn set_aside(&mut self, lines: &[u8]) -> Result<(), Errno> {
        let path = FileLedger::damaged(&self.folder());
        let write = || -> std::io::Result<()> {
            let mut options = OpenOptions::new();
            options.append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
            let mut file = options.open(&path)?;
            file.write_all(lines)?;
            file.sync_all()
        };
        write().map_err(|error| io_errno(&error))?;
        crate::files::sync_folder_of(&path);
        Ok(())
    }
}

/// Why not to act on what a file says: what stands in it is done, with our rights.
fn distrust(file: &File) -> Option<String> {
    let found = file.metadata().ok()?;
    let we = rustix::process::geteuid().as_raw();
    if !found.is_file() {
        return Some(if found.is_dir() { "it is a folder".into() } else { "it is not an ordinary file".into() });
    }
    if found.uid() != we && found.uid() != 0 {
        return Some(format!("it belongs to uid {}, not to uid {we} or root", found.uid()));
    }
    (found.mode() & 0o022 != 0).then(|| format!("others may write it (mode {:o})", found.mode() & 0o7777))
}

#[cfg(test)]
mod tests;
