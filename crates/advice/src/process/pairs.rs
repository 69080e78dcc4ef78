//! Covariances between two lists of points under one kernel: what each factor contributes is worked out once for each pair of
//! its levels that occurs, and added up for each pair of points.

use super::coordinates::Coordinates;
use super::kernel::{Kernel, Share};

/// The covariances between the points of two lists.
#[derive(Debug)]
pub(super) struct Pairs<'k> {
    kernel: &'k Kernel,
    factors: Vec<Levels>,
}

/// One factor's contributions.
#[derive(Debug)]
struct Levels {
    /// Row of `shares` for each point of the first list, and place in the row for each of the second.
    rows: Vec<usize>,
    columns: Vec<usize>,
    /// A row for each level of the first list's points.
    shares: Vec<Vec<Share>>,
}

impl<'k> Pairs<'k> {
    pub(super) fn new(kernel: &'k Kernel, at: &Coordinates, rows: &[usize], columns: &[usize]) -> Self {
        let one = |factor: usize| {
            let (rows, from) = numbered(at, factor, rows);
            let (columns, to) = numbered(at, factor, columns);
            let row = |a: &Option<u16>| to.iter().map(|b| kernel.share(at, factor, (*a, *b))).collect();
            Levels { rows, columns, shares: from.iter().map(row).collect() }
        };
        Self { kernel, factors: (0..at.factors()).map(one).collect() }
    }

    /// Covariance of the levels at a point of the first list and one of the second, by their places there.
    pub(super) fn covariance(&self, row: usize, column: usize) -> f64 {
        let share = |factor: &Levels| factor.shares[factor.rows[row]][factor.columns[column]];
        self.kernel.total(self.factors.iter().map(share))
    }
}

/// For each point the number of its level of `factor`, and the levels by their numbers, in the order in which they occur.
fn numbered(at: &Coordinates, factor: usize, points: &[usize]) -> (Vec<usize>, Vec<Option<u16>>) {
    // An inactive factor's place is 0.
    let place = |level: Option<u16>| level.map_or(0, |level| usize::from(level) + 1);
    let (mut number_of, mut levels) = (Vec::new(), Vec::new());
    let number = |point: &usize| {
        let level = at.levels(*point)[factor];
        if number_of.len() <= place(level) {
            number_of.resize(place(level) + 1, None);
        }
        *number_of[place(level)].get_or_insert_with(|| {
            levels.push(level);
            levels.len() - 1
        })
    };
    (points.iter().map(number).collect(), levels)
}

#[cfg(test)]
mod tests {
    use super::super::Prior;
    use super::*;
    use crate::{Factor, FactorKind, Space};

    #[test]
    fn contributions_added_up_are_the_covariance_to_the_bit() {
        let factor = |kind| Factor { name: "any".to_owned(), kind, switch_s: 0.0 };
        let factors = vec![factor(FactorKind::Number(vec![1.0, 5.0, 90.0])), factor(FactorKind::Category(2))];
        // The second factor is inactive with the first one's last level.
        let levels = [(0, Some(0)), (0, Some(1)), (1, Some(0)), (1, Some(1)), (2, None)];
        let points: Vec<Vec<Option<u16>>> = levels.map(|(a, b)| vec![Some(a), b]).to_vec();
        let at = Coordinates::new(&Space { factors, points });
        let (rows, columns) = ([4, 0, 3], [1, 4, 2, 3, 0]);
        for vector in &at.vectors {
            let kernel = Kernel::new(&at.unit(vector), &Prior::tail());
            let pairs = Pairs::new(&kernel, &at, &rows, &columns);
            for (row, a) in rows.iter().enumerate() {
                for (column, b) in columns.iter().enumerate() {
                    let direct = kernel.covariance(&at, *a, *b);
                    assert_eq!(pairs.covariance(row, column).to_bits(), direct.to_bits(), "{vector:?}: {a}, {b}");
                }
            }
        }
    }
}
