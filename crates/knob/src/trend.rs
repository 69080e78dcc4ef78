//! What is known of a knob before anything is measured: which way power and times move with it, and the order of its words.
//! For a search, to which these are beliefs that measuring overrules.

/// Which way what is measured moves as a knob's value rises: 1 is steeply up, 0.3 a little, 0 not known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Watts under a given load.
    pub power: f64,
    /// Times: of a piece of work, and tails of latency.
    pub time: f64,
}

/// Nothing is known.
const UNKNOWN: Trend = Trend { power: 0.0, time: 0.0 };

/// More speed takes more power and less time.
const SPEED: Trend = Trend { power: 1.0, time: -1.0 };
/// What waits together wakes a CPU less often.
const WAITING: Trend = Trend { power: -0.3, time: 1.0 };
/// A limit of power acts where it is reached.
const CAP: Trend = Trend { power: 0.3, time: -0.3 };
/// Deeper sleep is allowed: it saves, and takes time to wake from.
const SLEEP: Trend = Trend { power: -0.3, time: 0.3 };
/// Less sleep is allowed.
const WAKE: Trend = Trend { power: 0.3, time: -0.3 };

/// By canonical name. Signs come from what each knob does ([`crate::MeterAbout::doc`]); sizes are in steps of how sure that is.
const TABLE: &[(&str, Trend)] = &[
    ("cpufreq.freq", SPEED),
    ("cpufreq.max_freq", SPEED),
    ("pstate.max_perf_pct", SPEED),
    ("cgroup.cpu_quota", SPEED),
    ("nic.rx-usecs", WAITING),
    ("nic.rx-frames", WAITING),
    ("powercap.power_limit_uw", CAP),
    ("cpuidle.disable", WAKE),
    ("pmqos.cpu_dma_latency", SLEEP),
    ("pmqos.resume_latency_us", SLEEP),
    ("cpufreq.epp", SLEEP),
    ("cpufreq.epb", SLEEP),
];

/// Words that stand in an order, from speed to saving.
const ORDERS: &[(&str, &[&str])] = &[
    ("cpufreq.epp", &["performance", "balance_performance", "balance_power", "power"]),
    ("cpufreq.epb", &["performance", "balance-performance", "normal", "balance-power", "power"]),
];

/// What is known of a knob, by its canonical name.
#[must_use]
pub fn trend(name: &str) -> Trend {
    TABLE.iter().find(|(known, _)| *known == name).map_or(UNKNOWN, |(_, trend)| *trend)
}

/// The place of a word among a knob's words, where these stand in an order.
#[must_use]
pub fn place_of_word(name: &str, word: &str) -> Option<usize> {
    let (_, words) = ORDERS.iter().find(|(known, _)| *known == name)?;
    words.iter().position(|known| known.eq_ignore_ascii_case(word.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::ALL;

    #[test]
    fn every_name_is_a_knob_of_the_catalogue() {
        let names = TABLE.iter().map(|(name, _)| name).chain(ORDERS.iter().map(|(name, _)| name));
        for name in names {
            assert!(ALL.iter().any(|knob| knob.about().name == *name), "there is no knob {name}");
        }
    }

    #[test]
    fn speed_costs_power_and_words_have_their_order() {
        assert!(trend("cpufreq.max_freq").power > 0.0 && trend("cpufreq.max_freq").time < 0.0);
        assert!(trend("nic.rx-usecs").time > 0.0);
        assert_eq!(trend("cpufreq.governor"), UNKNOWN);
        assert_eq!(place_of_word("cpufreq.epp", "balance_power"), Some(2));
        assert_eq!(place_of_word("cpufreq.governor", "ondemand"), None);
    }
}
