//! The setting to use on a fleet: better in something, worse and open in nothing, in every kind of node.
use powerband_record::{CpuList, Verdict};

use super::{Kinds, MetricAnswer, Recommended, lines};

/// The setting, or why there is none.
pub(super) fn choose(
    metrics: &[MetricAnswer],
    kinds: Option<&Kinds>,
    cpus: Option<&CpuList>,
) -> (Option<Recommended>, Option<String>) {
    let count = metrics.first().map_or(0, |metric| metric.settings.len());
    let verdicts = |place: usize| metrics.iter().filter_map(move |metric| Some(&metric.settings.get(place)?.fleet));
    let better: Vec<usize> =
        (0..count).filter(|&place| verdicts(place).any(|it| it.verdict == Verdict::Better)).collect();
    let label = |place: usize| metrics.first().map(|metric| metric.settings[place].setting.clone()).unwrap_or_default();
    let mut fitting: Vec<(f64, usize)> = Vec::new();
    let mut why = None;
    for &place in &better {
        match obstacle(metrics, kinds, place) {
            None => fitting.push((gain(metrics, place), place)),
            Some(obstacle) => {
                let but = || format!("{} is better in a decision metric, but {obstacle}", label(place));
                why.get_or_insert_with(but);
            }
        }
    }
    let best = fitting.iter().max_by(|one, other| one.0.total_cmp(&other.0));
    let Some(&(_, place)) = best else {
        let nothing = || "no setting is shown to be better than the reference over the fleet".to_owned();
        return (None, Some(format!("no setting is recommended: {}", why.unwrap_or_else(nothing))));
    };
    let setting = &metrics[0].settings[place];
    let Some(keep) = lines::keep(&setting.turns, cpus) else {
        let why = format!("no setting is recommended: {} sets nothing on a node", setting.setting);
        return (None, Some(why));
    };
    let why = match fitting.len() {
        1 => "it is better in a decision metric and worse in none".to_owned(),
        several => format!("{several} settings are better in a decision metric and worse in none; it gains most"),
    };
    let slurm = lines::slurm(&setting.turns);
    let (setting, turns) = (setting.setting.clone(), setting.turns.clone());
    (Some(Recommended { setting, turns, why, keep, slurm }), None)
}

/// Why a setting may not be recommended.
fn obstacle(metrics: &[MetricAnswer], kinds: Option<&Kinds>, place: usize) -> Option<String> {
    for (number, metric) in metrics.iter().enumerate() {
        let setting = metric.settings.get(place)?;
        if setting.lost_under {
            return Some("nodes were lost under it".into());
        }
        match setting.fleet.verdict {
            Verdict::Worse => return Some(format!("is worse in {}", metric.metric)),
            Verdict::Undecided => return Some(format!("is undecided in {}", metric.metric)),
            Verdict::Better | Verdict::Same => {}
        }
        for kind in kinds.iter().flat_map(|kinds| &kinds.parts) {
            let of_kind = kind.metrics.get(number).and_then(|settings| settings.get(place));
            if of_kind.is_some_and(|it| it.verdict == Verdict::Worse) {
                return Some(format!("is worse in {} on the nodes of kind {}", metric.metric, kind.name));
            }
        }
    }
    None
}

/// Sum of what it gains in the metrics in which it is better.
fn gain(metrics: &[MetricAnswer], place: usize) -> f64 {
    let better = metrics.iter().filter_map(|metric| Some(&metric.settings.get(place)?.fleet));
    better.filter(|it| it.verdict == Verdict::Better).filter_map(|it| it.change).map(f64::abs).sum()
}
