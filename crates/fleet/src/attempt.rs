//! One attempt of one node: its file as it is written, and as it is read.
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use powerband_record::{CloseReason, Event, ExperimentHeader, Finding};
use serde::Serialize;

use crate::FleetError;

/// How often a task shows that it lives, however long a trial takes.
pub const PULSE: Duration = Duration::from_secs(5);

/// The file of an attempt, to be written by the one that made it: a header, then its events, a line each.
#[derive(Debug)]
pub struct AttemptFile {
    path: PathBuf,
    file: File,
    number: u32,
}

impl AttemptFile {
    /// Makes the file of the next attempt of a node. The one who makes it has it alone: it is made only where there is none.
    ///
    /// # Errors
    /// [`FleetError::File`].
    pub fn next(folder: &Path, node: &str) -> Result<AttemptFile, FleetError> {
        for number in 0.. {
            let path = folder.join(format!("node-{node}-{number}.jsonl"));
            match OpenOptions::new().append(true).create_new(true).open(&path) {
                Ok(file) => return Ok(AttemptFile { path, file, number }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(FleetError::file("make", &path, &error)),
            }
        }
        Err(FleetError::NoFleet(format!("node {node} has too many attempts")))
    }

    /// Which attempt it is, from 0.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Appends a line; what ends a block is on the disk when this returns.
    ///
    /// # Errors
    /// [`FleetError::File`]: no space is left, or the file system is gone.
    pub fn line(&mut self, line: &str, sync: bool) -> Result<(), FleetError> {
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        let written = self.file.write_all(&bytes).and_then(|()| if sync { self.file.sync_data() } else { Ok(()) });
        written.map_err(|error| FleetError::file("write", &self.path, &error))
    }

    /// Appends a value as a line.
    ///
    /// # Errors
    /// As [`AttemptFile::line`].
    pub fn value(&mut self, value: &impl Serialize, sync: bool) -> Result<(), FleetError> {
        let line = serde_json::to_string(value).map_err(|error| FleetError::file("write", &self.path, &error))?;
        self.line(&line, sync)
    }

    /// Shows that its task lives: the time of the file changes. Where that cannot be shown, the task counts as silent.
    pub fn touch(&self) {
        touch(&self.file);
    }

    /// Shows that from now on until this process ends.
    ///
    /// # Errors
    /// [`FleetError::File`]: no more files can be opened.
    pub fn pulse(&self) -> Result<(), FleetError> {
        let file = self.file.try_clone().map_err(|error| FleetError::file("open", &self.path, &error))?;
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(PULSE);
                touch(&file);
            }
        });
        Ok(())
    }

    /// Leaves word why the attempt came to nothing, where there is still space for it.
    pub fn failed(&self, why: &str) {
        // Where even this cannot be written, the launcher knows that the task failed.
        drop(std::fs::write(self.path.with_extension("failed"), format!("{}\n", why.replace('\n', "; "))));
    }
}

fn touch(file: &File) {
    drop(file.set_modified(SystemTime::now()));
}

/// An attempt as far as its file goes.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Which, from 0.
    pub number: u32,
    /// Its header, once it has one.
    pub header: Option<ExperimentHeader>,
    /// Its events.
    pub events: Vec<Event>,
    /// Why it came to nothing, where it left word.
    pub failed: Option<String>,
    /// A line that is none of ours; what comes behind it is not read.
    pub damaged: Option<usize>,
    /// When its task was last heard of, by the clock of the one that keeps the file.
    pub touched: Option<SystemTime>,
}

impl Attempt {
    /// Reads a file's text. A last line without its end was being written.
    #[must_use]
    pub fn parse(number: u32, text: &str, failed: Option<String>) -> Attempt {
        let mut attempt = Attempt { number, header: None, events: Vec::new(), failed, damaged: None, touched: None };
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for (line, text) in (1..).zip(whole.lines()) {
            let read = match attempt.header {
                None => serde_json::from_str(text).map(|header| attempt.header = Some(header)),
                Some(_) => serde_json::from_str(text).map(|event| attempt.events.push(event)),
            };
            if read.is_err() {
                attempt.damaged = Some(line);
                break;
            }
        }
        attempt
    }

    /// Blocks that are complete.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        let blocks = self.events.iter().filter(|event| matches!(event, Event::BlockDone(_))).count();
        u32::try_from(blocks).unwrap_or(u32::MAX)
    }

    /// How it ended, where it did.
    #[must_use]
    pub fn finding(&self) -> Option<&Finding> {
        match self.events.last() {
            Some(Event::Closed(finding)) => Some(finding),
            _ => None,
        }
    }

    /// Whether it ran to its end: all of its blocks, or all of its time.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.finding().is_some_and(|finding| finding.reason.is_complete())
    }

    /// Whether it says that everything was restored.
    #[must_use]
    pub fn is_restored(&self) -> bool {
        let last = self.events.iter().rev().find_map(|event| match event {
            Event::Restored { failed, .. } => Some(failed.is_empty()),
            _ => None,
        });
        last.unwrap_or(false)
    }

    /// Why it is not complete, in a few words.
    #[must_use]
    pub fn why_incomplete(&self) -> Option<String> {
        if self.is_complete() {
            return None;
        }
        let reason = self.finding().map(|finding| match &finding.reason {
            CloseReason::Stopped => "it was stopped".to_owned(),
            CloseReason::LoadFailed { why } | CloseReason::Failed { why } => why.clone(),
            _ => "it did not end".to_owned(),
        });
        let damaged = || self.damaged.map(|line| format!("line {line} of its file is damaged"));
        self.failed.clone().or(reason).or_else(damaged)
    }
}

/// The attempt that counts of a node: one that is complete, else the one with the most blocks; the earliest of equals.
/// Attempts are never mixed: two that ran at the same time may hold the same trials.
#[must_use]
pub fn best(attempts: &[Attempt]) -> Option<&Attempt> {
    let rank = |attempt: &&Attempt| (attempt.is_complete(), attempt.blocks(), std::cmp::Reverse(attempt.number));
    attempts.iter().filter(|attempt| attempt.header.is_some()).max_by_key(rank)
}
