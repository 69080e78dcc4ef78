//! Pulling in outlying trials: pseudo-values around the two-way fit (Huber 1981, chapter 7), with k = 2.

use crate::contrast::Pool;
use crate::fit::Fit;

/// Half-width of what is believed, in robust standard deviations. 1.5 breaks the error rate under skewed noise.
const CLIP: f64 = 2.0;
/// Turns a median absolute deviation into a standard deviation under normal noise.
pub(crate) const MAD_TO_SD: f64 = 1.4826;
const PASSES: usize = 10;
/// The scales are held from here on, so that the passes settle.
const SCALE_PASSES: usize = 4;
/// Sweeps of medians that give the first fit.
const POLISH_SWEEPS: usize = 3;
/// Winsorising starts with this many residual degrees of freedom …
const MIN_DF: f64 = 8.0;
/// … and this many blocks.
const MIN_BLOCKS: usize = 4;

/// What winsorising did to a fit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Winsor {
    /// Whether there was enough data to begin.
    pub(crate) on: bool,
    /// Which observations were pulled in.
    pub(crate) clipped: Vec<bool>,
    limits: Vec<f64>,
    absolute: Vec<f64>,
    grouped: Vec<f64>,
    group_starts: Vec<usize>,
}

impl Winsor {
    /// Pulls in the outlying values of `fit` if there is enough data, and leaves it solved.
    pub(crate) fn apply(&mut self, fit: &mut Fit, wanted: bool) {
        self.clipped.clear();
        self.clipped.resize(fit.raw.len(), false);
        self.on = wanted && fit.df >= MIN_DF && fit.rows() >= MIN_BLOCKS;
        if !self.on {
            return;
        }
        self.polish(fit);
        for pass in 0..PASSES {
            if pass > 0 {
                fit.solve();
            }
            if pass < SCALE_PASSES {
                self.measure_scales(fit);
            }
            self.pull_in(fit);
        }
        fit.solve();
    }

    /// A first fit by medians in turn of settings and blocks (Tukey 1977). From a fit by least squares an outlier of 300
    /// standard deviations, which lifts its whole block, is still seen after ten passes; medians do not know its size.
    fn polish(&mut self, fit: &mut Fit) {
        fit.levels.fill(0.0);
        fit.block_levels.fill(0.0);
        for _ in 0..POLISH_SWEEPS {
            for row in 0..fit.rows() {
                let range = fit.starts[row]..fit.starts[row + 1];
                self.absolute.clear();
                let left = range.map(|index| fit.raw[index] - fit.levels[fit.observations[index].setting]);
                self.absolute.extend(left);
                fit.block_levels[row] = median(&mut self.absolute);
            }
            self.group(fit, |fit, index| fit.raw[index] - fit.block_levels[fit.observations[index].row]);
            for setting in 0..fit.settings {
                let own = &mut self.grouped[self.group_starts[setting]..self.group_starts[setting + 1]];
                fit.levels[setting] = median(own);
            }
        }
    }

    /// Puts one value an observation in `grouped`, setting by setting.
    fn group(&mut self, fit: &Fit, value: impl Fn(&Fit, usize) -> f64) {
        self.group_starts.clear();
        let mut start = 0;
        for count in &fit.counts {
            self.group_starts.push(start);
            start += count;
        }
        self.grouped.resize(start, 0.0);
        for (index, seen) in fit.observations.iter().enumerate() {
            self.grouped[self.group_starts[seen.setting]] = value(fit, index);
            self.group_starts[seen.setting] += 1;
        }
        // Each start has moved to its group's end, which is the next one's start.
        self.group_starts.insert(0, 0);
    }

    fn pull_in(&mut self, fit: &mut Fit) {
        for index in 0..fit.raw.len() {
            let fitted = fit.fitted(index);
            let limit = self.limits[fit.observations[index].setting];
            let error = fit.raw[index] - fitted;
            self.clipped[index] = error.abs() > limit;
            fit.used[index] = if self.clipped[index] { fitted + limit.copysign(error) } else { fit.raw[index] };
        }
    }

    /// Share of all trials that were not pulled in.
    pub(crate) fn kept_share(&self) -> f64 {
        if self.clipped.is_empty() {
            return 1.0;
        }
        let clipped = self.clipped.iter().filter(|&&c| c).count();
        1.0 - clipped as f64 / self.clipped.len() as f64
    }

    /// Limits by setting: the larger of the common robust scale and the setting's own. A common one alone would clip
    /// a setting that really is noisier into false certainty.
    fn measure_scales(&mut self, fit: &Fit) {
        let inflate = MAD_TO_SD * (fit.raw.len() as f64 / fit.df).sqrt();
        let nothing = 1e-13 * fit.magnitude;
        self.group(fit, |fit, index| (fit.raw[index] - fit.fitted(index)).abs());
        self.absolute.clone_from(&self.grouped);
        let common = inflate * median(&mut self.absolute);
        self.limits.clear();
        for setting in 0..fit.settings {
            let own = &mut self.grouped[self.group_starts[setting]..self.group_starts[setting + 1]];
            let scale = common.max(inflate * median(own));
            // Where most residuals are exactly zero the median knows no scale: pull nothing in.
            self.limits.push(if scale > nothing { CLIP * scale } else { f64::INFINITY });
        }
    }
}

/// Residual variance of one trial, made larger for the share that was pulled in.
pub(crate) fn pool(fit: &Fit, winsor: &Winsor) -> Pool {
    let kept = winsor.kept_share();
    Pool {
        variance: fit.residual_variance() / (kept * kept),
        df: fit.df,
        magnitude: fit.magnitude,
        step: fit.step,
        heterogeneity: fit.heterogeneity(),
    }
}

/// Median, reordering `values`; 0 of nothing.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    let n = values.len();
    if n == 0 {
        return 0.0;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    if n % 2 == 1 {
        return upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    0.5 * (lower + upper)
}
