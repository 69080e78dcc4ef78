//! The bench: what answers a trial. A World with knobs, meters and a load is one; a formula is another.
use powerband_machine::Wake;
use powerband_record::{Event, Fact, Outcome, PlannedTrial, SearchPlan, Void};
use thiserror::Error;

/// Where events go: the store, a channel, a `Vec` in tests.
pub trait Journal {
    /// Takes one event, durably if it is that kind of journal.
    ///
    /// # Errors
    /// [`JournalError`] when it could not be kept; the experiment then ends and restores.
    fn record(&mut self, event: &Event) -> Result<(), JournalError>;

    /// Hears what is going on meanwhile, in a few words for anyone who watches. Nothing of it is kept.
    fn tell(&mut self, _words: &str) {}
}

/// An event could not be kept.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{why}")]
pub struct JournalError {
    /// One sentence.
    pub why: String,
}

impl Journal for Vec<Event> {
    fn record(&mut self, event: &Event) -> Result<(), JournalError> {
        self.push(event.clone());
        Ok(())
    }
}

/// Why an experiment cannot go on at all.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fatal {
    /// The journal could not be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The ledger could not be written: nothing more may be turned.
    #[error("{why}")]
    Ledger {
        /// One sentence.
        why: String,
    },
    /// Something that was turned could not be restored.
    #[error(
        "RESTORE INCOMPLETE: {what}; `powerband undo --left` tries again, `powerband undo --list` shows what is left"
    )]
    CannotRestore {
        /// Knobs and sites with the reason.
        what: String,
    },
    /// A setting cannot be turned here, found before the first trial.
    #[error(transparent)]
    Knob(#[from] powerband_knob::KnobError),
    /// A meter that is judged by cannot be read, found before the first trial.
    #[error("{why}")]
    Meter {
        /// One sentence.
        why: String,
    },
    /// A meter that is judged by cannot be had on this machine, found before the first trial.
    #[error("{why}")]
    NoMeter {
        /// One sentence.
        why: String,
    },
    /// What is searched cannot be.
    #[error("this cannot be searched: {why}")]
    Search {
        /// One sentence.
        why: String,
    },
    /// All settings came to the same on the machine, found before the first trial.
    #[error("{why}")]
    NothingToCompare {
        /// One sentence.
        why: String,
    },
    /// A machine of the rig is gone.
    #[error("lost the {side} machine: {why}")]
    Lost {
        /// Which.
        side: String,
        /// Why.
        why: String,
    },
    /// What stands in the journal does not come out again; nothing was added to it.
    #[error("{why}")]
    Differs {
        /// One sentence: which trial, what it was, what it is now.
        why: String,
    },
    /// Stopped while what stands in the journal was computed again; nothing was added to it.
    #[error("stopped while the trials that were finished were computed again; nothing was added and nothing is lost")]
    StoppedComputing,
}

/// Why a trial has no outcome.
#[derive(Clone, Debug, PartialEq)]
pub enum Halt {
    /// The trial does not count: it is kept, and repeated.
    Void(Void),
    /// The experiment cannot go on.
    Fatal(Fatal),
}

impl Halt {
    /// Separates what ends the experiment, which is the error, from a trial that counts or is void.
    ///
    /// # Errors
    /// [`Fatal`], if that is what the answer is.
    pub fn split<T>(answer: Result<T, Halt>) -> Result<Result<T, Void>, Fatal> {
        match answer {
            Ok(value) => Ok(Ok(value)),
            Err(Halt::Void(void)) => Ok(Err(void)),
            Err(Halt::Fatal(fatal)) => Err(fatal),
        }
    }

    /// Passes on what woke a wait, unless it ends the trial: a request to stop, or a lost machine.
    ///
    /// # Errors
    /// [`Void::Stopped`], and [`Fatal::Lost`].
    pub(crate) fn check(wake: Wake) -> Result<Wake, Halt> {
        match wake {
            Wake::Stop(_) => Err(Void::Stopped.into()),
            Wake::Lost(side, why) => Err(Fatal::Lost { side: side.to_string(), why }.into()),
            wake => Ok(wake),
        }
    }
}

impl From<Void> for Halt {
    fn from(void: Void) -> Self {
        Halt::Void(void)
    }
}

impl From<Fatal> for Halt {
    fn from(fatal: Fatal) -> Self {
        Halt::Fatal(fatal)
    }
}

impl From<JournalError> for Halt {
    fn from(error: JournalError) -> Self {
        Halt::Fatal(error.into())
    }
}

/// Answers trials. Settings go by their index in the experiment.
pub trait Bench {
    /// The clock trials are timed and budgets counted by, ns from an arbitrary start.
    fn now_ns(&self) -> u64;

    /// Runs one trial from turning to restoring.
    ///
    /// # Errors
    /// [`Halt::Void`] when the trial does not count, [`Halt::Fatal`] when the experiment cannot go on.
    fn trial(&mut self, trial: &PlannedTrial, journal: &mut dyn Journal) -> Result<Outcome, Halt>;

    /// Tries everything the trials will need and puts it back, before time is spent: rights, values, knobs. Answers the settings,
    /// as counted in the experiment, that came to the same as others and need no trials, with why.
    ///
    /// # Errors
    /// [`Fatal`] when the experiment would not get through its first block, or nothing would be left to compare.
    fn rehearse(&mut self) -> Result<Vec<(u32, String)>, Fatal> {
        Ok(Vec::new())
    }

    /// As [`Bench::rehearse`] for a search: every level of every factor once. Answers the settings that cannot be turned, as
    /// counted in the experiment, with why not.
    ///
    /// # Errors
    /// [`Fatal`] when nothing can be turned, or nothing measured.
    fn rehearse_levels(&mut self, _plan: &SearchPlan) -> Result<Vec<(u32, String)>, Fatal> {
        Ok(Vec::new())
    }

    /// Hears an event of a trial that is answered from the journal, for what later trials follow from it.
    fn recall(&mut self, _event: &Event) {}

    /// The last trial is over, however it ended: what was begun for all of them is ended.
    fn finish(&mut self) {}

    /// How many ledger entries were undone so far; a bench that turns nothing has none.
    fn restored(&self) -> u32 {
        0
    }

    /// Limits that held the trials back, a sentence each: they come first, as other notes may follow from them.
    fn causes(&self) -> Vec<String> {
        Vec::new()
    }

    /// What must be known with the verdicts, a sentence each.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// What is known of the machines now; a bench without any knows nothing.
    fn facts(&mut self) -> Vec<Fact> {
        Vec::new()
    }

    /// What was turned and now is not as it was before, a few words each; a bench that turns nothing has none.
    fn left(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// A bench that computes its answers: for sweeps of thousands of experiments and for measured surfaces.
pub struct FormulaBench<F> {
    formula: F,
    trial_ns: u64,
    clock_ns: u64,
}

impl<F: FnMut(&PlannedTrial) -> Result<Outcome, Void>> FormulaBench<F> {
    /// Answers with `formula`; each trial takes `trial_ns` of its clock.
    pub fn new(trial_ns: u64, formula: F) -> Self {
        FormulaBench { formula, trial_ns, clock_ns: 0 }
    }
}

impl<F: FnMut(&PlannedTrial) -> Result<Outcome, Void>> Bench for FormulaBench<F> {
    fn now_ns(&self) -> u64 {
        self.clock_ns
    }

    fn trial(&mut self, trial: &PlannedTrial, _: &mut dyn Journal) -> Result<Outcome, Halt> {
        self.clock_ns += self.trial_ns;
        Ok((self.formula)(trial)?)
    }
}
