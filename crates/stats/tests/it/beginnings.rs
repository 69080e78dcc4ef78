//! Beginnings and suspicions, exactly: warm-up, the first block, carry-over, drift, steps, two regimes, unstable settings, patience.

use crate::tables::{linear, spending, table};
use powerband_stats::modes::{modes, wilson_interval};
use powerband_stats::noise::{Noise, NoiseStream};
use powerband_stats::steady::warm_up_is_over;
use powerband_stats::{
    MetricJudge, Patience, Prediction, Rules, Scale, Table, carry_over, change_point, drift, slots, trials_left,
};
use powerband_testkit::formula::{Formula, run_seed};

#[test]
fn warm_up_ends_when_two_agree_or_after_five() {
    let over = |values: &[f64], sd| warm_up_is_over(values, Scale::Log, sd);
    assert!(!over(&[], None) && !over(&[100.0], None));
    assert!(over(&[90.0, 91.0], None) && !over(&[90.0, 95.0], None));
    assert!(over(&[90.0, 95.0], Some(0.02)) && !over(&[90.0, 95.0], Some(0.01)));
    assert!(over(&[50.0, 60.0, 70.0, 80.0, 90.0], None));
    assert!(warm_up_is_over(&[-1.0, 0.5], Scale::Linear, Some(1.0)));
    assert!(!warm_up_is_over(&[-1.0, 0.5], Scale::Linear, None));
}

#[test]
fn a_dropped_first_block_is_replaced() {
    let quiet = |b: f64| vec![10.0 + 0.01 * b, 10.1, 10.0, 10.2 - 0.01 * b];
    let mut rows = vec![vec![14.0, 10.0, 10.1, 10.0]];
    rows.extend((0..3).map(|b| quiet(f64::from(b))));
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let mut judge = MetricJudge::new(3, linear(0.05), spending()).unwrap();
    assert!(judge.look(&table(&rows[..3])).is_err(), "two blocks are left of three");
    let look = judge.look(&table(&rows)).unwrap();
    assert!(look.first_block_dropped);
    assert_eq!((look.blocks, look.settings[0].contrast.blocks), (3, 3));
    // A stored table looked at once, long after, leaves out the same block.
    let later = [&rows[..], &rows[1..]].concat();
    let look = MetricJudge::new(3, linear(0.05), spending()).unwrap().look(&table(&later)).unwrap();
    assert!(look.first_block_dropped && look.blocks == 6);
}

#[test]
fn of_equal_trials_no_carry_over_is_estimated_and_same_is_withheld_while_it_is_suspected() {
    let equal = table(&[&[5.0, 5.0], &[5.0, 5.0], &[5.0, 5.0]]);
    assert_eq!(carry_over(&equal, &linear(0.5)), Ok(None));
    // A third setting shows what is kept; without that the second is the same.
    for (share, same) in [(0.0, true), (0.4, false)] {
        let mut formula = Formula::new(vec![0.0, 0.0, 20.0], 0.2, Noise::Gauss);
        formula.carry_over = share;
        let mut bench = formula.start(5, 100);
        let (mut table, rules) = (Table::new(2), Rules { withhold_carried: true, ..linear(20.0) });
        for _ in 0..8 {
            bench.block(&mut table, 5, &slots(1, &[1, 2]), rules.scale).unwrap();
        }
        let look = MetricJudge::new(2, rules, spending()).unwrap().look(&table).unwrap();
        assert_eq!(
            (look.settings[0].claim.is_same(), look.carried.unwrap().withholds_same()),
            (same, !same),
            "{share}"
        );
    }
}

#[test]
fn drift_and_steps_are_reported() {
    let steps: Vec<f64> = (0..16).map(|b| if b < 6 { 0.0 } else { 3.0 } + f64::from(b % 3)).collect();
    let found = change_point(&steps).unwrap();
    assert!(found.flagged && found.after_blocks == 6 && (found.size - 2.9).abs() < 0.3, "{found:?}");
    let line = drift(&(0..8).map(|b| 2.0 * f64::from(b)).collect::<Vec<_>>()).unwrap();
    assert!((line.per_block - 2.0).abs() < 1e-12 && (line.high - line.low) < 1e-9);
    assert_eq!((drift(&[1.0, 2.0]), change_point(&[2.0; 9])), (None, None));
    // Means of equal readings differ by their rounding, which is no news.
    let hundred = 100.0_f64.ln();
    let rounded: Vec<f64> = (0..12).map(|b| hundred * if b < 7 { 1.0 } else { 1.0 + f64::EPSILON }).collect();
    assert!(change_point(&rounded).is_none() && !drift(&rounded).unwrap().is_shown());
}

#[test]
fn two_regimes_are_described() {
    let parts = modes(&[1.0, 1.1, 0.9, 1.0, 5.0, 5.1, 4.9, 1.05, 0.95, 5.0]).unwrap();
    assert!(parts.two && (parts.high_share - 0.4).abs() < 1e-6 && (parts.low_mean - 1.0).abs() < 1e-6);
    assert_eq!(modes(&[1.0; 7]), None);
    let (low, high) = wilson_interval(3, 10);
    assert!((low - 0.1078).abs() < 1e-4 && (high - 0.6032).abs() < 1e-4);
}

#[test]
fn a_noisier_setting_is_marked_and_no_other() {
    let mut formula = Formula::new(vec![0.0, 9.0, 0.0, 0.0, 0.0], 0.2, Noise::Gauss);
    formula.noise_sd[1] = 3.0;
    let (mut marked, mut others) = (0, 0);
    for run in 0..200 {
        let key = run_seed(20, 760, run);
        let mut bench = formula.start(key, 100);
        let mut table = Table::new(4);
        for _ in 0..7 {
            bench.block(&mut table, key, &slots(1, &[1, 2, 3, 4]), Scale::Linear).unwrap();
        }
        let look = MetricJudge::new(4, linear(0.5), spending()).unwrap().look(&table).unwrap();
        marked += u32::from(look.settings[0].unstable);
        others += u32::from(look.reference_unstable || look.settings[1..].iter().any(|it| it.unstable));
    }
    assert!(marked > 190 && others < 10, "{marked} {others}");
}

#[test]
fn noise_has_the_spread_it_says_whichever_trial_is_asked_first() {
    let contam = [(Noise::Contam, 2.2_f64.sqrt()), (Noise::Spike, 3.78_f64.sqrt()), (Noise::Bimodal, 1.463)];
    let unit = [Noise::Gauss, Noise::Ar, Noise::LogNormal].map(|noise| (noise, 1.0));
    for (noise, want) in unit.into_iter().chain(contam) {
        let stream = |number| {
            let mut stream = NoiseStream::new(noise, 5, number, 1000);
            (0..1000).map(move |trial| stream.at(trial))
        };
        let values: Vec<f64> = (0..40).flat_map(stream).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let sd = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt();
        assert!((sd / want - 1.0).abs() < 0.06, "{}: {sd}", noise.name());
    }
    for noise in Noise::ALL {
        let mut there = NoiseStream::new(noise, 6, 1, 50);
        let mut back = there.clone();
        let forward: Vec<f64> = (0..20).map(|t| there.at(t)).collect();
        let backward: Vec<f64> = (0..20).rev().map(|t| back.at(t)).collect();
        assert!(forward.iter().eq(backward.iter().rev()), "{}", noise.name());
    }
}

#[test]
fn patience_ends_after_two_hopeless_looks() {
    let far = Prediction { blocks: 60, low: 42, high: 150 };
    let near = Prediction { blocks: 20, low: 14, high: 50 };
    let mut patience = Patience::default();
    assert!(!patience.gives_up(2, Some(far), 30) && !patience.gives_up(2, Some(near), 30));
    assert!(!patience.gives_up(2, None, 30) && patience.gives_up(2, Some(far), 30));
    patience.renew(2);
    assert!(!patience.gives_up(2, Some(far), 30));
    // Blocks 5 to 8 with three open and two references, 8 to 10 with two open and one.
    assert_eq!(trials_left(5, &[8, 10, 10, 4], |open| if open > 2 { 2 } else { 1 }), 3 * 5 + 2 * 3);
}
