//! What a calibration says can be seen in how long: the smallest effect against minutes.
use powerband_record::{Calibration, InOrder, format_number};

use super::mark::MarkStyle;
use super::plane::{Join, Panel, Series, Spot};
use super::scale::Reach;
use super::{Caption, LINES, Picture};
use crate::Model;
use crate::words::percent;

/// The smallest effect that is found in nine of ten cases, by time; none where nothing was calibrated.
pub(super) fn picture(model: &Model) -> Option<Picture> {
    let mut table = Vec::new();
    let line = |(number, found): (usize, &Calibration)| {
        let both = found.mde.iter().chain(&found.time_for).map(|it| (it.minutes, it.effect * 100.0));
        let mut both: Vec<(f64, f64)> = both.filter(|(minutes, effect)| *minutes > 0.0 && *effect > 0.0).collect();
        // Of what is found in the same time, the smallest says all.
        both.order_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        both.dedup_by_key(|it| it.0.to_bits());
        let spot = |(minutes, effect): &(f64, f64)| {
            let (in_minutes, of) = (format_number(*minutes), format_number(*effect));
            table.push(vec![found.metric.clone(), in_minutes.clone(), of.clone()]);
            let told = format!("{}: {of} % in {in_minutes} min", found.metric);
            Spot { x: *minutes, y: *effect, told, ..Spot::default() }
        };
        let spots = both.iter().map(spot).collect();
        Series {
            label: found.metric.clone(),
            setting: None,
            look: MarkStyle::of(number),
            join: Join::Line,
            pointed: true,
            spots,
        }
    };
    let series: Vec<Series> = model.calibrations.iter().take(LINES).enumerate().map(line).collect();
    let title = "Smallest effect that is found, against time".to_owned();
    let noise = |found: &Calibration| {
        let sigma = if found.relative || found.level == 0.0 { found.sigma } else { found.sigma / found.level.abs() };
        let first =
            found.mde.first().map(|it| format!(", {} in {} min", percent(it.effect), format_number(it.minutes)));
        format!("{} varies by {} from trial to trial{}", found.metric, percent(sigma), first.unwrap_or_default())
    };
    let noises: Vec<String> = model.calibrations.iter().take(LINES).map(noise).collect();
    let desc = format!(
        "The effect of one setting that is found in nine of ten cases, by minutes of measuring: {}.",
        noises.join("; ")
    );
    let x = (Reach::Log, "minutes".to_owned());
    let y = (Reach::Log, "effect, %".to_owned());
    let panel = Panel::of(x, y, series, 220.0);
    let columns = ["metric", "minutes", "effect, %"];
    panel.hung(Caption { id: "detectable".into(), title, desc }, &columns, table)
}
