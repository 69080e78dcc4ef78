//! Several fleets on the same nodes, one for each application: a table of applications and settings, and a setting for all of them.
use std::collections::BTreeSet;

use powerband_record::{Better, IntoOrdered as _, Verdict, unit_of};
use serde::Serialize;

use super::words::{between, listed, number};
use super::{Choice, FleetAnswer, GroupAnswer, MetricAnswer, SettingAnswer, recommended};
use crate::layout::{aligned, clean, cut, fold};
use crate::words::{and, percent, word};

/// Width of a name in the table.
const NAME: usize = 28;
/// Blanks between columns.
const GAP: usize = 2;

/// A table of applications and settings.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Applications {
    /// The reference that settings are compared with.
    pub reference: String,
    /// A table for each decision metric.
    pub metrics: Vec<ApplicationTable>,
    /// The setting to use for all of them.
    #[serde(flatten)]
    pub choice: Choice,
    /// What must be known with it, a sentence each.
    pub notes: Vec<String>,
}

/// What settings do to applications in one metric.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct ApplicationTable {
    /// The metric.
    pub metric: String,
    /// Which way is better.
    pub better: Better,
    /// Labels of the settings: the columns.
    pub settings: Vec<String>,
    /// The applications.
    pub rows: Vec<ApplicationRow>,
}

/// One application.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct ApplicationRow {
    /// Its name.
    pub application: String,
    /// Key of the fleet that measured it.
    pub fleet: String,
    /// Whether changes are in the metric's own unit, not relative.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub absolute: bool,
    /// By setting, in the order of the columns; absent where it was not measured.
    pub cells: Vec<Option<GroupAnswer>>,
}

/// Columns: label and what it sets.
type Columns = Vec<(String, String)>;

/// The table of answers, each with the name of its application.
///
/// # Errors
/// A sentence, where they compare with different references or none has a decision metric.
pub fn applications(of: &[(String, FleetAnswer)]) -> Result<Applications, String> {
    let references: BTreeSet<&str> = of.iter().map(|(_, answer)| answer.reference.as_str()).into_set();
    if references.len() > 1 {
        let references: Vec<String> = references.into_iter().map(str::to_owned).collect();
        return Err(format!("these fleets compare with different references: {}", and(&references)));
    }
    let all = || of.iter().flat_map(|(_, answer)| &answer.metrics);
    let mut columns = Columns::new();
    for setting in all().flat_map(|metric| &metric.settings) {
        let column = (setting.setting.clone(), setting.turns.clone());
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    let mut names: Vec<(&str, Better)> = Vec::new();
    for metric in all() {
        if names.iter().all(|(name, _)| *name != metric.metric) {
            names.push((&metric.metric, metric.better));
        }
    }
    if names.is_empty() {
        return Err("these fleets have no decision metric".into());
    }
    let metrics = names.iter().map(|(name, better)| table(of, &columns, name, *better)).collect();
    Ok(Applications {
        reference: references.into_iter().next().unwrap_or_default().to_owned(),
        metrics,
        choice: for_all(of, &columns),
        notes: notes(of),
    })
}

fn table(of: &[(String, FleetAnswer)], columns: &[(String, String)], name: &str, better: Better) -> ApplicationTable {
    let row = |(application, answer): &(String, FleetAnswer)| {
        let metric = answer.metrics.iter().find(|metric| metric.metric == name)?;
        let cells = columns.iter().map(|column| Some(setting(metric, column)?.fleet.clone())).collect();
        let (application, fleet) = (application.clone(), answer.fleet.clone());
        Some(ApplicationRow { application, fleet, absolute: metric.absolute, cells })
    };
    ApplicationTable {
        metric: name.to_owned(),
        better,
        settings: columns.iter().map(|(label, _)| label.clone()).collect(),
        rows: of.iter().filter_map(row).collect(),
    }
}

fn setting<'a>(metric: &'a MetricAnswer, (label, turns): &(String, String)) -> Option<&'a SettingAnswer> {
    metric.settings.iter().find(|setting| setting.setting == *label && setting.turns == *turns)
}

/// The setting that is better for some application and worse or open for none, as over one fleet with all of their metrics.
fn for_all(of: &[(String, FleetAnswer)], columns: &[(String, String)]) -> Choice {
    let divided: Vec<String> =
        of.iter().filter(|(_, answer)| answer.kinds.is_some()).map(|(name, _)| name.clone()).collect();
    if !divided.is_empty() {
        return Choice::nothing(" for all", &format!("nodes are of different kinds for {}", and(&divided)));
    }
    let measured = |column: &&(String, String)| {
        of.iter().flat_map(|(_, answer)| &answer.metrics).all(|metric| setting(metric, column).is_some())
    };
    let common: Vec<&(String, String)> = columns.iter().filter(measured).collect();
    let named = |name: &str, metric: &MetricAnswer| MetricAnswer {
        metric: format!("{} of {name}", metric.metric),
        settings: common.iter().filter_map(|column| setting(metric, column).cloned()).collect(),
        ..metric.clone()
    };
    let metrics: Vec<MetricAnswer> =
        of.iter().flat_map(|(name, answer)| answer.metrics.iter().map(move |metric| named(name, metric))).collect();
    // Fleets on different CPUs have no line in common but the one for all of them.
    let cpus = of.first().and_then(|(_, first)| first.cpus.as_ref());
    let cpus = cpus.filter(|cpus| of.iter().all(|(_, answer)| answer.cpus.as_ref() == Some(*cpus)));
    let choice = recommended::choose(&metrics, None, cpus);
    let is_better = |found: &SettingAnswer| found.fleet.verdict == Verdict::Better;
    if choice.recommended.is_none() && !metrics.iter().flat_map(|metric| &metric.settings).any(is_better) {
        let better = |column: &&(String, String)| {
            let answers = of.iter().flat_map(|(_, answer)| &answer.metrics);
            answers.filter_map(|metric| setting(metric, column)).any(is_better)
        };
        if let Some((label, _)) = columns.iter().find(better) {
            let why = format!("{label} is better in a decision metric, but was not measured in every fleet");
            return Choice::nothing("", &why);
        }
    }
    choice
}

fn notes(of: &[(String, FleetAnswer)]) -> Vec<String> {
    let mut notes = Vec::new();
    let rates: BTreeSet<String> = of.iter().map(|(_, answer)| percent(answer.alpha)).into_set();
    let rates: Vec<String> = rates.into_iter().collect();
    notes.push(format!("each row has an error rate of its own ({})", and(&rates)));
    let nodes = |answer: &FleetAnswer| -> BTreeSet<String> {
        answer.nodes.iter().filter(|node| node.blocks > 0).map(|node| node.node.clone()).collect()
    };
    let sets: Vec<BTreeSet<String>> = of.iter().map(|(_, answer)| nodes(answer)).collect();
    let every: BTreeSet<&String> = sets.iter().flatten().into_set();
    let missing = every.into_iter().filter(|node| sets.iter().any(|set| !set.contains(*node))).cloned();
    let missing: Vec<String> = missing.collect();
    if !missing.is_empty() {
        notes.push(format!("rows are of different nodes; not measured in every row: {}", listed(&missing)));
    }
    let running = of.iter().filter(|(_, answer)| !answer.over).map(|(name, _)| name.clone());
    let running: Vec<String> = running.collect();
    if !running.is_empty() {
        notes.push(format!("not all nodes are finished yet: {}", and(&running)));
    }
    let odd: Vec<String> = of
        .iter()
        .flat_map(|(name, answer)| answer.odd.iter().map(move |odd| format!("{} ({name})", odd.node)))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    if !odd.is_empty() {
        notes.push(format!("odd nodes: {}", listed(&odd)));
    }
    notes
}

impl Applications {
    /// Prints it for `width` columns, what to type last.
    #[must_use]
    pub fn render(&self, width: usize) -> String {
        let mut lines = Vec::new();
        for table in &self.metrics {
            let wanted = match table.better {
                Better::Higher => "higher is better",
                Better::Lower => "lower is better",
            };
            lines.extend(fold(&format!("{} against {} ({wanted})", table.metric, clean(&self.reference)), width, 0));
            lines.extend(table.render(width));
            lines.push(String::new());
        }
        lines.extend(self.notes.iter().flat_map(|note| fold(&format!("- {}", clean(note)), width, 2)));
        lines.extend(self.choice.sentence(" for all of them").iter().flat_map(|it| fold(&clean(it), width, 0)));
        lines.extend(self.choice.commands().iter().map(|line| clean(line)));
        lines.join("\n") + "\n"
    }
}

impl ApplicationTable {
    /// The table, in parts of as many settings as fit.
    fn render(&self, width: usize) -> Vec<String> {
        let column = |place: usize, label: &String| -> Vec<String> {
            let cells = self.rows.iter().map(|row| shown(self, row, row.cells.get(place).and_then(Option::as_ref)));
            std::iter::once(clean(label)).chain(cells).collect()
        };
        let names = self.rows.iter().map(|row| short(&clean(&row.application)));
        let names: Vec<String> = std::iter::once("application".to_owned()).chain(names).collect();
        let widest = |column: &[String]| column.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
        let mut parts: Vec<(usize, Vec<Vec<String>>)> = Vec::new();
        for (place, label) in self.settings.iter().enumerate() {
            let column = column(place, label);
            let wide = GAP + widest(&column);
            match parts.last_mut().filter(|(taken, _)| taken + wide <= width) {
                Some((taken, columns)) => {
                    *taken += wide;
                    columns.push(column);
                }
                None => parts.push((widest(&names) + wide, vec![names.clone(), column])),
            }
        }
        let of_part = |(_, columns): &(usize, Vec<Vec<String>>)| {
            let row = |at: usize| columns.iter().filter_map(|column| column.get(at).cloned()).collect();
            aligned(&(0..names.len()).map(row).collect::<Vec<Vec<String>>>(), 1, width, &[0])
        };
        parts.iter().flat_map(of_part).collect()
    }
}

/// A name for the table. What stands in brackets at its end is kept, since it may be all that tells it from another.
fn short(name: &str) -> String {
    match name.rsplit_once(" (").filter(|(_, bracket)| bracket.ends_with(')') && bracket.chars().count() < NAME / 2) {
        Some((title, bracket)) => format!("{} ({bracket}", cut(title, NAME - bracket.chars().count() - 2)),
        None => cut(name, NAME),
    }
}

/// `-8.1 % (-9.0..-7.2) better`.
fn shown(table: &ApplicationTable, row: &ApplicationRow, cell: Option<&GroupAnswer>) -> String {
    let Some(cell) = cell else { return "-".into() };
    let metric = MetricAnswer {
        metric: table.metric.clone(),
        better: table.better,
        absolute: row.absolute,
        margin: 0.0,
        settings: Vec::new(),
    };
    let unit = if row.absolute { unit_of(&table.metric) } else { "%" };
    let size = cell.change.map(|change| format!("{} {unit}", number(&metric, change)).trim_end().to_owned());
    let interval = cell.low.zip(cell.high).map(|(low, high)| between(&metric, low, high).replace(" .. ", ".."));
    let parts = [size, interval.map(|text| format!("({text})")), Some(word(cell.verdict).to_owned())];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
