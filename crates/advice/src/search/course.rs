//! The course of a search: from what was told to what is asked next, and the provisional answer.

use std::collections::BTreeSet;

use super::candidates;
use super::confirm::{Confirmation, Verdict};
use super::models::{self, Models};
use super::outlook::{self, Outlook};
use super::{CHANCE, EXPECTED_LOSS, NOTHING, PROMISING, ROUND_RUNS, ROUNDS, START_RUNS, STEPS};
use super::{Search, Stage, Step};
use crate::process::normal_quantile;
use crate::{Ask, Certificate, End, Goal, Interval, Metric, Problem, Standing, Told, Who, Why};

impl Search {
    /// Goes on from stage to stage until there is a question or an end.
    pub(super) fn settle(&mut self) {
        loop {
            if self.log.start_fails() && !matches!(self.stage, Stage::Done) {
                self.finish(End::Undecided { why: Why::StartFails, best_guess: None });
                return;
            }
            let step = match self.stage.clone() {
                Stage::Done => return,
                Stage::Racing(race) => match race.end(&self.problem) {
                    Some(end) => Step::Ask(Ask::End(end)),
                    None => Step::Ask(Ask::Run(race.next())),
                },
                Stage::Confirming(confirmation) => self.confirming(&confirmation),
                Stage::Searching { left } => self.searching(left),
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

    fn finish(&mut self, end: End) {
        if let Stage::Racing(race) = &self.stage {
            self.raced = Some(race.clone());
        }
        self.incumbent = if let End::Confirmed(kept) = &end { Some(kept.point) } else { None };
        self.stage = Stage::Done;
        self.next = Ask::End(end);
    }

    fn searching(&mut self, left: Option<u32>) -> Step {
        let run = |who| Step::Ask(Ask::Run(who));
        if !self.short {
            if self.log.runs_of(Who::Start) < START_RUNS {
                return run(Who::Start);
            }
            if self.log.tried().is_empty() {
                return match self.first() {
                    Some(point) => run(Who::Point(point)),
                    None => Step::Ask(Ask::End(End::StartIsBest { certificate: None })),
                };
            }
        } else if self.log.tried().is_empty() {
            return Step::Ask(Ask::End(End::Undecided { why: Why::Time, best_guess: None }));
        }
        let models = self.refitted();
        let outlook = self.outlook(&models);
        self.incumbent = outlook.incumbent;
        let choice = if self.short || left == Some(0) { None } else { outlook.choose(&self.problem, &self.cost) };
        match (choice, left) {
            (Some(choice), Some(_)) if choice.worth > NOTHING => return run(Who::Point(choice.point)),
            (Some(choice), None) if choice.worth >= PROMISING || !self.tried_enough() => {
                return run(Who::Point(choice.point));
            }
            (Some(choice), None)
                if (choice.worth > NOTHING || (choice.is_step && self.steps < STEPS))
                    && !self.certified(&outlook, &models) =>
            {
                self.steps += u32::from(choice.worth <= NOTHING);
                return run(Who::Point(choice.point));
            }
            _ => {}
        }
        self.next_candidate(&models, &outlook)
    }

    /// The first setting: the middle one, or where safety is asked for the one that is believed to keep the bounds best.
    fn first(&self) -> Option<usize> {
        let open = || self.spread.iter().copied().filter(|point| self.is_open(*point));
        if self.problem.safe.is_none() {
            return candidates::middle(&self.problem.space, open());
        }
        let models = Models::fit(&self.problem, &self.coordinates, &self.log, &self.beliefs);
        let level = |point: usize| -> f64 { models.bounds.iter().map(|bound| bound.prior_mean(point)).sum() };
        let least = open().map(level).fold(f64::INFINITY, f64::min);
        // Where nothing is believed all are alike, and the middle is again the place to begin.
        candidates::middle(&self.problem.space, open().filter(|point| level(*point) <= least + 1e-9))
    }

    fn is_open(&self, point: usize) -> bool {
        Some(point) != self.problem.start && !self.log.is_removed(point)
    }

    /// Whether a certificate may be asked: the start and so many settings more than there are knobs.
    fn tried_enough(&self) -> bool {
        self.log.tried().len() > self.problem.space.factors.len()
    }

    /// What may have been missed by the provisional answer.
    fn certificate(&self, outlook: &Outlook, models: &Models) -> Certificate {
        self.certificate_of(outlook.incumbent, outlook, models)
    }

    fn certificate_of(&self, answer: Option<usize>, outlook: &Outlook, models: &Models) -> Certificate {
        outlook.certificate(answer, &self.problem, models, self.problem.seed.wrapping_add(self.log.runs() as u64))
    }

    fn certified(&self, outlook: &Outlook, models: &Models) -> bool {
        let certificate = self.certificate(outlook, models);
        certificate.expected_loss < EXPECTED_LOSS && certificate.chance_5_percent < CHANCE
    }

    fn refitted(&mut self) -> Models {
        let fit = || Models::fit(&self.problem, &self.coordinates, &self.log, &self.beliefs);
        let models = self.models.take().unwrap_or_else(fit);
        self.models = Some(models.clone());
        models
    }

    fn outlook(&self, models: &Models) -> Outlook {
        let look = |points: &BTreeSet<usize>| {
            let open = points.iter().copied().filter(|point| self.is_open(*point));
            Outlook::new(&self.problem, models, &self.log, open, &self.tested)
        };
        let mut points: BTreeSet<usize> = self.spread.iter().copied().chain(self.log.tried()).collect();
        let outlook = look(&points);
        if self.problem.space.points.len() <= candidates::MOST {
            return outlook;
        }
        points.extend(candidates::neighbours(&self.problem.space, &outlook.leaders()));
        look(&points)
    }

    /// The next setting worth confirming; without one another round of looking, and in the end what is then known.
    fn next_candidate(&mut self, models: &Models, outlook: &Outlook) -> Step {
        if let Some(candidate) = outlook.worth_confirming().first() {
            self.candidates += 1;
            let noise = models.bounds.iter().map(|bound| bound.noise_variance()).collect();
            let against_start = !outlook.start_breaks;
            let goal_noise = models.goal.noise_variance();
            let number = self.candidates;
            let confirmation = Confirmation::new(&self.problem, *candidate, number, against_start, goal_noise, noise);
            return Step::Go(Stage::Confirming(confirmation));
        }
        let certificate = self.certificate(outlook, models);
        let sure = certificate.expected_loss < EXPECTED_LOSS && certificate.chance_5_percent < CHANCE;
        if sure && !outlook.tested_better {
            return Step::Ask(Ask::End(if outlook.start_breaks {
                End::NoneKeepsTheBound { closest: outlook.closest() }
            } else {
                End::StartIsBest { certificate: Some(certificate) }
            }));
        }
        let promising = || outlook.choose(&self.problem, &self.cost).is_some_and(|choice| choice.worth > NOTHING);
        if !self.short && self.rounds < ROUNDS && promising() {
            self.rounds += 1;
            return Step::Go(Stage::Searching { left: Some(ROUND_RUNS) });
        }
        let why = if self.short { Why::Time } else { Why::NotShown };
        let best_guess = outlook.incumbent.or_else(|| self.tested.first().copied());
        Step::Ask(Ask::End(End::Undecided { why, best_guess }))
    }

    fn confirming(&mut self, confirmation: &Confirmation) -> Step {
        let candidate = confirmation.candidate;
        match confirmation.verdict(&self.problem) {
            Verdict::Kept(kept) => return Step::Ask(Ask::End(End::Confirmed(kept))),
            Verdict::Open if !self.log.is_removed(candidate) => return Step::Ask(Ask::Run(confirmation.next())),
            Verdict::Open => {}
            Verdict::Refused | Verdict::Unproved => {
                self.tested.insert(candidate);
            }
        }
        let models = self.refitted();
        let outlook = self.outlook(&models);
        self.incumbent = outlook.incumbent;
        self.next_candidate(&models, &outlook)
    }

    /// The provisional answer; once one is confirmed, that one and what may have been missed by it, whatever the model would
    /// rather have.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let tried = self.log.tried().len() + usize::from(self.log.runs_of(Who::Start) > 0);
        let runs = self.log.runs();
        let race = if let Stage::Racing(race) = &self.stage { Some(race) } else { self.raced.as_ref() };
        if let Some(race) = race {
            let (incumbent, goal, bounds) = race.standing(&self.problem);
            return Standing { incumbent, certificate: None, goal, bounds, tried, runs };
        }
        if self.log.tried().is_empty() {
            let bounds = (0..self.problem.bounds.len()).map(|_| None).collect();
            return Standing { incumbent: None, certificate: None, goal: None, bounds, tried, runs };
        }
        let fit = || Models::fit(&self.problem, &self.coordinates, &self.log, &self.beliefs);
        let models = self.models.clone().unwrap_or_else(fit);
        let outlook = self.outlook(&models);
        let incumbent = match &self.next {
            Ask::End(End::Confirmed(kept)) => Some(kept.point),
            _ => outlook.incumbent,
        };
        let certificate = Some(self.certificate_of(incumbent, &outlook, &models));
        let goal = match incumbent {
            Some(point) => Some(models.goal.interval(point)),
            None => self.start_interval(Metric::Goal, models.goal.noise_variance()),
        };
        let bound = |(index, surface): (usize, &models::Surface)| match incumbent {
            Some(point) => Some(surface.interval(point)),
            None => self.start_interval(Metric::Bound(index), surface.noise_variance()),
        };
        let bounds = models.bounds.iter().enumerate().map(bound).collect();
        Standing { incumbent, certificate, goal, bounds, tried, runs }
    }

    /// 90 % interval of the start's own runs.
    fn start_interval(&self, metric: Metric, noise_variance: f64) -> Option<Interval> {
        if let (Metric::Goal, Goal::Known(_)) = (metric, &self.problem.goal) {
            let mean = outlook::start_goal(&self.problem, &self.log)?;
            return Some(Interval { mean, low: mean, high: mean });
        }
        let values = self.log.values(metric, Who::Start);
        let mean = self.log.mean(metric, Who::Start)?;
        let half = normal_quantile(0.95) * (noise_variance / values.len() as f64).sqrt();
        Some(Interval { mean, low: mean - half, high: mean + half })
    }
}

/// A run whose values cannot be used counts as one that failed.
pub(super) fn checked(told: Told, problem: &Problem) -> Told {
    let bounds = problem.bounds.len();
    let usable = match &told {
        Told::Valid { goal, bounds: values } => {
            goal.is_finite() && values.len() == bounds && values.iter().all(|value| value.is_finite())
        }
        Told::Refused | Told::Failed => true,
    };
    if usable { told } else { Told::Failed }
}
