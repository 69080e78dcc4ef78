//! Why the winner is cheaper: how much of the gain each knob brought, from runs of settings between start and winner.
//!
//! The knobs in which start and winner differ are [`Players`]. A setting between has some of them from the winner and the
//! others from the start ([`Subset`]); [`Players::to_measure`] says which of them have to be run, and [`explain`] makes of
//! all runs a share for each player (Shapley 1953: its effect averaged over all orders in which the knobs can be turned).
//! Shares of the logarithm become shares of the value by the logarithmic mean of start and winner, so that they add up to
//! the whole gain, to the last digit.
//!
//! ```
//! use powerband_advice::why::{Question, Runs, Subset, explain};
//!
//! // 100 W at the start; the frequency alone makes 80 W of it, the coalescing alone 98 W, both 76 W.
//! let watts: [(&[usize], f64); 4] = [(&[], 100.0), (&[0], 80.0), (&[1], 98.0), (&[0, 1], 76.0)];
//! let runs: Vec<Runs> = watts
//!     .iter()
//!     .map(|(players, watts)| Runs { subset: Subset::of(players), ln_values: vec![libm::log(*watts)] })
//!     .collect();
//! let told = explain(&Question { players: 2, runs: &runs, noise_sd: 0.005, draws: None, seed: 1 }).unwrap();
//! assert!((told.whole.saved - 24.0).abs() < 1e-9);
//! assert!((told.shares[0].saved + told.shares[1].saved - 24.0).abs() < 1e-9);
//! assert!(told.shares[0].saved > 20.0);
//! ```

use powerband_stats::{Draws, Purpose};

mod players;
mod shares;

pub use players::{Players, Subset, hybrids};
use shares::{Table, put_back_shares, shapley};

/// Players with whom all subsets are looked at; with more, only those that have one knob restored.
const MAX_ENUMERATED: usize = 6;

/// Draws behind the error bars.
const DRAWS: usize = 400;

/// The bars hold this share of the draws: from the 5th to the 95th percentile.
const TAIL: f64 = 0.05;

/// The noise expected beforehand counts like so many repeats.
const NOISE_WEIGHT: f64 = 4.0;

/// What a model says of a subset nobody ran is trusted so much less than it says itself.
const UNMEASURED_WIDER: f64 = 2.0;

/// What was measured at one subset.
#[derive(Debug, Clone, PartialEq)]
pub struct Runs {
    /// Which players had the winner's values.
    pub subset: Subset,
    /// Natural logarithm of the metric itself (not negated), one a run.
    pub ln_values: Vec<f64>,
}

/// A model's joint draws: for each of so many draws the value at each of the subsets (natural logarithms).
pub type JointDraws<'a> = &'a dyn Fn(&[Subset], usize) -> Vec<Vec<f64>>;

/// What [`explain`] is asked.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// Number of players.
    pub players: usize,
    /// The runs; start ([`Subset::NONE`]) and winner (all players) have to be among them. Runs of the same blocks are
    /// best: what drifts between two rounds of measuring would be taken for an effect.
    pub runs: &'a [Runs],
    /// Standard deviation of a run's logarithm as expected before; the repeats in `runs` correct it.
    pub noise_sd: f64,
    /// A model that knows subsets nobody ran, where there is one.
    pub draws: Option<JointDraws<'a>>,
    /// Seed of the error bars.
    pub seed: u64,
}

/// A part of the gain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// How much lower the metric's logarithm is for it.
    pub ln: f64,
    /// How much lower the metric is for it, in its own unit; negative where it costs.
    pub saved: f64,
    /// Lower end of the 90 % interval of `saved`.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
}

/// How the shares were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Over all subsets, of which so many come from the model because nobody ran them.
    AllSubsets {
        /// Subsets that were not run.
        modelled: usize,
    },
    /// From the winner with one knob restored, for each knob; what their effects leave of the whole is spread evenly.
    PutBack,
}

/// Where the gain comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// Start against winner.
    pub whole: Part,
    /// One for each player, in their order; they add up to the whole.
    pub shares: Vec<Part>,
    /// What the knobs bring together beyond (or, negative, short of) the sum of what each brings alone. It is contained in
    /// the shares.
    pub together: Part,
    /// How the shares were found.
    pub way: Method,
}

/// Why there is no explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unexplained {
    /// A subset that is needed was not run.
    #[error("the setting between start and winner with knobs {0} of the winner was not measured: run it, then explain")]
    NotMeasured(Subset),
    /// Start and winner are one setting.
    #[error("start and winner do not differ, so there is nothing to explain")]
    NoPlayers,
    /// A value is no finite number.
    #[error("a measured value is zero, negative or not finite, so that it has no logarithm: leave that run out")]
    NotFinite,
}

/// Shares the gain of the winner among its players.
///
/// # Errors
/// When there is no player, start or winner or a subset without which nothing can be said was not run, or a value is not
/// finite.
pub fn explain(question: &Question<'_>) -> Result<Explanation, Unexplained> {
    if question.players == 0 {
        return Err(Unexplained::NoPlayers);
    }
    if question.runs.iter().flat_map(|runs| &runs.ln_values).any(|value| !value.is_finite()) {
        return Err(Unexplained::NotFinite);
    }
    let measured = Measured::new(question);
    let all = Subset::all(question.players);
    for end in [Subset::NONE, all] {
        measured.place(end).ok_or(Unexplained::NotMeasured(end))?;
    }
    let missing: Vec<Subset> = all.subsets_of(question.players).filter(|one| measured.place(*one).is_none()).collect();
    let way = match question.draws {
        _ if question.players <= MAX_ENUMERATED && missing.is_empty() => Method::AllSubsets { modelled: 0 },
        Some(_) if question.players <= MAX_ENUMERATED => Method::AllSubsets { modelled: missing.len() },
        _ => Method::PutBack,
    };
    let shown = match way {
        Method::AllSubsets { .. } => missing,
        Method::PutBack => {
            let put_back = (0..question.players).map(|player| all.without(player));
            if let Some(gap) = put_back.filter(|one| measured.place(*one).is_none()).min() {
                return Err(Unexplained::NotMeasured(gap));
            }
            Vec::new()
        }
    };
    let modelled = match question.draws {
        Some(draws) if !shown.is_empty() => draws(&shown, DRAWS),
        _ => Vec::new(),
    };
    Ok(summarise(question, &measured, &Modelled { subsets: shown, draws: modelled }, way))
}

/// Means of what was run, and the noise around them.
struct Measured {
    means: Vec<(Subset, f64, f64)>,
    variance: f64,
    freedom: f64,
}

impl Measured {
    fn new(question: &Question<'_>) -> Self {
        let mut by_subset: Vec<(Subset, Vec<f64>)> = Vec::new();
        for runs in question.runs.iter().filter(|runs| !runs.ln_values.is_empty()) {
            match by_subset.iter_mut().find(|(subset, _)| *subset == runs.subset) {
                Some((_, values)) => values.extend(&runs.ln_values),
                None => by_subset.push((runs.subset, runs.ln_values.clone())),
            }
        }
        let (mut squares, mut freedom) = (NOISE_WEIGHT * question.noise_sd * question.noise_sd, NOISE_WEIGHT);
        let mut means = Vec::new();
        for (subset, values) in by_subset {
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            squares += values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
            freedom += count - 1.0;
            means.push((subset, mean, count));
        }
        Self { means, variance: squares / freedom, freedom }
    }

    fn place(&self, subset: Subset) -> Option<usize> {
        self.means.iter().position(|(one, _, _)| *one == subset)
    }
}

/// Draws of subsets nobody ran.
struct Modelled {
    subsets: Vec<Subset>,
    draws: Vec<Vec<f64>>,
}

impl Modelled {
    fn means(&self) -> Vec<f64> {
        let count = self.draws.len().max(1) as f64;
        (0..self.subsets.len()).map(|at| self.draws.iter().map(|draw| draw[at]).sum::<f64>() / count).collect()
    }
}

/// Whole, together and shares, as logarithms, in this order.
fn split(players: usize, table: &Table, way: Method) -> Vec<f64> {
    let (shares, alone) = match way {
        Method::AllSubsets { .. } => {
            let alone = (0..players).map(|player| table.get(Subset::NONE) - table.get(Subset::of(&[player])));
            (shapley(players, table), alone.sum::<f64>())
        }
        Method::PutBack => put_back_shares(players, table),
    };
    let whole = table.get(Subset::NONE) - table.get(Subset::all(players));
    [whole, whole - alone].into_iter().chain(shares).collect()
}

/// (W0 − W1) / ln(W0 / W1), which turns differences of logarithms into differences of values.
fn logarithmic_mean(ln_start: f64, ln_winner: f64) -> f64 {
    let difference = ln_start - ln_winner;
    let winner = libm::exp(ln_winner);
    if difference.abs() < 1e-12 { winner } else { winner * libm::expm1(difference) / difference }
}

fn in_units(players: usize, table: &Table, ln: &[f64]) -> Vec<f64> {
    let mean = logarithmic_mean(table.get(Subset::NONE), table.get(Subset::all(players)));
    ln.iter().map(|part| part * mean).collect()
}

fn summarise(question: &Question<'_>, measured: &Measured, modelled: &Modelled, way: Method) -> Explanation {
    let players = question.players;
    let means = modelled.means();
    let mut table = Table::default();
    measured.means.iter().for_each(|(subset, mean, _)| table.set(*subset, *mean));
    modelled.subsets.iter().zip(&means).for_each(|(subset, mean)| table.set(*subset, *mean));
    let ln = split(players, &table, way);
    let saved = in_units(players, &table, &ln);

    let mut noise = Draws::new(question.seed, Purpose::Posterior, 0x0077_6879, players as u64);
    let mut spread: Vec<Vec<f64>> = vec![Vec::with_capacity(DRAWS); ln.len()];
    for draw in 0..DRAWS {
        // One noise for all subsets of a draw: its own uncertainty moves them together.
        let sd = (measured.variance * measured.freedom / noise.chi_squared(measured.freedom)).sqrt();
        for (subset, mean, count) in &measured.means {
            table.set(*subset, mean + sd * noise.normal() / count.sqrt());
        }
        if let Some(values) = modelled.draws.get(draw) {
            for ((subset, mean), value) in modelled.subsets.iter().zip(&means).zip(values) {
                table.set(*subset, mean + UNMEASURED_WIDER * (value - mean));
            }
        }
        let parts = in_units(players, &table, &split(players, &table, way));
        spread.iter_mut().zip(parts).for_each(|(of_part, part)| of_part.push(part));
    }
    let mut parts = ln.into_iter().zip(saved).zip(spread).map(|((ln, saved), mut drawn)| {
        drawn.sort_by(f64::total_cmp);
        let at = |p: f64| drawn[libm::round(p * (DRAWS - 1) as f64) as usize];
        Part { ln, saved, low: at(TAIL), high: at(1.0 - TAIL) }
    });
    let nothing = Part { ln: 0.0, saved: 0.0, low: 0.0, high: 0.0 };
    let whole = parts.next().unwrap_or(nothing);
    let together = parts.next().unwrap_or(nothing);
    Explanation { whole, together, shares: parts.collect(), way }
}

#[cfg(test)]
mod tests;
