//! Places that read like a file and are counters of the kernel's perf.
use std::fmt;

/// What such a place begins with. No path does, as paths are absolute.
const PLACE: &str = "perf:";

/// Where the kernel lists what can be counted.
const DEVICES: &str = "/sys/bus/event_source/devices";

/// An event of one of perf's devices, counted on one CPU whatever runs there: `perf:msr/aperf@cpu3`. Opened, it counts from
/// some start; read, it tells the count since then, a decimal number without a sign. Read without opening it, it tells a
/// number that means nothing, or why it cannot be counted. Reading interrupts the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerfPlace<'p> {
    /// The device: `msr`, `power`.
    pub device: &'p str,
    /// The event, as its file is called: `energy-pkg`.
    pub event: &'p str,
    /// The CPU.
    pub cpu: u32,
}

impl<'p> PerfPlace<'p> {
    /// Of a path, if it is one of these and no file's.
    #[must_use]
    pub fn of(path: &'p str) -> Option<Self> {
        let (device, rest) = path.strip_prefix(PLACE)?.split_once('/')?;
        let (event, cpu) = rest.split_once("@cpu")?;
        let is_name = |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
        if !is_name(device) || !is_name(event) || !cpu.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some(PerfPlace { device, event, cpu: cpu.parse().ok()? })
    }

    /// The folder of its device.
    #[must_use]
    pub fn folder(&self) -> String {
        format!("{DEVICES}/{}", self.device)
    }

    /// The file that says how the event is asked for.
    #[must_use]
    pub fn file(&self) -> String {
        format!("{}/events/{}", self.folder(), self.event)
    }
}

impl fmt::Display for PerfPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PLACE}{}/{}@cpu{}", self.device, self.event, self.cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_prints_as_it_is_read_and_leads_nowhere_else() {
        let place = PerfPlace::of("perf:power/energy-pkg@cpu12").unwrap();
        assert_eq!(place, PerfPlace { device: "power", event: "energy-pkg", cpu: 12 });
        assert_eq!(place.to_string(), "perf:power/energy-pkg@cpu12");
        assert_eq!(place.file(), "/sys/bus/event_source/devices/power/events/energy-pkg");
        for other in
            ["/sys/perf:a/b@cpu1", "perf:a@cpu1", "perf:a/b", "perf:a/b@cpu", "perf:a/b@cpu-1", "perf:a/b@cpu+1"]
        {
            assert_eq!(PerfPlace::of(other), None, "{other}");
        }
        for outside in ["perf:../b@cpu1", "perf:a/../b@cpu1", "perf:a/b/c@cpu1", "perf:/b@cpu1"] {
            assert_eq!(PerfPlace::of(outside), None, "{outside}");
        }
    }
}
