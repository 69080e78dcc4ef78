//! Figures worked by hand or by another program, to the digits given.

use crate::tables::{spending, table};
use powerband_stats::{Claim, MetricJudge, Rules, Slot, Spend, Table, TrialTime};

fn close(have: f64, want: f64, relative: f64) {
    assert!((have - want).abs() <= relative * want.abs(), "{have} is not {want}");
}

/// The worked example of the model, as another program computed it: readings in the order run, by block.
#[test]
fn two_settings_in_four_blocks() {
    let ran = [(0, 100.0), (1, 103.0), (1, 104.0), (0, 102.0), (0, 99.0), (1, 103.0), (1, 105.5), (0, 101.0)];
    let mut table = Table::new(1);
    let mut before = None;
    for (trial, (setting, reading)) in (0..).zip(ran) {
        let block = if trial % 2 == 0 { table.push_block() } else { table.blocks() - 1 };
        table.set_ran(block, Slot::first(setting), reading, TrialTime { trial, before }).unwrap();
        before = Some(setting);
    }
    let rules = Rules { block_levels: false, ..Rules::default() };
    let look = MetricJudge::new(1, rules, spending()).unwrap().look(&table).unwrap();
    let a = &look.settings[0];
    close(a.contrast.effect, 0.035040, 2e-5);
    close(a.p, 0.005178, 1e-4);
    close(a.p_same, 0.992720, 1e-6);
    assert_eq!(a.claim, Claim::Higher);
    let (low, high) = a.contrast.interval(0.014204);
    close(low, 0.009749, 1e-4);
    close(high, 0.058916, 1e-4);
}

/// Rows of nominal p over alpha, first look after block 3, as computed by another program on a grid of step 0.02.
///
/// That program keeps its boundary on the grid, which moves it by up to half a step: its first look, exactly a third,
/// comes out as 0.3334. The figures of the product are the exact ones (`second_look_is_exact`).
/// The first line has the blocks, the others begin with alpha.
const ROWS: &str = "
0       3      4      5      6      7      8      10     12     15     20     25     30     40
0.05    0.3334 0.3169 0.2611 0.2149 0.1792 0.1523 0.1145 0.0902 0.0669 0.0453 0.0335 0.0260 0.0176
0.025   0.3334 0.3020 0.2432 0.1956 0.1606 0.1346 0.0999 0.0778 0.0569 0.0382 0.0280 0.0218 0.0148
0.0125  0.3334 0.2908 0.2266 0.1792 0.1450 0.1206 0.0884 0.0681 0.0499 0.0331 0.0244 0.0189 0.0128
0.00625 0.3334 0.2775 0.2107 0.1654 0.1330 0.1101 0.0798 0.0610 0.0442 0.0294 0.0216 0.0167 0.0114
0.00417 0.3334 0.2723 0.2045 0.1587 0.1272 0.1042 0.0751 0.0576 0.0417 0.0276 0.0203 0.0158 0.0107
0.001   0.3334 0.2539 0.1848 0.1403 0.1102 0.0897 0.0641 0.0486 0.0350 0.0232 0.0169 0.0131 0.0089
";

/// The same of a first look after block 2.
const FROM_TWO: &str = "
0       2      3      4      5      6      10     20     30
0.05    0.3334 0.2836 0.2273 0.1849 0.1552 0.0891 0.0386 0.0232
0.0042  0.3334 0.2426 0.1779 0.1369 0.1105 0.0586 0.0241 0.0143
";

/// Alpha, block and share of each figure of a table.
fn figures(table: &str) -> Vec<(f64, u32, f64)> {
    let line = |line: &str| line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let lines: Vec<Vec<f64>> = table.trim().lines().map(line).collect();
    let row = |row: &Vec<f64>| (1..row.len()).map(|at| (row[0], lines[0][at] as u32, row[at])).collect::<Vec<_>>();
    lines[1..].iter().flat_map(row).collect()
}

fn share(alpha: f64, first: u32, block: u32) -> f64 {
    spending().nominal(Spend::OpenEnded, alpha, first, block) / alpha
}

/// How far half a grid step of 0.02 in the boundary moves p over alpha, and the four digits printed.
fn grid_tolerance(alpha: f64, block: u32, share: f64) -> f64 {
    let z = powerband_stats::distribution::normal_upper_quantile(0.5 * share * alpha);
    let density = powerband_stats::distribution::normal_density(z);
    0.00005 + 2.0 * density * 0.01 / f64::from(block).sqrt() / alpha
}

#[test]
fn boundary_reproduces_the_table() {
    let mut far = 0;
    for (first, table) in [(3, ROWS), (2, FROM_TWO)] {
        for (alpha, block, want) in figures(table) {
            let off = (share(alpha, first, block) - want).abs();
            assert!(off <= grid_tolerance(alpha, block, want), "alpha {alpha} block {block}: off by {off}");
            far += u32::from(first == 3 && off > 0.0005);
        }
    }
    // Rounding to the grid, not a slope of our own: most of the 78 agree to the digits that can be compared.
    assert!(far <= 16, "{far} of 78 are off by more than 0.0005");
    for (block, want) in [(40, 0.0177), (60, 0.0102), (100, 0.0052)] {
        assert!((share(0.05, 3, block) - want).abs() <= 0.0001, "{block}");
    }
}

/// The first two looks against Simpson's rule, to nine digits of what they spend.
#[test]
fn second_look_is_exact() {
    use powerband_stats::distribution::{normal_density, normal_upper, normal_upper_quantile};
    for alpha in [0.05, 0.045, 0.0042] {
        let root = 3.0_f64.sqrt();
        let first = normal_upper_quantile(0.5 * share(alpha, 3, 3) * alpha) * root;
        let second = normal_upper_quantile(0.5 * share(alpha, 3, 4) * alpha) * 2.0;
        let cells = 20_000;
        let width = 2.0 * first / f64::from(cells);
        let sum: f64 = (0..=cells)
            .map(|i| {
                let y = -first + width * f64::from(i);
                let weight = if i == 0 || i == cells { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
                weight * normal_density(y / root) / root * (normal_upper(second - y) + normal_upper(second + y))
            })
            .sum();
        close(sum * width / 3.0, alpha / 2.0 - alpha / 3.0, 1e-9);
    }
}

#[test]
fn boundary_falls_with_blocks_and_rises_with_alpha() {
    for first in [2, 3] {
        for block in first..=230 {
            assert!(share(0.045, first, block + 1) < share(0.045, first, block), "block {block}");
        }
        for block in first + 1..=60 {
            let mut before = 0.0;
            for alpha in [0.001, 0.00417, 0.00625, 0.0125, 0.025, 0.05] {
                let now = share(alpha, first, block);
                assert!(now > before, "block {block} alpha {alpha}");
                before = now;
            }
        }
    }
}

/// Crossing probabilities by a plain grid recursion, written independently of the product's quadrature.
#[test]
fn boundary_spends_what_it_may() {
    const STEP: f64 = 0.05;
    let alpha = 0.045;
    let size = 2000_usize;
    let phi = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let kernel: Vec<f64> = (0..=180).map(|i| phi(f64::from(i) * STEP) * STEP).collect();
    // Index `size` is zero; the sum of three steps to begin with.
    let spread = 3.0_f64.sqrt();
    let place = |i: usize| (i as f64 - size as f64) * STEP;
    let mut density: Vec<f64> = (0..=2 * size).map(|i| phi(place(i) / spread) / spread * STEP).collect();
    let mut crossed = 0.0;
    for block in 3..=100_u32 {
        if block > 3 {
            let old = density.clone();
            for (i, target) in density.iter_mut().enumerate() {
                let low = i.saturating_sub(180);
                let high = (i + 180).min(2 * size);
                *target = (low..=high).map(|j| old[j] * kernel[i.abs_diff(j)]).sum();
            }
        }
        let p = spending().nominal(Spend::OpenEnded, alpha, 3, block);
        let limit = powerband_stats::distribution::normal_upper_quantile(0.5 * p) * f64::from(block).sqrt();
        for (i, mass) in density.iter_mut().enumerate() {
            // A grid cell may lie across the boundary: keep the part inside.
            let inside = ((limit - place(i).abs()) / STEP + 0.5).clamp(0.0, 1.0);
            crossed += *mass * (1.0 - inside);
            *mass *= inside;
        }
    }
    let want = Spend::OpenEnded.cumulative(alpha, 3, 100);
    assert!((crossed - want).abs() < 5e-5, "{crossed} {want}");
}

#[test]
fn three_rounds_of_two_governors_decide_nothing() {
    let rows: [&[f64]; 3] = [&[2529.9, 2137.6], &[2249.8, 2107.1], &[2181.5, 2085.9]];
    let mut judge = MetricJudge::new(1, Rules::default(), spending()).unwrap();
    let look = judge.look(&table(&rows)).unwrap();
    let a = &look.settings[0];
    assert_eq!(a.claim, Claim::Open);
    assert!(a.shown_interval.0 < -0.2 && a.shown_interval.1 > 0.05, "{:?}", a.shown_interval);
    assert!(a.p > 0.1 && a.predicted.unwrap().blocks > 3, "{a:?}");
}

#[test]
fn other_ways_to_spend() {
    let half = |block| Spend::HalfFirst.cumulative(0.18, 3, block);
    assert!((half(3) - 0.09).abs() < 1e-15 && half(2) == 0.0 && half(1000) < 0.18);
    close(spending().nominal(Spend::HalfFirst, 0.18, 3, 3), 0.09, 1e-12);
    // A number fixed beforehand spends in proportion, and has nothing left afterwards.
    let fixed = Spend::Uniform { blocks: 30 };
    close(fixed.cumulative(0.045, 3, 15), 0.0225, 1e-12);
    close(spending().nominal(fixed, 0.045, 3, 3), 0.0045, 1e-12);
    assert!(spending().nominal(fixed, 0.045, 3, 30) > spending().nominal(Spend::OpenEnded, 0.045, 3, 30));
    assert_eq!([31, 200, 250].map(|block| spending().nominal(fixed, 0.045, 3, block)), [0.0; 3]);
    assert_eq!(spending().nominal(Spend::OpenEnded, 0.045, 3, 2), 0.0);
}

#[test]
fn measured_apart() {
    use powerband_stats::apart::{sessions, through_reference, welch};
    let (a, b) = ([1.0, 2.0, 3.0], [2.0, 4.0, 6.0, 8.0]);
    let apart = welch(&a, &b).unwrap();
    close(apart.effect, -3.0, 1e-12);
    close(apart.standard_error(), 2.0_f64.sqrt(), 1e-12);
    close(apart.df(), 4.0 / (1.0 / 18.0 + 25.0 / 27.0), 1e-12);
    assert_eq!(sessions(&a, &b).as_ref(), Some(&apart));
    assert_eq!((sessions(&a[..2], &b), welch(&a[..1], &b)), (None, None));
    let rules = Rules { scale: powerband_stats::Scale::Linear, margin: 1.0, ..Rules::default() };
    let judged = |a: &[f64], b: &[f64]| sessions(a, b).unwrap().judge_sessions(&rules, 1);
    assert_eq!(judged(&[10.0, 10.1, 9.9], &[5.0, 5.1, 4.9]).claim, Claim::Higher);
    assert_eq!(judged(&[5.02, 5.1, 4.9], &[5.0, 5.1, 4.9]).claim, Claim::Same);
    let open = judged(&[5.0, 7.0, 3.0], &[5.5, 8.0, 4.5]);
    assert!(open.claim.is_open() && open.predicted.unwrap().blocks > 3);
    let (low, high) = apart.interval(apart.p_difference());
    assert!(low < 0.0 && high.abs() < 1e-9, "the interval at level p just touches zero");
    // Two experiments with a reference in common: differences of differences, every variant of the one with every variant of the
    // other, so the variances are added.
    let rows: [&[f64]; 4] = [&[100., 103., 98.], &[102., 104., 101.], &[99., 103., 97.], &[101., 105.5, 99.]];
    let look = MetricJudge::new(2, Rules::default(), spending()).unwrap().look(&table(&rows)).unwrap();
    let [a, b] = [0, 1].map(|setting| &look.settings[setting].contrast);
    let between = through_reference(&look.settings[0], &look.settings[1]);
    close(between.effect, a.effect - b.effect, 0.01);
    close(between.standard_error(), a.standard_error().hypot(b.standard_error()), 0.02);
    let (low, high) = between.interval(0.05);
    assert!(low > 0.0 && low < between.effect && between.effect < high);
}
