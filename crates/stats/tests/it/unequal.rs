//! Settings that are noisier than others: the error rate bends there, and must not break.

use crate::false_alarms::alarms;
use crate::runs::{limit, runs};
use crate::tables::linear;
use powerband_stats::formula::Formula;
use powerband_stats::noise::Noise;

fn check(name: &str, spread: impl Fn(usize, usize) -> f64) {
    // The same 11 % as 110 of 1,000, over more runs: fresh seeds must not fail what holds.
    let count = runs(400, 4000);
    let mut failed = Vec::new();
    for m in [3, 5, 9] {
        for noise in [Noise::Gauss, Noise::T3, Noise::Contam] {
            let mut formula = Formula::new(vec![0.0; m + 1], 1.0, noise);
            formula.noise_sd = (0..=m).map(|setting| spread(setting, m)).collect();
            let case = 1200 + name.len() as u64 * 1000 + m as u64 * 16 + noise as u64;
            let alarms = alarms(&formula, &linear(0.5), case, count, 20);
            println!("{name}, m {m}, {}: {:.1} %", noise.name(), 100.0 * f64::from(alarms) / f64::from(count));
            if alarms > limit(58, 440) {
                failed.push((m, noise.name(), alarms));
            }
        }
    }
    assert!(failed.is_empty(), "{name}: {failed:?}");
}

#[test]
fn one_four_times() {
    check("one 4 x", |setting, _| if setting == 1 { 4.0 } else { 1.0 });
}

#[test]
fn one_ten_times() {
    check("one 10 x", |setting, _| if setting == 1 { 10.0 } else { 1.0 });
}

#[test]
fn half_three_times() {
    check("half 3 x", |setting, m| if setting > 0 && 2 * setting <= m + 1 { 3.0 } else { 1.0 });
}

#[test]
fn reference_three_times() {
    check("reference 3 x", |setting, _| if setting == 0 { 3.0 } else { 1.0 });
}
