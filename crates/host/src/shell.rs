//! A machine behind a bare POSIX shell: nothing of ours is installed there, and what it takes is said in the shell's words.
//!
//! The ledger is kept there, next to a lock and the watchdog's orders; the design is told in `docs/design/shell.md`.
mod agent;
mod clock;
mod device;
mod ethtool;
mod hand;
mod handles;
mod invocation;
mod jobs;
mod link;
mod quote;
mod store;
mod watched;

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use powerband_machine::wire::Purpose;
use powerband_machine::{Change as _, EntryOrigin, Hold, Identity, Ledger, Ledgered, Machine};
use powerband_record::{ErrorClass, quoted_line};
use rustix::event::{PollFd, PollFlags};

pub use self::agent::{Copied, ShellAgent};
use self::device::ShellDevice;
use self::hand::Hand;
use self::handles::Handles;
use self::jobs::Jobs;
use self::link::Link;
use self::quote::assignment;
use self::store::ShellLedger;
use crate::member::{Member, MemberEvent};
use crate::remote::RemoteError;
use crate::talk::Stoppable;

/// What the shell there learns of us.
const PRELUDE: &str = include_str!("shell/far.sh");

/// A machine behind a shell. Dropping it lets go of what is there; what is still held its watchdog restores.
pub struct ShellMachine {
    machine: Ledgered<ShellDevice>,
    /// The end the shell is heard at, to be polled next to the borrowed link.
    watched: std::os::fd::OwnedFd,
    folder: String,
    held: Option<String>,
}

/// What a shell says of its machine.
struct Facts {
    system: String,
    uid: String,
    pid: u32,
    boot_id: String,
    machine: Option<String>,
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
        let unreachable = |why| RemoteError::unreachable(name, why, format!("echo uname | {}", quoted_line(words)));
        let (program, arguments) = words.split_first().ok_or_else(|| unreachable("there is no command".into()))?;
        let mut link = Link::start(program, arguments, answer_ns).map_err(RemoteError::not_started(name, program))?;
        link.introduce(&lessons()).map_err(unreachable)?;
        let watched = link.fd().try_clone().map_err(|error| unreachable(error.to_string()))?;
        let hand = Hand(Rc::new(RefCell::new(link)));
        let lost = || unreachable(hand.lost().unwrap_or_else(|| "it does not say what it is".into()));
        let facts = facts(&hand).ok_or_else(lost)?;
        let owns = !purpose.only_looks();
        let settled = if owns { take(&hand, doing) } else { look(&hand) };
        let (status, folder, holder) = settled.ok_or_else(lost)?;
        let refused = |why: String| RemoteError::Refused { name: name.into(), class: ErrorClass::Aborted, why };
        match status {
            1 if owns => {
                let why = if holder.is_empty() { "another powerband holds it".to_owned() } else { holder };
                return Err(refused(why));
            }
            3 if owns => {
                let why = "there is no folder there for the ledger; set POWERBAND_STATE_DIR there to one of your own, in which nobody \
                           else may write";
                return Err(refused(why.into()));
            }
            4.. => return Err(refused(format!("{folder} cannot be written there"))),
            _ => {}
        }
        let store = ShellLedger::new(hand.clone(), &folder, name);
        let ledger = Ledger::load(Box::new(store), &facts.boot_id).map_err(|error| refused(error.to_string()))?;
        let ledger = ledger.in_network(facts.net_ns).on_machine(facts.machine);
        let device = ShellDevice {
            identity: Identity {
                name: name.into(),
                system: facts.system,
                boot_id: facts.boot_id,
                address: String::new(),
                privileged: facts.uid == "0",
                owner: facts.pid,
            },
            hand,
            owns,
            handles: Handles::default(),
            jobs: Jobs::default(),
            refusal_words: None,
        };
        let held = Some(holder).filter(|holder| !owns && !holder.is_empty());
        Ok(ShellMachine { machine: Ledgered::new(device, ledger), watched, folder, held })
    }

    /// Where the other machine of a rig reaches it.
    #[must_use]
    pub fn reached_at(mut self, address: &str) -> Self {
        self.machine.device_mut().identity.address = address.into();
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
}

/// The functions, without what is said about them to people.
fn lessons() -> String {
    let lines = PRELUDE.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.fold(String::new(), |text, line| text + line + "\n")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

fn facts(hand: &Hand) -> Option<Facts> {
    let script = "pb_uid=$(id -u); pb_boot=; { read -r pb_boot </proc/sys/kernel/random/boot_id; }\npb_self\n\
                  pb_setsid=; command -v setsid && command -v sh && pb_setsid=setsid\n\
                  for pb_f in \"$(uname -n)\" \"$(cat /etc/machine-id)\" \"$(uname -r)\" \"$pb_uid\" \"$pb_me\" \
                  \"$pb_boot\" \"$(ls -l /proc/self/ns/net)\"; do pb_t \"$pb_f\"; done";
    let (_, [name, identity, system, uid, pid, boot_id, net_ns]) = hand.call(&[], script)?;
    let net_ns = text(&net_ns);
    let net_ns = net_ns.rsplit_once("net:[").and_then(|(_, rest)| rest.strip_suffix(']')?.parse().ok());
    Some(Facts {
        system: text(&system),
        uid: text(&uid),
        pid: text(&pid).parse().ok()?,
        boot_id: text(&boot_id),
        machine: EntryOrigin::machine_name(&text(&name), &text(&identity)),
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

impl Deref for ShellMachine {
    type Target = Ledgered<ShellDevice>;

    fn deref(&self) -> &Self::Target {
        &self.machine
    }
}

impl DerefMut for ShellMachine {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.machine
    }
}

impl Member for ShellMachine {
    fn machine(&mut self) -> &mut dyn Machine {
        &mut self.machine
    }

    fn watch<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        if self.device().hand.lost().is_none() {
            fds.push(PollFd::new(&self.watched, PollFlags::IN));
        }
    }

    fn collect(&mut self, now_ns: u64, ready: &[PollFlags], news: &mut Vec<MemberEvent>) {
        let ShellDevice { hand, jobs, .. } = self.machine.device_mut();
        {
            let mut link = hand.0.borrow_mut();
            if link.lost.is_none()
                && ready.first().is_some_and(|flags| !flags.is_empty())
                && let Err(silence) = link.listen()
            {
                link.lose(&silence);
            }
        }
        loop {
            let next = hand.0.borrow_mut().ended.pop_front();
            let Some(ended) = next else { break };
            news.extend(jobs.conclude(hand, &ended).map(MemberEvent::Ended));
        }
        news.extend(jobs.over(now_ns).into_iter().map(MemberEvent::Ended));
        if let Some((why, told @ false)) = &mut hand.0.borrow_mut().lost {
            *told = true;
            news.push(MemberEvent::Lost(why.clone()));
        }
    }

    fn next_due_ns(&self) -> Option<u64> {
        let device = self.device();
        let link = device.hand.0.borrow();
        let due = match &link.lost {
            _ if !link.ended.is_empty() => Some(0),
            Some((_, told)) => (!told).then_some(0),
            None => Some(link.due_ns()),
        };
        due.into_iter().chain(device.jobs.due_ns()).min()
    }

    fn tend(&mut self) {
        let mut link = self.device().hand.0.borrow_mut();
        if link.lost.is_none()
            && let Err(silence) = link.tend()
        {
            link.lose(&silence);
        }
    }

    fn hush(&mut self, for_ns: u64) {
        let mut link = self.device().hand.0.borrow_mut();
        if link.lost.is_none()
            && let Err(silence) = link.hush(for_ns)
        {
            link.lose(&silence);
        }
    }

    fn lost(&self) -> Option<String> {
        self.device().hand.lost()
    }

    fn end_loads(&mut self) {
        let ShellDevice { hand, jobs, .. } = self.machine.device_mut();
        jobs.abandon(hand);
    }
}

impl Drop for ShellMachine {
    fn drop(&mut self) {
        self.end_loads();
        let held = self.open_entries().iter().any(|entry| entry.turn.hold == Hold::Held);
        let ShellDevice { hand, owns, .. } = self.device();
        // With something held we just go, and the watchdog does the rest.
        if *owns && !held {
            let _ = hand.turn::<0>(&[], "pb_leave");
        }
        if hand.lost().is_none() {
            hand.0.borrow_mut().part();
        }
    }
}
