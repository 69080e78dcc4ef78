//! Reading for `info`: a text or a number where there is one, nothing where there is none, a note where it cannot be read.
use std::str::FromStr;

use powerband_machine::{Errno, Machine};
use powerband_record::CpuList;
use serde::Serialize;

/// A file that is there and could not be read, or holds what it should not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// Its path.
    pub path: String,
    /// Why, in words.
    pub why: String,
}

/// A machine that is looked at, and what could not be read of it so far.
pub(super) struct Seen<'m> {
    pub(super) machine: &'m mut dyn Machine,
    pub(super) unread: Vec<Unread>,
    /// A folder, and what of it was read in one go and not yet looked at, the last first.
    folder: String,
    ahead: Vec<(String, Result<String, Errno>)>,
}

impl<'m> Seen<'m> {
    pub(super) fn new(machine: &'m mut dyn Machine) -> Self {
        Seen { machine, unread: Vec::new(), folder: String::new(), ahead: Vec::new() }
    }

    /// Reads files below a folder in one go, for who looks at them next, best in this order; what was read ahead before
    /// is forgotten.
    pub(super) fn read_ahead(&mut self, folder: &str, names: &[&str]) {
        folder.clone_into(&mut self.folder);
        let read = self.machine.read_in(folder, names);
        self.ahead = names.iter().map(|name| (*name).to_owned()).zip(read).rev().collect();
    }

    fn read(&mut self, path: &str) -> Result<String, Errno> {
        let name = path.strip_prefix(self.folder.as_str()).and_then(|rest| rest.strip_prefix('/'));
        match name.and_then(|name| self.ahead.iter().rposition(|(known, _)| known == name)) {
            Some(at) => self.ahead.remove(at).1,
            None => self.machine.read(path),
        }
    }

    /// Notes that a file could not be read; that it is not there is no such thing.
    pub(super) fn note(&mut self, path: &str, why: impl Into<String>) {
        self.unread.push(Unread { path: path.to_owned(), why: why.into() });
    }

    fn noted<T>(&mut self, path: &str, read: Result<T, Errno>) -> Option<T> {
        match read {
            Ok(found) => Some(found),
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ENODEV | Errno::ENXIO) => None,
            Err(errno) => {
                self.note(path, errno.to_string());
                None
            }
        }
    }

    /// A file's text without surrounding blanks.
    pub(super) fn text(&mut self, path: &str) -> Option<String> {
        let read = self.read(path);
        self.noted(path, read).map(|text| text.trim().to_owned())
    }

    /// A file's words.
    pub(super) fn words(&mut self, path: &str) -> Vec<String> {
        self.text(path).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    }

    /// What a file holds, when it can be read as that.
    pub(super) fn parsed<T: FromStr>(&mut self, path: &str) -> Option<T> {
        let text = self.text(path)?;
        let parsed = text.parse().ok();
        if parsed.is_none() {
            self.note(path, format!("reads '{}'", brief(&text)));
        }
        parsed
    }

    /// A file that holds 0 or another number.
    pub(super) fn flag(&mut self, path: &str) -> Option<bool> {
        self.parsed::<i64>(path).map(|number| number != 0)
    }

    /// A list of numbers between blanks, ascending, each once.
    pub(super) fn numbers(&mut self, path: &str) -> Vec<u32> {
        let words = self.words(path);
        let mut numbers: Vec<u32> = words.iter().filter_map(|word| word.parse().ok()).collect();
        if let Some(odd) = words.iter().find(|word| word.parse::<u32>().is_err()) {
            self.note(path, format!("holds '{}'", brief(odd)));
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// A list of CPUs between blanks.
    pub(super) fn spaced_cpus(&mut self, path: &str) -> CpuList {
        CpuList::new(self.numbers(path))
    }

    /// Names in a folder; none when it is not there.
    pub(super) fn names(&mut self, folder: &str) -> Vec<String> {
        let listed = self.machine.list(folder);
        self.noted(folder, listed).unwrap_or_default().into_iter().map(|entry| entry.name).collect()
    }

    /// The files of a folder that can be read, with their texts.
    pub(super) fn files(&mut self, folder: &str) -> Vec<(String, String)> {
        const READABLE: u32 = 0o444;
        let listed = self.machine.list(folder);
        let entries = self.noted(folder, listed).unwrap_or_default();
        let files = entries.into_iter().filter(|entry| !entry.folder && entry.mode & READABLE != 0);
        files
            .filter_map(|entry| Some((self.text(&format!("{folder}/{}", entry.name))?, entry.name)))
            .map(|(text, name)| (name, text))
            .collect()
    }
}

/// As much of a text as belongs in a sentence.
fn brief(text: &str) -> String {
    const MOST: usize = 24;
    let shown: String = text.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().count() > MOST { shown + "…" } else { shown }
}
