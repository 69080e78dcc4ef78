//! How often a real difference is found, and after how many blocks.

use crate::runs::{runs, seed};
use crate::tables::spending;
use powerband_stats::noise::Noise;
use powerband_stats::{Claim, Rules};
use powerband_testkit::formula::{Formula, Limits, race_to_verdict};

/// Share of runs in which setting 1 is found higher, in per cent, and the mean number of blocks until it is decided.
fn found(effects: &[f64], noise_sd: f64, margin: f64, noise: Noise, case: u64) -> (f64, f64) {
    let levels = std::iter::once(0.0).chain(effects.iter().copied()).collect();
    let formula = Formula::new(levels, noise_sd, noise);
    let rules = Rules { margin, scale: powerband_stats::Scale::Linear, ..Rules::default() };
    let count = runs(400, 1000);
    let (mut hits, mut blocks) = (0, 0);
    for run in 0..count {
        let limits = Limits { blocks: 30, warm_up: 0, seed: seed(case, run) };
        let ended = race_to_verdict(&formula, &rules, &spending(), limits).unwrap();
        hits += u32::from(ended.claims[0] == Claim::Higher);
        blocks += ended.decided_after[0].unwrap_or(30);
    }
    (100.0 * f64::from(hits) / f64::from(count), f64::from(blocks) / f64::from(count))
}

#[test]
fn three_per_cent_at_two_per_cent_noise() {
    // Noise, power asked for in per cent, mean blocks another program measured.
    for (noise, least, blocks) in
        [(Noise::Gauss, 90.0, 11.5), (Noise::Ar, 90.0, 5.5), (Noise::Sine, 90.0, 12.8), (Noise::Contam, 82.0, 15.0)]
    {
        let (power, mean) = found(&[3.0], 2.0, 1.0, noise, 1100 + noise as u64);
        println!("m 1 {}: {power:.0} %, {mean:.1} blocks", noise.name());
        assert!(power >= least, "{}: {power}", noise.name());
        assert!((mean / blocks - 1.0).abs() < 0.2, "{}: {mean}", noise.name());
    }
}

#[test]
fn the_same_among_five() {
    // Four others do nothing and share the error rate. Under the wave the 90 % are out of reach with six settings in
    // thirty blocks: 74 % were measured.
    for (noise, least, blocks) in
        [(Noise::Gauss, 90.0, 11.0), (Noise::Ar, 90.0, 6.6), (Noise::Sine, 66.0, 18.8), (Noise::Contam, 90.0, 13.5)]
    {
        let (power, mean) = found(&[3.0, 0.0, 0.0, 0.0, 0.0], 2.0, 1.0, noise, 1120 + noise as u64);
        println!("m 5 {}: {power:.0} %, {mean:.1} blocks", noise.name());
        assert!(power >= least, "{}: {power}", noise.name());
        assert!((mean / blocks - 1.0).abs() < 0.2, "{}: {mean}", noise.name());
    }
}

#[test]
fn power_by_effect_and_noise() {
    let expected = [
        (1.0, [(1.0, 72.0, 19.3), (2.0, 18.0, 26.9), (5.0, 5.0, 28.5)]),
        (3.0, [(1.0, 100.0, 5.1), (2.0, 99.0, 11.5), (5.0, 27.0, 25.8)]),
        (10.0, [(1.0, 100.0, 3.1), (2.0, 100.0, 3.8), (5.0, 100.0, 7.7)]),
    ];
    for (effect, row) in expected {
        for (noise_sd, power, blocks) in row {
            let case = 1140 + (effect * 8.0 + noise_sd) as u64;
            let (have, mean) = found(&[effect], noise_sd, effect / 3.0, Noise::Gauss, case);
            println!("{effect} % at {noise_sd} %: {have:.0} % (expected {power}), {mean:.1} blocks ({blocks})");
            // Three standard errors of two measurements of 400 runs each.
            assert!((have - power).abs() <= 9.0, "{effect} at {noise_sd}: {have}");
            assert!((mean / blocks - 1.0).abs() <= 0.12, "{effect} at {noise_sd}: {mean}");
        }
    }
}
