//! What becomes of an experiment that is interrupted, drawn from the seed: what it tries, on which ground, and how each of
//! its owners ends before the last.
use powerband_experiment::{Plan, Resolved, resolve};
use powerband_load::{CounterLoad, Load, StreamLoad};
use powerband_record::{Metric, Started};
use powerband_sim::SimWorld;
use powerband_testkit::faults::Ending;

use super::draw::Draw;
use super::files::{MACHINES, profile};
use super::story::setting;

/// Time a load runs and a setting settles, ms.
const LOAD_MS: u64 = 4;
const SETTLE_MS: u64 = 3;

/// A whole experiment, for the place of an interruption.
pub(super) const PARTS: u64 = 1 << 20;

/// Time of a trial that is only computed, ns.
pub(super) const TRIAL_NS: u64 = 1_000_000_000;

/// What answers the trials, and how those that stand come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ground {
    /// A simulated machine from its boot: everything is computed again.
    Boot,
    /// One machine that outlives its owners. What a trial comes to depends on its number alone, so that it can be compared.
    Survivor,
    /// No machine: a formula by number, and experiments as long as they get.
    Formula,
}

impl Ground {
    /// All of them.
    pub(super) const ALL: [Ground; 3] = [Ground::Boot, Ground::Survivor, Ground::Formula];
}

/// How an owner is interrupted, after a part of what the whole experiment takes, in [`PARTS`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Break {
    /// It ends at a step.
    Ends(u64, Ending),
    /// From a step on the ledger's disk is full.
    LedgerFull(u64),
    /// The journal takes so many events and no more.
    JournalFull(u64),
    /// It is asked to stop in one of its waits; on a formula, in one of its trials.
    Stop(u64),
}

/// A mistake in going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slip {
    /// One event more stands than does.
    KeepsAnEventTooMany,
    /// The last finished trial does not stand.
    LosesAFinishedTrial,
    /// What was compared is appended once more.
    AppendsWhatStands,
    /// What stands is not compared: no mistake yet.
    ComparesNothing,
    /// A trial that stands is run again.
    RunsOneAgain,
    /// A trial that stands is answered with what another came to.
    AnswersFromAnother,
    /// What the last owner turned stays.
    LeavesWhatIsHeld,
    /// Time begins again with each owner.
    ClockFromZero,
}

/// An experiment and its interruptions.
#[derive(Clone, Debug)]
pub(super) struct Course {
    pub(super) seed: u64,
    pub(super) ground: Ground,
    pub(super) machine: &'static str,
    /// The other end of a stream; only where both boot anew, since what strikes an owner does not reach there.
    pub(super) far: Option<&'static str>,
    /// Settings next to the baseline.
    pub(super) settings: Vec<String>,
    pub(super) blocks: u32,
    pub(super) warmup: u32,
    /// One for each owner but the last.
    pub(super) breaks: Vec<Break>,
    /// Whether a power cut takes the events that were not synced.
    pub(super) loses: bool,
    pub(super) slip: Option<Slip>,
}

impl Course {
    /// The course of a seed.
    pub(super) fn of(seed: u64) -> Self {
        let mut draw = Draw::new(seed, 1);
        let ground = draw.pick(&Ground::ALL);
        let machine = draw.pick(&MACHINES);
        let far = (ground == Ground::Boot && draw.chance(1, 2)).then(|| draw.pick(&MACHINES));
        let settings = (0..1 + draw.below(2)).map(|_| both(&mut draw, machine, far)).collect();
        let number = |n: u64| u32::try_from(n).unwrap();
        let (blocks, warmup) = (number(1 + draw.below(3)), number(draw.below(3)));
        let breaks = (0..1 + draw.below(4)).map(|_| Break::of(&mut draw)).collect();
        Course { seed, ground, machine, far, settings, blocks, warmup, breaks, loses: draw.chance(1, 2), slip: None }
    }

    /// The machines, booted.
    pub(super) fn world(&self) -> SimWorld {
        SimWorld::new(profile(self.machine), self.far.map(profile), self.seed).unwrap()
    }

    /// The experiment as it begins; `None` when the machine cannot do it.
    pub(super) fn begin(&self) -> Option<Resolved> {
        let for_ns = LOAD_MS * 1_000_000;
        let load = match self.far {
            Some(_) => Load::Stream(StreamLoad { for_ns, ..StreamLoad::default() }),
            None => Load::Counter(CounterLoad { for_ns, ..CounterLoad::default() }),
        };
        let mut plan = Plan::of(load);
        plan.settings.push("found:".into());
        plan.settings.extend((0..).zip(&self.settings).map(|(n, setting): (u32, _)| format!("s{n}:{setting}")));
        plan.settle = Some(format!("{SETTLE_MS}ms"));
        plan.seed = Some(self.seed);
        (plan.blocks, plan.warmup) = (Some(self.blocks), Some(self.warmup));
        let mut begun = resolve(&plan, &mut self.world()).ok()?;
        if self.ground == Ground::Formula {
            self.enlarge(&mut begun.started);
        }
        Some(begun)
    }

    /// What formulas answer may be larger: more settings, more blocks, now and then a knee or a budget.
    fn enlarge(&self, started: &mut Started) {
        let mut draw = Draw::new(self.seed, 2);
        let others = 1 + u32::try_from(draw.below(4)).unwrap();
        let setting = |n: u32| powerband_record::PlannedSetting { label: format!("f{n}"), turns: String::new() };
        started.settings = (0..=others).map(setting).collect();
        started.metrics.truncate(1);
        started.metrics.iter_mut().for_each(|metric: &mut Metric| metric.judged = true);
        (started.max_blocks, started.warmup) = (2 + u32::try_from(draw.below(9)).unwrap(), self.warmup * 2);
        match draw.below(3) {
            0 => started.cost_order = (1..=others).chain([0]).collect(),
            1 => started.budget_ns = Some((5 + draw.below(60)) * TRIAL_NS),
            _ => {}
        }
    }
}

/// A setting of the near machine, and of the far one next to it.
fn both(draw: &mut Draw, near: &str, far: Option<&str>) -> String {
    let mut both = setting(draw, near, true);
    for word in far.map(|far| setting(draw, far, false)).unwrap_or_default().split(' ').filter(|word| !word.is_empty())
    {
        both += &format!(" far/{word}");
    }
    both
}

impl Break {
    fn of(draw: &mut Draw) -> Self {
        let part = draw.below(PARTS);
        match draw.below(6) {
            0 | 1 => Break::Ends(part, Ending::Crash),
            2 => Break::Ends(part, Ending::PowerCut),
            3 => Break::LedgerFull(part),
            4 => Break::JournalFull(part),
            _ => Break::Stop(part),
        }
    }
}
