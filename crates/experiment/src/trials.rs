//! The trials of an experiment, one after the other, with their events: what every loop over them has in common, from the
//! first to the last word of the journal.
use std::collections::BTreeMap;

use powerband_record::{
    Calibration, CloseReason, Event, Fact, Finding, KneeFinding, Level, Outcome, PlannedTrial, RequirementStanding,
    SearchFinding, SettingVerdict, Started, Void,
};
use powerband_stats::steady::warm_up_is_over;
use powerband_stats::{Scale, TrialTime};

use crate::left_out::LeftOut;
use crate::unmeasured::Unmeasured;
use crate::{Bench, Fatal, Halt, Journal};

/// What gives nothing valid this often in a row is given up.
pub(crate) const TRIES: u32 = 3;

/// Why a loop ended before its natural end.
pub(crate) enum End {
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

/// What a loop found, next to what its trials count themselves.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) blocks: u32,
    pub(crate) verdicts: Vec<SettingVerdict>,
    pub(crate) requirements: Vec<RequirementStanding>,
    pub(crate) calibrations: Vec<Calibration>,
    pub(crate) levels: Vec<Level>,
    pub(crate) knee: Option<KneeFinding>,
    pub(crate) search: Option<SearchFinding>,
    pub(crate) notes: Vec<String>,
}

/// A loop over trials.
pub(crate) trait Course {
    /// Everything up to its natural end.
    fn all(&mut self, trials: &mut Trials<'_>) -> Result<CloseReason, End>;

    /// What was found, however it ended.
    fn found(self, reason: &CloseReason) -> Found;
}

/// Runs a loop between the first and the last event.
pub(crate) fn conduct<C: Course>(mut course: C, mut trials: Trials<'_>) -> Result<Finding, Fatal> {
    trials.journal.record(&Event::Started(Box::new(trials.started.clone())))?;
    match course.all(&mut trials) {
        Ok(reason) | Err(End::Close(reason)) => {
            let found = course.found(&reason);
            trials.close(reason, found, Vec::new())
        }
        Err(End::Fatal(fatal)) => {
            // The journal may be what failed: its own error must not hide the first.
            let left = match &fatal {
                Fatal::CannotRestore { what } => vec![what.clone()],
                _ => Vec::new(),
            };
            let reason = CloseReason::Failed { why: fatal.to_string() };
            let found = course.found(&reason);
            let _ = trials.close(reason, found, left);
            Err(fatal)
        }
    }
}

/// The trials so far, and the bench that answers the next.
pub(crate) struct Trials<'a> {
    pub(crate) started: &'a Started,
    pub(crate) bench: &'a mut dyn Bench,
    pub(crate) journal: &'a mut dyn Journal,
    /// Time of the latest event, ns since the beginning. Whatever is decided by time is decided by this one, so that the
    /// journal alone says what comes next.
    pub(crate) at_ns: u64,
    /// Valid trials in blocks.
    pub(crate) valid: u32,
    began_ns: u64,
    /// The latest trial.
    pub(crate) latest: Option<PlannedTrial>,
    /// The setting of the trial right before the latest, where that was valid.
    before: Option<u32>,
    /// The setting of the latest trial, where that was valid.
    previous: Option<u32>,
    next_trial: u32,
    voids: u32,
    reference_seen: bool,
    /// Failures of the reference before it gave anything.
    first_failures: u32,
    unmeasured: Unmeasured,
    left_out: LeftOut,
}

impl<'a> Trials<'a> {
    pub(crate) fn new(started: &'a Started, bench: &'a mut dyn Bench, journal: &'a mut dyn Journal) -> Self {
        let began_ns = bench.now_ns();
        Trials {
            started,
            bench,
            journal,
            at_ns: 0,
            valid: 0,
            began_ns,
            latest: None,
            before: None,
            previous: None,
            next_trial: 0,
            voids: 0,
            reference_seen: false,
            first_failures: 0,
            unmeasured: Unmeasured::default(),
            left_out: LeftOut::default(),
        }
    }

    /// Looks at the clock for an event: ns since the beginning.
    pub(crate) fn clock(&mut self) -> u64 {
        self.at_ns = self.bench.now_ns() - self.began_ns;
        self.at_ns
    }

    pub(crate) fn out_of_time(&self) -> bool {
        self.started.budget_ns.is_some_and(|budget| self.at_ns >= budget)
    }

    /// One trial with its events; void trials are answered as such, stop and fatal ends end. `fits` says why an outcome
    /// does not count although its load went well.
    pub(crate) fn one(
        &mut self,
        block: u32,
        setting: u32,
        copy: u32,
        fits: impl Fn(&Outcome) -> Result<(), Void>,
    ) -> Result<Result<Outcome, Void>, End> {
        let trial = PlannedTrial { trial: self.next_trial, block, setting, copy, at_ns: self.clock() };
        (self.latest, self.next_trial) = (Some(trial), self.next_trial + 1);
        self.before = self.previous.take();
        self.journal.record(&Event::TrialStarted(trial))?;
        let answer = Halt::split(self.bench.trial(&trial, self.journal))?;
        let answer = answer.and_then(|outcome| {
            let outcome = finite(outcome, self.started)?;
            fits(&outcome).map(|()| outcome)
        });
        let at_ns = self.clock();
        match answer {
            Ok(outcome) => {
                self.journal.record(&Event::TrialDone { trial: trial.trial, at_ns, outcome: outcome.clone() })?;
                self.reference_seen |= setting == 0;
                self.previous = Some(setting);
                Ok(Ok(outcome))
            }
            Err(why) => {
                self.voids += 1;
                self.journal.record(&Event::TrialVoid { trial: trial.trial, at_ns, why: why.clone() })?;
                match why {
                    Void::Stopped => Err(End::Close(CloseReason::Stopped)),
                    // A load that cannot even run as the machine is found would only fail again and again.
                    Void::LoadFailed { .. } | Void::NoMetric { .. } | Void::Lossy { .. }
                        if setting == 0 && !self.reference_seen && self.has_failed_enough() =>
                    {
                        Err(End::Close(CloseReason::LoadFailed { why: why.to_string() }))
                    }
                    why => Ok(Err(why)),
                }
            }
        }
    }

    /// Whether one more failure of the reference, before it gave anything, ends it: at once, or after as many as end it later
    /// where the load may fail.
    fn has_failed_enough(&mut self) -> bool {
        self.first_failures += 1;
        let may_fail = self.started.load.get("ignore_failure").and_then(serde_json::Value::as_bool);
        self.first_failures >= if may_fail == Some(true) { TRIES } else { 1 }
    }

    /// How long the latest trial took from turning to restoring, ns.
    pub(crate) fn took_ns(&self) -> u64 {
        self.latest.map_or(0, |trial| self.at_ns - trial.at_ns)
    }

    /// When the latest trial ran.
    pub(crate) fn ran(&self) -> TrialTime {
        let before = self.before.and_then(|setting| usize::try_from(setting).ok());
        TrialTime { trial: self.latest.map_or(0, |trial| trial.trial), before }
    }

    /// A valid trial in a block counts.
    pub(crate) fn count(&mut self, outcome: &Outcome) {
        self.valid += 1;
        self.unmeasured.take(outcome);
        self.left_out.take(outcome);
    }

    /// Reference trials that do not count, until two in a row are close.
    pub(crate) fn warm_up(&mut self) -> Result<(), End> {
        let mut values = Vec::new();
        for _ in 0..self.started.warmup {
            let Ok(outcome) = self.one(0, 0, 0, |_| Ok(()))? else { continue };
            let value = self.started.metrics.first().and_then(|metric| outcome.metrics.get(&metric.name)).copied();
            values.extend(value);
            let scale = if values.iter().all(|&value| value > 0.0) { Scale::Log } else { Scale::Linear };
            if warm_up_is_over(&values, scale, None) || self.out_of_time() {
                break;
            }
        }
        Ok(())
    }

    /// A setting has no more trials.
    pub(crate) fn leave(&mut self, setting: u32, block: u32, why: &str) -> Result<(), End> {
        self.journal.record(&Event::SettingLeft { setting, block, why: why.into() })?;
        Ok(())
    }

    fn close(mut self, reason: CloseReason, found: Found, mut left: Vec<String>) -> Result<Finding, Fatal> {
        self.bench.finish();
        let Found { blocks, verdicts, requirements, calibrations, levels, knee, search, notes: found } = found;
        let mut notes = self.bench.causes();
        notes.extend(found);
        notes.extend(self.unmeasured.notes(self.valid));
        notes.extend(self.left_out.notes(self.valid));
        notes.extend(self.bench.notes());
        let finding = Finding {
            reason,
            at_ns: self.clock(),
            blocks,
            trials: self.valid,
            voids: self.voids,
            verdicts,
            requirements,
            calibrations,
            levels,
            knee,
            search: search.map(Box::new),
            notes,
        };
        let entries = self.bench.restored();
        left.extend(self.bench.left());
        let changed = Fact::changes(&self.started.facts, &self.bench.facts());
        self.journal.record(&Event::Restored { entries, failed: left, changed })?;
        self.journal.record(&Event::Closed(finding.clone()))?;
        Ok(finding)
    }
}

/// The outcome without metrics that are no finite number, which a journal cannot hold; void where a decision rests on one.
fn finite(mut outcome: Outcome, started: &Started) -> Result<Outcome, Void> {
    let all = std::mem::take(&mut outcome.metrics);
    let (finite, not): (BTreeMap<_, _>, BTreeMap<_, _>) = all.into_iter().partition(|(_, value)| value.is_finite());
    outcome.metrics = finite;
    for (metric, value) in not {
        let why = format!("it came to {value}, which is no finite number");
        if started.metrics.iter().any(|it| it.judged && it.name == metric) {
            return Err(Void::NoMetric { metric, why });
        }
        outcome.refused.insert(metric, why);
    }
    Ok(outcome)
}

/// An index as the journal writes it.
pub(crate) fn index(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
