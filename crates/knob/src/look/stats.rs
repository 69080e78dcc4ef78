//! `cpufreq/stats`: how long a policy stood at each step, and its changes from step to step.
use powerband_machine::Look;
use powerband_sysfs::cpufreq::time_in_state;
use serde::Serialize;

use super::seen::Seen;
use crate::Policy;

/// Time at one step.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct InState {
    /// The step, kHz.
    pub khz: u32,
    /// Time there since the statistics began, ms.
    pub time_ms: u64,
    /// Its share of the time at all steps, %; 0 while no time has passed.
    pub time_pct: f64,
}

/// How often a policy went from one step to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Transition {
    /// From, kHz.
    pub from_khz: u32,
    /// To, kHz.
    pub to_khz: u32,
    /// How often.
    pub count: u64,
}

/// What a policy's statistics tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Stats {
    /// Time at each step, in the kernel's order.
    pub time_in_state: Vec<InState>,
    /// Changes in all.
    pub total_changes: Option<u64>,
    /// Changes that happened, from step to step; absent when the kernel shows no table (it shows none that is longer
    /// than a page).
    pub changes: Option<Vec<Transition>>,
}

/// `USER_HZ`, the same on every architecture that has cpufreq.
pub(crate) const TICK_MS: u64 = 10;

impl Stats {
    /// Of times at steps, kHz and ms; the shares follow.
    pub(super) fn of_times(times: Vec<(u32, u64)>) -> Vec<InState> {
        let all: u64 = times.iter().map(|&(_, time_ms)| time_ms).sum();
        let share = |time_ms: u64| if all == 0 { 0.0 } else { time_ms as f64 * 100.0 / all as f64 };
        times.into_iter().map(|(khz, time_ms)| InState { khz, time_ms, time_pct: share(time_ms) }).collect()
    }

    /// The statistics of the policy whose folder was turned to, if its kernel keeps any.
    pub(super) fn of(seen: &mut Seen<'_>) -> Option<Stats> {
        let (path, table) = ("stats/time_in_state", "stats/trans_table");
        let text = seen.text(path);
        let times = text.as_deref().map(|text| (times(text), text.lines().count()));
        let total_changes = seen.parsed("stats/total_trans");
        let changes = seen.text(table).and_then(|text| {
            let read = changes(&text);
            if read.is_none() {
                seen.note(table, "is no table of changes");
            }
            read
        });
        if times.is_none() && total_changes.is_none() && changes.is_none() {
            return None;
        }
        let (times, lines) = times.unwrap_or_default();
        if times.len() < lines {
            seen.note(path, format!("{} of its {lines} lines are no time at a step", lines - times.len()));
        }
        Some(Stats { time_in_state: Stats::of_times(times), total_changes, changes })
    }

    /// Several policies' as one, their times and changes added up.
    #[must_use]
    pub fn sum<'s>(all: impl Iterator<Item = &'s Stats>) -> Stats {
        let mut sum = Stats::default();
        let mut times: Vec<(u32, u64)> = Vec::new();
        for one in all {
            for state in &one.time_in_state {
                match times.iter_mut().find(|(khz, _)| *khz == state.khz) {
                    Some((_, time_ms)) => *time_ms = time_ms.saturating_add(state.time_ms),
                    None => times.push((state.khz, state.time_ms)),
                }
            }
            if let Some(count) = one.total_changes {
                sum.total_changes = Some(sum.total_changes.unwrap_or(0).saturating_add(count));
            }
            for change in one.changes.iter().flatten() {
                let changes = sum.changes.get_or_insert_default();
                let same = |known: &&mut Transition| (known.from_khz, known.to_khz) == (change.from_khz, change.to_khz);
                match changes.iter_mut().find(same) {
                    Some(known) => known.count = known.count.saturating_add(change.count),
                    None => changes.push(*change),
                }
            }
            if one.changes.is_some() {
                sum.changes.get_or_insert_default();
            }
        }
        sum.time_in_state = Stats::of_times(times);
        sum
    }
}

/// How long a policy stood at each step, kHz and ms; nothing where its kernel does not count.
pub(crate) fn times_in_state(machine: &mut dyn Look, policy: &Policy) -> Vec<(u32, u64)> {
    policy.read(machine, "stats/time_in_state").map(|text| times(&text)).unwrap_or_default()
}

/// Lines of a step in kHz and its time in ticks; those that are not are left out.
fn times(text: &str) -> Vec<(u32, u64)> {
    time_in_state(text).map(|(khz, ticks)| (khz, ticks.saturating_mul(TICK_MS))).collect()
}

/// The table's rows under its second line, which names the steps; nothing when it is no such table.
fn changes(text: &str) -> Option<Vec<Transition>> {
    let mut lines = text.lines().skip(1);
    let steps: Vec<u64> = Numbers(lines.next()?.split_once(':')?.1.as_bytes()).collect::<Option<_>>()?;
    let steps: Vec<u32> = steps.into_iter().map(|khz| u32::try_from(khz).ok()).collect::<Option<_>>()?;
    let mut changes = Vec::new();
    for line in lines {
        let (from, counts) = line.split_once(':')?;
        let from_khz = from.trim().parse().ok()?;
        for (place, count) in Numbers(counts.as_bytes()).enumerate() {
            match (count?, steps.get(place)) {
                (0, _) | (_, None) => {}
                (count, Some(&to_khz)) => changes.push(Transition { from_khz, to_khz, count }),
            }
        }
    }
    Some(changes)
}

/// So many digits never are more than a number holds.
const MAX_DIGITS: usize = 19;

/// Numbers between blanks, and nothing for a word that is none, as `parse` has it but for signs: in one go, as there may be very
/// many tables.
struct Numbers<'t>(&'t [u8]);

impl Iterator for Numbers<'_> {
    type Item = Option<u64>;

    fn next(&mut self) -> Option<Option<u64>> {
        let begin = self.0.iter().position(|&byte| byte > b' ')?;
        let rest = &self.0[begin..];
        let end = rest.iter().position(|&byte| byte <= b' ').unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.0 = rest;
        if word.len() > MAX_DIGITS {
            return Some(std::str::from_utf8(word).ok().and_then(|word| word.parse().ok()));
        }
        let mut number = 0;
        for byte in word {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return Some(None);
            }
            number = number * 10 + u64::from(digit);
        }
        Some(Some(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_between_blanks_are_read_as_parse_has_them() {
        let text = " 0\t17  007 18446744073709551615 18446744073709551616 99999999999999999999 1x -1 \u{b5} 3\r";
        let parsed: Vec<Option<u64>> = text.split_ascii_whitespace().map(|word| word.parse().ok()).collect();
        assert_eq!(Numbers(text.as_bytes()).collect::<Vec<_>>(), parsed);
        assert_eq!(Numbers(b"  ").next(), None);
    }
}
