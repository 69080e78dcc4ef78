//! How hot a machine gets: one resistance and one capacity between what its CPUs and packages draw and the air around.
//!
//! Each step of 100 ms the mean power P of it moves the excess over the air towards R·P, by 1 − exp(−step/τ) of what is
//! missing: exact for power that stays as it is. In integers: µW times mK/W are nK.
use crate::board::Board;

/// Time between two looks of the kernel's sensor, ns.
const STEP_NS: u64 = 100_000_000;

/// A whole, in the share's own parts.
const WHOLE: i128 = 1_000_000_000;

/// The thermal zone of a machine file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThermalSpec {
    /// What the zone is called.
    pub zone: String,
    /// The air, thousandths of a degree Celsius.
    pub ambient_mc: i64,
    /// How much hotter a Watt makes it in the end, mK.
    pub resistance_mk_per_w: u64,
    /// The share of what is missing that a step brings, thousand-millionths.
    pub step_ppb: u64,
}

impl ThermalSpec {
    /// With the time constant in seconds.
    #[must_use]
    pub(crate) fn step_ppb(time_constant_s: f64) -> u64 {
        let steps = time_constant_s * 1e9 / STEP_NS as f64;
        (-libm::expm1(-1.0 / steps) * WHOLE as f64 + 0.5) as u64
    }
}

/// The zone of a machine that runs; it begins as cool as the air.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heat {
    /// Steps done since boot.
    steps: u64,
    /// What was drawn until then, fJ.
    drawn_fj: u128,
    /// Excess over the air, nK.
    excess_nk: i128,
}

impl Heat {
    fn step(&mut self, spec: &ThermalSpec, drawn_fj: u128) {
        let power_uw = (drawn_fj - self.drawn_fj) / u128::from(STEP_NS);
        let end_nk = i128::try_from(power_uw * u128::from(spec.resistance_mk_per_w)).unwrap_or(i128::MAX / WHOLE);
        self.excess_nk += (end_nk - self.excess_nk) * i128::from(spec.step_ppb) / WHOLE;
        self.drawn_fj = drawn_fj;
        self.steps += 1;
    }
}

impl Board {
    /// Time passes to `now_ns`, since when nothing has happened: heat comes and goes.
    pub(crate) fn warm_to(&mut self, now_ns: u64) {
        while let Some(at_ns) = self.next_warming_ns().filter(|at_ns| *at_ns <= now_ns) {
            let drawn_fj = self.heating_fj(at_ns);
            if let Some(spec) = &self.profile.thermal {
                self.heat.step(spec, drawn_fj);
            }
        }
    }

    /// When the zone's sensor looks next, ns.
    pub(crate) fn next_warming_ns(&self) -> Option<u64> {
        self.profile.thermal.as_ref().map(|_| (self.heat.steps + 1) * STEP_NS)
    }

    /// What the zone shows, thousandths of a degree Celsius.
    pub(crate) fn show_temperature(&self) -> i64 {
        let excess_mc = i64::try_from(self.heat.excess_nk / 1_000_000).unwrap_or(i64::MAX / 2);
        self.profile.thermal.as_ref().map_or(0, |spec| spec.ambient_mc) + excess_mc
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_power_brings_the_temperature_of_the_formula() {
        let (resistance, tau_s, power_uw) = (1_500_u64, 20.0, 10_000_000_u64);
        let step_ppb = ThermalSpec::step_ppb(tau_s);
        let spec = ThermalSpec { zone: "x".into(), ambient_mc: 25_000, resistance_mk_per_w: resistance, step_ppb };
        let mut heat = Heat::default();
        for step in 1..=2_000_u64 {
            heat.step(&spec, u128::from(power_uw * step) * u128::from(STEP_NS));
            let at_s = step as f64 * STEP_NS as f64 / 1e9;
            let excess_k = 15.0 * (1.0 - libm::exp(-at_s / tau_s));
            assert!((heat.excess_nk as f64 / 1e9 - excess_k).abs() < 1e-5, "{step}: {}", heat.excess_nk);
        }
        // And back, when nothing is drawn any more.
        let (drawn_fj, hot_nk) = (heat.drawn_fj, heat.excess_nk as f64);
        for _ in 0..200 {
            heat.step(&spec, drawn_fj);
        }
        assert!((heat.excess_nk as f64 / hot_nk - libm::exp(-1.0)).abs() < 1e-5);
    }
}
