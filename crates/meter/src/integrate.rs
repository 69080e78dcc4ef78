//! From the readings of one meter to joules, or why there are none.
use crate::health::{ANY_MACHINE_W, died_for, reject_spikes, stood_still_ns, stuck_for, without_leaps};
use crate::late::{advance_within, put_back, reach, reject_held_spikes, within};
use crate::{GaugeSample, Kind, MeterInstance, PowerScope, Window, Wrap, advance_uj, mean};

/// Below 1 mW a sensor shows no part of a running machine: a driver that tells mW where the kernel's rules want uW does.
const FAINT_UW: f64 = 1_000.0;

/// What one meter comes to.
#[derive(Debug, Default)]
pub(crate) struct Energy {
    pub(crate) joules: f64,
    /// How many readings it rests on.
    pub(crate) samples: usize,
    /// How many were left out.
    pub(crate) left_out: usize,
}

/// Energy over the time from `start_ns` to `end_ns`; what a person should know of it goes into `notes`, also where there is none.
pub(crate) fn integrate(
    meter: &MeterInstance,
    mut samples: Vec<GaugeSample>,
    span: (u64, u64),
    notes: &mut Vec<String>,
) -> Result<Energy, String> {
    let shift_ns = meter.shift_ns();
    if let Some(shift_ns) = shift_ns {
        put_back(&mut samples, shift_ns);
        reach(&samples, span.1, shift_ns)?;
    }
    match meter.kind {
        _ if samples.is_empty() => Err("it was not read".to_owned()),
        Kind::Counter { wrap } => {
            let within = shift_ns.map(|_| span);
            counted(&samples, span, within, (wrap, &meter.scope), notes)
        }
        Kind::Gauge { interval_ns, mut window } => {
            notes.extend(steady(&samples));
            let spikes = if shift_ns.is_some() {
                let spikes = reject_held_spikes(&mut samples, meter.at_most_w);
                (samples, window) = (within(&samples, span), Window::Instant);
                spikes
            } else {
                reject_spikes(&mut samples, meter.at_most_w)
            };
            notes.extend(rejected(spikes, samples.len()));
            if let Some(zeros) = died_for(&samples) {
                return Err(format!("it showed 0 in the last {zeros} of {} readings: the meter died", samples.len()));
            }
            if let Some(stuck) = stuck_for(&samples) {
                notes.push(format!("it showed the same number in the last {stuck} of {} readings", samples.len()));
            }
            let uw = mean(&samples, span, interval_ns, window).map_err(|error| error.to_string())?;
            notes.extend(faint(uw));
            let good = samples.iter().filter(|(_, value)| value.is_ok()).count();
            Ok(Energy { joules: uw * 1e-6 * seconds(span), samples: good, left_out: spikes })
        }
    }
}

/// Energy by a counter over a stretch, or where its readings need not be cut, from the first to the last. The first and the last reading must have come; of those between them, which are for its wraps alone,
/// some may be missing.
fn counted(
    samples: &[GaugeSample],
    span: (u64, u64),
    within: Option<(u64, u64)>,
    (wrap, scope): (Option<Wrap>, &PowerScope),
    notes: &mut Vec<String>,
) -> Result<Energy, String> {
    if let Some(Err(why)) =
        [samples.first(), samples.last()].into_iter().flatten().map(|it| &it.1).find(|it| it.is_err())
    {
        return Err(why.clone());
    }
    let mut readings: Vec<(u64, u64)> =
        samples.iter().filter_map(|(at, value)| Some((*at, *value.as_ref().ok()?))).collect();
    let mut left_out = 0;
    if let Some(wrap) = wrap {
        let (kept, leaps) = without_leaps(&readings, wrap);
        notes.extend(rejected(leaps, readings.len()));
        (readings, left_out) = (kept, leaps);
    }
    let uj = match within {
        Some(within) => advance_within(&readings, wrap, within),
        None => advance_uj(&readings, wrap).map(|uj| uj as f64),
    };
    let uj = uj.map_err(|error| error.to_string())?;
    if uj <= 0.0 {
        return Err(format!(
            "the counter did not move in {} ms: the meter is dead, or too coarse for so short a load",
            (span.1 - span.0) / 1_000_000
        ));
    }
    let joules = uj * 1e-6;
    if joules > seconds(span) * f64::from(ANY_MACHINE_W) {
        return Err(format!("it counted {joules:.0} J in {:.3} s, which is no measurement", seconds(span)));
    }
    // Graphics that nobody uses draw nothing, and meters of unknown parts may; processors and memory never do.
    if let Some(still_ns) = stood_still_ns(&readings)
        && wrap.is_some()
        && !matches!(scope, PowerScope::Uncore(_) | PowerScope::Unknown)
    {
        return Err(format!("the counter stood still for {} s in the midst: the meter died", still_ns / 1_000_000_000));
    }
    Ok(Energy { joules, samples: readings.len(), left_out })
}

fn rejected(spikes: usize, samples: usize) -> Option<String> {
    let was = if spikes == 1 { "is" } else { "are" };
    (spikes > 0).then(|| format!("{spikes} of {samples} readings {was} beyond what can be drawn and left out"))
}

/// A remark on a gauge that showed one and the same number throughout.
fn steady(samples: &[GaugeSample]) -> Option<String> {
    let mut values = samples.iter().filter_map(|(_, value)| value.as_ref().ok());
    let first = values.next()?;
    let same = samples.len() > 2 && values.all(|value| value == first);
    same.then(|| format!("it showed the same number in all of {} readings", samples.len()))
}

/// A remark on a power, uW, that is less than any sensor of a running machine has to show.
fn faint(uw: f64) -> Option<String> {
    (uw < FAINT_UW).then(|| {
        format!(
            "it showed {:.6} W on average, less than anything in a running machine draws; its unit may be wrong",
            uw * 1e-6
        )
    })
}

pub(crate) fn seconds((start_ns, end_ns): (u64, u64)) -> f64 {
    end_ns.saturating_sub(start_ns) as f64 * 1e-9
}
