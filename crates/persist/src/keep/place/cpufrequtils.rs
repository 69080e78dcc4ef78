//! cpufrequtils of Debian: keys of /etc/default/cpufrequtils, which holds all CPUs.
use super::{Overlay, Texts, Want, as_keys, is_on, theirs, with_key};
use crate::keep::Origin;

const PATH: &str = "/etc/default/cpufrequtils";

pub(super) fn write(machine: &mut Overlay<'_>, wants: &[Want], _origin: &Origin) -> Option<Texts> {
    if !is_on(machine, "cpufrequtils") {
        return None;
    }
    let mut keys = as_keys(machine, wants, |knob| match knob {
        "cpufreq.governor" => Some("GOVERNOR"),
        "cpufreq.min_freq" => Some("MIN_SPEED"),
        "cpufreq.max_freq" => Some("MAX_SPEED"),
        _ => None,
    })?;
    keys.insert(0, ("ENABLE", "true".to_owned()));
    let text = theirs(machine, PATH)?;
    let set = |text: String, (key, value): &(&str, String)| with_key(&text, key, &format!("\"{value}\""));
    Some(vec![(PATH.to_owned(), keys.iter().fold(text, set))])
}
