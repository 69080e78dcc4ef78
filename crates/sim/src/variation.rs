//! How one piece of silicon differs from the next: its leakage, its voltages, the air around it. Fixed by the seed behind a
//! machine's name, and by nothing else: the same piece in every experiment, whatever the experiment's own seed is.
use crate::noise::{keyed, normal};
use crate::profile::Profile;

/// Standard deviations between pieces, relative. A machine file without the table describes one piece.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VariationSpec {
    /// Of the leakage, as its logarithm.
    pub leakage: f64,
    /// Of the voltage at every clock.
    pub voltage: f64,
    /// Of the voltage at the highest clock over that at the lowest: it makes the effect of a clock differ between pieces.
    pub slope: f64,
    /// Of the leakage by the warmth of its place, as its logarithm.
    pub temperature: f64,
}

/// Voltages lie within this share of the file's, however far out a draw is.
const FURTHEST_VOLTAGE: f64 = 0.3;
/// Leakage lies within this factor of the file's, as a logarithm.
const FURTHEST_LEAKAGE: f64 = 1.5;

impl Profile {
    /// Whether pieces of this machine differ.
    #[must_use]
    pub fn varies(&self) -> bool {
        self.variation.is_some()
    }

    /// The piece of silicon of this seed. A machine file without `[variation]` has one piece, which every seed gives.
    #[must_use]
    pub fn piece(mut self, seed: u64) -> Self {
        let Some(spec) = self.variation else { return self };
        let draw = |component: &str| normal(&mut keyed(seed, &format!("silicon of {}: {component}", self.name), 0));
        let clocks = || self.power.steps.iter().map(|step| step.0);
        let (lowest, highest) = (clocks().min().unwrap_or(0), clocks().max().unwrap_or(0));
        let span = f64::from(highest.saturating_sub(lowest).max(1));
        let (voltage, slope) = (spec.voltage * draw("voltage"), spec.slope * draw("slope"));
        let leakage = (spec.leakage * draw("leakage") + spec.temperature * draw("temperature"))
            .clamp(-FURTHEST_LEAKAGE, FURTHEST_LEAKAGE);
        for (khz, running, leaking) in &mut self.power.steps {
            let up = f64::from(khz.saturating_sub(lowest)) / span;
            let volts = 1.0 + (voltage + slope * up).clamp(-FURTHEST_VOLTAGE, FURTHEST_VOLTAGE);
            // What runs draws C·V²·f, what leaks V·I.
            *running = scaled(*running, volts * volts);
            *leaking = scaled(*leaking, volts * libm::exp(leakage));
        }
        self
    }
}

fn scaled(microwatts: u64, by: f64) -> u64 {
    (microwatts as f64 * by).round() as u64
}
