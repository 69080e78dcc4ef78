//! Files: reading them whole or again and again, and the two ways of writing, to the kernel and to a disk.
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::Path;

use powerband_machine::{Entry, Errno, LastChange};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags};

use crate::caller::Caller;
use crate::{errno, io_errno};

/// The smallest page there is; no attribute is longer than one.
const PAGE_BYTES: usize = 4096;

/// More than this is not a setting or a reading, bytes.
pub(crate) const MAX_BYTES: usize = 1 << 20;

/// File systems that are the kernel itself: a write is one command, there is nothing to truncate or to sync
/// (magic numbers of linux/magic.h and, for configfs, resctrl and the last two, of their sources).
const KERNEL_FILE_SYSTEMS: [u32; 18] = [
    0x6265_6572, // sysfs
    0x0000_9fa0, // proc
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0x6265_6570, // configfs
    0x0765_5821, // resctrl
    0xf97c_ff8c, // selinuxfs
    0x4341_5d53, // smackfs
    0x5a3c_69f0, // apparmorfs
    0x4249_4e4d, // binfmt_misc
    0xcafe_4a11, // bpf
    0xde5e_81e4, // efivarfs
    0x6165_676c, // pstore
    0x6573_5543, // fusectl
    0x6e66_7364, // nfsd
];

/// What an [`Entry`] says of a folder, whose own permissions nobody asks for: there may be thousands.
const FOLDERS_MODE: u32 = 0o755;

/// Names in a folder, sorted.
pub(crate) fn list(folder: &str) -> Result<Vec<Entry>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let there = rustix::fs::open(folder, flags, Mode::empty()).map_err(errno)?;
    let mut entries = Vec::new();
    for entry in Dir::read_from(&there).map_err(errno)? {
        let entry = entry.map_err(errno)?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let (folder, mode) = if entry.file_type() == FileType::Directory {
            (true, FOLDERS_MODE)
        } else {
            // A link counts as what it leads to; what vanished meanwhile, or leads nowhere, as itself.
            let found = rustix::fs::statat(&there, name, AtFlags::empty());
            let found = found.or_else(|_| rustix::fs::statat(&there, name, AtFlags::SYMLINK_NOFOLLOW));
            let Ok(found) = found else { continue };
            let folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
            (folder, if folder { FOLDERS_MODE } else { found.st_mode & 0o7777 })
        };
        entries.push(Entry::new(name.to_string_lossy().into_owned(), folder, mode));
    }
    entries.sort();
    Ok(entries)
}

/// An attribute of sysfs, which answers all it holds in one read, and that is less than a page; whatever else stands there
/// is read to its end.
pub(crate) fn read_attribute(folder: &OwnedFd, name: &str, buffer: &mut Vec<u8>) -> Result<String, Errno> {
    const PAGE_BYTES: usize = 4096;
    let file = rustix::fs::openat(folder, name, READING, Mode::empty()).map_err(errno)?;
    buffer.resize(buffer.len().max(1 << 14), 0);
    match rustix::io::pread(&file, &mut buffer[..], 0) {
        Ok(got) if got < PAGE_BYTES => text_of(&buffer[..got]),
        Ok(_) | Err(rustix::io::Errno::INTR | rustix::io::Errno::SPIPE) => read_open(&file, buffer),
        Err(error) => Err(errno(error)),
    }
}

/// How files are opened to be read: never waiting, not even for the other end of a named pipe.
const READING: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NOCTTY).union(OFlags::NONBLOCK);

/// Opens for reading: what is read may be written to the file later, as what was there before. Whose links lead where matters only
/// outside of the kernel's own folders, of which thousands of files are read.
pub(crate) fn open(path: &str) -> Result<OwnedFd, Errno> {
    let is_kernels = ["/sys/", "/proc/"].iter().any(|root| path.starts_with(root));
    let opened = if is_kernels {
        rustix::fs::open(path, READING, Mode::empty())
    } else {
        open_guarded(path, READING, Mode::empty())
    };
    opened.map_err(errno)
}

/// Opens an open file once more, for reading: its path may lead elsewhere by now.
fn reopen(file: &OwnedFd) -> Result<OwnedFd, Errno> {
    rustix::fs::open(format!("/proc/self/fd/{}", file.as_raw_fd()), READING, Mode::empty()).map_err(errno)
}

/// The whole text of a file; `buffer` is only working space.
pub(crate) fn read(path: &str, buffer: &mut Vec<u8>) -> Result<String, Errno> {
    read_open(&open(path)?, buffer)
}

/// The whole text of a file.
///
/// # Errors
/// The kernel's error number.
pub fn read_file(path: &str) -> Result<String, Errno> {
    read(path, &mut Vec::new())
}

/// The limit in force that the device shows, four bytes in this machine's order, as decimal text.
pub(crate) fn read_latency(path: &str) -> Result<String, Errno> {
    let mut bytes = [0; 4];
    let got = rustix::io::read(&open(path)?, &mut bytes).map_err(errno)?;
    if got == bytes.len() { Ok(format!("{}\n", i32::from_ne_bytes(bytes))) } else { Err(Errno::EILSEQ) }
}

/// The whole text of an open file, from its beginning.
pub(crate) fn read_open(file: &OwnedFd, buffer: &mut Vec<u8>) -> Result<String, Errno> {
    read_bytes(file, buffer).and_then(text_of)
}

/// The same of a file that a page holds: less than a page is all of it, so that its end need not be read.
pub(crate) fn read_page(file: &OwnedFd, buffer: &mut Vec<u8>) -> Result<String, Errno> {
    buffer.resize(buffer.len().max(1 << 14), 0);
    match rustix::io::pread(file, &mut buffer[..PAGE_BYTES], 0) {
        Ok(got) if got < PAGE_BYTES => text_of(&buffer[..got]),
        _ => read_open(file, buffer),
    }
}

fn text_of(bytes: &[u8]) -> Result<String, Errno> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| Errno::EILSEQ)
}

/// The bytes of an open file, from its beginning, in `buffer`.
pub(crate) fn read_bytes(file: impl AsFd, buffer: &mut Vec<u8>) -> Result<&[u8], Errno> {
    buffer.resize(buffer.len().max(1 << 14), 0);
    let (mut filled, mut as_it_comes) = (0, false);
    loop {
        let room = &mut buffer[filled..];
        let got =
            if as_it_comes { rustix::io::read(&file, room) } else { rustix::io::pread(&file, room, filled as u64) };
        let got = match got {
            Err(rustix::io::Errno::INTR) if !as_it_comes => continue,
            // What cannot be read at an offset: a pipe, a terminal.
            Err(rustix::io::Errno::SPIPE) if filled == 0 && !as_it_comes => {
                as_it_comes = true;
                continue;
            }
            got => got.map_err(errno)?,
        };
        filled += got;
        if filled > MAX_BYTES {
            return Err(Errno::EFBIG);
        }
        if got == 0 {
            return Ok(&buffer[..filled]);
        }
        if filled == buffer.len() {
            buffer.resize(filled * 2, 0);
        }
    }
}

/// Writes `text`: to the kernel as one command, to an ordinary file as its whole new content.
pub(crate) fn write(path: &str, text: &str) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    match open_guarded(path, flags, Mode::empty()) {
        Ok(file) if belongs_to_kernel(&file) => command(file, text),
        Ok(file) => replace_content(file, text),
        Err(rustix::io::Errno::NOENT) => create(path, text),
        Err(error) => Err(errno(error)),
    }
}

/// Opens a file to be read, written or made. Under sudo, one in a folder of the caller's is opened with the caller's rights, so that no
/// link of theirs leads root where only root may write. Root's own file there is opened where no link is on the way and the
/// file has no second name.
fn open_guarded(path: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, rustix::io::Errno> {
    use rustix::io::Errno;
    let open = || rustix::fs::open(path, flags, mode);
    let Some(caller) = Caller::commanding(Path::new(path)) else { return open() };
    match crate::caller::with_rights_of(caller, open) {
        Err(Errno::ACCESS | Errno::PERM) => {}
        opened => return opened,
    }
    let direct = rustix::fs::openat2(CWD, path, flags, mode, ResolveFlags::NO_SYMLINKS).map_err(|_| Errno::ACCESS)?;
    if rustix::fs::fstat(&direct)?.st_nlink > 1 { Err(Errno::ACCESS) } else { Ok(direct) }
}

/// Takes a name out of its folder, with the same care.
fn unlink_guarded(path: &str) -> Result<(), rustix::io::Errno> {
    use rustix::io::Errno;
    let unlink = || rustix::fs::unlink(path);
    let Some(caller) = Caller::commanding(Path::new(path)) else { return unlink() };
    match crate::caller::with_rights_of(caller, unlink) {
        Err(Errno::ACCESS | Errno::PERM) => {}
        unlinked => return unlinked,
    }
    let (Some(folder), Some(name)) = (Path::new(path).parent(), Path::new(path).file_name()) else {
        return Err(Errno::ACCESS);
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let direct = rustix::fs::openat2(CWD, folder, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    rustix::fs::unlinkat(direct.map_err(|_| Errno::ACCESS)?, name, AtFlags::empty())
}

/// Whether we may write a file that is there.
pub(crate) fn is_writable(path: &str) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Whether a file is a program with capabilities: the kernel takes them from it with the first write (Linux 6.12
/// security/commoncap.c, `cap_inode_need_killpriv`), and who may write it may not give them back.
pub(crate) fn has_capabilities(path: &str) -> bool {
    rustix::fs::getxattr(path, "security.capability", &mut [0; 64]).is_ok()
}

/// Removes an ordinary file, durably.
pub(crate) fn remove(path: &str) -> Result<(), Errno> {
    unlink_guarded(path).map_err(errno)?;
    sync_folder_of(Path::new(path));
    Ok(())
}

/// Makes a new name in a folder, or the lack of one, survive a power cut. Some file systems cannot; then it is theirs.
pub(crate) fn sync_folder_of(path: &Path) {
    let folder = path.parent().unwrap_or(Path::new("/"));
    if let Ok(folder) = rustix::fs::open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
        let _ = rustix::fs::fsync(folder);
    }
}

/// When an ordinary file was last changed, and whose it is. The kernel's own files do not tell.
pub(crate) fn last_change(path: &str) -> Option<LastChange> {
    let file = open(path).ok().filter(|file| !belongs_to_kernel(file))?;
    let found = rustix::fs::fstat(&file).ok()?;
    let unix_s = u64::try_from(found.st_mtime).ok()?;
    Some(LastChange { unix_s, owner: user_name(found.st_uid) })
}

/// A user's name as /etc/passwd has it, else its number.
#[must_use]
pub fn user_name(uid: u32) -> String {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    });
    named.unwrap_or_else(|| format!("uid {uid}"))
}

/// The network namespace of this process, by its inode; `None` where the kernel has none.
pub(crate) fn net_ns() -> Option<u64> {
    rustix::fs::stat("/proc/self/ns/net").ok().map(|found| found.st_ino)
}

fn belongs_to_kernel(file: &OwnedFd) -> bool {
    // Magic numbers are 32 bits; the field is a signed word whose width differs between machines.
    rustix::fs::fstatfs(file).is_ok_and(|found| KERNEL_FILE_SYSTEMS.contains(&(found.f_type as u32)))
}

/// One write is one command; a part of it would be another command.
fn command(file: OwnedFd, text: &str) -> Result<(), Errno> {
    let written = loop {
        match rustix::io::write(&file, text.as_bytes()) {
            Err(rustix::io::Errno::INTR) => {}
            written => break written.map_err(errno)?,
        }
    };
    crate::raw::close(file).map_err(|error| io_errno(&error))?;
    if written == text.len() { Ok(()) } else { Err(Errno::EIO) }
}

/// Overwrites in place, so that mode, owner and links stay. When the disk is full the old content is restored: it
/// fits where it was.
fn replace_content(file: OwnedFd, text: &str) -> Result<(), Errno> {
    let regular = rustix::fs::fstat(&file)
        .is_ok_and(|found| rustix::fs::FileType::from_raw_mode(found.st_mode) == rustix::fs::FileType::RegularFile);
    if !regular {
        return command(file, text);
    }
    let mut before = Vec::new();
    let kept = reopen(&file).and_then(|old| read_bytes(&old, &mut before).map(<[u8]>::len));
    if kept == Err(Errno::EFBIG) {
        return Err(Errno::EFBIG);
    }
    let put = |bytes: &[u8]| -> Result<(), Errno> {
        write_at_start(&file, bytes)?;
        rustix::fs::ftruncate(&file, bytes.len() as u64).and_then(|()| rustix::fs::fsync(&file)).map_err(errno)
    };
    match (put(text.as_bytes()), kept) {
        (Err(why), Ok(length)) => {
            // If this fails too, the first reason is the one to tell.
            let _ = put(&before[..length]);
            Err(why)
        }
        (result, _) => result,
    }?;
    crate::raw::close(file).map_err(|error| io_errno(&error))
}

fn create(path: &str, text: &str) -> Result<(), Errno> {
    // The kernel's own file systems refuse a new file with an error that says less than that it is not there.
    let folder = Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.and_then(|folder| rustix::fs::open(folder, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok());
    if folder.as_ref().is_some_and(belongs_to_kernel) {
        return Err(Errno::ENOENT);
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = open_guarded(path, flags, Mode::from_raw_mode(0o644)).map_err(|error| match errno(error) {
        // A link that leads nowhere is there, and what it leads to is not.
        Errno::EEXIST if Path::new(path).is_symlink() => Errno::ENOENT,
        other => other,
    })?;
    let written = write_at_start(&file, text.as_bytes())
        .and_then(|()| rustix::fs::fsync(&file).map_err(errno))
        .and_then(|()| crate::raw::close(file).map_err(|error| io_errno(&error)));
    match written {
        Ok(()) => sync_folder_of(Path::new(path)),
        // Half a file is worse than none.
        Err(_) => drop(unlink_guarded(path)),
    }
    written
}

pub(crate) fn write_at_start(file: &OwnedFd, bytes: &[u8]) -> Result<(), Errno> {
    let mut done = 0;
    while done < bytes.len() {
        match rustix::io::pwrite(file, &bytes[done..], done as u64) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(0) => return Err(Errno::EIO),
            written => done += written.map_err(errno)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
