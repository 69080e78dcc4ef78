//! Going on: what stands of a journal that was interrupted, and the loop run over it again, so that nothing finished is
//! lost or repeated. The loop is a function of its plan and of what trials came to, so going on is doing it again: the
//! trials that stand are answered from the journal or computed once more, and every event is compared with what stands.
use std::cell::Cell;

use powerband_record::{CloseReason, Event, Fact, Finding, Outcome, PlannedTrial, SearchPlan, Started, Void};

use crate::run::run_to;
use crate::{Bench, Fatal, Halt, Journal, JournalError, ResumeError};

mod difference;

use difference::difference;

/// How the trials that stand come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// The bench computes them again from the beginning and must come to the same.
    Computed,
    /// They are answered from the journal; the bench answers what comes after. Its clock goes on from the last event.
    Recalled,
}

/// How many events of a journal stand, from its beginning: all up to the last finished trial and what followed from it at
/// once. A trial that did not end, or was void because it was stopped, does not stand; neither does how it ended.
///
/// # Errors
/// [`ResumeError::NotBegun`] without a plan at the beginning, [`ResumeError::Ended`] when it came to its own end,
/// [`ResumeError::AtLimit`] when that is one it can be extended from.
pub fn standing(events: &[Event]) -> Result<usize, ResumeError> {
    kept(events, |started, finding| match &finding.reason {
        CloseReason::Blocks if started.search.is_none() && !started.calibration => {
            Err(ResumeError::AtLimit { more: finding.blocks.saturating_mul(2) })
        }
        CloseReason::Blocks => Err(ResumeError::Ended { how: "the most blocks were run".into() }),
        other => ended(other),
    })
}

/// As [`standing`], of an experiment that is extended: it may also have come to its block limit.
///
/// # Errors
/// As [`standing`]; [`ResumeError::NotExtended`] when its time was used up.
pub fn standing_of_extended(events: &[Event]) -> Result<usize, ResumeError> {
    kept(events, |_, finding| match &finding.reason {
        CloseReason::Budget => {
            let why = "its time was used up; begin it again with a longer --budget".into();
            Err(ResumeError::NotExtended { why })
        }
        other => ended(other),
    })
}

fn kept(events: &[Event], may_go_on: fn(&Started, &Finding) -> Result<(), ResumeError>) -> Result<usize, ResumeError> {
    let Some(Event::Started(started)) = events.first() else { return Err(ResumeError::NotBegun) };
    if let Some(Event::Closed(finding)) = events.last() {
        may_go_on(started, finding)?;
    }
    let is_finished = |event: &Event| match event {
        Event::TrialDone { .. } => true,
        Event::TrialVoid { why, .. } => *why != Void::Stopped,
        _ => false,
    };
    let finished = events.iter().rposition(is_finished).unwrap_or(0) + 1;
    let follows = |event: &&Event| matches!(event, Event::BlockDone(_) | Event::SettingLeft { .. });
    Ok(finished + events[finished..].iter().take_while(follows).count())
}

fn ended(reason: &CloseReason) -> Result<(), ResumeError> {
    let how = match reason {
        CloseReason::Stopped | CloseReason::Failed { .. } | CloseReason::Blocks => return Ok(()),
        CloseReason::Decided => "everything is decided".into(),
        CloseReason::Budget => "the time was used up".into(),
        CloseReason::LoadFailed { why } => format!("the load failed: {why}"),
    };
    Err(ResumeError::Ended { how })
}

/// Runs an experiment on to its end. `kept` is what stands of its journal ([`standing`]); only what comes after goes to
/// `journal`. The first event that does not come out as it stands ends it, and nothing is added.
///
/// # Errors
/// As [`crate::run`]; [`Fatal::Differs`] with the first difference; [`Fatal::StoppedComputing`] when the user stopped it before
/// all that stands was computed again.
pub fn resume(
    started: &Started,
    kept: &[Event],
    past: Past,
    bench: &mut dyn Bench,
    journal: &mut dyn Journal,
) -> Result<Finding, Fatal> {
    extend(started, &[], kept, past, bench, journal)
}

/// As [`resume`], up to the last of the block limits it was extended to ([`crate::extended`]).
///
/// # Errors
/// As [`resume`].
pub fn extend(
    started: &Started,
    limits: &[u32],
    kept: &[Event],
    past: Past,
    bench: &mut dyn Bench,
    journal: &mut dyn Journal,
) -> Result<Finding, Fatal> {
    let standing = Standing { events: kept, place: Cell::new(0) };
    let mut checked = Checked { standing: &standing, started, journal, refused: None };
    let result = match past {
        Past::Computed => run_to(started, limits, bench, &mut checked),
        Past::Recalled => {
            let mut recalled = Recalled { standing: &standing, live: bench, live_from_ns: Cell::new(None) };
            run_to(started, limits, &mut recalled, &mut checked)
        }
    };
    match (result, checked.refused) {
        // What the journal refused is told in its own words; what ended the bench comes first.
        (Err(Fatal::Journal(_)), Some(refused)) => Err(refused),
        (result, _) => result,
    }
}

/// What stands, and how far it has come again.
struct Standing<'a> {
    events: &'a [Event],
    place: Cell<usize>,
}

impl<'a> Standing<'a> {
    fn next(&self) -> Option<&'a Event> {
        self.events.get(self.place.get())
    }

    /// Time of the next event that has one. The clock is read once for each of these, right before it is recorded.
    fn next_ns(&self) -> Option<u64> {
        self.events[self.place.get()..].iter().find_map(time_ns)
    }

    fn last_ns(&self) -> u64 {
        self.events.iter().rev().find_map(time_ns).unwrap_or(0)
    }
}

fn time_ns(event: &Event) -> Option<u64> {
    match event {
        Event::Started(_) => Some(0),
        Event::TrialStarted(trial) => Some(trial.at_ns),
        Event::TrialDone { at_ns, .. } | Event::TrialVoid { at_ns, .. } => Some(*at_ns),
        Event::BlockDone(done) => Some(done.at_ns),
        Event::Closed(finding) => Some(finding.at_ns),
        _ => None,
    }
}

/// A journal that compares with what stands and passes on what comes after.
struct Checked<'a> {
    standing: &'a Standing<'a>,
    started: &'a Started,
    journal: &'a mut dyn Journal,
    /// Set once: from then on nothing is taken.
    refused: Option<Fatal>,
}

impl Journal for Checked<'_> {
    fn record(&mut self, event: &Event) -> Result<(), JournalError> {
        if let Some(refused) = &self.refused {
            return Err(JournalError { why: refused.to_string() });
        }
        let Some(expected) = self.standing.next() else { return self.journal.record(event) };
        if expected == event {
            self.standing.place.set(self.standing.place.get() + 1);
            return Ok(());
        }
        let refused = match event {
            Event::TrialVoid { why: Void::Stopped, .. } => Fatal::StoppedComputing,
            _ => Fatal::Differs { why: difference(self.started, self.standing.events, expected, event) },
        };
        let why = refused.to_string();
        self.refused = Some(refused);
        Err(JournalError { why })
    }
}

/// A bench that answers from what stands, then hands over to the live one.
struct Recalled<'a> {
    standing: &'a Standing<'a>,
    live: &'a mut dyn Bench,
    /// The live clock when it took over.
    live_from_ns: Cell<Option<u64>>,
}

impl Recalled<'_> {
    /// The settings that were left out before the first trial, where something stands: what was refused then was left out then, and
    /// what is refused by now is found when it is turned.
    fn left_out(&self) -> Option<Vec<(u32, String)>> {
        let after = self.standing.events.get(self.standing.place.get()..).filter(|after| !after.is_empty())?;
        let left = after.iter().map_while(|event| match event {
            Event::SettingLeft { setting, why, .. } => Some((*setting, why.clone())),
            _ => None,
        });
        Some(left.collect())
    }
}

impl Bench for Recalled<'_> {
    fn now_ns(&self) -> u64 {
        self.standing.next_ns().unwrap_or_else(|| {
            let now_ns = self.live.now_ns();
            let from_ns = self.live_from_ns.get().unwrap_or(now_ns);
            self.live_from_ns.set(Some(from_ns));
            self.standing.last_ns() + (now_ns - from_ns)
        })
    }

    fn trial(&mut self, trial: &PlannedTrial, journal: &mut dyn Journal) -> Result<Outcome, Halt> {
        while let Some(event @ (Event::Landed { .. } | Event::Repeats { .. })) = self.standing.next() {
            journal.record(event)?;
            self.live.recall(event);
        }
        match self.standing.next() {
            None => self.live.trial(trial, journal),
            Some(event @ Event::TrialDone { outcome, .. }) => {
                self.live.recall(event);
                Ok(outcome.clone())
            }
            Some(Event::TrialVoid { why, .. }) => Err(why.clone().into()),
            Some(_) => {
                let why = format!("the journal has no end of trial {}, but goes on; it is damaged", trial.trial);
                Err(Fatal::Differs { why }.into())
            }
        }
    }

    fn rehearse(&mut self) -> Result<Vec<(u32, String)>, Fatal> {
        let now = self.live.rehearse()?;
        Ok(self.left_out().unwrap_or(now))
    }

    fn rehearse_levels(&mut self, plan: &SearchPlan) -> Result<Vec<(u32, String)>, Fatal> {
        let now = self.live.rehearse_levels(plan)?;
        Ok(self.left_out().unwrap_or(now))
    }

    fn causes(&self) -> Vec<String> {
        self.live.causes()
    }

    fn notes(&self) -> Vec<String> {
        self.live.notes()
    }

    fn finish(&mut self) {
        self.live.finish();
    }

    fn restored(&self) -> u32 {
        self.live.restored()
    }

    fn facts(&mut self) -> Vec<Fact> {
        self.live.facts()
    }

    fn left(&mut self) -> Vec<String> {
        self.live.left()
    }
}
