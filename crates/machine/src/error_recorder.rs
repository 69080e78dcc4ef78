//! A machine that is looked at while what refuses to be read is noted.
use serde::Serialize;

use crate::{Coalescing, Entry, Errno, Handle, Identity, LastChange, Look};

/// A file that is there and could not be read, or holds what it should not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct ReadFailure {
    /// Its path.
    pub path: String,
    /// Why, in words.
    pub why: String,
}

impl ReadFailure {
    /// A file that a read refused, unless the answer is that there is nothing to read.
    #[must_use]
    pub fn refused(path: &str, errno: Errno) -> Option<ReadFailure> {
        let nothing = matches!(errno, Errno::ENOENT | Errno::ENOTDIR | Errno::ENODEV | Errno::ENXIO);
        (!nothing).then(|| ReadFailure { path: path.to_owned(), why: errno.to_string() })
    }
}

/// Passes everything on to a machine, and notes each path that [`Look::read`] could not read, once. Who reads in another
/// way sees each answer and notes what it makes of it.
pub struct ErrorRecorder<'m> {
    machine: &'m mut dyn Look,
    unread: Vec<ReadFailure>,
}

impl<'m> ErrorRecorder<'m> {
    /// Notes from now on.
    pub fn new(machine: &'m mut dyn Look) -> Self {
        ErrorRecorder { machine, unread: Vec::new() }
    }

    /// What could not be read, in the order in which it was looked for.
    #[must_use]
    pub fn into_failures(self) -> Vec<ReadFailure> {
        self.unread
    }
}

impl Look for ErrorRecorder<'_> {
    fn identity(&self) -> &Identity {
        self.machine.identity()
    }

    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Errno> {
        self.machine.list(folder)
    }

    fn read(&mut self, path: &str) -> Result<String, Errno> {
        let read = self.machine.read(path);
        let refused = read.as_ref().err().and_then(|&errno| ReadFailure::refused(path, errno));
        if let Some(refused) = refused.filter(|refused| !self.unread.contains(refused)) {
            self.unread.push(refused);
        }
        read
    }

    fn read_in(&mut self, folders: &[String], names: &[&str]) -> Vec<Vec<Result<String, Errno>>> {
        self.machine.read_in(folders, names)
    }

    fn coalescing(&mut self, device: &str) -> Result<Coalescing, Errno> {
        self.machine.coalescing(device)
    }

    fn open(&mut self, path: &str) -> Result<Handle, Errno> {
        self.machine.open(path)
    }

    fn read_many(&mut self, handles: &[Handle], into: &mut Vec<Result<String, Errno>>) {
        self.machine.read_many(handles, into);
    }

    fn close(&mut self, handle: Handle) {
        self.machine.close(handle);
    }

    fn last_change(&mut self, path: &str) -> Option<LastChange> {
        self.machine.last_change(path)
    }
}
