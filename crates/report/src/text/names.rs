//! What settings are called on a terminal: the baseline with its values, what labels share said once.
use powerband_record::{BASELINE, Setting};

use crate::Model;

/// Whether a setting is the machine's current settings, under no name of its own.
pub(super) fn is_baseline(model: &Model, setting: u32) -> bool {
    let found = usize::try_from(setting).ok().and_then(|at| model.settings.get(at));
    found.is_some_and(|it| it.turns.is_empty() && it.label == BASELINE)
}

/// The reference in a sentence: `600MHz`, `the baseline`.
pub(super) fn reference(model: &Model) -> String {
    if is_baseline(model, 0) { "the baseline".to_owned() } else { model.label(0) }
}

/// How a group of settings is named in a table.
pub(super) struct Labels {
    /// Above them: the knob they are values of, or `setting`.
    pub(super) head: String,
    /// In the order asked for.
    pub(super) cells: Vec<String>,
    /// Assignments that all but the baseline have, left out of the cells.
    pub(super) shared: Option<String>,
}

/// The labels of these settings, with what they share taken out.
pub(super) fn labels(model: &Model, settings: &[u32]) -> Labels {
    let plain: Vec<String> = settings.iter().map(|setting| model.label(*setting)).collect();
    let words = |label: &str| -> Option<Vec<(String, String)>> {
        let pair = |word: &str| word.split_once('=').map(|(knob, value)| (knob.to_owned(), value.to_owned()));
        label.split_whitespace().map(pair).collect()
    };
    let others: Vec<&u32> = settings.iter().filter(|setting| !is_baseline(model, **setting)).collect();
    let parsed: Option<Vec<Vec<(String, String)>>> = others.iter().map(|it| words(&model.label(**it))).collect();
    let unshared = || Labels { head: "setting".into(), cells: plain.clone(), shared: None };
    let Some(parsed) = parsed.filter(|parsed| parsed.len() > 1) else { return unshared() };
    let Some(first) = parsed.first() else { return unshared() };
    let shared: Vec<&(String, String)> =
        first.iter().filter(|word| parsed.iter().all(|words| words.contains(word))).collect();
    let rest: Vec<Vec<&(String, String)>> =
        parsed.iter().map(|words| words.iter().filter(|word| !shared.contains(word)).collect()).collect();
    let knob = rest.first().and_then(|words| words.first()).map(|(knob, _)| knob.clone()).unwrap_or_default();
    let one = !knob.is_empty() && rest.iter().all(|words| matches!(words.as_slice(), [(of, _)] if *of == knob));
    let cell = |words: &Vec<&(String, String)>| match words.as_slice() {
        [(_, value)] if one => value.clone(),
        words => words.iter().map(|(knob, value)| format!("{knob}={value}")).collect::<Vec<_>>().join(" "),
    };
    let mut short = rest.iter().map(cell);
    let cells = settings
        .iter()
        .zip(plain.iter())
        .map(|(setting, plain)| match is_baseline(model, *setting) {
            true => plain.clone(),
            false => short.next().filter(|cell| !cell.is_empty()).unwrap_or_else(|| plain.clone()),
        })
        .collect();
    let told = shared.iter().map(|(knob, value)| format!("{knob}={value}")).collect::<Vec<_>>().join(" ");
    let head = if one { knob } else { "setting".to_owned() };
    Labels { head, cells, shared: (!told.is_empty()).then_some(told) }
}

/// The current values of the knobs that the settings change: `governor=performance`; nothing where the journal has none.
pub(super) fn baseline_values(model: &Model) -> Option<String> {
    let typed = knobs(model);
    // As it was typed: the journal has the whole name of each knob.
    let short = |whole: &str| {
        let plain = |typed: &str| typed.split('@').next().unwrap_or(typed).to_owned();
        let same =
            |typed: &String| whole == *typed || whole.strip_suffix(typed.as_str()).is_some_and(|it| it.ends_with('.'));
        typed.iter().map(|it| plain(it)).find(same).unwrap_or_else(|| whole.to_owned())
    };
    let baseline = model.started.baseline.iter();
    let values: Vec<String> = baseline.map(|it| format!("{}={}", short(&it.knob), it.value)).collect();
    (!values.is_empty()).then(|| values.join(" "))
}

/// The knobs that the settings change, each once, in their order.
pub(super) fn knobs(model: &Model) -> Vec<String> {
    let mut knobs: Vec<String> = Vec::new();
    for setting in &model.settings {
        let Ok(parsed) = Setting::parse(&setting.turns) else { continue };
        for assignment in parsed.assignments {
            let knob = assignment.knob.to_string();
            if !knobs.contains(&knob) {
                knobs.push(knob);
            }
        }
    }
    knobs
}
