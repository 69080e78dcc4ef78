//! Descriptions next to a verdict: beginnings, carry-over, drift, modes, calibrations, limits.

use crate::row::{Limit, Row, Table, once, row};
use crate::verdicts::ended;
use crate::{linear, spending};
use powerband_stats::calibrate::{
    Calibrated, CalibrationAdvice as Advice, CalibrationQuestion, CalibrationTrial, calibrate, detectable,
};
use powerband_stats::limit::{Limit as Bound, level};
use powerband_stats::modes::modes;
use powerband_stats::noise::{Noise, NoiseStream};
use powerband_stats::steady::{FirstBlock, first_block};
use powerband_stats::{
    Draws, MetricJudge, Purpose, Rules, Scale, Table as Trials, block_order, carry_over, change_point, drift, slots,
};
use powerband_testkit::formula::Formula;

/// Five quiet blocks with a transient of `size` that decays over about three trials at the beginning.
fn first_block_dropped(settings: usize, size: f64, key: u64) -> bool {
    let formula = Formula::new(vec![0.0; settings + 1], 1.0, Noise::Gauss);
    let others: Vec<usize> = (1..=settings).collect();
    let mut bench = formula.start(key, 100);
    let mut table = Trials::new(settings);
    let mut done = 0;
    for number in 0..5 {
        let block = table.push_block();
        for slot in block_order(key, number, &slots(1, &others)) {
            let transient = size * (-f64::from(done) / 1.5).exp();
            table.set(block, slot, bench.trial(slot.setting) + transient).unwrap();
            done += 1;
        }
    }
    first_block(&table, &linear(0.5)).unwrap() == FirstBlock::Dropped
}

/// Trends and steps that are reported of levels without either.
fn trends(key: u64) -> Vec<f64> {
    let mut draws = Draws::new(key, Purpose::Trial, 0, 0);
    let levels: Vec<f64> = (0..15).map(|_| draws.normal()).collect();
    let line = drift(&levels).unwrap();
    vec![once(line.low > 0.0 || line.high < 0.0), once(change_point(&levels).unwrap().flagged)]
}

fn beginnings() -> Table {
    // Blocks of three trials are left alone, blocks of six are looked at.
    let cases = [
        ("3 trials a block, quiet", 2, 0.0, Limit::Most(0.0)),
        ("6 trials a block, quiet", 4, 0.0, Limit::Most(0.7)),
        ("6 trials a block, transient of 30 s.d.", 4, 30.0, Limit::Least(95.0)),
        ("6 trials a block, transient of 10 s.d.", 4, 10.0, Limit::Within(8.0, 60.0)),
    ];
    let case = |(label, settings, size, limit)| {
        row((label, ""), 5000, &[limit, Limit::Any], move |key| {
            vec![once(first_block_dropped(settings, size, key)), f64::NAN]
        })
    };
    let mut rows: Vec<Row> = cases.map(case).into();
    rows.push(row(("no trend: slope or step shown", ""), 5000, &[Limit::Within(3.0, 7.0), Limit::Most(6.0)], trends));
    let columns = &["first block dropped, or slope, %", "step, %"];
    Table {
        part: "verdicts",
        title: "First blocks and trends",
        from: "5 % and what chance adds; measured",
        columns,
        rows,
    }
}

/// Blocks of settings of which each trial keeps a share of the one before.
fn carried(formula: &Formula, blocks: u32, key: u64) -> Trials {
    let m = formula.settings();
    let mut bench = formula.start(key, 200);
    let mut table = Trials::new(m);
    for _ in 0..blocks {
        bench.block(&mut table, key, &slots(1, &(1..=m).collect::<Vec<_>>()), Scale::Linear).unwrap();
    }
    table
}

fn carry_overs() -> Table {
    let mut rows = Vec::new();
    for share in [0.0, 0.1, 0.3] {
        let mut formula = Formula::new(vec![0.0, 4.0, 8.0, -6.0], 1.0, Noise::Gauss);
        formula.carry_over = share;
        let play = move |key| {
            let found = carry_over(&carried(&formula, 12, key), &linear(0.5)).unwrap().unwrap();
            vec![found.share, once(found.low <= share && share <= found.high), once(found.withholds_same())]
        };
        let suspected = if share < 0.2 { Limit::Most(5.0) } else { Limit::Least(90.0) };
        let limits = [Limit::Within(share - 0.02, share + 0.02), Limit::Least(88.0), suspected];
        rows.push(row((&format!("share of {share} kept, 3 settings"), ""), 1000, &limits, play));
    }
    // It shrinks an effect, and never invents one: a true 6 is estimated as so much.
    for (m, share, want) in [(1, 0.1, 5.1), (1, 0.3, 3.4), (5, 0.1, 5.3), (5, 0.3, 3.9)] {
        let mut formula = Formula::new((0..=m).map(|j| if j == 1 { 6.0 } else { 0.0 }).collect(), 0.5, Noise::Gauss);
        formula.carry_over = share;
        let play = move |key| {
            let mut judge = MetricJudge::new(m, linear(0.5), spending()).unwrap();
            judge.advance(&carried(&formula, 6, key)).unwrap();
            vec![judge.contrast(1).unwrap().effect]
        };
        let limits = [Limit::Within(want - 0.35, want + 0.35), Limit::Any, Limit::Any];
        rows.push(row((&format!("effect of 6, share of {share}, {m} settings"), ""), 400, &limits, play));
    }
    let columns = &["share or effect", "covered, %", "suspected, %"];
    Table {
        part: "verdicts",
        title: "Carry-over",
        from: "the truth, 90 % intervals, 5 % suspected of none",
        columns,
        rows,
    }
}

/// One draw of a law.
type Law = fn(&mut Draws) -> f64;

fn two_modes() -> Table {
    let mut rows = Vec::new();
    let of_noise = [(Noise::Gauss, Limit::Most(5.0)), (Noise::T3, Limit::Any), (Noise::Bimodal, Limit::Any)];
    for (noise, n) in of_noise.iter().flat_map(|noise| [8, 15, 30].map(|n| (*noise, n))) {
        let play = move |key| {
            let mut stream = NoiseStream::new(noise.0, key, 0, 10);
            vec![once(modes(&(0..n).map(|t| stream.at(t)).collect::<Vec<_>>()).unwrap().two)]
        };
        let limit = if noise.0 == Noise::Bimodal && n == 30 { Limit::Least(90.0) } else { noise.1 };
        rows.push(row((&format!("{}, {n} trials", noise.0.name()), ""), 2000, &[limit], play));
    }
    // One in twenty, and what chance adds to that once in a thousand times, whatever the seed.
    let one = Limit::Most(100.0 * 243.0 / 4000.0);
    let laws: [(&str, Law, Limit); 7] = [
        ("Pareto 2.5", |draws| libm::pow(draws.uniform(), -1.0 / 2.5), one),
        ("Pareto 1.5", |draws| libm::pow(draws.uniform(), -1.0 / 1.5), one),
        ("Pareto 1.5 downwards", |draws| -libm::pow(draws.uniform(), -1.0 / 1.5), one),
        ("exponential", |draws| -libm::log(draws.uniform()), one),
        ("log-normal of shape 0.75", |draws| libm::exp(0.75 * draws.normal()), one),
        (
            "30 % 6 s.d. apart",
            |draws| draws.normal() + if draws.uniform() < 0.3 { 6.0 } else { 0.0 },
            Limit::Least(90.0),
        ),
        (
            "half 8 s.d. apart",
            |draws| draws.normal() + if draws.uniform() < 0.5 { 8.0 } else { 0.0 },
            Limit::Least(99.0),
        ),
    ];
    for (n, (name, law, limit)) in [24, 40].iter().flat_map(|n| laws.map(|law| (*n, law))) {
        let play = move |key| {
            let mut draws = Draws::new(key, Purpose::Trial, 9, 0);
            vec![once(modes(&(0..n).map(|_| law(&mut draws)).collect::<Vec<_>>()).unwrap().two)]
        };
        rows.push(row((&format!("{name}, {n} trials"), ""), 4000, &[limit], play));
    }
    Table { part: "verdicts", title: "Two modes", from: "5 % and what chance adds", columns: &["two modes, %"], rows }
}

/// Twelve blocks of two, as `calibrate` runs by default.
fn calibrated(noise: Noise, sd: f64, relabels: u32, trials: usize, key: u64) -> Calibrated {
    let mut stream = NoiseStream::new(noise, key, 0, trials as u32);
    let value = |place: usize, deviation: f64| CalibrationTrial {
        block: place as u32 / 2,
        value: 100.0 * (sd * deviation).exp(),
    };
    let trials: Vec<CalibrationTrial> = (0..trials).map(|place| value(place, stream.at(place))).collect();
    let rules = Rules::default();
    let question = CalibrationQuestion { trials: &trials, trial_s: 5.0, rules: &rules, relabels, seed: 3 };
    calibrate(&question, &spending()).unwrap()
}

fn advice() -> Table {
    let case = |noise: Noise, sd: f64, advice: Advice, limit: Limit| {
        let play = move |key| vec![once(calibrated(noise, sd, 0, 24, key).advice.contains(&advice))];
        row((&format!("{advice:?} under {}", noise.name()), &sd.to_string()), 400, &[limit], play)
    };
    let (least, most) = (Limit::Least, Limit::Most);
    let mut rows: Vec<Row> = [
        (Noise::Ar, Advice::ShorterTrials, least(70.0)),
        (Noise::Linear, Advice::ShorterTrials, least(70.0)),
        (Noise::Step, Advice::ShorterTrials, least(70.0)),
        (Noise::Bimodal, Advice::TwoRegimes, least(60.0)),
        (Noise::Gauss, Advice::LongerTrials, least(50.0)),
        (Noise::Gauss, Advice::ShorterTrials, most(15.0)),
        (Noise::Gauss, Advice::TwoRegimes, most(15.0)),
        (Noise::Gauss, Advice::Outliers, most(15.0)),
        (Noise::Gauss, Advice::LongerWarmUp, most(15.0)),
        (Noise::Ar, Advice::LongerTrials, most(15.0)),
        // A change in time is no pair of regimes.
        (Noise::Step, Advice::TwoRegimes, most(15.0)),
        (Noise::Sine, Advice::TwoRegimes, most(15.0)),
        (Noise::Linear, Advice::TwoRegimes, most(15.0)),
    ]
    .map(|(noise, advice, limit)| case(noise, 0.02, advice, limit))
    .into();
    // Nothing is gained below the least margin.
    rows.push(case(Noise::Gauss, 0.002, Advice::LongerTrials, most(0.0)));
    for (noise, limit) in [(Noise::Linear, least(90.0)), (Noise::Gauss, most(15.0))] {
        let play = move |key| vec![once(calibrated(noise, 0.02, 0, 24, key).back_to_back.unwrap().claims)];
        rows.push(row((&format!("halves back to back differ under {}", noise.name()), ""), 400, &[limit], play));
    }
    Table { part: "verdicts", title: "Advice of a calibration", from: "measured", columns: &["given, %"], rows }
}

fn calibrations() -> Table {
    let sigma = |sd: f64| {
        let play = move |key| {
            let found = calibrated(Noise::Gauss, sd, 0, 24, key);
            vec![(found.sigma / sd).powi(2), found.sigma_robust / sd, f64::NAN]
        };
        let limits = [Limit::Within(0.9025, 1.1025), Limit::Within(0.9, 1.1), Limit::Any];
        row((&format!("noise of {sd}"), ""), 400, &limits, play)
    };
    // One set of trials has a rate of its own, as it happens to lie; what is promised is their mean.
    let relabelled = |noise: Noise| {
        let play = move |key| {
            let one = calibrated(noise, 0.02, 50, 40, key).false_alarm.unwrap();
            assert!(one.low <= one.rate && one.rate <= one.high && one.runs == 50, "{one:?}");
            vec![f64::NAN, f64::NAN, 100.0 * one.rate]
        };
        row(("labels drawn again", noise.name()), 200, &[Limit::Any, Limit::Any, Limit::Most(7.0)], play)
    };
    // What is said to be detectable is missed: a tenth may be, and looks before the last find more, not fewer.
    let rules = Rules { margin: 0.0, ..Rules::default() };
    let said = detectable(0.02, 5.0, 2.0, &rules, &spending()).unwrap();
    let formula = Formula::new(vec![0.0, said.effect], 0.02, Noise::Gauss);
    let missed = move |key| {
        let claims = ended(&formula, &rules, said.blocks, key).claims;
        vec![f64::NAN, f64::NAN, once(!claims[0].is_difference())]
    };
    let mut rows = vec![sigma(0.002), sigma(0.02)];
    rows.extend(Noise::ALL.map(relabelled));
    rows.push(row(("what is detectable is missed", ""), 1000, &[Limit::Any, Limit::Any, Limit::Most(12.5)], missed));
    let columns = &["variance over the truth", "robust s.d. over the truth", "alarms, or missed, %"];
    Table {
        part: "verdicts",
        title: "Calibrations",
        from: "the truth, 5 % and 10 % with what chance adds",
        columns,
        rows,
    }
}

/// A level whose truth is exactly its limit: "holds" and "broken" are each as wrong as can be, over all looks.
fn limits() -> Table {
    let bound = Bound { at: 0.0, upper: true, first_look: 5 };
    let play = move |key| {
        let alpha = Rules::default().same_level_of_t(1);
        let mut draws = Draws::new(key, Purpose::Trial, 0, 0);
        let trials: Vec<f64> = (0..20).map(|_| draws.normal()).collect();
        let looks: Vec<_> =
            (5..=20).map(|n| bound.held(&level(&trials[..n], None).unwrap(), alpha, &spending())).collect();
        vec![once(looks.iter().any(|held| held.holds)), once(looks.iter().any(|held| held.broken))]
    };
    let rows = vec![row(("20 trials exactly on the limit", ""), 4000, &[Limit::Most(6.25); 2], play)];
    let columns = &["holds, %", "broken, %"];
    Table { part: "verdicts", title: "Limits", from: "5 % and what chance adds in 4,000", columns, rows }
}

pub(crate) fn tables() -> Vec<Table> {
    vec![beginnings(), carry_overs(), two_modes(), advice(), calibrations(), limits()]
}
