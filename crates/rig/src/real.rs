//! Rigs of real machines: this one and those behind an agent or a shell, each with its own ledger, lock and guardian; and
//! recorded ones, which are only looked at.
use std::path::Path;

use powerband_host::{
    AccessMachine, Copied, FileLedger, HostMachine, HostWorld, LinkOptions, LocalMachine, Lock, RecordedMachine,
    RemoteMachine, ShellAgent, ShellMachine, Ssh, write_remote_note,
};
use powerband_machine::Look as _;
use powerband_machine::wire::Purpose;
use powerband_machine::wire::{Hello, WIRE_VERSION};
use powerband_record::Side;

use crate::machine_name::split_line;
use crate::rig::{lock_all, state_folder};
use crate::{LedgerLocation, MachineName, Names, Notes, Opening, RemoteLedger, Rig, RigError, access, leftovers};

/// When how far a copy is is noted for the first time, and then how often, ns.
const FIRST_NOTE_NS: u64 = 3_000_000_000;
const NOTES_NS: u64 = 30_000_000_000;

/// Opens a rig none of whose machines is simulated.
pub(crate) fn open(names: &Names, opening: &Opening<'_>, notes: &mut dyn Notes) -> Result<Rig, RigError> {
    let unknown = |name: &str| RigError::UnknownMachine(name.to_owned());
    let near = MachineName::of(&names.near).ok_or_else(|| unknown(&names.near))?;
    let far = names.far.as_deref().map(|far| MachineName::of(far).ok_or_else(|| unknown(far))).transpose()?;
    let mut members = Members {
        opening,
        link: names.link,
        ledgers: Vec::new(),
        locks: Vec::new(),
        here: Vec::new(),
        noted: Vec::new(),
    };
    if !names.nodes.is_empty() {
        let world = list(&mut members, names, notes)?;
        return opened(world, members, notes);
    }
    let mut near = members.machine(Side::Near, &names.near, &near, notes)?;
    let mut far = match names.far.as_deref().zip(far.as_ref()) {
        Some((name, place)) => Some(members.machine(Side::Far, name, place, notes)?),
        None => None,
    };
    introduce(&mut near, far.as_mut());
    let mut world = HostWorld::new(near.into_machine()).map_err(RigError::World)?;
    if let Some(far) = far {
        world = world.with_far(far.into_machine());
    }
    opened(world, members, notes)
}

/// The machines of a list, in their order.
fn list(members: &mut Members<'_>, names: &Names, notes: &mut dyn Notes) -> Result<HostWorld, RigError> {
    let mut machines = Vec::new();
    for (name, machine) in &names.nodes {
        let place = MachineName::of(machine).ok_or_else(|| RigError::UnknownMachine(machine.clone()))?;
        let mut member = members.machine(Side::Node(*name), machine, &place, notes)?;
        // What runs on one of them alone reaches itself.
        introduce(&mut member, None);
        machines.push((*name, member.into_machine()));
    }
    let mut machines = machines.into_iter();
    let first = machines.next().ok_or(RigError::Gone)?;
    HostWorld::of_nodes(first, machines.collect()).map_err(RigError::World)
}

/// The rig, after what an interrupted owner left on it is restored.
fn opened(mut world: HostWorld, members: Members<'_>, notes: &mut dyn Notes) -> Result<Rig, RigError> {
    if matches!(members.opening.purpose, Purpose::Turn | Purpose::Measure) {
        leftovers::clear(&mut world, &members.here, notes)?;
    }
    Ok(Rig { world: Box::new(world), ledgers: members.ledgers, locks: members.locks, noted: members.noted })
}

/// What there is so far.
struct Members<'a> {
    opening: &'a Opening<'a>,
    /// How those behind a connection are reached.
    link: LinkOptions,
    ledgers: Vec<LedgerLocation>,
    locks: Vec<Lock>,
    /// Those of `ledgers` that are ours to clear; an agent clears its own.
    here: Vec<LedgerLocation>,
    noted: Vec<(Side, String)>,
}

/// A machine before the rig is complete.
enum Member {
    Local(Box<LocalMachine>, Option<String>),
    /// This one, for a user whose settings a service makes.
    Access(Box<AccessMachine>, Option<String>),
    Remote(Box<RemoteMachine>, Option<String>),
    Shell(Box<ShellMachine>, Option<String>),
    Recorded(Box<RecordedMachine>),
}

impl Members<'_> {
    fn machine(
        &mut self,
        side: Side,
        name: &str,
        place: &MachineName<'_>,
        notes: &mut dyn Notes,
    ) -> Result<Member, RigError> {
        let (remote, address) = match *place {
            MachineName::Local => return self.local(side),
            MachineName::Simulated(_) => return Err(RigError::UnknownMachine(name.to_owned())),
            MachineName::Table(_) => return Err(RigError::Table(name.to_owned())),
            MachineName::Shell { address, command } => return self.shell(side, name, address, command),
            MachineName::Recorded(folder) => return self.recorded(name, folder),
            MachineName::Behind { address, command, copied } => {
                let (words, answer_ns) = (split_line(command).map_err(RigError::Words)?, self.link.answer_ns);
                let remote = match copied {
                    true => {
                        ShellAgent { name, words: &words, answer_ns }.connect(self.hello(), &mut progress(name, notes))
                    }
                    false => RemoteMachine::connect(name, &words, self.hello(), answer_ns),
                };
                (remote, address)
            }
            MachineName::Ssh { host, .. } if host.contains(',') => return Err(several_hosts(name, host)),
            MachineName::Ssh { address, host } => {
                let ssh = Ssh { name: name.into(), host: host.into(), link: self.link };
                (ssh.connect(self.hello()), address)
            }
        };
        let remote = remote?;
        let welcome = remote.welcome();
        let (folder, held) = (welcome.folder.clone().into(), welcome.held.clone());
        let remote_ledger = RemoteLedger { machine: name.into(), held };
        self.ledgers.push(LedgerLocation { side, folder, remote: Some(remote_ledger) });
        self.note(side, name);
        Ok(Member::Remote(Box::new(remote), address.map(str::to_owned)))
    }

    /// Notes here that something may be changed there.
    fn note(&mut self, side: Side, name: &str) {
        if !self.opening.purpose.only_looks()
            && let Some(lock) = write_remote_note(name, self.opening.doing)
        {
            self.noted.push((side, name.to_owned()));
            self.locks.push(lock);
        }
    }

    /// Its ledger is read from here, so it is ours to clear.
    fn shell(&mut self, side: Side, name: &str, address: Option<&str>, command: &str) -> Result<Member, RigError> {
        let words = split_line(command).map_err(RigError::Words)?;
        let shell = ShellMachine::connect(name, &words, (self.opening.purpose, &self.holder()), self.link.answer_ns)?;
        let remote = RemoteLedger { machine: name.into(), held: shell.held().map(str::to_owned) };
        let ledger = LedgerLocation { side, folder: shell.folder().into(), remote: Some(remote) };
        self.ledgers.push(ledger.clone());
        self.here.push(ledger);
        self.note(side, name);
        Ok(Member::Shell(Box::new(shell), address.map(str::to_owned)))
    }

    /// One that has no ledger, as nothing is ever changed on it.
    fn recorded(&self, name: &str, folder: &str) -> Result<Member, RigError> {
        if !self.opening.purpose.only_looks() {
            return Err(RigError::Recorded(name.to_owned()));
        }
        // The folder is the caller's to name, and the caller's to read.
        let folder = Path::new(folder);
        let machine = powerband_host::with_rights_for(folder, || RecordedMachine::open(name, folder))?;
        Ok(Member::Recorded(Box::new(machine)))
    }

    fn local(&mut self, side: Side) -> Result<Member, RigError> {
        // A caller that only looks needs no place of its own; a ledger that is not there is an empty one.
        let looks = self.opening.purpose.only_looks();
        let folder = if looks { powerband_host::state_folder().unwrap_or_default() } else { state_folder()? };
        let ledger = LedgerLocation::here(side, folder.clone());
        if !looks {
            self.locks.extend(lock_all(std::slice::from_ref(&ledger), self.opening)?);
        }
        self.ledgers.push(ledger.clone());
        self.here.push(ledger);
        let machine = local_machine(&folder, self.opening.purpose)?;
        match powerband_host::service_socket().filter(|_| !looks) {
            Some(socket) => {
                let hello = access::hello(Purpose::Measure, self.opening.doing);
                Ok(Member::Access(Box::new(AccessMachine::new(machine, socket, hello)), None))
            }
            None => Ok(Member::Local(Box::new(machine), None)),
        }
    }

    /// What we say to an agent.
    fn hello(&self) -> Hello {
        Hello {
            wire: WIRE_VERSION,
            powerband: env!("CARGO_PKG_VERSION").into(),
            purpose: self.opening.purpose,
            doing: self.opening.doing.to_owned(),
            owner: powerband_host::own_place(),
        }
    }

    /// What stands in the lock behind a shell, for anyone who finds it.
    fn holder(&self) -> String {
        let doing: String = powerband_host::shortened(self.opening.doing)
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let (pid, host) = (powerband_host::this_process().pid, powerband_host::hostname());
        format!("powerband {pid} on {host} ({doing}) {}", powerband_host::held_since(powerband_host::unix_time_s()))
    }
}

/// This machine with its ledger in `folder`, guarded where something is changed.
pub(crate) fn local_machine(folder: &Path, purpose: Purpose) -> Result<LocalMachine, RigError> {
    let machine = LocalMachine::new(FileLedger::new(folder))?;
    Ok(match purpose {
        Purpose::Rehearse => machine.rehearsing(),
        Purpose::Look => machine,
        _ => machine.guarded(),
    })
}

impl Member {
    /// Where the other one reaches it, as far as it is known by itself.
    fn address(&self) -> Option<String> {
        match self {
            Member::Local(_, address) | Member::Access(_, address) => address.clone(),
            Member::Recorded(_) => None,
            Member::Remote(remote, typed) => {
                let told = Some(remote.identity().address.clone()).filter(|told| !told.is_empty());
                typed.clone().or(told)
            }
            Member::Shell(_, typed) => typed.clone(),
        }
    }

    /// Where this one sees the machine we run on.
    fn peer(&self) -> Option<String> {
        match self {
            Member::Local(..) | Member::Access(..) | Member::Shell(..) | Member::Recorded(_) => None,
            Member::Remote(remote, _) => remote.welcome().peer_address.clone(),
        }
    }

    fn set_address(&mut self, found: String) {
        match self {
            Member::Local(_, address)
            | Member::Access(_, address)
            | Member::Remote(_, address)
            | Member::Shell(_, address) => *address = Some(found),
            Member::Recorded(_) => {}
        }
    }

    fn into_machine(self) -> HostMachine {
        let address = self.address().unwrap_or_default();
        match self {
            Member::Recorded(machine) => (*machine).into(),
            Member::Local(machine, _) => machine.reached_at(&address).into(),
            Member::Access(machine, _) => machine.reached_at(&address).into(),
            Member::Remote(machine, _) => machine.reached_at(&address).into(),
            Member::Shell(machine, _) => machine.reached_at(&address).into(),
        }
    }
}

/// Tells each where the other reaches it: as named, as ssh knows it, or by the way the kernel would take. One that is
/// alone has its loopback.
fn introduce(near: &mut Member, far: Option<&mut Member>) {
    let Some(far) = far else { return near.set_address("127.0.0.1".into()) };
    let way =
        |other: &Member| other.address().as_deref().and_then(powerband_host::address_towards).or_else(|| other.peer());
    if let Some(found) = near.address().or_else(|| way(far)) {
        near.set_address(found);
    }
    if let Some(found) = far.address().or_else(|| way(near)) {
        far.set_address(found);
    }
}

/// Notes how far the copy of an agent is, where that takes long: a serial line takes minutes.
fn progress(machine: &str, notes: &mut dyn Notes) -> impl FnMut(Copied) {
    let mut next_ns = FIRST_NOTE_NS;
    move |Copied { sent, all, took_ns }| {
        if took_ns < next_ns || sent == all {
            return;
        }
        next_ns = took_ns + NOTES_NS;
        let left_s = took_ns as f64 / 1e9 * (all - sent) as f64 / sent as f64;
        let left = powerband_record::format_duration((left_s.ceil() * 1e9) as u64);
        let percent = 100 * sent / all;
        notes.note(
            format!("copying the agent to {machine}: {percent} % of {} KB, about {left} left", all / 1000).into(),
        );
    }
}

/// Several hosts in one name.
fn several_hosts(name: &str, host: &str) -> RigError {
    let mut hosts = host.split(',').map(|one| one.trim().trim_start_matches("ssh:").to_owned());
    let (near, far) = (hosts.next().unwrap_or_default(), hosts.next().unwrap_or_default());
    RigError::SeveralHosts { name: name.to_owned(), near, far }
}
