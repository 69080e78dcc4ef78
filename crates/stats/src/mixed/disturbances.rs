//! What the model says of its disturbances: drift, what a setting leaves for the next trial, a wave of a few trials.

use super::columns::Disturbance;
use super::variants::{Variant, df};
use super::{MixedModel, SHOWN};
use serde::{Deserialize, Serialize};

/// How trials right after a setting differ from those after the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AfterEffect {
    /// The setting that ran before.
    pub setting: usize,
    /// Estimated effect on the trial after it, on the scale of the differences.
    pub effect: f64,
    /// Weight of the variants in which there is any such effect.
    pub probability: f64,
}

impl AfterEffect {
    /// Whether nearly all variants with weight have one.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.probability > SHOWN
    }
}

/// Interference in step with the trials: a wave of a few trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Period {
    /// Its likeliest length in trials.
    pub trials: u32,
    /// Share of the variation that settings leave which the wave makes up.
    pub share: f64,
    /// Weight of the variants in which there is any wave.
    pub probability: f64,
}

impl Period {
    /// Whether nearly all variants with weight have one.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.probability > SHOWN
    }
}

impl MixedModel {
    fn disturbance(&self, variant: &Variant) -> &Disturbance {
        &self.columns.disturbances[variant.disturbance]
    }

    /// Weight of the variants whose disturbance is of this kind.
    fn weight_where(&self, is: impl Fn(&Disturbance) -> bool) -> f64 {
        self.variants.iter().filter(|it| is(self.disturbance(it))).map(|it| it.weight).sum()
    }

    pub(super) fn drift_weight(&self) -> f64 {
        self.weight_where(|it| it.drift)
    }

    pub(super) fn after_weight(&self) -> f64 {
        self.weight_where(|it| it.after)
    }

    pub(super) fn period_weight(&self) -> f64 {
        self.weight_where(|it| it.period.is_some())
    }

    /// Whether nearly all variants with weight have a drift.
    pub(crate) fn drifts(&self) -> bool {
        self.drift_weight() > SHOWN
    }

    /// The largest effect of a setting on the trial after it, as the variants that have one say; none where none has weight.
    pub(crate) fn after_effect(&self) -> Option<AfterEffect> {
        let (levels, settings) = (self.columns.settings - 1, self.columns.settings);
        let probability = self.after_weight();
        let mut effects = vec![0.0; settings];
        for variant in &self.variants {
            let Disturbance { after: true, drift, .. } = self.disturbance(variant) else { continue };
            let share = variant.weight / probability;
            match &variant.coefficients[levels + usize::from(*drift)..] {
                // What follows one of two settings does not follow the other.
                [both] => effects.iter_mut().skip(1).for_each(|effect| *effect += share * both),
                each => {
                    let sum: f64 = each.iter().sum();
                    let others = |own: &f64| (sum - own) / (settings - 1) as f64;
                    effects.iter_mut().zip(each).for_each(|(effect, own)| *effect += share * (own - others(own)));
                }
            }
        }
        let largest = (0..settings).max_by(|one, other| effects[*one].abs().total_cmp(&effects[*other].abs()));
        let found = |place: usize| AfterEffect { setting: self.setting(place), effect: effects[place], probability };
        largest.filter(|_| probability > 0.0).map(found)
    }

    /// The likeliest wave; none where none has weight.
    pub(crate) fn period(&self) -> Option<Period> {
        let with = self.variants.iter().filter_map(|it| Some((self.disturbance(it).period?, it)));
        let (trials, likeliest) = with.max_by(|(_, one), (_, other)| one.weight.total_cmp(&other.weight))?;
        let wave = |at: usize| self.columns.disturbed(at, likeliest.disturbance, &likeliest.coefficients);
        let count = self.trials.len();
        let mean = (0..count).map(wave).sum::<f64>() / count as f64;
        let square: f64 = (0..count).map(|at| (wave(at) - mean) * (wave(at) - mean)).sum();
        let left = df(&self.trials, &self.columns) * likeliest.variance;
        Some(Period { trials, share: square / (square + left), probability: self.period_weight() })
    }
}
