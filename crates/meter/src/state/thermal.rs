//! How hot a machine is, by its thermal zones.
use powerband_machine::Look;
use powerband_sysfs::{names, numbered, power::THERMAL as FOLDER};

use super::Text;

/// The thermal zones that tell a temperature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThermalZones {
    pub(super) files: Vec<String>,
}

impl ThermalZones {
    /// Those of a machine.
    pub fn find(machine: &mut dyn Look) -> Self {
        let zones = numbered(names(machine, FOLDER), "thermal_zone").into_iter();
        let files = zones.map(|(_, zone)| format!("{FOLDER}/{zone}/temp"));
        ThermalZones { files: files.filter(|file| celsius(&machine.read(file)).is_some()).collect() }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The temperature of the hottest, °C.
    pub fn hottest_c(&self, machine: &mut dyn Look) -> Option<f64> {
        self.files.iter().filter_map(|file| celsius(&machine.read(file))).reduce(f64::max)
    }
}

/// Thousandths of a degree; they may be below zero.
pub(super) fn celsius(text: &Text) -> Option<f64> {
    let millis: i64 = text.as_ref().ok()?.trim().parse().ok()?;
    Some(millis as f64 / 1e3)
}
