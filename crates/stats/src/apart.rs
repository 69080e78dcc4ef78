//! Measurements that share no block: two experiments, sessions on different days, runs back to back.

use crate::mixed::{Contrast, VariantDifference};
use crate::predict::{Forecast, Prediction, predict};
use crate::rules::{Rules, Spend};
use crate::spending::Spending;
use crate::verdict::{Claim, SettingLook};

/// Sessions each side must have before their means may be compared.
pub const MIN_SESSIONS: usize = 3;

/// Pairs of variants below this share of the weight say nothing of a difference.
const KEEP: f64 = 1e-4;

/// One less the other, both known with an error of their own: degrees of freedom by Satterthwaite's formula.
fn less(one: &VariantDifference, other: &VariantDifference) -> VariantDifference {
    let [first, second] = [one, other].map(|it| it.error * it.error);
    let (variance, bend) = (first + second, first * first / one.df + second * second / other.df);
    VariantDifference {
        weight: one.weight * other.weight,
        effect: one.effect - other.effect,
        error: variance.sqrt(),
        df: if bend > 0.0 { variance * variance / bend } else { one.df + other.df },
    }
}

/// Two settings of two experiments that share a reference: the difference of their differences from it, for every variant of the
/// one with every variant of the other. Both on the same scale. Its blocks are those of the longer one.
#[must_use]
pub fn through_reference(first: &SettingLook, second: &SettingLook) -> Contrast {
    let (a, b) = (&first.contrast, &second.contrast);
    let all = a.variants.iter().flat_map(|one| b.variants.iter().map(move |other| less(one, other)));
    let mut all: Vec<VariantDifference> = all.filter(|it| it.weight >= KEEP).collect();
    let weight: f64 = all.iter().map(|it| it.weight).sum();
    all.iter_mut().for_each(|it| it.weight /= weight);
    Contrast::new(a.blocks.max(b.blocks), a.resolution + b.resolution, all)
}

/// Welch's comparison of two samples of independent values; none when either has fewer than two. Its blocks are the values of the
/// smaller one.
#[must_use]
pub fn welch(first: &[f64], second: &[f64]) -> Option<Contrast> {
    let fewest = first.len().min(second.len());
    if fewest < 2 {
        return None;
    }
    let side = |values: &[f64]| {
        let ((effect, sd), n) = (mean_and_sd(values), values.len() as f64);
        VariantDifference { weight: 1.0, effect, error: sd / n.sqrt(), df: n - 1.0 }
    };
    Some(Contrast::new(fewest as u32, 0.0, vec![less(&side(first), &side(second))]))
}

/// Session means of two sides that share neither reference nor blocks: Welch on the sessions as observations; none
/// with fewer than three sessions a side, where nothing cancels and the word is "undecided".
#[must_use]
pub fn sessions(first: &[f64], second: &[f64]) -> Option<Contrast> {
    if first.len().min(second.len()) < MIN_SESSIONS { None } else { welch(first, second) }
}

/// What is said of a difference of things measured apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ApartLook {
    /// What is claimed of the first against the second.
    pub claim: Claim,
    /// Two-sided p of "no difference".
    pub p: f64,
    /// The p that was asked for.
    pub level: f64,
    /// Interval at that level; of a "same" the one inside the margin.
    pub interval: (f64, f64),
    /// Blocks (of both together in step), or sessions of each side, after which it would be decided.
    pub predicted: Option<Prediction>,
}

impl Contrast {
    /// Judges two settings of two experiments through their reference: both ended when they liked, so the level is that of the
    /// look at the longer one. `sharing` comparisons share the error rate.
    #[must_use]
    pub fn judge_looked_at(&self, rules: &Rules, sharing: usize, spending: &Spending) -> ApartLook {
        let first = rules.first_look();
        let (difference, same) = (rules.difference_level_of_t(sharing), rules.same_level_of_t(sharing));
        let level = |alpha: f64| spending.nominal(Spend::OpenEnded, alpha, first, self.blocks);
        let course =
            Forecast { spending, spend: Spend::OpenEnded, first, difference, same, margin: rules.margin_on_scale() };
        let look = self.judge(rules, level(difference), level(same));
        let predicted = if look.claim.is_open() { predict(self, &course) } else { None };
        ApartLook { predicted, ..look }
    }

    /// Judges the means of sessions, whose number was not chosen by looking: one look, at the whole of the level. The factor in
    /// it pays here for Satterthwaite's degrees of freedom, which are too many where one side has few sessions and the other
    /// more: without it three against eight err in 5.9 % (8,000 runs).
    #[must_use]
    pub fn judge_sessions(&self, rules: &Rules, sharing: usize) -> ApartLook {
        let (level, same_level) = (rules.difference_level_of_t(sharing), rules.same_level_of_t(sharing));
        let mut look = self.judge(rules, level, same_level);
        if look.claim.is_open() {
            let decides = |more: &u32| !self.grown_to(*more).judge(rules, level, same_level).claim.is_open();
            look.predicted = (self.blocks + 1..=MAX_SESSIONS).find(decides).map(Prediction::new);
        }
        look
    }

    /// The same effect after so many sessions.
    fn grown_to(&self, sessions: u32) -> Self {
        let (n, now) = (f64::from(sessions), f64::from(self.blocks));
        let error = self.standard_error() * (now / n).sqrt();
        Self::of_one(sessions, self.effect, error, self.df() * (n - 1.0) / (now - 1.0))
    }

    fn judge(&self, rules: &Rules, level: f64, same_level: f64) -> ApartLook {
        let p = self.p_difference();
        let differs = p <= level;
        let within = self.p_beyond(rules.margin_on_scale()) <= same_level;
        let claim = match (differs, within) {
            (true, true) => Claim::SameButDifferent,
            (false, true) => Claim::Same,
            (true, false) if self.effect > 0.0 => Claim::Higher,
            (true, false) => Claim::Lower,
            (false, false) => Claim::Open,
        };
        // "Same" is two one-sided tests: the interval that lies inside the margin is the one at their level.
        let interval = self.interval(if within { 2.0 * same_level } else { level });
        ApartLook { claim, p, level, interval, predicted: None }
    }
}

/// Sessions beyond which no prediction is given.
const MAX_SESSIONS: u32 = 1000;

/// Mean and sample standard deviation; the latter 0 of a single value.
#[must_use]
pub fn mean_and_sd(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n.max(1.0);
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (mean, if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}
