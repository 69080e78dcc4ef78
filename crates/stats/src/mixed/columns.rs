//! The columns of the model: settings' levels, disturbances, and the values.

use super::shared::SHARED;
use super::{MixedOptions, MixedTrial};

/// Prior standard deviations of a drift a trial, a shallow and a steep one, in standard deviations of a trial.
const DRIFT: [f64; 2] = [0.3, 10.0];
/// Prior standard deviation of what a setting leaves for the next trial.
const AFTER: f64 = 3.0;
/// Prior standard deviation of each cosine and sine of a wave.
const WAVE: f64 = 3.0;
/// Prior weights of no disturbance, of a drift, of after-effects, of both, and of a wave.
const NONE_WEIGHT: f64 = 0.40;
const DRIFT_WEIGHT: f64 = 0.20;
const AFTER_WEIGHT: f64 = 0.20;
const BOTH_WEIGHT: f64 = 0.08;
const WAVE_WEIGHT: f64 = 0.12;

/// Settings up to which each has a column of what it leaves: of more, each would rest on a handful of trials, and the work would
/// grow with the square of the columns.
const MAX_AFTERS: usize = 12;

/// Periods with a cosine and, above two trials, a sine each.
const PERIODS: [u32; 4] = [2, 3, 4, 6];
/// The waves of each period, as places in `PERIODS`: itself and its harmonics.
const HARMONICS: [&[usize]; 4] = [&[0], &[1], &[2, 0], &[3, 1, 0]];

/// One disturbance of the trials.
#[derive(Debug, Clone)]
pub(super) struct Disturbance {
    /// Its columns with their prior standard deviations.
    pub(super) columns: Vec<(usize, f64)>,
    /// Prior weight.
    pub(super) weight: f64,
    /// Whether a drift is in it.
    pub(super) drift: bool,
    /// Whether after-effects are in it.
    pub(super) after: bool,
    /// Period of its wave.
    pub(super) period: Option<u32>,
}

/// A row a trial: levels of all settings but the first, drift, after-effects, waves, and the value in the last column.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    /// Settings present.
    pub(super) settings: usize,
    /// Length of a row.
    pub(super) width: usize,
    pub(super) cells: Vec<f64>,
    /// How many of `SHARED` the trials may have in common.
    pub(super) shared: usize,
    pub(super) disturbances: Vec<Disturbance>,
}

impl Columns {
    /// Columns for trials in the order of time; without disturbances unless that order is known.
    pub(super) fn new(trials: &[MixedTrial], settings: usize, options: MixedOptions) -> Self {
        let ordered = options.ordered;
        let levels = settings - 1;
        // What follows one of two settings does not follow the other: one column for both.
        let afters = match settings {
            ..=2 => 1,
            3..=MAX_AFTERS => settings,
            _ => 0,
        };
        let (drift, after, wave) = (levels, levels + 1, levels + 1 + afters);
        let width = if ordered { wave + 2 * PERIODS.len() } else { levels + 1 };
        let mut cells = vec![0.0; trials.len() * width];
        let first = trials.first().map_or(0, |trial| trial.time);
        for (row, trial) in cells.chunks_exact_mut(width).zip(trials) {
            if trial.setting > 0 {
                row[trial.setting - 1] = 1.0;
            }
            row[width - 1] = trial.value;
            if !ordered {
                continue;
            }
            row[drift] = f64::from(trial.time - first);
            match trial.before {
                Some(before) if afters == 1 => row[after] = if before == 1 { 0.5 } else { -0.5 },
                Some(before) if afters > 0 => row[after + before] = 1.0,
                _ => {}
            }
            let mut column = wave;
            for period in PERIODS {
                // The number in its period first: angles stay small, however many trials there are.
                let angle = std::f64::consts::TAU * f64::from(trial.time % period) / f64::from(period);
                row[column] = libm::cos(angle);
                if period > 2 {
                    row[column + 1] = libm::sin(angle);
                }
                column += waves(period);
            }
        }
        let disturbances =
            if ordered { disturbances(drift, after..wave, wave) } else { vec![plain(NONE_WEIGHT, Vec::new())] };
        let shared = SHARED.iter().filter(|(it, _)| options.blocks || !it.is_block()).count();
        Self { settings, width, cells, shared, disturbances }
    }

    /// Columns of the settings' levels, of one regressor more where there is one, and of values; without disturbances.
    pub(super) fn plain(trials: &[MixedTrial], settings: usize, more: Option<&[f64]>, values: &[f64]) -> Self {
        let settings = settings + usize::from(more.is_some());
        let mut cells = vec![0.0; trials.len() * settings];
        for (at, row) in cells.chunks_exact_mut(settings).enumerate() {
            if let Some(regressor) = more {
                row[settings - 2] = regressor[at];
            }
            if trials[at].setting > 0 {
                row[trials[at].setting - 1] = 1.0;
            }
            row[settings - 1] = values[at];
        }
        Self { settings, width: settings, cells, shared: SHARED.len(), disturbances: vec![plain(1.0, Vec::new())] }
    }

    /// Whether a block may have a level of its own.
    pub(super) fn has_blocks(&self) -> bool {
        self.shared == SHARED.len()
    }

    /// The row of a trial.
    pub(super) fn row(&self, trial: usize) -> &[f64] {
        &self.cells[trial * self.width..(trial + 1) * self.width]
    }

    /// The value of a trial.
    pub(super) fn value(&self, trial: usize) -> f64 {
        self.cells[(trial + 1) * self.width - 1]
    }

    /// Replaces the value of a trial.
    pub(super) fn set_value(&mut self, trial: usize, value: f64) {
        self.cells[(trial + 1) * self.width - 1] = value;
    }

    /// The columns that these disturbances need: levels, their own, the value.
    pub(super) fn needed(&self, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        let wanted = self.disturbances.iter().enumerate().filter(|(place, _)| wanted(*place));
        let own = wanted.flat_map(|(_, it)| it.columns.iter().map(|(column, _)| *column));
        let mut columns: Vec<usize> = (0..self.settings - 1).chain(own).collect();
        columns.sort_unstable();
        columns.dedup();
        columns.push(self.width - 1);
        columns
    }
}

/// Columns of the wave of one period.
fn waves(period: u32) -> usize {
    if period > 2 { 2 } else { 1 }
}

fn plain(weight: f64, columns: Vec<(usize, f64)>) -> Disturbance {
    Disturbance { columns, weight, drift: false, after: false, period: None }
}

fn disturbances(drift: usize, after: std::ops::Range<usize>, wave: usize) -> Vec<Disturbance> {
    let after: Vec<(usize, f64)> = after.map(|column| (column, AFTER)).collect();
    let drifts = DRIFT.map(|deviation| (drift, deviation));
    let share = |weight: f64| weight / DRIFT.len() as f64;
    let mut all = vec![plain(NONE_WEIGHT, Vec::new())];
    all.extend(drifts.map(|it| Disturbance { drift: true, ..plain(share(DRIFT_WEIGHT), vec![it]) }));
    if !after.is_empty() {
        all.push(Disturbance { after: true, ..plain(AFTER_WEIGHT, after.clone()) });
        all.extend(drifts.map(|it| {
            let columns = std::iter::once(it).chain(after.iter().copied()).collect();
            Disturbance { drift: true, after: true, ..plain(share(BOTH_WEIGHT), columns) }
        }));
    }
    let first = |place: usize| wave + PERIODS[..place].iter().map(|period| waves(*period)).sum::<usize>();
    all.extend(PERIODS.iter().zip(HARMONICS).map(|(period, harmonics)| {
        let of = |place: &usize| first(*place)..first(*place) + waves(PERIODS[*place]);
        let columns = harmonics.iter().flat_map(of).map(|column| (column, WAVE)).collect();
        Disturbance { period: Some(*period), ..plain(WAVE_WEIGHT / PERIODS.len() as f64, columns) }
    }));
    all
}
