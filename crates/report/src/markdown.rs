//! A report as Markdown: the finding, and a table for each metric, to be pasted where tables of pipes are understood.
use crate::Model;
use crate::sentence::{self, signed_change, signed_interval, unit_of_change, with_boundary};
use crate::text::{clean, word};
use powerband_record::{Level, format_number};

/// Prints a report.
#[must_use]
pub fn render(model: &Model) -> String {
    let mut text = format!("**{}.**\n", escaped(&sentence::headline(model)));
    let plan = &model.started;
    let far = plan.far.as_ref().map(|far| format!(", far end {far}")).unwrap_or_default();
    let about = format!("{}{far} ({}); {}", plan.machine, plan.system, sentence::load_of(model));
    let trials = sentence::counted(model.trials, "trial");
    let blocks = sentence::counted(model.blocks, "block");
    text += &format!("\n{}: {blocks}, {trials}; {}.\n", escaped(&about), sentence::ended(model));
    for (place, metric) in plan.metrics.iter().enumerate() {
        let levels = |at: usize| model.settings[at].levels.get(place).and_then(Option::as_ref);
        let shown: Vec<usize> = model.shown().into_iter().filter(|&at| levels(at).is_some()).collect();
        if shown.is_empty() {
            continue;
        }
        let name = escaped(&with_boundary(&metric.name, metric));
        let unit = model.verdicts(place).next().map(unit_of_change);
        let verdicts =
            unit.map(|unit| format!(" change, {} | interval | verdict |", escaped(unit))).unwrap_or_default();
        let rule = if unit.is_some() { " ---: | ---: | :--- |" } else { "" };
        text += &format!("\n| setting | {name} | 95 % interval |{verdicts}\n| :--- | ---: | ---: |{rule}\n");
        for at in shown {
            let setting = &model.settings[at];
            let mut row = vec![escaped(&setting.label)];
            row.extend(levels(at).map(level).unwrap_or_default());
            if unit.is_some() {
                row.extend(match setting.verdicts.get(place).and_then(Option::as_ref) {
                    None => [String::new(), String::new(), if at == 0 { "reference".into() } else { String::new() }],
                    Some(it) => {
                        [signed_change(it), signed_interval(it).unwrap_or_default(), word(it.verdict).to_owned()]
                    }
                });
            }
            text += &format!("| {} |\n", row.join(" | "));
        }
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
