//! Reports for a terminal: the default one that fits its screen ([`brief`]), and the full one. Both end with the answer and
//! what to type next; no line is longer than the width given, but for what is to be typed.
use std::collections::BTreeSet;

use powerband_record::{Better, IntoOrdered as _};

use crate::typed::on_machines;
use crate::{Distribution, ExperimentEnd, Model, calibration, commands, load, requirements, sentence, words};

mod brief;
pub(crate) mod cell;
mod names;
mod picture;
mod plot;
mod progress;
mod search;
mod tables;

use crate::layout::{clean, fold};
pub(crate) use brief::gains;
pub(crate) use tables::head;

pub use brief::brief;
pub use progress::{ProgressState, progress};

/// Narrower terminals get lines for this many columns.
const NARROWEST: usize = 40;
/// Columns of the names before the facts.
const NAMES: usize = 10;
/// How many kinds of void trials are shown before the rest is counted.
const KINDS: usize = 8;

/// A line for a terminal of `width` columns: folded at blanks, what follows the first part indented by `indent` columns.
#[must_use]
pub fn folded(line: &str, width: usize, indent: usize) -> Vec<String> {
    fold(line, width, indent)
}

/// Prints the full report for `width` columns (at least 40), with ANSI colours for the answer and the verdicts if wanted.
#[must_use]
pub fn render(model: &Model, width: usize, colour: bool) -> String {
    let width = width.max(NARROWEST);
    let mut page = Page { width, lines: vec![] };
    facts(model, &mut page);
    if let Some(plan) = &model.started.search {
        search::facts(model, plan, &mut page);
    }
    page.lines.extend(calibration::lines(model, width));
    verdicts(model, &mut page, colour);
    let required = requirements::table(model, width);
    if !required.is_empty() {
        page.blank();
        page.text("requirements", 0);
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
    section(&mut page, "failed commands, whose trials are not judged", &sentence::failures(model));
    distributions(model, &mut page);
    settings(model, &mut page);
    section(&mut page, "caveats", &brief::caveats(model));
    voids(model, &mut page);
    let failed = model.restored.iter().flat_map(|restored| restored.failed.iter().cloned()).collect::<Vec<_>>();
    section(&mut page, "RESTORE INCOMPLETE", &failed);
    if let Some(cost) = sentence::own_cost(model) {
        page.blank();
        page.fact("overhead", &format!("of powerband: {cost}"));
    }
    page.blank();
    page.lines.extend(brief::closing(model, width, colour, brief::Room::Listed));
    page.lines.join("\n") + "\n"
}

/// A table and a plot for each decision metric.
fn verdicts(model: &Model, page: &mut Page, colour: bool) {
    for (place, metric) in model.judged() {
        if model.verdicts(place).next().is_none() {
            continue;
        }
        page.blank();
        let better = match metric.better {
            Better::Higher => "higher is better",
            Better::Lower => "lower is better",
        };
        let name = words::with_boundary(&metric.name, metric);
        page.text(&format!("{name} compared with {} ({better})", names::reference(model)), 0);
        page.lines.extend(tables::verdicts(model, place, page.width, colour));
        let plot = plot::draw(model, place, metric, page.width, colour);
        if !plot.is_empty() {
            page.blank();
            page.lines.extend(plot);
        }
    }
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

    /// A name and what it is, folded next to the name.
    fn fact(&mut self, name: &str, what: &str) {
        self.lines.extend(fold(&format!("{name:<NAMES$}{}", clean(what)), self.width, NAMES));
    }

    /// One of several below a heading.
    fn item(&mut self, text: &str) {
        self.text(&format!("- {}", clean(text)), 2);
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
    page.fact("machine", &format!("{}; {}", on_machines(plan, ", peer "), plan.system));
    page.fact("load", &load::load_of(model));
    let simulated = if model.is_simulated() { " of simulated time" } else { "" };
    let time = model.elapsed().map(|time| format!(" in {time}{simulated}")).unwrap_or_default();
    let mut trials = words::counted(model.trials, "trial");
    if model.warmups > 0 {
        trials += &format!(", {} to warm up", model.warmups);
    }
    if !model.voids.is_empty() {
        trials += &format!(", {} void", model.voids.len());
    }
    let (blocks, end) = (words::counted(model.blocks, "block"), sentence::ended(model));
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
    page.fact("order", &format!("random within each block, seed {}", plan.seed));
}

/// Percentiles of all values together, and a picture of how they lie, one scale for all settings.
fn distributions(model: &Model, page: &mut Page) {
    let names: BTreeSet<&String> = model.settings.iter().flat_map(|setting| setting.distributions.keys()).into_set();
    for name in names {
        let of: Vec<(String, &Distribution)> = (0..)
            .zip(&model.settings)
            .filter(|(number, _)| model.is_compared(*number))
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

/// What each setting changes, where its label does not say it; then values that the driver adjusted, and what stopped early.
fn settings(model: &Model, page: &mut Page) {
    if model.started.calibration {
        return;
    }
    let baseline = names::baseline_values(model).map(|values| format!(" ({values})")).unwrap_or_default();
    let shown: Vec<String> = model
        .shown()
        .into_iter()
        .filter_map(|setting| u32::try_from(setting).ok())
        .filter(|&setting| model.is_compared(setting))
        .filter_map(|setting| Some((setting, model.settings.get(setting as usize)?)))
        .filter(|(_, report)| report.turns != report.label)
        .map(|(setting, report)| match report.turns.as_str() {
            "" => format!("{}: the current settings{baseline}", model.label(setting)),
            turns => format!("{}: {turns}", report.label),
        })
        .collect();
    section(page, "settings", &shown);
    let mut adjusted: Vec<(String, Vec<String>, u32)> = Vec::new();
    for landing in model.settings.iter().flat_map(|setting| &setting.landings) {
        let (kind, site) = (brief::adjusted(landing), landing.site.site.clone());
        match adjusted.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, sites, trials)) => {
                *trials += landing.trials;
                if !sites.contains(&site) {
                    sites.push(site);
                }
            }
            None => adjusted.push((kind, vec![site], landing.trials)),
        }
    }
    let adjusted: Vec<String> = adjusted
        .into_iter()
        .map(|(kind, sites, trials)| format!("{kind} at {} ({})", few(&sites), words::counted(trials, "trial")))
        .collect();
    section(page, "values adjusted by the driver", &adjusted);
    if model.started.search.is_some() {
        return search::left(model, page);
    }
    let left: Vec<String> = (0_u32..)
        .zip(&model.settings)
        .filter_map(|(setting, report)| Some((setting, report.left.as_ref()?)))
        .map(|(setting, left)| format!("{} after block {}: {}", model.label(setting), left.block, left.why))
        .collect();
    section(page, "stopped early", &left);
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
        told.push(format!("and {} other reasons; `powerband export --journal` lists all", kinds.len() - KINDS));
    }
    let heading = match model.end {
        ExperimentEnd::Open | ExperimentEnd::Interrupted => "void trials, kept but not counted",
        ExperimentEnd::Closed(_) => {
            "void trials, kept but not counted, repeated within their blocks where there was time"
        }
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
