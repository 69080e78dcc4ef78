//! Which knob brought how much of a confirmed gain: the settings between the machine as found and the answer, and the shares.
use std::collections::BTreeMap;

use powerband_advice::why::{Explanation, Part, Players, Question, Runs, Subset, explain};
use powerband_advice::{Data, Space};
use powerband_record::{SearchPlan, SearchShare};

use super::counted;

/// Standard deviation of a run's logarithm where nothing was repeated, as the prior of watts has it.
const UNKNOWN_NOISE_SD: f64 = 0.005;

/// A gain that can be shared among knobs.
pub(super) struct Gain {
    players: Players,
    /// Each subset that is a setting, with its number: start and winner first.
    subsets: Vec<(Subset, u32)>,
    /// What the shares are called.
    names: Vec<String>,
}

impl Gain {
    /// Of an answer: none where the machine as found is none of the settings, where one knob alone did it, where it is the
    /// goal itself, and where a setting between cannot be had.
    pub(super) fn of(plan: &SearchPlan, space: &Space, winner: u32) -> Option<Gain> {
        let start = (plan.found_at? as usize).checked_sub(1)?;
        let point = (winner as usize).checked_sub(1)?;
        if !plan.goal.known.is_empty() {
            return None;
        }
        let players = Players::between(space, &space.points[start], &space.points[point]);
        let name = |factors: &Vec<usize>| {
            let names: Vec<&str> = factors.iter().map(|&factor| plan.factors[factor].name.as_str()).collect();
            names.join(" ")
        };
        let names: Vec<String> = players.factors.iter().map(name).collect();
        let mut subsets = vec![(Subset::NONE, 0), (Subset::all(players.len()), winner)];
        for subset in players.to_measure() {
            subsets.push((subset, counted(players.point(space, subset, start, point)?)));
        }
        (players.len() > 1).then_some(Gain { players, subsets, names })
    }

    /// Settings to run beside start and winner, those left out that were run in blocks already.
    pub(super) fn to_run(&self, in_blocks: &BTreeMap<u32, Vec<f64>>) -> Vec<u32> {
        let between = self.subsets.iter().skip(2).map(|(_, setting)| *setting);
        between.filter(|setting| !in_blocks.contains_key(setting)).collect()
    }

    /// The shares, and what the knobs do together; `in_blocks` has the goal's values of the runs in blocks by setting,
    /// `data` what all runs say of the noise. None where one of them has no valid run.
    pub(super) fn shares(
        &self,
        in_blocks: &BTreeMap<u32, Vec<f64>>,
        data: &Data,
        seed: u64,
    ) -> Option<(Vec<SearchShare>, SearchShare)> {
        let runs = self.subsets.iter().filter_map(|(subset, setting)| {
            let ln_values = in_blocks.get(setting)?.iter().map(|value| libm::log(*value)).collect();
            Some(Runs { subset: *subset, ln_values })
        });
        let runs: Vec<Runs> = runs.collect();
        let noise_sd = if data.freedom >= 2.0 { libm::sqrt(data.within / data.freedom) } else { UNKNOWN_NOISE_SD };
        let players = self.players.len();
        let told = explain(&Question { players, runs: &runs, noise_sd, draws: None, seed }).ok()?;
        let start = typical(in_blocks.get(&0)?);
        let Explanation { shares, together, .. } = told;
        let shares = self.names.iter().zip(shares).map(|(name, part)| share(name, part, start));
        Some((shares.collect(), share("", together, start)))
    }
}

/// Geometric mean.
fn typical(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().map(|value| libm::log(*value)).sum();
    libm::exp(sum / values.len().max(1) as f64)
}

/// A part of what was saved as a change relative to the machine as found.
fn share(factor: &str, part: Part, start: f64) -> SearchShare {
    let change = |saved: f64| -saved / start;
    SearchShare {
        factor: factor.to_owned(),
        change: change(part.saved),
        low: Some(change(part.high)),
        high: Some(change(part.low)),
    }
}
