//! A trial of the undo: a file of the kernel that the catalogue does not know is written with the value it has, before it is
//! changed. If the kernel refuses that, or changes what is next to the file, nobody could restore it.
use std::collections::BTreeMap;
use std::iter::once;

use powerband_machine::{Acted, Action, Before, Errno, Look, Turn};
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
/// newest process (Linux 6.12 kernel/pid_namespace.c), a file whose reading makes every CPU count (mm/vmstat.c), a limit that
/// follows the packets sent (lib/dynamic_queue_limits.c), the state of a link (net/core/net-sysfs.c), limits in bytes that follow
/// the memory (mm/page-writeback.c, `bdi_get_max_bytes`), and what a control group has in it and measures (kernel/cgroup/cgroup.c).
const MOVE_ALONE: [&str; 11] = [
    "/kernel/ns_last_pid",
    "/vm/stat_refresh",
    "/byte_queue_limits/limit",
    "/carrier",
    "/max_bytes",
    "/min_bytes",
    "/cgroup.procs",
    "/cgroup.threads",
    "/tasks",
    ".pressure",
    ".peak",
];

/// Files with what they read.
pub(super) type Texts = Vec<(String, String)>;

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

    /// Tries the undo of a file that the catalogue does not know, and answers the settings next to it that nobody knows to move along;
    /// where the undo fails and that is accepted, why.
    ///
    /// # Errors
    /// [`KnobError::Unrestorable`], when the machine is as before; else what the trial has left changed.
    pub(super) fn try_undo(
        &mut self,
        named: &Named,
        site: &Site,
        turning: &Turning,
    ) -> Result<Result<Texts, String>, KnobError> {
        let (Some(undo @ Action::WriteFile { path, text }), Action::WriteFile { path: written, text: asked }) =
            (&turning.undo, &turning.action)
        else {
            return Ok(Ok(Texts::new()));
        };
        // A pair's other member is a setting of its own, which is in effect.
        if is_known(named) || self.again || !is_kernel_file(path) || path != written {
            return Ok(Ok(Texts::new()));
        }
        if let Some(why) = not_taken_back(self.machine, path, asked) {
            return self.unrestorable(named, path, why).map(Err);
        }
        // What is known to move along is saved already.
        let known = moved_by(self.machine, path, &|_| false);
        let is_saved = |file: &str| known.iter().any(|it| it.is_lost && it.path == file);
        let mut before = self.neighbours(path);
        // What changes without a write shows nothing.
        let again = self.neighbours(path);
        before.retain(|file| !is_saved(&file.0) && again.contains(file));
        let acted =
            self.act(&self.kept(named, site, (path, turning.before.as_deref().unwrap_or(text)), undo.clone()))?;
        if let Some(errno) = acted.errno {
            // The change itself reports that a right is missing.
            if is_denial(errno) {
                return Ok(Ok(Texts::new()));
            }
            let why = format!("the kernel refuses the value that is there, '{}': {errno}", text.trim());
            return self.unrestorable(named, path, why).map(Err);
        }
        if self.machine.undo(acted.entry, true)?.stays_open() {
            let why = "the kernel took the value that is there, and refused it when it was written again";
            return self.unrestorable(named, path, why.to_owned()).map(Err);
        }
        self.applied.entries.retain(|&id| id != acted.entry);
        let after = self.neighbours(path);
        let (moved, mut still): (Texts, Texts) = before.into_iter().partition(|file| !after.contains(file));
        if let Some((file, _)) = moved.first() {
            let why = format!("writing the value that is there changes {file}");
            let left = self.save_again(named, site, &moved)?;
            return self.report_left(named, path, left, why).map(Err);
        }
        still.retain(|file| file.0 != *path && !known.iter().any(|it| it.path == file.0));
        Ok(Ok(still))
    }

    /// Changes a file. Where that moves settings next to it which nobody knew of, it is taken back, they are saved, and it is changed again.
    ///
    /// # Errors
    /// [`KnobError`]; what was moved and could not be brought back is named.
    pub(super) fn act_next_to(
        &mut self,
        named: &Named,
        site: &Site,
        turn: &Turn,
        before: Texts,
    ) -> Result<Acted, KnobError> {
        let acted = self.act(turn)?;
        let Some(path) = turn.read_back.as_deref().filter(|_| acted.errno.is_none() && !before.is_empty()) else {
            return Ok(acted);
        };
        let after = self.neighbours(path);
        let mut moved: Texts = before.into_iter().filter(|file| !after.contains(file)).collect();
        if moved.is_empty() || self.machine.undo(acted.entry, true)?.stays_open() {
            return Ok(acted);
        }
        self.applied.entries.retain(|&id| id != acted.entry);
        // What has moved back with it does so again.
        let after = self.neighbours(path);
        moved.retain(|file| !after.contains(file));
        let left = self.save_again(named, site, &moved)?;
        if !left.is_empty() {
            let why = format!("a write changes {}, which the kernel does not take back", moved[0].0);
            self.report_left(named, path, left, why)?;
        }
        self.act(turn)
    }

    /// Writes what files read before, which is its own undo; what is not back, in words. What a file took and reads otherwise is found
    /// when its entry is compared.
    fn save_again(&mut self, named: &Named, site: &Site, moved: &Texts) -> Result<Vec<String>, KnobError> {
        let mut left = Vec::new();
        for (file, was) in moved {
            let undo = undo_of(self.machine, file, was);
            if self.act(&self.kept(named, site, (file, was), undo))?.errno.is_some() {
                let now = self.machine.read(file).unwrap_or_default();
                left.push(format!("{file} reads {} where it read {} before", now.trim(), was.trim()));
            }
        }
        Ok(left)
    }

    /// Refuses what could not be restored and names what a trial has left changed, unless that is accepted.
    fn report_left(&mut self, named: &Named, path: &str, left: Vec<String>, why: String) -> Result<String, KnobError> {
        match self.unrestorable(named, path, why) {
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
    fn unrestorable(&self, named: &Named, path: &str, why: String) -> Result<String, KnobError> {
        if self.accept_unrestorable {
            return Ok(why);
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
    fn neighbours(&mut self, path: &str) -> Texts {
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
