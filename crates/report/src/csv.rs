//! A report as a table for spreadsheets (RFC 4180): a line for each setting, metric and statistic.
use powerband_record::{CommandEnd, Level, SettingVerdict, unit_of};

use crate::words::{finite, word};
use crate::{Distribution, Model, SettingReport};

/// The columns. `statistic` is `typical`, `p50`, `p90`, `p99`, `p99.9`, `max`, `trial N` for the value of one trial, `run N.M`
/// for one run of a repeated command, or, of a calibration, `noise`: the standard deviation of one trial, block means removed.
/// Changes are relative to the reference. `exit_status` is that of a trial's command, of a signal 128 and its number, where it
/// was not 0; the verdict on a setting whose command failed is `failed`.
const HEAD: &str =
    "setting,label,turns,metric,unit,statistic,trials,value,low,high,verdict,change,change_low,change_high,exit_status";
/// Columns that only a judged metric fills.
const NO_VERDICT: [String; 4] = [const { String::new() }; 4];

/// The same where a command failed.
const FAILED: [&str; 4] = ["failed", "", "", ""];

/// The whole table, with its head.
#[must_use]
pub fn render(model: &Model) -> String {
    let mut text = format!("{HEAD}\r\n");
    for (number, setting) in model.settings.iter().enumerate() {
        for ((metric, level), verdict) in model.started.metrics.iter().zip(&setting.levels).zip(&setting.verdicts) {
            if let Some(level) = level {
                let failed = metric.judged && setting.failed.is_some();
                let verdict =
                    if failed { FAILED.map(str::to_owned) } else { verdict.as_ref().map_or(NO_VERDICT, judged) };
                line(&mut text, number, setting, &metric.name, typical(level), verdict, None);
            }
        }
        for (name, distribution) in &setting.distributions {
            for fields in percentiles(distribution) {
                line(&mut text, number, setting, name, fields, NO_VERDICT, None);
            }
        }
        trials(&mut text, model, number, setting);
    }
    if let Some(reference) = model.settings.first() {
        for found in &model.calibrations {
            // A relative one in the metric's unit, as every value here.
            let sigma = if found.relative { found.sigma * found.level } else { found.sigma };
            let fields = ["noise".into(), found.trials.to_string(), number(sigma), String::new(), String::new()];
            line(&mut text, 0, reference, &found.metric, fields, NO_VERDICT, None);
        }
    }
    text
}

/// What each trial of a setting measured, and each run of a command that was repeated in it.
fn trials(text: &mut String, model: &Model, number: usize, setting: &SettingReport) {
    let one = |name: String, value: f64| [name, "1".into(), value.to_string(), String::new(), String::new()];
    for trial in model.values.iter().filter(|it| it.block > 0 && usize::try_from(it.setting) == Ok(number)) {
        for (metric, value) in model.started.metrics.iter().zip(&trial.values) {
            if let Some(value) = value {
                let fields = one(format!("trial {}", trial.trial), *value);
                line(text, number, setting, &metric.name, fields, NO_VERDICT, trial.ended);
            }
        }
        for (run, real_s) in (1..).zip(&trial.runs) {
            let name: String = format!("run {}.{run}", trial.trial);
            line(text, number, setting, "real_s", one(name, *real_s), NO_VERDICT, None);
        }
    }
}

fn line(
    text: &mut String,
    number: usize,
    setting: &SettingReport,
    metric: &str,
    fields: [String; 5],
    verdict: [String; 4],
    ended: Option<CommandEnd>,
) {
    let names = [&number.to_string(), &setting.label, &setting.turns, metric, unit_of(metric)].map(cell);
    let status = ended.map(|ended| ended.status.code().to_string()).unwrap_or_default();
    let line: Vec<String> = names.into_iter().chain(fields).chain(verdict).chain([status]).collect();
    *text += &line.join(",");
    *text += "\r\n";
}

fn typical(level: &Level) -> [String; 5] {
    ["typical".into(), level.trials.to_string(), number(level.typical), number(level.low), number(level.high)]
}

fn percentiles(distribution: &Distribution) -> Vec<[String; 5]> {
    let trials = distribution.trials().to_string();
    let mut lines: Vec<[String; 5]> = distribution
        .percentiles()
        .into_iter()
        .map(|it| {
            let (low, high) = it.interval.unzip();
            [it.name.into(), trials.clone(), number(it.value), number(low), number(high)]
        })
        .collect();
    lines.push(["max".into(), trials, distribution.max().to_string(), String::new(), String::new()]);
    lines
}

fn judged(verdict: &SettingVerdict) -> [String; 4] {
    [word(verdict.verdict).into(), number(verdict.change), number(verdict.low), number(verdict.high)]
}

/// Nothing for what is no number.
fn number(value: impl Into<Option<f64>>) -> String {
    finite(value).map(|value| value.to_string()).unwrap_or_default()
}

/// A text that is harmless in a cell: characters that are not seen show as their code points, and what a spreadsheet would
/// take for a formula (CWE-1236) is marked as text by an apostrophe, numbers excepted.
pub(crate) fn harmless(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && text.parse::<f64>().is_err();
    format!("{}{}", if is_formula { "'" } else { "" }, crate::escape::seen(text))
}

/// A [`harmless`] text in quotes where a comma, a quote or a line end asks for them.
fn cell(text: &str) -> String {
    let field = &harmless(text);
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn no_cell_is_a_formula_or_a_sequence() {
        for (text, wanted) in [
            ("=1+1", "'=1+1"),
            ("+cmd|'/C calc'!A0", "'+cmd|'/C calc'!A0"),
            ("@x,y", "\"'@x,y\""),
            ("-x", "'-x"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'U+000D=1"),
            ("-1.5e3", "-1.5e3"),
            ("+7", "+7"),
            ("a=1", "a=1"),
            ("a\u{1b}[2J", "aU+001B[2J"),
        ] {
            assert_eq!(cell(text), wanted);
        }
    }
}
