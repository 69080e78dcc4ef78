//! How often a comparison of what was measured before errs, by experiments on arithmetic: what all of these tests share.
//!
//! Short forms on every change, long ones in a sweep (`POWERBAND_SWEEP=1`), from seeds that `POWERBAND_SWEEP_SEED` shifts.

use powerband_record::{Better, Metric, Verdict};
use powerband_report::comparison::{ComparisonRequest, ComparisonRow};
use powerband_testkit::formula::run_seed;

mod blocks;
mod reference;
mod sessions;
mod several;

/// Error rate that is promised.
const ALPHA: f64 = 0.05;

/// The metric of all tables here.
const METRIC: &str = "real_s";

/// Whether the long form is asked for.
fn sweeping() -> bool {
    std::env::var("POWERBAND_SWEEP").is_ok_and(|value| value == "1")
}

/// `short` runs, or `long` in a sweep.
fn runs(short: u32, long: u32) -> u32 {
    if sweeping() { long } else { short }
}

/// Seed of a run of a case.
fn seed(case: u64, run: u32) -> u64 {
    let shift: u64 = std::env::var("POWERBAND_SWEEP_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    run_seed(0x5eed_u64.wrapping_add(shift), case, u64::from(run))
}

/// Most errors in `runs` of a method whose true rate is `rate`: one in three thousand such methods makes more.
fn most(runs: u32, rate: f64) -> u32 {
    let n = f64::from(runs);
    (n * rate + 3.4 * (n * rate * (1.0 - rate)).sqrt()) as u32
}

/// Holds what was counted against the promised rate, and tells it.
#[track_caller]
fn seldom(what: &str, wrong: u32, runs: u32) {
    println!("{what}: {:.1} % of {runs}", percent(wrong, runs));
    assert!(wrong <= most(runs, ALPHA), "{what}: {wrong} of {runs}, at most {} may", most(runs, ALPHA));
}

fn percent(count: u32, of: u32) -> f64 {
    100.0 * f64::from(count) / f64::from(of)
}

fn metric() -> Metric {
    Metric { name: METRIC.into(), better: Better::Lower, judged: true, boundary: None }
}

/// The question, with a margin of `margin`.
fn ask(margin: f64) -> ComparisonRequest {
    ComparisonRequest { metrics: vec![metric()], margin: Some(margin), alpha: None, mean: None }
}

fn differs(row: &ComparisonRow) -> bool {
    matches!(row.verdict, Verdict::Better | Verdict::Worse)
}

/// Whether who takes p below 5 % for a difference would claim one.
fn tempts(row: &ComparisonRow) -> bool {
    row.p.is_some_and(|p| p < ALPHA)
}

#[test]
fn the_limits_let_a_right_method_pass_and_catch_a_wrong_one() {
    assert_eq!((most(400, ALPHA), most(8000, ALPHA)), (34, 466));
    // A method that errs twice as often as it says is caught nine times in ten by the short form alone: 40 of 400 expected.
    assert!(f64::from(most(400, ALPHA)) < 40.0 - 0.9 * (400.0_f64 * 0.1 * 0.9).sqrt());
}
