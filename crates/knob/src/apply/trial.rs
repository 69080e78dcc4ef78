//! A trial of the undo: a file of the kernel that the catalogue does not know is written with the value it has, before it is
//! changed. If the kernel refuses that, or changes what is next to the file, nobody could restore it.
use powerband_machine::{Action, Turn};

use super::Run;
use super::moves::moved_by;
use crate::error::is_denial;
use crate::kernel_file::{is_kernel_file, undo_of};
use crate::knob::Turning;
use crate::{KnobError, Named, Phase, Site};

/// Files next to one that are compared at most.
const MAX_COMPARED: usize = 64;

impl Run<'_> {
    /// Tries the undo of a file that the catalogue does not know.
    ///
    /// # Errors
    /// [`KnobError::Unrestorable`], when the machine is as before.
    pub(super) fn try_undo(&mut self, named: &Named, site: &Site, turning: &Turning) -> Result<(), KnobError> {
        let is_known = !matches!(named.knob.about().phase, Phase::Sysctl | Phase::File);
        let (Some(undo @ Action::WriteFile { path, text }), Action::WriteFile { path: written, .. }) =
            (&turning.undo, &turning.action)
        else {
            return Ok(());
        };
        // A pair's other member is a setting of its own, which is in effect.
        if is_known || self.again || !is_kernel_file(path) || path != written {
            return Ok(());
        }
        // What is known to move along is saved already.
        let known = moved_by(self.machine, path);
        let mut before = self.neighbours(path);
        before.retain(|(file, _)| !known.iter().any(|it| it.path == *file));
        let acted = self.act(&self.kept(named, site, path, undo.clone()))?;
        let unrestorable = |why: String| KnobError::Unrestorable { knob: named.name.clone(), path: path.clone(), why };
        if let Some(errno) = acted.errno {
            // The change itself reports that a right is missing.
            if is_denial(errno) {
                return Ok(());
            }
            return Err(unrestorable(format!(
                "the kernel refuses the value that is there, '{}': {errno}",
                text.trim()
            )));
        }
        if self.machine.undo(acted.entry, true)?.stays_open() {
            return Err(unrestorable(
                "the kernel took the value that is there, and refused it when it was written again".into(),
            ));
        }
        self.applied.entries.retain(|&id| id != acted.entry);
        let after = self.neighbours(path);
        let moved: Vec<(String, String)> = before.into_iter().filter(|file| !after.contains(file)).collect();
        for (file, was) in &moved {
            let undo = undo_of(self.machine, file, was);
            self.act(&self.kept(named, site, file, undo))?;
        }
        let Some((file, _)) = moved.first() else { return Ok(()) };
        Err(unrestorable(format!("writing the value that is there changes {file}")))
    }

    /// A write that is its own undo.
    fn kept(&self, named: &Named, site: &Site, path: &str, write: Action) -> Turn {
        let asked = if let Action::WriteFile { text, .. } = &write { text.trim().to_owned() } else { String::new() };
        Turn {
            action: write.clone(),
            undo: Some(write),
            hold: self.hold,
            knob: named.name.clone(),
            site: site.name.clone(),
            asked,
            before: None,
            read_back: Some(path.to_owned()),
            step: self.step,
        }
    }

    /// Settings in the folder of a file, with what they show: what can be read and written.
    fn neighbours(&mut self, path: &str) -> Vec<(String, String)> {
        let Some((folder, _)) = path.rsplit_once('/') else { return Vec::new() };
        let entries = self.machine.list(folder).unwrap_or_default();
        let settings =
            entries.into_iter().filter(|entry| !entry.folder && entry.mode & 0o222 != 0 && entry.mode & 0o444 != 0);
        let own = path.rsplit('/').next().unwrap_or_default();
        let names: Vec<String> =
            settings.map(|entry| entry.name).filter(|name| name != own).take(MAX_COMPARED).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let texts = self.machine.read_in(&[folder.to_owned()], &names).into_iter().flatten();
        names.iter().zip(texts).filter_map(|(name, text)| Some((format!("{folder}/{name}"), text.ok()?))).collect()
    }
}
