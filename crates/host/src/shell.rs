//! A machine behind a bare POSIX shell: nothing of ours is installed there, and what it takes is said in the shell's words.
//!
//! The ledger is kept there, beside a lock and the watchdog's orders; the design is told in `docs/design/shell.md`.
mod hand;
mod jobs;
mod link;
mod quote;
mod store;
mod watched;

use std::cell::RefCell;
use std::rc::Rc;

use powerband_machine::wire::Purpose;
use powerband_machine::{
    Acted, Action, Damage, Entry, EntryId, Errno, Finished, Handle, Hold, Identity, Job, LastChange, Ledger,
    LedgerError, LeftBehind, Machine, OpenEntry, ProcessId, SpawnError, Turn, Undone, Unwatched,
};
use rustix::event::{PollFd, PollFlags};

use self::hand::{Before, Hand};
use self::jobs::{Handles, Jobs};
use self::link::Link;
use self::quote::assignment;
use self::store::ShellLedger;
use crate::remote::RemoteError;
use crate::talk::Stoppable;
use crate::world::{Member, News};

/// What the shell there learns of us.
const LESSONS: &str = include_str!("shell/far.sh");

/// A machine behind a shell. Dropping it lets go of what is there; what is still held its watchdog puts back.
pub struct ShellMachine {
    identity: Identity,
    hand: Hand,
    /// The end the shell is heard at, to be polled beside the borrowed link.
    watched: std::os::fd::OwnedFd,
    ledger: Ledger,
    folder: String,
    held: Option<String>,
    /// Whether we hold the lock there.
    owns: bool,
    handles: Handles,
    jobs: Jobs,
}

/// What a shell says of its machine.
struct Facts {
    system: String,
    uid: String,
    pid: u32,
    boot_id: String,
    net_ns: Option<u64>,
}

impl ShellMachine {
    /// Starts `words`, which lead to a shell, and takes the lock there unless one only looks. `name` is how the machine is
    /// named, `doing` what others are told who find it locked; each answer may take `answer_ns`.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn connect(
        name: &str,
        words: &[String],
        (purpose, doing): (Purpose, &str),
        answer_ns: u64,
    ) -> Result<ShellMachine, RemoteError> {
        let _stoppable = Stoppable::begin();
        let unreachable = |why| RemoteError::unreachable(name, why, format!("echo uname | {}", words.join(" ")));
        let (program, arguments) = words.split_first().ok_or_else(|| unreachable("there is no command".into()))?;
        let mut link = Link::start(program, arguments, answer_ns).map_err(|errno| RemoteError::NotStarted {
            name: name.into(),
            program: program.clone(),
            errno,
        })?;
        link.introduce(&lessons()).map_err(unreachable)?;
        let watched = link.fd().try_clone().map_err(|error| unreachable(error.to_string()))?;
        let hand = Hand(Rc::new(RefCell::new(link)));
        let lost = || unreachable(hand.lost().unwrap_or_else(|| "it does not say what it is".into()));
        let facts = facts(&hand).ok_or_else(lost)?;
        let owns = purpose != Purpose::Look;
        let settled = if owns { take(&hand, doing) } else { look(&hand) };
        let (status, folder, holder) = settled.ok_or_else(lost)?;
        let refused = |exit, why: String| RemoteError::Refused { name: name.into(), exit, why };
        match status {
            1 if owns => {
                let why = if holder.is_empty() { "another powerband holds it".to_owned() } else { holder };
                return Err(refused(8, why));
            }
            3 if owns => {
                let why = "there is no folder there for the ledger; set POWERBAND_STATE_DIR there to one of your own";
                return Err(refused(8, why.into()));
            }
            4.. => return Err(refused(8, format!("{folder} cannot be written there"))),
            _ => {}
        }
        let store = ShellLedger::new(hand.clone(), &folder, name);
        let ledger = Ledger::load(Box::new(store), &facts.boot_id).map_err(|error| refused(8, error.to_string()))?;
        Ok(ShellMachine {
            identity: Identity {
                name: name.into(),
                system: facts.system,
                boot_id: facts.boot_id,
                address: String::new(),
                privileged: facts.uid == "0",
                owner: facts.pid,
            },
            ledger: ledger.in_network(facts.net_ns),
            hand,
            watched,
            folder,
            held: Some(holder).filter(|holder| !owns && !holder.is_empty()),
            owns,
            handles: Handles::default(),
            jobs: Jobs::default(),
        })
    }

    /// Where the other machine of a rig reaches it.
    #[must_use]
    pub fn reached_at(mut self, address: &str) -> Self {
        self.identity.address = address.into();
        self
    }

    /// The folder of its ledger, there; empty when there is none yet.
    #[must_use]
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// Who holds it, as a sentence, when one only looks.
    #[must_use]
    pub fn held(&self) -> Option<&str> {
        self.held.as_deref()
    }

    /// What a ledger's error is when the machine is gone.
    fn or_lost<T>(&self, done: Result<T, LedgerError>) -> Result<T, LedgerError> {
        match self.hand.lost() {
            Some(why) if done.is_err() => Err(LedgerError::Lost { machine: self.identity.name.clone(), why }),
            _ => done,
        }
    }

    fn act_and_say(&mut self, turn: &Turn) -> Result<Acted, LedgerError> {
        let hand = self.hand.clone();
        let entry = self.ledger.intend(turn, &mut |path| hand.read(path))?;
        let before = if turn.hold == Hold::Held { orders(entry, turn.undo.as_ref()) } else { None };
        let gone = || LedgerError::Lost { machine: self.identity.name.clone(), why: String::new() };
        let done = hand.perform(&turn.action, before, turn.read_back.as_deref()).ok_or_else(gone)?;
        let errno = done.refusal.as_ref().map(|refusal| refusal.errno);
        let as_it_was = |action: &Action| drop(hand.perform(action, None, None));
        if let (Some(Errno::ENOSPC | Errno::EIO), Action::WriteFile { path, .. }, Some(undo @ Action::WriteFile { .. })) =
            (errno, &turn.action, &turn.undo)
            && !hand::is_kernels(path)
        {
            // A full disk may have emptied it: the old content fits where it was.
            as_it_was(undo);
        }
        let reads = done.reads_back.and_then(Result::ok);
        let reads = reads.map(|text| text.strip_suffix('\n').unwrap_or(&text).to_owned()).or(done.in_force);
        if let Err(why) = self.ledger.done(entry, errno, reads.clone()) {
            // The caller is told that nothing was turned, so nothing may stay turned.
            if let (None, Some(undo)) = (errno, &turn.undo) {
                as_it_was(undo);
            }
            return Err(why);
        }
        if errno.is_some() {
            self.forget(&[entry]);
        }
        let words = done.words.or(done.refusal.and_then(|refusal| refusal.words));
        Ok(Acted { entry, errno, words, reads_back: reads })
    }

    /// Takes entries from the watchdog's orders.
    fn forget(&self, entries: &[EntryId]) {
        if entries.is_empty() || !self.owns {
            return;
        }
        let files: Vec<String> = entries.iter().map(|id| format!("\"$pb_g/undo.{}\"", id.0)).collect();
        let _ = self.hand.call::<0>(&[], &format!("rm -f {}", files.join(" ")));
    }
}

/// The functions, without what is said about them to people.
fn lessons() -> String {
    let lines = LESSONS.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.fold(String::new(), |text, line| text + line + "\n")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

fn facts(hand: &Hand) -> Option<Facts> {
    let script = "pb_uid=$(id -u); pb_boot=; { read -r pb_boot </proc/sys/kernel/random/boot_id; }\npb_self\n\
                  pb_setsid=; command -v setsid && command -v sh && pb_setsid=setsid\n\
                  for pb_f in \"$(uname -r)\" \"$pb_uid\" \"$pb_me\" \"$pb_boot\" \"$(ls -l /proc/self/ns/net)\"; do \
                  pb_t \"$pb_f\"; done";
    let (_, [system, uid, pid, boot_id, net_ns]) = hand.call(&[], script)?;
    let net_ns = text(&net_ns);
    let net_ns = net_ns.rsplit_once("net:[").and_then(|(_, rest)| rest.strip_suffix(']')?.parse().ok());
    Some(Facts {
        system: text(&system),
        uid: text(&uid),
        pid: text(&pid).parse().ok()?,
        boot_id: text(&boot_id),
        net_ns,
    })
}

/// Takes the lock: 0, or 1 when somebody holds it, 3 without a folder, 4 when nothing can be made in it; the folder, and
/// who holds it.
fn take(hand: &Hand, doing: &str) -> Option<(i32, String, String)> {
    let script = "pb_c=3; if pb_find make; then pb_own \"$pb_a\"; pb_c=$?; \
                  if [ $pb_c = 1 ] && ! pb_holder; then pb_c=4; fi; fi; pb_t \"$pb_d\"; pb_t \"$pb_q\"; (exit $pb_c)";
    let (status, [folder, holder]) = hand.turn(&assignment("pb_a", doing), script)?;
    Some((status, text(&folder), sentence(&holder)))
}

/// The folder and who holds it; takes and makes nothing.
fn look(hand: &Hand) -> Option<(i32, String, String)> {
    let script = "pb_q=; if pb_find look; then pb_holder || pb_q=; fi; pb_t \"$pb_d\"; pb_t \"$pb_q\"; true";
    let (status, [folder, holder]) = hand.call(&[], script)?;
    Some((status, text(&folder), sentence(&holder)))
}

/// Who is soon done says so first.
fn sentence(holder: &[u8]) -> String {
    let holder = text(holder);
    holder.strip_prefix("soon ").map_or_else(|| holder.clone(), |rest| format!("its watchdog is {rest}"))
}

/// What the watchdog is told of an entry before it is acted on: how to take it back, and the line that says so in the
/// ledger. A watchdog that cannot be had stops nobody: then the next command puts back.
fn orders(entry: EntryId, undo: Option<&Action>) -> Option<Before> {
    let close = assignment("pb_u3", Ledger::closing_line(entry, Undone::Undone).trim_end());
    let (lines, back) = match undo? {
        Action::WriteFile { path, text } => {
            let lines = [assignment("pb_u1", path), assignment("pb_u2", text)].concat();
            (lines, "pb_old \"$pb_u1\" \"$pb_u2\"")
        }
        Action::RemoveFile { path } => (assignment("pb_u1", path), "rm -f -- \"$pb_u1\""),
        Action::RemoveGroup { group } => (assignment("pb_u1", group), "pb_ungroup \"$pb_u1\""),
        Action::Run { argv } => (hand::words(argv).ok()?, "pb_do \"$@\" && [ \"$pb_c\" = 0 ]"),
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

impl Machine for ShellMachine {
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
                | Errno::EOPNOTSUPP),
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

    fn act(&mut self, turn: &Turn) -> Result<Acted, LedgerError> {
        let done = self.act_and_say(turn);
        self.or_lost(done)
    }

    fn undo(&mut self, entry: EntryId, force: bool) -> Result<Undone, LedgerError> {
        let hand = self.hand.clone();
        let act = &mut |action: &Action| {
            let done = hand.perform(action, None, None).ok_or(Errno::ENOLINK)?;
            done.refusal.map_or(Ok(()), |refusal| Err(refusal.errno))
        };
        let undone = self.ledger.undo(entry, force, &mut |path| hand.read(path), act);
        if undone.as_ref().is_ok_and(|undone| !undone.stays_open()) {
            self.forget(&[entry]);
        }
        // What a lost machine did not answer is no outcome.
        match self.hand.lost() {
            Some(why) => Err(LedgerError::Lost { machine: self.identity.name.clone(), why }),
            None => undone,
        }
    }

    fn keep(&mut self, entries: &[EntryId]) -> Result<(), LedgerError> {
        let kept = self.ledger.keep(entries);
        if kept.is_ok() {
            self.forget(entries);
        }
        self.or_lost(kept)
    }

    fn open_entries(&self) -> Vec<OpenEntry> {
        self.ledger.open().to_vec()
    }

    fn damage(&self) -> Vec<Damage> {
        self.ledger.damage().to_vec()
    }

    fn set_damage_aside(&mut self) -> Result<Vec<Damage>, LedgerError> {
        let aside = self.ledger.set_damage_aside();
        self.or_lost(aside)
    }

    fn last_change(&mut self, path: &str) -> Option<LastChange> {
        self.hand.last_change(path)
    }

    fn watch_writers(&mut self, _places: &[String]) -> Result<(), Unwatched> {
        Err(Unwatched { why: format!("{} has nothing but a shell, and that cannot watch", self.identity.name) })
    }

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

impl Member for ShellMachine {
    fn machine(&mut self) -> &mut dyn Machine {
        self
    }

    fn watch<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        if self.hand.lost().is_none() {
            fds.push(PollFd::new(&self.watched, PollFlags::IN));
        }
    }

    fn collect(&mut self, now_ns: u64, ready: &[PollFlags], news: &mut Vec<News>) {
        {
            let mut link = self.hand.0.borrow_mut();
            if link.lost.is_none()
                && ready.first().is_some_and(|flags| !flags.is_empty())
                && let Err(silence) = link.listen()
            {
                link.lose(&silence);
            }
        }
        loop {
            let next = self.hand.0.borrow_mut().ended.pop_front();
            let Some(ended) = next else { break };
            news.extend(self.jobs.conclude(&self.hand, &ended).map(News::Ended));
        }
        news.extend(self.jobs.over(now_ns).into_iter().map(News::Ended));
        if let Some((why, told @ false)) = &mut self.hand.0.borrow_mut().lost {
            *told = true;
            news.push(News::Lost(why.clone()));
        }
    }

    fn next_due_ns(&self) -> Option<u64> {
        let link = self.hand.0.borrow();
        let due = match &link.lost {
            _ if !link.ended.is_empty() => Some(0),
            Some((_, told)) => (!told).then_some(0),
            None => Some(link.due_ns()),
        };
        due.into_iter().chain(self.jobs.due_ns()).min()
    }

    fn tend(&mut self) {
        let mut link = self.hand.0.borrow_mut();
        if link.lost.is_none()
            && let Err(silence) = link.tend()
        {
            link.lose(&silence);
        }
    }

    fn hush(&mut self, for_ns: u64) {
        let mut link = self.hand.0.borrow_mut();
        if link.lost.is_none()
            && let Err(silence) = link.hush(for_ns)
        {
            link.lose(&silence);
        }
    }

    fn lost(&self) -> Option<String> {
        self.hand.lost()
    }

    fn end_loads(&mut self) {
        self.jobs.abandon(&self.hand);
    }
}

impl Drop for ShellMachine {
    fn drop(&mut self) {
        self.jobs.abandon(&self.hand);
        let held = self.ledger.open().iter().any(|entry| entry.turn.hold == Hold::Held);
        // With something held we just go, and the watchdog does the rest.
        if self.owns && !held {
            let _ = self.hand.turn::<0>(&[], "pb_leave");
        }
        if self.hand.lost().is_none() {
            self.hand.0.borrow_mut().part();
        }
    }
}
