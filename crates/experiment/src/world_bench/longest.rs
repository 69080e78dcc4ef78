//! How long trials on a bench take at most while none is void: the sum of what the bench waits for in each.
use powerband_load::{Calibrate, Load};

use super::WorldBench;

/// What a load takes beyond its length, ns: processes begin and end, connections are made and closed.
const BEYOND_NS: u64 = 1_000_000_000;

impl WorldBench<'_> {
    /// How long a trial of a setting takes at most, ns: cooling, settling, and each phase of the load. Absent where the load, or
    /// a command around it, takes as long as it takes.
    pub(crate) fn trial_ns(&self, setting: usize) -> Option<u64> {
        let load = &self.variants.get(setting)?.load;
        if self.around.is_timeless() {
            return None;
        }
        let finding_ns = self.full_ns(load, Calibrate::Each)?;
        let phases = load.stages(Some(1.0), 0);
        let phases_ns = phases.iter().map(|phase| self.phase_ns(&phase.load)).sum::<Option<u64>>()?;
        let cooling_ns = self.cool.map_or(0, |cool| cool.timeout_ns);
        Some(cooling_ns.saturating_add(self.settle_ns).saturating_add(finding_ns).saturating_add(phases_ns))
    }

    /// How long it takes to find out what 100 % is before the first trial, ns.
    pub(crate) fn calibrating_ns(&self) -> Option<u64> {
        match self.full_ns(&self.load, Calibrate::Reference)? {
            0 => Some(0),
            intervals_ns => Some(intervals_ns.saturating_add(self.settle_ns)),
        }
    }

    /// The intervals at full speed that are run at such a moment, ns; 0 where they are run at another, or there are none.
    fn full_ns(&self, load: &Load, when: Calibrate) -> Option<u64> {
        match load.calibration() {
            Some((at, interval)) if at == when => {
                Some(self.phase_ns(&interval.load)?.saturating_mul(u64::from(load.most_intervals())))
            }
            _ => Some(0),
        }
    }

    /// One phase of the load, with its beginning and end and what comes late of the meters, ns.
    fn phase_ns(&self, load: &Load) -> Option<u64> {
        let beyond_ns = BEYOND_NS.saturating_add(self.metering.late_ns());
        Some(load.length_ns()?.saturating_add(beyond_ns))
    }
}
