//! Doing an action: files, groups, network devices, programs.
use std::os::fd::OwnedFd;

use powerband_machine::{Action, Errno, replaced_by};
use rustix::fs::{Mode, OFlags};

use crate::account::command_user;
use crate::errno;
use crate::group::Groups;
use crate::program::{WORDS_BYTES, run_as};
use crate::refusal::Refusal;

/// What came of an action that was done.
#[derive(Debug, Default)]
pub(crate) struct Effect {
    /// What the action itself can tell of what is now in force.
    pub(crate) reads_back: Option<String>,
    /// What a program said.
    pub(crate) words: Option<String>,
}

/// What acting leaves in this process's hands.
#[derive(Debug, Default)]
pub(crate) struct Actor {
    /// Control groups that were found or made.
    pub(crate) groups: Groups,
    /// Files kept open, by path, the newest last: each holding is a request of its own.
    held: Vec<(String, OwnedFd)>,
}

impl Actor {
    /// Does it.
    pub(crate) fn perform(&mut self, action: &Action) -> Result<Effect, Refusal> {
        match action {
            Action::HoldFile { path, text } => self.hold(path, text),
            Action::ReleaseFile { path } => {
                // One that we do not hold was closed with the process that did.
                if let Some(newest) = self.held.iter().rposition(|(held, _)| held == path) {
                    self.held.remove(newest);
                }
                Ok(Effect::default())
            }
            other => perform(&mut self.groups, other),
        }
    }

    fn hold(&mut self, path: &str, text: &str) -> Result<Effect, Refusal> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let file = rustix::fs::open(path, flags, Mode::empty()).map_err(errno)?;
        rustix::io::write(&file, text.as_bytes()).map_err(errno)?;
        self.held.push((path.to_owned(), file));
        Ok(Effect::default())
    }
}

fn perform(groups: &mut Groups, action: &Action) -> Result<Effect, Refusal> {
    match action {
        Action::WriteFile { path, .. } | Action::ReplaceFile { path, .. } if crate::files::has_capabilities(path) => {
            let words = "the program has capabilities (setcap), which a write would take from it".to_owned();
            Err(Refusal { errno: Errno::EOPNOTSUPP, words: Some(words) })
        }
        Action::WriteFile { path, text } => Ok(crate::files::write(path, text).map(|()| Effect::default())?),
        Action::ReplaceFile { path, text } => Ok(crate::replace::replace(path, text).map(|()| Effect::default())?),
        Action::MakeFolder { path } => Ok(crate::replace::make_folder(path).map(|()| Effect::default())?),
        Action::RemoveFolder { path } => Ok(crate::replace::remove_folder(path).map(|()| Effect::default())?),
        Action::RemoveFile { path } => Ok(match replaced_by(path) {
            Some(replaced) => crate::replace::remove_draft(&replaced),
            None => crate::files::remove(path),
        }
        .map(|()| Effect::default())?),
        Action::MakeGroup { group, quota } => {
            groups.make(group, *quota).map(|in_force| Effect { reads_back: Some(in_force), words: None })
        }
        Action::RemoveGroup { group } => groups.remove(group).map(|()| Effect::default()),
        Action::Coalesce { device, values } => crate::coalescing::set(device, values).map(|()| Effect::default()),
        Action::Run { argv, user } => {
            let said = run_as(command_user(*user)?.as_ref(), argv, WORDS_BYTES, true)?;
            Ok(Effect { reads_back: None, words: Some(said) })
        }
        _ => Err(Refusal { errno: Errno::EOPNOTSUPP, words: Some("this powerband cannot do that here".into()) }),
    }
}
