//! A bench made of machines: turn the setting, let it settle, run the load under the meters, look whether the knobs are
//! still where they were put, and put everything back, whatever happened.
mod around;
pub(crate) mod daemon;
mod longest;
mod running;
mod shown;

use std::cell::RefCell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use powerband_knob::{Applied, ErrorKind, KnobError, Restored, Selection, apply, for_side, restore, verify};
use powerband_load::{Calibrate, Finishes, Load, MetricSpec, NumberStyles, RigEnds, Source};
use powerband_machine::{Hold, User, Wake, World};
use powerband_meter::{MeterInstance, MeterUnavailable};
use powerband_record::{
    Cool, Event, Fact, InOrder as _, Metric, Outcome, PlannedTrial, SearchPlan, Setting, Side, Void,
};

use crate::asked::{Valued, Values};
use crate::cooling::Cooling;
use crate::effect::{Effect, all_alike, repeated};
use crate::execution::Place;
use crate::foreign_writers::ForeignWriters;
use crate::leftovers::Leftovers;
use crate::metering::{Metering, side_of};
use crate::stretches::Stretches;
use crate::throttled::Throttling;
use crate::tune::{equal_levels, refused, refused_levels};
use crate::variants::Variant;
use crate::{Bench, Fatal, Halt, Journal, Resolved};

use around::Around;
pub use shown::{ShownMetric, ShownMetrics, ShownRun};

/// How long the link of a network device may stay down beyond the time to settle, ns …
const LINK_NS: u64 = 30_000_000_000;
/// … and how often it is looked at.
const LINK_LOOK_NS: u64 = 100_000_000;

/// Answers trials on the machines of a World.
pub struct WorldBench<'w> {
    world: &'w mut dyn World,
    settings: Vec<Setting>,
    metrics: Vec<Metric>,
    load: Load,
    /// What each setting changes about the load.
    variants: Vec<Variant>,
    /// What runs around trials.
    around: Around,
    picks: Vec<MetricSpec>,
    narrow: Selection,
    rig: RigEnds,
    settle_ns: u64,
    metering: Metering,
    /// Whose meters are read.
    metered: Vec<Side>,
    /// The machines of the rig, the one that makes the load first.
    machines: Vec<Side>,
    /// How cool it is to be before each load, and what waiting for that came to.
    cool: Option<Cool>,
    cooling: Cooling,
    /// Who else writes to what is turned.
    foreign_writers: ForeignWriters,
    user: Option<User>,
    /// The environment of a daemon, which changes the machine while we hold it.
    lent: BTreeMap<String, String>,
    seed: u64,
    /// What 100 % of a load is that is run at shares of it, a second, once that is known: of all trials or of this one.
    full_per_s: Option<f64>,
    /// Setting of the trial before: the same one again needs no settling.
    last: Option<u32>,
    restored: u32,
    /// How long the longest load has run so far, ns: the silence of one whose length nobody knows.
    longest_ns: u64,
    /// What was restored and read differently than before the first time it was turned.
    differs: Vec<(Side, Restored)>,
    /// What was left alone, a few words each.
    left: BTreeSet<String>,
    /// What one should know about what the load printed.
    told: BTreeSet<String>,
    /// How the numbers that it printed are written.
    written: RefCell<NumberStyles>,
    leftovers: Leftovers,
    throttling: Throttling,
    /// Where it was asked whether a guardian watches.
    guard_asked: BTreeSet<Side>,
}

/// What the report says where somebody asked for repeated runs of a command that leaves processes running.
const LEFT_BY_REPEATED: &str = "each run of the command leaves processes behind, and repeated within a trial it ran next to \
     those of the runs before; leave --repeat out, or use --repeat 1";

/// How long a load whose length nobody knows is expected to run at first, ns.
const UNKNOWN_LENGTH_NS: u64 = 30_000_000_000;

/// No machine is suspended for less, ns; two clocks read one after the other may be apart by less.
const MIN_SUSPENDED_NS: u64 = 100_000_000;

/// More than the blocks and copies of an experiment: trials of two seeds share no chance.
const DRAWS: u64 = 1_000_003;

/// What is in force during a trial, by side.
type InForce = Vec<(Side, Applied)>;

impl<'w> WorldBench<'w> {
    /// A bench for one experiment.
    pub fn new(world: &'w mut dyn World, resolved: &Resolved) -> Self {
        let mut address = |side| world.machine(side).map(|machine| machine.identity().address.clone());
        let rig = RigEnds { near: address(Side::Near).unwrap_or_default(), far: address(Side::Far) };
        let declared = resolved.started.command_meter.as_ref().and_then(|meter| MeterInstance::declared(meter).ok());
        let metering = Metering::find(world, &resolved.started.meters, declared.as_ref()).unwrap_or_default();
        let metering = metering.with_figures(resolved.measured(), resolved.narrow.cpus.as_ref());
        let metering = metering.with_courses(&resolved.started.record);
        let metered = resolved.measured().filter_map(side_of).flat_map(|side| world.covered(side)).collect();
        let machines = world.sides();
        WorldBench {
            machines,
            world,
            settings: resolved.settings.clone(),
            metrics: resolved.started.metrics.clone(),
            load: resolved.load.clone(),
            variants: resolved.variants.clone(),
            around: Around::new(resolved),
            picks: resolved.picks.clone(),
            narrow: resolved.narrow.clone(),
            rig,
            settle_ns: resolved.started.settle_ns,
            metering,
            metered,
            cool: resolved.started.cool,
            cooling: Cooling::default(),
            foreign_writers: ForeignWriters::default(),
            user: None,
            lent: BTreeMap::new(),
            seed: resolved.started.seed,
            full_per_s: None,
            last: None,
            restored: 0,
            longest_ns: UNKNOWN_LENGTH_NS,
            differs: Vec::new(),
            left: BTreeSet::new(),
            told: BTreeSet::new(),
            written: RefCell::default(),
            leftovers: Leftovers::default(),
            throttling: Throttling::default(),
            guard_asked: BTreeSet::new(),
        }
    }

    /// Near parts of the load run as this user.
    #[must_use]
    pub fn with_user(mut self, user: Option<User>) -> Self {
        self.user = user;
        self
    }

    /// Daemons get this environment, by which a powerband among them may change the machine that we hold.
    #[must_use]
    pub fn lending(mut self, environment: BTreeMap<String, String>) -> Self {
        self.lent = environment;
        self
    }

    /// Turns a setting on each side it concerns.
    fn turn(&mut self, setting: usize, in_force: &mut InForce) -> Result<Result<(), KnobError>, Fatal> {
        let setting = self.settings[setting].clone();
        for side in self.world.sides() {
            let part = for_side(&setting, side);
            let Some(machine) = self.world.machine(side) else { continue };
            if part.assignments.is_empty() {
                continue;
            }
            match apply(machine, &part, Hold::Held, &self.narrow) {
                Ok(applied) => {
                    self.foreign_writers.may_touch(side, &applied);
                    self.told.extend(applied.notes.iter().chain(&applied.unrestorable).cloned());
                    in_force.push((side, applied));
                    if self.guard_asked.insert(side)
                        && let Some(why) = machine.unguarded()
                    {
                        self.told.insert(without_guardian(side, &why));
                    }
                }
                Err(error @ KnobError::Ledger(_)) => return Err(Fatal::Ledger { why: error.to_string() }),
                Err(error) if error.kind() == ErrorKind::CannotRestore => {
                    return Err(Fatal::CannotRestore { what: error.to_string() });
                }
                Err(error) => return Ok(Err(error.on(side))),
            }
        }
        Ok(Ok(()))
    }

    /// Waits for the machine to settle after a switch, and for the links of network devices that were turned.
    fn settle(&mut self, trial: &PlannedTrial, in_force: &InForce) -> Result<(), Halt> {
        let same = self.last.replace(trial.setting) == Some(trial.setting);
        if same && in_force.iter().all(|(_, applied)| applied.links.is_empty()) {
            return Ok(());
        }
        let began_ns = self.world.now_ns();
        self.wait(began_ns + self.settle_ns)?;
        while let Some(down) = self.link_down(in_force) {
            let now_ns = self.world.now_ns();
            if now_ns > began_ns + self.settle_ns + LINK_NS {
                let why = format!("the link of {down} did not come back after the turn");
                return Err(Void::NotTurned { why }.into());
            }
            self.wait(now_ns + LINK_LOOK_NS)?;
        }
        Ok(())
    }

    /// Network devices that were turned and whose link is still down, if any are.
    fn link_down(&mut self, in_force: &InForce) -> Option<String> {
        in_force.iter().find_map(|(side, applied)| {
            let machine = self.world.machine(*side)?;
            (!applied.links_are_back(machine)).then(|| applied.links.join(", "))
        })
    }

    fn wait(&mut self, until_ns: u64) -> Result<(), Halt> {
        while Halt::check(self.world.wait(Some(until_ns)))? != Wake::Deadline {}
        Ok(())
    }

    /// Runs the load under the meters and reads every metric.
    fn measure(
        &mut self,
        in_force: &mut InForce,
        trial: &PlannedTrial,
        journal: &mut dyn Journal,
    ) -> Result<Outcome, Halt> {
        for (side, applied) in in_force.iter_mut() {
            if let Some(machine) = self.world.machine(*side) {
                applied.look_again(machine);
            }
            for reached in &applied.sites {
                let mut site = reached.record();
                site.knob = format!("{}{}", side.prefix(), site.knob);
                journal.record(&Event::Landed { trial: trial.trial, site })?;
            }
        }
        let place = self.place(in_force, trial.setting);
        if matches!(self.load.calibration(), Some((Calibrate::Each, _))) {
            self.find_full(&place, journal)?;
        }
        let mut runs = self.repeats(trial, &place, journal)?;
        let mut all = loop {
            let left_before = self.leftovers.runs();
            let all = self.runs(trial, runs, &place)?;
            if runs == 1 || self.leftovers.runs() == left_before {
                break all;
            }
            if self.around.is_given() {
                self.told.insert(LEFT_BY_REPEATED.to_owned());
                break all;
            }
            // It left nothing when it ran once: what it measured now is of no use.
            runs = self.once(trial, 0.0, journal)?;
        };
        self.load.sum_up(self.full_per_s, &mut all.measured);
        let left_out = self.left_out(&all.left_out);
        let Stretches { measured, refused, finishes, output, histograms, timelines, repeated, .. } = all;
        let outcome = self.outcome(&measured, &finishes, &refused)?;
        Ok(Outcome { histograms, left_out, timelines, output, repeated, ..outcome })
    }

    /// Runs the load so often, a stretch after the other.
    fn runs(&mut self, trial: &PlannedTrial, runs: u32, place: &Place) -> Result<Stretches, Halt> {
        let draw = u64::from(trial.block) * 2 + u64::from(trial.copy);
        let draw = self.seed.wrapping_mul(DRAWS).wrapping_add(draw);
        let load = self.variants[trial.setting as usize].load.clone().repeated(runs);
        let mut all = Stretches::default();
        for stage in load.stages(self.full_per_s, draw) {
            all.add(&stage.prefix, self.stretch(&stage, place.clone())?);
        }
        Ok(all)
    }

    /// How many readings were left out, by the names metrics have in the report.
    fn left_out(&self, measured: &BTreeMap<String, u32>) -> BTreeMap<String, u32> {
        let of = |metric: &Metric| {
            let pick = self.picks.iter().find(|pick| pick.metric.name == metric.name);
            let of = |name: &String| measured.get(name).copied().unwrap_or(0);
            let readings = match pick.map(|pick| &pick.source) {
                Some(Source::Measured(name)) => of(name),
                Some(Source::Ratio(over, under)) => of(over).saturating_add(of(under)),
                Some(_) => 0,
                None => of(&metric.name),
            };
            (readings > 0).then(|| (metric.name.clone(), readings))
        };
        self.metrics.iter().filter_map(of).collect()
    }

    /// The metrics asked for, from what was measured and printed.
    fn outcome(
        &self,
        measured: &BTreeMap<String, f64>,
        finishes: &Finishes,
        refused: &BTreeMap<String, String>,
    ) -> Result<Outcome, Void> {
        let mut outcome = Outcome { ended: self.load.ended(finishes), ..Outcome::default() };
        let own = self.load.own_words(finishes);
        let values = Values { picks: &self.picks, measured, refused, finishes: &own, written: &self.written };
        for metric in &self.metrics {
            match values.of(&metric.name) {
                Ok(Valued { value, picked }) => {
                    outcome.metrics.insert(metric.name.clone(), value);
                    let several = picked.map(|picked| picked.matches).filter(|matches| matches.count > 1);
                    outcome.matches.extend(several.map(|matches| (metric.name.clone(), matches)));
                }
                // What is only shown may be missing, with its reason; so may what is not judged as the command failed.
                Err(why) if !metric.judged || outcome.failure().is_some() => {
                    outcome.refused.insert(metric.name.clone(), why);
                }
                Err(why) => return Err(Void::NoMetric { metric: metric.name.clone(), why }),
            }
        }
        Ok(outcome)
    }

    /// Whether every knob is still where it was put, and nobody else has written to one.
    fn undisturbed(&mut self, in_force: &InForce) -> Result<(), Void> {
        for side in self.world.sides() {
            let Some(machine) = self.world.machine(side) else { continue };
            let writes = machine.take_writes();
            let applied = in_force.iter().filter(|(at, _)| *at == side).map(|(_, applied)| applied);
            let moved = applied.clone().flat_map(|applied| verify(machine, applied)).next();
            let turned: Vec<&str> =
                applied.flat_map(|applied| &applied.sites).filter_map(|reached| reached.site.path.as_deref()).collect();
            if let Some(void) = self.foreign_writers.disturbance(side, machine, moved, &turned, &writes) {
                return Err(void);
            }
        }
        Ok(())
    }

    /// Restores everything, newest first, and on each machine whatever failed on the other.
    fn put_back(&mut self, in_force: &InForce) -> Result<(), Fatal> {
        let mut failed = Vec::new();
        for (side, applied) in in_force.iter().rev() {
            // A lost machine restores by itself; the other one must not wait for it.
            if self.is_lost(*side) {
                continue;
            }
            let Some(machine) = self.world.machine(*side) else { continue };
            let restored = restore(machine, &applied.entries, false);
            if self.is_lost(*side) {
                continue;
            }
            self.restored += u32::try_from(restored.undone).unwrap_or(u32::MAX);
            if restored.failed.is_empty() {
                self.left.extend(restored.left());
            } else {
                failed.extend(restored.left());
            }
            self.note_differences(*side, restored);
        }
        if failed.is_empty() { Ok(()) } else { Err(Fatal::CannotRestore { what: failed.join(", ") }) }
    }
}

impl WorldBench<'_> {
    fn is_lost(&self, side: Side) -> bool {
        self.world.lost().is_some_and(|(lost, _)| lost == side)
    }

    /// Nothing that went wrong counts next to a machine that was lost.
    fn all_here(&self) -> Result<(), Fatal> {
        match self.world.lost() {
            Some((side, why)) => Err(Fatal::Lost { side: side.to_string(), why }),
            None => Ok(()),
        }
    }

    /// Remembers what reads differently than before; of one file only the first time, which knows what was found there.
    fn note_differences(&mut self, side: Side, restored: Restored) {
        if restored.inexact.is_empty() {
            return;
        }
        let known = self.differs.iter_mut().find(|(known, _)| *known == side).map(|(_, known)| known);
        let Some(known) = known else { return self.differs.push((side, restored)) };
        for it in restored.inexact {
            if !known.inexact.iter().any(|other| other.path == it.path) {
                known.inexact.push(it);
            }
        }
    }
}

/// That nobody restores what is held if its owner is killed.
fn without_guardian(side: Side, why: &str) -> String {
    let whose = match side {
        Side::Near => "powerband".to_owned(),
        other => format!("the {}'s powerband", other.words()),
    };
    format!(
        "no guardian process could be started ({why}): had {whose} been killed, its settings would have stayed until the next \
         powerband command"
    )
}

impl Bench for WorldBench<'_> {
    fn now_ns(&self) -> u64 {
        self.world.now_ns()
    }

    fn trial(&mut self, trial: &PlannedTrial, journal: &mut dyn Journal) -> Result<Outcome, Halt> {
        self.calibrate(journal)?;
        // The machine cools down as it was found.
        if let Some(cool) = self.cool {
            self.cooling.wait(self.world, &cool, journal)?;
        }
        self.set_up(trial.setting)?;
        let mut in_force = InForce::new();
        let result = self.turned_trial(trial, &mut in_force, journal);
        self.foreign_writers.let_be(self.world);
        // Before anything else is said or decided, the machine is as it was.
        self.put_back(&in_force)?;
        self.all_here()?;
        result
    }

    fn rehearse(&mut self) -> Result<Vec<(u32, String)>, Fatal> {
        let (mut effects, mut ignored) = (Vec::new(), None);
        for setting in 0..self.settings.len() {
            effects.push(match self.rehearsed(setting)? {
                Ok(effect) => effect,
                Err(error) => match Effect::ignored(&error, self.settings[setting].assignments.len()) {
                    Some(effect) => (effect, ignored.get_or_insert(error)).0,
                    None => return Err(error.into()),
                },
            });
        }
        let may = |one: usize, other: usize| self.differ_in_knobs(one, other);
        let left = repeated(&self.settings, &effects, may).map_err(|why| Fatal::NothingToCompare { why })?;
        ignored.map_or(Ok(()), Err)?;
        self.rehearse_meters().map(|()| left)
    }

    fn rehearse_levels(&mut self, plan: &SearchPlan) -> Result<Vec<(u32, String)>, Fatal> {
        let (mut first, mut effects, mut ignored, mut errors) = (None, BTreeMap::new(), Vec::new(), 0);
        let mut left = refused_levels(plan, |setting| {
            let error = match self.rehearsed(setting as usize)? {
                Ok(effect) => {
                    effects.insert(setting, effect);
                    return Ok::<_, Fatal>(None);
                }
                Err(error) => error,
            };
            errors += 1;
            ignored.extend(Effect::ignored(&error, self.settings[setting as usize].assignments.len()));
            Ok(Some((refused(&error.to_string()), first.get_or_insert(error)).0))
        })?;
        if let Some(error) = first.filter(|_| effects.is_empty()) {
            let alike = all_alike(&ignored).filter(|_| ignored.len() == errors);
            return Err(alike.map_or_else(|| error.into(), |why| Fatal::NothingToCompare { why }));
        }
        let equal = equal_levels(plan, &left, |one, other| {
            for setting in [one, other] {
                if let Entry::Vacant(entry) = effects.entry(setting) {
                    let Ok(effect) = self.rehearsed(setting as usize)? else { return Ok(None) };
                    entry.insert(effect);
                }
            }
            let labels = [one, other].map(|it| self.settings[it as usize].label());
            let may = self.differ_in_knobs(one as usize, other as usize);
            let left = effects[&one].left(&effects[&other], labels.each_ref().map(String::as_str));
            Ok::<_, Fatal>(left.filter(|_| may))
        })?;
        left.extend(equal);
        left.order_by_key(|(setting, _)| *setting);
        self.rehearse_meters().map(|()| left)
    }

    fn recall(&mut self, event: &Event) {
        self.around.recall(event);
        let Event::TrialDone { outcome, .. } = event else { return };
        let Some(output) = outcome.output.get("load") else { return };
        for pick in &self.picks {
            // What was read then is known; how it was written is wanted.
            drop(pick.pick(output, self.written.get_mut()));
        }
    }

    fn finish(&mut self) {
        self.clean_up();
    }

    fn restored(&self) -> u32 {
        self.restored
    }

    fn causes(&self) -> Vec<String> {
        self.throttling.notes().collect()
    }

    fn notes(&self) -> Vec<String> {
        let cooling = self.cool.map_or_else(Vec::new, |cool| self.cooling.notes(&cool));
        let told = self.told.iter().cloned().chain(self.leftovers.note()).chain(self.written.borrow().notes());
        self.metering.notes().into_iter().chain(self.foreign_writers.notes()).chain(cooling).chain(told).collect()
    }

    fn facts(&mut self) -> Vec<Fact> {
        crate::facts(self.world)
    }

    fn left(&mut self) -> Vec<String> {
        let mut left = self.left.clone();
        for (side, restored) in &mut self.differs {
            restored.wait_for_limits(self.world, *side);
            left.extend(restored.differs());
        }
        left.into_iter().collect()
    }
}

impl WorldBench<'_> {
    /// Turns a setting and puts it back.
    fn rehearsed(&mut self, setting: usize) -> Result<Result<Effect, KnobError>, Fatal> {
        let mut in_force = InForce::new();
        let turned = self.turn(setting, &mut in_force);
        self.put_back(&in_force)?;
        self.all_here()?;
        Ok(turned?.map(|()| Effect::of(&in_force)))
    }

    /// Whether two settings differ in nothing but knobs of the machines.
    fn differ_in_knobs(&self, one: usize, other: usize) -> bool {
        self.variants[one].changes == self.variants[other].changes
    }

    /// Opens every meter and closes it.
    fn rehearse_meters(&mut self) -> Result<(), Fatal> {
        let sessions = self.metering.open(self.world, &self.metered);
        let unavailable = sessions.unavailable();
        sessions.give_up(self.world);
        unavailable.map_or(Ok(()), |unavailable| match unavailable {
            MeterUnavailable::NotHere(why) => Err(Fatal::NoMeter { why }),
            MeterUnavailable::Silent(why) => Err(Fatal::Meter { why }),
        })
    }

    fn turned_trial(
        &mut self,
        trial: &PlannedTrial,
        in_force: &mut InForce,
        journal: &mut dyn Journal,
    ) -> Result<Outcome, Halt> {
        self.turn(trial.setting as usize, in_force)?.map_err(|error| Void::NotTurned { why: error.to_string() })?;
        self.foreign_writers.watch(self.world);
        let daemon = self.start_daemon(trial.setting, in_force)?;
        if daemon.is_some() {
            // It has just begun, whatever the trial before was.
            self.last = None;
        }
        let outcome = self.settled_trial(trial, in_force, journal);
        // Also after what ends the experiment.
        self.end_daemon(daemon, outcome)
    }

    fn settled_trial(
        &mut self,
        trial: &PlannedTrial,
        in_force: &mut InForce,
        journal: &mut dyn Journal,
    ) -> Result<Outcome, Halt> {
        self.settle(trial, in_force)?;
        self.prepare(trial.setting)?;
        let suspended_ns = self.world.suspended_ns();
        let measured = Halt::split(self.measure(in_force, trial, journal))?;
        let for_ns = self.world.suspended_ns().saturating_sub(suspended_ns);
        let measured = match measured {
            Err(Void::Stopped) => measured,
            // Whatever else went wrong then came of it.
            _ if for_ns >= MIN_SUSPENDED_NS => Err(Void::Suspended { for_ns }),
            _ => measured,
        };
        let outcome = measured.and_then(|outcome| self.undisturbed(in_force).map(|()| outcome));
        let concluded = Halt::split(self.conclude(trial.setting))?;
        Ok(outcome.and_then(|outcome| concluded.map(|()| outcome))?)
    }
}
