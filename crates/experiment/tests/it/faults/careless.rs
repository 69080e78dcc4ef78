//! Going on as a careless program would: the loop over again, answered from the journal with a slip, and nothing compared.
use powerband_experiment::{Bench, Fatal, Halt, Journal, JournalError, run};
use powerband_record::{Event, Finding, Outcome, PlannedTrial, Started};

use super::course::Slip;
use super::going_on::finished;

impl Slip {
    /// Whether it is the recalled bench that slips.
    pub(super) fn is_in_the_bench(self) -> bool {
        matches!(self, Slip::ComparesNothing | Slip::RunsOneAgain | Slip::AnswersFromAnother | Slip::ClockFromZero)
    }
}

/// Goes on with a slip; what stands is taken for compared.
pub(super) fn careless(
    started: &Started,
    stands: &[Event],
    slip: Slip,
    live: &mut dyn Bench,
    journal: &mut dyn Journal,
) -> Result<Finding, Fatal> {
    let trials: Vec<&Event> = stands.iter().filter(|event| finished(event).is_some()).collect();
    let live_from_ns = live.now_ns();
    let mut bench = Careless { stands, trials, slip, live, live_from_ns, answered: 0 };
    run(started, &mut bench, &mut Unseen { journal, events: stands.len() })
}

struct Careless<'a> {
    stands: &'a [Event],
    trials: Vec<&'a Event>,
    slip: Slip,
    live: &'a mut dyn Bench,
    live_from_ns: u64,
    answered: usize,
}

impl Careless<'_> {
    /// When the latest answered trial ended, ns.
    fn past_ns(&self) -> u64 {
        match self.answered.checked_sub(1).map(|place| self.trials[place]) {
            Some(Event::TrialDone { at_ns, .. } | Event::TrialVoid { at_ns, .. }) => *at_ns,
            _ => 0,
        }
    }
}

impl Bench for Careless<'_> {
    fn now_ns(&self) -> u64 {
        let live_ns = self.live.now_ns() - self.live_from_ns;
        match self.slip {
            Slip::ClockFromZero => live_ns,
            _ if self.answered < self.trials.len() => self.past_ns(),
            _ => self.past_ns() + live_ns,
        }
    }

    fn trial(&mut self, trial: &PlannedTrial, journal: &mut dyn Journal) -> Result<Outcome, Halt> {
        let place = self.answered;
        if place == self.trials.len() {
            return self.live.trial(trial, journal);
        }
        self.answered += 1;
        if self.slip == Slip::RunsOneAgain && place == 0 {
            return self.live.trial(trial, journal);
        }
        for event in self.stands {
            if matches!(event, Event::Landed { trial: number, .. } if *number == trial.trial) {
                journal.record(event)?;
            }
        }
        let other = if self.slip == Slip::AnswersFromAnother { self.trials.len() - 1 - place } else { place };
        match self.trials[other] {
            Event::TrialDone { outcome, .. } => Ok(outcome.clone()),
            Event::TrialVoid { why, .. } => Err(why.clone().into()),
            _ => unreachable!("only ends of trials are kept"),
        }
    }

    fn rehearse(&mut self) -> Result<Vec<(u32, String)>, Fatal> {
        self.live.rehearse()
    }

    fn restored(&self) -> u32 {
        self.live.restored()
    }

    fn left(&mut self) -> Vec<String> {
        self.live.left()
    }
}

/// A journal that does not look at its first events: they are there already.
struct Unseen<'a> {
    journal: &'a mut dyn Journal,
    events: usize,
}

impl Journal for Unseen<'_> {
    fn record(&mut self, event: &Event) -> Result<(), JournalError> {
        match self.events.checked_sub(1) {
            Some(events) => self.events = events,
            None => self.journal.record(event)?,
        }
        Ok(())
    }
}
