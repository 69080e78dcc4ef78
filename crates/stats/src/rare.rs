//! Rare trials far from a setting's typical one: a finding of their own, which a typical trial says nothing about.

use crate::median::{MAD_TO_SD, median};
use crate::trials::Trials;
use serde::{Deserialize, Serialize};

/// Trials of one setting that lie far from its median.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rare {
    /// How many.
    pub trials: u32,
    /// Of how many of the setting.
    pub of: u32,
    /// Their median distance from the setting's, on the scale of the differences.
    pub distance: f64,
}

/// Far is beyond this many robust standard deviations: further than the outliers that winsorising is for.
const FAR: f64 = 12.0;
/// Rare is at most this share of a setting's trials; more are a second mode.
const RARE_SHARE: f64 = 0.25;

/// The rare trials of each setting, the reference first. The standard deviation is that of all trials about their setting's
/// median, by the median of the absolute deviations.
pub(crate) fn rare(trials: &Trials) -> Vec<Option<Rare>> {
    let settings = 0..trials.settings();
    let values = |setting: usize| trials.values(setting).collect::<Vec<_>>();
    let centres: Vec<f64> = settings.clone().map(|setting| median(&mut values(setting))).collect();
    let mut deviations: Vec<f64> =
        trials.all().iter().map(|trial| (trial.value - centres[trial.setting]).abs()).collect();
    // Quiet readings that are all alike know no spread: then what is read in steps is known to a step.
    let far = (FAR * MAD_TO_SD * median(&mut deviations)).max(FAR * trials.step()).max(1e-9 * trials.magnitude());
    let of = |setting: usize| {
        let mut distances: Vec<f64> = trials.values(setting).map(|value| value - centres[setting]).collect();
        let of = distances.len();
        distances.retain(|distance| distance.abs() > far);
        let is_rare = !distances.is_empty() && distances.len() as f64 <= RARE_SHARE * of as f64;
        let trials = distances.len() as u32;
        is_rare.then(|| Rare { trials, of: of as u32, distance: median(&mut distances) })
    };
    settings.map(of).collect()
}
