//! One mixed model for every comparison: settings' levels, a random walk, one disturbance and noise, averaged over variants.
//!
//! A trial is its setting's level + a random walk + a disturbance + normal noise. Which walk, which disturbance and whose noise
//! is larger is not known, so every combination is fitted (a *variant*), weighed by how likely it makes the trials (Bayesian
//! model averaging: Hoeting and others 1999), and a difference of two settings is the mixture of what the variants say of it.
//! Nothing is chosen, so no variant's certainty is borrowed without its weight.

use crate::error::Error;
use crate::fit::on_scale;
use crate::rules::Scale;
use crate::steps;
use crate::table::Table;

mod columns;
mod contrast;
mod outliers;
mod solve;
mod variants;

use columns::Columns;
pub use contrast::{MixedContrast, VariantDifference};
use variants::Variant;

/// A valid trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MixedTrial {
    /// Its value on the scale of the differences.
    pub value: f64,
    /// Its setting, 0 the reference.
    pub setting: usize,
    /// The setting of the trial right before it, where that is known.
    pub before: Option<usize>,
    /// Its block.
    pub block: usize,
    /// Its number among all trials, void ones included.
    pub time: u32,
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
pub struct MixedOptions {
    /// Whether outlying trials are pulled in once there are enough to know them by.
    pub winsorise: bool,
    /// Whether it is known when trials ran. If not, nothing that depends on their order is in the model.
    pub ordered: bool,
    /// Step in which the values come, on the scale of the differences; 0 where none is seen.
    pub step: f64,
}

impl MixedModel {
    /// Fits the model to trials in the order of time, of so many settings with the reference.
    ///
    /// # Errors
    /// `NotFinite` for a value that is no number; `TooFewTrials` unless there is a trial more than settings with one.
    pub fn new(trials: &[MixedTrial], settings: usize, options: MixedOptions) -> Result<Self, Error> {
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
        let mut columns = Columns::new(&trials, present, options.ordered);
        let wanted = options.winsorise && present > 1;
        let (clipped, likely) = outliers::pull_in(&trials, &mut columns, options.step, wanted);
        let variants = variants::variants(&trials, &columns, likely);
        Ok(Self { trials, places, columns, clipped, step: options.step, variants })
    }

    /// Fits the model to the cells of a table that `keep` wants (block, setting).
    ///
    /// # Errors
    /// As [`MixedModel::new`]; `NotPositive` for a value without a logarithm.
    pub fn of_table(
        table: &Table,
        scale: Scale,
        winsorise: bool,
        mut keep: impl FnMut(usize, usize) -> bool,
    ) -> Result<Self, Error> {
        let mut trials = Vec::with_capacity(table.trials());
        let mut readings = vec![Vec::new(); table.settings() + 1];
        let mut ordered = true;
        for block in 0..table.blocks() {
            for (slot, reading) in table.block(block).filter(|(slot, _)| keep(block, slot.setting)) {
                let ran = table.ran(block, slot);
                ordered &= ran.is_some();
                let value = on_scale(scale, reading, slot.setting, block)?;
                let (before, time) = (ran.and_then(|ran| ran.before), ran.map_or(trials.len() as u32, |ran| ran.trial));
                readings[slot.setting].push(reading);
                trials.push(MixedTrial { value, setting: slot.setting, before, block, time });
            }
        }
        if ordered {
            trials.sort_by_key(|trial| trial.time);
        } else {
            (0..).zip(&mut trials).for_each(|(time, trial)| trial.time = time);
        }
        let (step, least) = steps::step(readings.into_iter());
        let step = if scale == Scale::Log { step / least } else { step };
        Self::new(&trials, table.settings() + 1, MixedOptions { winsorise, ordered, step })
    }

    /// Share of the trials that were not pulled in.
    #[must_use]
    pub fn kept_share(&self) -> f64 {
        outliers::kept_share(&self.clipped)
    }

    /// Variants that carry weight.
    #[must_use]
    pub fn variants(&self) -> usize {
        self.variants.len()
    }

    /// Weight of the variants whose disturbance is of this kind.
    fn weight_where(&self, is: impl Fn(&columns::Disturbance) -> bool) -> f64 {
        let with = self.variants.iter().filter(|variant| is(&self.columns.disturbances[variant.disturbance]));
        with.map(|variant| variant.weight).sum()
    }

    /// Weight of the variants with a drift.
    #[must_use]
    pub fn drift_weight(&self) -> f64 {
        self.weight_where(|it| it.drift)
    }

    /// Weight of the variants in which a setting changes the trial after it.
    #[must_use]
    pub fn after_weight(&self) -> f64 {
        self.weight_where(|it| it.after)
    }

    /// Weight of the variants with a wave of a few trials.
    #[must_use]
    pub fn period_weight(&self) -> f64 {
        self.weight_where(|it| it.period.is_some())
    }
}

#[cfg(test)]
mod tests;
