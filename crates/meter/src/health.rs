//! Telling what a machine draws from what no machine does: spikes, counters that leap, meters that die in the midst.
use crate::{CounterError, GaugeSample, Wrap};

/// More than one machine draws, W: what a gauge shows beyond is no measurement, where nothing else is known of it.
pub(crate) const ANY_MACHINE_W: u32 = 100_000;

/// A lone reading so many times all others is a spike.
const TIMES: u64 = 20;

/// Few readings in a row that show so many times the usual are spikes, too, however many such there are …
const TIMES_THE_USUAL: u64 = 100;

/// … so few.
const IN_A_ROW: usize = 3;

/// So many readings are needed to say that one stands alone.
const COMPANY: usize = 5;

/// A counter moves in steps; one step may hide so much time, us.
const STEP_US: u64 = 50_000;

/// Zones of a running machine draw something in so long, ns.
const STANDS_STILL_NS: u64 = 1_000_000_000;

/// Marks readings of a gauge, uW, that no machine draws as failed; how many those are.
pub(crate) fn reject_spikes(samples: &mut [GaugeSample], at_most_w: Option<u32>) -> usize {
    let bound_uw = u64::from(at_most_w.unwrap_or(ANY_MACHINE_W)) * 1_000_000;
    let mut spikes = 0;
    let mut reject = |sample: &mut GaugeSample, bound_uw: u64| {
        if let Ok(uw) = sample.1
            && uw > bound_uw
        {
            sample.1 = Err(format!("it showed {} W, which is no measurement", uw / 1_000_000));
            spikes += 1;
        }
    };
    samples.iter_mut().for_each(|sample| reject(sample, bound_uw));
    let mut values: Vec<u64> = samples.iter().filter_map(|(_, value)| value.as_ref().ok().copied()).collect();
    values.sort_unstable();
    if let [.., second, most] = values[..]
        && values.len() > COMPANY
        && at_most_w.is_none()
        && second > 0
        && most > second.saturating_mul(TIMES)
    {
        samples.iter_mut().for_each(|sample| reject(sample, second.saturating_mul(TIMES)));
    }
    let usual = values.get(values.len() / 2).copied().unwrap_or(0);
    if usual > 0 && values.len() > COMPANY && at_most_w.is_none() {
        let bound_uw = usual.saturating_mul(TIMES_THE_USUAL);
        let is_beyond = |sample: &GaugeSample| sample.1.as_ref().is_ok_and(|&uw| uw > bound_uw);
        // What lasts is drawn.
        for row in samples.chunk_by_mut(|a, b| is_beyond(a) == is_beyond(b)).filter(|row| row.len() <= IN_A_ROW) {
            row.iter_mut().for_each(|sample| reject(sample, bound_uw));
        }
    }
    spikes
}

/// Readings of a counter that wraps, `(at_ns, uj)`, without those in their midst that it cannot have shown, and how many
/// those were. What remains still has to make sense.
pub(crate) fn without_leaps(readings: &[(u64, u64)], wrap: Wrap) -> (Vec<(u64, u64)>, usize) {
    let Some((&first, rest)) = readings.split_first() else { return (Vec::new(), 0) };
    let mut kept = vec![first];
    let mut last = first;
    for (i, &reading) in rest.iter().enumerate() {
        let next_fits = rest.get(i + 1).is_some_and(|&next| step(last, next, wrap).is_ok());
        if step(last, reading, wrap).is_err() && next_fits {
            continue;
        }
        kept.push(reading);
        last = reading;
    }
    let rejected = readings.len() - kept.len();
    (kept, rejected)
}

/// What a counter that wraps advanced by between two readings, uJ.
pub(crate) fn step(
    (earlier_ns, from): (u64, u64),
    (later_ns, to): (u64, u64),
    wrap: Wrap,
) -> Result<u64, CounterError> {
    if let Some(&reading) = [from, to].iter().find(|&&reading| reading > wrap.at_uj) {
        return Err(CounterError::BeyondRange { reading, at: wrap.at_uj });
    }
    let elapsed_ns = later_ns.saturating_sub(earlier_ns);
    if elapsed_ns >= wrap.shortest_ns() {
        return Err(CounterError::Unseen { passed_ns: elapsed_ns });
    }
    let uj = if to >= from { to - from } else { wrap.at_uj - from + to + 1 };
    let most_uj = (elapsed_ns / 1_000).saturating_add(STEP_US).saturating_mul(wrap.at_most_w.into());
    if uj > most_uj {
        return Err(CounterError::Leapt {
            joules: uj / 1_000_000,
            ms: elapsed_ns / 1_000_000,
            at_most_w: wrap.at_most_w,
        });
    }
    Ok(uj)
}

/// For how long a counter stood still at least, in a stretch that is long enough to tell, though it moved at other times, ns.
pub(crate) fn stood_still_ns(readings: &[(u64, u64)]) -> Option<u64> {
    let moved = readings.windows(2).any(|pair| pair[0].1 != pair[1].1);
    let still = readings.chunk_by(|a, b| a.1 == b.1).map(|run| run[run.len() - 1].0.saturating_sub(run[0].0)).max()?;
    (moved && still >= STANDS_STILL_NS).then_some(still)
}

/// Since how many readings a gauge that showed something has shown 0.
pub(crate) fn died_for(samples: &[GaugeSample]) -> Option<usize> {
    let values: Vec<u64> = samples.iter().filter_map(|(_, value)| value.as_ref().ok().copied()).collect();
    let zeros = values.iter().rev().take_while(|&&value| value == 0).count();
    (zeros >= 2 && zeros < values.len()).then_some(zeros)
}

/// For how many readings at its end a gauge that moved before has shown one number, if that is a good part of them.
pub(crate) fn stuck_for(samples: &[GaugeSample]) -> Option<usize> {
    let values: Vec<u64> = samples.iter().filter_map(|(_, value)| value.as_ref().ok().copied()).collect();
    let last = *values.last()?;
    let same = values.iter().rev().take_while(|&&value| value == last).count();
    let changes = values[..values.len() - same].windows(2).filter(|pair| pair[0] != pair[1]).count();
    (same >= 10 && same * 3 >= values.len() && changes * 2 > values.len() - same).then_some(same)
}

#[cfg(test)]
mod tests;
