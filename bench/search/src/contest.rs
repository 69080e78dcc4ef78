//! The race: each searcher on each surface, at the same budget and noise, into rows and lines of a picture.

use anyhow::{Result, anyhow};
use powerband_report::picture::chart::{Chart, Line};
use powerband_testkit::replay::ReplayTable;

use crate::optuna::{Environment, Peer, Sampler};
use crate::picture;
use crate::score::Score;
use crate::searchers::{self, BUDGET};

/// A surface, or a family of them.
pub(crate) struct Surface<'a> {
    /// What it is called.
    pub(crate) name: String,
    /// The machine of one seed.
    pub(crate) table: Box<dyn Fn(u64) -> ReplayTable + 'a>,
    /// Settings tried until a close one, median and 95th percentile, that ours must reach.
    pub(crate) mark: Option<(f64, f64)>,
}

/// Who takes part.
pub(crate) enum Searcher {
    Ours,
    /// An order fixed beforehand.
    Fixed {
        name: &'static str,
        order: fn(&ReplayTable, u64) -> Vec<usize>,
    },
    /// One of Optuna's samplers.
    Optuna {
        sampler: Sampler,
        peer: Peer,
    },
}

/// A searcher and how many searches it gets on each surface.
pub(crate) struct Entrant {
    pub(crate) searcher: Searcher,
    pub(crate) seeds: u64,
}

/// What holds for all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    /// First seed.
    pub(crate) seed: u64,
    /// Noise, times what was measured.
    pub(crate) louder: f64,
    /// Ours may exceed the bound by this share while searching.
    pub(crate) safe: Option<f64>,
}

impl Searcher {
    /// As it is called in the table.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Searcher::Ours => "ours",
            Searcher::Fixed { name, .. } => name,
            Searcher::Optuna { sampler, .. } => sampler.name(),
        }
    }
}

/// Optuna's samplers with so many seeds each, if it can be had: a searcher each, or a sentence.
pub(crate) fn optuna(folder: &std::path::Path, seeds: u64, gp_seeds: u64) -> Result<Vec<Entrant>, String> {
    let wanted = [(Sampler::Tpe, seeds), (Sampler::TpeMultivariate, seeds), (Sampler::Gp, gp_seeds)];
    if seeds == 0 && gp_seeds == 0 {
        return Ok(Vec::new());
    }
    let environment = Environment::in_folder(folder, gp_seeds > 0)?;
    let entrant = |(sampler, seeds): (Sampler, u64)| {
        environment.start(sampler).map(|peer| Entrant { searcher: Searcher::Optuna { sampler, peer }, seeds })
    };
    wanted.into_iter().filter(|(_, seeds)| *seeds > 0).map(entrant).collect()
}

/// Plays one searcher on one surface.
///
/// # Errors
/// When a search cannot be played.
pub(crate) fn play(surface: &Surface<'_>, entrant: &mut Entrant, terms: Terms) -> Result<(Score, Line)> {
    let mut score = Score::default();
    let mut regret = vec![0.0; BUDGET];
    for seed in terms.seed..terms.seed + entrant.seeds {
        let table = (surface.table)(seed);
        let began = std::time::Instant::now();
        let trace = match &mut entrant.searcher {
            Searcher::Ours => {
                let (played, trace) = searchers::play_ours(&table, seed, terms.louder, terms.safe)?;
                score.add(&table, &played, began.elapsed().as_secs_f64());
                trace
            }
            Searcher::Fixed { order, .. } => {
                let naive = searchers::play(&table, &order(&table, seed), seed, terms.louder);
                score.add_naive(&table, &naive, began.elapsed().as_secs_f64());
                naive.regret
            }
            Searcher::Optuna { peer, .. } => {
                let naive = searchers::play_optuna(peer, &table, seed, terms.louder)?;
                score.add_naive(&table, &naive, began.elapsed().as_secs_f64());
                naive.regret
            }
        };
        let last = trace.last().copied().ok_or_else(|| anyhow!("a search without a run"))?;
        let held = trace.iter().copied().chain(std::iter::repeat(last));
        regret.iter_mut().zip(held).for_each(|(sum, one)| *sum += 100.0 * one.exp_m1());
    }
    regret.iter_mut().for_each(|sum| *sum /= entrant.seeds as f64);
    Ok((score, picture::line(entrant.searcher.name(), &regret)))
}

/// The panel of one surface.
pub(crate) fn panel(surface: &Surface<'_>, lines: Vec<Line>) -> Chart {
    picture::panel(&surface.name, lines)
}
