//! The ladder governor: one state deeper after four sleeps that were longer than leaving it takes, one up after a short one.
use super::{Among, IdleState};

/// Long sleeps in a row that lead one state deeper.
const LONG_SLEEPS: u32 = 4;

/// Where one CPU stands.
#[derive(Clone, Debug)]
pub(super) struct Ladder {
    last: usize,
    /// Its last sleep less the time of leaving, ns.
    slept_ns: u64,
    /// Long sleeps in the present state.
    long: u32,
}

fn first(states: &[IdleState]) -> usize {
    usize::from(states.len() > 1 && states[0].polls)
}

impl Ladder {
    pub(super) fn new(states: &[IdleState]) -> Self {
        Ladder { last: first(states), slept_ns: 0, long: 0 }
    }

    pub(super) fn woke(&mut self, state: usize, slept_ns: u64) {
        (self.last, self.slept_ns) = (state, slept_ns);
    }

    fn go(&mut self, state: usize) -> usize {
        (self.last, self.long) = (state, 0);
        state
    }

    pub(super) fn choose(&mut self, among: &Among<'_>, limit_ns: u64) -> usize {
        let (states, last, first) = (among.states, self.last, first(among.states));
        if limit_ns == 0 {
            return self.go(0);
        }
        let slept_ns = std::mem::take(&mut self.slept_ns);
        if let Some(deeper) = states.get(last + 1)
            && !among.is_disabled(last + 1)
            && slept_ns > states[last].exit_ns
            && deeper.exit_ns <= limit_ns
        {
            self.long += 1;
            if self.long >= LONG_SLEEPS {
                return self.go(last + 1);
            }
        }
        if last > first && (among.is_disabled(last) || states[last].exit_ns > limit_ns) {
            let lighter = (first + 1..last).rev().find(|&state| states[state].exit_ns <= limit_ns);
            return self.go(lighter.unwrap_or(first));
        }
        if last > first && slept_ns < states[last].exit_ns {
            return self.go(last - 1);
        }
        last
    }
}
