//! The verdict of an experiment's page: the finding in one sentence, how sure it is, what to type to have it, and the picture
//! that shows it.
use powerband_record::{SearchEnd, Standing, Verdict};

use super::figure::figure;
use super::html::{facts, paragraph, text, typed};
use crate::picture::Picture;
use crate::sentence::{self, counted};
use crate::{Model, Search, text as terminal};

/// What a reader may do about the finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// Index of the setting.
    pub setting: u32,
    /// Why this one, in a sentence.
    pub why: String,
    /// What to type; absent where nothing can be turned, or it turns nothing.
    pub typed: Option<String>,
}

/// The setting the finding speaks for; absent when it speaks for none.
#[must_use]
pub fn advice(model: &Model) -> Option<Advice> {
    let (setting, why) = chosen(model)?;
    Some(Advice { setting, why, typed: sentence::typed_for(model, setting) })
}

fn chosen(model: &Model) -> Option<(u32, String)> {
    if model.started.search.is_some() {
        let Some(Search::Found(found)) = &model.search else { return None };
        let confirmed = found.setting.filter(|_| found.end == SearchEnd::Confirmed)?;
        return Some((confirmed, "the search confirmed it in trials of its own".into()));
    }
    if let Some(found) = &model.knee {
        return Some((found.knee?, "it is the cheapest setting that loses nothing".into()));
    }
    let better: Vec<u32> =
        (1..).zip(model.settings.iter().skip(1)).filter(|(at, _)| is_better(model, *at)).map(|(at, _)| at).collect();
    let (first, _) = model.judged().next()?;
    let gain = |at: &u32| {
        let verdict = model.settings.get(usize::try_from(*at).ok()?)?.verdicts.get(first)?.as_ref()?;
        Some(verdict.change.abs())
    };
    let best = better.iter().copied().max_by(|a, b| gain(a).unwrap_or(0.0).total_cmp(&gain(b).unwrap_or(0.0)))?;
    Some((
        best,
        match better.len() {
            1 => "it is better than the reference and worse in nothing that was judged".into(),
            several => format!(
                "of {several} settings that are better than the reference and worse in nothing that was judged it has the largest estimated gain; \
             they were compared with the reference, not with one another"
            ),
        },
    ))
}

/// Better in something, worse and open in nothing, within all that is required.
fn is_better(model: &Model, at: u32) -> bool {
    let Some(setting) = usize::try_from(at).ok().and_then(|at| model.settings.get(at)) else { return false };
    let verdicts = || setting.verdicts.iter().flatten().map(|verdict| verdict.verdict);
    verdicts().any(|verdict| verdict == Verdict::Better)
        && verdicts().all(|verdict| matches!(verdict, Verdict::Better | Verdict::Same))
        && model.requirements.iter().filter(|it| it.setting == at).all(|it| it.standing == Standing::Holds)
}

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
                    // `with` puts back by itself what it held.
                    let back = match words.contains(" with ") {
                        true => "",
                        false => "<p><code>powerband undo</code> takes it back.</p>\n",
                    };
                    paragraph(&ask) + &typed(words) + back
                }
                None => paragraph(&format!(
                    "The finding speaks for {label}: {}. There is nothing to type for it: it turns nothing, or it was \
                     measured in a table, which has no knobs.",
                    advice.why
                )),
            };
        }
        None if model.started.calibration => {}
        None => body += &paragraph("Nothing is shown to be better in all that was judged: there is nothing to set."),
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
    if model.started.search.is_none() && !model.started.calibration {
        sure.push(("How sure", sentence::certainty(model)));
    }
    if let Some(missed) = sentence::missed(model) {
        sure.push(("What may be missed", missed));
    }
    let blocks = if model.started.search.is_some() { "run or round" } else { "block" };
    let blocks = counted(model.blocks, blocks).replace("run or rounds", "runs and rounds");
    sure.push(("Rests on", format!("{blocks}, {}; {}", counted(model.trials, "valid trial"), sentence::ended(model))));
    if let Some(advice) = advice(model) {
        let setting = usize::try_from(advice.setting).ok().and_then(|at| model.settings.get(at));
        for verdict in setting.into_iter().flat_map(|setting| &setting.verdicts).flatten() {
            let interval = sentence::signed_interval(verdict).map(|it| format!(" ({it})")).unwrap_or_default();
            let change = format!(
                "{}: {} {}{interval}, {}",
                verdict.metric,
                sentence::signed_change(verdict),
                sentence::unit_of_change(verdict),
                terminal::word(verdict.verdict)
            );
            sure.push(("Against the reference", change));
        }
    }
    sure
}
