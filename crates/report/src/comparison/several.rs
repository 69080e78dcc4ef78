//! More than two sides: each is compared with the first, and all differences claimed share one error rate.
use powerband_record::{InOrder, Metric};

use super::decide::{asked, between, larger_margin, within};
use super::loads::differing;
use super::{CompareError, Comparison, ComparisonRequest, ComparisonRow, ComparisonSide, Measured, chosen};

/// Each side against the first; where they ran different loads, each within itself. Settings of one experiment are judged in its blocks (Holm); of others every side has the same
/// share of the error rate, so that whatever the comparisons have in common all claims together keep it (Bonferroni).
///
/// # Errors
/// [`CompareError`] when it is not said what to compare, or numbers cannot be judged.
pub fn several(sides: &[ComparisonSide<'_>], ask: &ComparisonRequest) -> Result<Comparison, CompareError> {
    let [first, others @ ..] = sides else { return Err(CompareError::NoMetric("nothing was given".into())) };
    if let Some(found) = differing(sides, ask) {
        return found;
    }
    if let [second] = others {
        return between(*first, *second, ask);
    }
    let ([a, ..], true) = (first.0, sides.iter().all(|(of, _)| !of.is_empty())) else {
        return Err(CompareError::NoMetric("nothing was given".into()));
    };
    if let Some(name) = named_twice(sides) {
        return Err(CompareError::Twice(name));
    }
    if let Some(places) = settings_of_one(sides)? {
        let [reference, others @ ..] = places.as_slice() else { return Err(CompareError::Itself(a.name.clone())) };
        return within(a, *reference, others, ask);
    }
    let all: Vec<&Measured> = sides.iter().flat_map(|(of, _)| *of).collect();
    let (margin, alpha) = asked(ask, &all);
    let metrics = common(&all, &ask.metrics)?;
    let share = ComparisonRequest {
        metrics: metrics.clone(),
        margin: Some(margin),
        alpha: Some(alpha / others.len() as f64),
        mean: ask.mean,
    };
    let (mut rows, mut notes): (Vec<ComparisonRow>, Vec<String>) = (Vec::new(), Vec::new());
    for other in others {
        let found = between(*first, *other, &share)?;
        rows.extend(found.rows);
        if found.along.is_none() {
            notes.extend(found.notes);
        }
    }
    rows.order_by_key(|row| metrics.iter().position(|metric| metric.name == row.metric));
    notes.extend(larger_margin(ask, &all));
    notes.push(format!(
        "each of the {} other sides has its share of the error rate, so a difference that an experiment's own report claims may be undecided here",
        others.len()
    ));
    Ok(Comparison::new(rows, notes, alpha).along(&all))
}

/// The metrics that every side has.
fn common(all: &[&Measured], asked: &[Metric]) -> Result<Vec<Metric>, CompareError> {
    let Some((first, others)) = all.split_first() else { return Err(CompareError::NoMetric("nothing".into())) };
    let mut metrics = chosen(&first.metrics, &first.metrics, asked)?;
    for other in others {
        metrics = chosen(&metrics, &other.metrics, asked)?;
    }
    Ok(metrics)
}

/// A side that stands there again.
fn named_twice(sides: &[ComparisonSide<'_>]) -> Option<String> {
    let what = |(of, setting): &ComparisonSide<'_>| {
        let ids: Option<Vec<i64>> = of.iter().map(|one| one.origin.as_ref().map(|origin| origin.id)).collect();
        ids.map(|ids| (ids, setting.map(str::to_owned)))
    };
    let again =
        |at: &usize| sides[..*at].iter().any(|earlier| what(earlier).is_some_and(|it| what(&sides[*at]) == Some(it)));
    let at = (0..sides.len()).find(again)?;
    let (of, setting) = sides[at];
    let name = of.first().map_or_else(String::new, |one| one.name.clone());
    Some(match setting {
        Some(setting) => format!("{setting} of {name}"),
        None => name,
    })
}

/// The settings, where all sides are settings of one experiment.
fn settings_of_one(sides: &[ComparisonSide<'_>]) -> Result<Option<Vec<usize>>, CompareError> {
    let origin = |of: &[Measured]| match of {
        [one] => one.origin.clone(),
        _ => None,
    };
    let first = sides.first().and_then(|(of, _)| origin(of));
    if first.is_none() || sides.iter().any(|(of, _)| origin(of) != first) {
        return Ok(None);
    }
    let place = |(of, setting): &ComparisonSide<'_>| match (*of, setting) {
        ([one], Some(setting)) => one.setting(setting),
        ([one], None) => Err(CompareError::WhichSetting { name: one.name.clone(), known: one.labels() }),
        _ => Err(CompareError::NoMetric("nothing was given".into())),
    };
    let places: Vec<usize> = sides.iter().map(place).collect::<Result<_, _>>()?;
    let again = (0..places.len()).find(|&at| places[..at].contains(&places[at]));
    match (again, sides.first()) {
        (Some(at), Some(([one], _))) => Err(CompareError::Twice(format!("{} of {}", one.label(places[at]), one.name))),
        _ => Ok(Some(places)),
    }
}
