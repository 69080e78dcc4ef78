//! One mixed model for every comparison: settings' levels, a random walk, one disturbance and noise, averaged over variants.
//!
//! A trial is its setting's level + a random walk or its block's level + a disturbance + normal noise. Which walk, which disturbance
//! and whose noise is larger is not known, so every combination is fitted (a *variant*), weighed by how likely it makes the trials (Bayesian
//! model averaging: Hoeting and others 1999), and a difference of two settings is the mixture of what the variants say of it.
//! Nothing is chosen, so no variant's certainty is borrowed without its weight.

use crate::error::Error;

mod carried;
mod columns;
mod contrast;
mod disturbances;
mod outliers;
mod shared;
mod solve;
mod variants;

use columns::Columns;
pub use contrast::{Contrast, VariantDifference};
pub use disturbances::{AfterEffect, Period};
use variants::Variant;

/// Weight above which something is reported as known.
const SHOWN: f64 = 0.95;

/// A valid trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MixedTrial {
    /// Its value on the scale of the differences.
    pub(crate) value: f64,
    /// Its setting, 0 the reference.
    pub(crate) setting: usize,
    /// The setting of the trial right before it, where that is known.
    pub(crate) before: Option<usize>,
    /// Its block.
    pub(crate) block: usize,
    /// Its number among all trials, void ones included.
    pub(crate) time: u32,
}

/// The model fitted to the trials of one metric. A contrast of any two settings is read from it.
#[derive(Debug, Clone)]
pub struct MixedModel {
    /// In the order of time; settings are places among those present.
    trials: Vec<MixedTrial>,
    /// Place of each setting among those that have a trial.
    places: Vec<Option<usize>>,
    columns: Columns,
    /// Which trials were pulled in.
    clipped: Vec<bool>,
    /// Step in which the values come; 0 where none is seen.
    step: f64,
    variants: Vec<Variant>,
}

/// How a model is to be fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MixedOptions {
    /// Whether outlying trials are pulled in once there are enough to know them by.
    pub(crate) winsorise: bool,
    /// Whether it is known when trials ran. If not, nothing that depends on their order is in the model.
    pub(crate) ordered: bool,
    /// Whether a block may have a level of its own.
    pub(crate) blocks: bool,
    /// Step in which the values come, on the scale of the differences; 0 where none is seen.
    pub(crate) step: f64,
}

impl MixedModel {
    /// Fits the model to trials in the order of time, of so many settings with the reference.
    ///
    /// # Errors
    /// `NotFinite` for a value that is no number; `TooFewTrials` unless there is a trial more than settings with one.
    pub(crate) fn new(trials: &[MixedTrial], settings: usize, options: MixedOptions) -> Result<Self, Error> {
        let mut places = vec![None; settings];
        for trial in trials {
            if !trial.value.is_finite() {
                return Err(Error::NotFinite { setting: trial.setting, block: trial.block });
            }
            *places.get_mut(trial.setting).ok_or(Error::NoSuchCell {
                setting: trial.setting,
                copy: 0,
                block: trial.block,
            })? = Some(0);
        }
        let present = places.iter_mut().flatten();
        let present = present.enumerate().map(|(place, it)| *it = place).count();
        if trials.len() <= present {
            return Err(Error::TooFewTrials { have: trials.len() });
        }
        // A setting is known by its place among those present.
        let placed = |trial: &MixedTrial| MixedTrial {
            setting: places[trial.setting].unwrap_or(0),
            before: trial.before.and_then(|before| places.get(before).copied().flatten()),
            ..*trial
        };
        let trials: Vec<MixedTrial> = trials.iter().map(placed).collect();
        let mut columns = Columns::new(&trials, present, options);
        let wanted = options.winsorise && present > 1;
        let (clipped, likely) = outliers::pull_in(&trials, &mut columns, options.step, wanted);
        let variants = variants::variants(&trials, &columns, likely);
        Ok(Self { trials, places, columns, clipped, step: options.step, variants })
    }

    /// Share of the trials that were not pulled in.
    pub(crate) fn kept_share(&self) -> f64 {
        outliers::kept_share(&self.clipped)
    }

    /// Which trials were pulled in, in the order given.
    pub(crate) fn clipped(&self) -> &[bool] {
        &self.clipped
    }

    /// Values of the trials, pulled in where they were outlying.
    pub(crate) fn values(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.trials.len()).map(|at| self.columns.value(at))
    }

    /// The level of every setting less that of the first one that has a trial; 0 of those without any.
    pub(crate) fn levels(&self) -> Vec<f64> {
        let mean = |place: usize| self.variants.iter().map(|it| it.weight * it.level(place)).sum();
        self.places.iter().map(|place| place.map_or(0.0, mean)).collect()
    }

    /// Whether the variants in which a setting is noisier than others have nearly all the weight.
    pub(crate) fn is_noisier(&self, setting: usize) -> bool {
        let Some(place) = self.places.get(setting).copied().flatten() else { return false };
        self.variants.iter().filter(|it| it.noise[place] > 1.0).map(|it| it.weight).sum::<f64>() > SHOWN
    }

    /// The setting at a place.
    fn setting(&self, place: usize) -> usize {
        self.places.iter().position(|it| *it == Some(place)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
