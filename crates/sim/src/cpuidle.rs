//! Idle states of a machine: what each is, which one its CPUs choose, what was counted. Without a clock of its own.
//!
//! The engine asks [`Cpuidle::choose`] when a CPU has nothing to do and tells [`Cpuidle::woke`] how long that lasted.
mod files;
mod ladder;
mod menu;

pub(crate) use files::{IdleFile, SystemFile};
use ladder::Ladder;
use menu::Menu;

/// No limit on waking up, ns.
pub(crate) const NO_LIMIT_NS: u64 = u64::MAX;

/// One idle state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// Name, as in `stateN/name`.
    pub name: String,
    /// What its driver says of it.
    pub desc: String,
    /// How long leaving it takes at worst, entering included, ns.
    pub exit_ns: u64,
    /// How long a sleep must last to be worth it, ns.
    pub residency_ns: u64,
    /// Share of the running power still drawn, millionths.
    pub running_ppm: u64,
    /// Share of the leakage still there, millionths.
    pub leakage_ppm: u64,
    /// The CPU does not sleep but looks for work all the time.
    pub polls: bool,
}

/// The rule that picks a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleGovernor {
    /// One state deeper after four long sleeps, one up after a short one.
    Ladder,
    /// The deepest state that the predicted sleep is worth.
    Menu,
}

impl IdleGovernor {
    /// Every rule there is a model of.
    pub const ALL: [IdleGovernor; 2] = [IdleGovernor::Ladder, IdleGovernor::Menu];

    /// Its name in `current_governor`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            IdleGovernor::Ladder => "ladder",
            IdleGovernor::Menu => "menu",
        }
    }
}

/// The idle states of a machine and who chooses among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleSpec {
    /// Driver that enters them.
    pub driver: String,
    /// Rules offered, in the order of `available_governors`.
    pub governors: Vec<IdleGovernor>,
    /// Rule at boot.
    pub governor: IdleGovernor,
    /// States, shallow first; at least one.
    pub states: Vec<IdleState>,
}

/// What a CPU that falls idle knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question {
    /// Time to the next timer, the tick left out, ns.
    pub(crate) next_timer_ns: u64,
    /// Time to the next tick, ns; to the next timer once the tick is stopped.
    pub(crate) next_tick_ns: u64,
    /// Length of a tick, ns.
    pub(crate) tick_ns: u64,
    pub(crate) tick_stopped: bool,
    /// Tasks of this CPU that wait for input or output.
    pub(crate) iowaiters: u32,
    /// How long waking up may take, ns.
    pub(crate) limit_ns: u64,
}

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) state: usize,
    pub(crate) stops_tick: bool,
}

/// What is counted for one state of one CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    entered: u64,
    time_ns: u64,
    above: u64,
    below: u64,
    disabled: bool,
}

/// One CPU's side.
#[derive(Clone, Debug)]
struct Device {
    usages: Vec<Usage>,
    menu: Menu,
    ladder: Ladder,
}

impl Device {
    fn new(states: &[IdleState]) -> Self {
        Device { usages: vec![Usage::default(); states.len()], menu: Menu::default(), ladder: Ladder::new(states) }
    }
}

/// A machine's cpuidle.
#[derive(Clone, Debug)]
pub(crate) struct Cpuidle {
    spec: IdleSpec,
    governor: IdleGovernor,
    devices: Vec<Device>,
}

impl Cpuidle {
    pub(crate) fn new(spec: IdleSpec, cpus: usize) -> Self {
        let devices = vec![Device::new(&spec.states); cpus];
        Cpuidle { governor: spec.governor, spec, devices }
    }

    pub(crate) fn state(&self, state: usize) -> &IdleState {
        &self.spec.states[state]
    }

    pub(crate) fn deepest(&self) -> usize {
        self.spec.states.len() - 1
    }

    /// The state a CPU enters now.
    pub(crate) fn choose(&mut self, cpu: u32, question: &Question) -> Choice {
        let Device { usages, menu, ladder } = &mut self.devices[cpu as usize];
        let states = Among { states: &self.spec.states, usages };
        match self.governor {
            IdleGovernor::Ladder => Choice { state: ladder.choose(&states, question.limit_ns), stops_tick: true },
            IdleGovernor::Menu => menu.choose(&states, question),
        }
    }

    /// A CPU has left a state in which it was for `for_ns`, the leaving included; `by_tick` when a tick that was kept woke it.
    pub(crate) fn woke(&mut self, cpu: u32, state: usize, for_ns: u64, by_tick: bool, tick_ns: u64) {
        let device = &mut self.devices[cpu as usize];
        count(&self.spec.states, &mut device.usages, state, for_ns);
        match self.governor {
            IdleGovernor::Ladder => device.ladder.woke(state, for_ns.saturating_sub(self.spec.states[state].exit_ns)),
            IdleGovernor::Menu => device.menu.woke(&self.spec.states[state], for_ns, by_tick, tick_ns),
        }
    }

    /// A CPU comes into service: it knows nothing, has counted nothing, and may use all states.
    pub(crate) fn begin_anew(&mut self, cpu: u32) {
        self.devices[cpu as usize] = Device::new(&self.spec.states);
    }
}

/// The states as a governor sees them: some are kept from use.
struct Among<'a> {
    states: &'a [IdleState],
    usages: &'a [Usage],
}

impl Among<'_> {
    fn is_disabled(&self, state: usize) -> bool {
        self.usages[state].disabled
    }

    /// States that may be used, with their places, shallow first.
    fn usable(&self) -> impl DoubleEndedIterator<Item = (usize, &IdleState)> {
        self.states.iter().enumerate().filter(|(place, _)| !self.is_disabled(*place))
    }
}

/// Books a sleep, and whether another state would have suited it better.
fn count(states: &[IdleState], usages: &mut [Usage], state: usize, for_ns: u64) {
    let own = &states[state];
    let (above, below) = if for_ns < own.residency_ns {
        (usages[..state].iter().any(|shallower| !shallower.disabled), false)
    } else {
        let deeper = (state + 1..states.len()).find(|&deeper| !usages[deeper].disabled);
        let slept_ns = for_ns.saturating_sub(own.exit_ns);
        (false, slept_ns > 0 && deeper.is_some_and(|deeper| slept_ns >= states[deeper].residency_ns))
    };
    let usage = &mut usages[state];
    usage.entered += 1;
    usage.time_ns += for_ns;
    usage.above += u64::from(above);
    usage.below += u64::from(below);
}

#[cfg(test)]
mod tests;
