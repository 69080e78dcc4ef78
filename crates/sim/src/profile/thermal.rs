//! The part of a machine file on heat.
use serde::Deserialize;

use super::ProfileError;
use super::file::{scaled, wrong};
use crate::thermal::ThermalSpec;

/// One thermal zone.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Thermal {
    zone: String,
    ambient_c: f64,
    resistance_k_w: f64,
    time_constant_s: f64,
}

impl Thermal {
    pub(super) fn spec(&self) -> Result<ThermalSpec, ProfileError> {
        if self.zone.is_empty() || self.zone.contains(char::is_whitespace) {
            return wrong("thermal.zone", "must be a word, e.g. x86_pkg_temp");
        }
        scaled("thermal.time_constant_s", self.time_constant_s, 1.0, (0.1, 1e5))?;
        if !(-50.0..=100.0).contains(&self.ambient_c) {
            return wrong("thermal.ambient_c", format!("is {}, outside -50 to 100", self.ambient_c));
        }
        Ok(ThermalSpec {
            zone: self.zone.clone(),
            ambient_mc: (self.ambient_c * 1e3).round() as i64,
            resistance_mk_per_w: scaled("thermal.resistance_k_w", self.resistance_k_w, 1e3, (0.0, 1e4))?,
            step_ppb: ThermalSpec::step_ppb(self.time_constant_s),
        })
    }
}
