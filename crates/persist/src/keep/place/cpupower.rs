//! cpupower.service: the configuration that it has on this distribution, with a key for each setting or its options in one.
use powerband_machine::Look;

use super::{Overlay, Texts, Want, as_keys, is_on, with_key};
use crate::keep::Origin;
use crate::keys::{keys, last};
use crate::source::CPUPOWER_CONFIGS;

/// The key that holds a whole command line, of Fedora and its kin.
const OPTIONS: &str = "CPUPOWER_START_OPTS";

pub(super) fn write(machine: &mut Overlay<'_>, wants: &[Want], _origin: &Origin) -> Option<Texts> {
    if !is_on(machine, "cpupower") {
        return None;
    }
    let (path, text) = CPUPOWER_CONFIGS.iter().find_map(|path| Some(((*path).to_owned(), machine.read(path).ok()?)))?;
    let found = keys(&text);
    let wanted = as_keys(machine, wants, |knob| match knob {
        "cpufreq.governor" => Some("governor"),
        "cpufreq.min_freq" => Some("min_freq"),
        "cpufreq.max_freq" => Some("max_freq"),
        _ => None,
    })?;
    if let Some(options) = last(&found, OPTIONS) {
        let options = wanted.iter().fold(options.value.clone(), |options, (key, value)| {
            let flag = match *key {
                "governor" => "-g",
                "min_freq" => "-d",
                _ => "-u",
            };
            with_option(&options, flag, value)
        });
        return Some(vec![(path, with_key(&text, OPTIONS, &format!("\"{options}\"")))]);
    }
    // Spelled as the file spells them, be it in a remark: governor= or GOVERNOR=.
    let capitals = text.contains("GOVERNOR=");
    let spelled = |key: &str| if capitals { key.to_uppercase() } else { key.to_owned() };
    let text = wanted.iter().fold(text, |text, (key, value)| with_key(&text, &spelled(key), &format!("'{value}'")));
    Some(vec![(path, text)])
}

/// `frequency-set …` with an option set to a value.
fn with_option(options: &str, flag: &str, value: &str) -> String {
    let mut words: Vec<&str> = options.split_whitespace().collect();
    if words.is_empty() {
        words.push("frequency-set");
    }
    match words.iter().position(|word| *word == flag) {
        Some(at) if at + 1 < words.len() => words[at + 1] = value,
        _ => words.extend([flag, value]),
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::with_option;

    #[test]
    fn an_option_is_replaced_or_added() {
        assert_eq!(with_option("", "-g", "powersave"), "frequency-set -g powersave");
        assert_eq!(with_option("frequency-set -g performance -u 2GHz", "-g", "x"), "frequency-set -g x -u 2GHz");
        assert_eq!(with_option("frequency-set -g", "-g", "x"), "frequency-set -g -g x");
    }
}
