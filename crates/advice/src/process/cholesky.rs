//! Cholesky factors of small symmetric matrices, and what is solved by them.
//!
//! Written out rather than taken from a library of linear algebra: those choose fused or wide instructions by the
//! processor they find, and the last bit with them.

/// The lower triangle L of L·Lᵀ, rows packed one behind the other.
#[derive(Debug, Clone)]
pub(crate) struct Cholesky {
    size: usize,
    packed: Vec<f64>,
}

/// Where row `row` of a packed triangle begins.
fn begin(row: usize) -> usize {
    row * (row + 1) / 2
}

/// Sum of products, in order.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Cholesky {
    /// Factors the matrix whose packed lower triangle is `packed`; none where it is not positive definite.
    pub(crate) fn of(size: usize, mut packed: Vec<f64>) -> Option<Self> {
        for row in 0..size {
            for column in 0..=row {
                let (a, b) = (begin(row), begin(column));
                let sum = packed[a + column] - dot(&packed[a..a + column], &packed[b..b + column]);
                if column < row {
                    packed[a + column] = sum / packed[b + column];
                } else if sum > 0.0 && sum.is_finite() {
                    packed[a + column] = sum.sqrt();
                } else {
                    return None;
                }
            }
        }
        Some(Self { size, packed })
    }

    /// Factors with as little added to the diagonal as it takes, from `jitter` on in steps of ten.
    pub(crate) fn jittered(size: usize, packed: &[f64], mut jitter: f64) -> Option<Self> {
        for _ in 0..12 {
            let mut raised = packed.to_vec();
            (0..size).for_each(|row| raised[begin(row) + row] += jitter);
            if let Some(factor) = Self::of(size, raised) {
                return Some(factor);
            }
            jitter *= 10.0;
        }
        None
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.packed[begin(row)..begin(row + 1)]
    }

    /// Sum of the logarithms of the diagonal.
    pub(crate) fn log_diagonal(&self) -> f64 {
        (0..self.size).map(|row| libm::log(self.row(row)[row])).sum()
    }

    /// L⁻¹ v, in place.
    pub(crate) fn forward(&self, v: &mut [f64]) {
        for row in 0..self.size {
            let l = self.row(row);
            v[row] = (v[row] - dot(&l[..row], &v[..row])) / l[row];
        }
    }

    /// L⁻ᵀ v, in place.
    pub(crate) fn backward(&self, v: &mut [f64]) {
        for row in (0..self.size).rev() {
            let l = self.row(row);
            v[row] /= l[row];
            let value = v[row];
            v[..row].iter_mut().zip(l).for_each(|(v, l)| *v -= l * value);
        }
    }

    /// Diagonal of the inverse of L·Lᵀ: the squared lengths of the columns of L⁻¹.
    pub(crate) fn inverse_diagonal(&self) -> Vec<f64> {
        let one = |column: usize| {
            let mut v = vec![0.0; self.size];
            v[column] = 1.0;
            self.forward(&mut v);
            dot(&v, &v)
        };
        (0..self.size).map(one).collect()
    }

    /// L v.
    pub(crate) fn times(&self, v: &[f64]) -> Vec<f64> {
        (0..self.size).map(|row| dot(self.row(row), v)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solving_undoes_multiplying() {
        let matrix = [[4.0, 2.0, -1.0], [2.0, 5.0, 0.5], [-1.0, 0.5, 3.0]];
        let packed = vec![4.0, 2.0, 5.0, -1.0, 0.5, 3.0];
        let factor = Cholesky::of(3, packed).unwrap();
        let x = [1.0, -2.0, 0.25];
        let mut v: Vec<f64> = matrix.iter().map(|row| dot(row, &x)).collect();
        factor.forward(&mut v);
        factor.backward(&mut v);
        for (got, expect) in v.iter().zip(x) {
            assert!((got - expect).abs() < 1e-12, "{got} for {expect}");
        }
        // The matrix's cofactors over its determinant.
        for (got, expect) in factor.inverse_diagonal().iter().zip([14.75 / 40.0, 11.0 / 40.0, 16.0 / 40.0]) {
            assert!((got - expect).abs() < 1e-12, "{got} for {expect}");
        }
        // det = 4·(15 − 0.25) − 2·(6 + 0.5) + (−1)·(1 + 5) = 40
        assert!((2.0 * factor.log_diagonal() - libm::log(40.0)).abs() < 1e-12);
    }

    #[test]
    fn what_is_not_positive_definite_is_refused_and_raised() {
        let flat = [1.0, 1.0, 1.0];
        assert!(Cholesky::of(2, vec![1.0, 2.0, 1.0]).is_none());
        let factor = Cholesky::jittered(2, &flat, 1e-8).unwrap();
        let back = factor.times(&[1.0, 0.0]);
        assert!((back[1] - 1.0).abs() < 1e-6, "{back:?}");
    }
}
