//! Interrupt coalescing by ethtool(8) where there is only a shell: what it prints, and what is typed to set it.
use powerband_machine::{Coalescing, Errno, Parameter};
use powerband_record::IntoOrdered as _;

/// Switches as ethtool prints them, in pairs of directions.
const SWITCHES: [(&str, [&str; 2]); 2] =
    [("Adaptive ", ["adaptive-rx", "adaptive-tx"]), ("CQE mode ", ["cqe-mode-rx", "cqe-mode-tx"])];

/// The parameters that a device's driver has, as `ethtool -c` prints them: `n/a` is one that it has not. Before ethtool 5.9 those
/// read 0, and setting one is refused.
pub(super) fn parameters(text: &str) -> Coalescing {
    Coalescing(text.lines().flat_map(of_line).flatten().into_map())
}

fn of_line(line: &str) -> [Option<(String, u32)>; 2] {
    let value = |name: &str, word: &str| {
        let parameter = Parameter::named(name)?;
        Some((name.to_owned(), parameter.parse(word)?))
    };
    for (begin, names) in SWITCHES {
        if let Some((rx, tx)) = line.strip_prefix(begin).and_then(|rest| rest.strip_prefix("RX: ")?.split_once("TX: "))
        {
            return [value(names[0], rx), value(names[1], tx)];
        }
    }
    // It prints rx-frame-low and takes rx-frames-low.
    let number = line.split_once(':').and_then(|(name, word)| value(&name.replace("-frame-", "-frames-"), word));
    [number, None]
}

/// The parameters of each queue, as `ethtool -Q DEVICE --show-coalesce` prints them.
pub(super) fn queues(text: &str) -> impl Iterator<Item = Coalescing> {
    text.split("Queue: ").skip(1).map(parameters)
}

/// The words that set parameters of a device, all in one request.
///
/// # Errors
/// `EINVAL` for a device that ethtool would take for an option, and for a parameter that there is not.
pub(super) fn words(device: &str, values: &Coalescing) -> Result<Vec<String>, Errno> {
    let mut words = ["ethtool", "-C", check(device)?].map(str::to_owned).to_vec();
    for (name, value) in &values.0 {
        words.extend([name.clone(), Parameter::named(name).ok_or(Errno::EINVAL)?.typed(*value)]);
    }
    Ok(words)
}

/// The name of a device that is no option.
pub(super) fn check(device: &str) -> Result<&str, Errno> {
    if device.is_empty() || device.starts_with('-') { Err(Errno::EINVAL) } else { Ok(device) }
}

#[cfg(test)]
mod tests;
