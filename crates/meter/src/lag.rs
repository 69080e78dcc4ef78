//! How late a meter shows what was: from its readings while a load went on and off.
use thiserror::Error;

use crate::health::without_leaps;
use crate::late::reject_held_spikes;
use crate::{GaugeSample, Kind, MeterInstance};

/// When the load of [`Wave`] is on, ns from its beginning: stretches of different lengths, so that only one delay fits, and
/// none before the latest meter shows what idling is.
const ON_NS: [(u64, u64); 3] =
    [(12_000_000_000, 16_000_000_000), (19_000_000_000, 21_000_000_000), (27_000_000_000, 33_000_000_000)];

/// Readings before this much ahead of the load may show what was before all this, ns.
const AHEAD_NS: u64 = 2_000_000_000;

/// Steps of the search, ns.
const STEP_NS: u64 = 50_000_000;

/// A meter that is no closer to the load than this does not show it (correlation).
const FOLLOWS: f64 = 0.8;

/// A load that goes on and off.
#[derive(Clone, Copy, Debug)]
pub struct Wave;

impl Wave {
    /// The longest delay that is told, ns.
    pub const MAX_NS: u64 = 10_000_000_000;

    /// When the load is to be on, ns from the beginning.
    #[must_use]
    pub fn on_ns() -> &'static [(u64, u64)] {
        &ON_NS
    }

    /// How long the meter is to be read, ns from the beginning.
    #[must_use]
    pub fn length_ns() -> u64 {
        ON_NS[ON_NS.len() - 1].1 + Wave::MAX_NS + 2_000_000_000
    }
}

/// Why no delay could be told.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum LagError {
    /// It cannot be read.
    #[error("it could not be read: {0}")]
    ReadFailure(String),
    /// Its numbers have nothing to do with the load.
    #[error("its numbers do not follow the load within {} s (correlation {correlation:.2})", Wave::MAX_NS / 1_000_000_000)]
    DoesNotFollow {
        /// How closely they do at best, -1..1.
        correlation: f64,
    },
}

/// How late `meter` shows what was, ns, by what it showed while the load of the wave that began at `began_ns` was on at `on`
/// (from, until). Beyond what its own interval and window explain.
///
/// # Errors
/// [`LagError`] when its readings do not tell.
pub fn lag_ns(meter: &MeterInstance, samples: &[GaugeSample], on: &[(u64, u64)]) -> Result<u64, LagError> {
    let ahead_ns = on.first().map_or(0, |(from, _)| from.saturating_sub(AHEAD_NS));
    let power = power(meter, samples.iter().filter(|sample| sample.0 >= ahead_ns))?;
    let (mut best_ns, mut closest) = (0, f64::NEG_INFINITY);
    for delay_ns in (0..=Wave::MAX_NS).step_by(STEP_NS as usize) {
        let close = correlation(power.iter().map(|&(at, watts)| (watts, is_on(on, at.saturating_sub(delay_ns)))));
        if close > closest {
            (best_ns, closest) = (delay_ns, close);
        }
    }
    if closest.is_nan() || closest < FOLLOWS {
        return Err(LagError::DoesNotFollow { correlation: closest.max(-1.0) });
    }
    let shift_ns = meter.clone().with_lag(0).shift_ns().unwrap_or(0);
    // What correlates best is right but for a part of the interval; where the energy lies is right however edges fall.
    let near_ns = 2 * shift_ns + 4 * STEP_NS;
    let delay_ns = centre_delay_ns(&power, on).filter(|ns| ns.abs_diff(best_ns) <= near_ns).unwrap_or(best_ns);
    Ok(delay_ns.saturating_sub(shift_ns))
}

/// Watts by time: what a gauge showed, and of a counter its slope.
fn power<'a>(
    meter: &MeterInstance,
    samples: impl Iterator<Item = &'a GaugeSample>,
) -> Result<Vec<(u64, f64)>, LagError> {
    let mut samples: Vec<GaugeSample> = samples.cloned().collect();
    if let Some(why) = samples.iter().find_map(|sample| sample.1.as_ref().err()) {
        return Err(LagError::ReadFailure(why.clone()));
    }
    let good = |samples: &[GaugeSample]| -> Vec<(u64, u64)> {
        samples.iter().filter_map(|(at, value)| Some((*at, *value.as_ref().ok()?))).collect()
    };
    let wrap = match meter.kind {
        Kind::Gauge { .. } => {
            reject_held_spikes(&mut samples, meter.at_most_w);
            return Ok(good(&samples).into_iter().map(|(at, uw)| (at, uw as f64 * 1e-6)).collect());
        }
        Kind::Counter { wrap } => wrap,
    };
    let readings = good(&samples);
    let readings = wrap.map_or_else(|| readings.clone(), |wrap| without_leaps(&readings, wrap).0);
    let slope = |pair: &[(u64, u64)]| {
        let uj = crate::advance_uj(pair, wrap).map_err(|error| LagError::ReadFailure(error.to_string()))?;
        Ok((u64::midpoint(pair[0].0, pair[1].0), uj as f64 * 1e3 / (pair[1].0 - pair[0].0).max(1) as f64))
    };
    readings.windows(2).map(slope).collect()
}

fn is_on(on: &[(u64, u64)], at_ns: u64) -> f64 {
    f64::from(u8::from(on.iter().any(|(from, until)| (*from..*until).contains(&at_ns))))
}

fn correlation(pairs: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let n = pairs.clone().count() as f64;
    let mean = |of: fn((f64, f64)) -> f64| pairs.clone().map(of).sum::<f64>() / n;
    let (mx, my) = (mean(|it| it.0), mean(|it| it.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| pairs.clone().map(|(x, y)| of(x - mx, y - my)).sum::<f64>();
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

/// How far the centre of what was drawn beyond idling lies behind the centre of the load, ns.
fn centre_delay_ns(power: &[(u64, f64)], on: &[(u64, u64)]) -> Option<u64> {
    let first_on = on.first()?.0;
    let before: Vec<f64> = power.iter().filter(|(at, _)| *at <= first_on).map(|(_, watts)| *watts).collect();
    let idle = before.iter().sum::<f64>() / before.len().max(1) as f64;
    let (mut weight, mut moment) = (0.0, 0.0);
    for pair in power.windows(2) {
        let extra = (pair[0].1 + pair[1].1) / 2.0 - idle;
        let (time, middle) = ((pair[1].0 - pair[0].0) as f64, u64::midpoint(pair[0].0, pair[1].0) as f64);
        weight += extra * time;
        moment += extra * time * middle;
    }
    let length: f64 = on.iter().map(|(from, until)| (until - from) as f64).sum();
    let centre: f64 =
        on.iter().map(|(from, until)| (until - from) as f64 * u64::midpoint(*from, *until) as f64).sum::<f64>()
            / length;
    let delay = moment / weight - centre;
    (weight > 0.0 && delay.is_finite()).then_some(delay.max(0.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Window;

    const S: u64 = 1_000_000_000;

    /// What a gauge shows that averages over `interval_ns`, so late and with updates at `phase_ns`.
    fn gauge(interval_ns: u64, late_ns: u64, phase_ns: u64) -> (MeterInstance, Vec<GaugeSample>, Vec<(u64, u64)>) {
        let began = 20 * S;
        let on: Vec<(u64, u64)> = Wave::on_ns().iter().map(|(from, until)| (began + from, began + until)).collect();
        let show = |at: u64| {
            // Whatever went on before.
            if at < began + late_ns + interval_ns {
                return Ok(0);
            }
            let end = (at - late_ns - phase_ns) / interval_ns * interval_ns + phase_ns;
            let busy: u64 =
                on.iter().map(|(from, until)| end.min(*until).saturating_sub((end - interval_ns).max(*from))).sum();
            Ok(5_000_000 + 20_000_000 * busy / interval_ns)
        };
        let samples = (0..=Wave::length_ns() / STEP_NS).map(|i| began + i * STEP_NS).map(|at| (at, show(at))).collect();
        let kind = Kind::Gauge { interval_ns, window: Window::Before };
        (MeterInstance::new("hwmon", "x".into(), "/x".into(), kind), samples, on)
    }

    #[test]
    fn a_delay_is_found_wherever_the_updates_fall() {
        for (interval_ns, late_ns) in [(S, 3 * S), (S, 0), (S / 10, 3 * S), (2 * S, 7 * S)] {
            for phase_ns in [0, 123_000_000, S / 2, 900_000_000] {
                let (meter, samples, on) = gauge(interval_ns, late_ns, phase_ns);
                let found = lag_ns(&meter, &samples, &on).unwrap();
                assert!(found.abs_diff(late_ns) <= STEP_NS, "{interval_ns} {late_ns} {phase_ns}: {found}");
            }
        }
    }

    #[test]
    fn spikes_do_not_hide_a_delay() {
        let (meter, mut samples, on) = gauge(S / 10, 3 * S, 0);
        // Two looks fall into each of its numbers.
        for pair in samples[400..].chunks_mut(2).step_by(30) {
            pair.iter_mut().for_each(|sample| sample.1 = Ok(9_000_000_000));
        }
        let found = lag_ns(&meter, &samples, &on).unwrap();
        assert!(found.abs_diff(3 * S) <= 2 * STEP_NS, "{found}");
    }

    #[test]
    fn a_meter_that_shows_something_else_has_no_delay() {
        let (meter, mut samples, on) = gauge(S, 0, 0);
        samples.iter_mut().enumerate().for_each(|(i, sample)| sample.1 = Ok(5_000_000 + i as u64 % 7));
        assert!(matches!(lag_ns(&meter, &samples, &on), Err(LagError::DoesNotFollow { .. })));
        let last = samples.len() - 1;
        samples[last].1 = Err("gone".into());
        assert_eq!(lag_ns(&meter, &samples, &on), Err(LagError::ReadFailure("gone".into())));
    }
}
