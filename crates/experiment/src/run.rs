//! The loop: warm-up, then blocks of every open setting in random order, a look after each, until all is decided or
//! the blocks, the time or the user's patience end. It knows trials and verdicts, nothing of machines or statistics.
use powerband_record::{BlockDone, CloseReason, Event, Finding, Outcome, PlannedTrial, Started, Void};
use powerband_stats::limit::LEAST_BLOCK;
use powerband_stats::steady::warm_up_is_over;
use powerband_stats::{Patience, Scale, Slot, block_order, reference_copies, slots};

use crate::calibrating::{self, Calibrating};
use crate::judging::{Judging, Look};
use crate::left_out::LeftOut;
use crate::unmeasured::Unmeasured;
use crate::{Bench, Fatal, Journal};

/// A slot that gives nothing valid this often in a row is given up.
const TRIES: u32 = 3;

/// Runs an experiment to its end. Every event goes to the journal before the next thing happens; the last is
/// [`Event::Closed`], also when the user stopped it.
///
/// # Errors
/// [`Fatal`] when it could not go on. What was measured until then is in the journal.
pub fn run(started: &Started, bench: &mut dyn Bench, journal: &mut dyn Journal) -> Result<Finding, Fatal> {
    let mut run = Run::new(started, bench, journal);
    run.journal.record(&Event::Started(Box::new(started.clone())))?;
    let reason = run.all();
    match reason {
        Ok(reason) | Err(End::Close(reason)) => run.close(reason, Vec::new()),
        Err(End::Fatal(fatal)) => {
            // The journal may be what failed: its own error must not hide the first.
            let left = match &fatal {
                Fatal::CannotRestore { what } => vec![what.clone()],
                _ => Vec::new(),
            };
            let _ = run.close(CloseReason::Failed { why: fatal.to_string() }, left);
            Err(fatal)
        }
    }
}

/// Why the loop ended before its natural end.
enum End {
    Close(CloseReason),
    Fatal(Fatal),
}

impl From<Fatal> for End {
    fn from(fatal: Fatal) -> Self {
        End::Fatal(fatal)
    }
}

impl From<crate::JournalError> for End {
    fn from(error: crate::JournalError) -> Self {
        End::Fatal(error.into())
    }
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

struct Run<'a> {
    started: &'a Started,
    bench: &'a mut dyn Bench,
    journal: &'a mut dyn Journal,
    judging: Judging,
    /// What is measured where nothing is to be decided.
    calibrating: Option<Calibrating>,
    places: Vec<Place>,
    /// Settings left out because they gave nothing valid, with the last reason.
    given_up: Vec<Void>,
    patience: Patience,
    began_ns: u64,
    /// Time of the latest event, ns since the beginning. Whatever is decided by time is decided by this one, so that the
    /// journal alone says what comes next.
    at_ns: u64,
    next_trial: u32,
    blocks: u32,
    valid: u32,
    voids: u32,
    reference_seen: bool,
    longest_block_ns: u64,
    look: Look,
    notes: Vec<String>,
    unmeasured: Unmeasured,
    left_out: LeftOut,
}

impl<'a> Run<'a> {
    fn new(started: &'a Started, bench: &'a mut dyn Bench, journal: &'a mut dyn Journal) -> Self {
        let settings = started.settings.len();
        let began_ns = bench.now_ns();
        Run {
            started,
            bench,
            journal,
            judging: Judging::new(started),
            calibrating: started.calibration.then(Calibrating::default),
            places: vec![Place::Open; settings],
            given_up: Vec::new(),
            patience: Patience::default(),
            began_ns,
            at_ns: 0,
            next_trial: 0,
            blocks: 0,
            valid: 0,
            voids: 0,
            reference_seen: false,
            longest_block_ns: 0,
            look: Look::default(),
            notes: Vec::new(),
            unmeasured: Unmeasured::default(),
            left_out: LeftOut::default(),
        }
    }

    fn all(&mut self) -> Result<CloseReason, End> {
        self.bench.rehearse()?;
        self.warm_up()?;
        self.blocks()
    }

    /// Looks at the clock for an event: ns since the beginning.
    fn clock(&mut self) -> u64 {
        self.at_ns = self.bench.now_ns() - self.began_ns;
        self.at_ns
    }

    /// One trial with its events; void trials are answered as such, stop and fatal ends end.
    fn trial(&mut self, block: u32, setting: u32, copy: u32) -> Result<Result<Outcome, Void>, End> {
        let trial = PlannedTrial { trial: self.next_trial, block, setting, copy, at_ns: self.clock() };
        self.next_trial += 1;
        self.journal.record(&Event::TrialStarted(trial))?;
        let answer = self.bench.trial(&trial, self.journal)?;
        let at_ns = self.clock();
        match answer {
            Ok(outcome) => {
                if let Some(calibrating) = self.calibrating.as_mut().filter(|_| block > 0) {
                    calibrating.take(&trial, at_ns, &outcome);
                }
                self.journal.record(&Event::TrialDone { trial: trial.trial, at_ns, outcome: outcome.clone() })?;
                self.reference_seen |= setting == 0;
                Ok(Ok(outcome))
            }
            Err(why) => {
                self.voids += 1;
                self.journal.record(&Event::TrialVoid { trial: trial.trial, at_ns, why: why.clone() })?;
                match why {
                    Void::Stopped => Err(End::Close(CloseReason::Stopped)),
                    // A load that cannot even run as the machine is found would only fail again and again.
                    Void::LoadFailed { .. } | Void::NoMetric { .. } if setting == 0 && !self.reference_seen => {
                        Err(End::Close(CloseReason::LoadFailed { why: why.to_string() }))
                    }
                    why => Ok(Err(why)),
                }
            }
        }
    }

    /// Reference trials that do not count, until two in a row are close.
    fn warm_up(&mut self) -> Result<(), End> {
        let mut values = Vec::new();
        for _ in 0..self.started.warmup {
            let Ok(outcome) = self.trial(0, 0, 0)? else { continue };
            let value = self.started.metrics.first().and_then(|metric| outcome.metrics.get(&metric.name)).copied();
            values.extend(value);
            let scale = if values.iter().all(|&value| value > 0.0) { Scale::Log } else { Scale::Linear };
            if warm_up_is_over(&values, scale, None) || self.out_of_time() {
                break;
            }
        }
        Ok(())
    }

    fn blocks(&mut self) -> Result<CloseReason, End> {
        while self.blocks < self.started.max_blocks {
            if !self.places.iter().skip(1).any(|&place| place == Place::Open) {
                self.take_up_again();
            }
            if let Some(reason) = self.settled() {
                return Ok(reason);
            }
            if self.blocks >= self.least_blocks() && self.no_time_for_a_block() {
                return Ok(CloseReason::Budget);
            }
            let from_ns = self.at_ns;
            if !self.block(self.blocks + 1)? {
                return Ok(CloseReason::Budget);
            }
            self.longest_block_ns = self.longest_block_ns.max(self.at_ns - from_ns);
            self.blocks += 1;
            self.look()?;
        }
        Ok(self.settled().unwrap_or(CloseReason::Blocks))
    }

    /// How it ends when nothing is left to find out: decided, unless nothing but the reference ever ran.
    fn settled(&self) -> Option<CloseReason> {
        if self.given_up.len() + 1 == self.places.len() {
            let last = self.given_up.last()?;
            let why = format!("no setting but the reference gave anything valid: {last}");
            return Some(match last {
                Void::LoadFailed { .. } | Void::NoMetric { .. } => CloseReason::LoadFailed { why },
                _ => CloseReason::Failed { why },
            });
        }
        let open = self.places.iter().skip(1).any(|&place| place != Place::Left);
        let settled = !open || (self.look.knee_complete && !self.started.cost_order.is_empty());
        settled.then_some(CloseReason::Decided)
    }

    /// Blocks that are run however short the time is.
    fn least_blocks(&self) -> u32 {
        if self.started.calibration { calibrating::LEAST_BLOCKS } else { 1 }
    }

    fn out_of_time(&self) -> bool {
        self.started.budget_ns.is_some_and(|budget| self.at_ns >= budget)
    }

    fn no_time_for_a_block(&self) -> bool {
        self.started.budget_ns.is_some_and(|budget| self.at_ns + self.longest_block_ns > budget)
    }

    /// Every open setting once, the reference once or twice, in random order. False when time ran out inside.
    fn block(&mut self, block: u32) -> Result<bool, End> {
        let is_open = |&setting: &usize| self.places[setting] == Place::Open;
        let open: Vec<usize> = (1..self.places.len()).filter(is_open).collect();
        let copies = self.copies(open.len());
        let slots = slots(copies, &open);
        self.judging.begin_block();
        for slot in block_order(self.started.seed, block, &slots) {
            if self.out_of_time() && self.blocks >= self.least_blocks() {
                return Ok(false);
            }
            self.slot(block, slot)?;
        }
        Ok(true)
    }

    /// How often the reference runs in a block. Levels are no differences: where they are held against a limit, trials of the
    /// same setting are kept apart by more of the reference.
    fn copies(&self, open: usize) -> usize {
        if self.started.robust {
            return 1;
        }
        let levels = self.started.requirements.iter().any(|requirement| !requirement.relative);
        let filled = if levels { LEAST_BLOCK.saturating_sub(open) } else { 0 };
        reference_copies(open).max(filled)
    }

    /// One slot of a block, repeated while it is void.
    fn slot(&mut self, block: u32, slot: Slot) -> Result<(), End> {
        if self.places[slot.setting] == Place::Left {
            return Ok(());
        }
        let mut last = Void::Stopped;
        for _ in 0..TRIES {
            match self.trial(block, index(slot.setting), index(slot.copy))? {
                Ok(outcome) => {
                    self.valid += 1;
                    self.judging.take(slot, &outcome);
                    self.unmeasured.take(&outcome);
                    self.left_out.take(&outcome);
                    return Ok(());
                }
                Err(why) => last = why,
            }
        }
        if slot.setting == 0 {
            return Err(End::Close(CloseReason::LoadFailed {
                why: format!("the reference gave nothing valid {TRIES} times in a row: {last}"),
            }));
        }
        self.given_up.push(last.clone());
        let label = &self.started.settings[slot.setting].label;
        self.notes.push(format!("{label} gave nothing valid {TRIES} times in a row and was left out: {last}"));
        self.leave(index(slot.setting), block, &format!("void {TRIES} times in a row: {last}"))
    }

    fn leave(&mut self, setting: u32, block: u32, why: &str) -> Result<(), End> {
        self.places[setting as usize] = Place::Left;
        self.journal.record(&Event::SettingLeft { setting, block, why: why.into() })?;
        Ok(())
    }

    /// Looks at the blocks so far, tells, and lets decided settings go.
    fn look(&mut self) -> Result<(), End> {
        if self.calibrating.is_none() {
            self.look = self.judging.look();
        }
        let done = BlockDone {
            block: self.blocks,
            at_ns: self.clock(),
            verdicts: self.look.verdicts.clone(),
            requirements: self.look.requirements.clone(),
            knee: self.look.knee.clone(),
        };
        self.journal.record(&Event::BlockDone(done))?;
        for (setting, why) in std::mem::take(&mut self.look.decided) {
            if self.places[setting as usize] != Place::Left {
                self.leave(setting, self.blocks, &why)?;
            }
        }
        self.set_aside()
    }

    /// Settings that two looks in a row predict to need more blocks than there are make room for the others.
    fn set_aside(&mut self) -> Result<(), End> {
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
            if self.patience.gives_up(setting, predicted, self.blocks_affordable()) && others {
                self.places[setting] = Place::Aside;
                let why = "set aside: predicted to need more than there is".to_owned();
                self.journal.record(&Event::SettingLeft { setting: index(setting), block: self.blocks, why })?;
            }
        }
        Ok(())
    }

    /// How many blocks there can be in all.
    fn blocks_affordable(&self) -> u32 {
        let by_time = self.started.budget_ns.map(|budget| {
            let left = budget.saturating_sub(self.at_ns) / self.longest_block_ns.max(1);
            self.blocks.saturating_add(u32::try_from(left).unwrap_or(u32::MAX))
        });
        by_time.map_or(self.started.max_blocks, |blocks| blocks.min(self.started.max_blocks))
    }

    fn take_up_again(&mut self) {
        for setting in 1..self.places.len() {
            if self.places[setting] == Place::Aside {
                self.places[setting] = Place::Open;
                self.patience.renew(setting);
            }
        }
    }

    fn close(mut self, reason: CloseReason, mut left: Vec<String>) -> Result<Finding, Fatal> {
        let calibrating = self.calibrating.as_ref();
        let results = calibrating.map(|it| it.results(self.started, self.judging.spending()));
        let (calibrations, untold) = results.unwrap_or_default();
        self.notes.extend(untold);
        self.notes.extend(self.judging.notes());
        self.notes.extend(self.unmeasured.notes(self.valid));
        self.notes.extend(self.left_out.notes(self.valid));
        self.notes.extend(self.bench.notes());
        let finding = Finding {
            reason,
            at_ns: self.clock(),
            blocks: self.blocks,
            trials: self.valid,
            voids: self.voids,
            verdicts: self.look.verdicts,
            requirements: self.look.requirements,
            calibrations,
            levels: self.judging.levels(),
            knee: self.look.knee,
            notes: self.notes,
        };
        let entries = self.bench.restored();
        left.extend(self.bench.left());
        self.journal.record(&Event::Restored { entries, failed: left })?;
        self.journal.record(&Event::Closed(finding.clone()))?;
        Ok(finding)
    }
}

/// An index as the journal writes it.
fn index(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
