//! Whether a check holds against the evidence: by the mean, where a published size has a tolerance; as `compare` judges two
//! settings, where a direction or an equality is claimed.
use super::evidence::{Apart, Estimate, Evidence, Observed};
use super::{Answer, ClaimOutcome};
use crate::published::{Check, PublishedClaim};

/// Holds one check of a claim against the evidence.
pub(super) fn decide(claim: &PublishedClaim, check: &Check, evidence: &Evidence) -> Answer {
    let Some(plan) = check.plan() else { return tried(check, evidence) };
    let Some(run) = evidence.runs.get(plan) else { return not_tried(format!("{plan} was not run")) };
    measured(claim, check, run).unwrap_or_else(|| not_tried(format!("{plan} did not measure that")))
}

fn tried(check: &Check, evidence: &Evidence) -> Answer {
    let Check::Tried { what } = check else { return not_tried("it names no plan".into()) };
    match evidence.tried.get(what) {
        Some(tried) => Answer { holds: tried.holds, found: tried.seen.clone(), factor: None, deviation: None },
        None => not_tried(format!("{what} was not tried")),
    }
}

fn measured(claim: &PublishedClaim, check: &Check, run: &Observed) -> Option<Answer> {
    let apart = |of: [&str; 2], metric: &String, margin| run.apart(of, std::slice::from_ref(metric), margin, 1.0);
    Some(match check {
        Check::Alike { metric, settings, within, deviates_within, .. } => {
            let (first, others) = settings.split_first()?;
            let at = |margin: f64| others.iter().map(move |other| apart([other, first], metric, Some(margin)));
            let most = deviates_within.unwrap_or(*within);
            let names = format!("{metric} of {} against {first}", others.join(", "));
            let found = (at(*within).collect::<Option<Vec<_>>>()?, at(most).collect::<Option<Vec<_>>>()?);
            alike(&names, &found.0, &found.1, (*within, most))
        }
        Check::Ratio { metric, of: [a, b], value, tolerance, .. } => {
            let (value, tolerance) = (value.or(claim.ratio)?, tolerance.or(claim.tolerance)?);
            let found = run.joined([a, b], metric, |a, b| a / b)?;
            let share = (found.mean - value).abs() / tolerance;
            let told = format!("{metric} of {a} over {b}: {} ({value} ± {tolerance})", with_error(found));
            answer(share <= 1.0, told, Some(share))
        }
        Check::Change { metric, of: [a, b], value, .. } => {
            let found = apart([a, b], metric, None)?;
            let told = format!("{metric} of {a} against {b}: {} ({:+.1} %)", percent(&found), value * 100.0);
            sized(&found, found.change / value, claim.tolerance_factor?, told)
        }
        Check::Difference { metric, of: [a, b], value, .. } => {
            let found = run.joined([a, b], metric, |a, b| a - b)?;
            let told = format!("{metric} of {a} less {b}: {} ({value:+})", with_error(found));
            sized(&apart([a, b], metric, None)?, found.mean / value, claim.tolerance_factor?, told)
        }
        Check::Above { .. } => compared(check, run)?,
        Check::Rising { metric, settings, by, .. } => {
            let means: Option<Vec<f64>> = settings.iter().map(|s| Some(run.mean(s, metric)?.mean)).collect();
            let steps = settings.windows(2).map(|pair| apart([&pair[1], &pair[0]], metric, None));
            let steps = steps.collect::<Option<Vec<_>>>()?;
            let whole = apart([settings.last()?, settings.first()?], metric, None)?;
            let named = settings.iter().zip(means?).map(|(setting, mean)| format!("{setting} {}", number(mean)));
            let found = format!("{metric}: {}", named.collect::<Vec<_>>().join(", "));
            rising(&whole, &steps, *by, found)
        }
        Check::Proportional { metric, settings, to, within, .. } => {
            let within = within.or(claim.tolerance)?;
            let shares = settings.iter().zip(to).map(|(setting, to)| Some(run.mean(setting, metric)?.mean / to));
            let shares = shares.collect::<Option<Vec<f64>>>()?;
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            let worst = shares.iter().map(|share| (share / mean - 1.0).abs()).fold(0.0, f64::max);
            let told = format!("{metric} off by {:.2} % at most (may be {:.2} %)", worst * 100.0, within * 100.0);
            answer(worst <= within, told, Some(worst / within))
        }
        Check::Level { metric, setting, value, within, .. } => {
            let found = run.mean(setting, metric)?;
            let told = format!("{metric} of {setting}: {} ({})", number(found.mean), number(*value));
            let off = (found.mean / value - 1.0).abs();
            answer(off <= *within, told, Some(off / within))
        }
        Check::Between { metric, setting, from, to, .. } => {
            let found = run.mean(setting, metric)?.mean;
            let told = format!("{metric} of {setting}: {} ({} to {})", number(found), number(*from), number(*to));
            between(found, (*from, *to), claim.tolerance_factor?, told)
        }
        Check::AtLeast { metric, setting, value, .. } => {
            let found = run.mean(setting, metric)?;
            let told = format!("{metric} of {setting}: {} (at least {})", number(found.mean), number(*value));
            answer(found.mean >= *value, told, Some(value / found.mean).filter(|share| *share > 0.0))
        }
        Check::Tried { .. } => return None,
    })
}

/// A setting against others in several metrics.
fn compared(check: &Check, run: &Observed) -> Option<Answer> {
    let Check::Above { metrics, setting, others, below, at_least, deviates_at_least, or_tied, .. } = check else {
        return None;
    };
    let against = |metrics: &[String], other: &String, choices| {
        let found = run.apart([setting, other], metrics, None, choices)?;
        Some(if *below { found.negated() } else { found })
    };
    let of = |metrics: &[String], choices: f64| {
        others.iter().map(|other| against(metrics, other, choices)).collect::<Option<Vec<_>>>()
    };
    let by_metric = metrics.iter().map(|metric| of(std::slice::from_ref(metric), 1.0)).collect::<Option<Vec<_>>>()?;
    let least = at_least.unwrap_or(metrics.len());
    // Where all are asked for and not all are above, those that are by the mean are one of so many choices of as many.
    let above_by_mean = by_metric.iter().zip(metrics).filter(|(apart, _)| apart.iter().all(|it| it.change > 0.0));
    let counted: Vec<String> = above_by_mean.map(|(_, metric)| metric.clone()).collect();
    let overall = match counted.len() {
        count if least == metrics.len() && count > 0 => of(&counted, choices(metrics.len(), count))?,
        _ => of(metrics, 1.0)?,
    };
    let limits = Limits { least, deviates: deviates_at_least.unwrap_or(least), or_tied: *or_tied };
    Some(above(metrics, (&by_metric, &overall), setting, (others, *below), limits))
}

/// A value inside two limits, or beyond them by no more than a factor.
fn between(found: f64, (from, to): (f64, f64), factor: f64, told: String) -> Answer {
    let off = if found < from { found / from } else { (found / to).max(1.0) };
    let beyond = off.max(off.recip());
    let holds = match beyond {
        beyond if beyond <= 1.0 => ClaimOutcome::Yes,
        beyond if beyond <= factor => ClaimOutcome::Deviates,
        _ => ClaimOutcome::No,
    };
    // In the middle 0, at either end 1.
    let inside = ((found - f64::midpoint(from, to)) / (to - from) * 2.0).abs();
    let deviation = if beyond <= 1.0 { inside } else { beyond };
    Answer { holds, found: told, factor: None, deviation: Some(deviation).filter(|it| it.is_finite()) }
}

/// In how many metrics a setting is to be above all others; in how many it still only deviates; whether ties count.
struct Limits {
    least: usize,
    deviates: usize,
    or_tied: bool,
}

/// In how many ways some of several are chosen.
fn choices(of: usize, chosen: usize) -> f64 {
    (0..chosen).map(|at| (of - at) as f64 / (at + 1) as f64).product()
}

/// In how many metrics a setting is above all others. Of all metrics each is to be shown; of some of them so many are to be by
/// the mean, and a geometric mean is to be shown: of all, and for a deviation where all are asked for, of those that are above.
fn above(
    metrics: &[String],
    (by_metric, overall): (&[Vec<Apart>], &[Apart]),
    setting: &str,
    (others, below): (&[String], bool),
    Limits { least, deviates, or_tied }: Limits,
) -> Answer {
    let missed = |far: &dyn Fn(&Apart) -> bool| -> Vec<&str> {
        let lost = by_metric.iter().zip(metrics).filter(|(apart, _)| apart.iter().any(far));
        lost.map(|(_, metric)| metric.as_str()).collect()
    };
    let surely_not = missed(&|apart| apart.is_below());
    let not_above = if or_tied { surely_not.clone() } else { missed(&|apart| apart.change <= 0.0) };
    let (count, most) = (metrics.len() - not_above.len(), metrics.len() - surely_not.len());
    let all = least == metrics.len();
    let proven = if or_tied { count } else { metrics.len() - missed(&|apart| !apart.is_above()).len() };
    let together = or_tied || overall.iter().all(Apart::is_above);
    let shown = if all { proven } else { count };
    let holds = match shown {
        shown if shown >= least && (all || together) => ClaimOutcome::Yes,
        // Whatever the others are, it is no contradiction.
        _ if count >= deviates && deviates < least && together => ClaimOutcome::Deviates,
        _ if most >= deviates => ClaimOutcome::Tie,
        _ => ClaimOutcome::No,
    };
    let side = match (below, or_tied) {
        (false, false) => "above",
        (true, false) => "below",
        (false, true) => "not below",
        (true, true) => "not above",
    };
    let but = if not_above.is_empty() { String::new() } else { format!("; not in {}", not_above.join(", ")) };
    let what = if let [metric] = metrics { metric.clone() } else { format!("{count} of {} metrics", metrics.len()) };
    let found = format!("{setting} is {side} {} in {what} (at least {least}){but}", others.join(", "));
    // By how much each metric misses, the best first: as many as are asked for decide.
    let farthest = |apart: &[Apart]| apart.iter().map(|apart| -apart.in_needed()).fold(f64::NEG_INFINITY, f64::max);
    let mut missed: Vec<f64> = by_metric.iter().map(|apart| farthest(apart)).collect();
    missed.sort_by(f64::total_cmp);
    // Up to 1 it holds: where ties count, as long as the other is not shown to be above; of all metrics, once each is shown.
    let past = match (or_tied, all) {
        (true, _) => 0.0,
        (false, true) => 2.0,
        (false, false) => 1.0,
    };
    let last = least.checked_sub(1).and_then(|last| missed.get(last)).map(|missed| (past + missed).max(0.0));
    let whole = if or_tied || all { 0.0 } else { (2.0 + farthest(overall)).max(0.0) };
    let deviation = last.map(|last| last.max(whole));
    Answer { holds, found, factor: None, deviation: deviation.filter(|it| it.is_finite()) }
}

/// Whether all are the same within a distance; up to the second they deviate. `found` is judged at the first, `wide` at the
/// second.
fn alike(names: &str, found: &[Apart], wide: &[Apart], (within, deviates_within): (f64, f64)) -> Answer {
    let worst = found.iter().max_by(|a, b| a.change.abs().total_cmp(&b.change.abs()));
    let told = worst.map_or_else(String::new, |worst| {
        format!("{names}: {} at most (may be {:.1} %)", percent(worst), within * 100.0)
    });
    let beyond = |within: f64| found.iter().any(|it| it.low > within || it.high < -within);
    let holds = if beyond(deviates_within) {
        ClaimOutcome::No
    } else if beyond(within) {
        ClaimOutcome::Deviates
    } else if found.iter().all(|it| it.same) {
        ClaimOutcome::Yes
    } else if within < deviates_within && wide.iter().all(|it| it.same) {
        // On whichever side of the first limit it is, it is no contradiction.
        ClaimOutcome::Deviates
    } else {
        ClaimOutcome::Tie
    };
    let deviation = found.iter().map(|it| it.high.max(-it.low) / within).max_by(f64::total_cmp);
    // On the log scale the two ends of a margin are not equally far in percent; what is the same is within both.
    let deviation = deviation.map(|it| if holds == ClaimOutcome::Yes { it.min(1.0) } else { it.max(1.0) });
    Answer { holds, found: told, factor: None, deviation: deviation.filter(|it| it.is_finite()) }
}

/// Whether it does not fall from step to step and is above at its end what it was at its beginning, by a share of it.
fn rising(whole: &Apart, steps: &[Apart], by: f64, found: String) -> Answer {
    let falls = steps.iter().any(Apart::is_below);
    let holds = match () {
        () if falls || whole.is_below() || whole.same => ClaimOutcome::No,
        () if whole.is_above() && whole.change < by => ClaimOutcome::No,
        () if whole.is_above() => ClaimOutcome::Yes,
        () => ClaimOutcome::Tie,
    };
    // How near it is to being no rise, or one of its steps to being a fall.
    let needed = whole.in_needed();
    let far = if needed > 0.0 { 1.0 / needed } else { 2.0 - needed };
    let far = if whole.change > 0.0 { far.max(by / whole.change) } else { far };
    let fallen = steps.iter().map(|step| -step.in_needed()).fold(far, f64::max);
    let deviation = if holds == ClaimOutcome::No { fallen.max(1.0) } else { fallen };
    Answer { holds, found, factor: None, deviation: Some(deviation).filter(|it| it.is_finite()) }
}

/// A size of which the sign must be right and shown; `off`, the factor it is off by, decides of a size alone.
fn sized(found: &Apart, off: f64, factor: f64, told: String) -> Answer {
    let holds = match off {
        _ if !found.differs => ClaimOutcome::Tie,
        wrong if wrong <= 0.0 => ClaimOutcome::No,
        off if off.max(off.recip()) <= factor => ClaimOutcome::Yes,
        _ => ClaimOutcome::Deviates,
    };
    let share = if off >= 1.0 { (off - 1.0) / (factor - 1.0) } else { (1.0 - off) / (1.0 - factor.recip()) };
    Answer { holds, found: told, factor: Some(off), deviation: Some(share).filter(|it| it.is_finite()) }
}

fn answer(so: bool, found: String, deviation: Option<f64>) -> Answer {
    let deviation = deviation.filter(|it| it.is_finite());
    Answer { holds: if so { ClaimOutcome::Yes } else { ClaimOutcome::No }, found, factor: None, deviation }
}

fn not_tried(found: String) -> Answer {
    Answer { holds: ClaimOutcome::NotTried, found, factor: None, deviation: None }
}

fn percent(found: &Apart) -> String {
    match found.low.is_finite() && found.high.is_finite() {
        true => format!("{:+.2} % ({:+.2} to {:+.2} %)", found.change * 100.0, found.low * 100.0, found.high * 100.0),
        false => format!("{:+.2} % (too few blocks to say how sure)", found.change * 100.0),
    }
}

fn with_error(found: Estimate) -> String {
    match found.error.is_finite() {
        true => format!("{} ± {}", number(found.mean), number(found.error)),
        false => format!("{} (one block, error unknown)", number(found.mean)),
    }
}

/// Four significant digits, without zeros at the end.
pub(crate) fn number(value: f64) -> String {
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let places = usize::try_from((3 - magnitude).clamp(0, 6)).unwrap_or(0);
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::super::evidence::tests::evidence;
    use super::*;
    use crate::published::Published;

    /// A file with one claim.
    fn article(claim: &str) -> Result<Published, String> {
        let text = format!(
            "[source]\ntitle = 't'\nabout = 'a'\nlanguage = 'l'\nfigures = 'text'\n[machine]\n[experiment]\nplans = ['p']\n\
             [[experiment.load]]\nname = 'l'\nwhat = 'w'\nmetrics = ['m']\n[[claim]]\nid = 'c'\ntext = 't'\n{claim}\n"
        );
        Published::parse(&text).map_err(|error| error.to_string())
    }

    fn decided(claim: &str, check: &str, values: [&[f64]; 3]) -> Answer {
        let names = ["a", "b", "c", "d"].into_iter();
        let among: Vec<&str> = names.filter(|name| check.contains(&format!("'{name}'"))).collect();
        let check = format!("[[claim.check]]\nplan = 'p'\n{}", check.replace("; ", "\n"));
        let claim = format!("kind = 'approx'\n{}\namong = {among:?}\n{check}", claim.replace("; ", "\n"));
        let claim = &article(&claim).unwrap().claims[0];
        let settings = [("a", values[0]), ("b", values[1]), ("c", values[2])];
        decide(claim, &claim.checks[0], &evidence("p", "m", &settings))
    }

    /// What a claim comes to: its own lines, its check, what settings `a`, `b` and `c` measured, and the outcome. T is about ten,
    /// E about eleven, D about twelve, L ten with little noise, N ten with much; `1` and `2` are one block each.
    const DECIDED: &str = "\
        | is = 'alike'; settings = ['a', 'b']; within = 0.05 | TTT | Yes
        | is = 'alike'; settings = ['a', 'b']; within = 0.05 | TET | No
        | is = 'alike'; settings = ['a', 'b']; within = 0.05 | TNT | Tie
        | is = 'alike'; settings = ['a', 'b']; within = 0.05; deviates_within = 0.15 | TTT | Yes
        | is = 'alike'; settings = ['a', 'b']; within = 0.05; deviates_within = 0.15 | TET | Deviates
        | is = 'alike'; settings = ['a', 'b']; within = 0.05; deviates_within = 0.15 | TDT | No
        tolerance_factor = 1.5 | is = 'between'; setting = 'a'; from = 9.0; to = 12.0 | TTT | Yes
        tolerance_factor = 1.5 | is = 'between'; setting = 'a'; from = 5.0; to = 8.0 | TTT | Deviates
        tolerance_factor = 1.5 | is = 'between'; setting = 'a'; from = 12.0; to = 20.0 | TTT | Deviates
        tolerance_factor = 1.5 | is = 'between'; setting = 'a'; from = 5.0; to = 6.0 | TTT | No
        tolerance_factor = 1.5 | is = 'between'; setting = 'a'; from = 16.0; to = 20.0 | TTT | No
        ratio = 1.12; tolerance = 0.03 | is = 'ratio'; of = ['b', 'a'] | TET | Yes
        ratio = 1.12; tolerance = 0.01 | is = 'ratio'; of = ['b', 'a'] | TET | No
        tolerance_factor = 1.5 | is = 'change'; of = ['b', 'a']; value = 0.08 | TET | Yes
        tolerance_factor = 1.5 | is = 'change'; of = ['b', 'a']; value = 0.30 | TET | Deviates
        tolerance_factor = 1.5 | is = 'change'; of = ['b', 'a']; value = 0.05 | TET | Deviates
        tolerance_factor = 1.5 | is = 'change'; of = ['b', 'a']; value = -0.1 | TET | No
        tolerance_factor = 1.5 | is = 'change'; of = ['b', 'a']; value = 0.1 | TNT | Tie
        | is = 'rising'; settings = ['a', 'b', 'c'] | TTE | Yes
        | is = 'rising'; settings = ['a', 'b', 'c'] | TET | No
        | is = 'rising'; settings = ['a', 'b', 'c'] | TNT | Tie
        | is = 'rising'; settings = ['a', 'b', 'c'] | LLL | No
        | is = 'rising'; settings = ['a', 'b', 'c'] | 012 | Tie
        | is = 'above'; setting = 'c'; others = ['a', 'b']; metrics = ['m'] | 012 | Tie
        | is = 'above'; setting = 'c'; others = ['a', 'b']; metrics = ['m'] | TTE | Yes
        | is = 'proportional'; settings = ['a', 'b']; to = [100.0, 110.0]; within = 0.01 | TET | Yes
        | is = 'proportional'; settings = ['a', 'b']; to = [100.0, 120.0]; within = 0.01 | TET | No
        | is = 'level'; setting = 'a'; value = 10.3; within = 0.05 | TTT | Yes
        | is = 'level'; setting = 'a'; value = 11.0; within = 0.05 | TTT | No
        | is = 'at_least'; setting = 'b'; value = 10.5 | TTT | No
        | is = 'at_least'; setting = 'd'; value = 10.5 | TTT | NotTried";

    #[test]
    fn claims_are_decided_by_certainty_both_ways() {
        let values = |letter: char| -> &[f64] {
            match letter {
                'T' => &[10.0, 10.1, 9.9, 10.0],
                'E' => &[11.0, 11.1, 10.9, 11.0],
                'D' => &[12.0, 12.1, 11.9, 12.0],
                'L' => &[10.0, 10.01, 9.99, 10.0],
                'N' => &[8.0, 12.5, 9.0, 11.0],
                '0' => &[10.0],
                '1' => &[10.5],
                _ => &[11.0],
            }
        };
        for row in DECIDED.lines() {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let [claim, check, letters, outcome] = cells[..] else { panic!("{row}") };
            let letters: Vec<char> = letters.chars().collect();
            let metric = if check.contains("metrics = ") { "" } else { "metric = 'm'; " };
            let all = [0, 1, 2].map(|at| values(letters[at]));
            let answer = decided(claim, &format!("{metric}{check}"), all);
            assert_eq!(format!("{:?}", answer.holds), outcome, "{row}");
            // What is drawn and what is said agree; of a size within the noise only its distance is known.
            let deviation = answer.deviation.unwrap_or(f64::NAN);
            match answer.holds {
                ClaimOutcome::Yes => {
                    assert!(
                        letters[0] == '0' || (0.0..=1.0).contains(&deviation) || check.contains("above"),
                        "{row} {answer:?}"
                    )
                }
                ClaimOutcome::No | ClaimOutcome::Deviates => assert!(deviation >= 1.0, "{row} {answer:?}"),
                _ => {}
            }
        }
    }

    #[test]
    fn a_check_that_leaves_out_what_the_claim_names_is_refused() {
        let parsed = |among: &str, check: &str| {
            let above = "[[claim.check]]\nplan = 'p'\nis = 'above'\nsetting = 'a'";
            article(&format!("kind = 'direction'\n{among}\n{above}\n{check}"))
        };
        let among = "among = ['a', 'b', 'c']\nlevels = [100, 50]";
        let whole = "metrics = ['at_100_w', 'at_50_w']\nothers = ['b', 'c']";
        assert!(parsed(among, whole).is_ok());
        let (few, low) = (whole.replace(", 'c'", ""), whole.replace(", 'at_50_w'", ""));
        for (among, check) in [(among, few.as_str()), (among, &low), ("", whole)] {
            assert!(parsed(among, check).is_err_and(|why| why.starts_with("claim 'c': ")), "{among} {check}");
        }
    }

    #[test]
    fn choices_share_the_error_rate_and_numbers_have_four_digits() {
        assert_eq!([choices(3, 2), choices(10, 6), choices(4, 4), choices(4, 1)], [3.0, 210.0, 1.0, 4.0]);
        let told = [54.0412, 0.591_96, 16_998_884.2, 125.0, 0.0, -3.115].map(number);
        assert_eq!(told, ["54.04", "0.592", "16998884", "125", "0", "-3.115"]);
    }
}
