//! Every setting against every other, the reference being one of them.

use crate::mixed::{Contrast, MixedModel};
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
    /// Compares all pairs of so many settings with at least two blocks in common. `level` gives the p asked at a number of blocks.
    pub(crate) fn new(model: &MixedModel, settings: usize, margin: f64, level: impl Fn(u32) -> f64) -> Self {
        let mut pairs = Self {
            settings,
            contrasts: vec![None; settings * settings],
            levels: vec![0.0; settings * settings],
            margin,
        };
        for i in 0..settings {
            for j in i + 1..settings {
                let place = i * settings + j;
                pairs.contrasts[place] = model.contrast(i, j);
                pairs.levels[place] = pairs.contrasts[place].as_ref().map_or(0.0, |contrast| level(contrast.blocks));
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
        let stored = self.contrasts.get(self.place(i, j)?)?.as_ref()?;
        Some(if i > j { stored.reversed() } else { stored.clone() })
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
