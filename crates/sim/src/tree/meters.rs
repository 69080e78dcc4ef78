//! The files of a machine's meters.
use super::{Node, Tree};
use crate::profile::Profile;

impl Tree {
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
