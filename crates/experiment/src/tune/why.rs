//! Which knob brought how much of a confirmed gain: the settings between the baseline and the answer, and the shares.
use std::collections::BTreeMap;

use powerband_advice::why::{Explanation, Part, Players, Question, Runs, Subset, explain};
use powerband_advice::{Data, Space};
use powerband_record::{SearchFactorKind, SearchPlan, SearchShare};

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
    /// Where the goal is a knob's own value, the player it is of and the change, relative to the baseline.
    known: Option<(usize, f64)>,
}

impl Gain {
    /// Of an answer: none where one knob alone did it.
    ///
    /// # Errors
    /// Why a gain of several knobs cannot be shared, in words.
    pub(super) fn of(plan: &SearchPlan, space: &Space, winner: u32) -> Result<Option<Gain>, String> {
        let Some(point) = (winner as usize).checked_sub(1) else { return Ok(None) };
        let at = &space.points[point];
        let start = plan.found_at.and_then(|found| (found as usize).checked_sub(1));
        let nowhere = vec![None; space.factors.len()];
        let found = if plan.found.len() == at.len() { &plan.found } else { &nowhere };
        let players = match start {
            Some(start) => Players::between(space, &space.points[start], at),
            None => Players::unplaced(space, found, at),
        };
        if players.len() < 2 {
            return Ok(None);
        }
        let name = |factors: &Vec<usize>| {
            let names: Vec<&str> = factors.iter().map(|&factor| plan.factors[factor].name.as_str()).collect();
            names.join(" ")
        };
        let names = players.factors.iter().map(name).collect();
        let ends = [(Subset::NONE, 0), (Subset::all(players.len()), winner)];
        if !plan.goal.known.is_empty() {
            let known = Some(known(plan, &players, point)?);
            return Ok(Some(Gain { players, subsets: ends.to_vec(), names, known }));
        }
        let place = |subset| match start {
            Some(start) => players.point(space, subset, start, point).map(counted),
            None => alone(plan, space, &players.alone(subset, at)),
        };
        let none = || match (start, plan.between.is_empty()) {
            (None, true) => "the baseline is none of the settings, and the settings between cannot be set here",
            _ => "a setting between the baseline and the answer does not exist",
        };
        let between = players.to_measure().into_iter().map(|subset| Some((subset, place(subset)?)));
        let between: Vec<_> = between.collect::<Option<_>>().ok_or_else(|| none().to_owned())?;
        Ok(Some(Gain { players, subsets: ends.into_iter().chain(between).collect(), names, known: None }))
    }

    /// Settings to run next to start and winner, those left out that were run in blocks already.
    pub(super) fn to_run(&self, in_blocks: &BTreeMap<u32, Vec<f64>>) -> Vec<u32> {
        let between = self.subsets.iter().skip(2).map(|(_, setting)| *setting);
        between.filter(|setting| !in_blocks.contains_key(setting)).collect()
    }

    /// The shares, and what the knobs do together; `in_blocks` has the goal's values of the runs in blocks by setting,
    /// `data` what all runs say of the noise. A knob's own value is known without runs. None where a setting has no valid run.
    pub(super) fn shares(
        &self,
        in_blocks: &BTreeMap<u32, Vec<f64>>,
        data: &Data,
        seed: u64,
    ) -> Option<(Vec<SearchShare>, Option<SearchShare>)> {
        if let Some((own, change)) = self.known {
            let of = |(player, name): (usize, &String)| {
                let change = if player == own { change } else { 0.0 };
                SearchShare { factor: name.clone(), change, low: None, high: None }
            };
            return Some((self.names.iter().enumerate().map(of).collect(), None));
        }
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
        Some((shares.collect(), Some(share("", together, start))))
    }
}

/// The player whose value the goal is, and what the answer changes of it.
fn known(plan: &SearchPlan, players: &Players, point: usize) -> Result<(usize, f64), String> {
    let goal = &plan.goal;
    let found = goal.found.ok_or_else(|| format!("the baseline has no {} to compare with", goal.name))?;
    let is_goal = |factor: &usize| match &plan.factors[*factor].kind {
        SearchFactorKind::Numbers(values) => plan.points.iter().zip(&goal.known).all(|(point, known)| {
            point.get(*factor).copied().flatten().and_then(|level| values.get(usize::from(level))) == Some(known)
        }),
        _ => false,
    };
    let own = players.factors.iter().position(|factors| factors.iter().any(is_goal));
    let change = goal.known.get(point).copied().unwrap_or(found) / found - 1.0;
    own.map(|own| (own, change)).ok_or_else(|| format!("{} is the same at the baseline", goal.name))
}

/// The setting that has these levels and leaves all else as found.
fn alone(plan: &SearchPlan, space: &Space, levels: &[Option<u16>]) -> Option<u32> {
    let searched = space.points.iter().position(|point| point == levels).map(counted);
    let between = || plan.between.iter().position(|it| it == levels).map(|at| counted(space.points.len() + at));
    searched.or_else(between)
}

/// Geometric mean.
fn typical(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().map(|value| libm::log(*value)).sum();
    libm::exp(sum / values.len().max(1) as f64)
}

/// A part of what was saved as a change relative to the baseline.
fn share(factor: &str, part: Part, start: f64) -> SearchShare {
    let change = |saved: f64| -saved / start;
    SearchShare {
        factor: factor.to_owned(),
        change: change(part.saved),
        low: Some(change(part.high)),
        high: Some(change(part.low)),
    }
}
