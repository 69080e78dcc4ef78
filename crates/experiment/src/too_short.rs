//! Loads that are over before their meter has made enough numbers: told before any time is spent.
use powerband_load::{MetricSpec, Source};
use powerband_meter::MeterInstance;
use powerband_record::{InOrder, Metric, format_duration};

use crate::PlanError;
use crate::metering::Metering;

/// The metrics as they can be judged of a load of this length. One that was not asked for is then only shown, with a note.
///
/// # Errors
/// [`PlanError::TooShort`] when one was asked for, or nothing else is judged.
pub(crate) fn demote_unmeasurable(
    mut metrics: Vec<Metric>,
    picks: &[MetricSpec],
    metering: &Metering,
    length_ns: u64,
    notes: &mut Vec<String>,
) -> Result<Vec<Metric>, PlanError> {
    for place in 0..metrics.len() {
        let metric = &metrics[place];
        let pick = picks.iter().find(|pick| pick.metric.name == metric.name);
        let Some(meter) = metric.judged.then(|| too_short(metric, pick, metering, length_ns)).flatten() else {
            continue;
        };
        if pick.is_some() || metrics.iter().filter(|metric| metric.judged).count() == 1 {
            return Err(refused(metric, meter, length_ns));
        }
        notes.push(format!("{} is not a decision metric: {}", metric.name, refused(metric, meter, length_ns)));
        metrics[place].judged = false;
    }
    metrics.order_by_key(|metric| !metric.judged);
    Ok(metrics)
}

/// The meter of a metric that needs a longer load.
fn too_short<'m>(
    metric: &Metric,
    pick: Option<&MetricSpec>,
    metering: &'m Metering,
    length_ns: u64,
) -> Option<&'m MeterInstance> {
    let meter = |name: &str| metering.too_slow(name, length_ns);
    match pick.map(|pick| &pick.source) {
        None => meter(&metric.name),
        Some(Source::Measured(name)) => meter(name),
        Some(Source::Ratio(over, under)) => meter(over).or_else(|| meter(under)),
        Some(_) => None,
    }
}

fn refused(metric: &Metric, meter: &MeterInstance, length_ns: u64) -> PlanError {
    let shortest_ns = meter.shortest_ns();
    let notes: String = meter.notes.iter().map(|note| format!("; {note}")).collect();
    PlanError::TooShort(format!(
        "the load runs for {} and {} makes a number every {}: {} needs ten of them; write --for {}s or longer, or judge by something else{notes}",
        format_duration(length_ns),
        meter.boundary,
        format_duration(shortest_ns / 10),
        metric.name,
        shortest_ns.div_ceil(1_000_000_000),
    ))
}
