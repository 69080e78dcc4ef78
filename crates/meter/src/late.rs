//! Meters whose numbers come late: what is to be read after a load has ended, and the readings restored to when they were
//! true.
use crate::counter::CounterError;
use crate::health::{reject_spikes, step};
use crate::{GaugeSample, Kind, MeterInstance, Window, Wrap};

/// Late meters are read so often, ns.
pub(crate) const PERIOD_NS: u64 = 100_000_000;

impl MeterInstance {
    /// The same meter with numbers that are known to come so late, ns: where it is read, its readings are restored by that.
    #[must_use]
    pub fn with_lag(mut self, lag_ns: u64) -> MeterInstance {
        self.parts.iter_mut().for_each(|part| part.lag_ns = Some(lag_ns));
        self.lag_ns = Some(lag_ns);
        self
    }

    /// How long after a moment it shows what was then, ns; `None` where its numbers are taken as they come. A mean stands
    /// for the interval before it and is shown for as long again, a number of a moment is shown until the next.
    #[must_use]
    pub fn shift_ns(&self) -> Option<u64> {
        let held_ns = match self.kind {
            Kind::Gauge { interval_ns, window: Window::Before } => interval_ns,
            Kind::Gauge { interval_ns, window: Window::Instant } => interval_ns / 2,
            Kind::Counter { .. } => 0,
        };
        self.lag_ns.map(|lag_ns| lag_ns.saturating_add(held_ns)).filter(|&shift_ns| shift_ns > 0)
    }

    /// For how long it is to be read after a load has ended, ns.
    #[must_use]
    pub fn linger_ns(&self) -> u64 {
        let shifts = self.read().iter().filter_map(MeterInstance::shift_ns);
        shifts.max().map_or(0, |shift_ns| shift_ns.saturating_add(2 * PERIOD_NS))
    }
}

/// Readings by when they were true.
pub(crate) fn put_back(samples: &mut [GaugeSample], shift_ns: u64) {
    samples.iter_mut().for_each(|sample| sample.0 = sample.0.saturating_sub(shift_ns));
}

/// Whether readings reach to the end of a stretch, or why not.
pub(crate) fn reach(samples: &[GaugeSample], end_ns: u64, shift_ns: u64) -> Result<(), String> {
    let reached = samples.last().is_some_and(|last| last.0 >= end_ns);
    let late_ms = shift_ns / 1_000_000;
    if reached { Ok(()) } else { Err(format!("its numbers come {late_ms} ms late, and it was not read for so long")) }
}

/// Rejects the spikes of a gauge that is read more often than it makes numbers: one that is shown for a while counts once.
pub(crate) fn reject_held_spikes(samples: &mut [GaugeSample], at_most_w: Option<u32>) -> usize {
    let mut shown: Vec<GaugeSample> = Vec::new();
    let places: Vec<usize> = samples
        .iter()
        .map(|sample| {
            if shown.last().is_none_or(|last| last.1 != sample.1) {
                shown.push(sample.clone());
            }
            shown.len() - 1
        })
        .collect();
    let spikes = reject_spikes(&mut shown, at_most_w);
    for (sample, place) in samples.iter_mut().zip(places) {
        sample.1.clone_from(&shown[place].1);
    }
    spikes
}

/// What a gauge showed within a stretch, with what it showed at its ends, between the readings around them.
pub(crate) fn within(samples: &[GaugeSample], (start_ns, end_ns): (u64, u64)) -> Vec<GaugeSample> {
    let mut good: Vec<(u64, u64)> =
        samples.iter().filter_map(|(at, value)| Some((*at, *value.as_ref().ok()?))).collect();
    good.dedup_by_key(|reading| reading.0);
    let ends = [start_ns, end_ns].map(|at_ns| between(&good, at_ns).map(|value| (at_ns, Ok(value as u64))));
    let [first, last] = ends;
    let inside = samples.iter().filter(|(at, _)| *at > start_ns && *at < end_ns).cloned();
    first.into_iter().chain(inside).chain(last).collect()
}

/// What a counter advanced by within a stretch, uJ, evenly between the readings around its ends.
pub(crate) fn advance_within(
    readings: &[(u64, u64)],
    wrap: Option<Wrap>,
    (start_ns, end_ns): (u64, u64),
) -> Result<f64, CounterError> {
    let mut total = 0_u64;
    let mut counted = Vec::new();
    for (place, &reading) in readings.iter().enumerate() {
        if let Some(&before) = place.checked_sub(1).and_then(|before| readings.get(before)) {
            total += match wrap {
                Some(wrap) => step(before, reading, wrap)?,
                None => {
                    reading.1.checked_sub(before.1).ok_or(CounterError::WentBack { from: before.1, to: reading.1 })?
                }
            };
        }
        counted.push((reading.0, total));
    }
    let too_few = CounterError::TooFew(readings.len());
    let (from, to) = (between(&counted, start_ns), between(&counted, end_ns));
    from.zip(to).map(|(from, to)| to - from).ok_or(too_few)
}

/// A value at a time, on the line between the readings around it.
fn between(readings: &[(u64, u64)], at_ns: u64) -> Option<f64> {
    let after = readings.iter().position(|reading| reading.0 >= at_ns)?;
    let (later, earlier) = (readings[after], readings[after.saturating_sub(1)]);
    if later.0 == at_ns {
        return Some(later.1 as f64);
    }
    let share = (at_ns.checked_sub(earlier.0)?) as f64 / (later.0 - earlier.0) as f64;
    Some(earlier.1 as f64 + share * (later.1 as f64 - earlier.1 as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_counter_is_cut_where_the_stretch_ends_wraps_included() {
        let wrap = Some(Wrap { at_uj: 99_999_999, at_most_w: 100 });
        let readings: Vec<(u64, u64)> = (0..20).map(|s| (s * S / 2, (s * 10_000_000) % 100_000_000)).collect();
        assert_eq!(advance_within(&readings, wrap, (S / 4, 9 * S + S / 4)), Ok(180_000_000.0));
        assert_eq!(advance_within(&readings, None, (0, S)), Err(CounterError::WentBack { from: 90_000_000, to: 0 }));
        assert_eq!(advance_within(&readings[..9], None, (S, 9 * S)), Err(CounterError::TooFew(9)));
    }

    #[test]
    fn a_gauge_is_cut_where_the_stretch_ends() {
        let samples: Vec<GaugeSample> = (0..5).map(|s| (s * S, Ok(s * 10))).collect();
        let cut = within(&samples, (S / 2, 3 * S));
        assert_eq!(cut, [(S / 2, Ok(5)), (S, Ok(10)), (2 * S, Ok(20)), (3 * S, Ok(30))]);
    }

    #[test]
    fn a_spike_that_is_shown_for_a_while_counts_once() {
        let all = [50, 50, 51, 51, 90_000, 90_000, 52, 52, 53, 53, 54, 54];
        let mut samples: Vec<GaugeSample> = (0..).zip(all).map(|(s, watts)| (s * S, Ok(watts * 1_000_000))).collect();
        assert_eq!(reject_held_spikes(&mut samples, None), 1);
        assert!(samples[4].1.is_err() && samples[5].1.is_err() && samples[6].1.is_ok());
    }
}
