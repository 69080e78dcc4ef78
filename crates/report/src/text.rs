//! A report for a terminal: the finding first, then how it was found; no line longer than the width given, but for what is
//! to be typed.
use std::collections::BTreeSet;

use powerband_record::{Better, format_duration};

use crate::calibration;
use crate::requirements;
use crate::sentence;
use crate::{Distribution, End, Model, advice, commands, deciding};

pub(crate) mod cell;
mod fold;
mod picture;
mod plot;
mod progress;
mod search;
mod tables;

pub(crate) use fold::{clean, columns, cut, fold};
pub(crate) use search::is_compared;
pub(crate) use tables::{fit, head, word};

pub use progress::{State, progress};

/// Narrower terminals get lines for this many columns.
const NARROWEST: usize = 40;
/// Columns of the names before the facts.
const NAMES: usize = 10;
/// A setting that turns nothing.
const AS_FOUND: &str = "as found";
/// How many kinds of void trials are told before the rest is counted.
const KINDS: usize = 8;

/// Prints a report for `width` columns (at least 40), with ANSI colours for the finding and the verdicts if wanted.
#[must_use]
pub fn render(model: &Model, width: usize, colour: bool) -> String {
    let width = width.max(NARROWEST);
    let mut page = Page { width, lines: vec![] };
    finding(model, &mut page, colour);
    page.blank();
    facts(model, &mut page);
    if let Some(plan) = &model.started.search {
        search::facts(model, plan, &mut page);
    }
    page.lines.extend(calibration::lines(model, width));
    for (place, metric) in model.judged() {
        if model.verdicts(place).next().is_none() {
            continue;
        }
        page.blank();
        let wanted = match metric.better {
            Better::Higher => "high",
            Better::Lower => "low",
        };
        let name = sentence::with_boundary(&metric.name, metric);
        page.text(&format!("{name} against {} (wanted: {wanted})", model.label(0)), 0);
        page.lines.extend(tables::verdicts(model, place, width, colour));
        let plot = plot::draw(model, place, metric, width, colour);
        if !plot.is_empty() {
            page.blank();
            page.lines.extend(plot);
        }
    }
    let required = requirements::table(model, width);
    if !required.is_empty() {
        page.blank();
        page.text("requirements, held against trials", 0);
        page.lines.extend(required);
        requirements::note(model).into_iter().for_each(|note| page.item(note));
    }
    // Two names for one setting have nothing more to say than the noise.
    let levels = if model.calibrations.is_empty() { tables::levels(model, width) } else { Vec::new() };
    if !levels.is_empty() {
        page.blank();
        let mut intervals = model.settings.iter().flat_map(|setting| &setting.levels).flatten();
        page.text(
            match intervals.any(|level| level.low.is_some() && level.high.is_some()) {
                true => "typical values with their 95 % intervals",
                false => "typical values (intervals come with the end of an experiment)",
            },
            0,
        );
        page.lines.extend(levels);
    }
    distributions(model, &mut page);
    settings(model, &mut page);
    section(&mut page, "to be known with it", &sentence::notes(model));
    voids(model, &mut page);
    page.blank();
    page.fact("put back", &sentence::restoration(model));
    for failed in model.restored.iter().flat_map(|restored| &restored.failed) {
        page.item(failed);
    }
    if let Some(cost) = sentence::own_cost(model) {
        page.fact("own cost", &cost);
    }
    if let Some(header) = &model.header {
        page.fact("drawn", &format!("by `powerband report {} -o FILE.html`", header.id));
    }
    if let Some(words) = model.going_on() {
        page.fact("go on", &format!("with `{words}`"));
    }
    let mut text = page.lines.join("\n");
    text.push('\n');
    text
}

/// Lines so far, and how long they may be.
struct Page {
    width: usize,
    lines: Vec<String>,
}

impl Page {
    fn blank(&mut self) {
        self.lines.push(String::new());
    }

    fn text(&mut self, text: &str, indent: usize) {
        self.lines.extend(fold(text, self.width, indent));
    }

    /// A name and what it is, folded beside the name.
    fn fact(&mut self, name: &str, what: &str) {
        self.lines.extend(fold(&format!("{name:<NAMES$}{}", clean(what)), self.width, NAMES));
    }

    /// One of several below a heading.
    fn item(&mut self, text: &str) {
        self.text(&format!("- {}", clean(text)), 2);
    }
}

/// The finding, and what to type to have what it speaks for.
fn finding(model: &Model, page: &mut Page, colour: bool) {
    for line in fold(&format!("{}.", sentence::headline(model)), page.width, 0) {
        page.lines.push(if colour { format!("\x1b[1m{line}\x1b[0m") } else { line });
    }
    if let Some(words) = advice(model).and_then(|advice| advice.typed) {
        // Not folded, so that it can be copied.
        page.lines.push(format!("To have it: {}", clean(&words)));
    }
    if let Some(words) = deciding(model) {
        page.lines.push(format!("To decide it: {}", clean(&words)));
    }
}

fn facts(model: &Model, page: &mut Page) {
    let plan = &model.started;
    let number = model.header.as_ref().map(|header| header.id.to_string());
    match (number, &plan.title) {
        (Some(number), Some(title)) => page.fact("experiment", &format!(" {number}, {title}")),
        (Some(number), None) => page.fact("experiment", &format!(" {number}")),
        (None, Some(title)) => page.fact("experiment", &format!(" {title}")),
        (None, None) => {}
    }
    let far = plan.far.as_ref().map(|far| format!(", far end {far}")).unwrap_or_default();
    page.fact("machine", &format!("{}{far} ({})", plan.machine, plan.system));
    page.fact("load", &sentence::load(&plan.load));
    let simulated = if model.is_simulated() { " of simulated time" } else { "" };
    let time = if model.elapsed_ns == 0 {
        String::new()
    } else {
        format!(" in {}{simulated}", format_duration(model.elapsed_ns))
    };
    let mut trials = sentence::counted(model.trials, "trial");
    if model.warmups > 0 {
        trials += &format!(", {} to warm up", model.warmups);
    }
    if !model.voids.is_empty() {
        trials += &format!(", {} void", model.voids.len());
    }
    let (blocks, end) = (sentence::counted(model.blocks, "block"), sentence::ended(model));
    let runs = commands::runs(model).map(|runs| format!(" of {runs}")).unwrap_or_default();
    page.fact("measured", &format!("{blocks}{time}: {trials}{runs}; {end}"));
    if let Some(times) = sentence::resumptions(model) {
        page.fact("resumed", &times);
    }
    if plan.search.is_some() {
        return;
    }
    if !plan.calibration {
        page.fact("certainty", &sentence::certainty(model));
    }
    page.fact("order", &format!("at random inside each block, seed {}", plan.seed));
}

/// Percentiles of all values together, and a picture of how they lie, one scale for all settings.
fn distributions(model: &Model, page: &mut Page) {
    let names: BTreeSet<&String> = model.settings.iter().flat_map(|setting| setting.distributions.keys()).collect();
    for name in names {
        let of: Vec<(String, &Distribution)> = (0..)
            .zip(&model.settings)
            .filter(|(number, _)| search::is_compared(model, *number))
            .filter_map(|(number, setting)| Some((model.label(number), setting.distributions.get(name)?)))
            .collect();
        if of.is_empty() {
            continue;
        }
        page.blank();
        page.text(&format!("{} of all values in valid trials together", picture::title(name)), 0);
        page.lines.extend(tables::percentiles(name, &of, page.width));
        page.lines.extend(picture::draw(name, &of, page.width));
    }
}

/// What each setting turns, where its label does not say it; then what did not land as asked and who left early.
fn settings(model: &Model, page: &mut Page) {
    if model.started.calibration {
        return;
    }
    let told: Vec<String> = model
        .shown()
        .into_iter()
        .filter(|&setting| search::is_compared(model, u32::try_from(setting).unwrap_or(u32::MAX)))
        .map(|setting| &model.settings[setting])
        .filter(|setting| setting.turns != setting.label && !(setting.turns.is_empty() && setting.label == AS_FOUND))
        .map(|setting| match setting.turns.as_str() {
            "" => format!("{}: {AS_FOUND}", setting.label),
            turns => format!("{}: {turns}", setting.label),
        })
        .collect();
    section(page, "settings", &told);
    let landed: Vec<String> = model
        .settings
        .iter()
        .flat_map(|setting| setting.landings.iter().map(move |landing| (setting, landing)))
        .map(|(setting, landing)| {
            let site = &landing.site;
            let trials = sentence::counted(landing.trials, "trial");
            format!("{}: {}@{} asked {}, {} ({trials})", setting.label, site.knob, site.site, site.asked, site.landed)
        })
        .collect();
    section(page, "knobs that did not land as asked", &landed);
    if model.started.search.is_some() {
        return search::left(model, page);
    }
    let left: Vec<String> = model
        .settings
        .iter()
        .filter_map(|setting| setting.left.as_ref().map(|left| (setting, left)))
        .map(|(setting, left)| format!("{} after block {}: {}", setting.label, left.block, left.why))
        .collect();
    section(page, "left the blocks early", &left);
}

fn voids(model: &Model, page: &mut Page) {
    let mut kinds: Vec<(String, Vec<String>)> = vec![];
    for void in &model.voids {
        let kind = format!("{}: {}", model.label(void.setting), sentence::void(&void.why));
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, trials)) => trials.push(void.trial.to_string()),
            None => kinds.push((kind, vec![void.trial.to_string()])),
        }
    }
    let mut told: Vec<String> = kinds
        .iter()
        .take(KINDS)
        .map(|(kind, trials)| match trials.as_slice() {
            [one] => format!("trial {one}, {kind}"),
            many => format!("{} trials ({}), {kind}", many.len(), few(many)),
        })
        .collect();
    if kinds.len() > KINDS {
        told.push(format!("and {} other reasons; `powerband export --journal` has them all", kinds.len() - KINDS));
    }
    let heading = match model.end {
        End::Open | End::Interrupted => "void trials, kept but not counted",
        End::Closed(_) => "void trials, kept but not counted, repeated in their blocks where there was time",
    };
    section(page, heading, &told);
}

/// The first few numbers of a list.
fn few(numbers: &[String]) -> String {
    let more = if numbers.len() > 6 { ", …" } else { "" };
    format!("{}{more}", numbers.iter().take(6).map(String::as_str).collect::<Vec<_>>().join(", "))
}

fn section(page: &mut Page, heading: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    page.blank();
    page.text(heading, 0);
    for item in items {
        page.item(item);
    }
}
