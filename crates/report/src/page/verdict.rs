//! The verdict of an experiment's page: the finding in one sentence, how sure it is, what to type to have it, and the picture
//! that shows it.
use powerband_record::format_number;

use super::figure::figure;
use super::html::{facts, paragraph, text, typed};
use crate::picture::Picture;
use crate::sentence::{self, counted};
use crate::{Model, advice, deciding, no_advice, text as terminal};

/// The section's body: the words, and beside them, or below where there is no room, the picture.
pub(super) fn section(model: &Model, lead: Option<&Picture>) -> String {
    let words = words(model);
    match lead {
        Some(lead) => format!("<div class=\"lead\">\n<div>\n{words}</div>\n{}</div>\n", figure(lead)),
        None => words,
    }
}

/// A finding as the largest thing on the page, unless it is a long one.
pub(super) fn finding(words: &str) -> String {
    const LONG: usize = 160;
    let class = if words.chars().count() > LONG { "finding long" } else { "finding" };
    format!("<p class=\"{class}\">{}.</p>\n", text(words))
}

fn words(model: &Model) -> String {
    let mut body = finding(&sentence::headline(model));
    body += &facts(&sure(model));
    match advice(model) {
        Some(advice) => {
            let label = model.label(advice.setting);
            body += &match &advice.typed {
                Some(words) => {
                    let ask = format!("To have {label} on the machine ({}), type:", advice.why);
                    let back = sentence::taken_back(model, words)
                        .map(|words| format!("<p><code>{}</code> takes it back.</p>\n", text(&words)));
                    paragraph(&ask) + &typed(words) + &back.unwrap_or_default()
                }
                None => paragraph(&format!(
                    "The finding speaks for {label}: {}. There is nothing to type for it: it turns nothing, or it was \
                     measured in a table, which has no knobs.",
                    advice.why
                )),
            };
        }
        None if model.started.calibration => {}
        None => {
            let why =
                no_advice(model).unwrap_or_else(|| "no setting is recommended yet: not everything is decided".into());
            body += &paragraph(&format!("{}.", sentence::capitalised(&why)));
        }
    }
    if let Some(words) = deciding(model) {
        body += &paragraph("To run it until all of it is decided, as far as that can be foretold:");
        body += &typed(&words);
    }
    if let Some(words) = model.going_on() {
        body += &paragraph("It can go on:");
        body += &typed(&words);
    }
    body
}

/// How sure the finding is, and on what it rests.
fn sure(model: &Model) -> Vec<(&'static str, String)> {
    let mut sure = Vec::new();
    if !model.started.calibration {
        let doubts = if sentence::notes(model).is_empty() { "" } else { "; with what is to be known, below" };
        sure.push(("How sure", sentence::certainty(model) + doubts));
    }
    if let Some(missed) = sentence::missed(model) {
        sure.push(("What may be missed", missed));
    }
    let blocks = if model.started.search.is_some() { "run or round" } else { "block" };
    let blocks = counted(model.blocks, blocks).replace("run or rounds", "runs and rounds");
    sure.push(("Rests on", format!("{blocks}, {}; {}", counted(model.trials, "valid trial"), sentence::ended(model))));
    if let Some(advice) = advice(model) {
        let setting = usize::try_from(advice.setting).ok().and_then(|at| model.settings.get(at));
        let (label, reference) = (model.label(advice.setting), model.label(0));
        for verdict in setting.into_iter().flat_map(|setting| &setting.verdicts).flatten() {
            let interval = sentence::signed_interval(verdict).map(|it| format!(" ({it})")).unwrap_or_default();
            let change = format!(
                "{label} against {reference} in {}: {} {}{interval}, {}",
                verdict.metric,
                sentence::signed_change(verdict),
                sentence::unit_of_change(verdict),
                terminal::word(verdict.verdict)
            );
            sure.push(("What was judged", change));
        }
        sure.extend(besides(model, advice.setting).map(|told| ("Not judged", told)));
    }
    sure
}

/// What a setting costs or brings in the metrics that nothing was judged by: typical values against the reference's.
fn besides(model: &Model, setting: u32) -> Option<String> {
    /// What is told of at least, as a share: less is noise more often than not.
    const TOLD: f64 = 0.01;
    let level = |setting: usize, place: usize| model.settings.get(setting)?.levels.get(place)?.as_ref();
    let at = usize::try_from(setting).ok().filter(|at| *at != 0)?;
    let changes = model.started.metrics.iter().enumerate().filter(|(_, metric)| !metric.judged);
    let changes = changes.filter_map(|(place, metric)| {
        let (here, there) = (level(at, place)?.typical, level(0, place)?.typical);
        let change = here / there - 1.0;
        let words = format!(
            "{} {} instead of {} ({:+.1} %)",
            metric.name,
            format_number(here),
            format_number(there),
            change * 100.0
        );
        (there > 0.0 && change.abs() >= TOLD).then_some(words)
    });
    let told: Vec<String> = changes.collect();
    (!told.is_empty()).then(|| told.join(", "))
}
