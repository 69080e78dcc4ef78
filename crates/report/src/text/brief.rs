//! The default report: what a terminal of 24 lines of 80 columns shows at once, the answer and what to type last.
use super::names::{baseline_values, is_baseline, knobs, labels, reference};
use super::plot;
use crate::layout::{clean, columns, cut};
use crate::load;
use crate::typed::on_machines;
use crate::words::counted;
use crate::{Model, calibration, commands};

mod answer;
mod caveats;
mod closing;
mod search;
mod table;
mod words;

pub(crate) use answer::gains;
pub(super) use caveats::{listed as caveats, told as adjusted};
pub(super) use closing::{Room, lines as closing};
pub(super) use words::noun;

/// Lines at most: a terminal's, less the prompt that follows.
const MAX: usize = 23;
/// Lines of a small chart: its values, its axis and a blank line.
const CHART: usize = 4;

/// Prints the default report for `width` columns (at least 40).
#[must_use]
pub fn brief(model: &Model, width: usize, colour: bool) -> String {
    let width = width.max(super::NARROWEST);
    let head = head(model, width);
    let (end, body, left) = fitting(model, width, colour, MAX.saturating_sub(head.len() + 2));
    let mut lines = head;
    for part in [body, chart(model, width, left, colour), end] {
        if !part.is_empty() {
            lines.push(String::new());
            lines.extend(part);
        }
    }
    lines.join("\n") + "\n"
}

/// The end, the table and how many lines are left: the end says less where that brings the whole table.
fn fitting(model: &Model, width: usize, colour: bool, room: usize) -> (Vec<String>, Vec<String>, usize) {
    let of = |said: Room| {
        let end = closing(model, width, colour, said);
        let room = room.saturating_sub(end.len());
        let table = match model.started.calibration {
            true => table::Drawn { lines: calibration::brief(model, width), left_out: 0 },
            false => table::draw(model, width, room, colour),
        };
        let left = room.saturating_sub(table.lines.len());
        (end, table, left)
    };
    let (mut best, mut least) = (of(Room::Ample), usize::MAX);
    for said in [Room::Ample, Room::Scarce, Room::Least] {
        let tried = of(said);
        if tried.1.left_out < least {
            least = tried.1.left_out;
            best = tried;
        }
    }
    (best.0, best.1.lines, best.2)
}

/// What was compared, on what, and how much of it was measured.
fn head(model: &Model, width: usize) -> Vec<String> {
    let mut lines = vec![cut(&title(model), width)];
    let plan = &model.started;
    let simulated = if model.is_simulated() { ", simulated" } else { "" };
    let machine = format!("{}{simulated}", on_machines(plan, " <-> "));
    let load = clean(&short_load(&plan.load));
    let mut counts = vec![counted(model.blocks, "block"), counted(model.trials, "trial")];
    counts.extend(commands::runs(model));
    if !model.voids.is_empty() {
        counts.push(format!("{} void", model.voids.len()));
    }
    counts.extend(model.elapsed());
    let counts = counts.join(", ");
    let whole = format!("{machine}; {load}; {counts}");
    lines.push(match columns(&whole) <= width {
        true => whole,
        false => {
            let room = width.saturating_sub(columns(&machine) + columns(&counts) + 4);
            match room < 12 {
                true => cut(&format!("{machine}; {counts}"), width),
                false => format!("{machine}; {}; {counts}", cut(&load, room)),
            }
        }
    });
    let settings: Vec<u32> = (0..u32::try_from(model.settings.len()).unwrap_or(u32::MAX)).collect();
    let shared = labels(model, &settings).shared.map(|shared| format!("all other settings: {shared}"));
    let baseline = baseline_values(model).filter(|_| is_baseline(model, 0)).map(|values| format!("baseline: {values}"));
    let equal = caveats::equal(model).filter(|_| baseline.is_none());
    let known: Vec<String> = baseline.into_iter().chain(equal).chain(shared).collect();
    if !known.is_empty() && !plan.calibration {
        lines.push(cut(&clean(&known.join("; ")), width));
    }
    lines
}

/// The plan's title, or what it compares.
fn title(model: &Model) -> String {
    let plan = &model.started;
    if let Some(title) = &plan.title {
        return clean(title);
    }
    if plan.calibration {
        return "Noise of the current settings".into();
    }
    let knobs = knobs(model).join(", ");
    if plan.search.is_some() {
        return format!("Search over {knobs}");
    }
    let others: Vec<u32> = (1..u32::try_from(model.settings.len()).unwrap_or(u32::MAX)).collect();
    match others.as_slice() {
        [one] => clean(&format!("{} compared with {}", model.label(*one), reference(model))),
        several if knobs.is_empty() => format!("{} settings compared with {}", several.len(), reference(model)),
        several => clean(&format!("{} settings of {knobs} compared with {}", several.len(), reference(model))),
    }
}

/// A load in two or three words: `stream 10s`, or the command.
fn short_load(load: &serde_json::Value) -> String {
    let kind = load.get("kind").and_then(serde_json::Value::as_str).filter(|_| load.get("argv").is_none());
    let Some(kind) = kind else { return load::load(load) };
    match (load.get("for").and_then(serde_json::Value::as_str), load.get("title").and_then(serde_json::Value::as_str)) {
        (Some(length), _) => format!("{kind} {length}"),
        (None, Some(title)) => format!("{kind}: {title}"),
        (None, None) => kind.to_owned(),
    }
}

/// A small chart of the first decision metric along a numeric knob, where there is room for one.
fn chart(model: &Model, width: usize, room: usize, colour: bool) -> Vec<String> {
    // A blank line before it, and two of its axis.
    let high = room.saturating_sub(3).min(2 * CHART);
    let Some((place, _)) = model.judged().next().filter(|_| high >= CHART) else { return Vec::new() };
    plot::small(model, place, width, high, colour)
}
