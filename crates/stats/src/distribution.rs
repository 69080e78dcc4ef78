//! Tail areas and quantiles of the normal, t and F distributions.
//!
//! Written on `libm` alone, so a verdict has the same last bit in debug and release and on every host.

use std::f64::consts::{PI, SQRT_2};

/// P(Z > `z`) of the standard normal.
#[must_use]
pub fn normal_upper(z: f64) -> f64 {
    0.5 * libm::erfc(z / SQRT_2)
}

/// Density of the standard normal.
#[must_use]
pub fn normal_density(z: f64) -> f64 {
    libm::exp(-0.5 * z * z) / (2.0 * PI).sqrt()
}

/// The `z` ≥ 0 with P(Z > `z`) = `p`, for 0 < `p` ≤ 0.5; infinite at 0.
#[must_use]
pub fn normal_upper_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::INFINITY;
    }
    let target = libm::log(p.min(0.5));
    // The logarithm of the tail is concave, so Newton's steps come to the root from one side.
    let mut z = (-2.0 * target - 2.0 * std::f64::consts::LN_2).max(0.0).sqrt();
    for _ in 0..60 {
        let tail = normal_upper(z);
        let step = (libm::log(tail) - target) * tail / normal_density(z);
        z += step;
        if step.abs() <= 1e-14 * (1.0 + z) {
            break;
        }
    }
    z.max(0.0)
}

/// Regularised incomplete beta function I_x(a, b), for a, b > 0 and 0 ≤ x ≤ 1.
///
/// Continued fraction evaluated by Lentz's method (Abramowitz and Stegun 26.5.8).
#[must_use]
pub fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    incomplete_beta_scaled(a, b, x, ln_beta_scale(a, b))
}

/// −ln B(a, b).
fn ln_beta_scale(a: f64, b: f64) -> f64 {
    libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b)
}

fn incomplete_beta_scaled(a: f64, b: f64, x: f64, ln_scale: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = libm::exp(ln_scale + a * libm::log(x) + b * libm::log1p(-x));
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of [`incomplete_beta`], which converges fast for x below (a+1)/(a+b+2).
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let keep_off_zero = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / keep_off_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for step in 1..10_000 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / keep_off_zero(1.0 + even * d);
        c = keep_off_zero(1.0 + even / c);
        value *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / keep_off_zero(1.0 + odd * d);
        c = keep_off_zero(1.0 + odd / c);
        let change = d * c;
        value *= change;
        if (change - 1.0).abs() < 3e-16 {
            break;
        }
    }
    value
}

/// The upper tail of Student's t with `df` > 0 degrees of freedom, for many `t`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StudentTail {
    df: f64,
    ln_scale: f64,
}

impl StudentTail {
    pub(crate) fn new(df: f64) -> Self {
        Self { df, ln_scale: ln_beta_scale(0.5 * df, 0.5) }
    }

    /// P(T > `t`).
    pub(crate) fn above(&self, t: f64) -> f64 {
        if t.is_infinite() {
            return if t > 0.0 { 0.0 } else { 1.0 };
        }
        let x = self.df / (self.df + t * t);
        let beyond = match self.df.fract() == 0.0 && self.df < MAX_SUMMED && t * t < NEAR {
            true => 0.5 * (1.0 - within(t.abs(), self.df, x)),
            false => 0.5 * incomplete_beta_scaled(0.5 * self.df, 0.5, x, self.ln_scale),
        };
        if t >= 0.0 { beyond } else { 1.0 - beyond }
    }
}

/// Whole degrees of freedom below which the tail is a short sum, and the `t`² up to which nearly all digits of it are right.
const MAX_SUMMED: f64 = 400.0;
const NEAR: f64 = 10.0;

/// P(|T| < `t`) for a whole `df`, `x` being df/(df + t²): a finite sum (Abramowitz and Stegun 26.7.3 and 26.7.4).
fn within(t: f64, df: f64, x: f64) -> f64 {
    let (sine, is_odd) = (t / (df + t * t).sqrt(), df % 2.0 == 1.0);
    let (mut term, mut below) = if is_odd { (x.sqrt(), 3.0) } else { (1.0, 2.0) };
    let mut sum = 0.0;
    while below <= df && term > f64::EPSILON * 1e-2 * sum {
        sum += term;
        term *= x * (below - 1.0) / below;
        below += 2.0;
    }
    if is_odd { std::f64::consts::FRAC_2_PI * (libm::atan(t / df.sqrt()) + sine * sum) } else { sine * sum }
}

/// P(T > `t`) of Student's t with `df` > 0 degrees of freedom, not necessarily whole.
#[must_use]
pub fn t_upper(t: f64, df: f64) -> f64 {
    StudentTail::new(df).above(t)
}

/// P(|T| > |`t`|) of Student's t with `df` degrees of freedom.
#[must_use]
pub fn t_two_sided(t: f64, df: f64) -> f64 {
    2.0 * t_upper(t.abs(), df)
}

/// The `t` ≥ 0 with P(T > `t`) = `p`, for 0 < `p` ≤ 0.5 and `df` > 0; infinite at `p` = 0.
#[must_use]
pub fn t_upper_quantile(p: f64, df: f64) -> f64 {
    if p <= 0.0 {
        return f64::INFINITY;
    }
    if p >= 0.5 {
        return 0.0;
    }
    let mut low = 0.0;
    let mut high = normal_upper_quantile(p).max(1e-8);
    while t_upper(high, df) > p {
        low = high;
        high *= 2.0;
        if high > 1e300 {
            return f64::INFINITY;
        }
    }
    let log_scale = libm::lgamma(0.5 * (df + 1.0)) - libm::lgamma(0.5 * df) - 0.5 * libm::log(df * PI);
    let mut t = if low > 0.0 { 0.5 * (low + high) } else { high };
    for _ in 0..200 {
        let tail = t_upper(t, df);
        if tail > p {
            low = t;
        } else {
            high = t;
        }
        // Newton on the logarithm of the tail; a step that leaves the bracket is replaced by a halving.
        let density = libm::exp(log_scale - 0.5 * (df + 1.0) * libm::log1p(t * t / df));
        let newton = t + (libm::log(tail) - libm::log(p)) * tail / density;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - t).abs() <= 1e-13 * t || high - low <= 1e-14 * high {
            return next;
        }
        t = next;
    }
    t
}

/// P(F > `ratio`) of Fisher's F with `above` and `below` degrees of freedom, both > 0.
#[must_use]
pub fn f_upper(ratio: f64, above: f64, below: f64) -> f64 {
    if ratio <= 0.0 {
        return 1.0;
    }
    if ratio.is_infinite() {
        return 0.0;
    }
    incomplete_beta(0.5 * below, 0.5 * above, below / (below + above * ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(have: f64, want: f64) {
        assert!((have - want).abs() <= 1e-10 * want.abs().max(1e-3), "{have} is not {want}");
    }

    #[test]
    fn tails_agree_with_closed_forms() {
        // One and two degrees of freedom have closed forms.
        for t in [0.1, 1.0, 2.43, 40.0] {
            close(t_upper(t, 1.0), 0.5 - libm::atan(t) / PI);
            close(t_upper(t, 2.0), 0.5 * (1.0 - t / (2.0 + t * t).sqrt()));
            close(f_upper(t * t, 1.0, 7.3), t_two_sided(t, 7.3));
        }
        close(normal_upper(1.959_963_984_540_054), 0.025);
        assert!((t_upper(1.96, 1e6) - normal_upper(1.96)).abs() < 1e-6);
    }

    #[test]
    fn quantiles_invert_tails() {
        for p in [0.49, 0.1, 0.025, 1e-3, 1e-7, 1e-12] {
            close(normal_upper(normal_upper_quantile(p)), p);
            for df in [0.4, 1.0, 2.0, 3.7, 12.0, 250.0] {
                let tail = t_upper(t_upper_quantile(p, df), df);
                assert!((tail / p - 1.0).abs() < 1e-10, "p {p} df {df}: {tail}");
            }
        }
    }
}
