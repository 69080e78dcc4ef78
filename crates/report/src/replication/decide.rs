//! Whether a check holds against the evidence: by the mean, where a published size has a tolerance; by the mean and two
//! standard errors, where only a direction or an equality is claimed.
use super::evidence::{Estimate, Evidence, Observed};
use super::{Answer, Holds};
use crate::published::{Check, Claim};

/// A difference below this many standard errors is a tie.
const TIE: f64 = 2.0;

/// Holds one check of a claim against the evidence.
pub(super) fn decide(claim: &Claim, check: &Check, evidence: &Evidence) -> Answer {
    let Some(plan) = check.plan() else { return tried(check, evidence) };
    let Some(run) = evidence.runs.get(plan) else { return not_tried(format!("{plan} was not run")) };
    let Some(answer) = measured(claim, check, run) else {
        return not_tried(format!("{plan} did not measure that"));
    };
    // One block shows a direction but not how sure it is.
    let is_direction = matches!(check, Check::Above { .. } | Check::Rising { .. });
    if is_direction && run.blocks < 2 { Answer { holds: Holds::Tie, ..answer } } else { answer }
}

fn tried(check: &Check, evidence: &Evidence) -> Answer {
    let Check::Tried { what } = check else { return not_tried("it names no plan".into()) };
    match evidence.tried.get(what) {
        Some(tried) => Answer { holds: tried.holds, found: tried.seen.clone(), factor: None, deviation: None },
        None => not_tried(format!("{what} was not tried")),
    }
}

fn measured(claim: &Claim, check: &Check, run: &Observed) -> Option<Answer> {
    let ratio = |of: [&str; 2], metric: &str| run.joined(of, metric, |a, b| a / b);
    Some(match check {
        Check::Alike { metric, settings, within, deviates_within, .. } => {
            let (first, others) = settings.split_first()?;
            let ratios = others.iter().map(|other| ratio([other, first], metric));
            let names = format!("{metric} of {} against {first}", others.join(", "));
            alike(&names, &ratios.collect::<Option<Vec<_>>>()?, (*within, deviates_within.unwrap_or(*within)))
        }
        Check::Ratio { metric, of: [a, b], value, tolerance, .. } => {
            let (value, tolerance) = (value.or(claim.ratio)?, tolerance.or(claim.tolerance)?);
            let found = ratio([a, b], metric)?;
            let share = (found.mean - value).abs() / tolerance;
            let told = format!("{metric} of {a} over {b}: {} ({value} ± {tolerance})", with_error(found));
            answer(share <= 1.0, told, Some(share))
        }
        Check::Change { metric, of: [a, b], value, .. } => {
            let found = run.joined([a, b], metric, |a, b| a / b - 1.0)?;
            let told = format!("{metric} of {a} against {b}: {} ({:+.1} %)", percent(found), value * 100.0);
            sized(found, *value, claim.tolerance_factor?, told)
        }
        Check::Difference { metric, of: [a, b], value, .. } => {
            let found = run.joined([a, b], metric, |a, b| a - b)?;
            let told = format!("{metric} of {a} less {b}: {} ({value:+})", with_error(found));
            sized(found, *value, claim.tolerance_factor?, told)
        }
        Check::Above { .. } => compared(check, run)?,
        Check::Rising { metric, settings, by, .. } => {
            let means: Option<Vec<f64>> = settings.iter().map(|s| Some(run.mean(s, metric)?.mean)).collect();
            let steps = settings.windows(2).map(|pair| run.joined([&pair[1], &pair[0]], metric, |a, b| a - b));
            let steps = steps.collect::<Option<Vec<_>>>()?;
            let whole = run.joined([settings.last()?, settings.first()?], metric, |a, b| a - b)?;
            let falls = steps.iter().any(|step| step.mean < -TIE * step.error && step.mean < 0.0);
            let named = settings.iter().zip(means?).map(|(setting, mean)| format!("{setting} {}", number(mean)));
            let found = format!("{metric}: {}", named.collect::<Vec<_>>().join(", "));
            let clear = whole.mean > TIE * whole.error && whole.mean >= by * run.mean(settings.first()?, metric)?.mean;
            answer(!falls && clear, found, rise(whole, &steps))
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
    let against = |metric: &String, other: &String| {
        let sign = if *below { -1.0 } else { 1.0 };
        run.joined([setting, other], metric, |a, b| sign * (a - b))
    };
    let of = |metric| others.iter().map(|other| against(metric, other)).collect::<Option<Vec<_>>>();
    let by_metric = metrics.iter().map(of).collect::<Option<Vec<_>>>()?;
    let least = at_least.unwrap_or(metrics.len());
    let limits = Limits { least, deviates: deviates_at_least.unwrap_or(least), or_tied: *or_tied };
    Some(above(metrics, &by_metric, setting, (others, *below), limits))
}

/// A value inside two limits, or beyond them by no more than a factor.
fn between(found: f64, (from, to): (f64, f64), factor: f64, told: String) -> Answer {
    let off = if found < from { found / from } else { (found / to).max(1.0) };
    let beyond = off.max(off.recip());
    let holds = match beyond {
        beyond if beyond <= 1.0 => Holds::Yes,
        beyond if beyond <= factor => Holds::Deviates,
        _ => Holds::No,
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

/// In how many metrics a setting is above all others by the mean; a tie where those within two standard errors decide.
fn above(
    metrics: &[String],
    by_metric: &[Vec<Estimate>],
    setting: &str,
    (others, below): (&[String], bool),
    Limits { least, deviates, or_tied }: Limits,
) -> Answer {
    let missed = |far: &dyn Fn(&Estimate) -> bool| -> Vec<&str> {
        let lost = by_metric.iter().zip(metrics).filter(|(apart, _)| apart.iter().any(far));
        lost.map(|(_, metric)| metric.as_str()).collect()
    };
    let surely_below = |apart: &Estimate| apart.mean < 0.0 && apart.mean < -TIE * apart.error;
    let surely_not = missed(&surely_below);
    let not_above = if or_tied { surely_not.clone() } else { missed(&|apart| apart.mean <= 0.0) };
    let (count, most) = (metrics.len() - not_above.len(), metrics.len() - surely_not.len());
    let holds = match count {
        count if count >= least => Holds::Yes,
        _ if most >= least => Holds::Tie,
        count if count >= deviates => Holds::Deviates,
        _ if most >= deviates => Holds::Tie,
        _ => Holds::No,
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
    let mut missed: Vec<f64> = by_metric
        .iter()
        .map(|apart| apart.iter().map(|apart| -in_errors(*apart)).fold(f64::NEG_INFINITY, f64::max))
        .collect();
    missed.sort_by(f64::total_cmp);
    // Where ties count, a metric misses by what is beyond two standard errors.
    let past = if or_tied { 0.0 } else { 1.0 };
    let deviation = least.checked_sub(1).and_then(|last| missed.get(last)).map(|missed| (past + missed).max(0.0));
    Answer { holds, found, factor: None, deviation: deviation.filter(|it| it.is_finite()) }
}

/// Whether all ratios are one, within a distance that two standard errors more do not leave; up to the second they deviate.
fn alike(names: &str, ratios: &[Estimate], (within, deviates_within): (f64, f64)) -> Answer {
    let far = |ratio: &Estimate| (ratio.mean - 1.0).abs();
    let worst = ratios.iter().copied().max_by(|a, b| far(a).total_cmp(&far(b)));
    let told = worst.map_or_else(String::new, |worst| {
        let change = Estimate { mean: worst.mean - 1.0, ..worst };
        format!("{names}: {} at most (may be {:.1} %)", percent(change), within * 100.0)
    });
    let beyond = |within: f64| ratios.iter().any(|ratio| far(ratio) - TIE * ratio.error > within);
    let holds = if beyond(deviates_within) {
        Holds::No
    } else if beyond(within) {
        Holds::Deviates
    } else if ratios.iter().all(|ratio| far(ratio) + TIE * ratio.error <= within) {
        Holds::Yes
    } else if within < deviates_within && ratios.iter().all(|ratio| far(ratio) + TIE * ratio.error <= deviates_within) {
        // On whichever side of the first limit it is, it is no contradiction.
        Holds::Deviates
    } else {
        Holds::Tie
    };
    let deviation = ratios.iter().map(|ratio| (far(ratio) + TIE * ratio.error) / within).max_by(f64::total_cmp);
    Answer { holds, found: told, factor: None, deviation: deviation.filter(|it| it.is_finite()) }
}

/// A mean in units of what counts as a difference, two standard errors.
fn in_errors(found: Estimate) -> f64 {
    if found.error > 0.0 { found.mean / (TIE * found.error) } else { found.mean.signum() }
}

/// How near a rise is to being none, or one of its steps to being a fall.
fn rise(whole: Estimate, steps: &[Estimate]) -> Option<f64> {
    let clear = in_errors(whole);
    let whole = if clear > 0.0 { 1.0 / clear } else { 2.0 - clear };
    let falls = steps.iter().map(|step| -in_errors(*step)).fold(0.0, f64::max);
    Some(whole.max(falls)).filter(|it| it.is_finite())
}

/// A size of which the sign must be right; by which factor it is off is told, and decides of a size alone.
fn sized(found: Estimate, published: f64, factor: f64, told: String) -> Answer {
    let off = found.mean / published;
    let holds = match off {
        _ if found.mean.abs() < TIE * found.error => Holds::Tie,
        wrong if wrong <= 0.0 => Holds::No,
        off if off.max(off.recip()) <= factor => Holds::Yes,
        _ => Holds::Deviates,
    };
    let share = if off >= 1.0 { (off - 1.0) / (factor - 1.0) } else { (1.0 - off) / (1.0 - factor.recip()) };
    Answer { holds, found: told, factor: Some(off), deviation: Some(share).filter(|it| it.is_finite()) }
}

fn answer(so: bool, found: String, deviation: Option<f64>) -> Answer {
    let deviation = deviation.filter(|it| it.is_finite());
    Answer { holds: if so { Holds::Yes } else { Holds::No }, found, factor: None, deviation }
}

fn not_tried(found: String) -> Answer {
    Answer { holds: Holds::NotTried, found, factor: None, deviation: None }
}

fn percent(found: Estimate) -> String {
    match found.error.is_finite() {
        true => format!("{:+.2} ± {:.2} %", found.mean * 100.0, found.error * 100.0),
        false => format!("{:+.2} % (one block, error unknown)", found.mean * 100.0),
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

    /// What a claim with one check comes to, of settings `a`, `b` and `c`.
    fn holds(claim: &str, check: &str, values: [&[f64]; 3]) -> Holds {
        let answer = decided(claim, check, values);
        let deviation = answer.deviation.unwrap_or(f64::NAN);
        // What is drawn and what is said agree; of a size within the noise only its distance is known.
        match answer.holds {
            Holds::Yes => assert!((0.0..=1.0).contains(&deviation), "{answer:?}"),
            Holds::No | Holds::Deviates => assert!(deviation >= 1.0, "{answer:?}"),
            _ => {}
        }
        answer.holds
    }

    fn decided(claim: &str, check: &str, values: [&[f64]; 3]) -> Answer {
        decided_with(claim, &format!("plan = 'p'\nmetric = 'm'\n{check}"), values)
    }

    /// Of a check whole with its plan and metrics.
    fn decided_with(claim: &str, check: &str, values: [&[f64]; 3]) -> Answer {
        let names = ["a", "b", "c", "d"].into_iter();
        let among: Vec<&str> = names.filter(|name| check.contains(&format!("'{name}'"))).collect();
        let text = format!(
            "[source]\ntitle = 't'\nabout = 'a'\nlanguage = 'l'\nfigures = 'text'\n[machine]\n[experiment]\nplans = ['p']\n\
             [[experiment.load]]\nname = 'l'\nwhat = 'w'\nmetrics = ['m']\n[[claim]]\nid = 'c'\nkind = 'approx'\ntext = 't'\n\
             {claim}\namong = {among:?}\n[[claim.check]]\n{check}\n"
        );
        let published = Published::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let settings = [("a", values[0]), ("b", values[1]), ("c", values[2])];
        let claim = &published.claims[0];
        decide(claim, &claim.checks[0], &evidence("p", "m", &settings))
    }

    const TENS: &[f64] = &[10.0, 10.1, 9.9, 10.0];
    const ELEVENS: &[f64] = &[11.0, 11.1, 10.9, 11.0];
    const NOISE: &[f64] = &[8.0, 12.5, 9.0, 11.0];

    #[test]
    fn alike_needs_certainty_both_ways() {
        let alike = "is = 'alike'\nsettings = ['a', 'b']\nwithin = 0.05";
        assert_eq!(holds("", alike, [TENS, TENS, TENS]), Holds::Yes);
        assert_eq!(holds("", alike, [TENS, ELEVENS, TENS]), Holds::No);
        assert_eq!(holds("", alike, [TENS, NOISE, TENS]), Holds::Tie);
    }

    #[test]
    fn what_is_beyond_the_first_limit_and_within_the_second_deviates() {
        let alike = "is = 'alike'\nsettings = ['a', 'b']\nwithin = 0.05\ndeviates_within = 0.15";
        assert_eq!(holds("", alike, [TENS, TENS, TENS]), Holds::Yes);
        assert_eq!(holds("", alike, [TENS, ELEVENS, TENS]), Holds::Deviates);
        assert_eq!(holds("", alike, [TENS, &[12.0, 12.1, 11.9, 12.0], TENS]), Holds::No);
        let between = |from: f64, to: f64| {
            let check = format!("is = 'between'\nsetting = 'a'\nfrom = {from:?}\nto = {to:?}");
            holds("tolerance_factor = 1.5", &check, [TENS, TENS, TENS])
        };
        assert_eq!(between(9.0, 12.0), Holds::Yes);
        assert_eq!((between(5.0, 8.0), between(12.0, 20.0)), (Holds::Deviates, Holds::Deviates));
        assert_eq!((between(5.0, 6.0), between(16.0, 20.0)), (Holds::No, Holds::No));
    }

    #[test]
    fn a_check_that_leaves_out_what_the_claim_names_is_refused() {
        let text = |among: &str, check: &str| {
            format!(
                "[source]\ntitle = 't'\nabout = 'a'\nlanguage = 'l'\nfigures = 'text'\n[machine]\n[experiment]\nplans = ['p']\n\
                 [[experiment.load]]\nname = 'l'\nwhat = 'w'\nmetrics = ['m']\n[[claim]]\nid = 'c'\nkind = 'direction'\n\
                 text = 't'\n{among}\n[[claim.check]]\nplan = 'p'\nis = 'above'\nsetting = 'a'\n{check}\n"
            )
        };
        let parsed =
            |among: &str, check: &str| Published::parse(&text(among, check)).map_err(|error| error.to_string());
        let whole = "metrics = ['at_100_w', 'at_50_w']\nothers = ['b', 'c']";
        assert!(parsed("among = ['a', 'b', 'c']\nlevels = [100, 50]", whole).is_ok());
        for (among, check) in [
            ("among = ['a', 'b', 'c']\nlevels = [100, 50]", "metrics = ['at_100_w', 'at_50_w']\nothers = ['b']"),
            ("among = ['a', 'b', 'c']\nlevels = [100, 50]", "metrics = ['at_100_w']\nothers = ['b', 'c']"),
            ("", whole),
        ] {
            assert!(parsed(among, check).is_err_and(|why| why.starts_with("claim 'c': ")), "{among} {check}");
        }
    }

    #[test]
    fn a_ratio_is_within_its_tolerance_or_not() {
        let ratio = "is = 'ratio'\nof = ['b', 'a']";
        assert_eq!(holds("ratio = 1.12\ntolerance = 0.03", ratio, [TENS, ELEVENS, TENS]), Holds::Yes);
        assert_eq!(holds("ratio = 1.12\ntolerance = 0.01", ratio, [TENS, ELEVENS, TENS]), Holds::No);
    }

    #[test]
    fn a_size_has_a_sign_and_a_factor() {
        let change = |value: f64| format!("is = 'change'\nof = ['b', 'a']\nvalue = {value:?}");
        let holds = |value: f64, b| holds("tolerance_factor = 1.5", &change(value), [TENS, b, TENS]);
        assert_eq!(holds(0.08, ELEVENS), Holds::Yes);
        assert_eq!(holds(0.30, ELEVENS), Holds::Deviates);
        assert_eq!(holds(0.05, ELEVENS), Holds::Deviates);
        assert_eq!(holds(-0.1, ELEVENS), Holds::No);
        assert_eq!(holds(0.1, NOISE), Holds::Tie);
    }

    #[test]
    fn rising_may_rest_between_but_not_fall() {
        let rising = "is = 'rising'\nsettings = ['a', 'b', 'c']";
        assert_eq!(holds("", rising, [TENS, TENS, ELEVENS]), Holds::Yes);
        assert_eq!(holds("", rising, [TENS, ELEVENS, TENS]), Holds::No);
        assert_eq!(holds("", rising, [TENS, TENS, TENS]), Holds::No);
    }

    #[test]
    fn one_block_decides_no_direction() {
        let once: [&[f64]; 3] = [&[10.0], &[10.5], &[11.0]];
        let above = "is = 'above'\nsetting = 'c'\nothers = ['a', 'b']\nmetrics = ['m']";
        let decided = |check: &str| decided_with("", &format!("plan = 'p'\n{check}"), once).holds;
        assert_eq!(decided("is = 'rising'\nmetric = 'm'\nsettings = ['a', 'b', 'c']"), Holds::Tie);
        assert_eq!(decided(above), Holds::Tie);
        assert_eq!(decided_with("", &format!("plan = 'p'\n{above}"), [TENS, TENS, ELEVENS]).holds, Holds::Yes);
    }

    #[test]
    fn proportions_levels_and_what_was_not_measured() {
        let to = |numbers: &str| format!("is = 'proportional'\nsettings = ['a', 'b']\nto = {numbers}\nwithin = 0.01");
        assert_eq!(holds("", &to("[100.0, 110.0]"), [TENS, ELEVENS, TENS]), Holds::Yes);
        assert_eq!(holds("", &to("[100.0, 120.0]"), [TENS, ELEVENS, TENS]), Holds::No);
        let level = |value: f64| format!("is = 'level'\nsetting = 'a'\nvalue = {value:?}\nwithin = 0.05");
        assert_eq!(holds("", &level(10.3), [TENS, TENS, TENS]), Holds::Yes);
        assert_eq!(holds("", &level(11.0), [TENS, TENS, TENS]), Holds::No);
        assert_eq!(holds("", "is = 'at_least'\nsetting = 'b'\nvalue = 10.5", [TENS, TENS, TENS]), Holds::No);
        assert_eq!(holds("", "is = 'at_least'\nsetting = 'd'\nvalue = 10.5", [TENS, TENS, TENS]), Holds::NotTried);
    }

    #[test]
    fn numbers_have_four_digits() {
        let told = [54.0412, 0.591_96, 16_998_884.2, 125.0, 0.0, -3.115].map(number);
        assert_eq!(told, ["54.04", "0.592", "16998884", "125", "0", "-3.115"]);
    }
}
