//! How many more runs a search that was cut short would have needed: it is played on, on what its models expect.

use std::collections::BTreeMap;

use powerband_stats::{Draws, Purpose};

use super::models::Surface;
use super::{Models, Search, Stage};
use crate::{Ask, Candidate, LevelPrediction, MetricIndex, Observation};

/// Times that a search is played on, of which the median counts; once where the space is large.
const TIMES: u64 = 3;
const LARGE: usize = 1_000;

impl Search {
    /// About how many more runs would have let the search end by itself; none where it was not cut short, or nothing was
    /// measured yet. Each run brings a draw from what the models expect of it, so that the runs that follow are those the search
    /// would make; the most that a search without a budget makes holds here too.
    #[must_use]
    pub fn runs_needed(&self) -> Option<u32> {
        if !self.cut_short || self.log.runs() == 0 {
            return None;
        }
        let times = if self.problem.space.points.len() > LARGE { 1 } else { TIMES };
        let mut counts: Vec<u32> = (0..times).map(|time| self.played_on(time)).collect();
        counts.sort_unstable();
        counts.get(counts.len() / 2).copied()
    }

    fn played_on(&self, time: u64) -> u32 {
        let mut random = Draws::new(self.problem.seed, Purpose::Posterior, self.log.runs() as u64, 4 + time);
        let mut search = self.clone();
        let stage = self.raced.as_ref().map_or(Stage::Searching, |race| Stage::Racing(race.resumed()));
        (search.runs_left, search.cut_short, search.stage) = (None, false, stage);
        search.settle();
        // A race learns nothing from one setting about another: what each has is drawn once.
        let raced = self.raced.is_some().then(|| self.fitted());
        let mut levels: BTreeMap<Candidate, Vec<f64>> = BTreeMap::new();
        let mut runs = 0;
        while let Ask::Run(candidate) = search.ask() {
            let observation = match &raced {
                Some(models) => {
                    let levels =
                        levels.entry(candidate).or_insert_with(|| search.levels(candidate, models, &mut random));
                    noisy(levels, models, &mut random)
                }
                None => {
                    let models = search.fitted();
                    noisy(&search.levels(candidate, &models, &mut random), &models, &mut random)
                }
            };
            search.tell(candidate, observation, 1.0, 0.0);
            runs += 1;
        }
        runs
    }

    fn fitted(&self) -> Models {
        let fit = || Models::fit(&self.problem, &self.coordinates, &self.log, self.before.as_ref());
        self.models.clone().unwrap_or_else(fit)
    }

    /// What `candidate` may have: the goal, and behind it the metrics that have bounds.
    fn levels(&self, candidate: Candidate, models: &Models, random: &mut Draws) -> Vec<f64> {
        let mut one = |metric: MetricIndex, surface: &Surface| match candidate {
            Candidate::Start => self.log.mean(metric, candidate).unwrap_or_default(),
            Candidate::Point(point) => drawn(&surface.predict(point), random),
        };
        let goal = one(MetricIndex::Goal, &models.goal);
        let bounds = models.bounds.iter().enumerate().map(|(index, surface)| one(MetricIndex::Bound(index), surface));
        std::iter::once(goal).chain(bounds).collect()
    }
}

/// What a run may bring where the metrics have these levels.
fn noisy(levels: &[f64], models: &Models, random: &mut Draws) -> Observation {
    let surfaces = std::iter::once(&models.goal).chain(&models.bounds);
    let noisy = |(level, surface): (&f64, &Surface)| level + surface.noise_variance(*level).sqrt() * random.normal();
    let mut values = levels.iter().zip(surfaces).map(noisy);
    Observation::Valid { goal: values.next().unwrap_or_default(), bounds: values.collect() }
}

/// A draw from a mixture.
fn drawn(prediction: &LevelPrediction, random: &mut Draws) -> f64 {
    let mut left = random.uniform();
    let part = prediction.parts.iter().find(|part| {
        left -= part.weight;
        left <= 0.0
    });
    part.or(prediction.parts.last()).map_or(0.0, |part| part.mean + part.variance.sqrt() * random.normal())
}
