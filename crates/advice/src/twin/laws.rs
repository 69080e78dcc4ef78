//! The two laws of the twin, what their parameters are expected to be, and nothing of how they are fitted.
//!
//! Frequency is in GHz and 2 GHz is the unit of the power law; the delay is how long the network card holds back a
//! receive interrupt, in µs.

/// Below this the coalescing delay counts as this long, µs: an interrupt is never sooner than at once.
const SHORTEST_DELAY_US: f64 = 1.0;

/// Watts of the machine the expectations of the power law were written for: those of another are scaled by its own.
const EXPECTED_WATTS: f64 = 70.0;

/// Where queueing stops to grow: the idle share a server is taken to have at least.
const LEAST_IDLE_SHARE: f64 = 0.001;

/// How sharply the idle share bends to its floor. At 12 the bend is a twelfth of a fully busy server wide.
const BEND: f64 = 12.0;

/// Which law a metric follows. A metric that follows neither has no twin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// Power of the machine, in any unit: the start's own value sets the scale.
    Watts,
    /// A high quantile of response times; the metric times `us_per_unit` is in µs.
    Tail {
        /// 1 for a metric in µs, 1000 for one in ms.
        us_per_unit: f64,
    },
}

/// Where something ran: the two things the laws know of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clocked {
    /// CPU frequency, GHz.
    pub freq_ghz: f64,
    /// Coalescing delay, µs.
    pub delay_us: f64,
}

/// What a parameter is expected to be: log-normal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    pub(super) median: f64,
    pub(super) sd_of_ln: f64,
}

const fn expected(median: f64, sd_of_ln: f64) -> Expected {
    Expected { median, sd_of_ln }
}

/// A, B, C, u0.
const WATTS: [Expected; 4] = [expected(20.0, 0.7), expected(40.0, 0.7), expected(10.0, 1.2), expected(50.0, 1.0)];

/// β, γ, q, s0, s1, u0'.
const TAIL: [Expected; 6] = [
    expected(40.0, 0.8),
    expected(1.0, 0.25),
    expected(20.0, 1.0),
    expected(0.6, 0.6),
    expected(0.2, 1.0),
    expected(50.0, 1.0),
];

impl Law {
    /// What the parameters are expected to be, in the order [`Law::ln_value`] takes them; `start_ln` is the start's own
    /// value of the metric, or what stands for it.
    pub(super) fn expected(self, start_ln: f64) -> Vec<Expected> {
        match self {
            Law::Watts => {
                let scale = libm::exp(start_ln) / EXPECTED_WATTS;
                let [a, b, c, u0] = WATTS;
                let scaled = |of: Expected| expected(of.median * scale, of.sd_of_ln);
                vec![scaled(a), scaled(b), scaled(c), u0]
            }
            Law::Tail { .. } => TAIL.to_vec(),
        }
    }

    /// How far the law is taken to be off, as a standard deviation of the metric's logarithm.
    pub(super) fn scale(self) -> f64 {
        match self {
            Law::Watts => 0.03,
            Law::Tail { .. } => 0.08,
        }
    }

    /// Natural logarithm of the metric by the law, with these parameters (all positive).
    #[must_use]
    pub fn ln_value(self, parameters: &[f64], at: Clocked) -> f64 {
        match (self, parameters) {
            (Law::Watts, &[a, b, c, u0]) => libm::log(watts([a, b, c, u0], at)),
            (Law::Tail { us_per_unit }, &[beta, gamma, q, s0, s1, u0]) => {
                libm::log(tail_us([beta, gamma, q, s0, s1, u0], at) / us_per_unit)
            }
            _ => f64::NAN,
        }
    }
}

/// How often the card interrupts, as a share of how often it would without a delay.
fn interrupt_share(delay_us: f64, u0: f64) -> f64 {
    1.0 / (1.0 + delay_us.max(SHORTEST_DELAY_US) / u0)
}

/// A + φ(f) (B + C·I(u)): what is drawn anyway, and what goes with the clock and the square of a voltage that rises
/// linearly with it, some of it for the work and some for interrupts.
fn watts([a, b, c, u0]: [f64; 4], at: Clocked) -> f64 {
    let x = at.freq_ghz / 2.0;
    let voltage = 0.6 + 0.4 * x;
    a + x * voltage * voltage * (b + c * interrupt_share(at.delay_us, u0))
}

/// β/f + γ u + (q/f) ρ / S(1 − ρ): the work itself, the wait for the interrupt, and the queue in front of a server that
/// is busy for the share ρ, which interrupts add to.
fn tail_us([beta, gamma, q, s0, s1, u0]: [f64; 6], at: Clocked) -> f64 {
    let f = at.freq_ghz;
    let busy = (s0 + s1 * interrupt_share(at.delay_us, u0)) / f;
    let idle = libm::log1p(libm::exp(BEND * (1.0 - busy))) / BEND;
    beta / f + gamma * at.delay_us.max(SHORTEST_DELAY_US) + q / f * busy / idle.max(LEAST_IDLE_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(freq_ghz: f64, delay_us: f64) -> Clocked {
        Clocked { freq_ghz, delay_us }
    }

    fn close(have: f64, want: f64) {
        assert!((have - want).abs() < 1e-9 * want.abs(), "{have} is not {want}");
    }

    #[test]
    fn power_worked_by_hand() {
        // At 2 GHz φ = 1; at 50 µs with u0 = 50 half the interrupts are left: 20 + 40 + 5.
        close(Law::Watts.ln_value(&[20.0, 40.0, 10.0, 50.0], at(2.0, 50.0)), libm::log(65.0));
        // At 1 GHz x = ½, voltage 0.8, φ = 0.32; a delay below 1 µs counts as 1.
        let want = 20.0 + 0.32 * (40.0 + 10.0 / 1.02);
        close(Law::Watts.ln_value(&[20.0, 40.0, 10.0, 50.0], at(1.0, 0.0)), libm::log(want));
    }

    #[test]
    fn tail_worked_by_hand() {
        // Half busy at 2 GHz: (0.8 + 0.4·½)/2 = ½; S(½) = ln(1 + e^6)/12.
        let parameters = [40.0, 1.0, 20.0, 0.8, 0.4, 50.0];
        let idle = libm::log(1.0 + libm::exp(6.0)) / 12.0;
        let want = 20.0 + 50.0 + 10.0 * 0.5 / idle;
        close(Law::Tail { us_per_unit: 1.0 }.ln_value(&parameters, at(2.0, 50.0)), libm::log(want));
        close(Law::Tail { us_per_unit: 1000.0 }.ln_value(&parameters, at(2.0, 50.0)), libm::log(want / 1000.0));
    }

    #[test]
    fn overload_is_steep_and_finite() {
        let law = Law::Tail { us_per_unit: 1.0 };
        let parameters = [40.0, 1.0, 20.0, 3.0, 0.2, 50.0];
        let (calm, over) = (law.ln_value(&parameters, at(4.0, 10.0)), law.ln_value(&parameters, at(1.0, 10.0)));
        assert!(over.is_finite() && over - calm > 3.0, "{calm} {over}");
        // Near saturation more delay is quicker, far from it slower.
        let busy = [40.0, 1.0, 40.0, 1.0, 1.0, 50.0];
        assert!(law.ln_value(&busy, at(1.2, 60.0)) < law.ln_value(&busy, at(1.2, 2.0)));
        assert!(law.ln_value(&busy, at(4.0, 60.0)) > law.ln_value(&busy, at(4.0, 2.0)));
    }

    #[test]
    fn expectations_follow_the_machine_for_power_alone() {
        let [small, large] = [35.0, 140.0].map(|start| Law::Watts.expected(libm::log(start)));
        close(large[0].median, 40.0);
        close(small[2].median, 5.0);
        close(large[3].median, small[3].median);
        let tail = Law::Tail { us_per_unit: 1.0 };
        assert!(tail.expected(1.0).iter().zip(tail.expected(9.0)).all(|(one, other)| one.median == other.median));
    }
}
