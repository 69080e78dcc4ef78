//! Latency distributions by setting: which share of all values took longer, so that the tail is seen.
use std::collections::BTreeSet;

use powerband_record::{InOrder, IntoOrdered as _, format_number};

use super::mark::MarkStyle;
use super::plane::{Join, Panel, Series, Spot};
use super::scale::Reach;
use super::{Caption, LINES, Picture};
use crate::distribution::printed;
use crate::words::counted;
use crate::{Distribution, Model};

/// Corners of a line; more are thinned.
const CORNERS: usize = 240;
/// Settings whose percentiles are told in words.
const TOLD: usize = 4;
/// Shares of values that percentiles leave above them, %.
const ABOVE: [(&str, f64); 4] = [("p50", 50.0), ("p90", 10.0), ("p99", 1.0), ("p99.9", 0.1)];

/// A picture for each kind of distribution.
pub(super) fn pictures(model: &Model) -> Vec<Picture> {
    let names: BTreeSet<&String> = model.settings.iter().flat_map(|setting| setting.distributions.keys()).into_set();
    let (levels, others): (Vec<&String>, Vec<&String>) = names.into_iter().partition(|name| level(name).is_some());
    others.into_iter().chain(few(levels)).filter_map(|name| picture(model, name)).collect()
}

/// The level of load a distribution is of.
fn level(name: &str) -> Option<u32> {
    name.strip_prefix("at_")?.split('_').next()?.parse().ok()
}

/// The highest, the middle and the lowest level: all of them are alike to look at.
fn few(mut levels: Vec<&String>) -> Vec<&String> {
    levels.order_by_key(|name| std::cmp::Reverse(level(name)));
    let places = [0, levels.len() / 2, levels.len().saturating_sub(1)];
    let mut few: Vec<&String> = places.iter().filter_map(|place| levels.get(*place).copied()).collect();
    few.dedup();
    few
}

fn picture(model: &Model, name: &str) -> Option<Picture> {
    let compared = (0_u32..).zip(&model.settings).filter(|(setting, _)| model.is_compared(*setting));
    let all = compared.filter_map(|(setting, report)| Some((setting, report.distributions.get(name)?)));
    let all: Vec<(u32, &Distribution)> = all.filter(|(_, of)| of.count() > 0).take(LINES).collect();
    let (by, unit) = printed(name);
    let (mut series, mut table, mut told) = (Vec::new(), Vec::new(), Vec::new());
    for (setting, of) in &all {
        let label = model.label(*setting);
        let look = MarkStyle::of_setting(*setting);
        let line =
            |pointed, join, spots| Series { label: label.clone(), setting: Some(*setting), look, join, pointed, spots };
        series.push(line(false, Join::Step, course(of, by)));
        let percentiles = of.percentiles();
        let spot = |it: &crate::Percentile| {
            let above = ABOVE.iter().find(|(name, _)| *name == it.name)?.1;
            // Fewer values than one beyond it make no percentile.
            (of.count() as f64 * above >= 100.0).then(|| Spot {
                x: it.value / by,
                y: above,
                across: it.interval.map(|(low, high)| (low / by, high / by)),
                told: format!("{label}: {} {} {unit}", it.name, format_number(it.value / by)),
                ..Spot::default()
            })
        };
        series.push(line(true, Join::None, percentiles.iter().filter_map(spot).collect()));
        let values = percentiles.iter().map(|it| format_number(it.value / by));
        let ends = [of.count().to_string(), format_number(of.min() as f64 / by)];
        let most = format_number(of.max() as f64 / by);
        table.push([label.clone()].into_iter().chain(ends).chain(values).chain([most]).collect());
        if let [p50, _, p99, _] = &percentiles[..] {
            told.push(format!(
                "{label} p50 {} and p99 {} {unit}",
                super::number(p50.value / by),
                super::number(p99.value / by)
            ));
        }
    }
    let stem = name.rsplit_once('_').map_or(name, |(stem, _)| stem);
    let title = format!("Distribution of {stem}: share of values above");
    let more = told.len().saturating_sub(TOLD);
    let more = if more == 0 {
        String::new()
    } else {
        format!("; and {}", counted(u32::try_from(more).unwrap_or(u32::MAX), "other"))
    };
    told.truncate(TOLD);
    let desc = format!("Share of all values of {stem} that were larger, by setting: {}{more}.", told.join("; "));
    let axis = if unit.is_empty() { stem.to_owned() } else { format!("{stem}, {unit}") };
    let y = (Reach::Log, "share of values above, %".to_owned());
    let panel = Panel::of((Reach::Log, axis), y, series, 240.0);
    let columns = ["setting", "values", "least", "p50", "p90", "p99", "p99.9", "most"];
    panel.hung(Caption { id: format!("tail-{stem}"), title, desc }, &columns, table)
}

/// Share of values above the end of each bin, %; the last bin leaves none, which a logarithm cannot show.
fn course(of: &Distribution, by: f64) -> Vec<Spot> {
    let total = of.count() as f64;
    let bins = of.bins();
    let mut seen = 0;
    let least = [Spot { x: of.min() as f64 / by, y: 100.0, ..Spot::default() }];
    let steps = bins.iter().map(|(end, count)| {
        seen += count;
        Spot { x: *end as f64 / by, y: (total - seen as f64) / total * 100.0, ..Spot::default() }
    });
    let steps: Vec<Spot> = steps.filter(|spot| spot.y > 0.0).collect();
    // Only corners that are seen: a line loses none where its share falls by a fiftieth.
    let mut kept: Vec<Spot> = Vec::new();
    let many = steps.len() > CORNERS;
    for (at, spot) in steps.iter().enumerate() {
        let falls = kept.last().is_none_or(|last: &Spot| spot.y < last.y * 0.98);
        if !many || falls || at + 1 == steps.len() {
            kept.push(spot.clone());
        }
    }
    least.into_iter().chain(kept).collect()
}
