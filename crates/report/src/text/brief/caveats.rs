//! What a reader must know with the answer: values the driver adjusted, settings that gave nothing, and the notes of the journal.
use powerband_record::format_khz;

use super::super::names::baseline_values;
use crate::labels::join_labels;
use crate::sentence;
use crate::words::counted;
use crate::{Landing, Model};

/// Adjusted values named in one sentence.
const NAMED: usize = 2;

/// All of them, a sentence each, the most important first.
pub(super) fn all(model: &Model) -> Vec<String> {
    let mut all: Vec<String> = adjusted(model).into_iter().collect();
    if model.started.search.is_none() {
        let left = (0_u32..).zip(&model.settings).filter_map(|(setting, report)| {
            let is_unjudged = report.failed.is_none() && report.verdicts.iter().flatten().next().is_none();
            let left = report.left.as_ref().filter(|_| is_unjudged)?;
            let label = model.label(setting);
            Some(match left.block {
                0 => format!("{label} was not measured: {}", left.why),
                block => format!("{label} stopped after block {block}: {}", left.why),
            })
        });
        all.extend(left);
    }
    all.extend(sentence::notes(model));
    if !model.voids.is_empty() {
        let count = u32::try_from(model.voids.len()).unwrap_or(u32::MAX);
        let why = model.voids.first().map(|void| sentence::void(&void.why)).unwrap_or_default();
        all.push(format!("{} did not count (void), the first: {why}", counted(count, "trial")));
    }
    all
}

/// What the full report lists nowhere else.
pub(in super::super) fn listed(model: &Model) -> Vec<String> {
    equal(model).into_iter().chain(sentence::notes(model)).collect()
}

/// Settings that change nothing: they are what the machine was at.
pub(super) fn equal(model: &Model) -> Option<String> {
    let same: Vec<String> = (0_u32..)
        .zip(&model.settings)
        .filter(|(_, report)| report.unchanged)
        .map(|(setting, _)| model.label(setting))
        .collect();
    let values = baseline_values(model).map(|values| format!(" ({values})")).unwrap_or_default();
    match same.as_slice() {
        [] => None,
        [one] => Some(format!("{one} equals the baseline{values}")),
        several => Some(format!("{} equal the baseline{values}", join_labels(several, NAMED + 1))),
    }
}

/// Behind the name of a setting whose values the driver changed, and before the caveat that names them.
pub(super) const ADJUSTED: &str = "*";

/// Values that the driver changed, each once.
fn adjusted(model: &Model) -> Option<String> {
    let mut kinds: Vec<String> = Vec::new();
    for landing in model.settings.iter().flat_map(|setting| &setting.landings) {
        let kind = told(landing);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let named = kinds.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = kinds.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(", {more} more") } else { String::new() };
    (!kinds.is_empty()).then(|| format!("{ADJUSTED} values adjusted by the driver: {named}{more}"))
}

/// `rx-usecs=260 clamped to 259`, whichever the target.
pub(in super::super) fn told(landing: &Landing) -> String {
    let site = &landing.site;
    let knob = site.knob.rsplit_once('.').map_or(site.knob.as_str(), |(_, knob)| knob);
    let khz = site.asked.parse().ok().filter(|_| site.knob.contains("cpufreq.") && knob.ends_with("freq"));
    let asked = khz.map_or_else(|| site.asked.clone(), |khz| format_khz(khz).replace(' ', ""));
    format!("{knob}={asked} {}", site.landed)
}
