//! Rigs of real machines: this one and those behind an agent or a shell, each with its own ledger, lock and guardian; and
//! recorded ones, which are only looked at.
use std::path::Path;

use powerband_host::{
    FileLedger, HostMachine, HostWorld, LocalMachine, Lock, RecordedMachine, RemoteError, RemoteMachine, ShellMachine,
    Ssh,
};
use powerband_load::{Load, Rig as Ends};
use powerband_machine::wire::{Hello, WIRE_VERSION};
use powerband_machine::{Look, World};
use powerband_record::{Side, Work};

use super::place::{Place, words};
use super::{Names, Purpose, Rig, ledger_failure, lock_all, several_hosts, state_folder, unknown_machine};
use crate::away::{self, Noted};
use crate::exit::{Exit, Failure, usage};
use crate::left::{self, Kept};

/// Opens a rig none of whose machines is simulated.
pub(super) fn open(names: &Names, purpose: Purpose) -> Result<Rig, Failure> {
    let near = Place::of(&names.near).ok_or_else(|| unknown_machine(&names.near))?;
    let far = names.far.as_deref().map(|far| Place::of(far).ok_or_else(|| unknown_machine(far))).transpose()?;
    let answer_ns = names.answer_ns;
    let mut opening =
        Opening { purpose, answer_ns, kept: Vec::new(), locks: Vec::new(), here: Vec::new(), noted: Vec::new() };
    let mut near = opening.machine(Side::Near, &names.near, &near)?;
    let mut far = match names.far.as_deref().zip(far.as_ref()) {
        Some((name, place)) => Some(opening.machine(Side::Far, name, place)?),
        None => None,
    };
    introduce(&mut near, far.as_mut());
    let mut world = HostWorld::new(near.into_machine()).map_err(|errno| Failure::new(Exit::CannotGoOn, errno))?;
    if let Some(far) = far {
        world = world.with_far(far.into_machine());
    }
    if matches!(purpose, Purpose::Turn | Purpose::Measure) {
        left::clear(&mut world, &opening.here)?;
    }
    Ok(Rig { world: Box::new(world), kept: opening.kept, locks: opening.locks, noted: opening.noted })
}

/// What there is so far.
struct Opening {
    purpose: Purpose,
    /// How long each answer of one that is reached over a connection may take, ns.
    answer_ns: u64,
    kept: Vec<Kept>,
    locks: Vec<Lock>,
    /// Those of `kept` that are ours to clear; an agent clears its own.
    here: Vec<Kept>,
    noted: Vec<(Side, Noted)>,
}

/// A machine before the rig is complete.
enum Member {
    Local(Box<LocalMachine>, Option<String>),
    Remote(Box<RemoteMachine>, Option<String>),
    Shell(Box<ShellMachine>, Option<String>),
    Recorded(Box<RecordedMachine>),
}

impl Opening {
    fn machine(&mut self, side: Side, name: &str, place: &Place<'_>) -> Result<Member, Failure> {
        let (remote, address) = match *place {
            Place::Local => return self.local(side),
            Place::Simulated(_) => return Err(unknown_machine(name)),
            Place::Table(_) => return Err(no_rig(name)),
            Place::Shell { address, command } => return self.shell(side, name, address, command),
            Place::Recorded(folder) => return self.recorded(name, folder),
            Place::Behind { address, command } => {
                let words = words(command).map_err(usage)?;
                (RemoteMachine::connect(name, &words, hello(self.purpose), self.answer_ns), address)
            }
            Place::Ssh { host, .. } if host.contains(',') => return Err(several_hosts(name, host)),
            Place::Ssh { address, host } => {
                let ssh = Ssh { name: name.into(), host: host.into(), answer_ns: self.answer_ns };
                (ssh.connect(hello(self.purpose)), address)
            }
        };
        let remote = remote.map_err(remote_failure)?;
        let welcome = remote.welcome();
        let (folder, held) = (welcome.folder.clone().into(), welcome.held.clone());
        self.kept.push(Kept { side, folder, away: Some(left::Away { machine: name.into(), held }) });
        self.note(side, name);
        Ok(Member::Remote(Box::new(remote), address.map(str::to_owned)))
    }

    /// Notes here that something may be turned there.
    fn note(&mut self, side: Side, name: &str) {
        if !self.purpose.only_looks()
            && let Some((noted, lock)) = away::note(name)
        {
            self.noted.push((side, noted));
            self.locks.push(lock);
        }
    }

    /// Its ledger is read from here, so it is ours to clear.
    fn shell(&mut self, side: Side, name: &str, address: Option<&str>, command: &str) -> Result<Member, Failure> {
        let words = words(command).map_err(usage)?;
        let shell =
            ShellMachine::connect(name, &words, (self.purpose, &holder()), self.answer_ns).map_err(remote_failure)?;
        let away = left::Away { machine: name.into(), held: shell.held().map(str::to_owned) };
        let kept = Kept { side, folder: shell.folder().into(), away: Some(away) };
        self.kept.push(kept.clone());
        self.here.push(kept);
        self.note(side, name);
        Ok(Member::Shell(Box::new(shell), address.map(str::to_owned)))
    }

    /// One that has no ledger, as nothing is ever turned on it.
    fn recorded(&self, name: &str, folder: &str) -> Result<Member, Failure> {
        if !self.purpose.only_looks() {
            return Err(unturnable(name));
        }
        // The folder is the caller's to name, and the caller's to read.
        let folder = Path::new(folder);
        let machine = powerband_host::with_rights_for(folder, || RecordedMachine::open(name, folder));
        machine.map(|machine| Member::Recorded(Box::new(machine))).map_err(usage)
    }

    fn local(&mut self, side: Side) -> Result<Member, Failure> {
        // Whoever only looks needs no place of his own; a ledger that is not there is an empty one.
        let looks = self.purpose.only_looks();
        let folder = if looks { powerband_host::state_folder().unwrap_or_default() } else { state_folder()? };
        let kept = Kept { side, folder: folder.clone(), away: None };
        if !looks {
            self.locks.extend(lock_all(std::slice::from_ref(&kept))?);
        }
        self.kept.push(kept.clone());
        self.here.push(kept);
        let machine = LocalMachine::new(FileLedger::new(&folder)).map_err(ledger_failure)?;
        let machine = match self.purpose {
            Purpose::Rehearse => machine.rehearsing(),
            Purpose::Look => machine,
            _ => machine.guarded(),
        };
        Ok(Member::Local(Box::new(machine), None))
    }
}

impl Member {
    /// Where the other one reaches it, as far as it is known by itself.
    fn address(&self) -> Option<String> {
        match self {
            Member::Local(_, address) => address.clone(),
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
            Member::Local(..) | Member::Shell(..) | Member::Recorded(_) => None,
            Member::Remote(remote, _) => remote.welcome().peer_address.clone(),
        }
    }

    fn set_address(&mut self, found: String) {
        match self {
            Member::Local(_, address) | Member::Remote(_, address) | Member::Shell(_, address) => {
                *address = Some(found)
            }
            Member::Recorded(_) => {}
        }
    }

    fn into_machine(self) -> HostMachine {
        let address = self.address().unwrap_or_default();
        match self {
            Member::Recorded(machine) => (*machine).into(),
            Member::Local(machine, _) => machine.reached_at(&address).into(),
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

/// Nothing is ever turned on a recorded machine.
/// A table has nothing to be looked at.
pub(super) fn no_rig(name: &str) -> Failure {
    let sentence = format!(
        "{name} is a table of measurements: there is nothing to look at or to set; powerband try, tune and run --machine {name} \
         draw trials from it, alone"
    );
    Failure::new(Exit::Unsupported, sentence)
}

pub(super) fn unturnable(name: &str) -> Failure {
    let sentence = format!(
        "a recorded machine cannot be set: {name} answers what it read when it was captured; rehearse with --machine \
         sim:NAME"
    );
    Failure::new(Exit::Unsupported, sentence)
}

/// What we say to an agent.
fn hello(purpose: Purpose) -> Hello {
    let doing = super::doing();
    Hello {
        wire: WIRE_VERSION,
        powerband: env!("CARGO_PKG_VERSION").into(),
        purpose,
        doing,
        owner: powerband_host::own_place(),
    }
}

/// What stands in the lock behind a shell, for whoever finds it.
fn holder() -> String {
    let doing: String =
        powerband_host::shortened(&super::doing()).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let seconds = powerband_host::unix_time_s();
    let (hour, minute) = (seconds / 3600 % 24, seconds / 60 % 60);
    let (pid, host) = (std::process::id(), powerband_host::hostname());
    format!("powerband {pid} on {host} is {doing} since {hour:02}:{minute:02} UTC")
}

fn remote_failure(error: RemoteError) -> Failure {
    let exit = match &error {
        RemoteError::NotStarted { .. } => Exit::Usage,
        RemoteError::Stopped { .. } => Exit::Stopped,
        RemoteError::Refused { exit, .. } => {
            let known = [Exit::Usage, Exit::Denied, Exit::Unsupported, Exit::CannotRestore];
            known.into_iter().find(|known| *known as u8 == *exit).unwrap_or(Exit::CannotGoOn)
        }
        _ => Exit::CannotGoOn,
    };
    Failure::new(exit, error)
}

/// What built-in work does needs our own program where it runs.
pub(crate) fn check_shells(load: &Load, world: &mut dyn World) -> Result<(), Failure> {
    let parts = load.parts(&Ends { near: String::new(), far: world.machine(Side::Far).map(|_| String::new()) });
    for part in parts.iter().filter(|part| !matches!(part.work, Work::Command { .. } | Work::Idle { .. })) {
        let Some(name) = world.machine(part.side).map(|machine| machine.identity().name.clone()) else { continue };
        if matches!(Place::of(&name), Some(Place::Shell { .. })) {
            let sentence = format!(
                "the load '{}' needs powerband on {name}, where there is only a shell; name that machine ssh:HOST or \
                 cmd:COMMAND, or take a command as load",
                load.describe()
            );
            return Err(Failure::new(Exit::Unsupported, sentence));
        }
    }
    Ok(())
}

/// A simulated machine runs only what it has a model for.
pub(crate) fn check_models(names: &Names, load: &Load) -> Result<(), Failure> {
    if !names.simulated() {
        return Ok(());
    }
    let far = names.far.as_deref().and_then(super::simulated);
    let parts = load.parts(&Ends { near: String::new(), far: far.map(|_| String::new()) });
    for part in parts {
        let name = if part.side == Side::Far { far } else { super::simulated(&names.near) };
        let Some(name) = name else { continue };
        super::profile(name)?.models(&part.work).map_err(|error| Failure::new(Exit::Unsupported, error))?;
    }
    Ok(())
}

/// A load with two ends needs to know where they are.
pub(crate) fn check_addresses(load: &Load, world: &mut dyn World) -> Result<(), Failure> {
    let mut of = |side| world.machine(side).map(|machine| machine.identity().clone());
    let (Some(near), Some(far)) = (of(Side::Near), of(Side::Far)) else { return Ok(()) };
    let ends = Ends { near: near.address.clone(), far: Some(far.address.clone()) };
    if load.parts(&ends).iter().all(|part| part.side == Side::Near) && !load.names_far() {
        return Ok(());
    }
    match [far, near].into_iter().find(|machine| machine.address.is_empty()) {
        None => Ok(()),
        Some(unknown) => Err(usage(format!(
            "the load '{}' needs the address of {}, which is not known; write it into the name, e.g. cmd@10.0.0.2:COMMAND",
            load.describe(),
            unknown.name
        ))),
    }
}

/// The sentence about a machine that was lost while a verb was at work, if one was.
pub(crate) fn lost(world: &dyn World) -> Option<Failure> {
    let (side, why) = world.lost()?;
    let sentence = format!("lost the {side} machine: {why}; what is held there goes back by itself");
    Some(Failure::new(Exit::CannotGoOn, sentence))
}

/// Whether a machine of this side cannot be reached any more, so that there is nothing to put back from here.
pub(crate) fn is_lost(world: &dyn World, side: Side) -> bool {
    world.lost().is_some_and(|(lost, _)| lost == side)
}
