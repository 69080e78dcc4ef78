//! A machine at a peer: an agent there, spoken to through the pipes of a child process (ssh, `ip netns exec`, anything).
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;

use powerband_machine::wire::{
    Call, FromAgent, FromOwner, Hello, IDLE_SILENCE_NS, LEASE_MARGIN_NS, Refusal, Welcome, first_message, message,
};
use powerband_machine::{
    Acted, Action, Asked, Change, Damage, Entry, EntryId, Errno, Finished, Handle, Identity, Job, LastChange,
    LedgerError, LeftBehind, Look, Machine, OpenEntry, ProcessId, Run, Setter, SpawnError, Turn, Undone, Unwatched,
    Watch, Written,
};
use powerband_record::{ErrorClass, Hint, quoted_line};
use rustix::event::{PollFd, PollFlags};
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::member::{Member, MemberEvent};
use crate::talk::{Ear, Mouth, Silence, Stoppable};
use crate::way::Way;

/// How much longer than any other answer one may take that changes something, ns: a program of ten seconds among them.
pub(crate) const CHANGE_NS: u64 = 15_000_000_000;
/// How long the answer to "are you there" may take at most, ns.
const SIGN_OF_LIFE_NS: u64 = 5_000_000_000;
/// Silence that is worth a word where a connection ends, ns.
const LONG_SILENCE_NS: u64 = 1_000_000_000;
/// How long it may take to be told that we let go, ns.
const LAST_WORD_NS: u64 = 1_000_000_000;
/// How long the agent has to restore and end once we let go, ns.
const PARTING_NS: u64 = 10_000_000_000;

/// Why there is no machine at the peer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The program that leads there cannot be started.
    #[error("cannot start '{program}', which leads to {name}: {errno}; check its spelling")]
    NotStarted {
        /// The machine as named.
        name: String,
        /// The program.
        program: String,
        /// Why.
        errno: Errno,
    },
    /// The agent there says no.
    #[error("{name}: {why}")]
    Refused {
        /// The machine as named.
        name: String,
        /// What the caller can do.
        class: ErrorClass,
        /// Its sentence.
        why: String,
    },
    /// It did not answer in time.
    #[error("{name} did not answer within {within}; try it by hand: {by_hand}")]
    Silent {
        /// The machine as named.
        name: String,
        /// How long it had.
        within: String,
        /// A command that shows what is wrong.
        by_hand: String,
    },
    /// We were asked to stop meanwhile.
    #[error("stopped while waiting for {name}")]
    Stopped {
        /// The machine as named.
        name: String,
    },
    /// Nothing sensible came.
    #[error("cannot reach {name}: {why}; try it by hand: {by_hand}")]
    Unreachable {
        /// The machine as named.
        name: String,
        /// Why.
        why: String,
        /// A command that shows what is wrong.
        by_hand: String,
    },
}

impl RemoteError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        matches!(self, RemoteError::Silent { .. }).then_some(Hint::SlowPeer)
    }
}

impl RemoteError {
    /// From why the program that leads there could not be started.
    pub(crate) fn not_started(name: &str, program: &str) -> impl FnOnce(Errno) -> RemoteError {
        let (name, program) = (name.to_owned(), program.to_owned());
        move |errno| RemoteError::NotStarted { name, program, errno }
    }

    /// From a few words on what went wrong on the way there.
    pub(crate) fn unreachable(name: &str, why: String, by_hand: String) -> RemoteError {
        let name = name.to_owned();
        let stopped = why == Silence::Stopped.to_string();
        if stopped { RemoteError::Stopped { name } } else { RemoteError::Unreachable { name, why, by_hand } }
    }
}

/// A machine at a peer. Dropping it lets the agent restored what it holds and end.
pub struct RemoteMachine {
    identity: Identity,
    welcome: Welcome,
    /// The end the agent is heard at, to be polled next to the borrowed link.
    watched: OwnedFd,
    link: RefCell<Link>,
    ended: BTreeMap<u64, Finished>,
}

/// Entries of an access service's ledger have numbers from here on in ours.
pub(crate) const THEIRS: u64 = 1 << 48;

/// Whether an entry is one of a service's ledger.
pub(crate) fn is_theirs(entry: EntryId) -> bool {
    entry.0 >= THEIRS
}

/// The connection; once lost it stays so.
#[derive(Debug)]
struct Link {
    way: Way,
    mouth: Option<Mouth>,
    ear: Ear,
    last: u64,
    /// Why it is lost, and whether the World was told.
    lost: Option<(String, bool)>,
    /// How long an answer may take, ns.
    answer_ns: u64,
    /// News that came while an answer was waited for.
    news: VecDeque<FromAgent>,
    /// How long we may be silent, ns.
    silent_ns: u64,
    /// When we last said anything, ns.
    spoke_ns: u64,
    /// A call nobody waits for, by when it must have been answered, ns.
    unanswered: Option<(u64, u64)>,
}

impl RemoteMachine {
    /// Starts `words`, which lead to an agent, and introduces us. `name` is how the machine is named; each answer may take
    /// `answer_ns`.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn connect(name: &str, words: &[String], hello: Hello, answer_ns: u64) -> Result<RemoteMachine, RemoteError> {
        let _stoppable = Stoppable::begin();
        let unreachable = |why: String| RemoteError::Unreachable { name: name.into(), why, by_hand: String::new() };
        let (program, arguments) = words.split_first().ok_or_else(|| unreachable("there is no command".into()))?;
        let led = Way::lead(program, arguments).map_err(RemoteError::not_started(name, program))?;
        Self::introduced(name, &format!("{} < /dev/null", quoted_line(words)), led, hello, answer_ns)
    }

    /// Introduces us to who is at the end of a way; `by_hand` is a command that shows what is wrong with it.
    pub(crate) fn introduced(
        name: &str,
        by_hand: &str,
        (way, input, output): (Way, OwnedFd, OwnedFd),
        hello: Hello,
        answer_ns: u64,
    ) -> Result<RemoteMachine, RemoteError> {
        let unreachable = |why: String| RemoteError::Unreachable { name: name.into(), why, by_hand: by_hand.into() };
        let mut link = Link::new(way, input, output, answer_ns);
        let introduced = link.introduce(hello);
        if !matches!(introduced, Ok(FromAgent::Welcome(_) | FromAgent::Refused(_)) | Err(Silence::Ended)) {
            // No agent is there that would have anything to restore.
            link.way.end();
        }
        match introduced {
            Ok(FromAgent::Welcome(welcome)) => {
                let identity = Identity { name: name.into(), ..welcome.identity.clone() };
                let watched = link.ear.fd().try_clone().map_err(|error| unreachable(error.to_string()))?;
                let (welcome, link) = (*welcome, RefCell::new(link));
                let ended = BTreeMap::new();
                Ok(RemoteMachine { identity, welcome, watched, link, ended })
            }
            Ok(FromAgent::Refused(refusal)) => {
                Err(RemoteError::Refused { name: name.into(), class: refusal.class, why: refusal.why })
            }
            Ok(_) => Err(unreachable("its first word is no welcome".into())),
            Err(Silence::TooLate) => Err(RemoteError::Silent {
                name: name.into(),
                within: powerband_record::format_duration(answer_ns),
                by_hand: by_hand.into(),
            }),
            Err(Silence::Stopped) => Err(RemoteError::Stopped { name: name.into() }),
            Err(Silence::Ended) => {
                link.mouth = None;
                Err(unreachable(link.way.ending("it ended before it said anything")))
            }
            Err(silence) => Err(unreachable(silence.to_string())),
        }
    }

    /// What the agent said of itself and its machine.
    #[must_use]
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Where the other machine of a rig reaches it.
    #[must_use]
    pub fn reached_at(mut self, address: &str) -> Self {
        self.identity.address = address.into();
        self
    }

    /// A call whose answer is waited for; `None` when the machine is lost, before or with it.
    pub(crate) fn call<T: DeserializeOwned>(&self, call: Call) -> Option<T> {
        let mut link = self.link.borrow_mut();
        if link.lost.is_some() {
            return None;
        }
        let answer = link.ask(call).and_then(|value| serde_json::from_value(value).map_err(not_an_answer));
        match answer {
            Ok(answer) => Some(answer),
            Err(silence) => {
                link.lose(&silence);
                None
            }
        }
    }

    fn ledger<T: DeserializeOwned>(&self, call: Call) -> Result<T, LedgerError> {
        self.call::<Result<T, LedgerError>>(call).unwrap_or_else(|| {
            let why = Member::lost(self).unwrap_or_default();
            Err(LedgerError::Lost { machine: self.identity.name.clone(), why })
        })
    }

    fn file<T: DeserializeOwned>(&self, call: Call) -> Result<T, Errno> {
        self.call::<Result<T, Errno>>(call).unwrap_or(Err(Errno::ENOLINK))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err wants it")]
fn not_an_answer(error: serde_json::Error) -> Silence {
    Silence::Wire(powerband_machine::wire::WireError::NotOurs(error.to_string()))
}

impl Link {
    fn new(way: Way, input: OwnedFd, output: OwnedFd, answer_ns: u64) -> Link {
        Link {
            way,
            mouth: Some(Mouth::new(input)),
            ear: Ear::new(output),
            answer_ns,
            last: 0,
            lost: None,
            news: VecDeque::new(),
            silent_ns: IDLE_SILENCE_NS,
            spoke_ns: crate::now_ns(),
            unanswered: None,
        }
    }

    fn introduce(&mut self, hello: Hello) -> Result<FromAgent, Silence> {
        let until_ns = crate::now_ns() + self.answer_ns;
        // One that ended has perhaps said why.
        let said = self.say(&FromOwner::Hello(hello), until_ns);
        let first = self.ear.hear(until_ns).map_err(|silence| match silence {
            Silence::Wire(_) => silence,
            _ => said.err().unwrap_or(silence),
        })?;
        self.spoke_ns = crate::now_ns();
        Ok(first_message(&first)?)
    }

    fn say(&mut self, message: &FromOwner, until_ns: u64) -> Result<(), Silence> {
        self.spoke_ns = crate::now_ns();
        self.mouth.as_ref().ok_or(Silence::Ended)?.say_hearing(message, until_ns, &mut self.ear)
    }

    fn ask(&mut self, call: Call) -> Result<serde_json::Value, Silence> {
        let until_ns = crate::now_ns() + self.answer_ns + if call.turns() { CHANGE_NS } else { 0 };
        self.last += 1;
        let number = self.last;
        self.say(&FromOwner::Call(number, call), until_ns)?;
        loop {
            let json = self.ear.hear(until_ns)?;
            match message(&json)? {
                FromAgent::Answer(answered, value) if answered == number => {
                    self.unanswered = None;
                    // News that came in the same breath are not to be polled for.
                    self.take_heard()?;
                    return Ok(value);
                }
                other => self.take(other)?,
            }
        }
    }

    /// News are kept; an answer nobody waits for is a sign of life.
    fn take(&mut self, message: FromAgent) -> Result<(), Silence> {
        match message {
            FromAgent::Answer(..) => self.unanswered = None,
            FromAgent::Said(..) | FromAgent::Ended(..) => self.news.push_back(message),
            FromAgent::Welcome(_) => return Err(not_expected("a second welcome")),
            FromAgent::Refused(refusal) => return Err(not_expected(&refusal.why)),
        }
        Ok(())
    }

    /// Takes what poll(2) said is there.
    fn listen(&mut self) -> Result<(), Silence> {
        self.ear.listen()?;
        self.take_heard()
    }

    /// Takes what was heard already, perhaps while something was said.
    fn take_heard(&mut self) -> Result<(), Silence> {
        while let Some(json) = self.ear.heard()? {
            self.take(message(&json)?)?;
        }
        Ok(())
    }

    /// The same when nobody polled: whether there is anything after all.
    fn listen_at_once(&mut self) -> Result<(), Silence> {
        if self.ear.has_something() {
            return self.listen();
        }
        Err(Silence::TooLate)
    }

    /// Renews the lease without waiting for the answer.
    fn renew(&mut self) -> Result<(), Silence> {
        let until_ns = crate::now_ns() + self.sign_of_life_ns();
        self.last += 1;
        self.unanswered = Some((self.last, until_ns));
        let lease = Call::Lease(self.silent_ns.saturating_add(LEASE_MARGIN_NS));
        self.say(&FromOwner::Call(self.last, lease), until_ns)?;
        self.take_heard()
    }

    /// How long the answer to "are you there" may take, ns.
    fn sign_of_life_ns(&self) -> u64 {
        SIGN_OF_LIFE_NS.min(self.answer_ns)
    }

    fn lose(&mut self, silence: &Silence) {
        if self.lost.is_some() {
            return;
        }
        self.mouth = None;
        let silent_ns = crate::now_ns().saturating_sub(self.spoke_ns.max(self.ear.heard_ns()));
        let owes_answer = self.ear.heard_ns() < self.spoke_ns;
        let tenths_ns = (silent_ns + 50_000_000) / 100_000_000 * 100_000_000;
        let silent = format!("it did not answer for {}", powerband_record::format_duration(tenths_ns));
        let why = match silence {
            Silence::TooLate => silent,
            // An agent that was stopped is ended by its guardian.
            Silence::Ended if owes_answer && silent_ns >= LONG_SILENCE_NS => {
                self.way.ending(&format!("{silent}, and then the connection ended"))
            }
            Silence::Ended => self.way.ending("the connection ended"),
            other => other.to_string(),
        };
        self.way.end();
        self.lost = Some((why, false));
    }
}

fn not_expected(what: &str) -> Silence {
    Silence::Wire(powerband_machine::wire::WireError::NotOurs(what.into()))
}

impl Drop for Link {
    fn drop(&mut self) {
        // The end of its input lets the agent go; behind a serial line, which has none, a lease that is over does.
        if self.lost.is_none() {
            self.last += 1;
            let _ = self.say(&FromOwner::Call(self.last, Call::Lease(0)), crate::now_ns() + LAST_WORD_NS);
        }
        self.mouth = None;
        self.way.wait(PARTING_NS);
        self.way.end();
    }
}

impl Look for RemoteMachine {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Errno> {
        self.file(Call::List(folder.into()))
    }

    fn read(&mut self, path: &str) -> Result<String, Errno> {
        self.file(Call::Read(path.into()))
    }

    fn open(&mut self, path: &str) -> Result<Handle, Errno> {
        self.file(Call::Open(path.into()))
    }

    fn read_many(&mut self, handles: &[Handle], into: &mut Vec<Result<String, Errno>>) {
        let texts: Option<Vec<_>> = self.call(Call::ReadMany(handles.to_vec()));
        *into = texts.unwrap_or_default();
        into.resize(handles.len(), Err(Errno::ENOLINK));
    }

    fn close(&mut self, handle: Handle) {
        let _: Option<()> = self.call(Call::Close(handle));
    }

    fn last_change(&mut self, path: &str) -> Option<LastChange> {
        self.call(Call::LastChange(path.into())).unwrap_or_default()
    }
}

impl Change for RemoteMachine {
    fn act(&mut self, turn: &Turn) -> Result<Acted, LedgerError> {
        self.ledger(Call::Act(Box::new(turn.clone())))
    }

    fn rewrite(&mut self, entry: EntryId, text: &str) -> Result<Acted, LedgerError> {
        self.ledger(Call::Rewrite(entry, text.into()))
    }

    fn undo(&mut self, entry: EntryId, force: bool) -> Result<Undone, LedgerError> {
        self.ledger(Call::Undo(entry, force))
    }

    fn keep(&mut self, entries: &[EntryId]) -> Result<(), LedgerError> {
        self.ledger(Call::Keep(entries.to_vec()))
    }

    fn open_entries(&self) -> Vec<OpenEntry> {
        self.call(Call::OpenEntries).unwrap_or_default()
    }

    fn damage(&self) -> Vec<Damage> {
        self.call(Call::Damage).unwrap_or_default()
    }

    fn set_damage_aside(&mut self) -> Result<Vec<Damage>, LedgerError> {
        self.ledger(Call::SetDamageAside)
    }

    fn unguarded(&self) -> Option<String> {
        self.call(Call::Unguarded).flatten()
    }

    fn setter(&mut self) -> Option<&mut dyn Setter> {
        if self.welcome.sets { Some(self) } else { None }
    }
}

impl Setter for RemoteMachine {
    fn is_needed(&self, action: &Action) -> bool {
        self.call(Call::Needs(Box::new(action.clone()))).unwrap_or(false)
    }

    fn set(&mut self, asked: &Asked) -> Result<serde_json::Value, Refusal> {
        let lost = || Refusal { class: ErrorClass::Aborted, why: format!("{} is lost", self.identity.name) };
        self.call(Call::Set(Box::new(asked.clone()))).ok_or_else(lost)?
    }

    fn holds(&self, entry: EntryId) -> bool {
        is_theirs(entry)
    }
}

impl Run for RemoteMachine {
    fn spawn(&mut self, job: &Job) -> Result<ProcessId, SpawnError> {
        self.call::<Result<ProcessId, SpawnError>>(Call::Spawn(Box::new(job.clone()))).unwrap_or_else(|| {
            let what = format!("{} on {}", job.work.kind(), self.identity.name);
            Err(SpawnError::Refused { what, errno: Errno::ENOLINK })
        })
    }

    fn end(&mut self, process: ProcessId, force: bool) {
        let _: Option<()> = self.call(Call::End(process, force));
    }

    fn finished(&mut self, process: ProcessId) -> Option<Finished> {
        self.ended.remove(&process.0)
    }

    fn left_behind(&mut self, end: bool) -> LeftBehind {
        self.call(Call::LeftBehind(end)).unwrap_or_default()
    }
}

impl Watch for RemoteMachine {
    fn watch_writers(&mut self, places: &[String]) -> Result<(), Unwatched> {
        let answer: Option<Result<(), Unwatched>> = self.call(Call::WatchWriters(places.to_vec()));
        answer.unwrap_or_else(|| Err(Unwatched { why: format!("{} cannot be reached", self.identity.name) }))
    }

    fn take_writes(&mut self) -> Vec<Written> {
        self.call(Call::TakeWrites).unwrap_or_default()
    }
}

impl Member for RemoteMachine {
    fn machine(&mut self) -> &mut dyn Machine {
        self
    }

    fn watch<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        if self.link.borrow().lost.is_none() {
            fds.push(PollFd::new(&self.watched, PollFlags::IN));
        }
    }

    fn collect(&mut self, _now_ns: u64, ready: &[PollFlags], news: &mut Vec<MemberEvent>) {
        let link = self.link.get_mut();
        if link.lost.is_none()
            && ready.first().is_some_and(|flags| !flags.is_empty())
            && let Err(silence) = link.listen()
        {
            link.lose(&silence);
        }
        for told in link.news.drain(..) {
            match told {
                FromAgent::Said(process, value) => news.push(MemberEvent::Said(process, value)),
                FromAgent::Ended(process, finished) => {
                    self.ended.insert(process.0, *finished);
                    news.push(MemberEvent::Ended(process));
                }
                _ => {}
            }
        }
        if let Some((why, told @ false)) = &mut link.lost {
            *told = true;
            news.push(MemberEvent::Lost(why.clone()));
        }
    }

    fn next_due_ns(&self) -> Option<u64> {
        let link = self.link.borrow();
        match &link.lost {
            _ if !link.news.is_empty() => Some(0),
            Some((_, told)) => (!told).then_some(0),
            None => Some(link.unanswered.map_or(link.spoke_ns + link.silent_ns, |(_, until_ns)| until_ns)),
        }
    }

    fn tend(&mut self) {
        let link = self.link.get_mut();
        let (now_ns, life_ns) = (crate::now_ns(), link.sign_of_life_ns());
        if link.lost.is_some() {
            return;
        }
        let tended = match link.unanswered {
            // Part of a long message on a slow connection is a sign of life as well.
            Some((_, until_ns)) if until_ns <= now_ns && link.ear.heard_ns() + life_ns > now_ns => {
                link.unanswered = Some((link.last, link.ear.heard_ns() + life_ns));
                Ok(())
            }
            Some((_, until_ns)) if until_ns <= now_ns => Err(Silence::TooLate),
            None if link.spoke_ns + link.silent_ns <= now_ns => link.renew(),
            _ => Ok(()),
        };
        // An answer that came while we slept is still in the pipe: it counts.
        let tended = if tended == Err(Silence::TooLate) { link.listen_at_once() } else { tended };
        if let Err(silence) = tended {
            link.lose(&silence);
        }
    }

    fn hush(&mut self, for_ns: u64) {
        let silent_ns = for_ns.max(IDLE_SILENCE_NS);
        self.link.get_mut().silent_ns = silent_ns;
        let _: Option<()> = self.call(Call::Lease(silent_ns.saturating_add(LEASE_MARGIN_NS)));
    }

    fn lost(&self) -> Option<String> {
        self.link.borrow().lost.as_ref().map(|(why, _)| why.clone())
    }
}
