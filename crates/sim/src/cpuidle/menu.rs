//! The menu governor of Linux 6.1: how long will this sleep be, going by the next timer and by the last eight sleeps.
use super::{Among, Choice, IdleState, Question};

/// Sleeps remembered.
const RING: usize = 8;

/// A correction of 1: 1024 times a decay of 8.
const WHOLE: u64 = 1_024 * DECAY;
const DECAY: u64 = 8;

/// A sleep from which on a prediction counts as right, ns.
const LONG_NS: u64 = 50_000_000;

/// What one CPU has learned.
#[derive(Clone, Debug)]
pub(super) struct Menu {
    /// Past sleeps, us.
    ring: [u64; RING],
    next: usize,
    /// How much shorter sleeps turned out than the time to the next timer, by its magnitude.
    factors: [u64; 12],
    bucket: usize,
    next_timer_ns: u64,
}

impl Default for Menu {
    fn default() -> Self {
        Menu { ring: [0; RING], next: 0, factors: [WHOLE; 12], bucket: 0, next_timer_ns: 0 }
    }
}

/// The magnitude of a time to the next timer; another set of them while somebody waits for input or output.
fn bucket(next_timer_ns: u64, iowaiters: u32) -> usize {
    let us = next_timer_ns / 1_000;
    let magnitude = [10, 100, 1_000, 10_000, 100_000].iter().take_while(|&&border| us >= border).count();
    magnitude + if iowaiters > 0 { 6 } else { 0 }
}

impl Menu {
    /// The sleep to expect, ns.
    fn predict(&self) -> u64 {
        let unit = WHOLE * 1_000;
        let by_timer = u128::from(self.next_timer_ns) * u128::from(self.factors[self.bucket]) + u128::from(unit / 2);
        let us = u64::try_from(by_timer / u128::from(unit)).unwrap_or(u64::MAX);
        self.typical(us).unwrap_or(us).min(us).saturating_mul(1_000)
    }

    /// The length that past sleeps agree on, us; long ones are left out until they do.
    fn typical(&self, predicted_us: u64) -> Option<u64> {
        let mut threshold = u64::MAX;
        loop {
            let kept = || self.ring.iter().copied().filter(|&us| us <= threshold);
            let count = kept().count() as u64;
            if count == 0 || kept().min().is_some_and(|least| least >= predicted_us) {
                return None;
            }
            let average = kept().sum::<u64>() / count;
            let squares: u128 = kept().map(|us| u128::from(us.abs_diff(average)).pow(2)).sum();
            let variance = squares / u128::from(count);
            let enough = count * 4 >= RING as u64 * 3;
            if variance <= 400 || (enough && u128::from(average).pow(2) > variance * 36) {
                return Some(average);
            }
            if count * 4 <= RING as u64 * 3 {
                return None;
            }
            threshold = kept().max().unwrap_or(1) - 1;
        }
    }

    /// The state to enter, and whether the tick is stopped for it.
    pub(super) fn choose(&mut self, among: &Among<'_>, question: &Question) -> Choice {
        let states = among.states;
        self.next_timer_ns = question.next_timer_ns;
        self.bucket = bucket(question.next_timer_ns, question.iowaiters);
        let mut limit_ns = question.limit_ns;
        let first = Choice { state: 0, stops_tick: !states[0].polls };
        if states.len() == 1 || limit_ns == 0 {
            return first;
        }
        let too_short = question.next_timer_ns < states[1].residency_ns || limit_ns < states[1].exit_ns;
        if too_short && !among.is_disabled(0) {
            return first;
        }
        let mut predicted_ns = self.predict();
        if question.tick_stopped {
            if predicted_ns < question.tick_ns {
                predicted_ns = question.next_timer_ns;
            }
        } else {
            limit_ns = limit_ns.min(predicted_ns / (1 + 10 * u64::from(question.iowaiters)));
        }
        let (state, predicted_ns) = pick(among, question, predicted_ns, limit_ns);
        let keeps_tick = !question.tick_stopped && (states[state].polls || predicted_ns < question.tick_ns);
        if !keeps_tick || states[state].residency_ns <= question.next_tick_ns {
            return Choice { state, stops_tick: !keeps_tick };
        }
        // The tick will end this sleep: a state that is worth it until then, or the lightest.
        let shallower = || among.usable().rev().filter(|(place, _)| *place < state);
        let fits = shallower().find(|(_, shallow)| shallow.residency_ns <= question.next_tick_ns);
        let state = fits.or_else(|| shallower().next_back()).map_or(state, |(place, _)| place);
        Choice { state, stops_tick: false }
    }

    /// A sleep is over; it lasted `for_ns`, leaving the state included.
    pub(super) fn woke(&mut self, state: &IdleState, for_ns: u64, by_tick: bool, tick_ns: u64) {
        let measured_ns = if by_tick && self.next_timer_ns > tick_ns {
            // Only the tick was wrong about how long it would be.
            LONG_NS / 10 * 9
        } else if for_ns > 2 * state.exit_ns {
            for_ns - state.exit_ns
        } else {
            for_ns / 2
        };
        let measured_ns = measured_ns.min(self.next_timer_ns);
        let factor = &mut self.factors[self.bucket];
        *factor -= *factor / DECAY;
        *factor += if self.next_timer_ns > 0 && measured_ns < LONG_NS {
            1_024 * measured_ns / self.next_timer_ns
        } else {
            1_024
        };
        self.ring[self.next] = measured_ns / 1_000;
        self.next = (self.next + 1) % RING;
    }
}

/// The deepest state that suits, and the sleep to expect in view of it, ns.
fn pick(among: &Among<'_>, question: &Question, predicted_ns: u64, limit_ns: u64) -> (usize, u64) {
    let states = among.states;
    let Some((mut found, _)) = among.usable().next() else { return (0, predicted_ns) };
    for (place, state) in among.usable() {
        if state.residency_ns > predicted_ns {
            let suits_timer = state.residency_ns <= question.next_timer_ns;
            if states[found].polls && state.exit_ns <= limit_ns && suits_timer {
                return (place, state.residency_ns);
            }
            if predicted_ns < question.tick_ns {
                break;
            }
            if !question.tick_stopped {
                // Shallow, so the tick is kept to look again.
                return (found, states[found].residency_ns);
            }
            if states[found].residency_ns < question.tick_ns && state.residency_ns <= question.next_tick_ns {
                found = place;
            }
            break;
        }
        if state.exit_ns > limit_ns {
            break;
        }
        found = place;
    }
    (found, predicted_ns)
}

#[cfg(test)]
mod tests;
