//! How every report on a terminal ends: the answer, how sure it is, what was restored, and what to type next, the command that
//! matters most as the very last line.
use powerband_record::{CloseReason, Verdict, format_duration};

use super::answer;
use crate::advice::missing;
use crate::layout::{clean, columns, cut, fold};
use crate::sentence;
use crate::typed;
use crate::words::{capital, counted, percent};
use crate::{ExperimentEnd, Model, advice, commands, deciding};

/// Caveats told one by one; more are counted.
const CAVEATS: usize = 2;
/// Lines of one sentence, on a terminal that is not narrow.
const LINES: usize = 3;
/// Columns of such a terminal.
const COLUMNS: usize = 80;

/// How much is said, where a table wants room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum Room {
    /// Caveats were listed above.
    Listed,
    /// Everything, and the first caveats.
    Ample,
    /// Caveats are counted.
    Scarce,
    /// Of the answer what the table does not show.
    Least,
}

/// Sentences of the answer where room is least.
const FEW: usize = 2;

/// The last lines of a report.
pub(in super::super) fn lines(model: &Model, width: usize, colour: bool, room: Room) -> Vec<String> {
    let mut lines = Vec::new();
    let mut sentences = answer::sentences(model);
    if room == Room::Least {
        // What the table does not show stays; of what it shows as much as there is room for.
        let mut spare = FEW.saturating_sub(sentences.iter().filter(|sentence| !sentence.in_table).count());
        sentences.retain(|sentence| {
            let stays = !sentence.in_table || spare > 0;
            spare = spare.saturating_sub(usize::from(sentence.in_table));
            stays
        });
    }
    for (place, sentence) in sentences.iter().enumerate() {
        let folded = fold(&sentence.text, width, 0);
        // What is read first is not cut, but for a text that would take the whole terminal.
        let most = if place == 0 { 2 * LINES } else { LINES };
        lines.extend(painted(shortened(folded, most, width), colour && place == 0, "1"));
    }
    let incomplete = model.restored.as_ref().is_some_and(|done| !done.failed.is_empty());
    let rate = certainty(model);
    let calm = (!incomplete && !nothing_was_set(model)).then(|| restored(model));
    let whole: Vec<String> = rate.into_iter().chain(calm).collect();
    if !whole.is_empty() {
        lines.extend(fold(&whole.join(" "), width, 0));
    }
    if incomplete {
        lines.extend(painted(shortened(fold(&restored(model), width, 0), LINES, width), colour, "31"));
    }
    match room {
        Room::Listed => {}
        Room::Ample => lines.extend(caveats(model, width, CAVEATS)),
        Room::Scarce | Room::Least => lines.extend(caveats(model, width, 0)),
    }
    lines.extend(commands(model, width));
    lines
}

fn painted(lines: Vec<String>, colour: bool, ansi: &str) -> Vec<String> {
    let paint = |line: String| if colour { format!("\x1b[{ansi}m{line}\x1b[0m") } else { line };
    lines.into_iter().map(paint).collect()
}

/// At most so many lines, the last with a sign that there was more; of a narrow terminal as many as say the same.
fn shortened(mut lines: Vec<String>, most: usize, width: usize) -> Vec<String> {
    let most = (most * COLUMNS).div_ceil(width.min(COLUMNS));
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            last.pop();
            last.push('…');
        }
    }
    lines
}

/// Whether only commands are compared and nothing was set: then there is nothing to say of restoring.
fn nothing_was_set(model: &Model) -> bool {
    let compares = model.judged().any(|(_, metric)| commands::are_compared(model, &metric.name));
    compares && model.restored.as_ref().is_some_and(|done| done.entries == 0 && done.failed.is_empty())
}

/// Whether the answer names the error rate, and there is no "same" whose margin had to be named.
fn is_in_the_answer(model: &Model) -> bool {
    let times = |metric: &str| commands::are_compared(model, metric);
    let mut verdicts = model
        .judged()
        .flat_map(|(place, metric)| model.verdicts(place).map(move |verdict| (metric, verdict)))
        .peekable();
    verdicts.peek().is_some()
        && verdicts.all(|(metric, it)| times(&metric.name) && matches!(it.verdict, Verdict::Better | Verdict::Worse))
}

/// The error rate, the margin of "same", and what verdicts are about; nothing where nothing is decided.
fn certainty(model: &Model) -> Option<String> {
    let plan = &model.started;
    if plan.search.is_some() {
        return Some(format!(
            "Error rate {} for a pick that breaks a limit or is not better than the baseline.",
            percent(plan.alpha)
        ));
    }
    let mut verdicts = model.settings.iter().flat_map(|it| it.verdicts.iter().flatten()).peekable();
    if verdicts.peek().is_none() || plan.calibration {
        return None;
    }
    let same = match verdicts.any(|it| it.verdict == Verdict::Same) {
        true => format!(" (\"same\": within {})", percent(plan.margin)),
        false => String::new(),
    };
    let ranks = if plan.robust { " by ranks" } else { "" };
    let rate = match is_in_the_answer(model) {
        true => "Verdicts are about".to_owned(),
        false => format!("Error rate {}{same}{ranks}, for", percent(plan.alpha)),
    };
    Some(format!("{rate} {} of this session; another day may differ.", sentence::judged(plan)))
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
fn caveats(model: &Model, width: usize, most: usize) -> Vec<String> {
    let all = super::caveats::all(model);
    let told = if all.len() > most { most.min(1) } else { all.len() };
    let caveat = |text: &String| shortened(fold(&format!("Caveat: {}", clean(text)), width, 2), LINES, COLUMNS);
    let mut lines: Vec<String> = all.iter().take(told).flat_map(caveat).collect();
    let rest =
        counted(u32::try_from(all.len() - told).unwrap_or(u32::MAX), if told > 0 { "more caveat" } else { "caveat" });
    if all.len() > told {
        let first = all.first().filter(|_| told == 0).map(|first| format!(": {}", clean(first))).unwrap_or_default();
        lines.push(cut(&format!("{}{first}", capital(&rest)), width));
    }
    lines
}

/// What to type: the page, details, and last what is most likely wanted.
fn commands(model: &Model, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let stored = model.header.as_ref().map(|header| {
        let store = &model.store;
        (format!("powerband{store} show {} -v", header.id), format!("powerband{store} report {}", header.id))
    });
    let wanted = wanted(model).map(|(what, command)| (fold(&what, width, 0), continued(&clean(&command), width)));
    match (wanted, stored) {
        (Some((what, command)), Some((show, page))) if command.len() == 1 => {
            lines.extend(columns_or_lines(["details", &show], ["page", &page], width));
            lines.extend(what.into_iter().chain(command));
        }
        // The last line is a whole command: one that takes several is above it.
        (wanted, Some((show, page))) => {
            lines.extend(wanted.into_iter().flat_map(|(what, command)| what.into_iter().chain(command)));
            lines.extend(columns_or_lines(["page", &page], ["details:", ""], width));
            lines.extend(continued(&clean(&show), width));
        }
        (wanted, None) => lines.extend(wanted.into_iter().flat_map(|(what, command)| what.into_iter().chain(command))),
    }
    lines
}

/// Two names with what they stand for, next to each other where both have room.
fn columns_or_lines(first: [&str; 2], second: [&str; 2], width: usize) -> Vec<String> {
    let (first, second) = (first.join("  "), second.join("  "));
    let both = format!("{first}     {}", second.trim_end());
    if columns(&both) <= width { vec![both] } else { vec![first, second.trim_end().to_owned()] }
}

/// A command in lines that a shell takes for one, each with a sign at its end but the last.
fn continued(command: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut quoted = false;
    for word in command.split(' ') {
        let line = lines.last().map_or("", String::as_str);
        // Two columns for the sign; inside quotes a line may not end.
        if !quoted
            && !line.trim().is_empty()
            && columns(line) + 1 + columns(word) + 2 > width
            && columns(command) > width
        {
            lines.push("  ".to_owned());
        }
        let Some(line) = lines.last_mut() else { continue };
        if !line.trim().is_empty() || quoted {
            line.push(' ');
        }
        line.push_str(word);
        quoted ^= word.matches('\'').count() % 2 == 1;
    }
    let last = lines.len() - 1;
    lines.into_iter().enumerate().map(|(place, line)| if place < last { format!("{line} \\") } else { line }).collect()
}

/// What it is good for to type a command, and the command.
fn wanted(model: &Model) -> Option<(String, String)> {
    let undo = || typed::undo(model);
    if model.restored.as_ref().is_some_and(|done| !done.failed.is_empty()) {
        return Some(("restore the rest:".into(), undo()));
    }
    if let Some(command) = model.going_on() {
        return Some(("resume it:".into(), command));
    }
    let advised = advice(model);
    // Where the reference is advised, what is open may still bring a better one.
    let advised = advised.filter(|it| it.setting != 0 || deciding(model).is_none());
    if let Some((advice, command)) = advised.as_ref().and_then(|it| Some((it, it.typed.clone()?))) {
        let label = model.label(advice.setting);
        return Some(match typed::taken_back(model, &command) {
            Some(undo) => {
                let keep = typed::kept(model).map(|keep| format!("; over reboots: {keep}")).unwrap_or_default();
                (format!("apply {label} (undo: {undo}{keep}):"), command)
            }
            None => (format!("run a command with {label}:"), command),
        });
    }
    if let Some(command) = deciding(model) {
        return Some((format!("decide it{}:", takes(model)), command));
    }
    let gone = matches!(model.end, ExperimentEnd::Closed(CloseReason::LoadFailed { .. }) | ExperimentEnd::Open);
    (gone && model.restored.is_none()).then(|| ("restore what may be left:".into(), format!("{} --left", undo())))
}

/// How long the blocks that are missing take, where that is known.
fn takes(model: &Model) -> String {
    let more = missing(model).map(|(_, high)| u64::from(high));
    let each = model.elapsed_ns.checked_div(u64::from(model.blocks));
    let left = more.zip(each).map(|(more, each)| (more * each).div_ceil(1_000_000_000) * 1_000_000_000);
    left.map_or_else(String::new, |ns| format!(" (takes up to {})", format_duration(ns)))
}
