//! What a search asks for, is told, and says in the end.

/// What a run runs at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Candidate {
    /// What the machine runs now.
    Start,
    /// A point of the space.
    Point(usize),
}

impl Candidate {
    /// The point of the space, unless it is the start.
    #[must_use]
    pub const fn point(self) -> Option<usize> {
        match self {
            Self::Start => None,
            Self::Point(point) => Some(point),
        }
    }
}

/// What should happen next.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// One run.
    Run(Candidate),
    /// Nothing: the search is over.
    End(SearchConclusion),
}

/// What a run brought. Natural logarithms, smaller is better.
#[derive(Debug, Clone, PartialEq)]
pub enum Observation {
    /// It was measured.
    Valid {
        /// The goal; ignored where it is known of every point, except of a start that is no point.
        goal: f64,
        /// Each bound.
        bounds: Vec<f64>,
    },
    /// It cannot be turned: the point is removed and costs no trial.
    Refused,
    /// The work failed: nothing is learned. A point whose work fails twice is removed.
    Failed,
}

/// An estimate with a lower and an upper limit, on the scale of natural logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Estimate.
    pub mean: f64,
    /// Lower limit.
    pub low: f64,
    /// Upper limit.
    pub high: f64,
}

/// What may have been missed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// By how much (logarithm, so 0.002 is 0.2 %) the best setting is expected to be better than the answer.
    pub expected_loss: f64,
    /// Chance that a setting better by more than 5 % exists.
    pub chance_5_percent: f64,
}

/// How a kept setting stands to a bound, from the fresh blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    /// Mean of the blocks, natural logarithm; by how much it lies above the start's where the limit is against that.
    pub value: f64,
    /// Chance that the setting's level lies below the limit (t distribution; Bayesian with a flat prior).
    pub certainty: f64,
}

/// A setting that was kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Confirmed {
    /// The point.
    pub point: usize,
    /// Its goal minus the start's, 95 % interval; negative is a gain. Without width where the goal is known; none where no
    /// run of the start can be compared with it.
    pub gain: Option<Interval>,
    /// Mean of its goal in the blocks, natural logarithm.
    pub goal: f64,
    /// Each bound.
    pub bounds: Vec<Held>,
    /// Rounds it was confirmed in: fresh runs of it.
    pub blocks: u32,
}

/// Why nothing was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UndecidedReason {
    /// What looked best could not be shown to keep the bounds and to be better than the start.
    NotShown,
    /// Time ran short before anything could be confirmed.
    Time,
    /// As many runs were made as a search makes, before anything could be confirmed.
    Runs,
    /// The start's own runs failed.
    StartFails,
}

/// How a search ended.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchConclusion {
    /// A setting was shown to keep the bounds and to be better than the start (or to keep bounds that the start breaks).
    Confirmed(Confirmed),
    /// Keep the start: nothing could be shown.
    Undecided {
        /// Why.
        why: UndecidedReason,
        /// What would be tried first with more time.
        best_guess: Option<usize>,
    },
    /// The start keeps the bounds, and nothing is measurably better.
    StartIsBest {
        /// What may have been missed; none after a race, where every setting was measured.
        certificate: Option<Certificate>,
    },
    /// Neither the start nor any setting keeps the bounds.
    NoneKeepsTheBound {
        /// The setting that came closest; none where that is the start.
        closest: Option<usize>,
    },
}

/// Where a search stands in its course.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchStage {
    /// The first runs: the start, and the first setting.
    Starting,
    /// Looking for a better setting.
    Searching,
    /// Fresh blocks of the start and one candidate.
    Confirming {
        /// The candidate.
        candidate: usize,
        /// The block under way, counted from 1.
        block: u32,
    },
    /// Blocks of all settings still in.
    Racing {
        /// The block under way, counted from 1.
        block: u32,
    },
    /// Over.
    Done,
}

/// A setting that may be better than the answer, but lies too near a bound for a few runs to show that it keeps it.
#[derive(Debug, Clone, PartialEq)]
pub struct Unproved {
    /// The point.
    pub point: usize,
    /// By how much (logarithm) its goal is expected to lie below the answer's.
    pub saving: f64,
    /// Its bounds, 90 % intervals.
    pub bounds: Vec<Interval>,
}

/// The provisional answer, at any moment.
#[derive(Debug, Clone, PartialEq)]
pub struct ProvisionalAnswer {
    /// The best setting that very probably keeps the bounds; none means the start.
    pub incumbent: Option<usize>,
    /// What may have been missed; none before the model has seen a setting, and in a race.
    pub certificate: Option<Certificate>,
    /// The answer's goal, 90 % interval; none before it was measured.
    pub goal: Option<Interval>,
    /// The answer's bounds, 90 % intervals.
    pub bounds: Vec<Option<Interval>>,
    /// Settings that may be better and cannot be shown to keep the bounds, the largest saving first.
    pub unproved: Vec<Unproved>,
    /// Different settings tried, the start as the first.
    pub tried: usize,
    /// Runs that were measured.
    pub runs: usize,
}
