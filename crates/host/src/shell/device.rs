//! A machine behind a shell as a device: what is read, done and started there, without the ledger.
use powerband_machine::{
    Action, Device, Entry, EntryId, Errno, Finished, Handle, Hold, Identity, Job, LastChange, Ledger, LedgerError,
    LeftBehind, Look, Performed, ProcessId, Run, SpawnError, Turn, Undone, Unwatched, Watch, draft_of,
};

use super::hand::{self, Before, Hand};
use super::handles::Handles;
use super::jobs::Jobs;
use super::quote::assignment;

/// A machine behind a shell, without its ledger.
pub struct ShellDevice {
    pub(super) identity: Identity,
    pub(super) hand: Hand,
    /// Whether we hold the lock there.
    pub(super) owns: bool,
    pub(super) handles: Handles,
    pub(super) jobs: Jobs,
    /// What was said when the last action was refused that restores something.
    pub(super) refusal_words: Option<String>,
}

/// What the watchdog is told of an entry before it is acted on: how to take it back, and the line that says so in the
/// ledger. A watchdog that cannot be had stops nobody: then the next command restores.
fn orders(entry: EntryId, undo: Option<&Action>) -> Option<Before> {
    let close = assignment("pb_u3", Ledger::closing_line(entry, Undone::Undone).trim_end());
    let (lines, back) = match undo? {
        Action::WriteFile { path, text } => {
            let lines = [assignment("pb_u1", path), assignment("pb_u2", text)].concat();
            (lines, "pb_old \"$pb_u1\" \"$pb_u2\"")
        }
        Action::ReplaceFile { path, text } => {
            let lines = [assignment("pb_u1", path), assignment("pb_u2", text), assignment("pb_u4", &draft_of(path))];
            (lines.concat(), "rm -f -- \"$pb_u4\"; pb_old \"$pb_u1\" \"$pb_u2\"")
        }
        Action::RemoveFolder { path } => (assignment("pb_u1", path), "{ rmdir -- \"$pb_u1\" 2>/dev/null || true; }"),
        Action::RemoveFile { path } => (assignment("pb_u1", path), "rm -f -- \"$pb_u1\""),
        Action::RemoveGroup { group } => (assignment("pb_u1", group), "pb_ungroup \"$pb_u1\""),
        Action::Run { argv, .. } => (hand::words(argv).ok()?, "pb_do \"$@\" && [ \"$pb_c\" = 0 ]"),
        Action::Coalesce { .. } => {
            let (lines, _) = hand::work(undo?).ok()?;
            (lines, "pb_do \"$@\"; { [ \"$pb_c\" = 0 ] || [ \"$pb_c\" = 80 ]; }")
        }
        _ => return None,
    };
    let order = [lines.as_slice(), &close, &[format!("{back} && pb_close \"$pb_u3\"")]].concat().join("\n");
    let file = format!("$pb_g/undo.{}", entry.0);
    Some(Before {
        lines: assignment("pb_u", &order),
        script: format!(
            "printf '%s\\n' \"$pb_u\" >\"{file}.new\" && mv \"{file}.new\" \"{file}\" && {{ pb_ensure; true; }}"
        ),
    })
}

impl Device for ShellDevice {
    fn perform(&mut self, entry: EntryId, turn: &Turn) -> Result<Performed, LedgerError> {
        if let Some(Err(errno)) = turn.undo.as_ref().map(hand::work) {
            // What this shell cannot restore, it does not do.
            let reads_back = turn.read_back.as_ref().and_then(|path| self.hand.read(path).ok());
            let reads_back = reads_back.map(|text| text.strip_suffix('\n').unwrap_or(&text).to_owned());
            let words = Some("a shell could not restore what is there".to_owned());
            return Ok(Performed { errno: Some(errno), words, reads_back });
        }
        if let Action::Coalesce { device, .. } = &turn.action
            && let Err(refusal) = self.hand.check_queues(device)
        {
            return Ok(Performed { errno: Some(refusal.errno), words: refusal.words, reads_back: None });
        }
        // In one call: its watchdog learns how to restore it, it is done, and it reads back.
        let before = if turn.hold == Hold::Held { orders(entry, turn.undo.as_ref()) } else { None };
        let gone = || LedgerError::Lost { machine: self.identity.name.clone(), why: String::new() };
        let done = self.hand.perform(&turn.action, before, turn.read_back.as_deref()).ok_or_else(gone)?;
        let errno = done.refusal.as_ref().map(|refusal| refusal.errno);
        if let (Some(Errno::ENOSPC | Errno::EIO), Action::WriteFile { path, .. }, Some(undo @ Action::WriteFile { .. })) =
            (errno, &turn.action, &turn.undo)
            && !hand::is_kernels(path)
        {
            // A full disk may have emptied it: the old content fits where it was.
            let _refused = self.take_back(undo, entry, turn.hold);
        }
        let reads = done.reads_back.and_then(Result::ok);
        let reads_back = reads.map(|text| text.strip_suffix('\n').unwrap_or(&text).to_owned()).or(done.in_force);
        Ok(Performed { errno, words: done.words.or(done.refusal.and_then(|refusal| refusal.words)), reads_back })
    }

    fn take_back(&mut self, action: &Action, _entry: EntryId, _hold: Hold) -> Result<(), Errno> {
        let done = self.hand.perform(action, None, None).ok_or(Errno::ENOLINK)?;
        let Some(refusal) = done.refusal else { return Ok(()) };
        self.refusal_words = match action {
            // A file's errno says it all, unless it could not be known: then the shell's own words are all there is.
            Action::WriteFile { path, .. } | Action::ReplaceFile { path, .. } | Action::RemoveFile { path }
                if refusal.errno == Errno::EIO =>
            {
                let words = refusal.words.unwrap_or_else(|| "the shell gave no reason".to_owned());
                Some(if words.contains(path) { words } else { format!("{path}: {words}") })
            }
            _ => refusal.words,
        };
        Err(refusal.errno)
    }

    fn refusal_words(&mut self) -> Option<String> {
        self.refusal_words.take()
    }

    /// Takes entries from the watchdog's orders.
    fn let_go(&mut self, entries: &[EntryId]) {
        if entries.is_empty() || !self.owns {
            return;
        }
        let files: Vec<String> = entries.iter().map(|id| format!("\"$pb_g/undo.{}\"", id.0)).collect();
        let _ = self.hand.call::<0>(&[], &format!("rm -f {}", files.join(" ")));
    }

    fn lost(&self) -> Option<LedgerError> {
        self.hand.lost().map(|why| LedgerError::Lost { machine: self.identity.name.clone(), why })
    }
}

impl Look for ShellDevice {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Errno> {
        self.hand.list(folder)
    }

    fn read(&mut self, path: &str) -> Result<String, Errno> {
        self.hand.read(path)
    }

    fn open(&mut self, path: &str) -> Result<Handle, Errno> {
        // Kept by name: whether it can be read is known now, as with a file that is opened.
        match self.hand.read(path) {
            Err(
                errno @ (Errno::ENOENT
                | Errno::EACCES
                | Errno::EPERM
                | Errno::ENOTDIR
                | Errno::ENOLINK
                | Errno::EOPNOTSUPP
                | Errno::ENOSYS),
            ) => Err(errno),
            _ => self.handles.open(path),
        }
    }

    fn read_many(&mut self, handles: &[Handle], into: &mut Vec<Result<String, Errno>>) {
        let paths: Option<Vec<&str>> = handles.iter().map(|&handle| self.handles.path(handle)).collect();
        *into = paths.map(|paths| self.hand.read_many(&paths)).unwrap_or_default();
        let missing = if self.hand.lost().is_some() { Errno::ENOLINK } else { Errno::EBADF };
        into.resize(handles.len(), Err(missing));
    }

    fn close(&mut self, handle: Handle) {
        self.handles.close(handle);
    }

    fn last_change(&mut self, path: &str) -> Option<LastChange> {
        self.hand.last_change(path)
    }
}

impl Run for ShellDevice {
    fn spawn(&mut self, job: &Job) -> Result<ProcessId, SpawnError> {
        self.jobs.spawn(&self.hand, &self.handles, job, &self.identity.name)
    }

    fn end(&mut self, process: ProcessId, force: bool) {
        self.jobs.end(&self.hand, process, force);
    }

    fn finished(&mut self, process: ProcessId) -> Option<Finished> {
        self.jobs.finished(process)
    }

    fn left_behind(&mut self, end: bool) -> LeftBehind {
        self.jobs.left_behind(&self.hand, end)
    }
}

impl Watch for ShellDevice {
    fn watch_writers(&mut self, _places: &[String]) -> Result<(), Unwatched> {
        Err(Unwatched { why: format!("{} has nothing but a shell, and that cannot watch", self.identity.name) })
    }
}
