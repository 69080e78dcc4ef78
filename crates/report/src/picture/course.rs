//! The course of power, or of a clock, over a trial: a line for each setting, in panels of their own where there are many.
use powerband_record::{MeterQuantity, format_number};

use super::chosen::{self, folded, stretch};
use super::dense::dense;
use super::mark::MarkStyle;
use super::palette::dash;
use super::plane::{Join, Panel, Plane, Series, Spot};
use super::scale::Reach;
use super::{Caption, LINES, Picture, strips, told};
use crate::Model;
use crate::courses::{Column, Course, CourseSite, Courses};

/// Columns of a line; of more readings each has the least and the most of some.
const CORNERS: usize = 300;
/// More lines than this would cover one another: each gets a panel.
const OVER: usize = 3;
/// Clocks of more policies than this are drawn as strips beneath one another.
const CLOCKS: usize = 4;

/// A picture for each meter, then for each clock, or one for all of many.
pub(super) fn pictures(model: &Model, courses: &Courses) -> Vec<Picture> {
    let power = courses.by_site(|of| matches!(of, MeterQuantity::PowerUw | MeterQuantity::EnergyUj));
    let mut all: Vec<Picture> = power.iter().filter_map(|(site, lines)| picture(model, site, lines)).collect();
    let clocks = courses.by_site(|of| of == MeterQuantity::ClockKhz);
    let policies = clocks.iter().filter(|(site, _)| Some(&site.stretch) == clocks.first().map(|(it, _)| &it.stretch));
    if policies.count() <= CLOCKS {
        all.extend(clocks.iter().filter_map(|(site, lines)| picture(model, site, lines)));
    } else {
        all.extend(strips::clocks(model, &clocks));
    }
    all
}

fn picture(model: &Model, site: &CourseSite, lines: &[&Course]) -> Option<Picture> {
    let clock = site.quantity == MeterQuantity::ClockKhz;
    let (what, name, unit) = if clock { ("Clock", "clock", "MHz") } else { ("Power", "power_w", "W") };
    let of = format!("{}{}", site.title(), stretch(site));
    let (mut series, mut table, mut means, mut most) = (Vec::new(), Vec::new(), Vec::new(), 1);
    let mut detailed = Vec::new();
    let settings: Vec<u32> = lines.iter().map(|course| course.setting).collect();
    let settings = chosen::settings(model, &settings, LINES);
    for (place, &course) in lines.iter().filter(|course| settings.kept.contains(&course.setting)).enumerate() {
        let Some((low, high)) = course.ends() else { continue };
        let label = model.label(course.setting);
        let numbers = [course.mean, low, high].map(format_number);
        let counted = [label.clone(), course.trial.to_string(), course.readings.to_string()];
        table.push(counted.into_iter().chain(numbers).collect());
        means.push(format!("{label} {}", told(course.mean, unit)));
        let (columns, together) = course.folded(CORNERS);
        most = most.max(together);
        let look = MarkStyle { dash: dash(place), ..MarkStyle::of_setting(course.setting) };
        detailed.push((label.clone(), course));
        let spots = spots(&columns, together, course);
        series.push(Series { label, setting: Some(course.setting), look, join: Join::Step, pointed: false, spots });
    }
    let title = format!("{what} over a trial ({of})");
    let desc = format!(
        "{what} during the first trial of each setting, by {of}; on average {}.{}{}",
        means.join(", "),
        settings.told,
        folded(most)
    );
    let caption = Caption { id: format!("{}-{of}", what.to_lowercase()), title, desc };
    let head = ["setting", "trial", "readings", &format!("mean, {unit}"), "least", "most"];
    let below = "seconds from the first reading";
    let dense = dense(&detailed, unit, CORNERS);
    let with = |picture: Picture| Picture { dense, ..picture };
    if series.len() <= OVER {
        let y = (Reach::Values, format!("{name} ({of}), {unit}"));
        return Panel::of((Reach::Zero, below.to_owned()), y, series, 200.0).hung(caption, &head, table).map(with);
    }
    let svg = apart(&caption, series, unit, below).draw();
    caption.hang(svg, &head, table).map(with)
}

/// Each line in a panel of its own, all on the same scales.
fn apart(caption: &Caption, series: Vec<Series>, unit: &str, below: &str) -> Plane {
    let spots = || series.iter().flat_map(|series| &series.spots);
    let reach = |of: fn(&Spot) -> f64| {
        let values = spots().map(of).filter(|value| value.is_finite());
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |ends, it| (ends.0.min(it), ends.1.max(it)))
    };
    let span = (reach(|spot| spot.x), reach(|spot| spot.y));
    let last = series.len() - 1;
    let panel = |(place, mut series): (usize, Series)| {
        // Alone in its panel it needs no dash to be told apart.
        series.look.dash = "";
        let x = (Reach::Zero, if place == last { below.to_owned() } else { String::new() });
        let y = (Reach::Values, format!("{}, {unit}", series.label));
        Panel { span: Some(span), ..Panel::of(x, y, vec![series], 70.0) }
    };
    let panels = series.into_iter().enumerate().map(panel).collect();
    Plane { title: caption.title.clone(), desc: caption.desc.clone(), legend: Vec::new(), panels }
}

/// Corners of a line: a reading each, or the least and the most of some; the last value holds until the last reading.
fn spots(columns: &[Column], together: usize, course: &Course) -> Vec<Spot> {
    let spot = |x: f64, y: f64| Spot { x, y, ..Spot::default() };
    let corners = |column: &Column| match together {
        1 => vec![spot(column.at_s, column.mean)],
        _ => vec![spot(column.at_s, column.low), spot(column.at_s, column.high)],
    };
    let last = columns.last().map(|column| spot(course.end_s, column.mean));
    columns.iter().flat_map(corners).chain(last).collect()
}
