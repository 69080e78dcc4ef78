//! Faults on purpose: what goes wrong on a simulated machine, drawn from a seed step by step, and a record of who wrote what.
//!
//! Every step of the owner is numbered, on the machine, on the disk of its ledger and in its journal. Whether something strikes there, and what, depends on the seed
//! and that number alone, so that one seed replays a whole story.
mod disk;
mod hands;
mod log;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use powerband_machine::{EntryId, Errno, Rule};
use powerband_record::Side;
use powerband_sim::{OwnerStep, SimError, SimWorld};
use powerband_stats::{Draws, Purpose};

pub use disk::Image;
use disk::{Disk, SimDisk};
pub use log::{Hand, LoggedWrite};

/// What may go wrong, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultPlan {
    /// Seed of everything that strikes.
    pub seed: u64,
    /// Something strikes in one of this many steps, less often in readings and more often in waits; never when 0.
    pub one_in: u64,
    /// A mistake the machine makes all along.
    pub blunder: Option<Blunder>,
}

/// A mistake made on purpose, so that a test can show that its checker sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Blunder {
    /// Breaks a part of the write-ahead rule.
    Breaks(Rule),
    /// Says that a record is durable when it was only written.
    AcknowledgesTooEarly,
    /// Leaves a torn last line in the ledger, so that the next record runs into it.
    KeepsTheTornTail,
}

/// How an owner ends in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The process is killed. The kernel and what it has of the disk stay.
    Crash,
    /// The machine goes dark: what was not synced is lost, and it boots anew.
    PowerCut,
}

/// What can strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// One write is refused.
    RefusedOnce,
    /// The same file refuses a few writes in a row.
    RefusedOften,
    /// The same file refuses until [`Faults::heal`].
    RefusedLasting,
    /// One write is refused after a part of it was stored, as a vector of numbers is whose second one the kernel does not take.
    RefusedInPart,
    /// One write is stored, and an error is reported all the same, as by a close() that comes too late.
    RefusedTooLate,
    /// One reading fails.
    Unreadable,
    /// A CPU goes out of service, and the files of a policy with it.
    Offline,
    /// A CPU comes back.
    Online,
    /// An ordinary file is removed by another hand.
    Vanished,
    /// What was just written reads as written, and some milliseconds later as something else.
    ClampedLate,
    /// A load cannot be started.
    SpawnRefused,
    /// A load is killed.
    LoadDied,
    /// Another program writes another valid value.
    Foreign,
    /// The disk of the ledger is full for a few appends.
    DiskFull,
    /// It is full until [`Faults::heal`].
    DiskFullLasting,
    /// The journal takes no event.
    JournalRefused,
    /// The owner is killed.
    Crash,
    /// The owner is killed in the middle of an append.
    TornAppend,
    /// The power is cut.
    PowerCut,
}

impl Fault {
    /// All of them, for a tally that shows what never struck.
    pub const ALL: [Fault; 19] = [
        Fault::RefusedOnce,
        Fault::RefusedOften,
        Fault::RefusedLasting,
        Fault::RefusedInPart,
        Fault::RefusedTooLate,
        Fault::Unreadable,
        Fault::Offline,
        Fault::Online,
        Fault::Vanished,
        Fault::ClampedLate,
        Fault::SpawnRefused,
        Fault::LoadDied,
        Fault::Foreign,
        Fault::DiskFull,
        Fault::DiskFullLasting,
        Fault::JournalRefused,
        Fault::Crash,
        Fault::TornAppend,
        Fault::PowerCut,
    ];
}

/// Where the owner is: on the machine ([`OwnerStep`]), or with what it records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// On the machine.
    On(OwnerStep),
    /// Writes a record of the ledger.
    Append,
    /// Writes the ledger anew.
    Replace,
    /// Writes an event of the journal.
    Journal,
}

impl Step {
    /// Most steps are readings and few are waits: the rate of each, so that no kind of step has all the faults.
    fn weigh(self, one_in: u64) -> u64 {
        use OwnerStep::{Look, Spawn, Wait};
        match self {
            Step::On(Look) => one_in.saturating_mul(8),
            Step::On(Spawn | Wait) => one_in.div_ceil(8),
            _ => one_in,
        }
    }

    /// What can strike here.
    fn faults(self) -> &'static [Fault] {
        use Fault::{
            ClampedLate, DiskFull, DiskFullLasting, Foreign, JournalRefused, LoadDied, Offline, Online, RefusedInPart,
            RefusedLasting, RefusedOften, RefusedOnce, RefusedTooLate, SpawnRefused, Unreadable, Vanished,
        };
        use OwnerStep::{Compare, Look, Perform, ReadBack, Spawn, TakeBack, Wait};
        match self {
            Step::On(Look) => &[Unreadable, Unreadable, Foreign, Foreign, Vanished],
            Step::On(Perform) => &[
                RefusedOnce,
                RefusedOften,
                RefusedLasting,
                RefusedInPart,
                RefusedTooLate,
                ClampedLate,
                ClampedLate,
                Foreign,
                Foreign,
            ],
            Step::On(ReadBack | Compare) => &[Unreadable],
            Step::On(TakeBack) => &[RefusedOnce, RefusedOften, RefusedLasting, RefusedInPart, RefusedTooLate],
            Step::Append => &[DiskFull, DiskFullLasting],
            Step::Replace => &[DiskFull],
            Step::On(Spawn) => &[SpawnRefused, SpawnRefused, Foreign],
            Step::On(Wait) => &[LoadDied, Foreign, Foreign, Offline, Offline, Online, Vanished],
            Step::Journal => &[JournalRefused],
        }
    }
}

/// What a step meets.
enum Strike {
    Nothing,
    /// The owner is dead, perhaps since this very step; the stream says how torn what it did was.
    Dead(Option<Draws>),
    /// A fault, with the stream its details are drawn from.
    Fault(Fault, Draws),
}

/// The faults of a World: what has struck and been written, its disk, and when the owner ends. Clones are the same.
#[derive(Clone, Debug)]
pub struct Faults(Rc<RefCell<State>>);

#[derive(Debug)]
struct State {
    plan: FaultPlan,
    step: u64,
    healed: bool,
    end_at: Option<(u64, Ending)>,
    /// What strikes at a step whatever the seed says.
    planned: BTreeMap<u64, Fault>,
    ended: Option<Ending>,
    /// Files that refuse: why, and how many writes more.
    refusing: BTreeMap<String, (Errno, u32)>,
    /// Appends the full disk refuses.
    full: u32,
    /// Values that change later: when (ns), where, to what.
    late: Vec<(u64, String, String)>,
    /// Files the owner has turned, each once.
    turned: Vec<String>,
    written: Vec<LoggedWrite>,
    /// Attempts to undo an entry: in which step, and which.
    undos: Vec<(u64, EntryId)>,
    tally: BTreeMap<Fault, u32>,
    disk: Disk,
}

impl Faults {
    /// Lets things go wrong on the near machine of `world` from now on. Its ledger is kept on a simulated disk that outlives its
    /// owner; who is killed is answered so by each call that can fail, until [`Faults::succeed`].
    ///
    /// # Errors
    /// None with a disk that is empty; the World's signature has one.
    pub fn inject(world: &mut SimWorld, plan: FaultPlan) -> Result<Faults, SimError> {
        let faults = Faults::new(plan);
        world.interfere(Rc::new(faults.clone()), faults.store())?;
        Ok(faults)
    }

    /// A new owner takes over `world`, with the ledger as the disk has it.
    ///
    /// # Errors
    /// [`SimError::Ledger`] when the ledger could not be read, which also ends this owner: nothing it does has effect.
    pub fn succeed(&self, world: &mut SimWorld) -> Result<(), SimError> {
        let ended = {
            let mut state = self.0.borrow_mut();
            if state.ended == Some(Ending::PowerCut) {
                state.refusing.clear();
                state.late.clear();
            }
            state.ended.take()
        };
        let succeeded = world.succeed(ended == Some(Ending::PowerCut), self.store());
        succeeded.inspect_err(|_| {
            self.0.borrow_mut().ended.get_or_insert(Ending::Crash);
        })
    }

    /// From now on nothing goes wrong in `world`: what refused works, what was full has room, CPUs are back in service.
    pub fn heal(&self, world: &mut SimWorld) {
        {
            let mut state = self.0.borrow_mut();
            state.healed = true;
            state.end_at = None;
            state.planned.clear();
            state.refusing.clear();
            state.full = 0;
            state.late.clear();
        }
        let Some(board) = world.board(Side::Near) else { return };
        for cpu in board.cpus_online(false) {
            board.switch(cpu, true);
        }
    }

    fn new(plan: FaultPlan) -> Self {
        Faults(Rc::new(RefCell::new(State {
            plan,
            step: 0,
            healed: false,
            end_at: None,
            planned: BTreeMap::new(),
            ended: None,
            refusing: BTreeMap::new(),
            full: 0,
            late: Vec::new(),
            turned: Vec::new(),
            written: Vec::new(),
            undos: Vec::new(),
            tally: BTreeMap::new(),
            disk: Disk::default(),
        })))
    }

    /// Steps taken so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.0.borrow().step
    }

    /// Lets the owner end at this step, or at the next one when that is over.
    pub fn end_at(&self, step: u64, ending: Ending) {
        self.0.borrow_mut().end_at = Some((step, ending));
    }

    /// Lets a fault strike at this very step, if it can there.
    pub fn strike_at(&self, step: u64, fault: Fault) {
        self.0.borrow_mut().planned.insert(step, fault);
    }

    /// How the owner has ended, if it has and nobody has succeeded it.
    #[must_use]
    pub fn ended(&self) -> Option<Ending> {
        self.0.borrow().ended
    }

    /// One event of the owner's journal: a step of its own, which may be refused.
    ///
    /// # Errors
    /// `ENOSPC` when it is refused, `EIO` for a dead owner.
    pub fn journal(&self) -> Result<(), Errno> {
        match self.next(Step::Journal) {
            Strike::Nothing => Ok(()),
            Strike::Dead(_) => Err(Errno::EIO),
            Strike::Fault(fault, _) => {
                self.struck(fault);
                Err(Errno::ENOSPC)
            }
        }
    }

    /// Every write to a file so far, by whatever hand, in order.
    #[must_use]
    pub fn written(&self) -> Vec<LoggedWrite> {
        self.0.borrow().written.clone()
    }

    /// Every attempt of an owner to undo an entry, whatever came of it: in which step, and which entry.
    #[must_use]
    pub fn undos(&self) -> Vec<(u64, EntryId)> {
        self.0.borrow().undos.clone()
    }

    /// How often each fault has struck.
    #[must_use]
    pub fn tally(&self) -> BTreeMap<Fault, u32> {
        self.0.borrow().tally.clone()
    }

    /// What the disk of the ledger holds, and what its owners were told that it holds.
    #[must_use]
    pub fn disk(&self) -> Image {
        self.0.borrow().disk.image()
    }

    /// The ledger's disk, for one owner.
    fn store(&self) -> Box<SimDisk> {
        Box::new(SimDisk(self.clone()))
    }

    fn blunder(&self, blunder: Blunder) -> bool {
        self.0.borrow().plan.blunder == Some(blunder)
    }

    /// Counts a step and says what it meets.
    fn next(&self, step: Step) -> Strike {
        let mut state = self.0.borrow_mut();
        if state.ended.is_some() {
            return Strike::Dead(None);
        }
        state.step += 1;
        let mut stream = Draws::new(state.plan.seed, Purpose::Trial, state.step, 0);
        if let Some((_, ending)) = state.end_at.filter(|(at, _)| *at <= state.step) {
            state.end_at = None;
            state.ended = Some(ending);
            let fault = if ending == Ending::Crash { Fault::Crash } else { Fault::PowerCut };
            *state.tally.entry(fault).or_default() += 1;
            if ending == Ending::PowerCut && step != Step::Append {
                state.disk.cut(&mut stream);
            }
            return Strike::Dead(Some(stream));
        }
        let number = state.step;
        if let Some(fault) = state.planned.remove(&number).filter(|fault| step.faults().contains(fault)) {
            return Strike::Fault(fault, stream);
        }
        let one_in = step.weigh(state.plan.one_in);
        if state.healed || one_in == 0 || !stream.bits().is_multiple_of(one_in) {
            return Strike::Nothing;
        }
        Strike::Fault(*pick(&mut stream, step.faults()), stream)
    }

    fn struck(&self, fault: Fault) {
        *self.0.borrow_mut().tally.entry(fault).or_default() += 1;
    }
}

/// One of what is not empty.
fn pick<'a, T>(stream: &mut Draws, from: &'a [T]) -> &'a T {
    let place = stream.below(from.len() as u64);
    &from[usize::try_from(place).unwrap_or(0)]
}
