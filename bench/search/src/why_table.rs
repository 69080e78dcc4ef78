//! How well a gain is shared among its knobs: shares from runs of the settings in between, against the shares of the truth.

use powerband_advice::Candidate;
use powerband_advice::why::{Explanation, Players, Question, Runs, Subset, Unexplained, explain};
use powerband_stats::{Draws, Purpose};
use powerband_testkit::replay::ReplayTable;

/// Runs of start and winner: a confirmation in few blocks.
const BLOCKS: usize = 3;

/// Shares from the fastest, least delayed, least capped setting to the best one that keeps the bound; of those to which
/// all settings in between exist, which are run once each.
pub(crate) fn words(table: &ReplayTable, sets: u64, louder: f64) -> Option<String> {
    let start = start(table)?;
    let mut kept: Vec<usize> = (0..table.goal.len()).filter(|point| table.tail[*point] <= table.limit).collect();
    kept.sort_by(|a, b| table.goal[*a].total_cmp(&table.goal[*b]));
    let (players, subsets) = kept.into_iter().find_map(|winner| between(table, start, winner))?;
    let ends = [Subset::NONE, Subset::all(players.len())];
    let squares = table.residuals.iter().map(|(goal, _)| goal * goal).sum::<f64>();
    // A search has learned the noise by then.
    let noise_sd = louder * (squares / table.residuals.len() as f64).sqrt();
    let ask = |runs: &[Runs], seed| -> Result<Explanation, Unexplained> {
        explain(&Question { players: players.len(), runs, noise_sd, draws: None, seed })
    };
    let run = |subset, ln_values| Runs { subset, ln_values };
    let truth: Vec<Runs> = subsets.iter().map(|(subset, point)| run(*subset, vec![table.goal[*point]])).collect();
    let truth = ask(&truth, 0).ok()?;
    let whole = truth.whole.saved;
    let (mut off, mut held, mut width, mut count) = (0.0, 0, 0.0, 0);
    for set in 0..sets {
        let mut noise = Draws::new(set, Purpose::Noise, 3, 0);
        let runs: Vec<Runs> = subsets
            .iter()
            .map(|(subset, point)| {
                let repeats = if ends.contains(subset) { BLOCKS } else { 1 };
                let values = (0..repeats).map(|_| table.run(Candidate::Point(*point), &mut noise, louder).0);
                run(*subset, values.collect())
            })
            .collect();
        let observation = ask(&runs, set).ok()?;
        for (have, want) in observation.shares.iter().zip(&truth.shares) {
            off += (have.saved / observation.whole.saved - want.saved / whole).abs();
            width += (have.high - have.low) / whole;
            held += u32::from(have.low <= want.saved && want.saved <= have.high);
            count += 1;
        }
    }
    let names: Vec<String> = players
        .factors
        .iter()
        .zip(&truth.shares)
        .map(|(factors, share)| {
            format!("{} {:.0} %", table.space.factors[factors[0]].name, 100.0 * share.saved / whole)
        })
        .collect();
    let each = f64::from(count.max(1));
    Some(format!(
        "{}; off by {:.1} points, bars {:.1} points wide, hold the truth in {:.0} %",
        names.join(", "),
        100.0 * off / each,
        100.0 * width / each,
        100.0 * f64::from(held) / each
    ))
}

/// The knobs in which two settings differ, and every setting to run; none for less than two knobs, and where a setting in
/// between is missing.
fn between(table: &ReplayTable, start: usize, winner: usize) -> Option<(Players, Vec<(Subset, usize)>)> {
    let players = Players::between(&table.space, &table.space.points[start], &table.space.points[winner]);
    if players.len() < 2 {
        return None;
    }
    let ends = [Subset::NONE, Subset::all(players.len())];
    let all = ends.into_iter().chain(players.to_measure());
    let point = |subset| Some((subset, players.point(&table.space, subset, start, winner)?));
    let subsets = all.map(point).collect::<Option<Vec<_>>>()?;
    Some((players, subsets))
}

/// The setting with the highest frequency, the shortest delay and the highest of everything else.
fn start(table: &ReplayTable) -> Option<usize> {
    let levels: Vec<Option<u16>> = table
        .space
        .factors
        .iter()
        .map(|factor| if factor.name == "rx-usecs" { Some(0) } else { Some(factor.levels() as u16 - 1) })
        .collect();
    table.space.points.iter().position(|point| *point == levels)
}
