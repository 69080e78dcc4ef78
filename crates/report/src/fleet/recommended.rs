//! The setting to use on a fleet: better in something, worse and open in nothing, in every kind of node.
use powerband_record::{CpuList, Verdict};

use serde::Serialize;

use super::{Kinds, MetricAnswer, SlurmRequest, lines};
use crate::typed::settable;
use crate::words::capital;

/// The setting to use on the fleet.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Recommended {
    /// Its label.
    pub setting: String,
    /// What it sets.
    pub turns: String,
    /// Why this one, in a sentence.
    pub why: String,
    /// What keeps it on a node over reboots.
    pub keep: String,
    /// What asks Slurm for it, where Slurm can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slurm: Option<SlurmRequest>,
}

/// The setting to use, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Choice {
    /// The setting to use, where one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommended: Option<Recommended>,
    /// Why no setting is recommended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_recommended: Option<String>,
}

impl Choice {
    pub(super) fn nothing(for_what: &str, why: &str) -> Choice {
        let why = format!("no setting is recommended{for_what}: {why}");
        Choice { recommended: None, not_recommended: Some(why) }
    }

    /// What to use and why, or why nothing; not made safe to print.
    pub(crate) fn sentence(&self, for_what: &str) -> Option<String> {
        match &self.recommended {
            Some(it) => Some(format!("To use {}{for_what}: {}.", it.setting, it.why)),
            None => self.not_recommended.as_ref().map(|why| format!("{}.", capital(why))),
        }
    }

    /// What is typed or pasted, a line each.
    pub(crate) fn commands(&self) -> Vec<String> {
        let Some(recommended) = &self.recommended else { return Vec::new() };
        let slurm = recommended.slurm.iter().flat_map(|it| it.slurm_conf.iter().chain(std::iter::once(&it.srun)));
        slurm.chain(std::iter::once(&recommended.keep)).cloned().collect()
    }
}

/// The setting, or why there is none.
pub(super) fn choose(metrics: &[MetricAnswer], kinds: Option<&Kinds>, cpus: Option<&CpuList>) -> Choice {
    let count = metrics.first().map_or(0, |metric| metric.settings.len());
    let verdicts = |place: usize| metrics.iter().filter_map(move |metric| Some(&metric.settings.get(place)?.fleet));
    let better: Vec<usize> =
        (0..count).filter(|&place| verdicts(place).any(|it| it.verdict == Verdict::Better)).collect();
    let label = |place: usize| metrics.first().map(|metric| metric.settings[place].setting.clone()).unwrap_or_default();
    let mut fitting: Vec<(f64, usize)> = Vec::new();
    // One that more nodes may bring is of more use than one that nothing can.
    let (mut open, mut out) = (None, None);
    for &place in &better {
        let but = |why: String| format!("{} is better in a decision metric, but {why}", label(place));
        match (ruled_out(metrics, kinds, place), undecided(metrics, place)) {
            (Some(why), _) => drop(out.get_or_insert_with(|| but(why))),
            (None, Some(why)) => drop(open.get_or_insert_with(|| but(why))),
            (None, None) => fitting.push((gain(metrics, place), place)),
        }
    }
    let best = fitting.iter().max_by(|one, other| one.0.total_cmp(&other.0));
    let Some(&(_, place)) = best else {
        let nothing = || "no setting is shown to be better than the reference over the fleet".to_owned();
        return Choice::nothing("", &open.or(out).unwrap_or_else(nothing));
    };
    let setting = &metrics[0].settings[place];
    if let Err(why) = settable(&setting.turns) {
        return Choice::nothing("", &format!("{} is better, but cannot be kept on a node: {why}", setting.setting));
    }
    let Some(keep) = lines::keep(&setting.turns, cpus) else {
        return Choice::nothing("", &format!("{} sets nothing on a node", setting.setting));
    };
    let why = match fitting.len() {
        1 => "it is better in a decision metric and worse in none".to_owned(),
        several => format!("{several} settings are better in a decision metric and worse in none; it gains most"),
    };
    let slurm = lines::slurm(&setting.turns);
    let (setting, turns) = (setting.setting.clone(), setting.turns.clone());
    Choice { recommended: Some(Recommended { setting, turns, why, keep, slurm }), not_recommended: None }
}

/// Why a setting may not be recommended, whatever is still decided of it.
fn ruled_out(metrics: &[MetricAnswer], kinds: Option<&Kinds>, place: usize) -> Option<String> {
    for (number, metric) in metrics.iter().enumerate() {
        let setting = metric.settings.get(place)?;
        if setting.lost_under {
            return Some("nodes were lost under it".into());
        }
        if setting.fleet.verdict == Verdict::Worse {
            return Some(format!("is worse in {}", metric.metric));
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

/// In which metric a setting is open.
fn undecided(metrics: &[MetricAnswer], place: usize) -> Option<String> {
    let is_open = |metric: &&MetricAnswer| {
        metric.settings.get(place).is_some_and(|setting| setting.fleet.verdict == Verdict::Undecided)
    };
    metrics.iter().find(is_open).map(|metric| format!("is undecided in {}", metric.metric))
}

/// Sum of what it gains in the metrics in which it is better.
fn gain(metrics: &[MetricAnswer], place: usize) -> f64 {
    let better = metrics.iter().filter_map(|metric| Some(&metric.settings.get(place)?.fleet));
    better.filter(|it| it.verdict == Verdict::Better).filter_map(|it| it.change).map(f64::abs).sum()
}
