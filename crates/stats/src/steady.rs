//! Beginnings: when warm-up trials have settled, and whether the first block came too early.

use crate::error::Error;
use crate::median::median;
use crate::rules::{Rules, Scale};
use crate::table::Table;
use crate::trials::on_scale;
use serde::{Deserialize, Serialize};

/// Warm-up ends after this many trials of the reference at the latest.
const MAX_WARM_UP: usize = 5;
/// Two neighbours closer than this share of their level have settled …
const WARM_UP_RELATIVE: f64 = 0.02;
/// … and so have two closer than this many standard deviations of a trial, where that is known.
const WARM_UP_SIGMAS: f64 = 3.0;

/// Whether warm-up is over after these trials of the reference, in time order, none of which will be used.
///
/// Over when the latest two differ by less than 2 %, or by less than three times `noise_sd` (standard deviation of
/// one trial on the scale of the differences, where a calibration knows it), or after five. One trial alone has
/// no neighbour to agree with.
#[must_use]
pub fn warm_up_is_over(trials: &[f64], scale: Scale, noise_sd: Option<f64>) -> bool {
    if trials.len() >= MAX_WARM_UP {
        return true;
    }
    let [.., before, last] = trials else { return false };
    let relative = (last - before).abs() < WARM_UP_RELATIVE * before.abs().min(last.abs());
    let apart = match scale {
        Scale::Log if *last > 0.0 && *before > 0.0 => libm::log(last / before).abs(),
        _ => (last - before).abs(),
    };
    relative || noise_sd.is_some_and(|sd| apart < WARM_UP_SIGMAS * sd)
}

/// What the first-block rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FirstBlock {
    /// The first block counts like any other.
    Kept,
    /// The first block spreads far more than those after it: shown, not used, to be replaced.
    Dropped,
}

/// Blocks narrower than this say too little about their own spread.
const FIRST_BLOCK_LEAST_TRIALS: usize = 4;
const FIRST_BLOCK_RATIO: f64 = 4.0;
/// The first block and the three after it; later ones change nothing, so the rule is settled by the fifth.
const FIRST_BLOCK_COMPARED: usize = 4;

/// The first-block rule: drop block 1 when the standard deviation of its trials is more than four times the median of
/// those of blocks 2 to 4.
///
/// It uses nothing that tells one setting from another, so it cannot favour one. Only blocks as wide as the first
/// are compared with it, and blocks of fewer than four trials are left alone (9 % false drops there).
///
/// # Errors
/// `NotPositive` for a value without a logarithm.
pub fn first_block(table: &Table, rules: &Rules) -> Result<FirstBlock, Error> {
    let width = table.block(0).count();
    if width < FIRST_BLOCK_LEAST_TRIALS {
        return Ok(FirstBlock::Kept);
    }
    let mut spreads = Vec::with_capacity(FIRST_BLOCK_COMPARED);
    let mut values = Vec::with_capacity(width);
    for block in 0..table.blocks().min(FIRST_BLOCK_COMPARED) {
        values.clear();
        for (slot, value) in table.block(block) {
            values.push(on_scale(rules.scale, value, slot.setting, block)?);
        }
        if values.len() == width {
            spreads.push(spread(&values));
        }
    }
    if spreads.len() < 2 {
        return Ok(FirstBlock::Kept);
    }
    let first = spreads[0];
    let later = median(&mut spreads[1..]);
    Ok(if first > FIRST_BLOCK_RATIO * later { FirstBlock::Dropped } else { FirstBlock::Kept })
}

/// Sample standard deviation.
fn spread(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0)).sqrt()
}
