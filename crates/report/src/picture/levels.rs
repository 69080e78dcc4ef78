//! A judged metric by setting, with intervals, and what counts as the reference.
use powerband_record::{Better, Level, Metric, Verdict, unit_of};

use super::mark::MarkStyle;
use super::palette::{BAD, FAINT, GOOD, INK, PLAIN, Shape};
use super::rows::{Row, RowMark, Rows};
use super::scale::Reach;
use super::{Caption, Picture, cells, told, told_with};
use crate::Model;
use crate::level::{interval, levels};
use crate::words::{counted, percent, titled, with_boundary, word};

/// One picture for each judged metric.
pub(super) fn pictures(model: &Model) -> Vec<Picture> {
    model.judged().filter_map(|(place, metric)| picture(model, place, metric)).collect()
}

fn picture(model: &Model, place: usize, metric: &Metric) -> Option<Picture> {
    let levels = levels(model, place);
    let unit = unit_of(&metric.name);
    let reference = levels.iter().find(|(setting, _)| *setting == 0).map(|(_, level)| level.typical);
    let margin = model.started.margin;
    let several = levels.len() > 1;
    let ribbon = reference.filter(|_| several && margin > 0.0);
    let ribbon = ribbon.map(|typical| (typical - margin * typical.abs(), typical + margin * typical.abs()));
    let verdict = |setting: u32| model.settings[setting as usize].verdicts.get(place).and_then(Option::as_ref);
    let rows = levels.iter().map(|(setting, level)| {
        let verdict = verdict(*setting).map(|verdict| verdict.verdict);
        let word = verdict.map(word).unwrap_or_default();
        let label = model.label(*setting);
        let behind = if *setting == 0 && several { "reference" } else { word };
        let value = told_with(level.typical, interval(level), unit);
        let mark = RowMark {
            value: level.typical,
            interval: interval(level),
            look: look(*setting, verdict),
            label: String::new(),
            state: (!behind.is_empty()).then_some(behind),
            told: format!("{label}: {value}{}{behind}", if behind.is_empty() { "" } else { ", " }),
        };
        Row { label, setting: Some(*setting), marks: vec![mark], ribbon: None, behind: behind.to_owned() }
    });
    let title = format!("{} by setting", metric.name);
    let desc = described(model, metric, &levels, reference);
    let drawing = Rows {
        title: title.clone(),
        desc: desc.clone(),
        axis: titled(metric),
        reach: Reach::Values,
        rule: reference.filter(|_| several).map(|typical| (typical, model.label(0))),
        ribbon,
        legend: Vec::new(),
        rows: rows.collect(),
    };
    let table = levels.iter().map(|(setting, level)| {
        let verdict = verdict(*setting);
        let change = verdict.map(|it| if it.absolute { told(it.change, unit) } else { percent(it.change) });
        let word = verdict.map(|it| word(it.verdict).to_owned()).unwrap_or_default();
        let head = [model.label(*setting)].into_iter().chain(cells(level.typical, interval(level)));
        head.chain([level.trials.to_string(), change.unwrap_or_default(), word]).collect()
    });
    let columns = ["setting", "typical", "low", "high", "trials", "change", "verdict"];
    Caption { id: format!("levels-{}", metric.name), title, desc }.hang(drawing.draw(), &columns, table.collect())
}

fn described(model: &Model, metric: &Metric, levels: &[(u32, &Level)], reference: Option<f64>) -> String {
    let unit = unit_of(&metric.name);
    let intervals = levels.iter().any(|(_, level)| interval(level).is_some());
    let with = if intervals { " with 95 % intervals" } else { "" };
    let wanted = if metric.better == Better::Higher { "high" } else { "low" };
    let ends = levels
        .iter()
        .min_by(|a, b| a.1.typical.total_cmp(&b.1.typical))
        .zip(levels.iter().max_by(|a, b| a.1.typical.total_cmp(&b.1.typical)));
    let one = |(setting, level): &(u32, &Level)| format!("{} at {}", told(level.typical, unit), model.label(*setting));
    let span = ends.filter(|_| levels.len() > 1).map(|(low, high)| format!(", from {} to {}", one(low), one(high)));
    let only = levels.first().filter(|_| levels.len() == 1).map(|level| format!(": {}", one(level)));
    let beside = reference.filter(|_| levels.len() > 1).map(|typical| {
        let shade = if model.started.margin > 0.0 {
            format!("; the shaded band is {} around it", percent(model.started.margin))
        } else {
            String::new()
        };
        format!(" The dashed line is the reference, {}, {}{shade}.", model.label(0), told(typical, unit))
    });
    let name = with_boundary(&metric.name, metric);
    let count = counted(u32::try_from(levels.len()).unwrap_or(u32::MAX), "setting");
    format!(
        "Typical {name} of {count}{with} (wanted: {wanted}){}{}.{}",
        span.unwrap_or_default(),
        only.unwrap_or_default(),
        beside.unwrap_or_default()
    )
}

/// What a verdict looks like; of the reference, which has none, index 0.
pub(super) fn look(setting: u32, verdict: Option<Verdict>) -> MarkStyle {
    let (colour, shape, hollow) = match (setting, verdict) {
        (0, _) => (INK, Shape::Diamond, false),
        (_, Some(Verdict::Better)) => (GOOD, Shape::Triangle, false),
        (_, Some(Verdict::Worse)) => (BAD, Shape::Wedge, false),
        (_, Some(Verdict::Same)) => (PLAIN, Shape::Circle, false),
        (_, Some(Verdict::Undecided)) => (FAINT, Shape::Circle, true),
        (_, None) => (PLAIN, Shape::Square, false),
    };
    MarkStyle { colour, shape, dash: "", hollow }
}
