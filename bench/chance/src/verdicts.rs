//! Verdicts on formulas: false differences by noise, settings and way to the verdict; false "same"; power; ranks; peeking.

use crate::row::{Limit, Row, Table, once, row};
use crate::{linear, spending};
use powerband_stats::apart::welch;
use powerband_stats::distribution::t_two_sided;
use powerband_stats::noise::Noise;
use powerband_stats::{Claim, Rules, Scale, Slot, slots};
use powerband_testkit::formula::{Formula, FormulaResult, Limits, race_to_verdict};

const FIVE_NOISES: [Noise; 5] = [Noise::Gauss, Noise::Ar, Noise::Sine, Noise::T3, Noise::Contam];

pub(crate) fn ended(formula: &Formula, rules: &Rules, blocks: u32, seed: u64) -> FormulaResult {
    race_to_verdict(formula, rules, &spending(), Limits { blocks, warm_up: 0, seed }).unwrap()
}

fn is_different(ended: &FormulaResult) -> f64 {
    once(ended.claims.iter().any(|claim| claim.is_difference()))
}

/// The reference and `m` settings at `level`.
fn levels(m: usize, level: f64) -> Vec<f64> {
    (0..=m).map(|setting| if setting == 0 { 0.0 } else { level }).collect()
}

fn settings(m: usize) -> String {
    format!("{m} setting{}", if m == 1 { "" } else { "s" })
}

/// Nothing differs. A true 5.0 % would exceed 117 of 2,000 in 4 % of cases: where the rate is that near its limit, the same
/// 5.85 % is held over more runs.
fn differences() -> Table {
    let case = |m: usize, noise: Noise| {
        let formula = Formula::new(vec![0.0; m + 1], 1.0, noise);
        let runs = if m <= 2 { 8000 } else { 2000 };
        let play = move |key| vec![is_different(&ended(&formula, &linear(0.5), 20, key))];
        row((&settings(m), noise.name()), runs, &[Limit::Most(5.85)], play)
    };
    let rows = [1, 2, 5, 9].iter().flat_map(|m| Noise::ALL.map(|noise| case(*m, noise))).collect();
    let from = "5 % and what chance adds in 8,000 (1 and 2 settings) or 2,000 experiments";
    Table { part: "verdicts", title: "False differences", from, columns: &["false better/worse, %"], rows }
}

/// Whether a setting of so many is the noisier one.
type Noisier = fn(usize, usize) -> bool;

/// Settings that are noisier than others. One three times as noisy is the worst: its noise is seldom seen and counts.
fn unequal() -> Table {
    let one: Noisier = |setting, _| setting == 1;
    let half: Noisier = |setting, m| setting > 0 && 2 * setting <= m + 1;
    let reference: Noisier = |setting, _| setting == 0;
    let cases = [
        ("one 3 times", one, 3.0),
        ("one 5 times", one, 5.0),
        ("one 10 times", one, 10.0),
        ("half 3 times", half, 3.0),
        ("half 5 times", half, 5.0),
        ("the reference 3 times", reference, 3.0),
        ("the reference 5 times", reference, 5.0),
    ];
    let mut rows = Vec::new();
    for (name, noisier, times) in cases {
        for (m, noise) in [2, 3, 5, 7, 9].iter().flat_map(|m| [Noise::Gauss, Noise::T3, Noise::Contam].map(|n| (*m, n)))
        {
            let mut formula = Formula::new(vec![0.0; m + 1], 1.0, noise);
            formula.noise_sd = (0..=m).map(|setting| if noisier(setting, m) { times } else { 1.0 }).collect();
            let play = move |key| vec![is_different(&ended(&formula, &linear(0.5), 20, key))];
            rows.push(row((name, &format!("{m} settings, {}", noise.name())), 4000, &[Limit::Most(6.25)], play));
        }
    }
    let from = "5 % and what chance adds in 4,000 experiments";
    Table { part: "verdicts", title: "Unequal noise", from, columns: &["false better/worse, %"], rows }
}

/// One noisy setting at the margin among others like the reference. The margin is the standard deviation of one difference of it:
/// where "same" is false most often. Before the noise of one setting is seen, it is taken for that of all.
fn unequal_same() -> Table {
    let mut rows = Vec::new();
    for (others, times) in
        [0, 1, 2, 3, 6, 8].iter().flat_map(|others| [2.0, 3.0, 5.0, 10.0].map(|times| (*others, times)))
    {
        let margin = f64::sqrt(1.0 + times * times);
        let mut formula = Formula::new(vec![0.0; others + 2], 1.0, Noise::Gauss);
        (formula.levels[1], formula.noise_sd[1]) = (margin, times);
        let play = move |key| vec![once(ended(&formula, &linear(margin), 20, key).claims[0].is_same())];
        rows.push(row((&format!("{others} others"), &format!("{times} times")), 4000, &[Limit::Most(8.5)], play));
    }
    let from = "measured, up to 7.7 %: what cures cost is in docs/design/error-rates.md";
    Table { part: "verdicts", title: "Same of a noisy setting at the margin", from, columns: &["false same, %"], rows }
}

/// All settings exactly at the margin, noise half of it: each setting's "same".
fn same() -> Table {
    let case = |m: usize, noise: Noise| {
        let formula = Formula::new(levels(m, 1.0), 0.5, noise);
        let play = move |key| {
            let ended = ended(&formula, &linear(1.0), 20, key);
            ended.claims.iter().map(|claim| once(claim.is_same())).collect()
        };
        let limits: Vec<Limit> = (0..5).map(|at| if at < m { Limit::Most(6.6) } else { Limit::Any }).collect();
        row((&settings(m), noise.name()), 1000, &limits, play)
    };
    let rows = [1, 3, 5].iter().flat_map(|m| FIVE_NOISES.map(|noise| case(*m, noise))).collect();
    let columns = &["first, %", "second, %", "third, %", "fourth, %", "fifth, %"];
    Table {
        part: "verdicts",
        title: "False same at the margin",
        from: "5 % and what chance adds in 1,000",
        columns,
        rows,
    }
}

/// "Same" as a family, and next to a small difference.
fn same_family() -> Table {
    let plays = |m: usize, level: f64| {
        let formula = Formula::new(levels(m, level), 0.5, Noise::Gauss);
        move |key| {
            let [each, family] = [false, true].map(|strict_same| {
                let ended = ended(&formula, &Rules { strict_same, ..linear(1.0) }, 20, key);
                ended.claims.iter().filter(|claim| claim.is_same()).count() as f64
            });
            (each, family)
        }
    };
    let five = plays(5, 1.0);
    let sums = move |key| {
        let (each, family) = five(key);
        vec![100.0 * each, 100.0 * family, 100.0 * (family - each)]
    };
    let seven = plays(7, 1.0001);
    let any = move |key| {
        let (each, family) = seven(key);
        vec![once(each > 0.0), once(family > 0.0), f64::NAN]
    };
    let small = Formula::new(vec![0.0, 1.0], 0.4, Noise::Gauss);
    let both = move |key| {
        let claim = ended(&small, &linear(3.0), 20, key).claims[0];
        vec![once(claim == Claim::SameButDifferent), once(claim == Claim::Lower), f64::NAN]
    };
    let columns = &["each, %", "as a family, %", "family less each, %"];
    let rows = vec![
        row(
            ("five at the margin, all their sames", ""),
            1000,
            &[Limit::Any, Limit::Most(6.6), Limit::Most(-0.05)],
            sums,
        ),
        // The first limit shows that the second can be broken.
        row(("seven beyond the margin, any same", ""), 2000, &[Limit::Least(7.05), Limit::Most(5.0), Limit::Any], any),
        row(("below the margin: both, or wrong", ""), 1000, &[Limit::Least(5.1), Limit::Most(0.0), Limit::Any], both),
    ];
    Table { part: "verdicts", title: "Same as a family", from: "5 % and what chance adds", columns, rows }
}

/// How often a real difference is found, and after how many blocks, against figures of another program.
fn power() -> Table {
    let found =
        |label: &str, detail: &str, levels: Vec<f64>, (sd, margin): (f64, f64), noise: Noise, limits: [Limit; 2]| {
            let formula = Formula::new(levels, sd, noise);
            let play = move |key| {
                let ended = ended(&formula, &linear(margin), 30, key);
                vec![once(ended.claims[0] == Claim::Higher), f64::from(ended.decided_after[0].unwrap_or(30))]
            };
            row((label, detail), 1000, &limits, play)
        };
    let near = |blocks: f64, off: f64| Limit::Within(blocks * (1.0 - off), blocks * (1.0 + off));
    let mut rows = Vec::new();
    // Of five settings under the wave 90 % are out of reach in thirty blocks: 74 % were measured.
    let cases = [
        (Noise::Gauss, (90.0, 11.5), (90.0, 11.0)),
        (Noise::Ar, (90.0, 5.5), (90.0, 6.6)),
        (Noise::Sine, (90.0, 12.8), (66.0, 18.8)),
        (Noise::Contam, (82.0, 15.0), (90.0, 13.5)),
    ];
    for (noise, one, five) in cases {
        for (m, (least, blocks)) in [(1, one), (5, five)] {
            let mut levels = levels(m, 0.0);
            levels[1] = 3.0;
            let limits = [Limit::Least(least), near(blocks, 0.2)];
            let label = format!("3 % at 2 %, {}, {}", settings(m), noise.name());
            rows.push(found(&label, "", levels, (2.0, 1.0), noise, limits));
        }
    }
    let expected = [
        (1.0, [(1.0, 72.0, 19.3), (2.0, 18.0, 26.9), (5.0, 5.0, 28.5)]),
        (3.0, [(1.0, 100.0, 5.1), (2.0, 99.0, 11.5), (5.0, 27.0, 25.8)]),
        (10.0, [(1.0, 100.0, 3.1), (2.0, 100.0, 3.8), (5.0, 100.0, 7.7)]),
    ];
    for (effect, row) in expected {
        for (sd, power, blocks) in row {
            // Three standard errors of two measurements of 400 runs each.
            let limits = [Limit::Within(power - 9.0, power + 9.0), near(blocks, 0.12)];
            let label = format!("{effect} % at {sd} %, normal");
            rows.push(found(&label, "", vec![0.0, effect], (sd, effect / 3.0), Noise::Gauss, limits));
        }
    }
    let from = "power and blocks that another program measured";
    Table { part: "verdicts", title: "Power", from, columns: &["found, %", "blocks"], rows }
}

/// The rank-based path: valid by the randomised order alone, slower, silent before the ninth block.
fn ranks() -> Table {
    let case = |label: &str, noise: Noise, (effect, blocks, runs): (f64, u32, u32), share: Limit| {
        let formula = Formula::new(vec![0.0, effect], 1.0, noise);
        let rules = Rules { scale: Scale::Linear, margin: 0.25, ..Rules::robust() };
        let play = move |key| {
            let ended = ended(&formula, &rules, blocks, key);
            let claimed = ended.claims[0].is_difference();
            vec![once(claimed), once(claimed && ended.blocks < 9)]
        };
        row((&format!("{label}, {}", noise.name()), ""), runs, &[share, Limit::Most(0.0)], play)
    };
    let mut rows: Vec<Row> = [Noise::Gauss, Noise::T3, Noise::Contam, Noise::Spike, Noise::All]
        .map(|noise| case("nothing there", noise, (0.0, 30, 2000), Limit::Most(4.5)))
        .into();
    for (noise, power) in [(Noise::Contam, 53.0), (Noise::Spike, 46.0), (Noise::All, 88.0)] {
        rows.push(case("1 s.d.", noise, (1.0, 30, 1000), Limit::Within(power - 9.0, power + 9.0)));
    }
    rows.push(case("6 s.d.", Noise::Gauss, (6.0, 20, 200), Limit::Least(100.0)));
    let from = "4.5 % (nominal with 0.9 of 5 %), power of another program";
    Table { part: "verdicts", title: "Ranks", from, columns: &["claimed, %", "before the ninth block, %"], rows }
}

/// Block differences of a pair without a difference, in the same order and noise as the real procedure.
fn differences_of_blocks(noise: Noise, key: u64, blocks: u32) -> Vec<f64> {
    let formula = Formula::new(vec![0.0; 2], 1.0, noise);
    let mut bench = formula.start(key, 2 * blocks);
    let mut table = powerband_stats::Table::new(1);
    for _ in 0..blocks {
        bench.block(&mut table, key, &slots(1, &[1]), Scale::Linear).unwrap();
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

/// The t-mixture e-process (Lai 1976; Wang and Ramdas 2023), an independent sequential test.
fn e_process(d: &[f64]) -> bool {
    const G: f64 = 4.0;
    (3..=d.len()).any(|blocks| {
        let n = blocks as f64;
        let t2 = paired_t(&d[..blocks]).powi(2);
        let log = -0.5 * (1.0 + n * G).ln()
            + 0.5 * n * ((1.0 + t2 / (n - 1.0)).ln() - (1.0 + t2 / ((n - 1.0) * (1.0 + n * G))).ln());
        log >= 20.0_f64.ln()
    })
}

fn peeked(noise: Noise, key: u64) -> bool {
    let d = differences_of_blocks(noise, key, 20);
    (3..=20).any(|n| t_two_sided(paired_t(&d[..n]), n as f64 - 1.0) < 0.05)
}

fn back_to_back(noise: Noise, key: u64) -> bool {
    let formula = Formula::new(vec![0.0; 2], 1.0, noise);
    let mut bench = formula.start(key, 20);
    let [first, second] = [0, 1].map(|setting| (0..10).map(|_| bench.trial(setting)).collect::<Vec<f64>>());
    welch(&first, &second).unwrap().p_difference() < 0.05
}

/// A fixed order loses the randomisation: drift then favours anyone who comes second.
fn fixed_order(noise: Noise, key: u64) -> bool {
    let formula = Formula::new(vec![0.0; 2], 1.0, noise);
    let mut bench = formula.start(key, 40);
    let pair = |_| {
        let first = bench.trial(0);
        bench.trial(1) - first
    };
    let d: Vec<f64> = (0..20).map(pair).collect();
    (3..=20).any(|n| {
        let p = spending().nominal(Rules::default().spend, 0.045, 3, n as u32);
        t_two_sided(paired_t(&d[..n]), n as f64 - 1.0) < p
    })
}

/// Habits that must fail where the rules hold: what shows that the tables above can fail. And one more test that must agree.
fn habits() -> Table {
    type Habit = fn(Noise, u64) -> bool;
    let case = |name: &str, habit: Habit, noise: Noise, runs: u32, limit: Limit| {
        row((&format!("{name}, {}", noise.name()), ""), runs, &[limit], move |key| vec![once(habit(noise, key))])
    };
    let mut rows: Vec<Row> = [Noise::Gauss, Noise::Ar, Noise::Sine, Noise::T3]
        .map(|noise| case("5 % asked at each look", peeked, noise, 2000, Limit::Least(15.0)))
        .into();
    for (noise, limit) in
        [(Noise::Ar, Limit::Least(15.0)), (Noise::Sine, Limit::Least(15.0)), (Noise::Gauss, Limit::Most(9.0))]
    {
        rows.push(case("ten each back to back, Welch", back_to_back, noise, 2000, limit));
    }
    // Near 5.8 %: fewer would not tell that from 5 %.
    rows.push(case("a fixed order", fixed_order, Noise::Linear, 20_000, Limit::Least(5.0)));
    let e = |noise, key| e_process(&differences_of_blocks(noise, key, 20));
    rows.push(case("an e-process", e, Noise::Gauss, 2000, Limit::Most(5.0)));
    let found =
        |noise, key| e_process(&differences_of_blocks(noise, key, 30).iter().map(|d| d + 2.0).collect::<Vec<_>>());
    rows.push(case("an e-process at 2 s.d.", found, Noise::Gauss, 2000, Limit::Least(95.0)));
    let quick = |noise, key| {
        let rules = Rules { scale: Scale::Linear, margin: 0.5, ..Rules::quick() };
        is_different(&ended(&Formula::new(vec![0.0; 6], 1.0, noise), &rules, 20, key)) > 0.0
    };
    rows.push(case("quick rules, 5 settings", quick, Noise::Gauss, 2000, Limit::Least(9.0)));
    let above = Formula::new(vec![0.0, 2.0], 1.0, Noise::Gauss);
    let seen = move |key| -> Option<f64> {
        let d: Vec<f64> = differences_of_blocks(Noise::Gauss, key, 30).iter().map(|d| d + 2.0).collect();
        e_process(&d).then(|| once(ended(&above, &linear(0.5), 30, key).claims[0].is_difference()))
    };
    let agrees = move |key| vec![seen(key).unwrap_or(f64::NAN)];
    rows.push(row(("2 s.d. that an e-process finds: found by ours", ""), 2000, &[Limit::Least(97.0)], agrees));
    let from = "a multiple of 5 % for what must fail";
    Table { part: "verdicts", title: "Habits that fail", from, columns: &["claimed, %"], rows }
}

pub(crate) fn tables() -> Vec<Table> {
    vec![differences(), unequal(), unequal_same(), same(), same_family(), power(), ranks(), habits()]
}
