//! The exact fit of one variant: first differences of the trials, whitened in one pass, and the normal equations.

use super::MixedTrial;
use super::columns::{Columns, Disturbance};

/// Pivots below this are columns that depend on others.
const SINGULAR: f64 = 1e-10;

/// Products within these have room for one more factor.
const SMALL: f64 = 1e-200;
const LARGE: f64 = 1e200;

/// Sums of products of the whitened first differences of some columns, the values last.
pub(super) struct Gram {
    columns: Vec<usize>,
    /// Lower triangle, row by row.
    sums: Vec<f64>,
    /// Logarithm of the determinant of the differences' covariance.
    pub(super) ln_det: f64,
}

impl Gram {
    /// Of these columns (in order), with a walk of variance `walk` a trial and settings' variances `noise`, both over that of a trial.
    ///
    /// Differences of neighbours have a tridiagonal covariance; its Cholesky factor is found and applied row by row.
    pub(super) fn new(trials: &[MixedTrial], of: &Columns, columns: Vec<usize>, walk: f64, noise: &[f64]) -> Self {
        let width = columns.len();
        let mut sums = vec![0.0; width * width];
        let mut row = vec![0.0; width];
        let (mut ln_det, mut det, mut pivot) = (0.0, 1.0, 0.0);
        for (at, pair) in trials.windows(2).enumerate() {
            let (first, second) = (noise[pair[0].setting], noise[pair[1].setting]);
            let gap = apart(&pair[0], &pair[1]);
            let off = if at > 0 { -first / pivot } else { 0.0 };
            let square = walk * gap + first + second - off * off;
            pivot = square.sqrt();
            let inverse = 1.0 / pivot;
            let (before, after) = (of.row(at), of.row(at + 1));
            for (cell, column) in row.iter_mut().zip(&columns) {
                *cell = (after[*column] - before[*column] - off * *cell) * inverse;
            }
            for (i, a) in row.iter().enumerate().filter(|(_, a)| **a != 0.0) {
                for (sum, b) in sums[i * width..].iter_mut().zip(&row[..=i]) {
                    *sum += a * b;
                }
            }
            det *= square;
            // A logarithm of many factors at once, before they leave the range of numbers.
            if !(SMALL..LARGE).contains(&det) {
                ln_det += libm::log(det);
                det = 1.0;
            }
        }
        Self { columns, sums, ln_det: ln_det + libm::log(det) }
    }

    /// Fits the levels and a disturbance to `df` degrees of freedom; none where columns depend on one another. `least` is the
    /// sum of squares that rounding leaves.
    pub(super) fn solve(&self, of: &Columns, disturbance: &Disturbance, df: f64, least: f64) -> Option<Solution> {
        let width = self.columns.len();
        let levels = of.settings - 1;
        let own = disturbance.columns.iter().map(|(column, _)| self.columns.binary_search(column).ok());
        let places = (0..levels).map(Some).chain(own).collect::<Option<Vec<usize>>>()?;
        let size = places.len();
        let sum = |a: usize, b: usize| self.sums[a.max(b) * width + a.min(b)];
        let mut factor = vec![0.0; size * size];
        let mut right = vec![0.0; size];
        let mut squares = self.sums[width * width - 1];
        let mut ln_det = self.ln_det;
        for i in 0..size {
            for j in 0..=i {
                let mut pivot = sum(places[i], places[j]);
                if let (true, Some((_, deviation))) = (i == j, i.checked_sub(levels).map(|at| disturbance.columns[at]))
                {
                    pivot += 1.0 / (deviation * deviation);
                    ln_det += 2.0 * libm::log(deviation);
                }
                for k in 0..j {
                    pivot -= factor[i * size + k] * factor[j * size + k];
                }
                if i != j {
                    factor[i * size + j] = pivot / factor[j * size + j];
                } else if pivot > SINGULAR {
                    factor[i * size + i] = pivot.sqrt();
                    ln_det += libm::log(pivot);
                } else {
                    return None;
                }
            }
            let mut value = sum(width - 1, places[i]);
            for k in 0..i {
                value -= factor[i * size + k] * right[k];
            }
            right[i] = value / factor[i * size + i];
            squares -= right[i] * right[i];
        }
        let squares = squares.max(least);
        Some(Solution { levels, factor, right, squares, ln_evidence: -0.5 * (ln_det + df * libm::log(squares)) })
    }
}

/// A fit whose estimates have not been asked for yet.
pub(super) struct Solution {
    levels: usize,
    factor: Vec<f64>,
    right: Vec<f64>,
    /// Sum of squares, with what the priors add.
    pub(super) squares: f64,
    /// Logarithm of how likely the trials are, up to what all variants share.
    pub(super) ln_evidence: f64,
}

impl Solution {
    /// Coefficients of the levels, then of the disturbance.
    pub(super) fn coefficients(&self) -> Vec<f64> {
        let size = self.right.len();
        let mut found = self.right.clone();
        for i in (0..size).rev() {
            for k in i + 1..size {
                found[i] -= self.factor[k * size + i] * found[k];
            }
            found[i] /= self.factor[i * size + i];
        }
        found
    }

    /// Covariance of the levels, over the variance of a trial; row by row.
    pub(super) fn covariance(&self) -> Vec<f64> {
        let (size, levels) = (self.right.len(), self.levels);
        let mut inverse = vec![0.0; levels * size];
        for (j, column) in inverse.chunks_exact_mut(size).enumerate() {
            for i in j..size {
                let so_far = self.factor[i * size..][j..i].iter().zip(&column[j..i]);
                let sum = if i == j { 1.0 } else { -so_far.map(|(a, b)| a * b).sum::<f64>() };
                column[i] = sum / self.factor[i * size + i];
            }
        }
        let mut covariance = vec![0.0; levels * levels];
        for i in 0..levels {
            for j in 0..=i {
                let product = |k: usize| inverse[i * size + k] * inverse[j * size + k];
                let sum = (i..size).map(product).sum();
                covariance[i * levels + j] = sum;
                covariance[j * levels + i] = sum;
            }
        }
        covariance
    }
}

/// Trials from one to the next, void ones between them counted.
fn apart(first: &MixedTrial, second: &MixedTrial) -> f64 {
    f64::from(second.time.saturating_sub(first.time).max(1))
}

/// The likeliest time series of the walk through `values`, by its tridiagonal equations; `noise` by setting.
pub(super) fn course(trials: &[MixedTrial], values: &[f64], walk: f64, noise: &[f64]) -> Vec<f64> {
    let precision = |at: usize| 1.0 / noise[trials[at].setting];
    if walk <= 0.0 {
        let all = (0..values.len()).fold((0.0, 0.0), |(s, w), at| (s + values[at] * precision(at), w + precision(at)));
        return vec![all.0 / all.1; values.len()];
    }
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
