//! A World of simulated machines: one clock, which moves only while somebody waits.
mod interfered;

use std::collections::VecDeque;

use powerband_machine::{Errno, LedgerError, LedgerStore, Machine, ProcessId, StopSignal, Wake, World};
use powerband_record::{NodeName, Side};
use thiserror::Error;

use crate::board::END_NS;
use crate::cpufreq::Governor;
use crate::machine::{self, SimMachine};
use crate::play::{Play, Stretch};
use crate::profile::Profile;
use crate::queue::{Class, turn};

/// Why a simulated World could not be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SimError {
    /// cpufreq refused the machine's configuration.
    #[error("the simulated machine {name} does not boot: its cpufreq tables are refused ({errno})")]
    Boot {
        /// Which machine.
        name: String,
        /// Why.
        errno: Errno,
    },
    /// There is no machine on that side.
    #[error("this rig has no {0} machine")]
    NoMachine(Side),
    /// A trace overlaps itself.
    #[error("the stretches of a task overlap or are not in the order of time; sort them and join those that touch")]
    Stretches,
    /// The ledger of what was set cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Asked now and then whether to stop.
pub type InterruptSource = Box<dyn FnMut() -> Option<StopSignal>>;

/// Virtual time that passes on a machine with a ledger of its own after it has booted, and after each change that is done
/// again, ns: long enough for the driver to have changed the clock, and for a governor to have settled on an idle machine.
const SETTLING_NS: u64 = 1_000_000_000;

/// Events between two looks at the interrupt source.
const EVENTS_BETWEEN_LOOKS: u32 = 4_096;

/// The turn of a machine on which nothing is planned.
const NOBODY: (u64, Class) = (u64::MAX, Class::MAX);

/// One, two or a list of simulated machines on one clock.
pub struct SimWorld {
    seed: u64,
    /// Times the machines have booted again.
    reboots: u64,
    now_ns: u64,
    machines: Vec<SimMachine>,
    wakes: VecDeque<Wake>,
    interrupts: Option<InterruptSource>,
    since_look: u32,
    events: u64,
    /// When the machines are suspended, and for how long, ns.
    suspensions: Vec<(u64, u64)>,
}

impl SimWorld {
    /// Boots the machines at time 0. Equal machines and seeds give equal Worlds, byte for byte.
    ///
    /// # Errors
    /// [`SimError::Boot`] when a machine file passed its checks and cpufreq still refuses it.
    pub fn new(near: Profile, far: Option<Profile>, seed: u64) -> Result<Self, SimError> {
        let has_far = far.is_some();
        let mut machines = vec![machine::boot(near, Side::Near, has_far, seed)?];
        if let Some(far) = far {
            machines.push(machine::boot(far, Side::Far, has_far, seed)?);
        }
        Ok(SimWorld::booted(machines, seed))
    }

    /// Boots a list of machines that are not linked to each other, each with chance of its own. The first is the near one.
    ///
    /// # Errors
    /// As [`SimWorld::new`].
    pub fn of_nodes(nodes: Vec<(NodeName, Profile)>, seed: u64) -> Result<Self, SimError> {
        let boot = |(name, profile)| machine::boot(profile, Side::Node(name), false, seed);
        Ok(SimWorld::booted(nodes.into_iter().map(boot).collect::<Result<_, _>>()?, seed))
    }

    fn booted(machines: Vec<SimMachine>, seed: u64) -> Self {
        let wakes = VecDeque::new();
        SimWorld {
            seed,
            reboots: 0,
            now_ns: 0,
            machines,
            wakes,
            interrupts: None,
            since_look: 0,
            events: 0,
            suspensions: Vec::new(),
        }
    }

    /// Keeps a machine's ledger in `store` instead of in memory. What the store says was set and is not undone is done
    /// again, in order, on the fresh boot: that is how a simulated machine keeps its settings between commands. A second of
    /// virtual time passes after the boot and after each change, so that all of it has had its effect when this returns.
    ///
    /// # Errors
    /// [`SimError::NoMachine`]; [`SimError::Ledger`] when the store cannot be read.
    pub fn keep_ledger(&mut self, side: Side, store: Box<dyn LedgerStore>) -> Result<(), SimError> {
        let place = self.place(side).ok_or(SimError::NoMachine(side))?;
        let set = machine::keep_ledger(&mut self.machines[place], store)?;
        self.settle();
        for action in set {
            // What the fresh boot refuses is not in force, and `undo` will find it back already.
            let _refused = self.machines[place].device_mut().board.perform(&action);
            self.settle();
        }
        Ok(())
    }

    /// Lets time pass before anything runs that could wake anybody; interrupts are for anyone who waits later.
    fn settle(&mut self) {
        let until_ns = self.now_ns.saturating_add(SETTLING_NS);
        self.deliver_all();
        while self.go_on(Some(until_ns)) {}
        self.set_now(until_ns.clamp(self.now_ns, END_NS));
    }

    /// Suspends the machines for a while at a time of their clock, which stands still meanwhile. Nothing else of a suspend is modelled.
    pub fn suspend(&mut self, at_ns: u64, for_ns: u64) {
        self.suspensions.push((at_ns, for_ns));
    }

    /// What is asked, at the start of each wait and every few thousand events, whether to stop.
    pub fn interrupt_source(&mut self, source: InterruptSource) {
        self.interrupts = Some(source);
    }

    /// Plays one task's stretches on a machine: it is runnable from each one's beginning to its end, however fast its CPU
    /// runs meanwhile. On such a machine nothing happens by itself any more: what else ran belongs into the trace, as
    /// further tasks.
    ///
    /// # Errors
    /// [`SimError::NoMachine`]; [`SimError::Stretches`] when they overlap or are not in the order of time.
    pub fn play(&mut self, side: Side, stretches: Vec<Stretch>) -> Result<ProcessId, SimError> {
        let play = Play::new(stretches).ok_or(SimError::Stretches)?;
        let place = self.place(side).ok_or(SimError::NoMachine(side))?;
        Ok(self.machines[place].device_mut().board.play(play))
    }

    /// Loads a governor's module on a machine, or unloads it, as an administrator would.
    ///
    /// # Errors
    /// ENODEV when there is no such machine; EEXIST, ENOENT and EAGAIN as the kernel.
    pub fn set_governor_loaded(&mut self, side: Side, governor: Governor, loaded: bool) -> Result<(), Errno> {
        let place = self.place(side).ok_or(Errno::ENODEV)?;
        let machine = self.machines.get_mut(place).ok_or(Errno::ENODEV)?;
        machine.device_mut().board.cpufreq.set_governor_loaded(governor, loaded)
    }

    /// Events that have happened since boot; those that others overtook are not counted.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Keeps a line for each event from now on, for comparing runs.
    pub fn log_events(&mut self) {
        for machine in &mut self.machines {
            machine.device_mut().board.log.get_or_insert_default();
        }
    }

    /// The lines kept since [`SimWorld::log_events`] or the last call, near machine first.
    pub fn take_event_log(&mut self) -> String {
        let logs = self.machines.iter_mut().filter_map(|machine| machine.device_mut().board.log.as_mut());
        logs.map(std::mem::take).collect()
    }

    fn look(&mut self) -> Option<Wake> {
        self.since_look = 0;
        self.interrupts.as_mut().and_then(|source| source()).map(Wake::Stop)
    }

    /// Moves what the machines said and sent to where it belongs.
    fn deliver_all(&mut self) {
        (0..self.machines.len()).for_each(|from| self.deliver(from));
    }

    /// The same of one machine.
    fn deliver(&mut self, from: usize) {
        let board = &mut self.machines[from].device_mut().board;
        // Most events neither wake anybody nor send anything.
        if !board.wakes.is_empty() {
            self.wakes.extend(board.wakes.drain(..));
        }
        if board.outbox.is_empty() {
            return;
        }
        let mut outbox = std::mem::take(&mut board.outbox);
        for outgoing in outbox.drain(..) {
            if let Some(machine) = self.place(outgoing.to).and_then(|to| self.machines.get_mut(to)) {
                machine.device_mut().board.plan(outgoing.at_ns, outgoing.event);
            }
        }
        self.machines[from].device_mut().board.outbox = outbox;
    }

    /// Lets events happen, of those delivered, on the machine whose turn is next, until it is another's, somebody is woken or
    /// sent something, or it is time to look; where there is no event until then, it is then and the answer is no.
    /// Time passes on that machine alone: the others follow when it is their turn, or with [`SimWorld::set_now`].
    fn go_on(&mut self, until_ns: Option<u64>) -> bool {
        let until_ns = until_ns.map_or(END_NS, |until_ns| until_ns.min(END_NS));
        // Of equals in time and class the near machine comes first.
        let (mut first, mut second) = ((NOBODY, usize::MAX), (NOBODY, usize::MAX));
        for (place, machine) in self.machines.iter().enumerate() {
            let turn = (turn(machine.device().board.next_key()), place);
            if turn < first {
                (first, second) = (turn, first);
            } else {
                second = second.min(turn);
            }
        }
        let ((mut next, place), is_due) = (first, first.0.0 <= until_ns);
        let Some(board) = self.machines.get_mut(place).map(|machine| &mut machine.device_mut().board) else {
            return false;
        };
        while next.0 <= until_ns && (next, place) < second {
            self.now_ns = next.0;
            board.pass_to(next.0);
            board.step();
            (self.events, self.since_look) = (self.events + 1, self.since_look + 1);
            if !board.wakes.is_empty() || !board.outbox.is_empty() || self.since_look >= EVENTS_BETWEEN_LOOKS {
                break;
            }
            next = turn(board.next_key());
        }
        self.deliver(place);
        is_due
    }

    /// Where a side's machine is kept.
    fn place(&self, side: Side) -> Option<usize> {
        match side {
            Side::Near => Some(0),
            one => self.machines.iter().position(|machine| machine.device().board.side == one),
        }
    }

    /// It is `now_ns` on every machine.
    fn set_now(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        for machine in &mut self.machines {
            machine.device_mut().board.pass_to(now_ns);
        }
    }

    /// Lets events happen until somebody is woken, or the time has come.
    fn go_on_until(&mut self, until_ns: Option<u64>) -> Wake {
        self.deliver_all();
        loop {
            if let Some(wake) = self.wakes.pop_front() {
                return wake;
            }
            if !self.go_on(until_ns) {
                self.now_ns = until_ns.unwrap_or(0).clamp(self.now_ns, END_NS);
                return Wake::Deadline;
            }
            if self.since_look >= EVENTS_BETWEEN_LOOKS
                && let Some(stop) = self.look()
            {
                return stop;
            }
        }
    }
}

impl World for SimWorld {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn suspended_ns(&self) -> u64 {
        self.suspensions.iter().filter(|(at_ns, _)| *at_ns <= self.now_ns).map(|(_, for_ns)| for_ns).sum()
    }

    fn machine(&mut self, side: Side) -> Option<&mut dyn Machine> {
        let place = self.place(side)?;
        let machine = self.machines.get_mut(place)?;
        Some(machine)
    }

    fn sides(&mut self) -> Vec<Side> {
        self.machines.iter().map(|machine| machine.device().board.side).collect()
    }

    /// As in the trait. Without a deadline, and when nothing is left that could ever happen, answers
    /// [`Wake::Deadline`] instead of waiting for ever. Virtual time ends after 146 years; a later deadline comes then.
    fn wait(&mut self, until_ns: Option<u64>) -> Wake {
        if let Some(stop) = self.look() {
            return stop;
        }
        if let Some(lost) = self.meet_in_wait() {
            return lost;
        }
        let wake = self.go_on_until(until_ns);
        self.set_now(self.now_ns);
        wake
    }
}
