//! Every trial of a metric in running order, so that what drifts or jumps is seen.
use powerband_record::{Calibration, Metric, unit_of};

use super::mark::{MarkStyle, Orientation};
use super::palette::{FAINT, Shape};
use super::plane::{Join, Panel, Rule, Series, Spot};
use super::scale::Reach;
use super::{Caption, Picture, told};
use crate::words::titled;
use crate::{Model, TrialValues};

/// More settings than this are not told apart by colour.
const COLOURED: usize = 8;
/// More blocks than this are not shaded in turn.
const SHADED: u32 = 60;

/// A picture for each judged metric that was measured in two trials or more.
pub(super) fn pictures(model: &Model) -> Vec<Picture> {
    model.judged().filter_map(|(place, metric)| picture(model, place, metric)).collect()
}

fn picture(model: &Model, place: usize, metric: &Metric) -> Option<Picture> {
    let trials: Vec<(&TrialValues, f64)> =
        model.values.iter().filter_map(|trial| Some((trial, (*trial.values.get(place)?)?))).collect();
    if trials.len() < 2 {
        return None;
    }
    let all = series(model, metric, &trials);
    let title = format!("{} of each trial, in running order", metric.name);
    let desc = described(model, metric, &trials);
    let x = (Reach::Count, "trial, in running order; blocks shaded in turn".to_owned());
    let x =
        if model.blocks > SHADED || shades(model).is_empty() { (x.0, "trial, in running order".to_owned()) } else { x };
    let mut panel = Panel::of(x, (Reach::Values, titled(metric)), all, 190.0);
    panel.shades = shades(model);
    if let Some((low, high)) = noise(model, metric).and_then(|found| found.regimes) {
        let regime = |value, label: &str| Rule { way: Orientation::Upright, value, label: label.to_owned() };
        panel.rules = vec![regime(low, "lower regime"), regime(high, "upper regime")];
    }
    let table = trials.iter().map(|(trial, value)| {
        vec![trial.trial.to_string(), when(trial), model.label(trial.setting), powerband_record::format_number(*value)]
    });
    let columns = ["trial", "block", "setting", metric.name.as_str()];
    panel.hung(Caption { id: format!("trials-{}", metric.name), title, desc }, &columns, table.collect())
}

/// What a calibration found of the metric.
fn noise<'a>(model: &'a Model, metric: &Metric) -> Option<&'a Calibration> {
    model.calibrations.iter().find(|found| found.metric == metric.name)
}

/// The reference and every other setting, those after it together where they are too many; of a calibration all trials, those
/// far out ringed.
fn series(model: &Model, metric: &Metric, trials: &[(&TrialValues, f64)]) -> Vec<Series> {
    let unit = unit_of(&metric.name);
    let outliers = noise(model, metric).map_or(&[][..], |found| &found.outliers);
    let spot = |(trial, value): &(&TrialValues, f64)| {
        let label = model.label(trial.setting);
        Spot {
            x: f64::from(trial.trial),
            y: *value,
            setting: Some(trial.setting),
            told: format!("trial {}, {}, {label}: {}", trial.trial, when(trial), told(*value, unit)),
            label: Some(label),
            hollow: trial.block == 0,
            ringed: outliers.contains(&trial.trial),
            ..Spot::default()
        }
    };
    let of =
        |wanted: &dyn Fn(u32) -> bool| trials.iter().filter(|(trial, _)| wanted(trial.setting)).map(spot).collect();
    if model.started.calibration {
        return vec![Series::apart("trials", FAINT, Shape::Circle, of(&|_| true))];
    }
    let mut settings: Vec<u32> = trials.iter().map(|(trial, _)| trial.setting).collect();
    settings.sort_unstable();
    settings.dedup();
    let one = |setting: u32| Series {
        label: model.label(setting),
        setting: Some(setting),
        look: MarkStyle { dash: "4 3", ..MarkStyle::of_setting(setting) },
        join: if setting == 0 { Join::Line } else { Join::None },
        pointed: true,
        spots: of(&|other| other == setting),
    };
    let mut all: Vec<Series> = if settings.len() <= COLOURED {
        settings.iter().map(|setting| one(*setting)).collect()
    } else {
        vec![one(0), Series::apart("other settings", FAINT, Shape::Circle, of(&|setting| setting != 0))]
    };
    all.retain(|series| !series.spots.is_empty());
    all
}

fn when(trial: &TrialValues) -> String {
    if trial.block == 0 { "warm-up".to_owned() } else { format!("block {}", trial.block) }
}

/// Every other block, from its first trial to its last.
fn shades(model: &Model) -> Vec<(f64, f64)> {
    if model.blocks > SHADED || model.started.search.is_some() {
        return Vec::new();
    }
    let of = |block: u32| {
        let trials =
            || model.values.iter().filter(move |trial| trial.block == block).map(|trial| f64::from(trial.trial));
        Some((trials().reduce(f64::min)? - 0.5, trials().reduce(f64::max)? + 0.5))
    };
    (1..=model.blocks).step_by(2).filter_map(of).collect()
}

fn described(model: &Model, metric: &Metric, trials: &[(&TrialValues, f64)]) -> String {
    let unit = unit_of(&metric.name);
    let values = || trials.iter().map(|(_, value)| *value);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let ends = |wanted: &dyn Fn(&TrialValues) -> bool| {
        let of = || trials.iter().filter(|(trial, _)| trial.block > 0 && wanted(trial));
        Some((of().next()?.1, of().next_back()?.1))
    };
    let reference = if model.started.calibration { None } else { ends(&|trial| trial.setting == 0) };
    let reference = reference.map(|(first, last)| {
        format!(" The reference, {}, began at {} and ended at {}.", model.label(0), told(first, unit), told(last, unit))
    });
    let warm = trials.iter().filter(|(trial, _)| trial.block == 0).count();
    let warm = if warm == 0 { String::new() } else { format!(" Hollow points, {warm} of them, are the warm-up.") };
    format!(
        "{} in {} trials, from {} to {}.{}{warm}",
        metric.name,
        trials.len(),
        told(low, unit),
        told(high, unit),
        reference.unwrap_or_default()
    )
}
