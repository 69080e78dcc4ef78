//! How many facts an output tells: a label with what stands at it. A list is one fact however long, in both outputs.
use serde_json::Value;

/// Facts of `powerband info --json`: members with a value, lists of plain values counted once.
pub(crate) fn of_json(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::Object(members) => members.values().map(of_json).sum(),
        Value::Array(all) if all.iter().any(|one| one.is_object() || one.is_array()) => all.iter().map(of_json).sum(),
        Value::Array(all) => usize::from(!all.is_empty()),
        Value::String(text) => usize::from(!text.is_empty()),
        Value::Bool(_) | Value::Number(_) => 1,
    }
}

/// Lines of cpupower that tell more than one fact, and how many more: the second limit; the second limit and the
/// governor of the policy; who says what the frequency is.
const MORE: [(&str, usize); 3] = [("hardware limits", 1), ("current policy", 2), ("current CPU frequency", 1)];

/// What it prints where it knows nothing.
const NOTHING_TOLD: [&str; 3] = ["Cannot determine", "Not Available", "Unable to"];

/// Facts of `cpupower frequency-info`: lines with a label and a value that is told.
pub(crate) fn of_cpupower(text: &str) -> usize {
    let fact = |line: &str| {
        let (label, value) = line.trim().split_once(':')?;
        let told = !value.trim().is_empty() && !NOTHING_TOLD.iter().any(|words| value.contains(words));
        let more = MORE.iter().find(|(name, _)| label.contains(name)).map_or(0, |(_, more)| *more);
        told.then_some(1 + more)
    };
    text.lines().filter_map(fact).sum()
}

/// CPUs it told of.
pub(crate) fn cpus_of_cpupower(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with("analyzing CPU ")).count()
}

/// CPUs whose policy is told.
pub(crate) fn cpus_of_json(value: &Value) -> usize {
    value["cpu"]["policies"].as_array().map_or(0, Vec::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_counted_and_what_is_not_is_not() {
        let told = serde_json::json!({ "a": 1, "b": null, "c": "", "d": [1, 2], "e": [{ "f": true, "g": [] }] });
        assert_eq!(of_json(&told), 3);
        let text = "analyzing CPU 0:\n  driver: acpi-cpufreq\n  CPUs which run:  0\n  hardware limits: 1 - 2\n  \
                    current policy: within 1 and 2.\n     The governor \"x\" may\n  current CPU frequency: 1 (kernel)\n  \
                    transition latency:  Cannot determine or is not supported.\n  boost state support:\n    Active: yes\n";
        assert_eq!((of_cpupower(text), cpus_of_cpupower(text)), (10, 1));
    }
}
