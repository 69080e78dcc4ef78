//! The part of a machine file on how pieces of silicon differ.
use serde::Deserialize;

use super::ProfileError;
use super::file::scaled;
use crate::variation::VariationSpec;

/// Relative standard deviations between pieces.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variation {
    #[serde(default)]
    leakage: f64,
    #[serde(default)]
    voltage: f64,
    #[serde(default)]
    slope: f64,
    #[serde(default)]
    temperature: f64,
}

impl Variation {
    pub(super) fn spec(&self) -> Result<VariationSpec, ProfileError> {
        let relative = |key, value| scaled(key, value, 1.0, (0.0, 0.5)).map(|_| value);
        Ok(VariationSpec {
            leakage: relative("variation.leakage", self.leakage)?,
            voltage: relative("variation.voltage", self.voltage)?,
            slope: relative("variation.slope", self.slope)?,
            temperature: relative("variation.temperature", self.temperature)?,
        })
    }
}
