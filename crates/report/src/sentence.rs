//! Findings in words: the sentence a report begins with, and the single lines that text and JSON share.
use powerband_record::{BASELINE, CloseReason, Metric, SettingVerdict, Started, Verdict, Void, format_number, is_loss};
use powerband_stats::Rules;

use crate::change::{bare_size, margin_of, signed_change, signed_interval, size, with_unit};
use crate::labels::join_labels;
use crate::words::{and, counted, finite, percent, utc, with_boundary};
use crate::{ExperimentEnd, Model, commands, requirements};

mod certainty;
mod search;

pub use certainty::certainty;
pub(crate) use certainty::judged;
pub use search::missed;
pub(crate) use search::{closest, holds, known, limits, line, settings_tried};

/// How many settings are named in one clause before "and N others".
const NAMED: usize = 3;

/// What must be known with the verdicts, those of single settings among them, a sentence each.
#[must_use]
pub fn notes(model: &Model) -> Vec<String> {
    let mut notes = model.notes.clone();
    for setting in &model.settings {
        for verdict in setting.verdicts.iter().flatten() {
            let head = format!("{}, {}", setting.label, verdict.metric);
            notes.extend(verdict.notes.iter().map(|note| format!("{head}: {note}")));
            if verdict.unstable {
                notes.push(format!("{head}: its own noise is larger than that of the other settings"));
            }
        }
    }
    notes
}

/// Settings whose command failed, a clause each: `k=2 failed in 5 of 5 trials (exit status 1)`.
pub(crate) fn failures(model: &Model) -> Vec<String> {
    let failed =
        (0_u32..).zip(&model.settings).filter_map(|(setting, report)| Some((setting, report.failed.as_ref()?)));
    failed.map(|(setting, trials)| format!("{} {trials}", model.label(setting))).collect()
}

/// What failed, as a clause of the finding.
fn failed(model: &Model) -> Option<String> {
    let all = failures(model);
    let more = all.len().saturating_sub(NAMED);
    let mut named: Vec<String> = all.into_iter().take(NAMED).collect();
    named.extend((more > 0).then(|| counted(u32::try_from(more).unwrap_or(u32::MAX), "other setting") + " failed too"));
    let subject = if model.failed(0).is_some() { "nothing is compared with it" } else { "which is not compared" };
    let subject = if named.len() > 1 && model.failed(0).is_none() { "which are not compared" } else { subject };
    (!named.is_empty()).then(|| format!("{}, {subject}", and(&named)))
}

/// The whole finding in one sentence, without a full stop.
#[must_use]
pub fn headline(model: &Model) -> String {
    if model.started.search.is_some() {
        return search::headline(model);
    }
    let body = findings(model);
    let so_far = |body: Option<String>| body.map_or_else(String::new, |body| format!("; until then: {body}"));
    let count = format!("{} of at most {}", model.blocks, blocks(model.started.max_blocks));
    match &model.end {
        ExperimentEnd::Closed(CloseReason::LoadFailed { why }) => format!("the load failed: {why}"),
        ExperimentEnd::Closed(CloseReason::Failed { why }) => format!("it could not go on: {why}{}", so_far(body)),
        ExperimentEnd::Closed(CloseReason::Stopped) => match body {
            Some(body) => format!("stopped after {count}: {body}"),
            None => format!("stopped after {count}, before anything could be compared"),
        },
        ExperimentEnd::Interrupted => match body {
            Some(body) => format!("interrupted after {count}: {body}"),
            None => format!("interrupted after {count}, before anything could be compared"),
        },
        ExperimentEnd::Open => match body {
            Some(body) => format!("no end is recorded, {count} so far: {body}"),
            None => format!("no end is recorded, {count} so far, nothing compared"),
        },
        ExperimentEnd::Closed(_) => body.unwrap_or_else(|| match model.blocks {
            few if few < first_look(model) => {
                format!("nothing could be compared: it ended after {}, allow more (--blocks, --budget)", blocks(few))
            }
            _ => "nothing could be compared".into(),
        }),
    }
}

/// The block after which anything is compared first.
pub(crate) fn first_look(model: &Model) -> u32 {
    let rules = if model.started.judge_mean { Rules::mean() } else { Rules::default() };
    rules.first_look()
}

fn findings(model: &Model) -> Option<String> {
    if model.started.calibration {
        return crate::calibration::headline(model);
    }
    let found = compared(model);
    let clauses: Vec<String> = [found, requirements::clause(model), failed(model)].into_iter().flatten().collect();
    (!clauses.is_empty()).then(|| clauses.join("; "))
}

fn compared(model: &Model) -> Option<String> {
    if let Some(knee) = knee(model) {
        return Some(knee);
    }
    // Where nothing is lost to speak of, nothing is said of losses.
    let said = |(place, metric): &(usize, &Metric)| {
        !is_loss(&metric.name) || model.verdicts(*place).any(|it| it.verdict != Verdict::Same)
    };
    let several = model.judged().filter(said).count() > 1;
    let metrics: Vec<String> = model
        .judged()
        .filter(said)
        .filter_map(|(place, metric)| {
            let clauses = comparisons(model, place)?;
            Some(if several { format!("in {}, {clauses}", with_boundary(&metric.name, metric)) } else { clauses })
        })
        .collect();
    match metrics.is_empty() {
        false => Some(metrics.join("; ")),
        true if model.settings.len() == 1 => only_level(model),
        true => None,
    }
}

/// With a single setting there is nothing to compare; its first metric is the finding.
pub(crate) fn only_level(model: &Model) -> Option<String> {
    let setting = model.settings.first()?;
    let (metric, level) =
        model.started.metrics.iter().zip(&setting.levels).find_map(|(m, l)| Some((m, l.as_ref()?)))?;
    let typical = format_number(level.typical);
    let interval = match (finite(level.low), finite(level.high)) {
        (Some(low), Some(high)) => format!(" ({} .. {})", format_number(low), format_number(high)),
        _ => String::new(),
    };
    Some(format!("{}: {} {typical}{interval}", setting.label, with_boundary(&metric.name, metric)))
}

/// The knee in one sentence; absent when none was sought or no look was taken.
#[must_use]
pub fn knee(model: &Model) -> Option<String> {
    let finding = model.knee.as_ref().filter(|_| !model.started.cost_order.is_empty())?;
    let margin = percent(model.started.margin);
    let several = model.judged().count() > 1;
    let metric = if several { format!(" in {}", finding.metric) } else { String::new() };
    if finding.none {
        let (costliest, cheaper) = model.started.cost_order.split_last()?;
        let labels: Vec<String> = cheaper.iter().map(|&setting| model.label(setting)).collect();
        let loses = if labels.len() == 1 { "loses" } else { "each lose" };
        return Some(format!(
            "there is no knee: {} {loses} more than {margin}{metric}, so nothing cheaper than {} does",
            join_labels(&labels, NAMED + 2),
            model.label(*costliest)
        ));
    }
    let Some(knee) = finding.knee else {
        let likely = match (finding.provisional, finding.probability.filter(|p| p.is_finite())) {
            (Some(setting), Some(p)) => format!("the knee may be {} (probability {p:.2})", model.label(setting)),
            (Some(setting), None) => format!("the knee may be {}", model.label(setting)),
            (None, _) => "there is no clear knee".to_owned(),
        };
        return Some(format!("undecided: {likely}{metric}{}", more_blocks(model.blocks_missing())));
    };
    let by_cost = |wanted: &dyn Fn(u32) -> bool| -> Vec<String> {
        model.started.cost_order.iter().filter(|&&s| wanted(s)).map(|&s| model.label(s)).collect()
    };
    let alike = by_cost(&|s| s == knee || finding.alike.contains(&s));
    let short = by_cost(&|s| s != knee && finding.inferior.contains(&s));
    let why = if alike.len() > 1 {
        format!("{} are the same within {margin}{metric}", join_labels(&alike, NAMED + 2))
    } else if !short.is_empty() {
        let verb = if short.len() == 1 { "falls" } else { "fall" };
        format!("{} {verb} short of the best by more than {margin}{metric}", join_labels(&short, NAMED + 2))
    } else {
        format!("it is within {margin} of every other{metric}")
    };
    let but = crate::advice::obstacle(model, knee).map_or_else(String::new, |obstacle| {
        let instead = match crate::advice::fitting_knee(model) {
            Some(other) => format!("{} is the cheapest of these against which nothing speaks", model.label(other)),
            None => "so it is not recommended".to_owned(),
        };
        format!("; but it {obstacle}, {instead}")
    });
    Some(format!("{} is the knee: {why}{but}", model.label(knee)))
}

/// What is found on one metric, a clause for each verdict there is.
fn comparisons(model: &Model, metric: usize) -> Option<String> {
    let reference = match model.label(0) {
        label if label == BASELINE => "the baseline".to_owned(),
        label => label,
    };
    let all: Vec<&SettingVerdict> = model.verdicts(metric).collect();
    let of = |verdict| all.iter().copied().filter(move |v| v.verdict == verdict).collect::<Vec<_>>();
    let labels =
        |of: &[&SettingVerdict]| join_labels(&of.iter().map(|v| model.label(v.setting)).collect::<Vec<_>>(), NAMED);
    let mut clauses = vec![];
    let in_times = model.started.metrics.get(metric).is_some_and(|it| commands::are_compared(model, &it.name));
    for (verdict, word) in [(Verdict::Better, "better"), (Verdict::Worse, "worse")] {
        match of(verdict).as_slice() {
            [] => {}
            some if in_times && some.len() <= NAMED => {
                clauses.extend(some.iter().filter_map(|verdict| commands::times_as_fast(model, verdict)));
            }
            [one] => {
                let by = size(one);
                clauses.push(format!("{} is {word} than {reference} by {by}", model.label(one.setting)));
            }
            some if some.len() <= NAMED => {
                let named = |v: &&SettingVerdict| format!("{} (by {})", model.label(v.setting), bare_size(v));
                let named: Vec<String> = some.iter().map(named).collect();
                clauses.push(format!("{} are {word} than {reference}", and(&named)));
            }
            many => clauses.push(format!("{} are {word} than {reference}", labels(many))),
        }
    }
    match of(Verdict::Same).as_slice() {
        [] => {}
        some => {
            let verb = if some.len() == 1 { "is" } else { "are" };
            let margin = margin_of(model, &some[0].metric);
            clauses.push(format!("{} {verb} the same as {reference} within {margin}", labels(some)));
        }
    }
    match of(Verdict::Undecided).as_slice() {
        [] => {}
        [one] => {
            let found = match signed_interval(one) {
                Some(interval) => format!(" ({}, {interval})", with_unit(&signed_change(one), one)),
                None => String::new(),
            };
            let more = more_blocks(model.missing_of(std::iter::once(*one)));
            clauses.push(format!("undecided: {} against {reference}{found}{more}", model.label(one.setting)));
        }
        some => {
            let more = model.missing_of(some.iter().copied());
            clauses.push(format!("undecided: {} against {reference}{}", labels(some), more_blocks(more)));
        }
    }
    (!clauses.is_empty()).then(|| clauses.join("; "))
}

fn more_blocks(missing: Option<(u32, u32)>) -> String {
    match missing {
        None => String::new(),
        Some((low, high)) if low == high => format!(", about {} more would decide", blocks(low)),
        Some((low, high)) => format!(", about {low} to {high} blocks more would decide"),
    }
}

fn blocks(count: u32) -> String {
    counted(count, "block")
}

/// How it ended, in a few words.
#[must_use]
pub fn ending(end: &ExperimentEnd) -> &'static str {
    match end {
        ExperimentEnd::Open => "no end is recorded: it is running, or its process died",
        ExperimentEnd::Interrupted => "it was interrupted",
        ExperimentEnd::Closed(CloseReason::Decided) => "everything was decided",
        ExperimentEnd::Closed(CloseReason::Blocks) => "the most blocks were run",
        ExperimentEnd::Closed(CloseReason::Budget) => "the time was used up",
        ExperimentEnd::Closed(CloseReason::Stopped) => "the user stopped it",
        ExperimentEnd::Closed(CloseReason::LoadFailed { .. }) => "the load failed",
        ExperimentEnd::Closed(CloseReason::Failed { .. }) => "aborted",
    }
}

/// How an experiment ended, in a few words.
#[must_use]
pub fn ended(model: &Model) -> &'static str {
    match &model.end {
        ExperimentEnd::Closed(CloseReason::Decided) if model.started.search.is_some() => "the search came to its end",
        ExperimentEnd::Closed(CloseReason::Blocks) if model.started.search.is_some() => "the most runs were made",
        end => ending(end),
    }
}

/// Where the margin comes from, in words.
pub(crate) fn margin_source(plan: &Started) -> &str {
    match plan.margin_source.as_str() {
        "plan" => "from the plan",
        "option" => "from --margin",
        "calibration" => "from a calibration of this machine with this load",
        "default" => "the default",
        other => other,
    }
}

/// What was restored, and what was not.
#[must_use]
pub fn restoration(model: &Model) -> String {
    match &model.restored {
        None => "the journal does not record a restore; `powerband undo` checks and restores".into(),
        Some(done) if !done.failed.is_empty() => {
            let failed = u32::try_from(done.failed.len()).unwrap_or(u32::MAX);
            format!("RESTORE INCOMPLETE: {} undone, {} not", counted(done.entries, "change"), failed)
        }
        Some(done) if done.entries == 0 => "nothing was left to restore".into(),
        Some(done) => format!("everything, {} undone", counted(done.entries, "change")),
    }
}

/// How often and when it was gone on with, if it was.
#[must_use]
pub fn resumptions(model: &Model) -> Option<String> {
    let resumed = &model.header.as_ref()?.resumed;
    let last = resumed.last()?;
    let times = match resumed.len() {
        1 => "once".to_owned(),
        times => format!("{times} times, last"),
    };
    Some(format!("{times} at {} UTC, after {} events", utc(last.unix_s), last.kept_events))
}

/// What measuring cost, once the header knows.
#[must_use]
pub fn own_cost(model: &Model) -> Option<String> {
    let header = model.header.as_ref()?;
    let cpu = finite(header.observer_cpu_s).map(|seconds| format!("{} s of CPU time", format_number(seconds)));
    let woken = header.observer_wakeups.map(|count| format!("{count} wake-ups"));
    let parts: Vec<String> = cpu.into_iter().chain(woken).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Why a trial does not count, with the word for a stopped one that fits a sentence.
#[must_use]
pub fn void(why: &Void) -> String {
    match why {
        Void::Stopped => "stopped by the user in the middle".into(),
        other => other.to_string(),
    }
}
