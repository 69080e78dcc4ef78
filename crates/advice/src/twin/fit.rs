//! The law's parameters from what was measured: damped least squares, from several starting points.
use super::laws::{Clocked, Law};
use crate::process::{halton, normal_quantile};

/// Steps from each starting point.
const ITERATIONS: usize = 60;

/// Starting points beside the expected parameters.
const SCATTERED_STARTS: u64 = 4;

/// How far those are scattered, in standard deviations of the expectation.
const SCATTER: f64 = 0.7;

/// The damping begins here, falls by three with each step that helps, and rises by four with each that does not.
const FIRST_DAMPING: f64 = 1e-2;
const MOST_DAMPING: f64 = 1e12;

/// A step that gains a smaller share of what is left is the last.
const ENOUGH: f64 = 1e-9;

/// Residuals beyond so many scales count less and less.
const FAR: f64 = 3.0;

/// Half a step of the differences the slopes are taken from, in standard deviations of the expectation.
const NUDGE: f64 = 1e-5;

/// What was measured at one setting.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) at: Clocked,
    pub(super) ln_value: f64,
}

/// A law with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    law: Law,
    parameters: Vec<f64>,
}

impl Fitted {
    /// The parameters that explain `seen` best, with what is expected of them counted like one more measurement each.
    pub(super) fn new(law: Law, seen: &[Seen], start_ln: f64) -> Self {
        let problem = Problem::new(law, seen, start_ln);
        let size = problem.expected_ln.len();
        let mut best: Option<(f64, Vec<f64>)> = None;
        for index in 0..=SCATTERED_STARTS {
            let (cost, at) = problem.descend(scattered(index, size));
            if cost.is_finite() && best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, at));
            }
        }
        let at = best.map_or_else(|| vec![0.0; size], |(_, at)| at);
        Self { law, parameters: problem.parameters(&at) }
    }

    /// Natural logarithm of the metric at a frequency and a delay.
    #[must_use]
    pub fn ln_value(&self, at: Clocked) -> f64 {
        self.law.ln_value(&self.parameters, at)
    }

    /// The parameters, in the order of the law: A, B, C, u0 for watts; β, γ, q, s0, s1, u0' for a tail.
    #[must_use]
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }
}

/// The starting point: the expectation first, then Halton points through its normal quantiles.
fn scattered(index: u64, size: usize) -> Vec<f64> {
    if index == 0 {
        return vec![0.0; size];
    }
    halton(index, size).into_iter().map(|p| SCATTER * normal_quantile(p)).collect()
}

/// Sum of squares over z, a parameter's distance from its expectation in standard deviations of its logarithm.
struct Problem<'a> {
    law: Law,
    seen: &'a [Seen],
    expected_ln: Vec<(f64, f64)>,
}

/// Where a descent is.
struct Place {
    z: Vec<f64>,
    residuals: Vec<f64>,
    cost: f64,
}

impl<'a> Problem<'a> {
    fn new(law: Law, seen: &'a [Seen], start_ln: f64) -> Self {
        let expected = law.expected(start_ln);
        let expected_ln = expected.iter().map(|one| (libm::log(one.median), one.sd_of_ln)).collect();
        Self { law, seen, expected_ln }
    }

    fn parameters(&self, z: &[f64]) -> Vec<f64> {
        self.expected_ln.iter().zip(z).map(|((mean, sd), z)| libm::exp(mean + sd * z)).collect()
    }

    /// Of the measurements in units of the law's scale, then of the expectations.
    fn residuals(&self, z: &[f64]) -> Vec<f64> {
        let parameters = self.parameters(z);
        let scale = self.law.scale();
        let fits =
            self.seen.iter().map(|seen| subdued((self.law.ln_value(&parameters, seen.at) - seen.ln_value) / scale));
        fits.chain(z.iter().copied()).collect()
    }

    fn place(&self, z: Vec<f64>) -> Place {
        let residuals = self.residuals(&z);
        let cost = dot(&residuals, &residuals);
        Place { z, residuals, cost }
    }

    /// Slopes of the residuals, one list a parameter.
    fn slopes(&self, z: &[f64]) -> Vec<Vec<f64>> {
        let moved = |parameter: usize, by: f64| {
            let mut z = z.to_vec();
            z[parameter] += by;
            self.residuals(&z)
        };
        let slope = |parameter: usize| {
            let (above, below) = (moved(parameter, NUDGE), moved(parameter, -NUDGE));
            above.iter().zip(below).map(|(above, below)| (above - below) / (2.0 * NUDGE)).collect()
        };
        (0..z.len()).map(slope).collect()
    }

    /// The normal equations with the damping on their diagonal (Levenberg 1944, Marquardt 1963).
    fn descend(&self, z: Vec<f64>) -> (f64, Vec<f64>) {
        let mut at = self.place(z);
        let mut damping = FIRST_DAMPING;
        for _ in 0..ITERATIONS {
            let slopes = self.slopes(&at.z);
            let Some(next) = self.step(&at, &slopes, &mut damping) else { break };
            let gained = at.cost - next.cost;
            at = next;
            if gained <= ENOUGH * at.cost {
                break;
            }
        }
        (at.cost, at.z)
    }

    /// The first damped step that helps; none when no damping is enough.
    fn step(&self, at: &Place, slopes: &[Vec<f64>], damping: &mut f64) -> Option<Place> {
        let normal: Vec<Vec<f64>> =
            slopes.iter().map(|row| slopes.iter().map(|other| dot(row, other)).collect()).collect();
        let uphill: Vec<f64> = slopes.iter().map(|row| dot(row, &at.residuals)).collect();
        while *damping < MOST_DAMPING {
            let mut damped = normal.clone();
            (0..damped.len()).for_each(|k| damped[k][k] *= 1.0 + *damping);
            let next = solve(damped, uphill.clone());
            let next = self.place(at.z.iter().zip(next).map(|(z, step)| z - step).collect());
            if next.cost < at.cost {
                *damping /= 3.0;
                return Some(next);
            }
            *damping *= 4.0;
        }
        None
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A residual whose square grows like a logarithm once it is beyond [`FAR`] (Cauchy's loss): a corner of the space where
/// something else rules must not bend the law everywhere.
fn subdued(residual: f64) -> f64 {
    let share = residual / FAR;
    let size = FAR * libm::log1p(share * share).sqrt();
    if residual < 0.0 { -size } else { size }
}

/// Solves a small symmetric positive definite system by elimination: such a one needs no exchange of rows, and the
/// expectations keep every diagonal element at 1 at least.
fn solve(mut rows: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let size = right.len();
    for pivot in 0..size {
        let upper = rows[pivot].clone();
        for row in pivot + 1..size {
            let factor = rows[row][pivot] / upper[pivot];
            rows[row].iter_mut().zip(&upper).skip(pivot).for_each(|(element, above)| *element -= factor * above);
            right[row] -= factor * right[pivot];
        }
    }
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size).map(|column| rows[row][column] * right[column]).sum();
        right[row] = (right[row] - known) / rows[row][row];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Vec<Clocked> {
        let freqs = [1.3, 1.7, 2.1, 2.5, 2.9];
        let delays = [2.0, 30.0, 100.0, 400.0];
        freqs.iter().flat_map(|&freq_ghz| delays.map(|delay_us| Clocked { freq_ghz, delay_us })).collect()
    }

    fn seen(law: Law, parameters: &[f64]) -> Vec<Seen> {
        grid().into_iter().map(|at| Seen { at, ln_value: law.ln_value(parameters, at) }).collect()
    }

    #[test]
    fn a_surface_of_the_law_is_found_again() {
        let cases: [(Law, &[f64]); 3] = [
            (Law::Watts, &[12.0, 60.0, 25.0, 80.0]),
            (Law::Tail { us_per_unit: 1.0 }, &[90.0, 0.8, 45.0, 0.9, 0.4, 30.0]),
            (Law::Tail { us_per_unit: 1000.0 }, &[25.0, 1.3, 10.0, 0.4, 0.1, 90.0]),
        ];
        for (law, parameters) in cases {
            let seen = seen(law, parameters);
            let fitted = Fitted::new(law, &seen, libm::log(80.0));
            for one in &seen {
                let off = (fitted.ln_value(one.at) - one.ln_value).abs();
                assert!(off < 0.5 * law.scale(), "{law:?} is off by {off} at {:?}: {fitted:?}", one.at);
            }
        }
    }

    #[test]
    fn a_system_worked_by_hand() {
        let solved = solve(vec![vec![4.0, 2.0, 0.0], vec![2.0, 3.0, 1.0], vec![0.0, 1.0, 2.0]], vec![8.0, 11.0, 8.0]);
        for (have, want) in solved.iter().zip([1.0, 2.0, 3.0]) {
            assert!((have - want).abs() < 1e-12, "{solved:?}");
        }
    }

    #[test]
    fn nothing_measured_leaves_what_is_expected() {
        let fitted = Fitted::new(Law::Watts, &[], libm::log(70.0));
        for (have, want) in fitted.parameters().iter().zip([20.0, 40.0, 10.0, 50.0]) {
            assert!((have / want - 1.0).abs() < 1e-9, "{fitted:?}");
        }
    }
}
