//! The files of a machine's meters, and of its thermal zone.
use super::{Node, Show, Tree};
use crate::profile::Profile;

/// Where the kernel shows the first thermal zone.
const ZONE: &str = "/sys/class/thermal/thermal_zone0";

impl Tree {
    pub(super) fn add_thermal(&mut self, profile: &Profile) {
        if let Some(thermal) = &profile.thermal {
            self.add(format!("{ZONE}/type"), Node::Fixed(format!("{}\n", thermal.zone)));
            self.add(format!("{ZONE}/temp"), Node::Show(Show::Temperature));
        }
    }

    pub(super) fn add_meters(&mut self, profile: &Profile) {
        for (place, meter) in profile.meters.iter().enumerate() {
            self.add(meter.path.clone(), Node::Meter { place, mode: meter.mode });
            for (path, text) in &meter.beside {
                self.add(path.clone(), Node::Fixed(text.clone()));
            }
            for (path, value, low, high) in &meter.kept {
                self.add(path.clone(), Node::Sysctl { value: *value, low: *low, high: *high });
            }
        }
    }
}
