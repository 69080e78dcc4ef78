//! The counting loop: how often a counter can be raised and the time of day be read until the time is up.
use std::hint::black_box;

use rustix::time::ClockId;
use serde_json::{Value, json};

use super::{Failure, now_ns};

const SECOND_NS: u64 = 1_000_000_000;

/// Every so many rounds a clock that nobody can set is looked at.
const CHECK_EVERY: u64 = 1 << 20;

/// Counts for `for_ns` of wall time; reports `count` and `seconds`, measured by a clock that cannot be set.
pub(super) fn count(for_ns: u64, align_to_second: bool) -> Result<Value, Failure> {
    let begin_ns = now_ns(ClockId::Monotonic);
    if align_to_second {
        let second = now_ns(ClockId::Realtime) / SECOND_NS;
        while now_ns(ClockId::Realtime) / SECOND_NS == second {
            if now_ns(ClockId::Monotonic) - begin_ns > 2 * SECOND_NS {
                return Err(Failure::Clock);
            }
        }
    }
    let started_ns = now_ns(ClockId::Monotonic);
    let latest_ns = started_ns.saturating_add(for_ns).saturating_add(2 * SECOND_NS);
    let until_ns = now_ns(ClockId::Realtime).saturating_add(for_ns);
    let mut count: u64 = 0;
    while now_ns(ClockId::Realtime) < until_ns {
        count = black_box(count + 1);
        if count.is_multiple_of(CHECK_EVERY) && now_ns(ClockId::Monotonic) > latest_ns {
            return Err(Failure::Clock);
        }
    }
    let seconds = (now_ns(ClockId::Monotonic) - started_ns) as f64 / 1e9;
    Ok(json!({ "count": count, "seconds": seconds }))
}
