//! Limits on CPU time that hold a load back: the one around powerband itself, as a container has one, and the load's own where the load
//! only asks a server for work. How often they did, and the notes about it.
use powerband_machine::Look;
use powerband_record::format_duration;
use powerband_sysfs::cgroup::{CpuLimit, HeldBack};

/// Loads that ran under a limit, and those it delayed.
#[derive(Debug, Default)]
struct Loads {
    count: u32,
    /// Delay of each load that was held back, ns.
    held_ns: Vec<u64>,
}

impl Loads {
    fn add(&mut self, before: Option<HeldBack>, after: Option<HeldBack>) {
        let (Some(before), Some(after)) = (before, after) else { return };
        self.count += 1;
        if after.periods > before.periods {
            self.held_ns.push(after.ns.saturating_sub(before.ns));
        }
    }

    /// The count of delayed loads in words, if one was delayed.
    fn delayed(&self) -> Option<String> {
        let most_ns = *self.held_ns.iter().max()?;
        let most = format_duration(most_ns / 1_000_000 * 1_000_000);
        Some(format!("delayed {} of {} loads, by up to {most}", self.held_ns.len(), self.count))
    }
}

/// The limits, and the loads they delayed so far.
#[derive(Debug, Default)]
pub(crate) struct Throttling {
    /// The limit around powerband, once it was looked for.
    limit: Option<Option<CpuLimit>>,
    around: Loads,
    /// Loads of a tool that asks a server, whose own group is limited.
    asking: Loads,
    tool: &'static str,
}

/// The kernel's counts at one moment: of the limit around powerband, and of the load's own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts([Option<HeldBack>; 2]);

impl Throttling {
    /// The kernel's counts now; nothing without a limit. `asking` is a tool that asks a server, and the group it runs in.
    pub(crate) fn look(&mut self, machine: &mut dyn Look, asking: Option<(&'static str, &str)>) -> Counts {
        let around = self.limit.get_or_insert_with(|| CpuLimit::find(machine)).as_ref();
        let around = around.and_then(|limit| limit.held_back(machine));
        let own = asking.and_then(|(tool, group)| {
            self.tool = tool;
            CpuLimit::of_group(machine, group)?.held_back(machine)
        });
        Counts([around, own])
    }

    /// A load ran between two looks.
    pub(crate) fn add(&mut self, Counts(before): Counts, Counts(after): Counts) {
        self.around.add(before[0], after[0]);
        self.asking.add(before[1], after[1]);
    }

    /// The caveats of the report, if a load was delayed.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let around = self.limit.as_ref().and_then(Option::as_ref).zip(self.around.delayed()).map(|(limit, delayed)| {
            format!(
                "powerband itself is limited to {:.2} CPUs ({}), which {delayed}; measure outside this limit, or raise it",
                limit.cpus, limit.file,
            )
        });
        let asking = self.asking.delayed().map(|delayed| {
            format!(
                "cgroup.cpu_quota limits {tool} alone, not the server that it asks, and {delayed}: the results show what {tool} \
                 can ask for; to limit a server, use cgroup.cpu_quota@UNIT.service",
                tool = self.tool
            )
        });
        around.into_iter().chain(asking)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(periods: u64, ms: u64) -> Option<HeldBack> {
        Some(HeldBack { periods, ns: ms * 1_000_000 })
    }

    #[test]
    fn the_note_counts_the_loads_that_were_held_back() {
        let (file, stat) = ("/g/cpu.max".to_owned(), String::new());
        let limit = Some(CpuLimit { cpus: 0.5, file, stat });
        let mut throttling = Throttling { limit: Some(limit), ..Throttling::default() };
        let mut add = |before, after| throttling.add(Counts([before, None]), Counts([after, None]));
        add(at(3, 200), at(3, 200));
        add(at(3, 200), at(5, 360));
        add(at(5, 360), at(6, 400));
        let told = "powerband itself is limited to 0.50 CPUs (/g/cpu.max), which delayed 2 of 3 loads, by up to 160 ms; measure \
                    outside this limit, or raise it";
        assert_eq!(throttling.notes().collect::<Vec<_>>(), [told]);
    }

    #[test]
    fn a_limit_on_a_tool_that_asks_a_server_is_told_from_one_around_powerband() {
        let mut throttling = Throttling { limit: Some(None), tool: "wrk", ..Throttling::default() };
        throttling.add(Counts([None, at(0, 0)]), Counts([None, at(0, 0)]));
        assert_eq!(throttling.notes().count(), 0);
        throttling.add(Counts([None, at(0, 0)]), Counts([None, at(40, 1_500)]));
        let told = "cgroup.cpu_quota limits wrk alone, not the server that it asks, and delayed 1 of 2 loads, by up to 1.5 s: \
                    the results show what wrk can ask for; to limit a server, use cgroup.cpu_quota@UNIT.service";
        assert_eq!(throttling.notes().collect::<Vec<_>>(), [told]);
    }
}
