//! What can be seen in how long, from the noise of a trial and its length.

use crate::distribution::t_upper_quantile;
use crate::rules::{Rules, Spend};
use crate::spending::Spending;

/// How often an effect of the size told is found.
const POWER: f64 = 0.9;
/// Blocks beyond which no time is told.
const MAX_BLOCKS: u32 = 100_000;
/// One setting against its reference.
const TRIALS_A_BLOCK: f64 = 2.0;
const SECONDS_A_MINUTE: f64 = 60.0;

/// A time and the smallest effect that it lets find.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DetectableEffect {
    /// Time, minutes.
    pub minutes: f64,
    /// Effect on the scale of the noise.
    pub effect: f64,
    /// Blocks that fit.
    pub blocks: u32,
}

/// Smallest effect found in nine of ten cases within so many minutes, one setting against its reference:
/// (t(ν, 1 − p/2) + t(ν, 0.9)) · σ · √(2/B) with ν = B − 1 and p the level of look B. Slightly pessimistic, as looks before
/// the last are not counted. None when the time is too short for the first look.
#[must_use]
pub fn detectable(
    sigma: f64,
    trial_s: f64,
    minutes: f64,
    rules: &Rules,
    spending: &Spending,
) -> Option<DetectableEffect> {
    let blocks = (minutes * SECONDS_A_MINUTE / (TRIALS_A_BLOCK * trial_s)).floor().min(f64::from(MAX_BLOCKS)) as u32;
    let enough = blocks >= rules.first_look() && trial_s > 0.0;
    enough.then(|| DetectableEffect { minutes, effect: effect(sigma, blocks, rules, spending), blocks })
}

/// Time in which an effect of this size (on the scale of the noise) is found in nine of ten cases. None when it is out of
/// reach of 100,000 blocks.
#[must_use]
pub fn time_needed(
    sigma: f64,
    trial_s: f64,
    wanted: f64,
    rules: &Rules,
    spending: &Spending,
) -> Option<DetectableEffect> {
    let first = rules.first_look();
    let passes = |blocks: u32| effect(sigma, blocks, rules, spending) <= wanted;
    let told = |blocks: u32| DetectableEffect {
        minutes: f64::from(blocks) * TRIALS_A_BLOCK * trial_s / SECONDS_A_MINUTE,
        effect: wanted,
        blocks,
    };
    if passes(first) {
        return Some(told(first));
    }
    let (mut below, mut above) = (first, 2 * first);
    while !passes(above) {
        below = above;
        above *= 2;
        if above > MAX_BLOCKS {
            return None;
        }
    }
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        *(if passes(middle) { &mut above } else { &mut below }) = middle;
    }
    Some(told(above))
}

fn effect(sigma: f64, blocks: u32, rules: &Rules, spending: &Spending) -> f64 {
    let count = f64::from(blocks);
    let p = spending.nominal(Spend::OpenEnded, rules.difference_level(1), rules.first_look(), blocks);
    let reach = t_upper_quantile(0.5 * p, count - 1.0) + t_upper_quantile(1.0 - POWER, count - 1.0);
    reach * sigma * (2.0 / count).sqrt()
}
