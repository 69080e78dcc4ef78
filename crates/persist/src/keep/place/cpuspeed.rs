//! cpuspeed of CentOS 5 and 6: keys of its configuration.
use super::{Overlay, Texts, Want, as_keys, is_on, theirs, with_key};
use crate::keep::Origin;

const PATH: &str = "/etc/sysconfig/cpuspeed";

pub(super) fn write(machine: &mut Overlay<'_>, wants: &[Want], _origin: &Origin) -> Option<Texts> {
    if !is_on(machine, "cpuspeed") {
        return None;
    }
    let keys = as_keys(machine, wants, |knob| match knob.split_once('.')?.1 {
        "governor" => Some("GOVERNOR"),
        "min_freq" => Some("MIN_SPEED"),
        "max_freq" => Some("MAX_SPEED"),
        "up_threshold" => Some("UP_THRESHOLD"),
        "down_threshold" => Some("DOWN_THRESHOLD"),
        "ignore_nice_load" => Some("IGNORE_NICE"),
        _ => None,
    })?;
    let text = theirs(machine, PATH)?;
    Some(vec![(PATH.to_owned(), keys.iter().fold(text, |text, (key, value)| with_key(&text, key, value)))])
}
