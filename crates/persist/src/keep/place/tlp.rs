//! TLP: a drop-in with the same value on the mains and on battery.
use super::{Overlay, Texts, Want, as_keys, is_on, own};
use crate::keep::Origin;

const PATH: &str = "/etc/tlp.d/99-powerband.conf";

pub(super) fn write(machine: &mut Overlay<'_>, wants: &[Want], origin: &Origin) -> Option<Texts> {
    if !is_on(machine, "tlp") {
        return None;
    }
    let keys = as_keys(machine, wants, |knob| match knob {
        "cpufreq.governor" => Some("CPU_SCALING_GOVERNOR"),
        "cpufreq.min_freq" => Some("CPU_SCALING_MIN_FREQ"),
        "cpufreq.max_freq" => Some("CPU_SCALING_MAX_FREQ"),
        "cpufreq.epp" => Some("CPU_ENERGY_PERF_POLICY"),
        _ => None,
    })?;
    let both = |(key, value): &(&str, String)| format!("{key}_ON_AC={value}\n{key}_ON_BAT={value}\n");
    let body: String = keys.iter().map(both).collect();
    Some(vec![(PATH.to_owned(), own(origin, &body))])
}
