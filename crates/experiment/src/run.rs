//! The loop: warm-up, then blocks of every open setting in random order, a look after each, until all is decided or
//! the blocks, the time or the user's patience end. It knows trials and verdicts, nothing of machines or statistics.
use powerband_record::{BlockDone, CloseReason, Event, Finding, Requirement, Started, Void, is_loss};
use powerband_stats::limit::{MIN_BLOCK, MIN_TRIALS};
use powerband_stats::{Patience, Slot, next_look, open_order, slots};

use crate::calibrating::{self, Calibrating};
use crate::judging::{Judging, Look};
use crate::trials::{Course, End, Found, TRIES, Trials, conduct, index};
use crate::{Bench, Fatal, Journal};

/// Runs an experiment to its end. Every event goes to the journal before the next thing happens; the last is
/// [`Event::Closed`], also when the user stopped it.
///
/// # Errors
/// [`Fatal`] when it could not go on. What was measured until then is in the journal.
pub fn run(started: &Started, bench: &mut dyn Bench, journal: &mut dyn Journal) -> Result<Finding, Fatal> {
    run_to(started, &[], bench, journal)
}

/// As [`run`], beyond its block limit to those it was extended to.
pub(crate) fn run_to(
    started: &Started,
    limits: &[u32],
    bench: &mut dyn Bench,
    journal: &mut dyn Journal,
) -> Result<Finding, Fatal> {
    if let Some(search) = &started.search {
        return crate::tune::tune(started, search, bench, journal);
    }
    let trials = Trials::new(started, bench, journal);
    conduct(Blocks::new(started, limits), trials)
}

/// Blocks that are run however short the time is.
pub(crate) fn least_blocks(started: &Started) -> u32 {
    if started.calibration { calibrating::MIN_BLOCKS } else { 1 }
}

/// How often the reference runs in a block with so many other settings: once. Levels are no differences: where they are held
/// against a limit, trials of the same setting are kept apart by more of the reference.
pub(crate) fn copies(started: &Started, open: usize) -> usize {
    let exact = started.min_blocks == started.max_blocks;
    if started.robust || exact {
        return 1;
    }
    let levels = started.requirements.iter().any(|requirement| !requirement.relative);
    if levels { MIN_BLOCK.saturating_sub(open).max(1) } else { 1 }
}

/// Where a setting stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the blocks.
    Open,
    /// Predicted to need more than there is; taken up again when the others are done.
    Aside,
    /// Decided, or given up for good.
    Left,
}

struct Blocks<'a> {
    started: &'a Started,
    judging: Judging,
    /// What is measured where nothing is to be decided.
    calibrating: Option<Calibrating>,
    places: Vec<Place>,
    /// Settings left out because they gave nothing valid, with the last reason.
    given_up: Vec<Void>,
    patience: Patience,
    /// The block limit it was begun with and those it was extended to, in turn. Up to each of them everything is as it was
    /// when it was the last.
    limits: Vec<u32>,
    blocks: u32,
    longest_block_ns: u64,
    look: Look,
    /// The block of the latest look.
    looked_at: u32,
    notes: Vec<String>,
}

impl Course for Blocks<'_> {
    fn all(&mut self, trials: &mut Trials<'_>) -> Result<CloseReason, End> {
        for (setting, why) in trials.bench.rehearse()? {
            self.leave(trials, setting, 0, &why)?;
        }
        trials.warm_up()?;
        self.blocks(trials)
    }

    fn found(mut self, _: &CloseReason) -> Found {
        let calibrating = self.calibrating.as_ref();
        let results = calibrating.map(|it| it.results(self.started, self.judging.spending()));
        let (calibrations, untold) = results.unwrap_or_default();
        self.notes.extend(untold);
        self.judging.keep_blocks(self.blocks);
        if self.looked_at < self.blocks {
            self.look_at_all();
        }
        let levels = self.judging.levels();
        self.notes.extend(self.judging.notes());
        Found {
            blocks: self.blocks,
            verdicts: self.look.verdicts,
            requirements: self.look.requirements,
            calibrations,
            levels,
            knee: self.look.knee,
            search: None,
            notes: self.notes,
        }
    }
}

impl<'a> Blocks<'a> {
    fn new(started: &'a Started, extended: &[u32]) -> Self {
        Blocks {
            limits: [&[started.max_blocks], extended].concat(),
            started,
            judging: Judging::new(started),
            calibrating: started.calibration.then(Calibrating::default),
            places: vec![Place::Open; started.settings.len()],
            given_up: Vec::new(),
            patience: Patience::default(),
            blocks: 0,
            longest_block_ns: 0,
            look: Look::default(),
            looked_at: 0,
            notes: Vec::new(),
        }
    }

    fn blocks(&mut self, trials: &mut Trials<'_>) -> Result<CloseReason, End> {
        while self.limits.iter().any(|&limit| self.blocks < limit) {
            if !self.places.iter().skip(1).any(|&place| place == Place::Open) {
                self.reactivate_deferred();
            }
            if let Some(reason) = self.settled() {
                return Ok(reason);
            }
            if self.blocks >= least_blocks(self.started) && self.no_time_for_a_block(trials) {
                return Ok(CloseReason::Budget);
            }
            let from_ns = trials.at_ns;
            if !self.block(trials, self.blocks + 1)? {
                return Ok(CloseReason::Budget);
            }
            self.longest_block_ns = self.longest_block_ns.max(trials.at_ns - from_ns);
            self.blocks += 1;
            self.look(trials)?;
        }
        Ok(self.settled().unwrap_or(CloseReason::Blocks))
    }

    /// How it ends when nothing is left to find out: decided, unless nothing but the reference ever ran.
    fn settled(&self) -> Option<CloseReason> {
        if self.given_up.len() + 1 == self.places.len() {
            let last = self.given_up.last()?;
            let why = format!("no setting but the reference gave anything valid: {last}");
            return Some(match last {
                Void::LoadFailed { .. } | Void::NoMetric { .. } | Void::Lossy { .. } => CloseReason::LoadFailed { why },
                _ => CloseReason::Failed { why },
            });
        }
        if self.blocks < self.started.min_blocks {
            return None;
        }
        let open = self.places.iter().skip(1).any(|&place| place != Place::Left);
        let settled = !open || (self.look.knee_complete && !self.started.cost_order.is_empty());
        settled.then_some(CloseReason::Decided)
    }

    fn no_time_for_a_block(&self, trials: &Trials<'_>) -> bool {
        self.started.budget_ns.is_some_and(|budget| trials.at_ns + self.longest_block_ns > budget)
    }

    /// Every open setting once, the reference once or twice, in random order. False when time ran out inside.
    fn block(&mut self, trials: &mut Trials<'_>, block: u32) -> Result<bool, End> {
        let is_open = |&setting: &usize| self.places[setting] == Place::Open;
        let open: Vec<usize> = (1..self.places.len()).filter(is_open).collect();
        let slots_of = |open: &[usize]| slots(copies(self.started, open.len()), open);
        let (all, slots) = (slots_of(&Vec::from_iter(1..self.places.len())), slots_of(&open));
        self.judging.begin_block();
        for slot in open_order(self.started.seed, block - 1, &all, &slots) {
            if trials.out_of_time() && self.blocks >= least_blocks(self.started) {
                return Ok(false);
            }
            self.slot(trials, block, slot)?;
        }
        Ok(true)
    }

    /// One slot of a block, repeated while it is void.
    fn slot(&mut self, trials: &mut Trials<'_>, block: u32, slot: Slot) -> Result<(), End> {
        if self.places[slot.setting] == Place::Left {
            return Ok(());
        }
        let mut last = Void::Stopped;
        let mut tries = 0;
        while tries < self.tries(&last) {
            tries += 1;
            match trials.one(block, index(slot.setting), index(slot.copy), |_| Ok(()))? {
                Ok(outcome) => {
                    trials.count(&outcome);
                    if let (Some(calibrating), Some(trial)) = (&mut self.calibrating, &trials.latest) {
                        calibrating.take(trial, trials.at_ns, &outcome);
                    }
                    let at_ns = trials.latest.map_or(0, |trial| trial.at_ns);
                    self.judging.take(slot, &outcome, trials.ran(), at_ns);
                    return Ok(());
                }
                Err(why) => {
                    self.judging.void(slot, &why, trials.ran());
                    last = why;
                }
            }
        }
        if slot.setting == 0 {
            return Err(End::Close(CloseReason::LoadFailed {
                why: format!("the reference gave nothing valid {tries} times in a row: {last}"),
            }));
        }
        // Where a limit is set on what is lost, losing too much is an answer.
        if !self.is_limited(&last) {
            self.given_up.push(last.clone());
        }
        let label = &self.started.settings[slot.setting].label;
        self.notes.push(format!("{label} gave nothing valid {tries} times in a row and was left out: {last}"));
        self.leave(trials, index(slot.setting), block, &format!("void {tries} times in a row: {last}"))
    }

    /// How often in a row a setting may give nothing valid; as often as a limit on losses takes to be broken.
    fn tries(&self, last: &Void) -> u32 {
        if self.is_limited(last) { MIN_TRIALS } else { TRIES }
    }

    /// Whether a trial is void for losing more than a limit on losses lets it.
    fn is_limited(&self, void: &Void) -> bool {
        let Void::Lossy { lost_percent, .. } = void else { return false };
        let beyond =
            |it: &Requirement| !it.relative && is_loss(&it.metric) && !it.relation.holds(*lost_percent, it.limit);
        self.started.requirements.iter().any(beyond)
    }

    fn leave(&mut self, trials: &mut Trials<'_>, setting: u32, block: u32, why: &str) -> Result<(), End> {
        self.places[setting as usize] = Place::Left;
        trials.leave(setting, block, why)
    }

    /// Looks at the blocks so far when that is due, tells, and lets decided settings go.
    fn look(&mut self, trials: &mut Trials<'_>) -> Result<(), End> {
        let due = self.blocks >= next_look(self.looked_at) || self.limits.contains(&self.blocks);
        if due {
            self.look_at_all();
        }
        let done = BlockDone {
            block: self.blocks,
            at_ns: trials.clock(),
            verdicts: self.look.verdicts.clone(),
            requirements: self.look.requirements.clone(),
            knee: self.look.knee.clone(),
            search: None,
        };
        trials.journal.record(&Event::BlockDone(done))?;
        if self.blocks < self.started.min_blocks {
            return Ok(());
        }
        for (setting, why) in std::mem::take(&mut self.look.decided) {
            if self.places[setting as usize] != Place::Left {
                self.leave(trials, setting, self.blocks, &why)?;
            }
        }
        if due { self.set_aside(trials) } else { Ok(()) }
    }

    fn look_at_all(&mut self) {
        self.looked_at = self.blocks;
        if self.calibrating.is_none() {
            self.look = self.judging.look();
        }
    }

    /// Settings that two looks in a row predict to need more blocks than there is time for make room for the others.
    fn set_aside(&mut self, trials: &mut Trials<'_>) -> Result<(), End> {
        // Without an end in time nobody waits for the others' blocks.
        if self.started.budget_ns.is_none() {
            return Ok(());
        }
        if !self.started.cost_order.is_empty() {
            // The knee is a matter of all pairs; how long one of them takes against the reference says nothing.
            return Ok(());
        }
        for setting in 1..self.places.len() {
            if self.places[setting] != Place::Open {
                continue;
            }
            let Some(predicted) = self.look.slowest(index(setting)) else { continue };
            let others = self.places.iter().skip(1).filter(|&&place| place == Place::Open).count() > 1;
            if self.patience.gives_up(setting, predicted, self.blocks_affordable(trials)) && others {
                self.places[setting] = Place::Aside;
                let why = "deferred: predicted to exceed the time there is".to_owned();
                trials.journal.record(&Event::SettingLeft { setting: index(setting), block: self.blocks, why })?;
            }
        }
        Ok(())
    }

    /// How many blocks there can be in all.
    fn blocks_affordable(&self, trials: &Trials<'_>) -> u32 {
        let by_time = self.started.budget_ns.map(|budget| {
            let left = budget.saturating_sub(trials.at_ns) / self.longest_block_ns.max(1);
            self.blocks.saturating_add(u32::try_from(left).unwrap_or(u32::MAX))
        });
        let limit = self.limits.iter().copied().find(|&limit| limit >= self.blocks).unwrap_or(self.blocks);
        by_time.map_or(limit, |blocks| blocks.min(limit))
    }

    fn reactivate_deferred(&mut self) {
        for setting in 1..self.places.len() {
            if self.places[setting] == Place::Aside {
                self.places[setting] = Place::Open;
                self.patience.renew(setting);
            }
        }
    }
}
