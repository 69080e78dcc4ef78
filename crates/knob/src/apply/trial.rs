//! A trial of the undo: a file of the kernel that the catalogue does not know is written with the value it has, before it is
//! changed. If the kernel refuses that, or changes what is next to the file, nobody could restore it.
use std::collections::BTreeMap;
use std::iter::once;

use powerband_machine::{Action, Before, Errno, Look, Turn};
use powerband_record::placed;

use super::Run;
use super::moves::moved_by;
use crate::error::is_denial;
use crate::kernel_file::{is_kernel_file, not_taken_back, undo_of, written};
use crate::knob::Turning;
use crate::{KnobError, Named, Phase, Site, Value};

/// Files that are compared at most.
const MAX_COMPARED: usize = 64;

/// Ends of the paths of settings that change without being written, so that their comparison shows nothing: the number of the
/// newest process (Linux 6.12 kernel/pid_namespace.c), a limit that follows the packets sent (lib/dynamic_queue_limits.c), and
/// the state of a link (net/core/net-sysfs.c).
const MOVE_ALONE: [&str; 3] = ["/kernel/ns_last_pid", "/byte_queue_limits/limit", "/carrier"];

/// Why a file that cannot be read is not changed: one that the catalogue does not know may be a file that only takes, for anybody.
fn unreadable(machine: &mut dyn Look, named: &Named, site: &Site, errno: Errno) -> KnobError {
    let (knob, path) = (named.name.clone(), site.path.clone().unwrap_or_default());
    let (folder, name) = path.rsplit_once('/').unwrap_or_default();
    let entries = machine.list(folder).unwrap_or_default();
    let listed = entries.iter().find(|entry| entry.name == name && !entry.folder);
    match listed {
        Some(entry) if entry.mode & 0o444 == 0 => {
            KnobError::Unrestorable { knob, path, why: "it can be written, but not read".into() }
        }
        Some(_) if !is_known(named) && is_kernel_file(&path) && !is_denial(errno) => {
            KnobError::Unrestorable { knob, path, why: format!("it cannot be read: {errno}") }
        }
        None if errno == Errno::ENOENT && is_kernel_file(&path) => {
            KnobError::absent(&knob, format!("{path} does not exist, and no file can be made there"))
        }
        _ => KnobError::Unreadable { knob, path, errno },
    }
}

/// Whether the catalogue knows what a knob does.
fn is_known(named: &Named) -> bool {
    !matches!(named.knob.about().phase, Phase::Sysctl | Phase::File)
}

impl Run<'_> {
    /// What sets a file that cannot be read, where that is accepted: nothing takes it back.
    ///
    /// # Errors
    /// [`KnobError`]; the machine is as before.
    pub(super) fn without_undo(
        &mut self,
        named: &Named,
        site: &Site,
        value: &Value,
        errno: Errno,
    ) -> Result<Turning, KnobError> {
        match unreadable(self.machine, named, site, errno) {
            KnobError::Unrestorable { path, why, .. } if self.accept_unrestorable => {
                self.note_unrestorable(named, site, &why);
                let action = Action::WriteFile { text: written(&path, &value.typed()), path };
                Ok(Turning { action, undo: None, before: None })
            }
            error => Err(error),
        }
    }

    /// Notes that something stays as it is set.
    pub(super) fn note_unrestorable(&mut self, named: &Named, site: &Site, why: &str) {
        self.applied.unrestorable.push(format!("{} is not restored: {why}", placed(&named.name, &site.name)));
    }

    /// Tries the undo of a file that the catalogue does not know; where that fails and is accepted, why.
    ///
    /// # Errors
    /// [`KnobError::Unrestorable`], when the machine is as before.
    pub(super) fn try_undo(
        &mut self,
        named: &Named,
        site: &Site,
        turning: &Turning,
    ) -> Result<Result<(), String>, KnobError> {
        let (Some(undo @ Action::WriteFile { path, text }), Action::WriteFile { path: written, text: asked }) =
            (&turning.undo, &turning.action)
        else {
            return Ok(Ok(()));
        };
        // A pair's other member is a setting of its own, which is in effect.
        if is_known(named) || self.again || !is_kernel_file(path) || path != written {
            return Ok(Ok(()));
        }
        if let Some(why) = not_taken_back(self.machine, path, asked) {
            return self.unrestorable(named, path, why);
        }
        // What is known to move along is saved already.
        let mut known = moved_by(self.machine, path, &|_| false);
        known.retain(|it| it.is_lost);
        let mut before = self.neighbours(path);
        // What changes without a write shows nothing.
        let again = self.neighbours(path);
        before.retain(|file| !known.iter().any(|it| it.path == file.0) && again.contains(file));
        let acted =
            self.act(&self.kept(named, site, (path, turning.before.as_deref().unwrap_or(text)), undo.clone()))?;
        if let Some(errno) = acted.errno {
            // The change itself reports that a right is missing.
            if is_denial(errno) {
                return Ok(Ok(()));
            }
            return self.unrestorable(
                named,
                path,
                format!("the kernel refuses the value that is there, '{}': {errno}", text.trim()),
            );
        }
        if self.machine.undo(acted.entry, true)?.stays_open() {
            let why = "the kernel took the value that is there, and refused it when it was written again";
            return self.unrestorable(named, path, why.to_owned());
        }
        self.applied.entries.retain(|&id| id != acted.entry);
        let after = self.neighbours(path);
        let moved: Vec<(String, String)> = before.into_iter().filter(|file| !after.contains(file)).collect();
        let mut left = Vec::new();
        for (file, was) in &moved {
            let undo = undo_of(self.machine, file, was);
            // What took it and reads otherwise is found when the entry is compared.
            if self.act(&self.kept(named, site, (file, was), undo))?.errno.is_some() {
                let now = self.machine.read(file).unwrap_or_default();
                left.push(format!("{file} reads {} where it read {} before", now.trim(), was.trim()));
            }
        }
        let Some((file, _)) = moved.first() else { return Ok(Ok(())) };
        let refused = self.unrestorable(named, path, format!("writing the value that is there changes {file}"));
        match refused {
            Err(cause) if !left.is_empty() => {
                Err(KnobError::CannotRestore { cause: Box::new(cause), left, open: false })
            }
            refused => {
                let words = left.into_iter().map(|left| format!("{} is not restored: {left}", named.name));
                self.applied.unrestorable.extend(words);
                refused
            }
        }
    }

    /// Refuses what could not be restored, unless that is accepted.
    fn unrestorable(&self, named: &Named, path: &str, why: String) -> Result<Result<(), String>, KnobError> {
        if self.accept_unrestorable {
            return Ok(Err(why));
        }
        Err(KnobError::Unrestorable { knob: named.name.clone(), path: path.to_owned(), why })
    }

    /// A write of what a file reads, which is its own undo.
    fn kept(&self, named: &Named, site: &Site, (path, reads): (&str, &str), write: Action) -> Turn {
        let asked = reads.trim_end().to_owned();
        Turn {
            action: write.clone(),
            undo: Some(write),
            hold: self.hold,
            knob: named.name.clone(),
            site: site.name.clone(),
            asked: asked.clone(),
            before: Before::Saved { saved: asked },
            read_back: Some(path.to_owned()),
            step: self.step,
            moves: BTreeMap::new(),
        }
    }

    /// A file and the settings in its folder, with what they show: what can be read and written.
    fn neighbours(&mut self, path: &str) -> Vec<(String, String)> {
        let Some((folder, _)) = path.rsplit_once('/') else { return Vec::new() };
        let entries = self.machine.list(folder).unwrap_or_default();
        let settings =
            entries.into_iter().filter(|entry| !entry.folder && entry.mode & 0o222 != 0 && entry.mode & 0o444 != 0);
        let own = path.rsplit('/').next().unwrap_or_default().to_owned();
        let alone = |name: &str| MOVE_ALONE.iter().any(|end| format!("{folder}/{name}").ends_with(end));
        let others = settings.map(|entry| entry.name).filter(|name| *name != own);
        let names: Vec<String> =
            once(own.clone()).chain(others).filter(|name| !alone(name)).take(MAX_COMPARED).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let texts = self.machine.read_in(&[folder.to_owned()], &names).into_iter().flatten();
        names.iter().zip(texts).filter_map(|(name, text)| Some((format!("{folder}/{name}"), text.ok()?))).collect()
    }
}
