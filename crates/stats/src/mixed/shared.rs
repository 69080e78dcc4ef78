//! What trials near in time have in common: a random walk, or a level of their block.

use std::ops::Range;

use super::MixedTrial;

/// A time series that the trials share, by its variance over that of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shared {
    /// A random walk, by its variance a trial; 0 for none.
    Walk(f64),
    /// A level of each block, as where all its trials replay one sequence of random numbers.
    Block(f64),
}

/// Each with its prior weight; neighbours in this list are alike.
pub(super) const SHARED: [(Shared, f64); 12] = [
    (Shared::Walk(0.0), 0.3),
    (Shared::Walk(0.03), 0.1),
    (Shared::Walk(0.1), 0.1),
    (Shared::Walk(0.3), 0.1),
    (Shared::Walk(1.0), 0.1),
    (Shared::Walk(3.0), 0.1),
    (Shared::Walk(10.0), 0.1),
    (Shared::Walk(100.0), 0.1),
    (Shared::Block(1.0), 0.1),
    (Shared::Block(100.0), 0.1),
    (Shared::Block(10_000.0), 0.1),
    (Shared::Block(1e6), 0.1),
];

impl Shared {
    /// Whether it is a level of each block.
    pub(super) fn is_block(self) -> bool {
        matches!(self, Self::Block(_))
    }

    /// The variance that it adds to a difference of two trials of one block, so many trials apart.
    pub(super) fn between(self, trials: f64) -> f64 {
        match self {
            Self::Walk(walk) => walk * trials.abs(),
            Self::Block(_) => 0.0,
        }
    }

    /// The likeliest of such series through `values`, overall level included; `noise` by setting.
    pub(super) fn course(self, trials: &[MixedTrial], values: &[f64], noise: &[f64]) -> Vec<f64> {
        let precision = |at: usize| 1.0 / noise[trials[at].setting];
        match self {
            Self::Walk(walk) if walk > 0.0 => walk_course(trials, values, walk, precision),
            Self::Walk(_) => {
                let all = values.iter().enumerate();
                let all = all.fold((0.0, 0.0), |(s, w), (at, value)| (s + value * precision(at), w + precision(at)));
                vec![all.0 / all.1; values.len()]
            }
            Self::Block(variance) => {
                let blocks = blocks(trials, variance, noise);
                let mean = |it: &Block| it.at.clone().map(|at| values[at] * precision(at)).sum::<f64>() / it.precision;
                let means: Vec<f64> = blocks.iter().map(mean).collect();
                let whole: f64 = blocks.iter().map(|it| it.weight).sum();
                let level = blocks.iter().zip(&means).map(|(it, mean)| it.weight * mean).sum::<f64>() / whole;
                let own = blocks.iter().zip(means);
                // A block's own mean, pulled towards the others' as far as its trials say little of it.
                own.flat_map(|(it, mean)| {
                    let kept = 1.0 - it.weight / it.precision;
                    vec![level + kept * (mean - level); it.at.len()]
                })
                .collect()
            }
        }
    }
}

/// A block's trials.
pub(super) struct Block {
    /// Their places.
    pub(super) at: Range<usize>,
    /// Sum of their precisions.
    pub(super) precision: f64,
    /// Precision of their mean, with the variance of the block's level.
    pub(super) weight: f64,
}

/// The blocks of trials in order, with levels of this variance.
pub(super) fn blocks(trials: &[MixedTrial], variance: f64, noise: &[f64]) -> Vec<Block> {
    let mut from = 0;
    let block = |block: &[MixedTrial]| {
        let at = from..from + block.len();
        from = at.end;
        let precision: f64 = block.iter().map(|trial| 1.0 / noise[trial.setting]).sum();
        Block { at, precision, weight: precision / (1.0 + variance * precision) }
    };
    trials.chunk_by(|a, b| a.block == b.block).map(block).collect()
}

/// The likeliest walk through `values`, by its tridiagonal equations.
fn walk_course(trials: &[MixedTrial], values: &[f64], walk: f64, precision: impl Fn(usize) -> f64) -> Vec<f64> {
    let link = |at: usize| match trials.get(at..at + 2) {
        Some([first, second]) => 1.0 / (walk * apart(first, second)),
        _ => 0.0,
    };
    let mut ratios = vec![0.0; values.len()];
    let mut found = vec![0.0; values.len()];
    let mut left = 0.0;
    for at in 0..values.len() {
        let right = link(at);
        let (ratio, sum) = if at > 0 { (ratios[at - 1], found[at - 1]) } else { (0.0, 0.0) };
        let diagonal = precision(at) + left + right + left * ratio;
        ratios[at] = -right / diagonal;
        found[at] = (values[at] * precision(at) + left * sum) / diagonal;
        left = right;
    }
    for at in (0..values.len().saturating_sub(1)).rev() {
        found[at] -= ratios[at] * found[at + 1];
    }
    found
}

/// Next to nothing, where two trials have the same time.
const AT_ONCE: f64 = 1e-6;

/// Trials from one to the next, void ones between them counted.
pub(super) fn apart(first: &MixedTrial, second: &MixedTrial) -> f64 {
    f64::from(second.time.saturating_sub(first.time)).max(AT_ONCE)
}
