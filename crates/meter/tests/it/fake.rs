//! A machine made of a map of files, which reads what is watched when the test says so.
use std::collections::BTreeMap;

use powerband_machine::*;

#[derive(Default)]
pub(crate) struct Fake {
    pub(crate) files: BTreeMap<String, String>,
    /// What may not be read.
    pub(crate) denied: Vec<String>,
    pub(crate) open: Vec<Option<String>>,
}

impl Fake {
    pub(crate) fn put(&mut self, path: &str, text: &str) {
        self.files.insert(path.into(), format!("{text}\n"));
    }

    /// One moment of a watch.
    pub(crate) fn sample(&mut self, watch: &Sampling, at_ns: u64) -> Sample {
        let mut texts = Vec::new();
        self.read_many(&watch.handles, &mut texts);
        Sample { at_ns, texts }
    }

    pub(crate) fn still_open(&self) -> usize {
        self.open.iter().flatten().count()
    }
}

impl Look for Fake {
    fn identity(&self) -> &Identity {
        unreachable!("meters do not ask who the machine is")
    }
    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Errno> {
        let inside = format!("{folder}/");
        let mut entries: Vec<Entry> = self
            .files
            .keys()
            .filter_map(|path| path.strip_prefix(&inside))
            .map(|rest| rest.split_once('/').map_or((rest, false), |(name, _)| (name, true)))
            .map(|(name, folder)| Entry::new(name, folder, 0o444))
            .collect();
        entries.dedup();
        if entries.is_empty() { Err(Errno::ENOENT) } else { Ok(entries) }
    }
    fn read(&mut self, path: &str) -> Result<String, Errno> {
        if self.denied.iter().any(|denied| denied == path) {
            return Err(Errno::EACCES);
        }
        self.files.get(path).cloned().ok_or(Errno::ENOENT)
    }
    fn open(&mut self, path: &str) -> Result<Handle, Errno> {
        self.read(path)?;
        self.open.push(Some(path.to_owned()));
        Ok(Handle(self.open.len() as u32 - 1))
    }
    fn read_many(&mut self, handles: &[Handle], into: &mut Vec<Result<String, Errno>>) {
        into.clear();
        for handle in handles {
            let path = self.open[handle.0 as usize].clone().unwrap();
            into.push(self.files.get(&path).cloned().ok_or(Errno::ENODEV));
        }
    }
    fn close(&mut self, handle: Handle) {
        self.open[handle.0 as usize] = None;
    }
}
