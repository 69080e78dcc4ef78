//! The rank-based path: valid by the randomised order alone, slower, silent at first.

use crate::runs::{runs, seed};
use crate::tables::spending;
use powerband_stats::noise::Noise;
use powerband_stats::{Rules, Scale};
use powerband_testkit::formula::{Formula, Limits, race_to_verdict};

fn rules() -> Rules {
    Rules { scale: Scale::Linear, margin: 0.25, ..Rules::robust() }
}

/// Share of runs with a difference claimed, in per cent, and the earliest block of any.
fn claimed(effect: f64, noise: Noise, blocks: u32, count: u32, case: u64) -> (f64, u32) {
    let formula = Formula::new(vec![0.0, effect], 1.0, noise);
    let (mut hits, mut earliest) = (0, u32::MAX);
    for run in 0..count {
        let limits = Limits { blocks, warm_up: 0, seed: seed(case + noise as u64, run) };
        let ended = race_to_verdict(&formula, &rules(), &spending(), limits).unwrap();
        if ended.claims[0].is_difference() {
            hits += 1;
            earliest = earliest.min(ended.blocks);
        }
    }
    (100.0 * f64::from(hits) / f64::from(count), earliest)
}

#[test]
fn false_alarms_are_rare_and_never_early() {
    for noise in [Noise::Gauss, Noise::T3, Noise::Contam, Noise::Spike, Noise::All] {
        let (rate, earliest) = claimed(0.0, noise, 30, runs(400, 2000), 800);
        println!("{}: {rate:.1} % false", noise.name());
        assert!(rate <= 4.5, "{}: {rate}", noise.name());
        assert!(earliest >= 9, "{}: {earliest}", noise.name());
    }
}

#[test]
fn it_finds_what_t_finds_under_outliers() {
    for (noise, want) in [(Noise::Contam, 53.0), (Noise::Spike, 46.0), (Noise::All, 88.0)] {
        let (power, earliest) = claimed(1.0, noise, 30, runs(400, 1000), 820);
        println!("{}: found in {power:.0} % (expected {want})", noise.name());
        assert!((power - want).abs() < 9.0, "{}: {power}", noise.name());
        assert!(earliest >= 9);
    }
}

#[test]
fn a_large_effect_and_a_perfect_match_are_decided() {
    let (power, earliest) = claimed(6.0, Noise::Gauss, 20, 50, 840);
    assert_eq!((power, earliest), (100.0, 9));
    let formula = Formula::new(vec![0.0, 0.0], 0.02, Noise::T3);
    let limits = Limits { blocks: 20, warm_up: 0, seed: 1 };
    let ended = race_to_verdict(&formula, &rules(), &spending(), limits).unwrap();
    assert!(ended.claims[0].is_same(), "{:?}", ended.claims);
}
