//! One process of the daemon in time: when it looks, what it sets, how long it sleeps then.
use std::collections::VecDeque;

use crate::{Decision, Group, PAUSE_MS, Sums};

/// What holds a group where it is, whatever its CPUs do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pin {
    /// The fastest step, as SIGUSR1 asks for.
    Fastest,
    /// The slowest step, as SIGUSR2 asks for.
    Slowest,
}

/// A group, the clocks still to be set, and what holds it.
#[derive(Clone, Debug)]
pub struct Walker {
    group: Group,
    walk: VecDeque<u32>,
    pin: Option<Pin>,
}

/// What to do now that it is awake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Woken {
    /// What it saw, where it looked.
    pub decision: Option<Decision>,
    /// The clock to set, kHz.
    pub khz: Option<u32>,
    /// How long it sleeps then, ms.
    pub sleep_ms: u64,
}

impl Walker {
    /// It sets its fastest step as soon as it is first awake.
    #[must_use]
    pub fn new(group: Group) -> Self {
        let walk = group.khz().into_iter().collect();
        Walker { group, walk, pin: None }
    }

    /// Whether it looks when it is next awake, and has to be handed its CPUs' sums; else it is on a walk.
    #[must_use]
    pub fn looks_next(&self) -> bool {
        self.walk.is_empty()
    }

    /// It is awake: it goes on with its walk, or looks at its CPUs' sums as they are now.
    pub fn wake(&mut self, now: &[Sums]) -> Woken {
        let mut decision = None;
        if self.walk.is_empty() && self.pin.is_none() {
            let decided = self.group.look(now);
            self.walk = decided.walk.iter().copied().collect();
            decision = Some(decided);
        }
        let khz = self.walk.pop_front();
        let pause_ms = if khz.is_some() { u64::from(PAUSE_MS) } else { 0 };
        let interval_ms = if self.walk.is_empty() { self.group.options().interval_ms() } else { 0 };
        Woken { decision, khz, sleep_ms: pause_ms + interval_ms }
    }

    /// Holds it at an end of its steps, or lets it decide again with what its CPUs do from `now` on. It is to be woken at
    /// once.
    pub fn pin(&mut self, pin: Option<Pin>, now: &[Sums]) {
        self.pin = pin;
        match pin {
            // Behind what is left of a walk, which ends where the group is.
            Some(Pin::Fastest) => self.walk.extend(self.group.go_fastest()),
            Some(Pin::Slowest) => self.walk.extend(self.group.go_slowest()),
            None => self.group.begin_again(now),
        }
    }
}
