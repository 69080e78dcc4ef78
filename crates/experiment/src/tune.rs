//! The loop of a search: asks for the next setting, runs the trial, tells what it brought, until the search has its answer,
//! or the time or the user's patience ends. It knows trials and answers, nothing of machines or models.
use std::collections::BTreeMap;

use powerband_advice::{
    Ask, Candidate, MetricIndex as Modelled, Observation, ProvisionalAnswer, Search, SearchConclusion as Answer,
    SearchStage,
};
use powerband_record::{BlockDone, CloseReason, Event, Finding, Outcome, SearchPhase, SearchPlan, Started, Void};

use crate::levels::level_of;
use crate::trials::{Course, End, Found, TRIES, Trials, conduct, index};
use crate::{Bench, Fatal, Journal};

mod answer;
mod problem;
mod rehearsal;

use answer::{Values, finding, phase, standing};
use problem::problem;
pub use rehearsal::cover;
pub(crate) use rehearsal::{equal_levels, refused_levels};

/// What the reason begins with why a setting that cannot be turned left.
pub(crate) fn refused(why: &str) -> String {
    format!("refused: {why}")
}

/// Runs a search to its end.
///
/// # Errors
/// [`Fatal`] when it could not go on. What was measured until then is in the journal.
pub(crate) fn tune(
    started: &Started,
    plan: &SearchPlan,
    bench: &mut dyn Bench,
    journal: &mut dyn Journal,
) -> Result<Finding, Fatal> {
    let search = Search::new(problem(started, plan)).map_err(|error| Fatal::Search { why: error.to_string() })?;
    let trials = Trials::new(started, bench, journal);
    conduct(Searching::new(started, plan, search), trials)
}

/// A search under way.
struct Searching<'a> {
    started: &'a Started,
    plan: &'a SearchPlan,
    search: Search,
    values: Values<'a>,
    /// By setting and metric, of valid trials.
    measured: BTreeMap<u32, Vec<Vec<f64>>>,
    /// The goal's values by setting, of the runs in blocks that the answer rests on, and the candidate those are about.
    in_blocks: BTreeMap<u32, Vec<f64>>,
    candidate: Option<usize>,
    /// Complete blocks; a trial outside the blocks of a race or a confirmation is a block of its own.
    blocks: u32,
    /// Where the block under way belongs, if one is.
    under_way: Option<SearchStage>,
    longest_trial_ns: u64,
    answer: Option<Answer>,
    notes: Vec<String>,
}

impl Course for Searching<'_> {
    fn all(&mut self, trials: &mut Trials<'_>) -> Result<CloseReason, End> {
        for (setting, why) in trials.bench.rehearse_levels(self.plan)? {
            self.leave(trials, setting, 0, &why)?;
        }
        trials.warm_up()?;
        loop {
            self.check_budget(trials);
            let who = match self.search.ask() {
                Ask::Run(who) => who,
                Ask::End(answer) => {
                    self.answer = Some(answer);
                    let cut_short = self.started.budget_ns.is_some() && self.search.is_cut_short();
                    return Ok(if cut_short { CloseReason::Budget } else { CloseReason::Decided });
                }
            };
            if trials.valid > 0 && self.no_time(trials, 1) {
                // A race has kept no runs for this: it decides by what it has.
                self.search.set_runs_left(0);
                if let Ask::End(answer) = self.search.ask() {
                    self.answer = Some(answer);
                }
                return Ok(CloseReason::Budget);
            }
            if self.blocks >= self.started.max_blocks {
                return Ok(CloseReason::Blocks);
            }
            let phase = self.search.phase();
            self.under_way = Some(phase);
            if let SearchStage::Confirming { candidate, .. } = phase
                && self.candidate.replace(candidate) != Some(candidate)
            {
                self.in_blocks.clear();
            }
            self.run(trials, who)?;
            self.end_block(trials)?;
        }
    }

    fn found(self, reason: &CloseReason) -> Found {
        let metrics = &self.started.metrics;
        let levels = self.measured.iter().flat_map(|(setting, of)| {
            let level = |(metric, values): (&powerband_record::Metric, &Vec<f64>)| {
                level_of(&metric.name, *setting, values, true)
            };
            metrics.iter().zip(of).filter_map(level).collect::<Vec<_>>()
        });
        let standing = self.search.standing();
        let mut told = finding(&self.values, &self.search, self.answer.as_ref(), &standing, reason);
        self.values.without_ratios(&mut told, |setting, metric| {
            let at = metrics.iter().position(|it| it.name == *metric)?;
            let values = self.measured.get(&setting)?.get(at)?;
            let level = level_of(metric, setting, values, true)?;
            Some((level.typical, values.iter().any(|value| *value <= 0.0)))
        });
        if self.started.budget_ns.is_some() {
            told.trials_needed = self.search.runs_needed().filter(|runs| *runs > 0);
        }
        Found {
            blocks: self.blocks,
            levels: levels.collect(),
            search: Some(told),
            notes: self.notes,
            ..Found::default()
        }
    }
}

impl<'a> Searching<'a> {
    fn new(started: &'a Started, plan: &'a SearchPlan, search: Search) -> Self {
        Searching {
            started,
            plan,
            search,
            values: Values { plan, start: BTreeMap::new() },
            measured: BTreeMap::new(),
            in_blocks: BTreeMap::new(),
            candidate: None,
            blocks: 0,
            under_way: None,
            longest_trial_ns: 0,
            answer: None,
            notes: Vec::new(),
        }
    }

    /// The setting of who is asked for: the baseline may be one of the points.
    fn setting(&self, who: Candidate) -> u32 {
        match who {
            Candidate::Start => 0,
            Candidate::Point(point) => self.values.setting(point),
        }
    }

    /// Says how many runs fit into the budget by the longest so far. A race is not told: it ends with the time.
    fn check_budget(&mut self, trials: &Trials<'_>) {
        let Some(budget_ns) = self.started.budget_ns.filter(|_| trials.valid > 0) else { return };
        if !matches!(self.search.phase(), SearchStage::Racing { .. } | SearchStage::Done) {
            let left = budget_ns.saturating_sub(trials.at_ns) / self.longest_trial_ns.max(1);
            self.search.set_runs_left(u32::try_from(left).unwrap_or(u32::MAX));
        }
    }

    fn no_time(&self, trials: &Trials<'_>, more: u64) -> bool {
        self.started.budget_ns.is_some_and(|budget| trials.at_ns + more * self.longest_trial_ns > budget)
    }

    /// One run, repeated while something next to the load makes it void.
    fn run(&mut self, trials: &mut Trials<'_>, who: Candidate) -> Result<(), End> {
        let (setting, block) = (self.setting(who), self.blocks + 1);
        let mut last = Void::Stopped;
        for _ in 0..TRIES {
            let answer = trials.one(block, setting, 0, |outcome| self.values.fit(outcome))?;
            let took_ns = trials.took_ns();
            self.longest_trial_ns = self.longest_trial_ns.max(took_ns);
            match answer {
                Ok(outcome) => {
                    trials.count(&outcome);
                    if setting == 0 {
                        self.values.begin(&outcome);
                    }
                    self.take(setting, &outcome);
                    let settle_ns = if setting == 0 { 0 } else { self.started.settle_ns.min(took_ns) };
                    let told = self.values.told(who, &outcome);
                    self.search.tell(who, told, (took_ns - settle_ns) as f64 / 1e9, settle_ns as f64 / 1e9);
                    return Ok(());
                }
                Err(Void::NotTurned { why }) if setting != 0 => return self.refuse(trials, setting, block, &why),
                Err(why) => last = why,
            }
            if matches!(last, Void::LoadFailed { .. } | Void::Lossy { .. }) && setting != 0 {
                break;
            }
        }
        if setting == 0 {
            return Err(End::Close(CloseReason::LoadFailed {
                why: format!("the baseline gave no valid trial {TRIES} times in a row: {last}"),
            }));
        }
        let label = &self.started.settings[setting as usize].label;
        self.notes.push(format!("{label} gave nothing valid: {last}"));
        self.search.tell(who, Observation::Failed, trials.took_ns() as f64 / 1e9, 0.0);
        Ok(())
    }

    /// A setting that cannot be turned is not in the search any more, and costs it no trial.
    fn refuse(&mut self, trials: &mut Trials<'_>, setting: u32, block: u32, why: &str) -> Result<(), End> {
        self.leave(trials, setting, block, &refused(why))
    }

    fn leave(&mut self, trials: &mut Trials<'_>, setting: u32, block: u32, why: &str) -> Result<(), End> {
        if let Some(point) = (setting as usize).checked_sub(1) {
            self.search.tell(Candidate::Point(point), Observation::Refused, 0.0, 0.0);
        }
        trials.leave(setting, block, why)
    }

    fn take(&mut self, setting: u32, outcome: &Outcome) {
        let metrics = &self.started.metrics;
        let values = self.measured.entry(setting).or_insert_with(|| vec![Vec::new(); metrics.len()]);
        for (metric, values) in metrics.iter().zip(values) {
            values.extend(outcome.metrics.get(&metric.name).filter(|value| value.is_finite()));
        }
        if matches!(
            self.under_way,
            Some(SearchStage::Confirming { .. } | SearchStage::Racing { .. } | SearchStage::Done)
        ) {
            let value = outcome.metrics.get(&self.plan.goal.name).copied().filter(|value| *value > 0.0);
            self.in_blocks.entry(setting).or_default().extend(value);
        }
    }

    /// Ends the block when the next run belongs to another one, and says where the search stands.
    fn end_block(&mut self, trials: &mut Trials<'_>) -> Result<(), End> {
        let now = self.search.phase();
        let goes_on =
            matches!(now, SearchStage::Confirming { .. } | SearchStage::Racing { .. }) && self.under_way == Some(now);
        if goes_on && matches!(self.search.ask(), Ask::Run(_)) {
            return Ok(());
        }
        self.complete_block(trials, phase(now))
    }

    fn complete_block(&mut self, trials: &mut Trials<'_>, phase: SearchPhase) -> Result<(), End> {
        self.under_way = None;
        self.blocks += 1;
        let stands: ProvisionalAnswer = self.search.standing();
        let told = standing(&self.values, &stands, phase, self.search.start_mean(Modelled::Goal));
        let (block, at_ns) = (self.blocks, trials.clock());
        let done =
            BlockDone { block, at_ns, verdicts: Vec::new(), requirements: Vec::new(), knee: None, search: Some(told) };
        trials.journal.record(&Event::BlockDone(done))?;
        Ok(())
    }
}

/// A setting's number as settings are counted.
fn counted(point: usize) -> u32 {
    index(point + 1)
}
