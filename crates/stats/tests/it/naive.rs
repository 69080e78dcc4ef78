//! Habits that must fail the test of false alarms: proof that the test can fail.

use crate::runs::{runs, seed};
use crate::tables::{linear, spending};
use powerband_stats::apart::welch;
use powerband_stats::distribution::t_two_sided;
use powerband_stats::noise::Noise;
use powerband_stats::{Rules, Slot, Table, slots};
use powerband_testkit::formula::{Formula, Limits, race_to_verdict};

/// Block differences of an A/A pair over so many blocks, in the same order and noise as the real procedure.
fn differences(noise: Noise, key: u64, blocks: u32) -> Vec<f64> {
    let formula = Formula::new(vec![0.0; 2], 1.0, noise);
    let mut bench = formula.start(key, 2 * blocks);
    let mut table = Table::new(1);
    for _ in 0..blocks {
        bench.block(&mut table, key, &slots(1, &[1]), linear(0.5).scale).unwrap();
    }
    let at = |block, setting| table.get(block, Slot::first(setting)).unwrap();
    (0..blocks as usize).map(|block| at(block, 1) - at(block, 0)).collect()
}

fn paired_t(d: &[f64]) -> f64 {
    let n = d.len() as f64;
    let mean = d.iter().sum::<f64>() / n;
    let variance = d.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    mean / (variance / n).sqrt()
}

fn share(count: u32, of: impl Fn(u64) -> bool, case: u64) -> f64 {
    f64::from((0..count).map(|run| u32::from(of(seed(case, run)))).sum::<u32>()) / f64::from(count)
}

#[test]
fn peeking_fails() {
    for noise in [Noise::Gauss, Noise::Ar, Noise::Sine, Noise::T3, Noise::All] {
        let peeked = share(
            runs(400, 2000),
            |key| {
                let d = differences(noise, key, 20);
                (3..=20).any(|n| t_two_sided(paired_t(&d[..n]), n as f64 - 1.0) < 0.05)
            },
            1300,
        );
        println!("peeking, {}: {:.1} %", noise.name(), 100.0 * peeked);
        if noise != Noise::All {
            assert!(peeked >= 0.15, "{}: {peeked}", noise.name());
        }
    }
}

#[test]
fn back_to_back_fails_under_correlation() {
    for (noise, least) in [(Noise::Ar, 0.15), (Noise::Sine, 0.15), (Noise::Gauss, 0.0)] {
        let claimed = share(
            runs(400, 2000),
            |key| {
                let formula = Formula::new(vec![0.0; 2], 1.0, noise);
                let mut bench = formula.start(key, 20);
                let first: Vec<f64> = (0..10).map(|_| bench.trial(0)).collect();
                let second: Vec<f64> = (0..10).map(|_| bench.trial(1)).collect();
                welch(&first, &second).unwrap().p() < 0.05
            },
            1301,
        );
        println!("back to back, {}: {:.1} %", noise.name(), 100.0 * claimed);
        assert!(claimed >= least, "{}: {claimed}", noise.name());
        // Where its assumption holds, Welch's test keeps its level, so it is the habit that fails and not our Welch.
        assert!(noise != Noise::Gauss || claimed < 0.09, "{claimed}");
    }
}

/// Fixed order loses the randomisation: linear drift then favours anyone who comes second.
#[test]
fn a_fixed_order_fails_under_drift() {
    let claimed = share(
        // Near 5.8 %: fewer in the long form would not tell that from 5 %.
        runs(400, 20_000),
        |key| {
            let formula = Formula::new(vec![0.0; 2], 1.0, Noise::Linear);
            let mut bench = formula.start(key, 40);
            let d: Vec<f64> = (0..20)
                .map(|_| {
                    let first = bench.trial(0);
                    bench.trial(1) - first
                })
                .collect();
            (3..=20).any(|n| {
                let p = spending().nominal(Rules::default().spend, 0.045, 3, n as u32);
                t_two_sided(paired_t(&d[..n]), n as f64 - 1.0) < p
            })
        },
        1302,
    );
    println!("fixed order: {:.1} %", 100.0 * claimed);
    assert!(claimed > 0.05, "{claimed}");
}

/// An independent sequential test, the t-mixture e-process (Lai 1976; Wang and Ramdas 2023): it keeps 5 % too, and
/// where it sees something so, nearly always, does the boundary.
#[test]
fn an_e_process_agrees() {
    const G: f64 = 4.0;
    let alarm = |d: &[f64]| {
        let n = d.len() as f64;
        let t2 = paired_t(d).powi(2);
        let log = -0.5 * (1.0 + n * G).ln()
            + 0.5 * n * ((1.0 + t2 / (n - 1.0)).ln() - (1.0 + t2 / ((n - 1.0) * (1.0 + n * G))).ln());
        log >= 20.0_f64.ln()
    };
    let null = share(runs(400, 2000), |key| (3..=20).any(|n| alarm(&differences(Noise::Gauss, key, 20)[..n])), 1303);
    println!("e-process false alarms: {:.1} %", 100.0 * null);
    assert!(null <= 0.05, "{null}");
    let formula = Formula::new(vec![0.0, 2.0], 1.0, Noise::Gauss);
    let (mut seen, mut both) = (0, 0);
    for run in 0..400 {
        let limits = Limits { blocks: 30, warm_up: 0, seed: seed(1304, run) };
        let ended = race_to_verdict(&formula, &linear(0.5), &spending(), limits).unwrap();
        let d: Vec<f64> = differences(Noise::Gauss, limits.seed, 30).iter().map(|d| d + 2.0).collect();
        if (3..=30).any(|n| alarm(&d[..n])) {
            seen += 1;
            both += u32::from(ended.claims[0].is_difference());
        }
    }
    assert!(seen > 380 && f64::from(both) > 0.97 * f64::from(seen), "{both} of {seen}");
}
