//! The course of a search: from what was told to what is asked next, and the provisional answer.

use std::collections::BTreeSet;

use super::candidates;
use super::confirm::{BoundNoise, Confirmation, Verdict};
use super::models::{self, Models};
use super::outlook::{self, CHANCE, Choice, Outlook};
use super::{CANDIDATES, Expected, FEWEST_RUNS, LOSS_TO_LOOK_AGAIN, MAX_RUNS, NOTHING, PROMISING, START_RUNS};
use super::{START_RUNS_AT_END, START_RUNS_AT_MOST, STEPS};
use super::{Search, Stage, Step};
use crate::process::normal_quantile;
use crate::{
    Ask, Candidate, Certificate, Goal, Interval, MetricIndex, Observation, Problem, ProvisionalAnswer,
    SearchConclusion, UndecidedReason,
};

impl Search {
    /// Goes on from stage to stage until there is a question or an end.
    pub(super) fn settle(&mut self) {
        loop {
            if self.log.start_fails() && !matches!(self.stage, Stage::Done) {
                self.finish(SearchConclusion::Undecided { why: UndecidedReason::StartFails, best_guess: None });
                return;
            }
            let step = match self.stage.clone() {
                Stage::Done => return,
                Stage::Racing(race) => match race.end(&self.problem) {
                    Some(end) => Step::Ask(Ask::End(end)),
                    None => Step::Ask(Ask::Run(race.next())),
                },
                Stage::Confirming(confirmation) => self.confirming(&confirmation),
                Stage::Searching => self.searching(),
            };
            match step {
                Step::Go(stage) => self.stage = stage,
                Step::Ask(Ask::End(end)) => {
                    self.finish(end);
                    return;
                }
                Step::Ask(ask) => {
                    self.next = ask;
                    return;
                }
            }
        }
    }

    fn finish(&mut self, end: SearchConclusion) {
        if let Stage::Racing(race) = &self.stage {
            self.raced = Some(race.clone());
        }
        self.incumbent = if let SearchConclusion::Confirmed(kept) = &end { Some(kept.point) } else { None };
        self.stage = Stage::Done;
        self.next = Ask::End(end);
    }

    /// Runs that still fit: of the caller's budget, or where there is none of the most that a search makes.
    fn left(&self) -> u32 {
        let settings = u32::try_from(self.problem.space.points.len()).unwrap_or(u32::MAX);
        let most = settings.saturating_add(1).clamp(FEWEST_RUNS, MAX_RUNS);
        let runs = u32::try_from(self.log.runs()).unwrap_or(u32::MAX);
        self.runs_left.unwrap_or_else(|| most.saturating_sub(runs))
    }

    fn searching(&mut self) -> Step {
        let run = |candidate| Step::Ask(Ask::Run(candidate));
        let left = self.left();
        if self.log.tried().is_empty() {
            if left == 0 {
                self.cut_short = true;
                return Step::Ask(Ask::End(SearchConclusion::Undecided { why: self.shortage(), best_guess: None }));
            }
            if self.log.runs_of(Candidate::Start) < START_RUNS {
                return run(Candidate::Start);
            }
            return match self.first() {
                Some(point) => run(Candidate::Point(point)),
                None => Step::Ask(Ask::End(SearchConclusion::StartIsBest { certificate: None })),
            };
        }
        let models = self.refitted();
        let outlook = self.outlook(&models);
        self.incumbent = outlook.incumbent;
        self.cut_short = left <= outlook.reserve(&self.problem, &models);
        let choice = if self.cut_short { None } else { outlook.choose(&self.problem, &self.cost) };
        match choice.and_then(|choice| self.next_run(choice, &outlook, &models)) {
            Some((candidate, is_audit)) => {
                self.expect(candidate, is_audit, &models);
                run(candidate)
            }
            None => self.conclude(&models, &outlook),
        }
    }

    /// Notes what the models expect of a setting that was not tried yet; nothing is expected of a goal that is known.
    fn expect(&mut self, candidate: Candidate, is_audit: bool, models: &Models) {
        let new = candidate.point().filter(|_| self.log.runs_of(candidate) == 0);
        self.expected = new.map(|point| {
            let goal = models.goal.predict(point);
            let known = matches!(self.problem.goal, Goal::Known(_));
            let variance = goal.variance() + models.goal.noise_variance(goal.mean());
            let sd = if known { f64::INFINITY } else { variance.sqrt() };
            Expected { point, mean: goal.mean(), sd, is_audit }
        });
    }

    /// The next run while looking, and whether it is a test of the model; none where looking is over.
    fn next_run(&mut self, choice: Choice, outlook: &Outlook, models: &Models) -> Option<(Candidate, bool)> {
        let chosen = Some((Candidate::Point(choice.point), false));
        if self.log.tried().len() <= self.problem.space.factors.len() {
            return chosen;
        }
        let nearly = outlook.incumbent.is_none() && choice.worth < LOSS_TO_LOOK_AGAIN;
        let certificate =
            (outlook.may_be_certified() || nearly).then(|| self.certificate_of(outlook.incumbent, outlook, models));
        let two = |one: &Certificate| outlook.is_enough(&self.averaged(one, outlook.incumbent, outlook, models));
        let certified = certificate.is_some_and(|it| outlook.is_enough(&it) && two(&it));
        if certificate.is_some_and(|it| self.looks_again(&it, certified, outlook)) {
            return Some((Candidate::Start, false));
        }
        let spared = u32::from(outlook.start_breaks && outlook.incumbent.is_none());
        if (certified || choice.worth < PROMISING)
            && self.audits + spared < self.audits_needed
            && let Some(point) = outlook.audit(&self.problem, self.audits)
        {
            return Some((Candidate::Point(point), true));
        }
        if certified {
            return None;
        }
        if choice.worth > NOTHING {
            return chosen;
        }
        self.steps += 1;
        chosen.filter(|_| choice.is_step && self.steps <= STEPS)
    }

    /// What may have been missed by `answer`, from two samples of hyperparameters: one sample may have missed those that expect
    /// more, and a search that ends as soon as it can would end on just such a one.
    fn certificate_of_two(&self, answer: Option<usize>, outlook: &Outlook, models: &Models) -> Certificate {
        self.averaged(&self.certificate_of(answer, outlook, models), answer, outlook, models)
    }

    /// The same where that of the first sample is known.
    fn averaged(&self, one: &Certificate, answer: Option<usize>, outlook: &Outlook, models: &Models) -> Certificate {
        let again = Models::fit(&self.problem, &self.coordinates, &self.log, Some(models));
        let other = self.certificate_of(answer, outlook, &again);
        Certificate {
            expected_loss: 0.5 * (one.expected_loss + other.expected_loss),
            chance_5_percent: 0.5 * (one.chance_5_percent + other.chance_5_percent),
        }
    }

    /// Whether the start should be run again: a start that was measured too low or too high keeps a search open where no
    /// setting is better, or ends one too early.
    fn looks_again(&self, certificate: &Certificate, certified: bool, outlook: &Outlook) -> bool {
        let runs = self.log.runs_of(Candidate::Start);
        if outlook.goal_noise <= 0.0 || outlook.start_breaks {
            return false;
        }
        if certified {
            let small = 3.0 * libm::sqrt(1.5) * outlook.goal_noise;
            return runs < START_RUNS_AT_END && outlook.gain(&self.problem, &self.log).is_none_or(|gain| gain < small);
        }
        let nearly = certificate.expected_loss < LOSS_TO_LOOK_AGAIN && certificate.chance_5_percent < CHANCE;
        outlook.incumbent.is_none() && nearly && runs < START_RUNS_AT_MOST
    }

    /// The first setting: the middle one, or where safety is asked for the one that is believed to keep the bounds best.
    fn first(&self) -> Option<usize> {
        let open = || self.spread.iter().copied().filter(|point| self.is_open(*point));
        if self.problem.safe.is_none() {
            return candidates::middle(&self.problem.space, open());
        }
        let models = Models::fit(&self.problem, &self.coordinates, &self.log, self.before.as_ref());
        let level = |point: usize| -> f64 { models.bounds.iter().map(|bound| bound.prior_mean(point)).sum() };
        let least = open().map(level).fold(f64::INFINITY, f64::min);
        // Where nothing is believed all are alike, and the middle is again the place to begin.
        candidates::middle(&self.problem.space, open().filter(|point| level(*point) <= least + 1e-9))
    }

    fn is_open(&self, point: usize) -> bool {
        Some(point) != self.problem.start && !self.log.is_removed(point)
    }

    fn certificate_of(&self, answer: Option<usize>, outlook: &Outlook, models: &Models) -> Certificate {
        outlook.certificate(answer, &self.problem, models, self.problem.seed.wrapping_add(self.log.runs() as u64))
    }

    fn refitted(&mut self) -> Models {
        let fit = || Models::fit(&self.problem, &self.coordinates, &self.log, self.before.as_ref());
        let models = self.models.take().unwrap_or_else(fit);
        self.models = Some(models.clone());
        models
    }

    fn outlook(&self, models: &Models) -> Outlook {
        let look = |points: &BTreeSet<usize>| {
            let open: Vec<usize> = points.iter().copied().filter(|point| self.is_open(*point)).collect();
            Outlook::new(&self.problem, models, &self.log, &open, &self.tested)
        };
        let tried = self.log.tried();
        let mut points: BTreeSet<usize> = self.spread.iter().copied().chain(tried.iter().copied()).collect();
        if self.problem.space.points.len() > candidates::ALL {
            points.extend(candidates::neighbours(&self.problem.space, &look(&tried).leaders()));
        }
        look(&points)
    }

    /// Confirms the candidate there is; without one, what is then known.
    fn conclude(&mut self, models: &Models, outlook: &Outlook) -> Step {
        let candidate = outlook.candidate().filter(|_| self.candidates < CANDIDATES && self.left() > 0);
        if let Some(candidate) = candidate {
            self.candidates += 1;
            let noise = |(index, surface): (usize, &models::Surface)| {
                let variance = surface.typical_noise_variance(surface.predict(candidate).mean());
                let start = self.log.mean(MetricIndex::Bound(index), Candidate::Start).unwrap_or_default();
                BoundNoise { variance, of_start: variance / surface.typical_noise_variance(start) }
            };
            let noise = models.bounds.iter().enumerate().map(noise).collect();
            let (number, against_start) = (self.candidates, !outlook.start_breaks);
            let confirmation = Confirmation::new(&self.problem, candidate, number, against_start, noise);
            return Step::Go(Stage::Confirming(confirmation));
        }
        let certificate = self.certificate_of_two(outlook.incumbent, outlook, models);
        let unproved = outlook.unproved(models, outlook.best);
        if outlook.incumbent.is_none() && unproved.is_empty() && outlook.is_enough(&certificate) {
            return Step::Ask(Ask::End(if outlook.start_breaks {
                SearchConclusion::NoneKeepsTheBound { closest: outlook.closest(&self.problem, &self.log) }
            } else {
                SearchConclusion::StartIsBest { certificate: Some(certificate) }
            }));
        }
        let why = if self.cut_short { self.shortage() } else { UndecidedReason::NotShown };
        let likely = outlook.candidate().or_else(|| unproved.first().map(|it| it.point));
        let best_guess = likely.or_else(|| self.tested.first().copied());
        Step::Ask(Ask::End(SearchConclusion::Undecided { why, best_guess }))
    }

    /// What runs out where no further one fits.
    fn shortage(&self) -> UndecidedReason {
        if self.runs_left.is_some() { UndecidedReason::Time } else { UndecidedReason::Runs }
    }

    fn confirming(&mut self, confirmation: &Confirmation) -> Step {
        let (candidate, last) = (confirmation.candidate, self.left() == 0);
        match confirmation.verdict(&self.problem, &self.log, last) {
            Verdict::Kept(kept) => return Step::Ask(Ask::End(SearchConclusion::Confirmed(kept))),
            Verdict::Open if !self.log.is_removed(candidate) => return Step::Ask(Ask::Run(confirmation.next())),
            Verdict::Open => {}
            Verdict::Failed => {
                self.tested.insert(candidate);
            }
        }
        Step::Go(Stage::Searching)
    }

    /// The provisional answer; once one is confirmed, that one and what may have been missed by it, whatever the model would
    /// rather have.
    #[must_use]
    pub fn standing(&self) -> ProvisionalAnswer {
        let tried = self.log.tried().len() + usize::from(self.log.runs_of(Candidate::Start) > 0);
        let runs = self.log.runs();
        let race = if let Stage::Racing(race) = &self.stage { Some(race) } else { self.raced.as_ref() };
        if let Some(race) = race {
            let (incumbent, goal, bounds) = race.standing(&self.problem);
            return ProvisionalAnswer { incumbent, certificate: None, goal, bounds, unproved: Vec::new(), tried, runs };
        }
        if self.log.tried().is_empty() {
            let bounds = (0..self.problem.bounds.len()).map(|_| None).collect();
            let unproved = Vec::new();
            return ProvisionalAnswer { incumbent: None, certificate: None, goal: None, bounds, unproved, tried, runs };
        }
        let fit = || Models::fit(&self.problem, &self.coordinates, &self.log, self.before.as_ref());
        let models = self.models.clone().unwrap_or_else(fit);
        let outlook = self.outlook(&models);
        let incumbent = match &self.next {
            Ask::End(SearchConclusion::Confirmed(kept)) => Some(kept.point),
            _ => outlook.incumbent,
        };
        // At the end the numbers are those of the rule by which it ended.
        let certificate = Some(match (&self.next, &self.stage) {
            (Ask::End(SearchConclusion::StartIsBest { certificate: Some(certificate) }), _) => *certificate,
            (_, Stage::Done) => self.certificate_of_two(incumbent, &outlook, &models),
            _ => self.certificate_of(incumbent, &outlook, &models),
        });
        let goal = match incumbent {
            Some(point) => Some(models.goal.interval(point)),
            None => self.start_interval(MetricIndex::Goal, &models.goal),
        };
        let bound = |(index, surface): (usize, &models::Surface)| match incumbent {
            Some(point) => Some(surface.interval(point)),
            None => self.start_interval(MetricIndex::Bound(index), surface),
        };
        let bounds = models.bounds.iter().enumerate().map(bound).collect();
        let answer = goal.filter(|_| incumbent.is_some()).map_or(outlook.best, |goal| goal.mean);
        let unproved = outlook.unproved(&models, answer);
        ProvisionalAnswer { incumbent, certificate, goal, bounds, unproved, tried, runs }
    }

    /// 90 % interval of the start's own runs.
    fn start_interval(&self, metric: MetricIndex, surface: &models::Surface) -> Option<Interval> {
        if let (MetricIndex::Goal, Goal::Known(_)) = (metric, &self.problem.goal) {
            let mean = outlook::start_goal(&self.problem, &self.log)?;
            return Some(Interval { mean, low: mean, high: mean });
        }
        let values = self.log.values(metric, Candidate::Start);
        let mean = self.log.mean(metric, Candidate::Start)?;
        let half = normal_quantile(0.95) * (surface.noise_variance(mean) / values.len() as f64).sqrt();
        Some(Interval { mean, low: mean - half, high: mean + half })
    }
}

/// A run whose values cannot be used counts as one that failed.
pub(super) fn checked(observation: Observation, problem: &Problem) -> Observation {
    let bounds = problem.bounds.len();
    let usable = match &observation {
        Observation::Valid { goal, bounds: values } => {
            goal.is_finite() && values.len() == bounds && values.iter().all(|value| value.is_finite())
        }
        Observation::Refused | Observation::Failed => true,
    };
    if usable { observation } else { Observation::Failed }
}
