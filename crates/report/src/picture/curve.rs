//! Curves over experiments whose loads differ in one number: each metric against it, a line for each setting, and what is
//! done for a watt where both were judged.
use powerband_record::{Better, InOrder, Level, Metric, unit_of};
use powerband_stats::distribution::t_upper_quantile;

use super::compared::{Shared, level, place, shared_metrics, shared_settings};
use super::mark::MarkStyle;
use super::plane::{Join, Panel, Series, Spot};
use super::scale::Reach;
use super::{Caption, LINES, Picture, cells, told, told_with};
use crate::Model;
use crate::comparison::{Along, Comparison};
use crate::level::interval;
use crate::words::{titled, with_boundary};

/// Parameters that span more than this are shown by their logarithm.
const WIDE: f64 = 12.0;
/// Tail of a 95 % interval.
const TAIL: f64 = 0.025;
/// The metric of power that a rate is divided by.
const POWER: &str = "power_w";
/// How a rate's name ends.
const RATE: &str = "_per_s";

/// A picture for each metric, and for each rate over power.
pub(super) fn pictures(of: &Comparison, along: &Along, models: &[Model]) -> Vec<Picture> {
    let settings = shared_settings(models);
    let metrics = shared_metrics(of, models);
    let value = |metric: &Metric, at: usize, setting: usize| {
        let level = level(&models[at], setting, metric)?;
        Some((level.typical, interval(level)))
    };
    let curves = metrics.iter().filter_map(|metric| {
        let value = |at, setting| value(metric, at, setting);
        let named = Named {
            id: metric.name.clone(),
            name: metric.name.clone(),
            axis: titled(metric),
            unit: unit_of(&metric.name).into(),
        };
        curve(&named, along, &settings, models, &value)
    });
    let curves: Vec<Picture> = curves.collect();
    let ratios = ratios(&metrics).into_iter().filter_map(|(rate, power)| {
        let value = |at: usize, setting| {
            let level = ratio(&models[at], setting, rate, power)?;
            Some((level.typical, interval(&level)))
        };
        let what = rate.name.trim_end_matches(RATE);
        let named = Named {
            id: format!("{}-over-{}", rate.name, power.name),
            name: format!("{} for a joule", what.replace('_', " ")),
            axis: with_boundary(&format!("{} / {}, 1/J", rate.name, power.name), power),
            unit: "1/J".into(),
        };
        curve(&named, along, &settings, models, &value)
    });
    let ratios: Vec<Picture> = ratios.collect();
    curves.into_iter().chain(ratios).collect()
}

/// Judged rates and the judged power they are drawn over; nothing where their ratio is a metric by itself.
fn ratios(metrics: &[Metric]) -> Vec<(&Metric, &Metric)> {
    let Some(power) = metrics.iter().find(|metric| metric.name == POWER && metric.judged) else { return Vec::new() };
    let rates = metrics.iter().filter(|metric| metric.judged && metric.better == Better::Higher);
    let rates = rates.filter(|metric| {
        let itself = |end: &str| metrics.iter().any(|other| other.name == metric.name.replace(RATE, end));
        metric.name.ends_with(RATE) && !itself("_per_j") && !itself("_per_w")
    });
    rates.map(|rate| (rate, power)).collect()
}

/// The ratio of two metrics trial by trial, as their levels are made: the geometric mean with a t interval.
fn ratio(model: &Model, setting: usize, over: &Metric, under: &Metric) -> Option<Level> {
    let (over_at, under_at) = (place(model, over)?, place(model, under)?);
    let of_setting = model.values.iter().filter(|trial| trial.block > 0 && trial.setting as usize == setting);
    let logs: Vec<f64> = of_setting
        .filter_map(|trial| Some(((*trial.values.get(over_at)?)?, (*trial.values.get(under_at)?)?)))
        .filter(|(over, under)| *over > 0.0 && *under > 0.0)
        .map(|(over, under)| libm::log(over / under))
        .collect();
    if logs.is_empty() {
        return None;
    }
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let half = (logs.len() > 1).then(|| {
        let variance = logs.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        t_upper_quantile(TAIL, n - 1.0) * (variance / n).sqrt()
    });
    Some(Level {
        setting: u32::try_from(setting).unwrap_or(u32::MAX),
        metric: over.name.clone(),
        trials: u32::try_from(logs.len()).unwrap_or(u32::MAX),
        typical: libm::exp(mean),
        low: half.map(|half| libm::exp(mean - half)),
        high: half.map(|half| libm::exp(mean + half)),
    })
}

/// What a curve shows.
struct Named {
    id: String,
    name: String,
    axis: String,
    unit: String,
}

/// A value with its interval.
type Valued = (f64, Option<(f64, f64)>);

fn curve(
    named: &Named,
    along: &Along,
    settings: &[Shared],
    models: &[Model],
    value: &dyn Fn(usize, usize) -> Option<Valued>,
) -> Option<Picture> {
    let x = |at: usize| along.value(models[at].header.as_ref()?.id);
    let mut table = Vec::new();
    let mut series = Vec::new();
    for (number, shared) in (0_u32..).zip(settings).take(LINES) {
        let spots = shared.places.iter().filter_map(|(at, setting)| Some((*at, x(*at)?, value(*at, *setting)?)));
        let mut spots: Vec<(usize, f64, Valued)> = spots.filter(|(.., (value, _))| value.is_finite()).collect();
        spots.order_by(|a, b| a.1.total_cmp(&b.1));
        // Several experiments at one value have no line between them.
        let apart = spots.windows(2).any(|pair| pair[0].1 >= pair[1].1);
        let spot = |(at, x, (value, ends)): &(usize, f64, Valued)| {
            let id = models[*at].header.as_ref().map_or(0, |header| header.id);
            let words = told_with(*value, *ends, &named.unit);
            let place = told(*x, &along.unit);
            let row = [place.clone(), shared.label.clone(), id.to_string()].into_iter().chain(cells(*value, *ends));
            table.push(row.collect::<Vec<String>>());
            Spot {
                x: *x,
                y: *value,
                interval: *ends,
                told: format!("{}, {} {place}: {words}", shared.label, along.name),
                ..Spot::default()
            }
        };
        let spots: Vec<Spot> = spots.iter().map(spot).collect();
        let join = if apart { Join::None } else { Join::Line };
        let label = shared.label.clone();
        series.push(Series { label, setting: None, look: MarkStyle::of_setting(number), join, pointed: true, spots });
    }
    series.retain(|series| !series.spots.is_empty());
    let values = || along.values.iter().map(|(_, value)| *value);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let reach = if low > 0.0 && high > low * WIDE { Reach::Log } else { Reach::Zero };
    let title = format!("{} against {}", named.name, along.name);
    let desc = described(named, along, &series, settings.len());
    let panel = Panel::of((reach, along.title()), (Reach::Zero, named.axis.clone()), series, 220.0);
    let columns = [along.name.as_str(), "setting", "experiment", "typical", "low", "high"];
    panel.hung(Caption { id: format!("curve-{}", named.id), title, desc }, &columns, table)
}

fn described(named: &Named, along: &Along, series: &[Series], settings: usize) -> String {
    let ends = |series: &Series| {
        let (first, last) = (series.spots.first()?, series.spots.last()?);
        Some(format!("{} from {} to {}", series.label, told(first.y, &named.unit), told(last.y, &named.unit)))
    };
    let ends: Vec<String> = series.iter().filter_map(ends).collect();
    let values = || along.values.iter().map(|(_, value)| *value);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let left = settings.saturating_sub(LINES);
    let left = if left == 0 { String::new() } else { format!(" {left} settings more are not drawn.") };
    format!(
        "{} with 95 % intervals over {} from {} to {}, each setting a line: {}.{left}",
        named.name,
        along.name,
        told(low, &along.unit),
        told(high, &along.unit),
        ends.join("; ")
    )
}
