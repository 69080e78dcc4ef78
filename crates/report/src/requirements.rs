//! Requirements in words: a clause of the finding, a column of the verdicts, a table of where each stands.
use powerband_record::{Requirement, RequirementFinding, RequirementStanding, Standing, format_number, unit_of};

use crate::Model;
use crate::labels::join_labels;
use crate::layout::fit;

/// How many settings are named in one clause.
const NAMED: usize = 3;

/// One word, with the chance while it is open.
fn word(of: &RequirementStanding) -> String {
    match of.found.standing {
        Standing::Holds => "holds".into(),
        Standing::Broken => "broken".into(),
        Standing::Open => format!("open, {} likely", likelihood(of.found.probability)),
    }
}

/// A chance in whole percent; never 0 or 100 %, as nothing is certain while it is open.
fn likelihood(probability: f64) -> String {
    match probability {
        likely if likely > 0.99 => ">99 %".into(),
        likely if likely < 0.01 => "<1 %".into(),
        likely => format!("{:.0} %", 100.0 * likely),
    }
}

/// Whether a setting breaks a requirement.
pub(crate) fn is_broken(model: &Model, setting: u32) -> bool {
    model.requirements.iter().any(|it| it.setting == setting && it.found.standing == Standing::Broken)
}

/// Where limits are open.
pub(crate) fn open(model: &Model) -> impl Iterator<Item = &RequirementStanding> {
    model.requirements.iter().filter(|it| it.found.standing == Standing::Open)
}

/// How many blocks more, after so many, would show whether a limit is kept, low and high, as far as that is predicted.
pub(crate) fn missing(found: &RequirementFinding, blocks: u32) -> Option<(u32, u32)> {
    let (low, high) = found.predicted?;
    let in_block = found.trials.div_ceil(blocks.max(1)).max(1);
    let more = |total: u32| total.saturating_sub(found.trials).div_ceil(in_block).max(1);
    Some((more(low), more(high).max(more(low))))
}

/// What is said of requirements in the finding: those broken, and those open; nothing where all hold.
pub(crate) fn clause(model: &Model) -> Option<String> {
    let mut clauses = Vec::new();
    for (index, requirement) in (0_u32..).zip(&model.started.requirements) {
        let labels = |standing: Standing| -> Vec<String> {
            let those = model.requirements.iter().filter(|it| it.requirement == index && it.found.standing == standing);
            those.map(|it| model.label(it.setting)).collect()
        };
        let (holds, broken, open) = (labels(Standing::Holds), labels(Standing::Broken), labels(Standing::Open));
        if !broken.is_empty() {
            clauses.push(format!("{requirement} is broken by {}", join_labels(&broken, NAMED)));
        }
        if !open.is_empty() {
            clauses.push(format!("{requirement} is open for {}", join_labels(&open, NAMED)));
        }
        if broken.is_empty() && open.is_empty() && !holds.is_empty() {
            clauses.push(format!("{requirement} holds throughout"));
        }
    }
    (!clauses.is_empty()).then(|| clauses.join("; "))
}

/// The cell of a setting in the table of verdicts: the worst of its requirements; `None` where nothing is required.
pub(crate) fn cell(model: &Model, setting: u32) -> Option<String> {
    if model.started.requirements.is_empty() {
        return None;
    }
    let rank = |it: &&RequirementStanding| match it.found.standing {
        Standing::Broken => 0,
        Standing::Open => 1,
        Standing::Holds => 2,
    };
    let worst = model.requirements.iter().filter(|it| it.setting == setting).min_by_key(rank);
    Some(worst.map_or_else(|| "-".to_owned(), word))
}

/// Where every requirement stands at every setting.
pub(crate) fn table(model: &Model, width: usize) -> Vec<String> {
    let (head, rows) = rows(model);
    if rows.is_empty() { Vec::new() } else { fit(&head.map(String::from), &rows, width, 2, &[2, 5]) }
}

/// The same as a head and rows.
pub(crate) fn rows(model: &Model) -> ([&'static str; 6], Vec<Vec<String>>) {
    let head = ["setting", "required", "measured", "interval", "status", "trials"];
    let rows = model.requirements.iter().filter_map(|it| {
        let requirement = model.started.requirements.get(it.requirement as usize)?;
        let interval = it
            .found
            .low
            .zip(it.found.high)
            .map(|(low, high)| format!("{} .. {}", shown(requirement, low), shown(requirement, high)));
        let trials = match it.found.predicted {
            Some((low, high)) => format!("{} of ~{low}..{high}", it.found.trials),
            None => it.found.trials.to_string(),
        };
        Some(vec![
            model.label(it.setting),
            requirement.to_string(),
            it.found.estimate.map_or_else(
                || "-".to_owned(),
                |estimate| format!("{} {}", shown(requirement, estimate), unit(requirement)).trim_end().to_owned(),
            ),
            interval.unwrap_or_else(|| "-".into()),
            if it.found.this_session { format!("{} (this session)", word(it)) } else { word(it) },
            trials,
        ])
    });
    (head, rows.collect())
}

/// What must be known with the table; nothing where nothing drifted.
pub(crate) fn note(model: &Model) -> Option<&'static str> {
    let any = model.requirements.iter().any(|it| it.found.this_session);
    any.then_some(
        "(this session): the metric drifted or changed its level meanwhile; a level is not protected by blocks, so what is said of it is for this session only",
    )
}

fn unit(requirement: &Requirement) -> &'static str {
    if requirement.relative { "%" } else { unit_of(&requirement.metric) }
}

fn shown(requirement: &Requirement, value: f64) -> String {
    if requirement.relative { format!("{:+.1}", 100.0 * value) } else { format_number(value) }
}
