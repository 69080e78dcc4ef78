//! What a calibration says of noise that is known: its figures agree with others' arithmetic, its advice with the cause.

use crate::runs::{limit, runs, seed};
use crate::tables::spending;
use powerband_stats::Rules;
use powerband_stats::calibrate::{
    Calibrated, CalibrationAdvice, CalibrationQuestion, CalibrationTrial, calibrate, detectable, time_needed,
};
use powerband_stats::noise::{Noise, NoiseStream};

/// Twelve blocks of two, as `calibrate` runs when nothing else is said.
const TRIALS: usize = 24;

fn trials(noise: Noise, sd: f64, key: u64, count: usize) -> Vec<CalibrationTrial> {
    let mut stream = NoiseStream::new(noise, key, 0, count as u32);
    (0..count)
        .map(|place| CalibrationTrial { block: place as u32 / 2, value: 100.0 * (sd * stream.at(place)).exp() })
        .collect()
}

fn found(trials: &[CalibrationTrial], relabels: u32) -> Calibrated {
    let rules = Rules::default();
    calibrate(&CalibrationQuestion { trials, trial_s: 5.0, rules: &rules, relabels, seed: 3 }, &spending()).unwrap()
}

/// How many of a hundred calibrations of a noise give this advice.
fn advised(noise: Noise, sd: f64, advice: CalibrationAdvice) -> u32 {
    let count = 100;
    (0..count).map(|run| u32::from(found(&trials(noise, sd, seed(700, run), TRIALS), 0).advice.contains(&advice))).sum()
}

#[test]
fn figures_agree_with_plain_arithmetic() {
    let trials = trials(Noise::Gauss, 0.02, 9, TRIALS);
    let got = found(&trials, 0);
    let logs: Vec<f64> = trials.iter().map(|trial| trial.value.ln()).collect();
    let squares: f64 = logs.chunks(2).map(|pair| (pair[0] - pair[1]).powi(2) / 2.0).sum();
    assert!((got.sigma - (squares / 12.0).sqrt()).abs() < 1e-12 && got.sigma_df == 12.0);
    let mut apart: Vec<f64> = logs.chunks(2).map(|pair| (pair[0] - pair[1]).abs()).collect();
    apart.sort_by(f64::total_cmp);
    let robust = 1.4826 * (apart[5] + apart[6]) / 2.0 / 2.0_f64.sqrt();
    assert!((got.sigma_robust - robust).abs() < 1e-12);
    let mean = logs.iter().sum::<f64>() / 24.0;
    let all: f64 = logs.iter().map(|x| (x - mean).powi(2)).sum();
    for (lag, r) in (1..).zip(&got.autocorrelation) {
        let product: f64 = (lag..24).map(|i| (logs[i] - mean) * (logs[i - lag] - mean)).sum();
        assert!((r - product / all).abs() < 1e-12, "lag {lag}");
    }
    assert!((got.level - mean.exp()).abs() < 1e-9);
    assert!((got.default_margin - 2.0 * got.sigma).abs() < 1e-12, "twice a noise of 2 %");
    assert_eq!(found(&self::trials(Noise::Gauss, 0.001, 9, TRIALS), 0).default_margin, 0.01);
}

#[test]
fn noise_is_found_as_large_as_it_is() {
    for sd in [0.002, 0.02] {
        let count = 200;
        let all = (0..count).map(|run| found(&trials(Noise::Gauss, sd, seed(701, run), TRIALS), 0));
        let (mut sigma, mut robust) = (0.0, 0.0);
        for one in all {
            sigma += one.sigma * one.sigma / f64::from(count);
            robust += one.sigma_robust / f64::from(count);
        }
        assert!((sigma.sqrt() / sd - 1.0).abs() < 0.05, "{sd}: {}", sigma.sqrt());
        assert!((robust / sd - 1.0).abs() < 0.1, "{sd}: {robust}");
    }
}

#[test]
fn advice_fits_the_noise() {
    // Each noise nearly always brings the advice that fits; quiet independent noise brings little of anything.
    assert!(advised(Noise::Ar, 0.02, CalibrationAdvice::ShorterTrials) >= 70);
    assert!(advised(Noise::Linear, 0.02, CalibrationAdvice::ShorterTrials) >= 70);
    assert!(advised(Noise::Step, 0.02, CalibrationAdvice::ShorterTrials) >= 70);
    assert!(advised(Noise::Bimodal, 0.02, CalibrationAdvice::TwoRegimes) >= 60);
    assert!(advised(Noise::Gauss, 0.02, CalibrationAdvice::LongerTrials) >= 50);
    for advice in [
        CalibrationAdvice::ShorterTrials,
        CalibrationAdvice::TwoRegimes,
        CalibrationAdvice::Outliers,
        CalibrationAdvice::LongerWarmUp,
    ] {
        let wrong = advised(Noise::Gauss, 0.02, advice);
        assert!(wrong <= 15, "{advice:?} in {wrong} of 100 under independent noise");
    }
    assert_eq!(
        advised(Noise::Gauss, 0.002, CalibrationAdvice::LongerTrials),
        0,
        "nothing is gained below the least margin"
    );
    assert!(advised(Noise::Ar, 0.02, CalibrationAdvice::LongerTrials) <= 15);
    for noise in [Noise::Step, Noise::Sine, Noise::Linear] {
        let wrong = advised(noise, 0.02, CalibrationAdvice::TwoRegimes);
        assert!(wrong <= 15, "a change in time is no pair of regimes: {} in {wrong} of 100", noise.name());
    }
}

#[test]
fn outliers_are_named() {
    let mut quiet = trials(Noise::Gauss, 0.005, 5, TRIALS);
    quiet[7].value *= 1.2;
    quiet[16].value *= 0.8;
    let found = found(&quiet, 0);
    assert_eq!(found.outliers, [7, 16]);
    assert!(found.advice.contains(&CalibrationAdvice::Outliers), "{:?}", found.advice);
    assert!((found.outlier_share() - 2.0 / 24.0).abs() < 1e-12);
}

#[test]
fn a_first_block_apart_asks_for_more_warm_up() {
    let mut cold = trials(Noise::Gauss, 0.005, 6, TRIALS);
    cold[0].value *= 1.1;
    cold[1].value *= 1.1;
    assert!(found(&cold, 0).advice.contains(&CalibrationAdvice::LongerWarmUp));
}

#[test]
fn labels_drawn_anew_alarm_as_seldom_as_promised() {
    // One set of trials has a rate of its own, as it happens to lie; what is promised is their mean.
    let (sets, relabels) = (runs(40, 200), 50);
    for noise in Noise::ALL {
        let rate = |set| found(&trials(noise, 0.02, seed(704, set), 40), relabels).false_alarm.unwrap();
        let rates: Vec<f64> = (0..sets)
            .map(|set| {
                let one = rate(set);
                assert!(one.low <= one.rate && one.rate <= one.high && one.runs == relabels, "{one:?}");
                one.rate
            })
            .collect();
        let mean = rates.iter().sum::<f64>() / f64::from(sets);
        println!("{}: {mean:.3}, at most {:.3}", noise.name(), rates.iter().copied().fold(0.0, f64::max));
        assert!(mean <= 0.07, "{}: {mean}", noise.name());
    }
    assert!(found(&trials(Noise::Gauss, 0.02, 11, 14), 400).false_alarm.is_none(), "seven blocks are too few");
}

#[test]
fn halves_back_to_back_claim_what_a_drift_does() {
    let claims = |noise| {
        (0..100)
            .filter(|run| {
                let found = found(&trials(noise, 0.02, seed(702, *run), TRIALS), 0);
                found.back_to_back.unwrap().claims
            })
            .count()
    };
    assert!(claims(Noise::Linear) >= 90);
    assert!(claims(Noise::Gauss) <= 15);
}

#[test]
fn what_is_said_to_be_detectable_is_detected() {
    use powerband_testkit::formula::{Formula, Limits, race_to_verdict};
    let (rules, spending) = (Rules { margin: 0.0, ..Rules::default() }, spending());
    let told = detectable(0.02, 5.0, 2.0, &rules, &spending).unwrap();
    assert_eq!(told.blocks, 12);
    let back = time_needed(0.02, 5.0, told.effect, &rules, &spending).unwrap();
    assert!(back.blocks == 12 && (back.minutes - 2.0).abs() < 1e-9);
    assert!(detectable(0.02, 5.0, 0.3, &rules, &spending).is_none(), "two blocks are none");
    let formula = Formula::new(vec![0.0, told.effect], 0.02, Noise::Gauss);
    let count = runs(200, 1000);
    let found = (0..count).filter(|run| {
        let limits = Limits { blocks: told.blocks, warm_up: 0, seed: seed(703, *run) };
        race_to_verdict(&formula, &rules, &spending, limits).unwrap().claims[0].is_difference()
    });
    let missed = count - found.count() as u32;
    // A tenth may be missed, and looks before the last find more, not fewer.
    assert!(missed <= limit(32, 125), "{missed} of {count} missed");
}
