//! The verdict of an experiment's page: the finding in one sentence, how sure it is, what to type to have it, and the picture
//! that shows it.
use super::figure::figure;
use super::html::{facts, paragraph, text, typed};
use crate::picture::Picture;
use crate::sentence;
use crate::text::gains;
use crate::typed;
use crate::typed::on_machines;
use crate::words::{capital, counted};
use crate::{Model, advice, deciding, no_advice};

/// The section's body: the words, and next to them, or below where there is no room, the picture.
pub(super) fn section(model: &Model, lead: Option<&Picture>) -> String {
    led(&words(model), lead)
}

/// Words with the picture that shows them, where there is one.
pub(super) fn led(words: &str, lead: Option<&Picture>) -> String {
    match lead {
        Some(lead) => format!("<div class=\"lead\">\n<div>\n{words}</div>\n{}</div>\n", figure(lead)),
        None => words.to_owned(),
    }
}

/// A finding as the largest thing on the page; a long one smaller, with a line for each metric.
pub(super) fn finding(words: &str) -> String {
    const LONG: usize = 160;
    if words.chars().count() <= LONG {
        return format!("<p class=\"finding\">{}.</p>\n", text(words));
    }
    let line = |part: &str| {
        // A label keeps its spelling.
        let part = part.strip_prefix("in ").map_or_else(|| part.to_owned(), |rest| format!("In {rest}"));
        format!("<p>{}.</p>\n", text(&part))
    };
    let lines: String = words.replace("; in ", ";\nin ").split(";\n").map(line).collect();
    format!("<div class=\"finding long\">\n{lines}</div>\n")
}

/// `500MHz: same throughput within 5 %, 6.5 % less power`; the finding where no setting is recommended.
fn answer(model: &Model) -> String {
    let recommended = advice(model).filter(|it| it.setting != 0 && model.started.search.is_none());
    let gains = recommended.map(|it| (it.setting, gains(model, it.setting))).filter(|(_, gains)| !gains.is_empty());
    gains.map_or_else(
        || sentence::headline(model),
        |(setting, gains)| format!("{}: {}", model.label(setting), gains.join(", ")),
    )
}

fn words(model: &Model) -> String {
    let (answer, finding_in_full) = (answer(model), sentence::headline(model));
    let mut body = finding(&answer);
    if answer != finding_in_full {
        body += &paragraph(&format!("{finding_in_full}."));
    }
    body += &facts(&sure(model));
    match advice(model) {
        Some(advice) => {
            let label = model.label(advice.setting);
            body += &match &advice.typed {
                Some(words) => {
                    let ask = format!("To apply {label} ({}):", advice.why);
                    let back = typed::taken_back(model, words)
                        .map(|words| format!("<p><code>{}</code> restores what was there before.</p>\n", text(&words)));
                    paragraph(&ask) + &typed(words) + &back.unwrap_or_default()
                }
                None => {
                    let none = advice.no_command.map(|why| format!(" There is no command for it: {why}."));
                    paragraph(&format!("Recommended: {label}, because {}.{}", advice.why, none.unwrap_or_default()))
                }
            };
        }
        None if model.started.calibration => {}
        None => {
            let why =
                no_advice(model).unwrap_or_else(|| "no setting is recommended yet: not everything is decided".into());
            body += &paragraph(&format!("{}.", capital(&why)));
        }
    }
    if let Some(words) = deciding(model) {
        body += &paragraph("To measure until everything is decided (a prediction):");
        body += &typed(&words);
    }
    if let Some(words) = model.going_on() {
        body += &paragraph("To resume it:");
        body += &typed(&words);
    }
    body
}

/// How sure the finding is, on what it rests, and where it was measured.
fn sure(model: &Model) -> Vec<(&'static str, String)> {
    let blocks = if model.started.search.is_some() { "run or round" } else { "block" };
    let blocks = counted(model.blocks, blocks).replace("run or rounds", "runs and rounds");
    let simulated = if model.is_simulated() { ", simulated" } else { "" };
    let certainty = if model.started.calibration { String::new() } else { sentence::certainty(model) };
    let certainty = sentence::missed(model).map_or(certainty.clone(), |missed| format!("{certainty}; {missed}"));
    vec![
        ("Error rate", certainty.trim_start_matches("error rate ").to_owned()),
        ("Trials", format!("{}, {blocks}; {}", counted(model.trials, "valid trial"), sentence::ended(model))),
        ("Machine", format!("{}; {}{simulated}", on_machines(&model.started, " with "), model.started.system)),
    ]
}
