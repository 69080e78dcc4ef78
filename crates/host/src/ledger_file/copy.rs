//! A copy of the ledger in memory: whatever is done to the file on disk, the guardian, which inherits it, knows what is open.
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{FileType, MemfdFlags, OFlags};

/// The owner's side: what it wrote to its ledger, and what it found there first.
#[derive(Debug)]
pub(super) struct LedgerCopy {
    file: File,
    /// Without memory for a line it is empty from then on, which says nothing of the ledger.
    whole: bool,
}

impl LedgerCopy {
    /// Of these lines; `None` where the kernel has no files without a name (before Linux 3.17).
    pub(super) fn begin(lines: &[u8]) -> Option<LedgerCopy> {
        let file = rustix::fs::memfd_create("powerband-ledger", MemfdFlags::CLOEXEC).ok()?;
        // The guardian that inherits it may append as well.
        rustix::fs::fcntl_setfl(&file, OFlags::APPEND).ok()?;
        let mut copy = LedgerCopy { file: file.into(), whole: true };
        copy.append(lines);
        Some(copy)
    }

    /// A line was written.
    pub(super) fn append(&mut self, line: &[u8]) {
        if self.whole && self.file.write_all(line).is_err() {
            self.clear();
            self.whole = false;
        }
    }

    /// The ledger was emptied, or written anew.
    pub(super) fn clear(&mut self) {
        // A file in memory can always be made shorter.
        let _ = self.file.set_len(0);
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        bytes(&self.file)
    }

    /// For a guardian to inherit.
    pub(super) fn inheritable(&self) -> Option<OwnedFd> {
        self.file.try_clone().ok().map(OwnedFd::from)
    }
}

/// The whole of a file, wherever its offset is; nothing when it cannot be read.
pub(super) fn bytes(file: &File) -> Vec<u8> {
    let length = file.metadata().map_or(0, |found| found.len());
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    file.read_exact_at(&mut bytes, 0).map_or_else(|_| Vec::new(), |()| bytes)
}

/// The guardian's side: the copy it inherited as its standard error, which from now on leads nowhere.
pub(crate) fn inherited() -> Option<File> {
    let inherited = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3).ok()?;
    let nowhere = rustix::fs::open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, rustix::fs::Mode::empty()).ok()?;
    rustix::stdio::dup2_stderr(nowhere).ok()?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&inherited).ok()?.st_mode);
    (kind == FileType::RegularFile).then(|| inherited.into())
}
