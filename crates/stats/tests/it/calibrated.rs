//! What a calibration reports of noise that is known: its figures agree with others' arithmetic, its advice with the cause.

use crate::tables::spending;
use powerband_stats::Rules;
use powerband_stats::calibrate::{
    Calibrated, CalibrationAdvice, CalibrationQuestion, CalibrationTrial, calibrate, detectable, time_needed,
};
use powerband_stats::noise::{Noise, NoiseStream};

/// Blocks of two: twelve, as `calibrate` runs by default.
fn trials(sd: f64, key: u64, count: usize) -> Vec<CalibrationTrial> {
    let mut stream = NoiseStream::new(Noise::Gauss, key, 0, count as u32);
    let value = |place: usize, off: f64| CalibrationTrial { block: place as u32 / 2, value: 100.0 * (sd * off).exp() };
    (0..count).map(|place| value(place, stream.at(place))).collect()
}

fn found(trials: &[CalibrationTrial], relabels: u32) -> Calibrated {
    let rules = Rules::default();
    calibrate(&CalibrationQuestion { trials, trial_s: 5.0, rules: &rules, relabels, seed: 3 }, &spending()).unwrap()
}

#[test]
fn figures_agree_with_plain_arithmetic() {
    let trials = trials(0.02, 9, 24);
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
    assert_eq!(found(&self::trials(0.001, 9, 24), 0).default_margin, 0.01);
}

#[test]
fn outliers_and_a_first_block_apart_are_named() {
    let mut quiet = trials(0.005, 5, 24);
    quiet[7].value *= 1.2;
    quiet[16].value *= 0.8;
    let outliers = found(&quiet, 0);
    assert_eq!(outliers.outliers, [7, 16]);
    assert!(outliers.advice.contains(&CalibrationAdvice::Outliers), "{:?}", outliers.advice);
    assert!((outliers.outlier_share() - 2.0 / 24.0).abs() < 1e-12);
    let mut cold = trials(0.005, 6, 24);
    cold[..2].iter_mut().for_each(|trial| trial.value *= 1.1);
    assert!(found(&cold, 0).advice.contains(&CalibrationAdvice::LongerWarmUp));
    assert!(found(&trials(0.02, 11, 14), 400).false_alarm.is_none(), "seven blocks are too few");
}

#[test]
fn what_is_detectable_in_a_time_takes_that_time() {
    let (rules, spending) = (Rules { margin: 0.0, ..Rules::default() }, spending());
    let there = detectable(0.02, 5.0, 2.0, &rules, &spending).unwrap();
    assert_eq!(there.blocks, 12);
    let back = time_needed(0.02, 5.0, there.effect, &rules, &spending).unwrap();
    assert!(back.blocks == 12 && (back.minutes - 2.0).abs() < 1e-9);
    assert!(detectable(0.02, 5.0, 0.3, &rules, &spending).is_none(), "two blocks are none");
}
