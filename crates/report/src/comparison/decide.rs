//! Which comparison fits what was measured, and what it comes to.
use powerband_record::{Better, LOSS_MARGIN_PERCENT, Metric, Verdict, is_loss};
use powerband_stats::apart::{ApartLook, MIN_SESSIONS, sessions, through_reference, welch};
use powerband_stats::{Claim, Contrast, MetricJudge, Rules, Scale, SettingLook, Spend, Spending};

use super::measured::{Measured, typical};
use super::{CompareError, Comparison, ComparisonRow, How, chosen, references};
use crate::words::percent;

/// Margin and error rate where neither an option nor an experiment says one.
const DEFAULTS: (f64, f64) = (0.01, 0.05);

/// So many blocks, of a number fixed beforehand, are compared at least: the reference's first look comes as early.
const FEWEST_BLOCKS: u32 = 2;

/// What is asked.
#[derive(Clone, Debug)]
pub struct ComparisonRequest {
    /// Metrics, with the direction that is better; none = those judged.
    pub metrics: Vec<Metric>,
    /// Margin of "same", relative.
    pub margin: Option<f64>,
    /// Error rate of all differences claimed together.
    pub alpha: Option<f64>,
    /// Whether the mean of all trials as measured is judged, or the typical trial; none = as the experiments did.
    pub mean: Option<bool>,
}

/// Settings of one set of measurements against `reference`: in blocks where there are blocks, else by sessions, else shown.
///
/// # Errors
/// [`CompareError`] when there is no metric, or numbers cannot be judged.
pub fn within(
    measured: &Measured,
    reference: usize,
    others: &[usize],
    ask: &ComparisonRequest,
) -> Result<Comparison, CompareError> {
    [&[reference], others].concat().into_iter().try_for_each(|setting| measured.check(setting))?;
    let metrics = chosen(&measured.metrics, &measured.metrics, &ask.metrics)?;
    let (rules, alpha) = rules(ask, &[measured], metrics.len());
    let mut rows = Vec::new();
    for metric in &metrics {
        if measured.in_blocks(&[&[reference], others].concat()) {
            rows.extend(in_blocks(measured, reference, others, metric, &rules)?);
            continue;
        }
        for &other in others {
            let of = |setting: usize| measured.by_session(setting, &metric.name).into_values().collect::<Vec<_>>();
            let sides = [of(reference), of(other)];
            let pooled = [reference, other].map(|setting| measured.values(setting, &metric.name));
            let labels = [reference, other].map(|setting| measured.label(setting));
            rows.push(unblocked(labels, sides.map(|it| means(it, &rules)), pooled, metric, &rules, others.len()));
        }
    }
    Ok(Comparison::new(rows, notes_on(ask, &[measured]), alpha))
}

/// A side of a comparison between experiments: one, or the sessions of one thing; and its setting, where one is named.
pub type ComparisonSide<'a> = (&'a [Measured], Option<&'a str>);

/// Settings of two sides, each one experiment or several sessions; the first is what the second is compared with. Where no
/// setting is named, all that both have are compared.
///
/// # Errors
/// [`CompareError`] when it is not said what to compare, or numbers cannot be judged.
pub fn between(
    first: ComparisonSide<'_>,
    second: ComparisonSide<'_>,
    ask: &ComparisonRequest,
) -> Result<Comparison, CompareError> {
    let ([a, ..], [b, ..]) = (first.0, second.0) else {
        return Err(CompareError::NoMetric("nothing was given".into()));
    };
    let all: Vec<&Measured> = first.0.iter().chain(second.0).collect();
    let single = first.0.len() == 1 && second.0.len() == 1;
    if single && a.origin.is_some() && a.origin == b.origin {
        let (Some(of_a), Some(of_b)) = (first.1, second.1) else { return Err(CompareError::Itself(a.name.clone())) };
        let (reference, other) = (a.setting(of_a)?, a.setting(of_b)?);
        if reference == other {
            return Err(CompareError::Itself(format!("{of_a} of {}", a.name)));
        }
        return within(a, reference, &[other], ask);
    }
    let metrics = chosen(&a.metrics, &b.metrics, &ask.metrics)?;
    let shared = all.iter().all(|it| it.shares_reference(a));
    let (pairs, failed) = working([first.0, second.0], &pairs(first, second, shared)?, shared)?;
    let (rules, alpha) = rules(ask, &all, metrics.len());
    let mut rows = Vec::new();
    for metric in &metrics {
        for pair in &pairs {
            let through = shared && pair.0 != 0 && pair.1 != 0;
            rows.push(if single && through {
                by_reference(a, b, *pair, metric, &rules, pairs.len())?
            } else {
                by_sessions([first.0, second.0], *pair, metric, &rules, pairs.len())?
            });
        }
    }
    let mut notes = notes_on(ask, &all);
    notes.extend(failed);
    if !single {
        notes.push(format!("{} and {} sessions", first.0.len(), second.0.len()));
    }
    Ok(Comparison::new(rows, notes, alpha).along(&all))
}

/// Margin and error rate of a comparison of these: as asked, else the larger margin and the smaller error rate of theirs.
pub(super) fn asked(ask: &ComparisonRequest, of: &[&Measured]) -> (f64, f64) {
    let own = of.iter().filter_map(|measured| measured.rules);
    let (margin, alpha) = own.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1))).unwrap_or(DEFAULTS);
    (ask.margin.unwrap_or(margin), ask.alpha.unwrap_or(alpha))
}

/// The rules of the comparison, one metric having its share of the error rate, and the whole rate.
fn rules(ask: &ComparisonRequest, of: &[&Measured], metrics: usize) -> (Rules, f64) {
    let (margin, alpha) = asked(ask, of);
    let mean = judges_mean(ask, of);
    let robust = !mean && of.iter().all(|measured| measured.robust);
    let base = if mean { Rules::mean() } else { Rules::default() };
    (Rules { alpha: alpha / metrics as f64, margin, robust, ..base }, alpha)
}

/// Whether means are judged: as asked, else where all of them were judged so.
fn judges_mean(ask: &ComparisonRequest, of: &[&Measured]) -> bool {
    ask.mean.unwrap_or_else(|| of.iter().all(|measured| measured.mean))
}

/// What is judged, where it is not the typical trial, and which margin it is judged by, where there were several.
fn notes_on(ask: &ComparisonRequest, of: &[&Measured]) -> Vec<String> {
    let mean = || "judged: the mean of all trials as measured, not the typical trial".to_owned();
    judges_mean(ask, of).then(mean).into_iter().chain(larger_margin(ask, of)).collect()
}

/// Which margin is used where none was asked for and the experiments had different ones.
pub(super) fn larger_margin(ask: &ComparisonRequest, of: &[&Measured]) -> Option<String> {
    let own = || of.iter().filter_map(|measured| measured.rules).map(|(margin, _)| margin);
    let (least, most) = (own().reduce(f64::min)?, own().reduce(f64::max)?);
    let differ = ask.margin.is_none() && least < most;
    differ
        .then(|| format!("the experiments had margins of {} to {}: the larger is used", percent(least), percent(most)))
}

/// Settings to compare, by their place in the first and in the second.
type Pairs = Vec<(usize, usize)>;

/// The pairs whose commands worked on both sides, and which did not.
///
/// # Errors
/// [`CompareError::Failed`] where none did, or a reference that both share did not.
fn working(
    sides: [&[Measured]; 2],
    pairs: &[(usize, usize)],
    shared: bool,
) -> Result<(Pairs, Vec<String>), CompareError> {
    let mut all = sides.into_iter().flatten();
    if shared {
        all.try_for_each(|measured| measured.check(0))?;
    }
    let (mut those, mut notes, mut first) = (Vec::new(), Vec::new(), None);
    for &(one, other) in pairs {
        let check = |of: &[Measured], setting: usize| of.iter().try_for_each(|measured| measured.check(setting));
        match check(sides[0], one).and_then(|()| check(sides[1], other)) {
            Ok(()) => those.push((one, other)),
            Err(error) => {
                notes.push(error.to_string());
                first.get_or_insert(error);
            }
        }
    }
    match first {
        Some(error) if those.is_empty() => Err(error),
        _ => Ok((those, notes)),
    }
}

/// Indices of the settings to compare, in the first and in the second.
fn pairs(first: ComparisonSide<'_>, second: ComparisonSide<'_>, shared: bool) -> Result<Pairs, CompareError> {
    let ([a, ..], [b, ..]) = (first.0, second.0) else { return Ok(Vec::new()) };
    let only = |it: &Measured| {
        if it.settings.len() == 2 {
            Ok(1)
        } else {
            Err(CompareError::WhichSetting { name: it.name.clone(), known: it.labels() })
        }
    };
    // A setting that only one side names is looked for on the other by the same name first.
    let on = |it: &Measured, own: Option<&str>, others: Option<&str>| match (own, others) {
        (Some(name), _) => it.setting(name),
        (None, Some(name)) => it.setting(name).or_else(|_| only(it)),
        (None, None) => only(it),
    };
    if first.1.is_some() || second.1.is_some() {
        return Ok(vec![(on(a, first.1, second.1)?, on(b, second.1, first.1)?)]);
    }
    let from = usize::from(shared);
    let mut common = Vec::new();
    for (place, (_, turns)) in a.settings.iter().enumerate().skip(from) {
        let there = b.settings.iter().skip(from).position(|(_, other)| other == turns);
        common.extend(there.map(|other| (place, other + from)));
    }
    if common.is_empty() { Ok(vec![(only(a)?, only(b)?)]) } else { Ok(common) }
}

/// The ordinary judge on the whole table, one look.
fn in_blocks(
    measured: &Measured,
    reference: usize,
    others: &[usize],
    metric: &Metric,
    rules: &Rules,
) -> Result<Vec<ComparisonRow>, CompareError> {
    let table = measured.table(reference, others, &metric.name)?;
    let values: Vec<f64> = (0..table.blocks()).flat_map(|block| table.block(block).map(|(_, value)| value)).collect();
    let rules = scaled(rules, metric, &values, &measured.values(reference, &metric.name));
    let rules = match measured.looked_at_once {
        true => Rules { spend: Spend::Once, first_look: Some(FEWEST_BLOCKS), ..rules },
        false => rules,
    };
    let mut judge = MetricJudge::new(others.len(), rules.clone(), Spending::shared())?;
    let too_few = |why: &powerband_stats::Error| {
        let row = |&other: &usize| ComparisonRow {
            count: u32::try_from(table.blocks()).unwrap_or(u32::MAX),
            notes: vec![why.to_string()],
            ..blank(metric, measured.label(other), measured.label(reference), How::Blocks, rules.margin)
        };
        others.iter().map(row).collect()
    };
    let look = match judge.look(&table) {
        Ok(look) => look,
        Err(why @ (powerband_stats::Error::TooFewBlocks { .. } | powerband_stats::Error::TooFewTrials { .. })) => {
            return Ok(too_few(&why));
        }
        Err(why) => return Err(why.into()),
    };
    let by_rank = rules.robust;
    let mut rows: Vec<ComparisonRow> = look
        .settings
        .iter()
        .map(|setting| {
            let other = others.get(setting.setting - 1).copied().unwrap_or_default();
            let mut row = looked_at(metric, measured.label(other), measured.label(reference), setting, &rules);
            if by_rank {
                (row.t, row.df) = (None, None);
            }
            row
        })
        .collect();
    if !measured.randomised {
        let why = match measured.order_varies() {
            true => {
                "whether the order inside the blocks was random is not known; if it was not, what drifts inside a block counts as a difference"
            }
            false => {
                "the settings come in the same order in every block: the rounds were not randomised, so what drifts inside a block, or what one setting leaves to the next, counts as a difference"
            }
        };
        rows.iter_mut().for_each(|row| row.notes.push(why.to_owned()));
    }
    Ok(rows)
}

/// Logarithms where every value has one, else the metric's own unit and the margin as a share of the reference's level.
fn scaled(rules: &Rules, metric: &Metric, values: &[f64], reference: &[f64]) -> Rules {
    if is_loss(&metric.name) {
        return Rules { scale: Scale::Linear, margin: LOSS_MARGIN_PERCENT, ..rules.clone() };
    }
    if !rules.mean && values.iter().all(|value| *value > 0.0) {
        return rules.clone();
    }
    let level = reference.iter().sum::<f64>() / reference.len().max(1) as f64;
    Rules { scale: Scale::Linear, margin: rules.margin * level.abs(), ..rules.clone() }
}

/// A row in which nothing is found yet.
fn blank(metric: &Metric, setting: String, against: String, how: How, margin: f64) -> ComparisonRow {
    ComparisonRow {
        metric: metric.name.clone(),
        better: metric.better,
        setting,
        against,
        how,
        verdict: Verdict::Undecided,
        absolute: false,
        change: None,
        low: None,
        high: None,
        t: None,
        df: None,
        p: None,
        p_asked: None,
        margin,
        count: 0,
        predicted: None,
        notes: Vec::new(),
    }
}

fn looked_at(metric: &Metric, setting: String, against: String, look: &SettingLook, rules: &Rules) -> ComparisonRow {
    let finite = |value: f64| value.is_finite().then_some(value);
    let row = blank(metric, setting, against, How::Blocks, rules.margin);
    // "Same" is two one-sided tests: the interval that lies inside the margin is the one at their level.
    let interval = match look.claim {
        Claim::Same | Claim::SameButDifferent if !rules.robust => {
            let (low, high) = look.contrast.interval(2.0 * look.same_level);
            (rules.shown(low), rules.shown(high))
        }
        _ => look.shown_interval,
    };
    let mut row = ComparisonRow {
        verdict: verdict(look.claim, metric.better),
        absolute: rules.scale == Scale::Linear,
        change: finite(look.shown_effect),
        low: finite(interval.0),
        high: finite(interval.1),
        t: finite(look.contrast.t()),
        df: finite(look.contrast.df()),
        p: finite(look.p),
        p_asked: finite(look.level),
        count: look.contrast.blocks,
        predicted: look.predicted.map(|it| (it.low, it.high)),
        ..row
    };
    if look.claim == Claim::SameButDifferent {
        row.notes.push("significant, but below the margin".into());
    }
    if look.unstable {
        row.notes.push(format!("{} is unstable: noisier than the others, or of two minds", row.setting));
    }
    row
}

/// The verdict of a claim.
pub(crate) fn verdict(claim: Claim, better: Better) -> Verdict {
    match (claim, better) {
        (Claim::Open, _) => Verdict::Undecided,
        (Claim::Same | Claim::SameButDifferent, _) => Verdict::Same,
        (Claim::Higher, Better::Higher) | (Claim::Lower, Better::Lower) => Verdict::Better,
        (Claim::Higher, Better::Lower) | (Claim::Lower, Better::Higher) => Verdict::Worse,
    }
}

/// One setting of an experiment against its own reference, at its end.
fn effect(
    measured: &Measured,
    setting: usize,
    metric: &Metric,
    rules: &Rules,
) -> Result<Option<SettingLook>, CompareError> {
    let others: Vec<usize> = (1..measured.settings.len()).collect();
    let table = measured.table(0, &others, &metric.name)?;
    // Its claim does not matter here, only its difference: ranks have no variance to add.
    let rules = Rules { robust: false, ..rules.clone() };
    match MetricJudge::new(others.len(), rules, Spending::shared())?.look(&table) {
        Ok(look) => Ok(look.settings.into_iter().find(|it| it.setting == setting)),
        Err(powerband_stats::Error::TooFewBlocks { .. } | powerband_stats::Error::TooFewTrials { .. }) => Ok(None),
        Err(why) => Err(why.into()),
    }
}

/// The difference of two differences from a reference that both have.
fn by_reference(
    a: &Measured,
    b: &Measured,
    pair: (usize, usize),
    metric: &Metric,
    rules: &Rules,
    sharing: usize,
) -> Result<ComparisonRow, CompareError> {
    let rules = both_scaled(rules, a, b, metric);
    let labels = (of(b, pair.1), of(a, pair.0));
    let row = blank(metric, labels.0, labels.1, How::SharedReference, rules.margin);
    let (first, second) = (effect(a, pair.0, metric, &rules)?, effect(b, pair.1, metric, &rules)?);
    let (Some(first), Some(second)) = (first, second) else {
        return Ok(ComparisonRow { notes: vec!["one of them has too few blocks to be looked at".into()], ..row });
    };
    let apart = through_reference(&second, &first);
    let look = apart.judge_looked_at(&rules, sharing, &Spending::shared());
    let mut notes = vec![format!("each as a difference from {}, which both experiments have", a.label(0))];
    notes.extend(references::apart(a, b, metric, &rules));
    Ok(ComparisonRow { notes, ..told(row, &apart, Some(&look), &rules) })
}

pub(super) fn on_scale(rules: &Rules, values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| if rules.scale == Scale::Log { value.ln() } else { *value }).collect()
}

fn both_scaled(rules: &Rules, a: &Measured, b: &Measured, metric: &Metric) -> Rules {
    let values =
        |it: &Measured| -> Vec<f64> { it.trials.iter().filter_map(|t| t.values.get(&metric.name).copied()).collect() };
    scaled(rules, metric, &[values(a), values(b)].concat(), &a.values(0, &metric.name))
}

/// `governor=ondemand of experiment 3`.
fn of(measured: &Measured, setting: usize) -> String {
    format!("{} of {}", measured.label(setting), measured.name)
}

/// Sessions of either side; one of each is fewer than can decide. The first of a pair is what is compared with.
fn by_sessions(
    sides: [&[Measured]; 2],
    pair: (usize, usize),
    metric: &Metric,
    rules: &Rules,
    sharing: usize,
) -> Result<ComparisonRow, CompareError> {
    let side = |of_side: &[Measured], setting: usize| -> Result<(String, Vec<f64>, Vec<f64>), CompareError> {
        let Some(one) = of_side.first() else { return Ok((String::new(), Vec::new(), Vec::new())) };
        let (mut means, mut pooled) = (Vec::new(), Vec::new());
        for session in of_side {
            let values = session.values(session.setting(&one.label(setting))?, &metric.name);
            means.extend((!values.is_empty()).then(|| middle(&values, rules)));
            pooled.extend(values);
        }
        let label = match of_side.len() {
            1 => of(one, setting),
            several => format!("{} of {several} sessions", one.label(setting)),
        };
        Ok((label, means, pooled))
    };
    let (a, b) = (side(sides[0], pair.0)?, side(sides[1], pair.1)?);
    Ok(unblocked([a.0, b.0], [a.1, b.1], [a.2, b.2], metric, rules, sharing))
}

fn means(sessions: Vec<Vec<f64>>, rules: &Rules) -> Vec<f64> {
    sessions.iter().map(|values| middle(values, rules)).collect()
}

/// What a session's trials amount to.
fn middle(values: &[f64], rules: &Rules) -> f64 {
    if rules.mean { values.iter().sum::<f64>() / values.len().max(1) as f64 } else { typical(values) }
}

/// What shares no block: Welch on session means where each side has enough, else an interval and no word. First the one
/// that is compared with.
fn unblocked(
    labels: [String; 2],
    sides: [Vec<f64>; 2],
    pooled: [Vec<f64>; 2],
    metric: &Metric,
    rules: &Rules,
    sharing: usize,
) -> ComparisonRow {
    let rules = scaled(rules, metric, &[pooled[0].as_slice(), &pooled[1]].concat(), &pooled[0]);
    let [against, setting] = labels;
    let sides = sides.map(|side| on_scale(&rules, &side));
    if let Some(apart) = sessions(&sides[1], &sides[0]) {
        let look = apart.judge_sessions(&rules, sharing);
        let row = blank(metric, setting, against, How::Sessions, rules.margin);
        return told(row, &apart, Some(&look), &rules);
    }
    let pooled = pooled.map(|side| on_scale(&rules, &side));
    let count = u32::try_from(pooled[0].len().min(pooled[1].len())).unwrap_or(u32::MAX);
    let row = blank(metric, setting, against, How::Apart, rules.margin);
    let why = format!(
        "they share neither blocks nor a reference, so whatever differed between them besides counts as a difference: measure both in one experiment, or take {MIN_SESSIONS} sessions of each"
    );
    let row = ComparisonRow { notes: vec![why], count, ..row };
    match welch(&pooled[1], &pooled[0]) {
        Some(apart) => told(row, &apart, None, &rules),
        None => row,
    }
}

/// A row with what was found; without a look nothing is decided.
fn told(row: ComparisonRow, apart: &Contrast, look: Option<&ApartLook>, rules: &Rules) -> ComparisonRow {
    let finite = |value: f64| value.is_finite().then_some(value);
    let interval = look.map_or_else(|| apart.interval(rules.alpha), |look| look.interval);
    let better = row.better;
    ComparisonRow {
        verdict: look.map_or(Verdict::Undecided, |look| verdict(look.claim, better)),
        absolute: rules.scale == Scale::Linear,
        change: finite(rules.shown(apart.effect)),
        low: finite(rules.shown(interval.0)),
        high: finite(rules.shown(interval.1)),
        t: finite(apart.t()),
        df: finite(apart.df()),
        p: finite(apart.p_difference()),
        p_asked: look.and_then(|look| finite(look.level)),
        count: apart.blocks,
        predicted: look.and_then(|look| look.predicted).map(|it| (it.low, it.high)),
        ..row
    }
}
