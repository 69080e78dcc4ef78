//! A limit on CPU time around powerband itself, as a container has one: how often it held loads back, and the note that says so.
use powerband_machine::Look;
use powerband_record::format_duration;
use powerband_sysfs::cgroup::{CpuLimit, HeldBack};

/// The limit around powerband, and the loads it delayed so far.
#[derive(Debug, Default)]
pub(crate) struct Throttling {
    /// The limit, once it was looked for.
    limit: Option<Option<CpuLimit>>,
    loads: u32,
    /// Delay of each load that was held back, ns.
    held_ns: Vec<u64>,
}

impl Throttling {
    /// The kernel's count now; nothing without a limit.
    pub(crate) fn look(&mut self, machine: &mut dyn Look) -> Option<HeldBack> {
        self.limit.get_or_insert_with(|| CpuLimit::find(machine)).as_ref()?.held_back(machine)
    }

    /// A load ran between two looks.
    pub(crate) fn add(&mut self, before: Option<HeldBack>, after: Option<HeldBack>) {
        let (Some(before), Some(after)) = (before, after) else { return };
        self.loads += 1;
        if after.periods > before.periods {
            self.held_ns.push(after.ns.saturating_sub(before.ns));
        }
    }

    /// The caveat of the report, if a load was delayed.
    pub(crate) fn note(&self) -> Option<String> {
        let limit = self.limit.as_ref()?.as_ref()?;
        let most_ns = *self.held_ns.iter().max()?;
        Some(format!(
            "powerband itself is limited to {:.2} CPUs ({}), which delayed {} of {} loads, by up to {}; measure outside this \
             limit, or raise it",
            limit.cpus,
            limit.file,
            self.held_ns.len(),
            self.loads,
            format_duration(most_ns / 1_000_000 * 1_000_000)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_counts_the_loads_that_were_held_back() {
        let (file, stat) = ("/g/cpu.max".to_owned(), String::new());
        let limit = Some(CpuLimit { cpus: 0.5, file, stat });
        let mut throttling = Throttling { limit: Some(limit), ..Throttling::default() };
        let at = |periods, ms: u64| Some(HeldBack { periods, ns: ms * 1_000_000 });
        throttling.add(at(3, 200), at(3, 200));
        assert_eq!(throttling.note(), None);
        throttling.add(at(3, 200), at(5, 360));
        throttling.add(at(5, 360), at(6, 400));
        let told = "powerband itself is limited to 0.50 CPUs (/g/cpu.max), which delayed 2 of 3 loads, by up to 160 ms; measure \
                    outside this limit, or raise it";
        assert_eq!(throttling.note().as_deref(), Some(told));
    }
}
