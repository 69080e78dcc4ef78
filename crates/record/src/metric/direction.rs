//! Which way is better, as far as a metric's name shows it: by whole words, never by a part of one (`operate` is no rate).
use serde::{Deserialize, Serialize};

use super::Better;

/// How it is known which way of a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DirectionSource {
    /// The user said so.
    Stated,
    /// The load, the meter or the figure that measures it.
    Measured,
    /// A word of its name.
    Name,
    /// Nothing: it is guessed that less is better.
    Guessed,
}

/// Bad in themselves: fewer are better, by the second too.
const BAD: &[&str] = &[
    "abort",
    "collision",
    "conflict",
    "crash",
    "discharge",
    "drain",
    "drop",
    "dropped",
    "error",
    "eviction",
    "fail",
    "failed",
    "failure",
    "fault",
    "gc",
    "interrupt",
    "jitter",
    "lag",
    "leak",
    "loss",
    "lost",
    "migration",
    "mispredict",
    "misprediction",
    "miss",
    "missed",
    "overhead",
    "preemption",
    "reject",
    "rejected",
    "retransmission",
    "retransmit",
    "retries",
    "retry",
    "stall",
    "stalled",
    "swap",
    "switch",
    "switches",
    "throttle",
    "timeout",
    "wait",
    "waiting",
    "wakeup",
];
/// Work done, and what it is counted in.
const GOOD: &[&str] = &[
    "accuracy",
    "bitrate",
    "bogomips",
    "bops",
    "bps",
    "bw",
    "event",
    "flops",
    "fps",
    "frame",
    "gbps",
    "gflops",
    "hashrate",
    "hit",
    "iops",
    "ipc",
    "iteration",
    "kbps",
    "kiops",
    "mbps",
    "mflops",
    "mips",
    "op",
    "operation",
    "ops",
    "performance",
    "pps",
    "qps",
    "queries",
    "query",
    "rate",
    "recall",
    "request",
    "rps",
    "score",
    "speed",
    "tflops",
    "token",
    "tps",
    "transaction",
    "work",
];
/// What it takes.
const COST: &[&str] = &[
    "cost",
    "cycle",
    "delay",
    "duration",
    "elapsed",
    "energy",
    "eur",
    "latencies",
    "latency",
    "memory",
    "power",
    "price",
    "rss",
    "rtt",
    "runtime",
    "temp",
    "temperature",
    "time",
    "usd",
    "wattage",
];
/// Units of time, energy and power.
const UNITS: &[&str] = &[
    "h",
    "hour",
    "j",
    "joule",
    "kj",
    "kwh",
    "kw",
    "m",
    "microsecond",
    "millisecond",
    "min",
    "minute",
    "mj",
    "ms",
    "msec",
    "mw",
    "nanosecond",
    "ns",
    "nsec",
    "s",
    "sec",
    "second",
    "uj",
    "us",
    "usec",
    "uw",
    "w",
    "watt",
    "wh",
];
/// What turns the meaning of the other words around, as a battery's life is a time: nothing is known then.
const UNCLEAR: &[&str] =
    &["battery", "between", "free", "left", "life", "lifetime", "mtbf", "remaining", "saved", "saving", "uptime"];
/// Good, whatever it is the throughput or the efficiency of.
const ALWAYS_GOOD: &[&str] = &["bandwidth", "efficiency", "goodput", "speedup", "throughput"];
/// What is counted, shortened: by the second, or the time it takes, where a second follows.
const COUNTED: &[&str] = &["img", "msg", "pkt", "req", "tok", "txn"];
/// Which of several values it is; `min` is no minute there.
const STATISTICS: &[&str] = &["avg", "max", "mean", "median", "min", "stddev", "total"];
/// What is moved: by the second, where a second follows.
const AMOUNTS: &[&str] =
    &["b", "bit", "byte", "gb", "gbit", "gib", "kb", "kbit", "kib", "mb", "mbit", "mib", "tb", "tbit", "tib"];

/// What names a machine in front of a metric.
const SIDES: [&str; 4] = ["near/", "far/", "both/", "all/"];

fn is_in(words: &[&str], word: &str) -> bool {
    let stems = [Some(word), word.strip_suffix('s'), word.strip_suffix("es")];
    stems.into_iter().flatten().any(|stem| words.contains(&stem))
}

/// Whether it is work done, or thousands or millions of it: `kops`.
fn is_good(word: &str) -> bool {
    let thousands = word.strip_prefix(['k', 'm', 'g']).filter(|rest| rest.len() > 2);
    [Some(word), thousands].into_iter().flatten().any(|word| is_in(GOOD, word) || is_in(ALWAYS_GOOD, word))
}

/// Which way is better of a metric of this name; `None` where no word of it shows that, or two contradict each other.
///
/// What is bad in itself is better low. Of one thing by another the two words decide: work by the second or by the joule is
/// better high, a time or an energy for each of something low. A time in its unit is one, whatever it is the time of.
#[must_use]
pub fn direction_of(name: &str) -> Option<Better> {
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    let side = SIDES.into_iter().find_map(|side| name.strip_prefix(side));
    let name = side.unwrap_or(name).to_lowercase().replace('/', "_per_");
    let mut words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    if words == ["count"] {
        return Some(Better::Higher);
    }
    words.pop_if(|word| STATISTICS.contains(word));
    let any = |words: &[&str], of: &[&str]| words.iter().any(|word| is_in(of, word));
    let per = words.iter().rposition(|word| *word == "per").filter(|at| *at > 0);
    let (over, under) = (&words[..per.unwrap_or(words.len())], &words[per.map_or(words.len(), |at| at + 1)..]);
    if any(&words, UNCLEAR) {
        return None;
    }
    let ends_in = |last: &[&str], before: &dyn Fn(&str) -> bool| match over {
        [.., before_last, end] => is_in(last, end) && before(before_last),
        _ => false,
    };
    let moved = ends_in(UNITS, &|word| is_in(AMOUNTS, word));
    let always_good = any(over, ALWAYS_GOOD);
    if any(over, BAD) {
        return (!always_good && !moved).then_some(Better::Lower);
    }
    let (is_good, is_cost) = (over.iter().any(|word| is_good(word)), any(over, COST) && !always_good);
    let in_unit = over.last().is_some_and(|word| is_in(UNITS, word));
    if per.is_some() {
        let by_unit = under.first().is_some_and(|word| is_in(UNITS, word));
        let by_cost = by_unit || under.first().is_some_and(|word| is_in(COST, word));
        return match (is_good, is_cost || in_unit) {
            (true, true) => None,
            // Of a unit by another, such as m/s and h/s, the units do not say what is counted.
            (false, true) => (is_cost || !by_unit).then_some(Better::Lower),
            (good, false) => (good || by_cost).then_some(Better::Higher),
        };
    }
    if moved {
        return Some(Better::Higher);
    }
    // Many of something and a second are a rate, or the time that they take.
    let is_plural =
        |word: &str| word.ends_with('s') && !["ss", "us", "is", "sys"].iter().any(|end| word.ends_with(end));
    let several = |word: &str| is_in(COUNTED, word) || word.len() > 2 && is_plural(word);
    if !is_cost && ends_in(&["s", "sec", "second"], &several) {
        return None;
    }
    match (is_good, is_cost, in_unit) {
        (true, false, false) => Some(Better::Higher),
        (_, true, true) | (false, true, _) | (false, _, true) => Some(Better::Lower),
        (true, ..) | (false, false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_of_a_name_say_which_way_is_better() {
        let high = "throughput rate ops ipc score fps hits bandwidth tokens_per_s qps iops requests_per_s rate_mbit_s \
            copied_mb_s work_per_joule score_per_w count instructions_per_cycle MB/s ops/sec tx_bytes_per_s hit_rate \
            packets_per_interrupt@eth0 queries_per_s hash_per_w \
            bw_min mem_bw memory_bandwidth memory_throughput bitrate kpps mpps energy_efficiency recall hashrate fps_min kops";
        let low = "time latency p99_us delay misses watts joules errors faults error_rate errors_per_s cache_misses \
            time_per_op ns/op sys_s process_s joules_per_request real_s seconds ms energy_j far/power_w lost_percent ops_time_ms \
            wait_time retries worker_latency retransmits discharge_rate drain_rate wakeups_per_s interrupts_per_s context_switch_rate \
            wakeup_count gc_rate event_loop_lag branch_misprediction_rate eviction_rate evictions_per_s crash_rate swap_rate \
            preemption_rate cpu_migrations_per_s usd_per_hour";
        let unknown = "operate_x workers iterate scored value x busy_percent temporary deliberate timely p99 packets time_to_first_token \
            latency_of_requests delay_between_events energy_of_work battery_life_h runtime_on_battery ops_s requests_s tok_s_x \
            throughput_s uptime_s mtbf_h energy_saved_j free_memory speed_m/s \
            kops_s mops_s req_sec reqs_sec images_s samples_s rows_s packets_s h/s gc_throughput switch_mbit_s mhz_min \
            mean_time_between_failures_h tok_s instruction_count alloc_count";
        let all = [(high, Some(Better::Higher)), (low, Some(Better::Lower)), (unknown, None)];
        for (names, wanted) in all {
            for name in names.split_whitespace().filter(|name| !name.starts_with("packets_per")) {
                assert_eq!(direction_of(name), wanted, "{name}");
            }
        }
    }
}
