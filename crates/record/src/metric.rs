//! Metrics: names with their unit last, which direction is better, and the two synonyms people type.
mod direction;

use serde::{Deserialize, Serialize};

pub use direction::{DirectionSource, direction_of};

/// A metric's name, e.g. `rate_mbit_s`.
pub type MetricName = String;

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better (rates, counts).
    Higher,
    /// Less is better (times, latencies, watts).
    Lower,
}

/// A metric an experiment judges or shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Metric {
    /// Name with the unit last.
    pub name: MetricName,
    /// Which way is better.
    pub better: Better,
    /// Whether verdicts are given about it (else it is only shown with its interval).
    pub judged: bool,
    /// What a number of watts or joules covers (`modelled`, `package`, `wall`), what a ratio is made of, or what a figure of
    /// the machine's state is told from; absent for everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<String>,
}

/// The full name of a metric: `watts` is `power_w`, `joules` is `energy_j`.
#[must_use]
pub fn canonical_metric(name: &str) -> &str {
    match name {
        "watts" => "power_w",
        "joules" => "energy_j",
        other => other,
    }
}

/// Above this share of lost packets, in percent, a latency says too little: the slowest packets are those that never came.
pub const MAX_LOST_PERCENT: f64 = 1.0;

/// Losses that differ by less, in percentage points, count as equal: zero is their usual value, and of zero there is no share.
pub const LOSS_MARGIN_PERCENT: f64 = 0.5;

/// Whether a metric is a share of packets that were lost: `lost_percent`, `reverse_lost_percent`.
#[must_use]
pub fn is_loss(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|name| name.ends_with("lost_percent"))
}

/// The unit a name ends in, before the site it may be of, as people write it (`rate_mbit_s` → `Mbit/s`); empty when it names
/// none.
#[must_use]
pub fn unit_of(name: &str) -> &'static str {
    const UNITS: [(&str, &str); 63] = [
        ("_kbit_s", "kbit/s"),
        ("_mbit_s", "Mbit/s"),
        ("_gbit_s", "Gbit/s"),
        ("_bit_s", "bit/s"),
        ("_kb_s", "kB/s"),
        ("_kib_s", "KiB/s"),
        ("_mb_s", "MB/s"),
        ("_mib_s", "MiB/s"),
        ("_gb_s", "GB/s"),
        ("_gib_s", "GiB/s"),
        ("_bytes_s", "B/s"),
        ("_bit_per_s", "bit/s"),
        ("_kbit_per_s", "kbit/s"),
        ("_mbit_per_s", "Mbit/s"),
        ("_gbit_per_s", "Gbit/s"),
        ("_bytes_per_s", "B/s"),
        ("_kb_per_s", "kB/s"),
        ("_mb_per_s", "MB/s"),
        ("_mib_per_s", "MiB/s"),
        ("_gb_per_s", "GB/s"),
        ("_per_s", "1/s"),
        ("_per_joule", "1/J"),
        ("_per_j", "1/J"),
        ("_per_w", "1/W"),
        ("_percent", "%"),
        ("_bytes", "B"),
        ("_kb", "kB"),
        ("_mb", "MB"),
        ("_gb", "GB"),
        ("_kib", "KiB"),
        ("_mib", "MiB"),
        ("_gib", "GiB"),
        ("_ghz", "GHz"),
        ("_khz", "kHz"),
        ("_mhz", "MHz"),
        ("_hz", "Hz"),
        ("_nsec", "ns"),
        ("_usec", "us"),
        ("_msec", "ms"),
        ("_sec", "s"),
        ("_ns", "ns"),
        ("_us", "us"),
        ("_ms", "ms"),
        ("_hours", "h"),
        ("_h", "h"),
        ("_uw", "uW"),
        ("_mw", "mW"),
        ("_kw", "kW"),
        ("_w", "W"),
        ("_uj", "uJ"),
        ("_mj", "mJ"),
        ("_kj", "kJ"),
        ("_wh", "Wh"),
        ("_kwh", "kWh"),
        ("_j", "J"),
        ("_s", "s"),
        ("_c", "°C"),
        ("_nanoseconds", "ns"),
        ("_microseconds", "us"),
        ("_milliseconds", "ms"),
        ("_seconds", "s"),
        ("_joules", "J"),
        ("_watts", "W"),
    ];
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    // A column that is called by nothing but its unit.
    let is_whole = |suffix: &str| suffix.len() > 2 && name == &suffix[1..];
    let unit = UNITS.iter().find(|(suffix, _)| name.ends_with(suffix) || is_whole(suffix));
    unit.map_or("", |(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_come_from_names() {
        assert_eq!(unit_of("rate_mbit_s"), "Mbit/s");
        assert_eq!(unit_of("real_s"), "s");
        assert_eq!(unit_of("p99_us"), "us");
        assert_eq!(unit_of("count_per_s"), "1/s");
        assert_eq!(unit_of("work_per_joule"), "1/J");
        assert_eq!((unit_of("score_per_w"), unit_of("requests_per_j")), ("1/W", "1/J"));
        assert_eq!(unit_of("nic_interrupts_per_s@eth0_w"), "1/s");
        assert_eq!((unit_of("copied_mb_s"), unit_of("core_ghz")), ("MB/s", "GHz"));
        assert_eq!((unit_of("joules"), unit_of("cpu_watts"), unit_of("seconds"), unit_of("ms")), ("J", "W", "s", "ms"));
        assert_eq!((unit_of("retransmits"), unit_of("s"), unit_of("items")), ("", "", ""));
        assert_eq!(canonical_metric("watts"), "power_w");
    }
}
