//! What a calibration found, in words: the noise of each metric, what can be seen in how long, and what would help.
use powerband_record::{
    Calibration, Detectable, InOrder, MAX_CALIBRATED_MARGIN, NoiseAdvice, format_duration, is_loss, unit_of,
};
use serde::{Deserialize, Serialize};

use crate::commands::with_unit;
use crate::layout::{aligned, clean, fit, fold};
use crate::words::{capital, counted, percent};
use crate::{ExperimentEnd, Model};

/// How many trials are told by their numbers.
const TOLD: usize = 8;
/// A rate of false alarms whose whole interval lies above this says that something is wrong.
const SUSPICIOUS: f64 = 0.07;
const NS_PER_MINUTE: f64 = 6e10;

/// One metric as programs read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CalibrationRow {
    /// What was found.
    #[serde(flatten)]
    pub found: Calibration,
    /// Unit as people write it.
    pub unit: String,
    /// Whether verdicts would be given about it.
    pub judged: bool,
    /// The advice as sentences, in the same order.
    pub advised: Vec<String>,
}

/// The rows of a calibration.
pub(crate) fn rows(model: &Model) -> Vec<CalibrationRow> {
    let row = |found: &Calibration| CalibrationRow {
        unit: unit_of(&found.metric).into(),
        judged: judged(model, found),
        advised: found.advice.iter().map(|&advice| sentence(found, advice)).collect(),
        found: found.clone(),
    };
    model.calibrations.iter().map(row).collect()
}

fn judged(model: &Model, found: &Calibration) -> bool {
    model.judged().any(|(_, metric)| metric.name == found.metric)
}

/// Whether the margin it would set is above what a margin may be.
fn is_too_noisy(found: &Calibration) -> bool {
    found.default_margin > MAX_CALIBRATED_MARGIN && !is_loss(&found.metric)
}

/// Noise relative to the level.
fn sigma(found: &Calibration, value: f64) -> f64 {
    if found.relative || found.level == 0.0 { value } else { value / found.level.abs() }
}

/// The finding in one sentence; `None` before there is one.
pub(crate) fn headline(model: &Model) -> Option<String> {
    let clauses: Vec<String> = promises(model).into_iter().chain(same(model)).collect();
    match (clauses.is_empty(), &model.end) {
        (false, _) => Some(clauses.join("; ")),
        (true, ExperimentEnd::Closed(_)) => None,
        (true, _) => Some(format!("the noise of the machine as it is, {} so far", counted(model.blocks, "block"))),
    }
}

/// The noise of each decision metric and what it lets an experiment find.
fn promises(model: &Model) -> Vec<String> {
    let margin = margin(model).map_or(0.0, |found| found.default_margin);
    model.calibrations.iter().filter(|found| judged(model, found)).map(|found| promise(found, margin)).collect()
}

/// The margin of experiments from now on, and whose it is where there are several decision metrics.
fn same(model: &Model) -> Option<String> {
    let found = margin(model)?;
    let one = model.judged().nth(1).is_none();
    let whose = if one { String::new() } else { format!(", as {} varies most", found.metric) };
    Some(format!("differences within ±{} are called the same from now on{whose}", percent(found.default_margin)))
}

/// The metric whose margin is used where all of these are compared: the noisiest's, unless it is too noisy to set one.
fn margin(model: &Model) -> Option<&Calibration> {
    let judged = model.calibrations.iter().filter(|found| judged(model, found) && !is_loss(&found.metric));
    let noisiest = judged.reduce(|most, found| if found.default_margin > most.default_margin { found } else { most });
    noisiest.filter(|found| !is_too_noisy(found))
}

/// The noise of a metric and what it lets an experiment find. A difference below the margin is called "same" in the end, so no
/// time is promised for one.
fn promise(found: &Calibration, margin: f64) -> String {
    let noise = percent(sigma(found, found.sigma));
    // Losses have a margin of their own.
    let least = if is_loss(&found.metric) { 0.0 } else { margin };
    let time = |it: &Detectable| format!("a difference of {} is found in {}", percent(it.effect), minutes(it.minutes));
    let reach = found
        .time_for
        .iter()
        .find(|it| it.effect >= least)
        .map_or_else(|| format!("finding a difference of {} or less is out of reach", percent(MAX_EFFECT)), time);
    let too_noisy = if is_too_noisy(found) { "; too noisy to set a margin" } else { "" };
    format!("{} varies by {noise} from trial to trial: {reach}{too_noisy}", found.metric)
}

/// The largest difference whose time a calibration works out.
const MAX_EFFECT: f64 = 0.10;

/// Minutes as people say them, two digits being more than is known.
fn minutes(value: f64) -> String {
    let ns = value * NS_PER_MINUTE;
    let unit = if ns < 60e9 { 1e9 } else { 60e9 };
    // Above an hour the minutes of the hour are still told by format_duration.
    format!("about {}", format_duration(((ns / unit).ceil() * unit) as u64).replace(" 0 s", "").replace(" 0 min", ""))
}

/// The answer of a calibration in a few sentences, the noise first.
pub(crate) fn answer(model: &Model) -> Vec<String> {
    let mut said: Vec<String> = promises(model).iter().map(|told| format!("{told}.")).collect();
    said.extend(same(model).map(|told| format!("{}.", capital(&told))));
    let advised = model.calibrations.iter().filter(|found| judged(model, found));
    let first = advised.filter_map(|found| Some((found, *found.advice.first()?))).next();
    said.extend(first.map(|(found, advice)| format!("Advice for {}: {}.", found.metric, sentence(found, advice))));
    if said.is_empty() && !matches!(model.end, ExperimentEnd::Closed(_)) {
        said.push(format!("{} so far.", counted(model.blocks, "block")));
    }
    said
}

/// The table of the default report: noise and what can be decided in how long, a line for each metric.
pub(crate) fn brief(model: &Model, width: usize) -> Vec<String> {
    let all = &model.calibrations;
    if all.is_empty() {
        return Vec::new();
    }
    let effects: Vec<f64> = all.iter().flat_map(|found| found.time_for.iter().map(|it| it.effect)).collect();
    let effect = |least: f64| effects.iter().copied().filter(|it| *it >= least).fold(f64::INFINITY, f64::min);
    let mut shown = vec![effect(0.0), effect(0.05)];
    shown.retain(|effect| effect.is_finite());
    shown.dedup();
    let mut rows: Vec<Vec<String>> = vec![["metric", "typical", "noise", "outliers"].map(str::to_owned).to_vec()];
    if let Some(head) = rows.first_mut() {
        head.extend(shown.iter().map(|effect| format!("to decide {}", percent(*effect))));
    }
    let mut sorted: Vec<&Calibration> = all.iter().collect();
    sorted.order_by_key(|found| !judged(model, found));
    for found in sorted.iter().take(MAX) {
        let time = |effect: &f64| {
            let there = found.time_for.iter().find(|it| it.effect == *effect);
            there.map_or_else(|| "-".to_owned(), |it| minutes(it.minutes).replace("about ", ""))
        };
        let typical = with_unit(&found.metric, found.level);
        let noise = percent(sigma(found, found.sigma));
        let outliers = format!("{} of {}", found.outliers.len(), found.trials);
        let row = [found.metric.clone(), typical, noise, outliers];
        rows.push(row.into_iter().chain(shown.iter().map(time)).collect());
    }
    let mut lines = aligned(&rows, 1, width, &[0]);
    if all.len() > MAX {
        lines.push(format!("{} more metrics with -v", all.len() - MAX));
    }
    lines
}

/// Metrics in the table of the default report.
const MAX: usize = 8;

/// Everything below the facts.
pub(crate) fn lines(model: &Model, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let all = &model.calibrations;
    if all.is_empty() {
        return lines;
    }
    lines.push(String::new());
    lines.extend(fold(
        "noise of one trial; autocorrelation; drift a block; outliers; whether there are two modes",
        width,
        0,
    ));
    let cells: Vec<Vec<String>> = all.iter().map(noise_cells).collect();
    lines.extend(fit(&NOISE.map(String::from), &cells, width, 1, &[0]));
    lines.push(String::new());
    lines.extend(fold(REACH, width, 0));
    let (head, cells) = reach(all);
    lines.extend(fit(&head, &cells, width, 1, &[0]));
    for found in all.iter().filter(|found| judged(model, found)) {
        lines.push(String::new());
        lines.extend(fold(&found.metric, width, 0));
        for text in told(found) {
            lines.extend(fold(&format!("- {}", clean(&text)), width, 2));
        }
    }
    lines
}

/// Heads over [`noise_cells`].
pub(crate) const NOISE: [&str; 8] =
    ["metric", "typical", "noise %", "robust %", "autocorr.", "drift %", "outliers", "modes"];

/// What [`reach`] tells.
pub(crate) const REACH: &str =
    "smallest difference found in 9 of 10 cases, one setting against the reference, and the time for a given one";

/// The noise of a metric.
pub(crate) fn noise_cells(found: &Calibration) -> Vec<String> {
    let share = |value: f64| shortened(100.0 * sigma(found, value));
    vec![
        found.metric.clone(),
        with_unit(&found.metric, found.level),
        share(found.sigma),
        share(found.sigma_robust),
        format!("{:+.2}", found.rho),
        format!("{:+.2}", 100.0 * sigma(found, found.drift_per_block)),
        format!("{} of {}", found.outliers.len(), found.trials),
        if found.bimodal { "two".into() } else { "one".into() },
    ]
}

fn shortened(value: f64) -> String {
    if value >= 10.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// Times across, effects below; effects across, times below.
pub(crate) fn reach(all: &[Calibration]) -> (Vec<String>, Vec<Vec<String>>) {
    let mut times: Vec<f64> = all.iter().flat_map(|found| &found.mde).map(|it| it.minutes).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let mut effects: Vec<f64> = all.iter().flat_map(|found| &found.time_for).map(|it| it.effect).collect();
    effects.sort_by(f64::total_cmp);
    effects.dedup();
    let head = ["metric".to_owned()]
        .into_iter()
        .chain(times.iter().map(|it| format!("in {it:.0} min")))
        .chain(effects.iter().map(|it| format!("for {}", percent(*it))));
    let cell = |found: &Calibration| {
        let size = |minutes: &f64| {
            let there = found.mde.iter().find(|it| it.minutes == *minutes);
            there.map_or_else(|| "-".to_owned(), |it| format!("{} %", shortened(100.0 * it.effect)))
        };
        let time = |effect: &f64| {
            let there = found.time_for.iter().find(|it| it.effect == *effect);
            there.map_or_else(|| "-".to_owned(), |it| minutes(it.minutes).replace("about ", ""))
        };
        [found.metric.clone()].into_iter().chain(times.iter().map(size)).chain(effects.iter().map(time)).collect()
    };
    (head.collect(), all.iter().map(cell).collect())
}

/// The sentences about one metric.
pub(crate) fn told(found: &Calibration) -> Vec<String> {
    let mut told = vec![match is_too_noisy(found) {
        _ if is_loss(&found.metric) => "losses have a margin of their own, in percentage points".to_owned(),
        false => format!(
            "margin from now on, on this machine with this load: {} (twice the noise, at least 1 %), or that of a decision metric that varies more; --margin gives another",
            percent(found.default_margin)
        ),
        true => format!(
            "too noisy: twice its noise is {}, and a margin above {} would call nearly everything the same; it sets no margin, so the default stays",
            percent(found.default_margin),
            percent(MAX_CALIBRATED_MARGIN)
        ),
    }];
    told.push(match found.false_alarm {
        None => "false alarms: too few blocks to check".to_owned(),
        Some(it) if it.low > SUSPICIOUS => format!(
            "false alarms: {} ({} .. {}) of {} labellings of these trials at random; as few trials happen to lie, one set may have more than the 5 % that many have together",
            percent(it.rate), percent(it.low), percent(it.high), it.runs
        ),
        Some(it) => format!(
            "false alarms: {} ({} .. {}) of {} labellings of these trials at random",
            percent(it.rate), percent(it.low), percent(it.high), it.runs
        ),
    });
    if let Some(halves) = found.back_to_back {
        let claims = if halves.claims {
            "would have claimed a difference that is not there"
        } else {
            "would have claimed nothing"
        };
        let p = if halves.p < 0.000_5 { "p < 0.001".to_owned() } else { format!("p {:.3}", halves.p) };
        told.push(format!("one half first and the other after it, Welch's test {claims} ({p})"));
    }
    if let Some(after) = found.changed_after {
        told.push(format!("its level changed after block {after}"));
    }
    told.extend(found.advice.iter().map(|&advice| format!("advice: {}", sentence(found, advice))));
    if found.advice.is_empty() && is_too_noisy(found) {
        told.push(
            "advice: neither outliers nor drift explain the noise: measure more work in a trial (--for, or a longer command), pin the load (--pin), end what else runs"
                .into(),
        );
    } else if found.advice.is_empty() {
        told.push("advice: none; compare".into());
    }
    told
}

/// What to do, and why.
fn sentence(found: &Calibration, advice: NoiseAdvice) -> String {
    match advice {
        NoiseAdvice::TwoRegimes => {
            let (low, high) = found.regimes.map_or_else(Default::default, |(low, high)| (with_unit(&found.metric, low), with_unit(&found.metric, high)));
            format!(
                "there are two regimes, near {low} and {high}, trials {} in the upper one: find what differs (where it runs, a frequency limit, what is cached) before comparing",
                numbers(&found.upper)
            )
        }
        NoiseAdvice::ShorterTrials if found.rho > 0.3 => format!(
            "successive trials are autocorrelated ({:.2}): take shorter trials and more blocks, with fewer settings at once",
            found.rho
        ),
        NoiseAdvice::ShorterTrials => {
            "it drifts by more than its noise from block to block: take shorter trials and more blocks, with fewer settings at once".into()
        }
        NoiseAdvice::Outliers => format!(
            "trials {} lie far out and make most of the noise: pin the load (--pin), quieten the machine, look at what they had",
            numbers(&found.outliers)
        ),
        NoiseAdvice::LongerTrials => format!(
            "trials twice as long would vary {:.2} times less: longer trials need fewer blocks",
            found.gain_of_doubling.unwrap_or(1.0)
        ),
        NoiseAdvice::LongerWarmUp => "the first block is apart from the others: warm the machine up for longer before".into(),
        _ => "see the figures above".into(),
    }
}

fn numbers(trials: &[u32]) -> String {
    let mut told: Vec<String> = trials.iter().take(TOLD).map(u32::to_string).collect();
    if trials.len() > TOLD {
        told.push(format!("{} others", trials.len() - TOLD));
    }
    told.join(", ")
}
