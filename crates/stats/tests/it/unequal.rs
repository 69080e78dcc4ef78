//! Settings that are noisier than others: the error rate holds there too.

use crate::false_alarms::alarms;
use crate::runs::{limit, runs};
use crate::tables::linear;
use powerband_stats::noise::Noise;
use powerband_testkit::formula::Formula;

/// Two settings and more next to the reference, `spread` giving each one's noise: 5 %, and what chance adds to it in so many runs.
fn check(name: &str, spread: impl Fn(usize, usize) -> f64) {
    let (count, allowed) = (runs(400, 4000), limit(36, 250));
    let mut failed = Vec::new();
    for m in [2, 3, 5, 7, 9] {
        for noise in [Noise::Gauss, Noise::T3, Noise::Contam] {
            let mut formula = Formula::new(vec![0.0; m + 1], 1.0, noise);
            formula.noise_sd = (0..=m).map(|setting| spread(setting, m)).collect();
            let case = 1200 + name.len() as u64 * 1000 + m as u64 * 16 + noise as u64;
            let alarms = alarms(&formula, &linear(0.5), case, count, 20);
            println!("{name}, m {m}, {}: {:.1} %", noise.name(), 100.0 * f64::from(alarms) / f64::from(count));
            if alarms > allowed {
                failed.push((m, noise.name(), alarms));
            }
        }
    }
    assert!(failed.is_empty(), "{name}: {failed:?}");
}

/// One setting so many times as noisy. Three times is the worst: its noise is seldom seen and counts.
fn one(name: &str, times: f64) {
    check(name, |setting, _| if setting == 1 { times } else { 1.0 });
}

/// The first half of the settings.
fn half(name: &str, times: f64) {
    check(name, |setting, m| if setting > 0 && 2 * setting <= m + 1 { times } else { 1.0 });
}

/// The reference, whose noise is in every difference.
fn reference(name: &str, times: f64) {
    check(name, |setting, _| if setting == 0 { times } else { 1.0 });
}

#[test]
fn one_three_times() {
    one("one 3 x", 3.0);
}

#[test]
fn one_five_times() {
    one("one 5 x", 5.0);
}

#[test]
fn one_ten_times() {
    one("one 10 x", 10.0);
}

#[test]
fn half_three_times() {
    half("half 3 x", 3.0);
}

#[test]
fn half_five_times() {
    half("half 5 x", 5.0);
}

#[test]
fn reference_three_times() {
    reference("reference 3 x", 3.0);
}

#[test]
fn reference_five_times() {
    reference("the reference 5 x", 5.0);
}
