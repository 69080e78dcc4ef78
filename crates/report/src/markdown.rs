//! A report as Markdown: the finding, and a table for each metric, to be pasted where tables of pipes are understood.
use crate::calibration::{NOISE, noise_cells};
use crate::change::{head, signed_change, signed_interval, with_unit};
use crate::layout::clean;
use crate::load;
use crate::sentence;
use crate::typed::on_machines;
use crate::words;
use crate::words::with_boundary;
use crate::{Model, commands};
use powerband_record::{Level, Metric, format_number, unit_of};

/// Prints a report.
#[must_use]
pub fn render(model: &Model) -> String {
    let mut text = format!("**{}.**\n", escaped(&sentence::headline(model)));
    let plan = &model.started;
    let about = format!("{}; {}; {}", on_machines(plan, ", peer "), plan.system, load::load_of(model));
    let trials = words::counted(model.trials, "trial");
    let blocks = words::counted(model.blocks, "block");
    text += &format!("\n{}: {blocks}, {trials}; {}.\n", escaped(&about), sentence::ended(model));
    for (place, metric) in plan.metrics.iter().enumerate() {
        let levels = |at: usize| model.settings[at].levels.get(place).and_then(Option::as_ref);
        let shown: Vec<usize> = model.shown().into_iter().filter(|&at| levels(at).is_some()).collect();
        if shown.is_empty() {
            continue;
        }
        let name = escaped(&with_boundary(&metric.name, metric));
        let failed = || (metric.judged && model.has_verdicts(place)).then(|| "change".to_owned());
        let change = model.verdicts(place).next().map(head).or_else(failed);
        let verdicts =
            change.as_ref().map(|head| format!(" {} | interval | verdict |", escaped(head))).unwrap_or_default();
        let rule = if change.is_some() { " ---: | ---: | :--- |" } else { "" };
        text += &format!("\n| setting | {name} | 95 % interval |{verdicts}\n| :--- | ---: | ---: |{rule}\n");
        for at in shown {
            let setting = &model.settings[at];
            let mut row = vec![escaped(&setting.label)];
            row.extend(levels(at).map(level).unwrap_or_default());
            if change.is_some() {
                let verdict = setting.verdicts.get(place).and_then(Option::as_ref);
                let interval = verdict.and_then(signed_interval).unwrap_or_default();
                let word = model.verdict_word(at, place).to_owned();
                row.extend([verdict.map(signed_change).unwrap_or_default(), interval, word]);
            }
            text += &format!("| {} |\n", row.join(" | "));
        }
    }
    text + &noise(model)
}

/// The noise of each metric, after a calibration.
fn noise(model: &Model) -> String {
    if model.calibrations.is_empty() {
        return String::new();
    }
    let line =
        |cells: Vec<String>| format!("| {} |\n", cells.iter().map(|it| escaped(it)).collect::<Vec<_>>().join(" | "));
    let head = line(NOISE.map(String::from).to_vec());
    let rows: String = model.calibrations.iter().map(|found| line(noise_cells(found))).collect();
    format!("\n{head}| :--- |{}\n{rows}", " ---: |".repeat(NOISE.len() - 1))
}

/// Prints one table: a line for each setting, a column for each decision metric with its 95 % interval, and the verdict.
#[must_use]
pub fn table(model: &Model) -> String {
    let judged: Vec<(usize, &Metric)> = model.judged().collect();
    let level = |at: usize, place: usize| model.settings[at].levels.get(place).and_then(Option::as_ref);
    let shown = model.shown();
    let units: Vec<(f64, String)> = judged
        .iter()
        .map(|(place, metric)| {
            let all: Vec<&Level> = shown.iter().filter_map(|&at| level(at, *place)).collect();
            let (factor, unit) = match unit_of(&metric.name) {
                "s" => commands::unit_of_time(&all),
                unit => (1.0, unit),
            };
            (factor, if unit.is_empty() { metric.name.clone() } else { format!("{} [{unit}]", metric.name) })
        })
        .collect();
    let columns: String = units.iter().map(|(_, name)| format!(" {} | change | verdict |", escaped(name))).collect();
    let mut text = format!("| setting |{columns}\n| :--- |{}\n", " ---: | ---: | :--- |".repeat(units.len()));
    for at in shown {
        let setting = &model.settings[at];
        text += &format!("| {} |", escaped(&setting.label));
        for ((place, _), (factor, _)) in judged.iter().zip(&units) {
            let value = level(at, *place).map(|level| commands::with_half_width(level, *factor)).unwrap_or_default();
            let verdict = setting.verdicts.get(*place).and_then(Option::as_ref);
            let change = verdict.map(|it| with_unit(&signed_change(it), it)).unwrap_or_default();
            let word = model.verdict_word(at, *place);
            text += &format!(" {value} | {} | {word} |", escaped(&change));
        }
        text += "\n";
    }
    text
}

fn level(level: &Level) -> [String; 2] {
    let interval =
        level.low.zip(level.high).map(|(low, high)| format!("{} .. {}", format_number(low), format_number(high)));
    [format_number(level.typical), interval.unwrap_or_default()]
}

/// Text that is neither table nor markup nor HTML.
fn escaped(raw: &str) -> String {
    let mut safe = String::new();
    for c in clean(raw).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '$' => safe.extend(['\\', c]),
            c => safe.push(c),
        }
    }
    safe
}
