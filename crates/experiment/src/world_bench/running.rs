//! Running a load on a bench: a stretch at a time, under the meters, and what 100 % is where it is run at shares of that.
use std::collections::BTreeMap;

use powerband_load::{Calibrate, IdleLoad, Load, Stage};
use powerband_machine::Sampling;
use powerband_record::{CpuList, LoadVariant, Side, Void, Work};

use super::{InForce, WorldBench};
use crate::execution::{Background, Execution, Place, Ran};
use crate::metering::{Around, Sessions};
use crate::stretches::Stretch;
use crate::throttled::Counts;
use crate::{Halt, Journal};

/// The metric that adds up over time.
const ENERGY: &str = "energy_j";

/// What a load takes beyond its length to begin and to end, ns.
const SILENCE_BEYOND_NS: u64 = 2_000_000_000;

/// Of energy over several runs of a command, the share of one.
fn of_a_run(name: String, value: f64, runs: u32) -> (String, f64) {
    let is_sum = name == ENERGY || name.ends_with(&format!("/{ENERGY}"));
    let value = if is_sum { value / f64::from(runs) } else { value };
    (name, value)
}

/// Longer than any trial, ns: a busy loop is ended with the load.
const ENDLESS_NS: u64 = 1 << 58;

/// The work that runs next to the load.
fn background(changes: &LoadVariant) -> Vec<Background> {
    let spin = |side, cpu: u32| Background {
        side,
        work: Work::Counter { for_ns: ENDLESS_NS, align_to_second: false },
        cpus: Some(CpuList::new(vec![cpu])),
        name: format!("spin@cpu{cpu}"),
    };
    let works = changes.background.iter().flat_map(|(side, what)| match what {
        powerband_record::Background::None => Vec::new(),
        powerband_record::Background::Spin(cpus) => cpus.as_slice().iter().map(|&cpu| spin(*side, cpu)).collect(),
        powerband_record::Background::Command(text) => {
            let text = changes.filled(text);
            let argv = ["sh", "-c", &text].map(str::to_owned).to_vec();
            vec![Background { side: *side, work: Work::command(argv), cpus: None, name: text }]
        }
    });
    works.collect()
}

impl WorldBench<'_> {
    /// The near machine as the rig calls it: of a list the first.
    pub(super) fn near(&self) -> Side {
        self.machines.first().copied().unwrap_or_default()
    }

    /// What near parts run in, and what runs next to the load.
    pub(super) fn place(&self, in_force: &InForce, setting: u32) -> Place {
        let near = in_force.iter().find(|(side, _)| *side == self.near());
        let changes = self.variants.get(setting as usize).map(|variant| &variant.changes);
        Place {
            group: near.and_then(|(_, applied)| applied.group.clone()),
            user: self.user.clone(),
            background: changes.map(background).unwrap_or_default(),
        }
    }

    /// Runs one stretch of the load under the meters.
    pub(super) fn stretch(&mut self, stage: &Stage, place: Place) -> Result<Stretch, Halt> {
        let sessions = self.metering.open(self.world, &self.metered);
        let group = place.group.clone();
        let asking = stage.load.asking_tool().zip(group.as_deref());
        let held_before = self.held_back(asking);
        let ran = Halt::split(self.run_in_silence(&stage.load, place, sessions.watches()))?;
        let held_after = self.held_back(asking);
        self.throttling.add(held_before, held_after);
        let nothing = Around::new();
        let after = if ran.is_ok() { Halt::split(self.linger(&sessions))? } else { Ok(Around::new()) };
        let metered = sessions.close(
            self.world,
            ran.as_ref().map_or(&nothing, |ran| &ran.around),
            after.as_ref().unwrap_or(&nothing),
        );
        after?;
        let ran = ran?;
        let histograms = stage.load.histograms(&ran.finishes);
        let mut concluded = stage.conclude(&ran.finishes)?;
        let repeated = stage.load.runs(&ran.finishes);
        let runs = repeated.as_ref().map_or(1, |repeated| repeated.runs);
        concluded.values.extend(metered.values.into_iter().map(|(name, value)| of_a_run(name, value, runs)));
        concluded.missing.extend(metered.refused);
        self.told.append(&mut concluded.notes);
        Ok(Stretch {
            measured: concluded.values,
            refused: concluded.missing,
            left_out: metered.left_out,
            timelines: metered.timelines,
            histograms,
            finishes: ran.finishes,
            repeated,
        })
    }

    /// The kernel's counts of how often limits have held loads back.
    fn held_back(&mut self, asking: Option<(&'static str, &str)>) -> Counts {
        let near = self.near();
        self.world.machine(near).map(|machine| self.throttling.look(machine, asking)).unwrap_or_default()
    }

    /// Finds out what 100 % is, under the reference, before the first trial of a load that is a share of it.
    pub(super) fn calibrate(&mut self, journal: &mut dyn Journal) -> Result<(), Halt> {
        let at_reference = matches!(self.load.calibration(), Some((Calibrate::Reference, _)));
        if self.full_per_s.is_some() || !at_reference {
            return Ok(());
        }
        let mut in_force = InForce::new();
        let found = self.calibrating(&mut in_force, journal);
        self.put_back(&in_force)?;
        self.all_here()?;
        found
    }

    fn calibrating(&mut self, in_force: &mut InForce, journal: &mut dyn Journal) -> Result<(), Halt> {
        self.turn(0, in_force)?.map_err(|error| Void::NotTurned { why: error.to_string() })?;
        let now_ns = self.world.now_ns();
        self.wait(now_ns + self.settle_ns)?;
        self.find_full(&self.place(in_force, 0), journal)
    }

    /// Runs the load as fast as it goes, under what is in force, until it is known what 100 % is.
    pub(super) fn find_full(&mut self, place: &Place, journal: &mut dyn Journal) -> Result<(), Halt> {
        let Some((_, interval)) = self.load.calibration() else { return Ok(()) };
        let mut intervals = Vec::new();
        loop {
            journal.tell(&format!("calibrating, interval {}", intervals.len() + 1));
            intervals.push(self.stretch(&interval, place.clone())?.measured);
            if let Some(found) = self.load.calibrated(&intervals)? {
                self.full_per_s = Some(found);
                return Ok(());
            }
        }
    }

    /// Lets the machines read their meters on until what comes late has come.
    fn linger(&mut self, sessions: &Sessions) -> Result<Around, Halt> {
        let (for_ns, watches) = sessions.late();
        if for_ns == 0 {
            return Ok(Around::new());
        }
        let idle = Load::Idle(IdleLoad { for_ns });
        let ran = self.announced(for_ns.saturating_add(SILENCE_BEYOND_NS), &idle, Place::default(), watches)?;
        Ok(ran.around)
    }

    /// Runs the load; meanwhile the machines have nothing to tell each other but its beginning and its end.
    pub(super) fn run_in_silence(
        &mut self,
        load: &Load,
        place: Place,
        watches: BTreeMap<Side, Vec<Sampling>>,
    ) -> Result<Ran, Halt> {
        let from_ns = self.world.now_ns();
        let silence_ns = load.length_ns().unwrap_or(self.longest_ns).saturating_add(SILENCE_BEYOND_NS);
        let ran = Halt::split(self.announced(silence_ns, load, place, watches))?;
        self.longest_ns = self.longest_ns.max(self.world.now_ns() - from_ns);
        self.leftovers.add(ran.as_ref().map_or(0, |ran| ran.left_behind));
        Ok(ran?)
    }

    /// Runs a load during a silence that is announced to the machines, ns.
    pub(super) fn announced(
        &mut self,
        silence_ns: u64,
        load: &Load,
        place: Place,
        watches: BTreeMap<Side, Vec<Sampling>>,
    ) -> Result<Ran, Halt> {
        self.world.hush(silence_ns);
        let ran = Halt::split(Execution::run(self.world, load, &self.rig, place, watches))?;
        self.world.hush(0);
        Ok(ran?)
    }
}
