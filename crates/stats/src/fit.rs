//! The two-way fit: every valid trial is its setting's level plus its block's level plus noise.
//!
//! Least squares on incomplete blocks (John and Williams 1995): settings' levels from the equations adjusted for
//! blocks, block levels from what remains.

use crate::error::Error;
use crate::order::Slot;
use crate::rules::Scale;
use crate::steps;
use crate::table::{Table, TrialTime};

/// One valid trial on the scale of the differences.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Observation {
    /// Setting, 0 the reference.
    pub(crate) setting: usize,
    /// Place of its block among the blocks used.
    pub(crate) row: usize,
    /// Its cell in the table.
    pub(crate) slot: Slot,
    /// Block of the table.
    pub(crate) block: usize,
    /// When it ran, where that is known.
    pub(crate) ran: Option<TrialTime>,
}

impl Observation {
    /// Setting of the trial right before it, where that is known.
    pub(crate) fn before(&self) -> Option<usize> {
        self.ran.and_then(|ran| ran.before)
    }
}

/// The design (who was measured where), its factor, and the latest solution. Reused from look to look.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fit {
    /// Settings in the table, the reference included.
    pub(crate) settings: usize,
    pub(crate) observations: Vec<Observation>,
    /// Values as measured, on the scale of the differences; in the order of `observations`.
    pub(crate) raw: Vec<f64>,
    /// Values as used: equal to `raw` until pulled in.
    pub(crate) used: Vec<f64>,
    /// Largest absolute value, the yardstick for rounding.
    pub(crate) magnitude: f64,
    /// Step in which the readings come, on the scale of the differences; 0 where none is seen.
    pub(crate) step: f64,
    /// Degrees of freedom of the residuals.
    pub(crate) df: f64,
    /// Residuals of `used` from the latest solution.
    pub(crate) residuals: Vec<f64>,
    /// Level of each setting; they sum to zero over the settings present.
    pub(crate) levels: Vec<f64>,
    /// Level of each block used.
    pub(crate) block_levels: Vec<f64>,
    /// First observation of each block used, and one past the last.
    pub(crate) starts: Vec<usize>,
    /// Trials of each setting.
    pub(crate) counts: Vec<usize>,
    /// Places of the observations setting by setting, each setting's in order.
    by_setting: Vec<usize>,
    /// Where each setting's places begin there, and one past the last.
    setting_starts: Vec<usize>,
    factor: Vec<f64>,
    means: Vec<f64>,
    work: Vec<f64>,
    repeats: Vec<f64>,
}

impl Fit {
    /// Reads the cells that `keep` wants (block, setting), on `scale`, and factors the equations.
    ///
    /// # Errors
    /// `NotPositive` for a value without a logarithm; `TooFewTrials` below two.
    pub(crate) fn load(
        &mut self,
        table: &Table,
        scale: Scale,
        mut keep: impl FnMut(usize, usize) -> bool,
    ) -> Result<(), Error> {
        self.settings = table.settings() + 1;
        self.observations.clear();
        self.raw.clear();
        self.starts.clear();
        self.magnitude = 0.0;
        for block in 0..table.blocks() {
            let before = self.raw.len();
            let row = self.starts.len();
            for (slot, value) in table.block(block) {
                if keep(block, slot.setting) {
                    let y = on_scale(scale, value, slot.setting, block)?;
                    self.magnitude = self.magnitude.max(y.abs());
                    let ran = table.ran(block, slot);
                    self.observations.push(Observation { setting: slot.setting, row, slot, block, ran });
                    self.raw.push(y);
                }
            }
            if self.raw.len() > before {
                self.starts.push(before);
            }
        }
        self.starts.push(self.raw.len());
        if self.raw.len() < 2 {
            return Err(Error::TooFewTrials { have: self.raw.len() });
        }
        self.used.clone_from(&self.raw);
        self.factorise();
        self.sort_by_setting();
        self.step = self.step(table, scale);
        self.solve();
        Ok(())
    }

    /// The step of the readings on the scale of the differences: that of the smallest reading, where a step weighs most.
    fn step(&self, table: &Table, scale: Scale) -> f64 {
        let reading = |&place: &usize| {
            let seen = &self.observations[place];
            table.get(seen.block, seen.slot).unwrap_or(f64::NAN)
        };
        let by_setting = (0..self.settings).map(|setting| self.of(setting).iter().map(reading).collect());
        let (step, least) = steps::step(by_setting);
        if scale == Scale::Log { step / least } else { step }
    }

    /// Places of a setting's observations, in order.
    pub(crate) fn of(&self, setting: usize) -> &[usize] {
        &self.by_setting[self.setting_starts[setting]..self.setting_starts[setting + 1]]
    }

    /// Counts where each setting's places begin, then puts each place behind those of its setting before it.
    fn sort_by_setting(&mut self) {
        self.setting_starts.clear();
        self.setting_starts.push(0);
        for count in &self.counts {
            self.setting_starts.push(self.setting_starts[self.setting_starts.len() - 1] + count);
        }
        let mut next = self.setting_starts.clone();
        self.by_setting.clear();
        self.by_setting.resize(self.observations.len(), 0);
        for (place, seen) in self.observations.iter().enumerate() {
            self.by_setting[next[seen.setting]] = place;
            next[seen.setting] += 1;
        }
    }

    /// Blocks used.
    pub(crate) fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Residual variance of one trial from the latest solution.
    pub(crate) fn residual_variance(&self) -> f64 {
        if self.df <= 0.0 {
            return f64::NAN;
        }
        self.residuals.iter().map(|e| e * e).sum::<f64>() / self.df
    }

    /// How much the settings' variances scatter: the square of their coefficient of variation, less so many times what
    /// chance makes of equal normal ones. Of many settings 1.5 times (with once, outliers make every verdict take a twentieth
    /// more blocks); of few less, by simulation: few variances say little of how they scatter, and of three settings the
    /// noise of one is in all residuals.
    pub(crate) fn heterogeneity(&self) -> f64 {
        const CHANCE: [f64; 4] = [0.1, 0.5, 0.9, 1.2];
        const CHANCE_OF_MANY: f64 = 1.5;
        let share = self.df / self.raw.len() as f64;
        let square = |&place: &usize| self.residuals[place] * self.residuals[place];
        let of =
            |setting: usize| (self.of(setting).iter().map(square).sum::<f64>(), share * self.counts[setting] as f64);
        let sums: Vec<(f64, f64)> = (0..self.settings).filter(|&it| self.counts[it] > 1).map(of).collect();
        let count = sums.len() as f64;
        let mean = sums.iter().map(|(sum, df)| sum / df).sum::<f64>() / count;
        if count < 3.0 || self.df <= 0.0 || mean <= 0.0 {
            return 0.0;
        }
        let deviation = |(sum, df): &(f64, f64)| sum / df / mean - 1.0;
        let scatter = sums.iter().map(|it| deviation(it) * deviation(it)).sum::<f64>() / (count - 1.0);
        let chance = sums.iter().map(|(_, df)| 2.0 / df).sum::<f64>() / count;
        let left_out = CHANCE.get(sums.len() - 3).unwrap_or(&CHANCE_OF_MANY);
        ((scatter - left_out * chance) / (1.0 + chance)).max(0.0)
    }

    /// What the fit expects of an observation.
    pub(crate) fn fitted(&self, index: usize) -> f64 {
        let seen = &self.observations[index];
        self.levels[seen.setting] + self.block_levels[seen.row]
    }

    /// Cholesky factor of diag(n) − Σ n_b n_bᵀ / k_b + 11ᵀ/settings, for the settings present.
    fn factorise(&mut self) {
        let m = self.settings;
        self.factor.clear();
        self.factor.resize(m * m, 0.0);
        self.counts.clear();
        self.counts.resize(m, 0);
        self.repeats.clear();
        self.repeats.resize(m, 0.0);
        for block in 0..self.rows() {
            let cells = &self.observations[self.starts[block]..self.starts[block + 1]];
            for seen in cells {
                self.repeats[seen.setting] += 1.0;
                self.counts[seen.setting] += 1;
            }
            let size = cells.len() as f64;
            for (place, seen) in cells.iter().enumerate() {
                // Copies of the reference stand first and share one row of the equations: take it once.
                if place > 0 && cells[place - 1].setting == seen.setting {
                    continue;
                }
                let i = seen.setting;
                let mine = self.repeats[i];
                self.factor[i * m + i] += mine;
                for other in cells {
                    self.factor[i * m + other.setting] -= mine / size;
                }
            }
            for seen in cells {
                self.repeats[seen.setting] = 0.0;
            }
        }
        let present = self.counts.iter().filter(|&&n| n > 0).count() as f64;
        for i in 0..m {
            for j in 0..m {
                if self.counts[i] > 0 && self.counts[j] > 0 {
                    self.factor[i * m + j] += 1.0 / present;
                }
            }
        }
        let lost = self.cholesky();
        let rank = present - lost - 1.0;
        self.df = self.raw.len() as f64 - self.rows() as f64 - rank;
    }

    /// Factors in place and gives how many settings present no block links to the others.
    fn cholesky(&mut self) -> f64 {
        const SINGULAR: f64 = 1e-9;
        let m = self.settings;
        let a = &mut self.factor;
        let mut lost = 0.0;
        for i in 0..m {
            for j in 0..=i {
                let mut sum = a[i * m + j];
                for k in 0..j {
                    sum -= a[i * m + k] * a[j * m + k];
                }
                if i != j {
                    a[i * m + j] = sum * a[j * m + j];
                } else if sum > SINGULAR {
                    // The reciprocal, so that every later use is a product.
                    a[i * m + i] = 1.0 / sum.sqrt();
                } else {
                    lost += if self.counts[i] > 0 { 1.0 } else { 0.0 };
                    a[i * m + i] = 0.0;
                }
            }
        }
        lost
    }

    /// Solves for `used`, leaving levels, block levels and residuals.
    pub(crate) fn solve(&mut self) {
        let m = self.settings;
        self.means.clear();
        self.work.clear();
        self.work.resize(m, 0.0);
        for block in 0..self.starts.len() - 1 {
            let range = self.starts[block]..self.starts[block + 1];
            let values = &self.used[range.clone()];
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            self.means.push(mean);
            for (seen, y) in self.observations[range].iter().zip(values) {
                self.work[seen.setting] += y - mean;
            }
        }
        self.substitute();
        self.levels.clone_from(&self.work);
        self.residuals.resize(self.used.len(), 0.0);
        self.block_levels.clear();
        for block in 0..self.starts.len() - 1 {
            let range = self.starts[block]..self.starts[block + 1];
            let cells = &self.observations[range.clone()];
            let levels: f64 = cells.iter().map(|seen| self.levels[seen.setting]).sum();
            let level = self.means[block] - levels / cells.len() as f64;
            self.block_levels.push(level);
            for index in range {
                let setting = self.observations[index].setting;
                self.residuals[index] = self.used[index] - self.levels[setting] - level;
            }
        }
    }

    /// Forward and backward substitution of `work` by the factor.
    fn substitute(&mut self) {
        let m = self.settings;
        let (a, x) = (&self.factor, &mut self.work);
        for i in 0..m {
            let mut sum = x[i];
            for k in 0..i {
                sum -= a[i * m + k] * x[k];
            }
            x[i] = sum * a[i * m + i];
        }
        for i in (0..m).rev() {
            let mut sum = x[i];
            for k in i + 1..m {
                sum -= a[k * m + i] * x[k];
            }
            x[i] = sum * a[i * m + i];
        }
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

#[cfg(test)]
mod tests;
