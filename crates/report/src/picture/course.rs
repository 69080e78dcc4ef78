//! The course of power over a trial, a line for each setting.
use powerband_record::format_number;

use super::mark::Look;
use super::plane::{Join, Panel, Series, Spot};
use super::scale::Reach;
use super::{Caption, LINES, Picture, told};
use crate::Model;
use crate::timelines::{Row, Timelines};

/// Corners of a line; of more, means of neighbours are drawn.
const CORNERS: usize = 300;

/// A picture for each meter: of each setting its first valid trial in a block.
pub(super) fn pictures(model: &Model, timelines: &Timelines) -> Vec<Picture> {
    let mut meters: Vec<&Row> = Vec::new();
    for row in &timelines.timelines {
        if !meters.iter().any(|known| row.is_of(known)) {
            meters.push(row);
        }
    }
    meters.into_iter().filter_map(|meter| picture(model, timelines, meter)).collect()
}

fn picture(model: &Model, timelines: &Timelines, meter: &Row) -> Option<Picture> {
    let mut series = Vec::new();
    let mut table = Vec::new();
    let mut means = Vec::new();
    for (setting, report) in (0_u32..).zip(&model.settings) {
        let mut rows =
            timelines.timelines.iter().filter(|row| row.is_of(meter) && row.block > 0 && row.setting == report.label);
        let Some(row) = rows.next().filter(|_| series.len() < LINES) else { continue };
        let spots = course(row);
        let watts = || row.power_w.iter().flatten().copied().filter(|power_w| power_w.is_finite());
        let mean_w = watts().sum::<f64>() / watts().count().max(1) as f64;
        let ends = [watts().fold(f64::INFINITY, f64::min), watts().fold(f64::NEG_INFINITY, f64::max)];
        if watts().next().is_none() {
            continue;
        }
        let numbers = [mean_w, ends[0], ends[1]].map(format_number);
        let counted = [report.label.clone(), row.trial.to_string(), row.time_s.len().to_string()];
        table.push(counted.into_iter().chain(numbers).collect());
        means.push(format!("{} {}", report.label, told(mean_w, "W")));
        let look = Look { dash: "", ..Look::of_setting(setting) };
        series.push(Series {
            label: report.label.clone(),
            setting: Some(setting),
            look,
            join: Join::Step,
            pointed: false,
            spots,
        });
    }
    let of = meter.title();
    let title = format!("Power over a trial ({of})");
    let desc = format!("Power during the first trial of each setting, by {of}; mean of {}.", means.join(", "));
    let y = (Reach::Values, format!("power_w ({of}), W"));
    let x = (Reach::Zero, "seconds from the first reading".to_owned());
    let panel = Panel::of(x, y, series, 200.0);
    let columns = ["setting", "trial", "readings", "mean, W", "least", "most"];
    panel.hung(Caption { id: format!("power-{of}"), title, desc }, &columns, table)
}

/// Readings with their times, so many neighbours together that no more than [`CORNERS`] are left.
fn course(row: &Row) -> Vec<Spot> {
    // What counts energy has no power at its first reading: each is the mean since the one before, and begins there.
    let begin = usize::from(row.power_w.first().is_some_and(Option::is_none));
    // Where a reading tells no power, the line parts.
    let power = |power_w: &Option<f64>| power_w.unwrap_or(f64::NAN);
    let read = row.time_s.iter().zip(row.power_w.iter().skip(begin)).map(|(at_s, power_w)| (*at_s, power(power_w)));
    let read: Vec<(f64, f64)> = read.filter(|(at_s, _)| at_s.is_finite()).collect();
    let together = read.len().div_ceil(CORNERS).max(1);
    let mean = |part: &[(f64, f64)]| {
        let watts = part.iter().map(|(_, power_w)| power_w).sum::<f64>() / part.len() as f64;
        Spot { x: part[0].0, y: watts, ..Spot::default() }
    };
    read.chunks(together).map(mean).collect()
}
