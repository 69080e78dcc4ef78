//! What a write moves along and the kernel does not bring back, by the table of `moves`: saved before the first write.
//!
//! Each file is kept as a ledger entry that precedes the write: writing the value that is there already, with writing it
//! again as the undo. Undone in reverse, that happens after the governor is back, when its tunables exist again at
//! their defaults. Such an entry is always written back: that it reads as a default is no sign of somebody else's hand.
use std::collections::BTreeMap;

use powerband_machine::{Action, Before, EntryId, Errno, Hold, OpenEntry, Turn};

use super::Run;
use super::moves::{ToSave, moved_by};
use crate::KnobError;
use crate::error::{advice, is_denial};
use crate::kernel_file::{is_kernel_file, takes_nothing, undo_of};
use crate::plan::{Move, Part};

/// Text of a file as it would be without one earlier command that still holds.
pub(super) struct Hidden {
    step: EntryId,
    hold: Hold,
    text: String,
}

/// Files that earlier commands have moved without saving them, the oldest command first.
pub(super) fn hidden(open: &[OpenEntry]) -> BTreeMap<String, Vec<Hidden>> {
    let mut hidden: BTreeMap<String, Vec<Hidden>> = BTreeMap::new();
    let writes = |entry: &OpenEntry, file: &str| matches!(&entry.turn.undo, Some(Action::WriteFile { path, .. }) if path == file);
    for OpenEntry { step, turn, .. } in open {
        for (path, text) in &turn.moves {
            let known = hidden.entry(path.clone()).or_default();
            let is_known = known.last().is_some_and(|last| last.step == *step);
            if !is_known && !open.iter().any(|other| other.step == *step && writes(other, path)) {
                known.push(Hidden { step: *step, hold: turn.hold, text: text.clone() });
            }
        }
    }
    hidden
}

/// A file that was saved, and its entry.
pub(super) struct SavedFile {
    file: ToSave,
    entry: EntryId,
}

impl Run<'_> {
    /// Saves what the steps of one phase are about to move.
    pub(super) fn save_moved(&mut self, moves: &[Move], parts: &[Part]) -> Result<Vec<SavedFile>, KnobError> {
        let mut saved = Vec::new();
        for step in if self.again { &[] } else { moves } {
            let Some(path) = &step.site.path else { continue };
            let knob = step.named.knob;
            if knob.skips_when_equal() && step.from.as_ref().is_some_and(|from| knob.same(&step.value, from)) {
                continue;
            }
            saved.extend(self.save_moved_by(path, parts)?);
        }
        Ok(saved)
    }

    /// Saves what a write of `path` moves.
    pub(super) fn save_moved_by(&mut self, path: &str, parts: &[Part]) -> Result<Vec<SavedFile>, KnobError> {
        let is_at = |part: &Part, file: &str| {
            let mut sites = part.sites.iter().flat_map(|sites| &sites.sites);
            sites.any(|site| site.path.as_deref() == Some(file))
        };
        let sets = |what: &str| parts.iter().any(|part| part.named.name == what || is_at(part, what));
        let mut saved = Vec::new();
        for file in moved_by(self.machine, path, &sets) {
            if !file.is_lost {
                let reads = self.machine.read(&file.path).ok().filter(|text| text.trim_end() != "<unsupported>");
                if let Some(text) = reads {
                    self.moves.entry(path.to_owned()).or_default().insert(file.path, text.trim_end().to_owned());
                }
            } else if !self.saved.contains(&file.path) {
                self.saved.insert(file.path.clone());
                let entry = self.keep_file(&file.knob, &file.site, &file.path)?;
                saved.extend(entry.map(|entry| SavedFile { file, entry }));
            }
        }
        Ok(saved)
    }

    /// Says which upper limits a switch for boost has moved, unless the setting turns limits itself.
    pub(super) fn note_moved(&mut self, saved: &[SavedFile], parts: &[Part]) {
        if parts.iter().any(|part| part.named.name == "cpufreq.max_freq") {
            return;
        }
        for SavedFile { file, .. } in saved.iter().filter(|saved| saved.file.knob == "cpufreq.max_freq") {
            let mut khz = |path: &str| self.machine.read(path).ok()?.trim().parse::<u64>().ok();
            let (now, end) = (khz(&file.path), khz(&file.path.replace("scaling_max_freq", "cpuinfo_max_freq")));
            if let Some(now) = now.filter(|_| now == end) {
                self.applied.notes.push(format!(
                    "the kernel has set the upper limit of {} to {now} kHz with boost; undo restores the former one, and max_freq=… together with boost chooses one meanwhile",
                    file.site
                ));
            }
        }
    }

    /// Keeps one file. One that shows nothing holds nothing that could be kept; one that takes no value it shows is said.
    /// One that fails to be read may hold what would be lost.
    fn keep_file(&mut self, knob: &str, site: &str, path: &str) -> Result<Option<EntryId>, KnobError> {
        let text = match self.machine.read(path) {
            // A set speed under another governor than userspace.
            Ok(text) if text.trim_end() == "<unsupported>" => return Ok(None),
            Ok(text) => text,
            Err(errno @ (Errno::EIO | Errno::ENODEV | Errno::EBUSY | Errno::EAGAIN | Errno::EINTR)) => {
                let (knob, path) = (knob.to_owned(), path.to_owned());
                return Err(KnobError::Unreadable { knob, path, errno });
            }
            Err(_) => return Ok(None),
        };
        let asked = text.trim_end().to_owned();
        let rewrite = undo_of(self.machine, path, &text);
        let acted = self.act(&Turn {
            action: rewrite.clone(),
            undo: Some(rewrite),
            hold: self.hold,
            knob: knob.to_owned(),
            site: site.to_owned(),
            asked: asked.clone(),
            before: Before::Saved { saved: asked.clone() },
            read_back: Some(path.to_owned()),
            step: self.step,
            moves: BTreeMap::new(),
        })?;
        match acted.errno {
            None => Ok(Some(acted.entry)),
            Some(errno) if takes_nothing(path, errno) || self.is_read_only(path) => Ok(None),
            Some(Errno::EINVAL) => {
                let note = format!("{knob} refuses the value it shows: undo will leave it at its default");
                self.applied.notes.push(note);
                Ok(None)
            }
            // What the catalogue does not know is moved by nothing that it knows.
            Some(errno) if knob.starts_with("file:") && is_kernel_file(path) && !is_denial(errno) => {
                let why = format!("the kernel refuses the value that is there, '{asked}': {errno}");
                if self.accept_unrestorable {
                    self.applied.unrestorable.push(format!("{knob} is not restored: {why}"));
                    return Ok(None);
                }
                Err(KnobError::Unrestorable { knob: knob.to_owned(), path: path.to_owned(), why })
            }
            Some(errno) => Err(KnobError::Refused {
                knob: knob.to_owned(),
                site: site.to_owned(),
                asked,
                errno,
                advice: advice(acted.words.as_deref(), None, errno, Some(path)),
                changed_to: None,
            }),
        }
    }

    /// Saves what a file that is about to be changed reads without what is set: an earlier step that is still in force has moved it.
    /// Undone last of that step, it brings back what that one found.
    pub(super) fn save_hidden(&mut self, turn: &Turn) -> Result<(), KnobError> {
        let Action::WriteFile { path, .. } = &turn.action else { return Ok(()) };
        for Hidden { step, hold, text } in self.hidden.remove(path).unwrap_or_default() {
            let now = self.machine.read(path).unwrap_or_default();
            if now.trim_end() == text || now.is_empty() {
                continue;
            }
            let (action, undo) = (undo_of(self.machine, path, &now), undo_of(self.machine, path, &text));
            self.machine.act(&Turn {
                action,
                undo: Some(undo),
                hold,
                asked: text.clone(),
                before: Before::Saved { saved: text },
                read_back: Some(path.clone()),
                step: Some(step),
                moves: BTreeMap::new(),
                ..turn.clone()
            })?;
        }
        Ok(())
    }

    /// Whether nobody may write a file.
    fn is_read_only(&mut self, path: &str) -> bool {
        let (folder, name) = path.rsplit_once('/').unwrap_or_default();
        let entries = self.machine.list(folder).unwrap_or_default();
        entries.iter().any(|entry| entry.name == name && entry.mode & 0o222 == 0)
    }

    /// Lets go of what was saved for folders that are still there, because other policies run that governor.
    pub(super) fn drop_needless(&mut self, saved: &[SavedFile]) -> Result<(), KnobError> {
        for SavedFile { file, entry } in saved.iter().filter(|saved| saved.file.with_folder) {
            if self.machine.read(&file.path).is_err() {
                continue;
            }
            self.machine.undo(*entry, true)?;
            self.applied.entries.retain(|id| id != entry);
            self.saved.remove(&file.path);
        }
        Ok(())
    }
}
