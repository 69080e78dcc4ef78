//! The headline of an experiment's page: the recommended setting with what it gains and what it costs.
use powerband_record::{Level, Metric, SettingVerdict, Verdict, unit_of};

use crate::sentence::{self, finite};
use crate::{Model, advice};

/// Metrics besides the decision metrics that are named.
const BESIDES: usize = 2;
/// A typical value that differs by less than this share says little.
const LEAST: f64 = 0.01;

/// Names of metrics in a headline, the most important first.
const NOUNS: [(&str, &str); 9] = [
    ("power_w", "power"),
    ("energy_j", "energy"),
    ("rate_mbit_s", "throughput"),
    ("requests_per_s", "requests per second"),
    ("p99_us", "p99 latency"),
    ("mean_us", "mean latency"),
    ("rtt_ms", "round-trip time"),
    ("rtt_us", "round-trip time"),
    ("real_s", "time"),
];

/// `500MHz: same throughput, 6.5 % less power`; the finding where no setting is recommended.
pub(super) fn answer(model: &Model) -> String {
    let finding = || sentence::headline(model);
    let Some(advice) = advice(model).filter(|it| it.setting != 0 && model.started.search.is_none()) else {
        return finding();
    };
    let Some(setting) = usize::try_from(advice.setting).ok().and_then(|at| model.settings.get(at)) else {
        return finding();
    };
    let decided = model.judged().filter_map(|(place, metric)| clause(metric, setting.verdicts.get(place)?.as_ref()?));
    let mut clauses: Vec<String> = decided.collect();
    if clauses.is_empty() {
        return finding();
    }
    let levels = |place: usize| {
        let of = |at: usize| model.settings.get(at)?.levels.get(place)?.as_ref();
        of(0).zip(setting.levels.get(place)?.as_ref())
    };
    let mut others: Vec<(usize, String)> = (0..)
        .zip(&model.started.metrics)
        .filter(|(_, metric)| !metric.judged)
        .filter_map(|(place, metric)| {
            let (reference, here) = levels(place)?;
            Some((importance(&metric.name)?, besides(metric, reference, here)?))
        })
        .collect();
    others.sort();
    // Over loads of one length energy says what power says.
    if others.first().is_some_and(|(importance, _)| *importance == 0) {
        others.retain(|(importance, _)| *importance != 1);
    }
    clauses.extend(others.into_iter().take(BESIDES).map(|(_, clause)| clause));
    format!("{}: {}", model.label(advice.setting), clauses.join(", "))
}

fn importance(metric: &str) -> Option<usize> {
    NOUNS.iter().position(|(name, _)| *name == metric)
}

fn noun(metric: &str) -> &str {
    NOUNS.iter().find(|(name, _)| *name == metric).map_or(metric, |(_, noun)| noun)
}

fn way(change: f64) -> &'static str {
    if change < 0.0 { "less" } else { "more" }
}

/// One decision metric.
fn clause(metric: &Metric, verdict: &SettingVerdict) -> Option<String> {
    let noun = noun(&metric.name);
    Some(match verdict.verdict {
        Verdict::Same => format!("same {noun}"),
        Verdict::Undecided => format!("{noun} undecided"),
        Verdict::Better | Verdict::Worse => {
            let size = sentence::signed_change(verdict);
            let (size, unit) = (size.trim_start_matches(['+', '-', '\u{2212}']), sentence::unit_of_change(verdict));
            format!("{size} {unit} {} {noun}", way(verdict.change))
        }
    })
}

/// Another metric, where its intervals show that it differs.
fn besides(metric: &Metric, reference: &Level, here: &Level) -> Option<String> {
    let apart = |low: &Level, high: &Level| Some(finite(low.high)? < finite(high.low)?);
    if !(apart(reference, here)? || apart(here, reference)?) || reference.typical <= 0.0 {
        return None;
    }
    let (change, noun) = (here.typical / reference.typical - 1.0, noun(&metric.name));
    if change.abs() < LEAST {
        return None;
    }
    let difference = here.typical - reference.typical;
    let size = match unit_of(&metric.name) {
        // Times are felt as they are, and a share of little is much.
        unit @ ("s" | "ms" | "us") => format!("{} {unit}", powerband_record::format_number(rounded(difference.abs()))),
        _ => format!("{:.1} %", change.abs() * 100.0),
    };
    Some(format!("{size} {} {noun}", way(change)))
}

/// Two significant digits.
fn rounded(value: f64) -> f64 {
    let unit = 10_f64.powi(value.log10().floor() as i32 - 1);
    if unit.is_finite() && unit > 0.0 { (value / unit).round() * unit } else { value }
}
