//! What trials tell a search, and what it answers, in the journal's words: back from logarithms to the metrics' own units.
use std::collections::BTreeMap;

use powerband_advice::SearchStage;
use powerband_advice::{
    Candidate, Certificate, Confirmed, Interval, MetricIndex as Modelled, Observation, ProvisionalAnswer, Search,
    SearchConclusion as Answer, UndecidedReason, Unproved,
};
use powerband_record::{
    Better, CloseReason, MetricName, Outcome, SearchChange, SearchEnd, SearchExpected, SearchFinding, SearchKept,
    SearchPhase, SearchPlan, SearchStanding, SearchUnproved, Void,
};

use super::counted;
use super::problem::signed;
use crate::search::kept_by;

/// A goal known without measuring that the baseline has no value for is worse there than anywhere by this share.
const BEYOND: f64 = 0.001;

/// The least share of its limit, or of the baseline's reading where that is what it is compared with, that a reading counts as: nothing
/// has a ratio to 0.
const MIN_SHARE: f64 = 0.01;

/// Values on the way between trials and a search.
pub(super) struct Values<'a> {
    pub(super) plan: &'a SearchPlan,
    /// The baseline's first readings, by metric.
    pub(super) start: BTreeMap<MetricName, f64>,
}

impl Values<'_> {
    /// The setting of a point.
    pub(super) fn setting(&self, point: usize) -> u32 {
        let setting = counted(point);
        if self.plan.found_at == Some(setting) { 0 } else { setting }
    }

    /// The limit or the baseline's reading that a metric's readings have ratios to; none while the baseline was not run.
    fn scale(&self, metric: &MetricName) -> Option<f64> {
        let limit = self.plan.requirements.iter().find(|limit| limit.metric == *metric && !limit.relative);
        limit.map(|limit| limit.limit).or_else(|| self.start.get(metric).copied())
    }

    /// Metrics of which a trial must have a reading: the goal, unless it is a knob's value, and what is limited.
    fn needed(&self) -> impl Iterator<Item = &MetricName> {
        let goal = Some(&self.plan.goal.name).filter(|_| self.plan.goal.known.is_empty());
        goal.into_iter().chain(self.plan.requirements.iter().map(|limit| &limit.metric))
    }

    /// Takes a valid trial of the baseline for what others are compared with, if it is the first.
    pub(super) fn begin(&mut self, outcome: &Outcome) {
        let readings = self.needed().filter_map(|name| Some((name.clone(), *outcome.metrics.get(name)?)));
        let readings: Vec<_> = readings.collect();
        readings.into_iter().for_each(|(name, value)| _ = self.start.entry(name).or_insert(value));
    }

    /// Whether a search can make use of an outcome.
    ///
    /// # Errors
    /// [`Void::NoMetric`] for the first metric that has none, [`Void::LoadFailed`] where the command failed.
    pub(super) fn fit(&self, outcome: &Outcome) -> Result<(), Void> {
        if let Some(status) = outcome.failure() {
            return Err(Void::LoadFailed { why: format!("the command ended with {status}") });
        }
        for name in self.needed() {
            let why = match outcome.metrics.get(name) {
                Some(value) if value.is_finite() && (*value > 0.0 || self.scale(name).is_some()) => continue,
                Some(value) => format!("it is {value}, and tune compares others with that by ratios"),
                None => "it was not measured".into(),
            };
            return Err(Void::NoMetric { metric: name.clone(), why });
        }
        Ok(())
    }

    /// What a valid trial tells.
    pub(super) fn told(&self, who: Candidate, outcome: &Outcome) -> Observation {
        let log = |name: &MetricName| {
            let value = outcome.metrics.get(name).copied().unwrap_or(1.0);
            libm::log(value.max(self.scale(name).map_or(0.0, |scale| MIN_SHARE * scale)))
        };
        let goal = &self.plan.goal;
        let goal = if goal.known.is_empty() { signed(goal.better, log(&goal.name)) } else { self.known(who) };
        let bounds = self.plan.requirements.iter().map(|limit| signed(kept_by(limit), log(&limit.metric)));
        Observation::Valid { goal, bounds: bounds.collect() }
    }

    /// Puts levels in the place of what came of ratios, where a reading of the answer is 0 or below.
    pub(super) fn without_ratios(
        &self,
        found: &mut SearchFinding,
        of: impl Fn(u32, &MetricName) -> Option<(f64, bool)>,
    ) {
        let Some(setting) = found.setting else { return };
        let change = |name: &MetricName| {
            let ((answer, by_level), (start, _)) = (of(setting, name)?, of(0, name)?);
            (by_level && start > 0.0).then_some(answer / start - 1.0)
        };
        if let Some(change) = change(&self.plan.goal.name).filter(|_| self.plan.goal.known.is_empty()) {
            found.change = Some(SearchChange { change, low: None, high: None });
        }
        for (kept, limit) in found.kept.iter_mut().zip(&self.plan.requirements) {
            let level = of(setting, &kept.metric).filter(|(_, by_level)| *by_level).map(|(level, _)| level);
            kept.typical = if limit.relative { change(&kept.metric) } else { level }.unwrap_or(kept.typical);
        }
    }

    /// The goal where it is a knob's value.
    fn known(&self, who: Candidate) -> f64 {
        let goal = &self.plan.goal;
        let of = |value: f64| signed(goal.better, libm::log(value));
        match who {
            Candidate::Point(point) => of(goal.known.get(point).copied().unwrap_or(1.0)),
            Candidate::Start => goal
                .found
                .map_or_else(|| goal.known.iter().map(|&value| of(value)).fold(f64::MIN, f64::max) + BEYOND, of),
        }
    }

    /// Whether a change of the goal means something: not where the baseline has no value of the knob.
    fn has_change(&self) -> bool {
        self.plan.goal.known.is_empty() || self.plan.goal.found.is_some()
    }

    /// A difference of logarithms as a relative change.
    fn change(&self, difference: f64) -> f64 {
        libm::expm1(signed(self.plan.goal.better, difference))
    }

    fn interval(&self, gain: Interval) -> SearchChange {
        let (low, high) = match self.plan.goal.better {
            Better::Lower => (gain.low, gain.high),
            Better::Higher => (gain.high, gain.low),
        };
        SearchChange { change: self.change(gain.mean), low: Some(self.change(low)), high: Some(self.change(high)) }
    }
}

/// Where a search stands.
pub(super) fn standing(
    values: &Values<'_>,
    now: &ProvisionalAnswer,
    phase: SearchPhase,
    start: Option<f64>,
) -> SearchStanding {
    let change = now.goal.zip(start).filter(|_| now.incumbent.is_some() && values.has_change());
    SearchStanding {
        phase,
        setting: now.incumbent.map(|point| values.setting(point)).filter(|setting| *setting != 0),
        expected_loss: now.certificate.map(|it| it.expected_loss),
        better_chance: now.certificate.map(|it| it.chance_5_percent),
        change: change.map(|(goal, start)| values.change(goal.mean - start)),
        tried: u32::try_from(now.tried).unwrap_or(u32::MAX),
    }
}

/// What a search is at, as a journal writes it.
pub(super) fn phase(of: SearchStage) -> SearchPhase {
    match of {
        SearchStage::Starting => SearchPhase::Starting,
        SearchStage::Searching => SearchPhase::Searching,
        SearchStage::Confirming { .. } => SearchPhase::Confirming,
        SearchStage::Racing { .. } => SearchPhase::Racing,
        SearchStage::Done => SearchPhase::Done,
    }
}

/// What a search found, by its answer or, where it was ended before, by where it stands.
pub(super) fn finding(
    values: &Values<'_>,
    search: &Search,
    answer: Option<&Answer>,
    now: &ProvisionalAnswer,
    reason: &CloseReason,
) -> SearchFinding {
    let at = |point: Option<usize>| point.map(|point| values.setting(point)).filter(|setting| *setting != 0);
    let provisional = standing(values, now, SearchPhase::Done, search.start_mean(Modelled::Goal));
    let expected = |setting: Option<u32>| {
        let change = provisional.change.filter(|_| setting.is_some() && setting == provisional.setting);
        change.map(|change| SearchChange { change, low: None, high: None })
    };
    let (loss, chance) = (provisional.expected_loss, provisional.better_chance);
    let base = SearchFinding {
        end: SearchEnd::Unfinished,
        setting: provisional.setting,
        why: None,
        change: expected(provisional.setting),
        kept: Vec::new(),
        confirmed_in: 0,
        expected_loss: loss,
        better_chance: chance,
        trials_needed: None,
        unproved: now.unproved.iter().filter_map(|it| unproved(values, it)).collect(),
        tried: provisional.tried,
    };
    match answer {
        None => SearchFinding { why: Some(unfinished(reason).into()), ..base },
        Some(Answer::Confirmed(it)) => confirmed(values, it, base),
        Some(Answer::Undecided { why, best_guess }) => {
            let setting = at(*best_guess);
            let why = Some(undecided(*why).into());
            SearchFinding { end: SearchEnd::Undecided, setting, why, change: expected(setting), ..base }
        }
        Some(Answer::StartIsBest { certificate }) => {
            let certificate: Option<Certificate> = *certificate;
            SearchFinding {
                end: SearchEnd::FoundIsBest,
                setting: None,
                change: None,
                expected_loss: certificate.map(|it| it.expected_loss),
                better_chance: certificate.map(|it| it.chance_5_percent),
                ..base
            }
        }
        Some(Answer::NoneKeepsTheBound { closest }) => {
            SearchFinding { end: SearchEnd::NoneKeeps, setting: at(*closest), change: None, ..base }
        }
    }
}

fn confirmed(values: &Values<'_>, it: &Confirmed, base: SearchFinding) -> SearchFinding {
    let kept = values.plan.requirements.iter().zip(&it.bounds).map(|(limit, held)| SearchKept {
        metric: limit.metric.clone(),
        typical: match signed(kept_by(limit), held.value) {
            difference if limit.relative => libm::expm1(difference),
            level => libm::exp(level),
        },
        certainty: Some(held.certainty),
    });
    SearchFinding {
        end: SearchEnd::Confirmed,
        setting: Some(values.setting(it.point)),
        change: it.gain.filter(|_| values.has_change()).map(|gain| values.interval(gain)),
        kept: kept.collect(),
        confirmed_in: it.blocks,
        ..base
    }
}

/// A setting that cannot be shown to keep the limits, in the metrics' own units; none where the baseline is meant.
fn unproved(values: &Values<'_>, it: &Unproved) -> Option<SearchUnproved> {
    let expected = values.plan.requirements.iter().zip(&it.bounds).map(|(limit, bound)| SearchExpected {
        metric: limit.metric.clone(),
        typical: libm::exp(signed(kept_by(limit), bound.mean)),
        error: libm::expm1(0.5 * (bound.high - bound.low)),
    });
    let setting = values.setting(it.point);
    (setting != 0).then(|| SearchUnproved { setting, change: values.change(-it.saving), expected: expected.collect() })
}

fn undecided(why: UndecidedReason) -> &'static str {
    match why {
        UndecidedReason::NotShown => {
            "what looked best could not be shown to keep what is required and to be better than the baseline"
        }
        UndecidedReason::Time => "the time ran short before anything could be confirmed",
        UndecidedReason::Runs => "as many runs were made as a search makes, before anything could be confirmed",
        UndecidedReason::StartFails => "the load fails at the baseline",
        _ => "nothing could be shown",
    }
}

fn unfinished(reason: &CloseReason) -> &'static str {
    match reason {
        CloseReason::Stopped => "it was stopped",
        CloseReason::Budget => "the time was used up",
        CloseReason::Blocks => "the most runs were made",
        _ => "it could not go on",
    }
}
