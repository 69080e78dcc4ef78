//! Every setting against every other, the reference being one of them.

use crate::contrast::{Contrast, Differences, Pool};
use crate::fit::Fit;
use serde::{Deserialize, Serialize};

/// Comparisons of all pairs of settings at one look, on the scale of the differences.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Pairs {
    settings: usize,
    /// The pair (i, j), i < j, at i·settings + j: level of i less level of j.
    contrasts: Vec<Option<Contrast>>,
    /// p each pair must reach to be called the same, at its number of blocks.
    levels: Vec<f64>,
    margin: f64,
}

impl Pairs {
    /// Compares all pairs with at least two blocks in common. `level` gives the p asked at a number of blocks.
    pub(crate) fn new(fit: &Fit, pool: &Pool, margin: f64, level: impl Fn(u32) -> f64) -> Self {
        let k = fit.settings;
        let means = block_means(fit);
        let mut pairs = Self { settings: k, contrasts: vec![None; k * k], levels: vec![0.0; k * k], margin };
        for i in 0..k {
            for j in i + 1..k {
                let differences = differences(&means, k, i, j);
                if differences.blocks >= 2 {
                    pairs.contrasts[i * k + j] = Some(Contrast::new(&differences, pool));
                    pairs.levels[i * k + j] = level(differences.blocks);
                }
            }
        }
        pairs
    }

    /// Settings that are compared, the reference among them.
    #[must_use]
    pub fn settings(&self) -> usize {
        self.settings
    }

    /// Level of `i` less level of `j`; none for the same setting twice or fewer than two blocks in common.
    #[must_use]
    pub fn contrast(&self, i: usize, j: usize) -> Option<Contrast> {
        let stored = *self.contrasts.get(self.place(i, j)?)?;
        let mut contrast = stored?;
        if i > j {
            contrast.effect = -contrast.effect;
        }
        Some(contrast)
    }

    /// Whether two settings are shown to differ by less than the margin, at the level of this look. A setting is
    /// within any margin of itself.
    #[must_use]
    pub fn within_margin(&self, i: usize, j: usize) -> bool {
        if i == j {
            return i < self.settings;
        }
        let (Some(contrast), Some(place)) = (self.contrast(i, j), self.place(i, j)) else { return false };
        contrast.p_beyond(self.margin) <= self.levels[place]
    }

    /// Whether all of `group` are the same at the margin: every pair is shown to be, each at the full level, since
    /// the claim is false only if one of them is (intersection and union, Berger 1982).
    #[must_use]
    pub fn alike(&self, group: &[usize]) -> bool {
        group.iter().enumerate().all(|(place, &i)| group[place..].iter().all(|&j| self.within_margin(i, j)))
    }

    /// A group around `setting` that is all alike, grown by the settings nearest to it first; in order of number.
    #[must_use]
    pub fn alike_with(&self, setting: usize) -> Vec<usize> {
        let distance = |j: usize| self.contrast(setting, j).map(|c| c.effect.abs());
        let mut near: Vec<(f64, usize)> =
            (0..self.settings).filter_map(|j| distance(j).map(|size| (size, j))).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut group = vec![setting];
        for (_, j) in near {
            if group.iter().all(|&i| self.within_margin(i, j)) {
                group.push(j);
            }
        }
        group.sort_unstable();
        group
    }

    fn place(&self, i: usize, j: usize) -> Option<usize> {
        let (low, high) = (i.min(j), i.max(j));
        (low < high && high < self.settings).then_some(low * self.settings + high)
    }
}

/// Mean and copies of each setting in each block, a row a block.
fn block_means(fit: &Fit) -> Vec<(f64, f64)> {
    let k = fit.settings;
    let mut means = vec![(0.0, 0.0); k * fit.rows()];
    for (seen, y) in fit.observations.iter().zip(&fit.used) {
        let cell = &mut means[seen.row * k + seen.setting];
        cell.0 += y;
        cell.1 += 1.0;
    }
    for cell in &mut means {
        if cell.1 > 1.0 {
            cell.0 /= cell.1;
        }
    }
    means
}

fn differences(means: &[(f64, f64)], k: usize, i: usize, j: usize) -> Differences {
    let mut sums = Differences::default();
    let common = || means.chunks_exact(k).map(|row| (row[i], row[j])).filter(|(a, b)| a.1 > 0.0 && b.1 > 0.0);
    for (a, b) in common() {
        sums.blocks += 1;
        sums.sum += a.0 - b.0;
        sums.weight += 1.0 / a.1 + 1.0 / b.1;
    }
    let mean = sums.sum / f64::from(sums.blocks.max(1));
    for (a, b) in common() {
        let deviation = a.0 - b.0 - mean;
        sums.squares += deviation * deviation;
    }
    sums
}
