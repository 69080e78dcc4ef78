//! A limit on CPU time around powerband itself, as a container has one: how often it held loads back, and the note that says so.
use powerband_machine::Look;
use powerband_record::format_duration;
use powerband_sysfs::cgroup::{CpuLimit, HeldBack};

/// What such a limit did to the loads so far.
#[derive(Debug, Default)]
pub(crate) struct Throttling {
    /// The limit, once it was looked for.
    limit: Option<Option<CpuLimit>>,
    loads: u32,
    /// How long each load was held back that was, ns.
    held_ns: Vec<u64>,
}

impl Throttling {
    /// What the kernel counts now; nothing where there is no limit.
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

    /// What the report says of it.
    pub(crate) fn note(&self) -> Option<String> {
        let limit = self.limit.as_ref()?.as_ref()?;
        let most_ns = *self.held_ns.iter().max()?;
        Some(format!(
            "powerband itself may use {:.2} CPUs ({}), and that held {} of {} loads back, for up to {}; measure outside of that \
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
        let told = "powerband itself may use 0.50 CPUs (/g/cpu.max), and that held 2 of 3 loads back, for up to 160 ms; measure \
                    outside of that limit, or raise it";
        assert_eq!(throttling.note().as_deref(), Some(told));
    }
}
