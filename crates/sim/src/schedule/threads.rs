//! What the two threads of a core share: its throughput, its idle state and its power.
//!
//! A core does more with both threads at work than with one, by a factor of the machine file. It sleeps no deeper than the
//! thread that sleeps less, and draws what that one asks for. Its clock is cpufreq's affair.
use std::cmp::Ordering;

use super::Cpu;
use crate::board::Board;
use crate::power::WHOLE_PPM;

/// All, half and nothing of a core's running power and leakage, millionths.
const WHOLE: (u64, u64) = (WHOLE_PPM, WHOLE_PPM);
const HALF: (u64, u64) = (WHOLE_PPM / 2, WHOLE_PPM / 2);
const NOTHING: (u64, u64) = (0, 0);

/// The shares that a CPU draws whose core has no other thread.
fn alone(cpu: &Cpu) -> (u64, u64) {
    cpu.nap.filter(|_| cpu.current.is_none()).map_or(WHOLE, |nap| nap.shares_ppm)
}

impl Board {
    /// What a CPU retires next to its core's other thread, millionths of what it does alone; `None` where threads share
    /// nothing.
    pub(super) fn pace_ppm(&self, cpu: u32) -> Option<u64> {
        let (thread_ppm, other) = (self.profile.thread_ppm?, self.profile.beside(cpu)?);
        Some(if self.cpus[other as usize].current.is_some() { thread_ppm } else { WHOLE_PPM })
    }

    /// A CPU, booked up to now, works, sleeps or wakes in another way than before: the other thread of its core goes on at
    /// another pace, and the two share in another way what the core draws.
    #[inline]
    pub(super) fn share_core(&mut self, cpu: u32) {
        if let Some(other) = self.profile.beside(cpu) {
            self.share_between(cpu, other);
        }
    }

    fn share_between(&mut self, cpu: u32, other: u32) {
        self.book(other);
        let [one, two] = [cpu, other].map(|cpu| &self.cpus[cpu as usize]);
        let shares = match (one.current.is_some() && two.current.is_some(), alone(one).cmp(&alone(two))) {
            (true, _) => [(self.profile.thread_ppm.unwrap_or(WHOLE_PPM), WHOLE_PPM / 2); 2],
            (false, Ordering::Greater) => [WHOLE, NOTHING],
            (false, Ordering::Less) => [NOTHING, WHOLE],
            (false, Ordering::Equal) => [HALF, HALF],
        };
        for (cpu, (running_ppm, leakage_ppm)) in [cpu, other].into_iter().zip(shares) {
            let (running, leakage) = self.profile.power.at(self.cpus[cpu as usize].khz);
            self.cpu(cpu).power_uw = (running * running_ppm / WHOLE_PPM, leakage * leakage_ppm / WHOLE_PPM);
        }
        self.aim(other);
    }

    /// The state that a CPU of an idle state has to leave: its own, or a less deep one in which the other thread keeps the
    /// core; next to one that works, the first state in which a thread halts.
    pub(super) fn state_of_core(&self, cpu: u32, own: usize) -> usize {
        let (Some(other), Some(idle)) = (self.profile.beside(cpu), &self.idle) else { return own };
        let halts = (0..=idle.deepest()).find(|&state| !idle.state(state).polls).unwrap_or(own);
        let nap = self.cpus[other as usize].nap;
        own.min(nap.map_or(halts, |nap| nap.keeps_core_in(own, halts)))
    }
}
