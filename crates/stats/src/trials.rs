//! The valid trials of a table: in the order of time, on the scale of the differences.

use crate::error::Error;
use crate::mixed::{MixedModel, MixedOptions, MixedTrial};
use crate::order::Slot;
use crate::rules::Scale;
use crate::steps;
use crate::table::Table;

/// Trials of one metric, and what is known of how its values are read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trials {
    /// Settings in the table, the reference included.
    settings: usize,
    /// In the order of time where that is known, else block by block.
    all: Vec<MixedTrial>,
    /// The cell of each in its block.
    slots: Vec<Slot>,
    /// Whether it is known when they ran.
    ordered: bool,
    /// Largest absolute value, the yardstick for rounding.
    magnitude: f64,
    /// Step in which the readings come; 0 where none is seen.
    step: f64,
}

impl Trials {
    /// Reads the cells that `keep` wants (block, setting).
    ///
    /// # Errors
    /// `NotPositive` for a value without a logarithm; `NotFinite` for one that is no number.
    pub(crate) fn new(table: &Table, scale: Scale, mut keep: impl FnMut(usize, usize) -> bool) -> Result<Self, Error> {
        let mut found = Vec::with_capacity(table.trials());
        let mut readings = vec![Vec::new(); table.settings() + 1];
        let mut ordered = true;
        for block in 0..table.blocks() {
            for (slot, reading) in table.block(block).filter(|(slot, _)| keep(block, slot.setting)) {
                let ran = table.ran(block, slot);
                ordered &= ran.is_some();
                let value = on_scale(scale, reading, slot.setting, block)?;
                let (before, time) = (ran.and_then(|ran| ran.before), ran.map_or(0, |ran| ran.trial));
                readings[slot.setting].push(reading);
                found.push((MixedTrial { value, setting: slot.setting, before, block, time }, slot));
            }
        }
        if ordered {
            found.sort_by_key(|(trial, _)| trial.time);
        } else {
            // Then a block is one moment: what moves it moves all its trials alike.
            found.iter_mut().for_each(|(trial, _)| trial.time = trial.block as u32);
        }
        let (all, slots): (Vec<MixedTrial>, Vec<Slot>) = found.into_iter().unzip();
        let (step, least) = steps::step(readings.into_iter());
        // On the logarithmic scale it is that of the smallest reading, where a step weighs most.
        let step = if scale == Scale::Log { step / least } else { step };
        let magnitude = all.iter().fold(0.0, |most: f64, trial| most.max(trial.value.abs()));
        Ok(Self { settings: table.settings() + 1, all, slots, ordered, magnitude, step })
    }

    /// The model of these trials.
    ///
    /// # Errors
    /// As [`MixedModel::new`].
    pub(crate) fn model(&self, winsorise: bool, blocks: bool) -> Result<MixedModel, Error> {
        let options = MixedOptions { winsorise, ordered: self.ordered, blocks, step: self.step };
        MixedModel::new(&self.all, self.settings, options)
    }

    pub(crate) fn all(&self) -> &[MixedTrial] {
        &self.all
    }

    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    pub(crate) fn settings(&self) -> usize {
        self.settings
    }

    pub(crate) fn step(&self) -> f64 {
        self.step
    }

    pub(crate) fn magnitude(&self) -> f64 {
        self.magnitude
    }

    /// Values of a setting.
    pub(crate) fn values(&self, setting: usize) -> impl Iterator<Item = f64> + '_ {
        self.all.iter().filter(move |trial| trial.setting == setting).map(|trial| trial.value)
    }

    /// The differences of a setting from the reference, in block order.
    pub(crate) fn differences(&self, setting: usize) -> Vec<f64> {
        let in_block = |block: &[MixedTrial]| {
            let mean = |of: usize| {
                let own = block.iter().filter(|trial| trial.setting == of);
                let (sum, count) = own.fold((0.0, 0.0), |(sum, count), trial| (sum + trial.value, count + 1.0));
                (count > 0.0).then_some(sum / count)
            };
            Some(mean(setting)? - mean(0)?)
        };
        self.all.chunk_by(|a, b| a.block == b.block).filter_map(in_block).collect()
    }

    /// Of values that belong to the trials, one each, the mean of each block.
    pub(crate) fn block_means(&self, values: &[f64]) -> Vec<f64> {
        let mut left = values;
        let mut means = Vec::new();
        for block in self.all.chunk_by(|a, b| a.block == b.block) {
            let (own, rest) = left.split_at(block.len());
            left = rest;
            means.push(own.iter().sum::<f64>() / own.len() as f64);
        }
        means
    }
}

/// A raw value on the scale of the differences.
pub(crate) fn on_scale(scale: Scale, value: f64, setting: usize, block: usize) -> Result<f64, Error> {
    if !value.is_finite() {
        return Err(Error::NotFinite { setting, block });
    }
    match scale {
        Scale::Linear => Ok(value),
        Scale::Log if value > 0.0 => Ok(libm::log(value)),
        Scale::Log => Err(Error::NotPositive { setting, block, value }),
    }
}
