//! How every report on a terminal ends: the answer, how sure it is, what was restored, and what to type next, the command that
//! matters most as the very last line.
use powerband_record::{CloseReason, format_duration};

use super::super::{clean, fold};
use super::answer;
use crate::sentence::{self, counted, percent, quoted};
use crate::{End, Model, advice, deciding};

/// Caveats told one by one; more are counted.
const CAVEATS: usize = 2;
/// Lines of one sentence.
const LINES: usize = 3;

/// The last lines of a report. With `all`, the caveats were listed above.
pub(in super::super) fn lines(model: &Model, width: usize, colour: bool, all: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (place, sentence) in answer::sentences(model).iter().enumerate() {
        let folded = shortened(fold(sentence, width, 0));
        lines.extend(folded.into_iter().map(|line| match colour && place == 0 {
            true => format!("\x1b[1m{line}\x1b[0m"),
            false => line,
        }));
    }
    lines.extend(shortened(fold(&sureness(model), width, 0)));
    if !all {
        lines.extend(caveats(model, width));
    }
    lines.extend(commands(model, width));
    lines
}

/// At most so many lines, the last with a sign that there was more.
fn shortened(mut lines: Vec<String>) -> Vec<String> {
    if lines.len() > LINES {
        lines.truncate(LINES);
        if let Some(last) = lines.last_mut() {
            last.pop();
            last.push('…');
        }
    }
    lines
}

/// The error rate, and what was restored.
fn sureness(model: &Model) -> String {
    let mut parts = Vec::new();
    let plan = &model.started;
    if plan.search.is_some() {
        parts.push(format!("Error rate {} for the answer.", percent(plan.alpha)));
    } else if !plan.calibration {
        let ranks = if plan.robust { ", compared by ranks" } else { "" };
        parts.push(format!(
            "Error rate {} over all comparisons, equal within {}{ranks}.",
            percent(plan.alpha),
            percent(plan.margin)
        ));
    }
    parts.push(restored(model));
    parts.join(" ")
}

/// What was restored, in a sentence.
fn restored(model: &Model) -> String {
    match &model.restored {
        None => "Whether everything was restored is not recorded.".into(),
        Some(done) if !done.failed.is_empty() => {
            let failed = counted(u32::try_from(done.failed.len()).unwrap_or(u32::MAX), "change");
            format!("RESTORE INCOMPLETE: {failed} could not be restored: {}", done.failed.join("; "))
        }
        Some(done) if done.entries == 0 => "Nothing had to be restored.".into(),
        Some(_) => "Everything was restored.".into(),
    }
}

/// What to know with the answer: the first of it, and how much more there is.
fn caveats(model: &Model, width: usize) -> Vec<String> {
    let all = super::caveats::all(model);
    let told = if all.len() > CAVEATS { 1 } else { all.len() };
    let mut lines: Vec<String> = all
        .iter()
        .take(told)
        .flat_map(|caveat| shortened(fold(&format!("Caveat: {}", clean(caveat)), width, 2)))
        .collect();
    let more = all.len() - told;
    if more > 0 {
        lines.push(format!(
            "{} more with -v (see details).",
            counted(u32::try_from(more).unwrap_or(u32::MAX), "caveat")
        ));
    }
    lines
}

/// What to type: details, the page, and last what is most likely wanted.
fn commands(model: &Model, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let stored = model.header.as_ref().map(|header| {
        let store = store(&header.command_line);
        let show = format!("powerband{store} show {} -v", header.id);
        (show, format!("powerband{store} report {}", header.id))
    });
    let wanted = wanted(model);
    if let Some((show, page)) = &stored {
        match &wanted {
            Some(_) => lines.push(format!("details  {show}     page  {page}")),
            None => lines.push(format!("page     {page}")),
        }
    }
    match (wanted, stored) {
        (Some((what, command)), _) => {
            lines.extend(fold(&what, width, 0));
            lines.push(clean(&command));
        }
        (None, Some((show, _))) => {
            lines.push("details:".to_owned());
            lines.push(show);
        }
        (None, None) => {}
    }
    lines
}

/// What it is good for to type a command, and the command.
fn wanted(model: &Model) -> Option<(String, String)> {
    let undo = || sentence::undo(model);
    if model.restored.as_ref().is_some_and(|done| !done.failed.is_empty()) {
        return Some(("restore the rest:".into(), undo()));
    }
    if let Some(command) = model.going_on() {
        return Some(("resume it:".into(), command));
    }
    let advised = advice(model);
    if let Some((advice, command)) = advised.as_ref().and_then(|it| Some((it, it.typed.clone()?))) {
        let label = super::super::names::name(model, advice.setting);
        return Some(match sentence::taken_back(model, &command) {
            Some(undo) => (format!("apply {label} (to undo it: {undo}):"), command),
            None => (format!("run a command with {label}:"), command),
        });
    }
    if let Some(command) = deciding(model) {
        return Some((format!("decide it{}:", takes(model)), command));
    }
    let gone = matches!(model.end, End::Closed(CloseReason::LoadFailed { .. }) | End::Open);
    (gone && model.restored.is_none()).then(|| ("restore what may be left:".into(), undo()))
}

/// How long more blocks take, where that is known.
fn takes(model: &Model) -> String {
    let more = model.blocks_missing().map(|(_, high)| u64::from(high));
    let each = model.elapsed_ns.checked_div(u64::from(model.blocks));
    let left = more.zip(each).map(|(more, each)| (model.elapsed_ns + more * each) / 1_000_000_000 * 1_000_000_000);
    left.map_or_else(String::new, |ns| format!(" (takes up to {})", format_duration(ns)))
}

/// The store that was named where the experiment was begun, as an option behind a blank.
fn store(words: &[String]) -> String {
    let ours = words.iter().take_while(|word| *word != "--");
    let mut ours = ours.skip_while(|word| *word != "--store" && !word.starts_with("--store="));
    let named = match ours.next().map(|word| word.strip_prefix("--store=")) {
        Some(Some(path)) => Some(path.to_owned()),
        Some(None) => ours.next().cloned(),
        None => None,
    };
    named.map(|path| format!(" --store {}", quoted(&path))).unwrap_or_default()
}
