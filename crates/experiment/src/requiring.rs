//! Requirements while an experiment runs: the trials of each setting by requirement, and where each stands after a look.
use powerband_record::{
    Histogram, LimitSide, Outcome, Requirement, RequirementFinding, RequirementStanding, Standing, Started, is_loss,
    unit_of,
};
use powerband_stats::limit::{Limit, LimitStanding, MIN_TRIALS, level};
use powerband_stats::{Contrast, Latencies, Prediction, Rules, Scale, Spending, change_point, drift};

/// A percentile told with a trial is that of the trial's histogram when they agree this closely: both keep three digits.
const AGREES: f64 = 0.02;

/// The requirements of an experiment.
pub(crate) struct Requiring {
    items: Vec<Item>,
    rules: Rules,
}

/// One requirement with the trials of every setting.
struct Item {
    index: u32,
    requirement: Requirement,
    /// Which share of all values the metric's percentile is of, where its name says it is one.
    share: Option<f64>,
    samples: Vec<Samples>,
}

/// Valid trials of one setting, in the order of time.
#[derive(Default)]
struct Samples {
    values: Vec<f64>,
    /// How many values there were before the block under way.
    before: usize,
    /// All histograms of earlier blocks added up, those of the block under way, and what their unit is in the metric's.
    merged: Latencies,
    latest: Latencies,
    factor: f64,
    /// Trials without a histogram behind the metric.
    without: u32,
    /// What was lost in the latest trials, where all of these were void for it.
    lost: Vec<f64>,
}

/// A difference from the reference with the scale it is on and the reference's level.
pub(crate) struct Against {
    pub(crate) contrast: Contrast,
    pub(crate) scale: Scale,
    pub(crate) reference: f64,
    pub(crate) first_look: u32,
}

impl Requiring {
    pub(crate) fn new(started: &Started) -> Self {
        let samples = || (0..started.settings.len()).map(|_| Samples::default()).collect();
        let item = |(index, requirement): (u32, &Requirement)| Item {
            index,
            requirement: requirement.clone(),
            share: share_of(&requirement.metric),
            samples: samples(),
        };
        Requiring {
            items: (0..).zip(&started.requirements).map(item).collect(),
            rules: Rules { alpha: started.alpha, ..Rules::default() },
        }
    }

    /// A new block begins.
    pub(crate) fn begin_block(&mut self) {
        for samples in self.items.iter_mut().flat_map(|item| &mut item.samples) {
            samples.before = samples.values.len();
            samples.merged.merge(&std::mem::take(&mut samples.latest));
        }
    }

    /// Forgets the trials of the block under way, which was not finished.
    pub(crate) fn forget_block(&mut self) {
        for samples in self.items.iter_mut().flat_map(|item| &mut item.samples) {
            samples.values.truncate(samples.before);
            samples.latest = Latencies::new();
        }
    }

    /// A valid trial of a setting.
    pub(crate) fn take(&mut self, setting: usize, outcome: &Outcome) {
        for item in self.items.iter_mut().filter(|item| !item.requirement.relative) {
            let metric = &item.requirement.metric;
            let Some(&value) = outcome.metrics.get(metric).filter(|value| value.is_finite()) else { continue };
            let Some(samples) = item.samples.get_mut(setting) else { continue };
            samples.values.push(value);
            samples.lost.clear();
            let behind = item.share.and_then(|share| behind(&item.requirement.metric, value, share, outcome));
            match behind {
                Some((histogram, factor)) => {
                    samples.factor = factor;
                    histogram.iter().for_each(|&(value, times)| samples.latest.record(value, times));
                }
                None => samples.without += 1,
            }
        }
    }

    /// A trial that is void for what it lost, of which the limit is one.
    pub(crate) fn lost(&mut self, setting: usize, lost_percent: f64) {
        for item in self.items.iter_mut().filter(|it| !it.requirement.relative && is_loss(&it.requirement.metric)) {
            let Some(samples) = item.samples.get_mut(setting) else { continue };
            samples.values.push(lost_percent);
            samples.lost.push(lost_percent);
        }
    }

    /// Requirements against a reference that is zero, a sentence each.
    pub(crate) fn notes(&self, mut level_of_reference: impl FnMut(&str) -> Option<f64>) -> Vec<String> {
        let of_nothing = |item: &&Item| {
            item.requirement.relative && level_of_reference(&item.requirement.metric).is_some_and(|level| level == 0.0)
        };
        let note = |item: &Item| {
            let Requirement { metric, relation, .. } = &item.requirement;
            format!(
                "{} stays open: {metric} is 0 at the reference, of which no share can be taken; write a limit in its own \
                 unit, e.g. '{metric}{relation}5'",
                item.requirement
            )
        };
        self.items.iter().filter(of_nothing).map(note).collect()
    }

    /// Where every requirement stands at every setting; `against` gives a metric's difference from the reference. With it
    /// what is predicted for those still open.
    pub(crate) fn standings(
        &self,
        spending: &Spending,
        mut against: impl FnMut(&str, usize) -> Option<Against>,
    ) -> Vec<(RequirementStanding, Option<Prediction>)> {
        let mut all = Vec::new();
        for item in &self.items {
            for setting in usize::from(item.requirement.relative)..item.samples.len() {
                if let Some(broken) = broken_by_loss(item, setting) {
                    all.push((broken, None));
                    continue;
                }
                let found = if item.requirement.relative {
                    against(&item.requirement.metric, setting).map(|it| self.relative(item, &it, spending))
                } else {
                    self.absolute(item, &item.samples[setting], spending)
                };
                match found {
                    Some(found) => all.push((told(item, setting, &found), found.held.predicted)),
                    // What cannot be compared (yet, or any more) is open: left out, it would pass for fulfilled.
                    None if item.requirement.relative => {
                        all.push((at(item, setting, RequirementFinding::UNKNOWN), None))
                    }
                    None => {}
                }
            }
        }
        all
    }

    fn absolute(&self, item: &Item, samples: &Samples, spending: &Spending) -> Option<Found> {
        let Requirement { relation, limit, .. } = item.requirement;
        let log = !is_loss(&item.requirement.metric) && limit > 0.0 && samples.values.iter().all(|&value| value > 0.0);
        let scaled = |value: f64| if log { libm::log(value) } else { value };
        let values: Vec<f64> = samples.values.iter().map(|&value| scaled(value)).collect();
        let contrast = level(&values, samples.merged(item.share).map(scaled))?;
        let at = Limit { at: scaled(limit), upper: relation == LimitSide::AtMost, first_look: MIN_TRIALS };
        let held = at.held(&contrast, self.rules.same_level_of_t(1), spending);
        let moved = drift(&values).is_some_and(|drift| drift.low > 0.0 || drift.high < 0.0)
            || change_point(&values).is_some_and(|change| change.flagged);
        let back: fn(f64) -> f64 = if log { libm::exp } else { |value| value };
        Some(Found::new(&contrast, held, back, moved))
    }

    fn relative(&self, item: &Item, against: &Against, spending: &Spending) -> Found {
        let Requirement { relation, limit, .. } = item.requirement;
        let log = against.scale == Scale::Log;
        let at = if log { libm::log1p(limit) } else { limit * against.reference.abs() };
        let at = Limit { at, upper: relation == LimitSide::AtMost, first_look: against.first_look };
        let held = at.held(&against.contrast, self.rules.same_level(1), spending);
        if log {
            return Found::new(&against.contrast, held, libm::expm1, false);
        }
        let size = against.reference.abs();
        let share = |value: f64| Some(value / size).filter(|share| share.is_finite());
        let found = Found::new(&against.contrast, held, |value| value, false);
        let Some(estimate) = found.estimate.and_then(share) else {
            // Of a reference that is zero there is no share: nothing is shown, whatever the difference is.
            let held = LimitStanding { holds: false, broken: false, predicted: None, ..found.held };
            return Found { estimate: None, bounds: None, held, ..found };
        };
        let bounds = found.bounds.and_then(|(low, high)| share(low).zip(share(high)));
        Found { estimate: Some(estimate), bounds, ..found }
    }
}

/// What was found of one requirement at one setting.
struct Found {
    /// Absent where it is no finite number.
    estimate: Option<f64>,
    bounds: Option<(f64, f64)>,
    trials: u32,
    held: LimitStanding,
    moved: bool,
}

impl Found {
    fn new(contrast: &Contrast, held: LimitStanding, back: fn(f64) -> f64, moved: bool) -> Self {
        let (low, high) = Limit::bounds(contrast, held.level);
        let bounds = Some((back(low), back(high))).filter(|(low, high)| low.is_finite() && high.is_finite());
        let estimate = Some(back(contrast.effect)).filter(|estimate| estimate.is_finite());
        Found { estimate, bounds, trials: contrast.blocks, held, moved }
    }
}

fn told(item: &Item, setting: usize, found: &Found) -> RequirementStanding {
    let standing = match (found.held.holds, found.held.broken) {
        (true, _) => Standing::Holds,
        (_, true) => Standing::Broken,
        _ => Standing::Open,
    };
    let (low, high) = found.bounds.unzip();
    let probability = if found.held.probability.is_finite() { found.held.probability } else { 0.5 };
    let predicted = found.held.predicted.map(|predicted| (predicted.low, predicted.high));
    let (estimate, trials, this_session) = (found.estimate, found.trials, found.moved);
    at(
        item,
        setting,
        RequirementFinding { standing, probability, estimate, low, high, trials, predicted, this_session },
    )
}

fn at(item: &Item, setting: usize, found: RequirementFinding) -> RequirementStanding {
    RequirementStanding { setting: u32::try_from(setting).unwrap_or(u32::MAX), requirement: item.index, found }
}

/// A limit on losses that trials in a row were beyond, all of them void for it. Of so many, all beyond a limit that the setting
/// keeps more often than not is one case in 32.
fn broken_by_loss(item: &Item, setting: usize) -> Option<RequirementStanding> {
    let lost = &item.samples.get(setting)?.lost;
    let Requirement { relation, limit, .. } = item.requirement;
    let all_beyond = lost.len() >= MIN_TRIALS as usize && lost.iter().all(|lost| !relation.holds(*lost, limit));
    let broken = || RequirementFinding {
        standing: Standing::Broken,
        probability: 0.5_f64.powi(i32::try_from(lost.len()).unwrap_or(i32::MAX)),
        estimate: Some(lost.iter().sum::<f64>() / lost.len() as f64),
        trials: u32::try_from(lost.len()).unwrap_or(u32::MAX),
        ..RequirementFinding::UNKNOWN
    };
    all_beyond.then(|| at(item, setting, broken()))
}

impl Samples {
    /// The percentile of all trials' values together, in the metric's unit, where every trial has its histogram.
    fn merged(&self, share: Option<f64>) -> Option<f64> {
        let share = share.filter(|_| self.without == 0)?;
        let mut all = self.merged.clone();
        all.merge(&self.latest);
        let quantile = all.quantile(share)?;
        Some(quantile as f64 * self.factor)
    }
}

/// The share that a metric's name says: `p99_us` is 0.99, `p99.9_us` 0.999.
fn share_of(metric: &str) -> Option<f64> {
    let (_, last) = metric.rsplit_once('/').unwrap_or(("", metric));
    let digits = last.strip_prefix('p')?.split('_').next()?;
    digits.parse::<f64>().ok().filter(|percent| *percent > 0.0 && *percent < 100.0).map(|percent| percent / 100.0)
}

/// The histogram that a percentile was taken from, with what one of its units is in the metric's: the one whose own percentile
/// is the value.
fn behind<'a>(metric: &str, value: f64, share: f64, outcome: &'a Outcome) -> Option<(&'a Histogram, f64)> {
    outcome.histograms.iter().find_map(|(name, histogram)| {
        let factor = seconds(unit_of(name))? / seconds(unit_of(metric))?;
        let mut own = Latencies::new();
        histogram.iter().for_each(|&(value, times)| own.record(value, times));
        let quantile = own.quantile(share)? as f64 * factor;
        ((quantile - value).abs() <= AGREES * value.abs()).then_some((histogram, factor))
    })
}

fn seconds(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(1e-9),
        "us" => Some(1e-6),
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        _ => None,
    }
}
