//! A machine as it would be with other files: what a boot would make of them is looked up as on the real one.
use std::collections::BTreeMap;

use powerband_machine::{Entry, Errno, Handle, Identity, Look};
use powerband_record::IntoOrdered as _;

/// Files by path, over those of a machine; `None` for one that is not there.
pub(super) type Files = BTreeMap<String, Option<String>>;

/// A machine with other files.
pub(super) struct Overlay<'m> {
    machine: &'m mut dyn Look,
    /// As they were before anything was kept.
    bare: Files,
    files: Files,
}

impl<'m> Overlay<'m> {
    pub(super) fn new(machine: &'m mut dyn Look, bare: Files) -> Self {
        Overlay { machine, files: bare.clone(), bare }
    }

    /// The machine before anything was kept.
    pub(super) fn bare(&mut self) -> Overlay<'_> {
        Overlay { machine: self.machine, bare: self.bare.clone(), files: self.bare.clone() }
    }

    pub(super) fn put(&mut self, files: Vec<(String, String)>) {
        self.files.extend(files.into_iter().map(|(path, text)| (path, Some(text))));
    }

    pub(super) fn clone_files(&self) -> Files {
        self.files.clone()
    }

    pub(super) fn restore(&mut self, files: Files) {
        self.files = files;
    }
}

impl Look for Overlay<'_> {
    fn identity(&self) -> &Identity {
        self.machine.identity()
    }

    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Errno> {
        let found = self.machine.list(folder);
        let inside = format!("{}/", folder.trim_end_matches('/'));
        let mut entries: BTreeMap<String, Entry> = found
            .as_ref()
            .map_or_else(|_| BTreeMap::new(), |found| found.iter().map(|it| (it.name.clone(), it.clone())).into_map());
        let mut more = false;
        for (path, text) in &self.files {
            let Some(rest) = path.strip_prefix(&inside) else { continue };
            match (rest.split_once('/'), text) {
                (Some((name, _)), Some(_)) => {
                    entries.entry(name.to_owned()).or_insert_with(|| Entry::new(name, true, 0o755));
                    more = true;
                }
                (None, Some(_)) => {
                    entries.entry(rest.to_owned()).or_insert_with(|| Entry::new(rest, false, 0o644));
                    more = true;
                }
                (None, None) => drop(entries.remove(rest)),
                (Some(_), None) => {}
            }
        }
        if more { Ok(entries.into_values().collect()) } else { found.map(|_| entries.into_values().collect()) }
    }

    fn read(&mut self, path: &str) -> Result<String, Errno> {
        match self.files.get(path) {
            Some(text) => text.clone().ok_or(Errno::ENOENT),
            None => self.machine.read(path),
        }
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
}
