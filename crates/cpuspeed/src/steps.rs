//! Which clocks there are to go through, found by asking for them.

/// By how much two clocks asked for differ at first, kHz.
const ASKED_APART_KHZ: u32 = 25_000;

/// With more clocks than this, those asked for are taken twice as far apart.
const MAX_STEPS: usize = 15;

/// The clocks between `lowest_khz` and `highest_khz`, fastest first: each clock that is asked for, from the top downwards,
/// is set, and what it came to is what `set` answers (`None` where it was refused).
pub fn discover(lowest_khz: u32, highest_khz: u32, mut set: impl FnMut(u32) -> Option<u32>) -> Vec<u32> {
    let mut apart_khz = ASKED_APART_KHZ;
    loop {
        let mut found = Vec::new();
        let mut asked_khz = highest_khz;
        while asked_khz >= lowest_khz {
            found.extend(set(asked_khz).filter(|khz| *khz > 0));
            let Some(next) = asked_khz.checked_sub(apart_khz) else { break };
            asked_khz = next;
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.dedup();
        if found.len() <= MAX_STEPS {
            return found;
        }
        apart_khz = apart_khz.saturating_mul(2);
    }
}

/// The clocks the daemon finds between two limits where the driver lists its clocks: of each that is asked for, the governor
/// userspace makes the lowest of the list that is not below it. A driver without a list takes every clock.
#[must_use]
pub fn discover_listed(listed_khz: &[u32], lowest_khz: u32, highest_khz: u32) -> Vec<u32> {
    let within_limits = || listed_khz.iter().copied().filter(|khz| (lowest_khz..=highest_khz).contains(khz));
    discover(lowest_khz, highest_khz, |asked| match listed_khz {
        [] => Some(asked),
        _ => within_limits().filter(|khz| *khz >= asked).min().or_else(|| within_limits().max()),
    })
}

/// Those of the clocks that lie between the two speeds that options may name.
#[must_use]
pub fn within(steps_khz: &[u32], min_khz: Option<u32>, max_khz: Option<u32>) -> Vec<u32> {
    let fits = |khz: &u32| min_khz.is_none_or(|min| *khz >= min) && max_khz.is_none_or(|max| *khz <= max);
    steps_khz.iter().copied().filter(fits).collect()
}
