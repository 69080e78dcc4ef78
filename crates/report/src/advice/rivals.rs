//! Which of several settings that are all better than the reference: they are compared with one another in the blocks they share.

use powerband_record::{Better, Verdict};

use super::labels;
use crate::Model;
use crate::comparison::{ComparisonRequest, ComparisonRow, Measured, within};

/// The best of some settings, and how it compares with the others, to be read behind its name.
///
/// It is the one with the largest estimated gain in the first decision metric in which one of them is better, unless the direct
/// comparison shows another to be better than that.
pub(super) fn best(model: &Model, of: &[u32]) -> Option<(u32, String)> {
    let (place, metric) = model.judged().find(|(place, _)| of.iter().any(|at| gain(model, *at, *place).is_some()))?;
    let largest = |a: &u32, b: &u32| {
        let of = |at: &u32| gain(model, *at, place).unwrap_or(f64::NEG_INFINITY);
        of(a).total_cmp(&of(b))
    };
    let mut best = of.iter().copied().max_by(largest)?;
    let mut rows = compared(model, best, of);
    for _ in of {
        let Some(better) = beats(model, of, &rows) else { break };
        best = better;
        rows = compared(model, best, of);
    }
    let words = words(model, best, of, &rows, &metric.name);
    Some((best, words))
}

/// The gain over the reference where it is decided, as what is better counts up.
fn gain(model: &Model, at: u32, place: usize) -> Option<f64> {
    let found = model.settings.get(usize::try_from(at).ok()?)?.verdicts.get(place)?.as_ref()?;
    let sign = if model.started.metrics.get(place)?.better == Better::Higher { 1.0 } else { -1.0 };
    (found.verdict == Verdict::Better).then_some(sign * found.change)
}

/// Each of the others against `best` in every decision metric; nothing where the journal has no trials in blocks.
///
/// All settings are in the comparison, as together they say more of the noise. Whichever came off best was chosen by these very
/// trials: the error rate is shared by all pairs there are, not only by those with it.
fn compared(model: &Model, best: u32, of: &[u32]) -> Vec<(u32, ComparisonRow)> {
    let others: Vec<u32> = (0..).take(model.settings.len()).filter(|at| *at != best).collect();
    let index = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
    let measured = Measured::of_model(model);
    let alpha = Some(2.0 * model.started.alpha / of.len().max(2) as f64);
    let ask = ComparisonRequest { metrics: Vec::new(), margin: None, alpha, mean: None };
    let places: Vec<usize> = others.iter().map(|at| index(*at)).collect();
    if !measured.in_blocks(&[&[index(best)], places.as_slice()].concat()) {
        return Vec::new();
    }
    let Ok(found) = within(&measured, index(best), &places, &ask) else { return Vec::new() };
    // The rows of a metric come in the order of the settings; one without a change had too few blocks in common.
    let rows = found.rows.into_iter().enumerate();
    let rows = rows.filter_map(|(at, row)| Some((*others.get(at % others.len())?, row)));
    rows.filter(|(at, row)| of.contains(at) && row.change.is_some()).collect()
}

/// A setting that is shown to be better than the one it is compared with, and worse in nothing.
fn beats(model: &Model, of: &[u32], rows: &[(u32, ComparisonRow)]) -> Option<u32> {
    let any = |at: u32, verdict: Verdict| rows.iter().any(|(of, row)| *of == at && row.verdict == verdict);
    let judged = model.judged().count();
    let all = |at: u32| rows.iter().filter(|(of, _)| *of == at).count() == judged;
    of.iter().copied().find(|at| all(*at) && any(*at, Verdict::Better) && !any(*at, Verdict::Worse))
}

/// `saves most in power_w; in the blocks they share it is better than a and b, and not shown to differ from c`.
fn words(model: &Model, best: u32, of: &[u32], rows: &[(u32, ComparisonRow)], metric: &str) -> String {
    let others: Vec<u32> = of.iter().copied().filter(|at| *at != best).collect();
    let said = |at: u32| {
        let mine = || rows.iter().filter(move |(of, _)| *of == at).map(|(_, row)| row);
        let verdict = mine().find(|row| row.metric == metric).map(|row| row.verdict);
        let gains = mine().find(|row| row.metric != metric && row.verdict == Verdict::Better);
        (verdict, gains.map(|row| row.metric.clone()))
    };
    let with = |wanted: &dyn Fn(Option<Verdict>) -> bool| -> Vec<u32> {
        others.iter().copied().filter(|at| wanted(said(*at).0)).collect()
    };
    let mut clauses = Vec::new();
    // A row is the other against the best: "worse" is what the best gains.
    let (beaten, same) = (with(&|it| it == Some(Verdict::Worse)), with(&|it| it == Some(Verdict::Same)));
    let better = with(&|it| it == Some(Verdict::Better));
    let open = with(&|it| it == Some(Verdict::Undecided));
    let unknown = with(&|it| it.is_none());
    let mut clause = |words: &str, those: &[u32]| {
        if !those.is_empty() {
            clauses.push(format!("{words} {}", labels(model, those)));
        }
    };
    clause("is better than", &beaten);
    clause("is the same as", &same);
    clause("is worse than", &better);
    clause("is not shown to differ from", &open);
    let mut words = format!("has the largest estimated gain in {metric}");
    if !clauses.is_empty() {
        words += &format!("; in the blocks they share it {}", clauses.join(", "));
    }
    if !unknown.is_empty() {
        words += &format!("; they share too few blocks to compare it with {}", labels(model, &unknown));
    }
    for at in others {
        if let Some(metric) = said(at).1 {
            words += &format!("; {} is better in {metric}", model.label(at));
        }
    }
    words
}
