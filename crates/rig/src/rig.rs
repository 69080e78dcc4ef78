//! The rig: from the names of machines to a World, its ledgers, and the lock that makes us the only one who turns.
mod far;
mod place;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use powerband_experiment::{Plan, PlanError, ResolveError};
use powerband_host::{FileLedger, Lock, LockError};
use powerband_knob::{Declared, ErrorKind, KnobError, Selection};
pub(crate) use powerband_machine::wire::Purpose;
use powerband_machine::{EntryId, Errno, LedgerError, World};
use powerband_record::{CommandKnob, Side, Started};
use powerband_sim::{Profile, SimWorld};

use crate::away::{self, Noted};
use crate::cli::Shared;
use crate::corrected;
use crate::exit::{Exit, Failure, usage};
use crate::input;
use crate::left::{self, Kept};
pub(crate) use far::{check_addresses, check_models, check_shells, is_lost, lost};
use place::Place;

/// The machines of a rig as they are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    near: String,
    far: Option<String>,
    /// How long each answer of one that is reached over a connection may take, ns.
    answer_ns: u64,
}

/// That long where nobody says otherwise, ns.
const ANSWER_NS: u64 = 10_000_000_000;

impl Names {
    /// Of a verb without a plan.
    pub(crate) fn plain(shared: &Shared) -> Self {
        let near = shared.machine.clone().unwrap_or_else(|| "local".into());
        Names { near, far: shared.far.clone(), answer_ns: ANSWER_NS }.answering_within(shared)
    }

    /// Of a plan; the command line wins.
    pub(crate) fn of(shared: &Shared, plan: &Plan) -> Self {
        let written = Names::written(plan);
        let (near, far) = (shared.machine.clone().unwrap_or(written.near), shared.far.clone().or(written.far));
        Names { near, far, ..written }.answering_within(shared)
    }

    /// Of a plan alone.
    pub(crate) fn written(plan: &Plan) -> Self {
        let near = plan.machine.clone().unwrap_or_else(|| "local".into());
        Names { near, far: plan.far.clone(), answer_ns: ANSWER_NS }
    }

    /// With the time for answers that the command line gives.
    pub(crate) fn answering_within(self, shared: &Shared) -> Self {
        Names { answer_ns: shared.peer_timeout, ..self }
    }

    /// Of an experiment that was begun.
    pub(crate) fn begun(started: &Started) -> Self {
        let typed = |typed: &Option<String>, name: &str| typed.clone().unwrap_or_else(|| name.to_owned());
        Names {
            near: typed(&started.machine_typed, &started.machine),
            far: started.far.as_ref().map(|far| typed(&started.far_typed, far)),
            answer_ns: ANSWER_NS,
        }
    }

    /// As a plan would have them, under its seed: one that is given wins over one behind the machine's name.
    pub(crate) fn write_into(self, plan: &mut Plan) {
        let near = if plan.seed.is_some() && self.simulated() {
            self.near.split('#').next().unwrap_or_default().into()
        } else {
            self.near
        };
        (plan.machine, plan.far) = (Some(near), self.far);
    }

    /// Whether the near machine is this one.
    pub(crate) fn here(&self) -> bool {
        self.near == "local"
    }

    /// How a verb is typed that means the same machines.
    pub(crate) fn words_for(&self, verb: &str) -> String {
        let near = if self.here() { String::new() } else { format!(" --machine {}", away::quoted(&self.near)) };
        let far = self.far.as_ref().map(|far| format!(" --far {}", away::quoted(far))).unwrap_or_default();
        format!("powerband{near}{far} {verb}")
    }

    /// Whether the near machine is a simulated one, which comes to the same again from its seed.
    pub(crate) fn simulated(&self) -> bool {
        simulated(&self.near).is_some()
    }

    /// The file of a near machine that is a table.
    pub(crate) fn table(&self) -> Option<&str> {
        match Place::of(&self.near) {
            Some(Place::Table(file)) => Some(file),
            _ => None,
        }
    }

    /// Whether the near machine is a recording.
    pub(crate) fn recorded(&self) -> bool {
        matches!(Place::of(&self.near), Some(Place::Recorded(_)))
    }

    /// Why nobody but us could turn one of the machines, where that is so.
    pub(crate) fn nobody_else(&self) -> Option<String> {
        let alone = |name: &String| match Place::of(name) {
            Some(Place::Simulated(sim)) => Some(format!(
                "no other program changes {name} while powerband has it; `powerband sim mount {sim} DIR` serves it to other programs, \
                 and bound over /sys/devices/system/cpu it can be watched as this machine"
            )),
            Some(Place::Recorded(_)) => Some(format!("{name} is a recording, in which nothing happens any more")),
            Some(Place::Table(_)) => Some(format!("{name} is a table, in which nothing happens")),
            _ => None,
        };
        [Some(&self.near), self.far.as_ref()].into_iter().flatten().find_map(alone)
    }

    /// As a machine is named, if it is there.
    pub(crate) fn words_of(&self, side: Side) -> Option<&str> {
        if side == Side::Near { Some(&self.near) } else { self.far.as_deref() }
    }

    /// The name of a machine that is not this one.
    pub(crate) fn far_away(&self, side: Side) -> Option<&str> {
        self.words_of(side).filter(|name| Place::of(name) != Some(Place::Local))
    }

    /// The commands that lead to the machines, each with what it leads to.
    pub(crate) fn connections(&self) -> impl Iterator<Item = (String, String)> {
        [Side::Near, Side::Far].into_iter().filter_map(|side| match Place::of(self.words_of(side)?)? {
            Place::Behind { command, .. } | Place::Shell { command, .. } => {
                Some((format!("{side} machine"), command.to_owned()))
            }
            _ => None,
        })
    }

    /// Whether the near machine is the one of this name; a seed behind it may have been without effect.
    pub(crate) fn is_on(&self, machine: &str) -> bool {
        self.near == machine || (self.simulated() && machine.split('#').next() == Some(&self.near))
    }

    /// For people.
    pub(crate) fn words(&self) -> String {
        self.far.as_ref().map_or_else(|| self.near.clone(), |far| format!("{} with peer {far}", self.near))
    }

    /// The seed written behind the near machine's name, `sim:NAME#SEED`.
    pub(crate) fn seed(&self) -> Result<Option<u64>, Failure> {
        let Some((_, seed)) = self.near.split_once('#').filter(|_| self.simulated()) else { return Ok(None) };
        seed.parse().map(Some).map_err(|_| usage(format!("'{seed}' is not a seed; write e.g. sim:omap3530#7")))
    }
}

impl Names {
    /// Its simulated machines, of which nothing is kept.
    ///
    /// # Errors
    /// When a machine file cannot be read, or its machine does not boot.
    pub(crate) fn simulated_world(&self, seed: u64) -> Result<SimWorld, Failure> {
        let near = simulated(&self.near).unwrap_or_default();
        simulated_world(near, self.far.as_deref().and_then(simulated), seed)
    }
}

/// An open rig.
pub(crate) struct Rig {
    world: Box<dyn World>,
    /// The ledgers that outlive us; none for simulated machines in trials.
    kept: Vec<Kept>,
    /// Held for as long as we may turn.
    locks: Vec<Lock>,
    /// Machines behind an agent on which we may turn.
    noted: Vec<(Side, Noted)>,
}

impl Rig {
    /// Its World.
    pub(crate) fn world(&mut self) -> &mut dyn World {
        self.world.as_mut()
    }

    /// Where the near machine's ledger is kept.
    pub(crate) fn ledger_place(&self) -> String {
        self.kept.first().map_or_else(|| "in memory".into(), Kept::ledger)
    }

    /// Where the machines' ledgers are kept.
    pub(crate) fn kept(&self) -> Vec<Kept> {
        self.kept.clone()
    }

    /// Where one machine's ledger is kept.
    pub(crate) fn kept_of(&self, side: Side) -> Option<&Kept> {
        self.kept.iter().find(|kept| kept.side == side)
    }

    /// Tells others that a step waits to be confirmed.
    pub(crate) fn await_confirmation(&mut self, step: EntryId) {
        if let Some(lock) = self.locks.first_mut() {
            lock.set_to_confirm(step);
            lock.set_doing("waiting for `powerband confirm`");
        }
    }

    /// That the folders of the ledgers here are those we locked. What we changed is restored either way; what others find
    /// there now is not what we wrote.
    ///
    /// # Errors
    /// A sentence that names the folder that was deleted, moved or replaced meanwhile.
    pub(crate) fn in_place(&self) -> Result<(), Failure> {
        let Some(lock) = self.locks.iter().find(|lock| !lock.is_in_place()) else { return Ok(()) };
        let folder = lock.path().parent().unwrap_or(lock.path()).display();
        let sentence = format!(
            "the state folder {folder} was deleted, moved or replaced while powerband used it; every setting is restored"
        );
        Err(Failure::new(Exit::CannotGoOn, sentence))
    }

    /// Lets go of the machines, then of the locks.
    ///
    /// # Errors
    /// As [`Rig::in_place`], after the last change.
    pub(crate) fn close(self) -> Result<(), Failure> {
        self.in_place()
    }
}

impl Drop for Rig {
    /// Where nothing is held any more, nothing can be left. Of a lost machine nobody knows.
    fn drop(&mut self) {
        for (side, noted) in std::mem::take(&mut self.noted) {
            if is_lost(self.world(), side) {
                continue;
            }
            let holds = self.world().machine(side).is_none_or(|machine| !left::held(machine).is_empty());
            if !holds && !is_lost(self.world(), side) {
                noted.settle();
            }
        }
    }
}

/// Opens the machines of a rig.
pub(crate) fn open(names: &Names, seed: Option<u64>, purpose: Purpose) -> Result<Rig, Failure> {
    match (simulated(&names.near), names.far.as_deref().map(|far| (far, simulated(far)))) {
        (Some(near), None) => open_simulated(names, near, None, seed, purpose),
        (Some(near), Some((_, Some(far)))) => open_simulated(names, near, Some(far), seed, purpose),
        (None, Some((_, Some(_)))) | (Some(_), Some((_, None))) => {
            Err(usage("the machines of one rig are either all real or all simulated; both share one clock"))
        }
        (None, Some(("local", None))) if names.near == "local" => {
            Err(usage("this machine cannot be its own peer; without --far a stream runs over its loopback"))
        }
        (None, _) => far::open(names, purpose),
    }
}

/// Several hosts in one name: a rig has two machines, each with an option of its own.
fn several_hosts(name: &str, host: &str) -> Failure {
    let mut hosts = host.split(',').map(|one| one.trim().trim_start_matches("ssh:"));
    let (first, second) = (hosts.next().unwrap_or_default(), hosts.next().unwrap_or_default());
    usage(format!(
        "'{name}' names several hosts, and each machine of a rig has an option of its own: write --machine ssh:{first} --far ssh:{second}"
    ))
}

/// A slip of the keyboard.
fn unknown_machine(name: &str) -> Failure {
    usage(format!(
        "there is no machine '{name}'; use local, ssh:HOST, cmd:COMMAND, sh:COMMAND, recorded:DIR, table:FILE.csv, or sim:NAME \
         for one that `powerband sim list` shows"
    ))
}

/// Whether a machine's name is that of a table.
pub(crate) fn is_table(name: &str) -> bool {
    matches!(Place::of(name), Some(Place::Table(_)))
}

/// The profile name in `sim:NAME[#SEED]`.
fn simulated(name: &str) -> Option<&str> {
    match Place::of(name) {
        Some(Place::Simulated(name)) => Some(name),
        _ => None,
    }
}

/// A built-in machine file, or one at a path.
pub(crate) fn profile(name: &str) -> Result<Profile, Failure> {
    if name.ends_with(".toml") {
        let text = input::text(name.as_ref(), "the machine file", input::WRITTEN)?;
        return Profile::parse(&text).map_err(|error| usage(format!("{name}: {error}")));
    }
    Profile::builtin(name).map_err(usage)
}

fn simulated_world(near: &str, far: Option<&str>, seed: u64) -> Result<SimWorld, Failure> {
    let far = far.map(profile).transpose()?;
    SimWorld::new(profile(near)?, far, seed).map_err(|error| Failure::new(Exit::CannotGoOn, error))
}

fn open_simulated(
    names: &Names,
    near: &str,
    far: Option<&str>,
    seed: Option<u64>,
    purpose: Purpose,
) -> Result<Rig, Failure> {
    // Noise matters to trials alone; what is set must be found again whatever seed the next command is given.
    let seed = if purpose == Purpose::Measure { seed.or(names.seed()?).unwrap_or(1) } else { 1 };
    let mut world = simulated_world(near, far, seed)?;
    let interrupts = powerband_host::interrupts().map_err(|errno| Failure::new(Exit::CannotGoOn, errno))?;
    world.interrupt_source(Box::new(interrupts));
    if purpose == Purpose::Measure {
        return Ok(Rig { world: Box::new(world), kept: Vec::new(), locks: Vec::new(), noted: Vec::new() });
    }
    // What was set on a simulated machine is its ledger, done again on the fresh boot.
    if far == Some(near) {
        return Err(usage(format!(
            "both ends are sim:{near}, and what is set on it is kept once; name another far machine"
        )));
    }
    let mut kept = vec![Kept { side: Side::Near, folder: simulated_folder(near)?, away: None }];
    if let Some(far) = far {
        kept.push(Kept { side: Side::Far, folder: simulated_folder(far)?, away: None });
    }
    let locks = if purpose.only_looks() { Vec::new() } else { lock_all(&kept)? };
    for Kept { side, folder, .. } in &kept {
        let store = Box::new(FileLedger::new(folder));
        world.keep_ledger(*side, store).map_err(|error| Failure::new(Exit::CannotGoOn, error))?;
    }
    if purpose == Purpose::Turn {
        left::clear(&mut world, &kept)?;
    }
    Ok(Rig { world: Box::new(world), kept, locks, noted: Vec::new() })
}

/// Where the ledger of a simulated machine is kept.
fn simulated_folder(name: &str) -> Result<PathBuf, Failure> {
    state_folder().map(|state| state.join("sim").join(name.replace('/', "_")))
}

/// Where the ledgers of a rig are kept, for whoever does not open it. Names that no machine has are kept nowhere.
pub(crate) fn kept(names: &Names) -> Vec<Kept> {
    let folder = |name: &str| match simulated(name) {
        Some(name) => simulated_folder(name).ok(),
        None if name == "local" => powerband_host::state_folder(),
        None => None,
    };
    let near = folder(&names.near).map(|folder| Kept { side: Side::Near, folder, away: None });
    let far = names.far.as_deref().and_then(folder).map(|folder| Kept { side: Side::Far, folder, away: None });
    near.into_iter().chain(far).collect()
}

/// Where the lock of whoever turns the near machine from here is kept: beside its ledger, where that is here.
pub(crate) fn lock_folder(names: &Names) -> Result<PathBuf, Failure> {
    match Place::of(&names.near) {
        Some(Place::Simulated(name)) => simulated_folder(name),
        Some(Place::Behind { .. } | Place::Ssh { .. } | Place::Shell { .. }) => {
            away::folder(&names.near).ok_or_else(no_place)
        }
        Some(Place::Local) => state_folder(),
        Some(Place::Recorded(_)) => Err(far::unturnable(&names.near)),
        Some(Place::Table(_)) => Err(far::no_rig(&names.near)),
        None => Err(unknown_machine(&names.near)),
    }
}

/// Where ledger and locks live.
pub(crate) fn state_folder() -> Result<PathBuf, Failure> {
    powerband_host::state_folder().ok_or_else(no_place)
}

/// Where results live.
pub(crate) fn store_folder() -> Result<PathBuf, Failure> {
    powerband_host::store_folder().ok_or_else(no_place)
}

pub(crate) fn no_place() -> Failure {
    usage("there is no place for results: set HOME, or POWERBAND_STATE_DIR to a folder")
}

/// The exit code a ledger that cannot be used asks for.
pub(crate) fn ledger_failure(error: LedgerError) -> Failure {
    let denied = matches!(error.errno(), Some(Errno::EACCES | Errno::EPERM));
    Failure::new(if denied { Exit::Denied } else { Exit::CannotGoOn }, error)
}

/// What we are doing, in the words we were called with.
pub(crate) fn doing() -> String {
    std::env::args().skip(1).collect::<Vec<_>>().join(" ")
}

fn lock_all(kept: &[Kept]) -> Result<Vec<Lock>, Failure> {
    let doing = doing();
    kept.iter().map(|kept| lock(&kept.folder, &doing)).collect()
}

/// The lock of a ledger's folder.
pub(crate) fn lock(folder: &Path, doing: &str) -> Result<Lock, Failure> {
    Lock::acquire(folder, doing).map_err(|error| {
        let denied = matches!(
            &error,
            LockError::Unusable { errno: Errno::EACCES | Errno::EPERM, .. } | LockError::NotOurs { .. }
        );
        Failure::new(if denied { Exit::Denied } else { Exit::CannotGoOn }, error)
    })
}

/// The CPUs the user narrowed turning to, and the knobs that are declared.
pub(crate) fn narrow(shared: &Shared) -> Result<Selection, Failure> {
    let declared = Declared::of(&declared(shared)?).map_err(knob_failure)?;
    Ok(Selection { cpus: shared.cpus.clone(), declared, ..Selection::everywhere() })
}

/// The knobs that the file behind `--knobs` declares.
pub(crate) fn declared(shared: &Shared) -> Result<BTreeMap<String, CommandKnob>, Failure> {
    let Some(path) = &shared.declared else { return Ok(BTreeMap::new()) };
    let name = path.display().to_string();
    let text = input::text(path, "", input::WRITTEN)?;
    match Plan::knobs_in(&name, &text).map_err(usage)? {
        knobs if knobs.is_empty() => Err(usage(format!("{name} declares no knob; write a table [knobs.NAME] into it"))),
        knobs => Ok(knobs),
    }
}

/// The exit code a knob's refusal asks for.
pub(crate) fn knob_failure(error: KnobError) -> Failure {
    let exit = match error.kind() {
        ErrorKind::Usage => Exit::Usage,
        ErrorKind::Absent => Exit::Unsupported,
        ErrorKind::Denied => Exit::Denied,
        ErrorKind::CannotRestore => Exit::CannotRestore,
        ErrorKind::Refused if is_a_wrong_word(&error) => Exit::Usage,
        _ => Exit::CannotGoOn,
    };
    Failure::new(exit, corrected::sentence(&error))
}

/// Whether the kernel, or the file itself, says that what was typed makes no sense there.
fn is_a_wrong_word(error: &KnobError) -> bool {
    match error {
        KnobError::Refused { errno, .. } => matches!(*errno, Errno::EINVAL | Errno::ERANGE),
        KnobError::Unreadable { errno, .. } => {
            matches!(*errno, Errno::EISDIR | Errno::ENOTDIR | Errno::EILSEQ | Errno::EFBIG)
        }
        _ => false,
    }
}

/// The exit code a plan that cannot be resolved asks for.
pub(crate) fn resolve_failure(error: ResolveError) -> Failure {
    match error {
        ResolveError::Knob(error) => knob_failure(error),
        ResolveError::Plan(
            error @ (PlanError::NothingToJudge(_) | PlanError::NoFigure { .. } | PlanError::NoThermal),
        ) => Failure::new(Exit::Unsupported, error),
        other => usage(other),
    }
}
