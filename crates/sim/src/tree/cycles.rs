//! What perf counts: the cycles of each CPU, and how its counters are read.
use powerband_machine::{Errno, PerfPlace};

use super::{Node, Tree};
use crate::board::Board;
use crate::profile::Profile;

/// Events of perf's device `msr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// Ticks of a clock that stays, all the time.
    Tsc,
    /// Cycles, while not idle.
    Aperf,
    /// Ticks of the clock that stays, while not idle.
    Mperf,
}

const EVENTS: [(&str, Event); 3] = [("tsc", Event::Tsc), ("aperf", Event::Aperf), ("mperf", Event::Mperf)];

/// kHz × ns in a cycle.
const KHZ_NS: u128 = 1_000_000;

impl Tree {
    pub(super) fn add_cycles(&mut self, profile: &Profile) {
        if profile.tsc_khz.is_none() {
            return;
        }
        for (number, (event, counted)) in EVENTS.into_iter().enumerate() {
            for &cpu in profile.present.as_slice() {
                let place = PerfPlace { device: "msr", event, cpu };
                self.add(place.to_string(), Node::Cycles(counted, cpu));
                self.add(place.file(), Node::Fixed(format!("event=0x{number:02x}\n")));
                self.add(format!("{}/type", place.folder()), Node::Fixed("10\n".into()));
                self.add(format!("{}/format/event", place.folder()), Node::Fixed("config:0-63\n".into()));
            }
        }
    }
}

impl Board {
    /// A counter of perf, since boot.
    pub(super) fn count(&self, place: &str) -> Result<String, Errno> {
        match self.tree.nodes.get(place) {
            Some(&Node::Meter { place, .. }) => self.show_meter(place),
            Some(&Node::Cycles(event, cpu)) => self.show_cycles(event, cpu),
            _ => Err(Errno::ENOENT),
        }
    }

    pub(super) fn show_cycles(&self, event: Event, cpu: u32) -> Result<String, Errno> {
        let this = self.cpus.get(cpu as usize).filter(|cpu| cpu.online).ok_or(Errno::ENODEV)?;
        let tsc_khz = u128::from(self.profile.tsc_khz.unwrap_or(0));
        let (cycles, cycling_ns) = this.cycles(self.now_ns);
        let sum = match event {
            Event::Tsc => tsc_khz * u128::from(self.now_ns),
            Event::Aperf => cycles,
            Event::Mperf => tsc_khz * u128::from(cycling_ns),
        };
        Ok(format!("{}\n", sum / KHZ_NS))
    }
}
