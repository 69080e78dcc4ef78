//! Reading for `info`: a text or a number where there is one, nothing where there is none, a note where it cannot be read.
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::str::FromStr;

pub use powerband_machine::ReadFailure;
use powerband_machine::{Errno, Look};
use powerband_record::{CpuList, IntoOrdered as _};

use crate::policy::Texts;

/// A machine that is looked at, and what could not be read of it so far. A path that begins without a slash leads on from
/// the folder that was turned to.
pub(super) struct Seen<'m> {
    pub(super) machine: &'m mut dyn Look,
    pub(super) unread: Vec<ReadFailure>,
    folder: String,
    ahead: Ahead,
}

/// Files that were read in one go and are not looked at yet.
#[derive(Default)]
struct Ahead {
    names: Vec<String>,
    folders: BTreeMap<String, Texts>,
    /// The texts of `names` in the folder that was turned to, and the place of the one likely to be next.
    texts: Vec<Option<Result<String, Errno>>>,
    next: usize,
}

impl Ahead {
    fn take(&mut self, name: &str) -> Option<Result<String, Errno>> {
        let mut places = (self.next..self.texts.len()).chain(0..self.next);
        let place = places.find(|&place| self.names[place] == name)?;
        self.next = place + 1;
        self.texts[place].take()
    }
}

impl<'m> Seen<'m> {
    pub(super) fn new(machine: &'m mut dyn Look) -> Self {
        Seen { machine, unread: Vec::new(), folder: String::new(), ahead: Ahead::default() }
    }

    /// Reads the same files below folders in one go.
    pub(super) fn read_ahead(&mut self, folders: Vec<String>, names: &[&str]) {
        let texts = self.machine.read_in(&folders, names);
        self.keep(folders, names, texts);
    }

    /// Keeps the texts of the same files below folders, best in the order in which they are looked at. They are used once
    /// each, while [`Seen::turn_to`] has turned to their folder.
    pub(super) fn keep(&mut self, folders: Vec<String>, names: &[&str], texts: Vec<Texts>) {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        self.ahead = Ahead { names, folders: folders.into_iter().zip(texts).into_map(), ..Ahead::default() };
    }

    /// Turns to a folder, of which files may have been read ahead.
    pub(super) fn turn_to(&mut self, folder: &str) {
        let texts = self.ahead.folders.remove(folder).unwrap_or_default();
        self.ahead.texts = texts.into_iter().map(Some).collect();
        folder.clone_into(&mut self.folder);
        self.ahead.next = 0;
    }

    /// A path from the root on.
    fn whole<'p>(&self, path: &'p str) -> Cow<'p, str> {
        if path.starts_with('/') { path.into() } else { format!("{}/{path}", self.folder).into() }
    }

    fn read(&mut self, path: &str) -> Result<String, Errno> {
        self.ahead.take(path).unwrap_or_else(|| self.machine.read(&self.whole(path)))
    }

    /// Notes that a file could not be read; that it is not there is no such thing.
    pub(super) fn note(&mut self, path: &str, why: impl Into<String>) {
        let path = self.whole(path).into_owned();
        self.unread.push(ReadFailure { path, why: why.into() });
    }

    fn noted<T>(&mut self, path: &str, read: Result<T, Errno>) -> Option<T> {
        match read {
            Ok(found) => Some(found),
            Err(errno) => {
                let refused = ReadFailure::refused(&self.whole(path), errno);
                self.unread.extend(refused);
                None
            }
        }
    }

    /// A file's text without surrounding blanks.
    pub(super) fn text(&mut self, path: &str) -> Option<String> {
        let read = self.read(path);
        let mut text = self.noted(path, read)?;
        text.truncate(text.trim_end().len());
        Some(if text.starts_with(char::is_whitespace) { text.trim_start().to_owned() } else { text })
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
        let text = self.text(path).unwrap_or_default();
        let mut numbers = Vec::new();
        let mut odd = None;
        for word in text.split_whitespace() {
            match word.parse() {
                Ok(number) => numbers.push(number),
                Err(_) => odd = odd.or(Some(word)),
            }
        }
        if let Some(odd) = odd {
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

    /// The files of a folder that may be read, with their texts; a folder in it is where a file should be.
    pub(super) fn files(&mut self, folder: &str) -> Vec<(String, String)> {
        const READABLE: u32 = 0o444;
        let listed = self.machine.list(folder);
        let entries = self.noted(folder, listed).unwrap_or_default();
        let files = entries.into_iter().filter(|entry| entry.mode & READABLE != 0);
        files
            .filter_map(|entry| Some((self.text(&format!("{folder}/{}", entry.name))?, entry.name)))
            .map(|(text, name)| (name, text))
            .collect()
    }
}

/// As much of a text as belongs in a sentence.
fn brief(text: &str) -> String {
    const MAX: usize = 24;
    let shown: String = text.chars().take(MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().count() > MAX { shown + "…" } else { shown }
}
