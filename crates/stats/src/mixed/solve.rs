//! The exact fit of one variant: what trials have in common taken out of their columns, and the normal equations.

use super::MixedTrial;
use super::columns::{Columns, Disturbance};
use super::shared::{Shared, apart, blocks};

/// Pivots below this are columns that depend on others.
const SINGULAR: f64 = 1e-10;

/// Products within these have room for one more factor.
const SMALL: f64 = 1e-200;
const LARGE: f64 = 1e200;

/// The logarithm of a product, taken of many factors at once before they leave the range of numbers.
struct Product {
    ln: f64,
    factors: f64,
}

impl Default for Product {
    fn default() -> Self {
        Self { ln: 0.0, factors: 1.0 }
    }
}

impl Product {
    fn by(&mut self, factor: f64) {
        self.factors *= factor;
        if !(SMALL..LARGE).contains(&self.factors) {
            self.ln += libm::log(self.factors);
            self.factors = 1.0;
        }
    }

    fn ln(&self) -> f64 {
        self.ln + libm::log(self.factors)
    }
}

/// Sums of products of some columns, whitened and without the overall mean, the values last.
pub(super) struct Gram {
    columns: Vec<usize>,
    /// Lower triangle, row by row.
    sums: Vec<f64>,
    /// Logarithm of the determinant of the covariance of first differences.
    pub(super) ln_det: f64,
}

impl Gram {
    /// Of these columns (in order), with what trials have in common and settings' variances `noise`, both over that of a trial.
    pub(super) fn new(trials: &[MixedTrial], of: &Columns, columns: Vec<usize>, shared: Shared, noise: &[f64]) -> Self {
        let width = columns.len();
        let mut gram = Self { columns, sums: vec![0.0; width * width], ln_det: 0.0 };
        match shared {
            Shared::Walk(walk) => gram.of_walk(trials, of, walk, noise),
            Shared::Block(variance) => gram.of_blocks(trials, of, variance, noise),
        }
        gram
    }

    /// Adds a whitened row.
    fn add(&mut self, row: &[f64]) {
        for (i, a) in row.iter().enumerate().filter(|(_, a)| **a != 0.0) {
            for (sum, b) in self.sums[i * row.len()..].iter_mut().zip(&row[..=i]) {
                *sum += a * b;
            }
        }
    }

    /// Differences of neighbours have a tridiagonal covariance; its Cholesky factor is found and applied row by row.
    fn of_walk(&mut self, trials: &[MixedTrial], of: &Columns, walk: f64, noise: &[f64]) {
        let mut row = vec![0.0; self.columns.len()];
        let (mut det, mut pivot) = (Product::default(), 0.0);
        for (at, pair) in trials.windows(2).enumerate() {
            let (first, second) = (noise[pair[0].setting], noise[pair[1].setting]);
            let off = if at > 0 { -first / pivot } else { 0.0 };
            let square = walk * apart(&pair[0], &pair[1]) + first + second - off * off;
            pivot = square.sqrt();
            let inverse = 1.0 / pivot;
            let (before, after) = (of.row(at), of.row(at + 1));
            for (cell, column) in row.iter_mut().zip(&self.columns) {
                *cell = (after[*column] - before[*column] - off * *cell) * inverse;
            }
            self.add(&row);
            det.by(square);
        }
        self.ln_det = det.ln();
    }

    /// Distances from the block's mean are independent of that mean, and means of blocks of one another; the overall mean is left out.
    /// The determinant is that of first differences as well.
    fn of_blocks(&mut self, trials: &[MixedTrial], of: &Columns, variance: f64, noise: &[f64]) {
        let blocks = blocks(trials, variance, noise);
        let width = self.columns.len();
        let whole: f64 = blocks.iter().map(|block| block.weight).sum();
        let (mut means, mut mean) = (vec![0.0; blocks.len() * width], vec![0.0; width]);
        let (mut row, mut det) = (vec![0.0; width], Product::default());
        det.by(whole);
        for (block, own) in blocks.iter().zip(means.chunks_exact_mut(width)) {
            for at in block.at.clone() {
                let share = 1.0 / (noise[trials[at].setting] * block.precision);
                own.iter_mut().zip(&self.columns).for_each(|(cell, column)| *cell += share * of.row(at)[*column]);
            }
            for at in block.at.clone() {
                let noise = noise[trials[at].setting];
                let inverse = 1.0 / noise.sqrt();
                let cells = row.iter_mut().zip(&self.columns).zip(&*own);
                cells.for_each(|((cell, column), own)| *cell = (of.row(at)[*column] - own) * inverse);
                self.add(&row);
                det.by(noise);
            }
            mean.iter_mut().zip(own).for_each(|(mean, own)| *mean += block.weight / whole * *own);
            det.by(block.precision / block.weight);
        }
        for (block, own) in blocks.iter().zip(means.chunks_exact(width)) {
            let root = block.weight.sqrt();
            row.iter_mut().zip(own).zip(&mean).for_each(|((cell, own), mean)| *cell = (own - mean) * root);
            self.add(&row);
        }
        self.ln_det = det.ln();
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
