//! The agent: this machine in the service of a command at the other end of a stream. It ends with the stream, or when its
//! owner is silent for longer than it said it would be.
use std::os::fd::{AsFd, OwnedFd};

use powerband_machine::wire::{
    Call, FromAgent, FromOwner, Hello, IDLE_SILENCE_NS, LEASE_MARGIN_NS, Refusal, WIRE_VERSION, Welcome, first_message,
    message,
};
use powerband_machine::{Errno, Machine, Wake, World};
use powerband_record::{ErrorClass, Hint, Side};
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use crate::talk::{Ear, Mouth, Silence};
use crate::world::{Heard, HostWorld};

/// How long the first word may take to come, ns.
const FIRST_WORD_NS: u64 = 30_000_000_000;
/// At most this much of each output stream of a load is kept where the job has no limit, bytes.
const OUTPUT_BYTES: usize = 1 << 20;
/// The longest lease anybody may ask for, ns: a day.
const MAX_LEASE_NS: u64 = 86_400_000_000_000;

/// Why an agent could not begin.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AgentError {
    /// Standard input and output cannot be taken.
    #[error("cannot take standard input and output: {0}")]
    NoStreams(Errno),
    /// Nobody there speaks the protocol.
    #[error("an agent speaks to another powerband through its standard input and output, and there is none: {0}")]
    NoOwner(String),
    /// The file of this program is not the one that was copied here.
    #[error("{0} is not the agent that was copied here; try again")]
    Changed(String),
}

impl AgentError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        matches!(self, AgentError::NoOwner(_)).then_some(Hint::NameAgent)
    }
}

/// Why an agent ends.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Parting {
    /// Its owner has gone, well or not.
    #[error("the other end has gone")]
    Ended,
    /// Its owner was silent for too long.
    #[error("the other end was silent for too long; everything was restored")]
    Silent,
    /// It was asked to, by a signal.
    #[error("stopped by a signal; everything was restored")]
    Stopped,
    /// Its owner says what makes no sense.
    #[error("{0}")]
    Nonsense(String),
}

/// What was opened for an owner.
pub struct Opened {
    /// The machine, near.
    pub world: HostWorld,
    /// Folder of its ledger.
    pub folder: String,
    /// Who holds it meanwhile.
    pub held: Option<String>,
}

/// An agent at its streams.
pub struct Agent {
    ear: Ear,
    mouth: Mouth,
    hello: Hello,
    /// Number of the last call: they rise, so that none is done twice.
    last: u64,
}

/// How calls are answered; `None` for one that nobody may make.
pub type Answers<'a> = dyn FnMut(&mut dyn Machine, Call) -> Option<Value> + 'a;

impl Agent {
    /// Takes standard input and output, so that nothing this process starts can reach them, and waits for an owner.
    ///
    /// # Errors
    /// [`AgentError`].
    pub fn at_stdio() -> Result<Agent, AgentError> {
        let (input, output) = take_streams().map_err(|error| AgentError::NoStreams(crate::errno(error)))?;
        Agent::at(Ear::new(input), Mouth::new(output))
    }

    /// The same at a socket that is standard input and output, for somebody who has nothing longer than `bytes` to say.
    ///
    /// # Errors
    /// [`AgentError`].
    pub fn at_socket(bytes: usize) -> Result<Agent, AgentError> {
        let (input, output) = take_streams().map_err(|error| AgentError::NoStreams(crate::errno(error)))?;
        Agent::at(Ear::no_longer_than(input, bytes), Mouth::new(output))
    }

    fn at(mut ear: Ear, mouth: Mouth) -> Result<Agent, AgentError> {
        let until_ns = crate::now_ns() + FIRST_WORD_NS;
        let first = ear.hear(until_ns).map_err(|silence| AgentError::NoOwner(silence.to_string()))?;
        match first_message(&first) {
            Ok(FromOwner::Hello(hello)) => Ok(Agent { ear, mouth, hello, last: 0 }),
            told => {
                let why = told.err().map_or_else(|| "the first word is no hello".into(), |error| error.to_string());
                let refusal = Refusal { class: ErrorClass::Aborted, why: why.clone() };
                let _ = mouth.say(&FromAgent::Refused(refusal), until_ns);
                Err(AgentError::NoOwner(why))
            }
        }
    }

    /// What its owner wants.
    #[must_use]
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Says no, and ends.
    pub fn refuse(self, refusal: Refusal) {
        // An owner that is gone needs no reason.
        let _ = self.mouth.say(&FromAgent::Refused(refusal), crate::now_ns() + LEASE_MARGIN_NS);
    }

    /// Serves until the owner is gone. Loads and what is held are left to the caller.
    pub fn serve(mut self, opened: &mut Opened, powerband: &str) -> Parting {
        self.serve_with(opened, powerband, &mut answer)
    }

    /// The same with other answers than the machine's own. The other end sees the connection's end when this agent is dropped.
    pub fn serve_with(&mut self, opened: &mut Opened, powerband: &str, answers: &mut Answers<'_>) -> Parting {
        let Some(identity) = opened.world.machine(Side::Near).map(|machine| machine.identity().clone()) else {
            return Parting::Ended;
        };
        let mut lease_ns = IDLE_SILENCE_NS + LEASE_MARGIN_NS;
        let mut until_ns = crate::now_ns() + lease_ns;
        let (peer_address, own_address) = ssh_addresses().unzip();
        let welcome = Welcome {
            wire: WIRE_VERSION,
            powerband: powerband.into(),
            identity: powerband_machine::Identity { address: own_address.unwrap_or_default(), ..identity },
            peer_address,
            folder: opened.folder.clone(),
            held: opened.held.clone(),
            sets: opened.world.machine(Side::Near).is_some_and(|machine| machine.setter().is_some()),
        };
        let mut said = self.say(&FromAgent::Welcome(Box::new(welcome)), until_ns);
        loop {
            if let Err(silence) = said {
                return if silence == Silence::TooLate { Parting::Silent } else { Parting::Ended };
            }
            let heard_ns = self.ear.heard_ns();
            let came = match opened.world.wait_or_input(self.ear.fd().as_fd(), until_ns) {
                Heard::Wake(Wake::Deadline) => return Parting::Silent,
                Heard::Wake(Wake::Stop(_)) => return Parting::Stopped,
                Heard::Wake(wake) => self.tell(&mut opened.world, wake, until_ns),
                Heard::Input => self.ear.listen(),
            };
            // Calls are also heard while something is said, and are not to be waited for then.
            said = came.and_then(|()| self.take_calls(&mut opened.world, &mut lease_ns, answers));
            if let Err(Silence::Wire(error)) = &said {
                return Parting::Nonsense(error.to_string());
            }
            if self.ear.heard_ns() != heard_ns {
                until_ns = crate::now_ns() + lease_ns;
            }
        }
    }

    /// Hears meanwhile: its owner may be in the middle of something long.
    fn say(&mut self, message: &FromAgent, until_ns: u64) -> Result<(), Silence> {
        self.mouth.say_hearing(message, until_ns, &mut self.ear)
    }

    /// News of the machine.
    fn tell(&mut self, world: &mut HostWorld, wake: Wake, until_ns: u64) -> Result<(), Silence> {
        let news = match wake {
            Wake::Said(_, process, value) => FromAgent::Said(process, value),
            Wake::Ended(side, process) => {
                let finished = world.machine(side).and_then(|machine| machine.finished(process));
                let Some(finished) = finished else { return Ok(()) };
                FromAgent::Ended(process, Box::new(finished))
            }
            _ => return Ok(()),
        };
        self.say(&news, until_ns)
    }

    /// Does what has come, in order.
    fn take_calls(
        &mut self,
        world: &mut HostWorld,
        lease_ns: &mut u64,
        answers: &mut Answers<'_>,
    ) -> Result<(), Silence> {
        while let Some(json) = self.ear.heard()? {
            let FromOwner::Call(number, call) = message(&json)? else {
                return Err(nonsense("a second hello"));
            };
            if number <= self.last {
                return Err(nonsense("a call that was made before"));
            }
            self.last = number;
            if call.turns() && self.hello.purpose.only_looks() {
                return Err(nonsense("a call that turns, by somebody who said to be looking"));
            }
            let answer = match call {
                // Its owner lets go, where that does not end our input.
                Call::Lease(0) => return Err(Silence::Ended),
                Call::Lease(for_ns) => {
                    *lease_ns = for_ns.min(MAX_LEASE_NS);
                    Value::Null
                }
                call => match world.machine(Side::Near) {
                    Some(machine) => {
                        answers(machine, call).ok_or_else(|| nonsense("a call that is not answered here"))?
                    }
                    None => Value::Null,
                },
            };
            self.say(&FromAgent::Answer(number, answer), crate::now_ns() + *lease_ns)?;
        }
        Ok(())
    }
}

fn nonsense(what: &str) -> Silence {
    Silence::Wire(powerband_machine::wire::WireError::NotOurs(what.into()))
}

/// Does one call and answers as the machine did.
fn answer(machine: &mut dyn Machine, call: Call) -> Option<Value> {
    Some(match call {
        Call::List(folder) => value(machine.list(&folder)),
        Call::Read(path) => value(machine.read(&path)),
        Call::Open(path) => value(machine.open(&path)),
        Call::ReadMany(handles) => {
            let mut texts = Vec::new();
            machine.read_many(&handles, &mut texts);
            value(texts)
        }
        Call::Close(handle) => {
            machine.close(handle);
            Value::Null
        }
        Call::Act(turn) => value(machine.act(&turn)),
        Call::Rewrite(entry, text) => value(machine.rewrite(entry, &text)),
        Call::Undo(entry, force) => value(machine.undo(entry, force)),
        Call::Keep(entries) => value(machine.keep(&entries)),
        Call::OpenEntries => value(machine.open_entries()),
        Call::Damage => value(machine.damage()),
        Call::SetDamageAside => value(machine.set_damage_aside()),
        Call::LastChange(path) => value(machine.last_change(&path)),
        Call::WatchWriters(places) => value(machine.watch_writers(&places)),
        Call::TakeWrites => value(machine.take_writes()),
        Call::Spawn(mut job) => {
            job.output_limit = Some(job.output_limit.map_or(OUTPUT_BYTES, |limit| limit.min(OUTPUT_BYTES)));
            value(machine.spawn(&job))
        }
        Call::End(process, force) => {
            machine.end(process, force);
            Value::Null
        }
        Call::Unguarded => value(machine.unguarded()),
        Call::LeftBehind(end) => value(machine.left_behind(end)),
        Call::Lease(_) => Value::Null,
        Call::Needs(action) => value(machine.setter().is_some_and(|setter| setter.is_needed(&action))),
        Call::Set(asked) => value(machine.setter()?.set(&asked)),
        Call::Allowed => return None,
    })
}

/// Nothing that a machine answers cannot be written as JSON; if it could not, the owner finds nonsense.
fn value(answer: impl Serialize) -> Value {
    serde_json::to_value(answer).unwrap_or_default()
}

/// Our own copies of standard input and output; what stays there under their numbers is nothing, and standard error.
fn take_streams() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let input = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let output = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
    rustix::stdio::dup2_stdin(rustix::fs::open("/dev/null", flags, rustix::fs::Mode::empty())?)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok((input, output))
}

/// Addresses of the other end and of ours, as sshd tells them (`CLIENT PORT SERVER PORT`, sshd(8)).
fn ssh_addresses() -> Option<(String, String)> {
    let told = crate::surroundings::text_variable("SSH_CONNECTION")?;
    let words: Vec<&str> = told.split_whitespace().collect();
    let address = |text: &str| text.parse::<std::net::IpAddr>().ok().map(|address| address.to_string());
    Some((address(words.first()?)?, address(words.get(2)?)?))
}
