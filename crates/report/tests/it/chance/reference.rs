//! Stored experiments compared through the reference they share, each of which ended as soon as it liked.
use powerband_record::{Event, Outcome, PlannedTrial, Verdict};
use powerband_report::comparison::{ComparisonRow, Measured, between};
use powerband_stats::noise::Noise;
use powerband_stats::{Rules, Spending};
use powerband_testkit::formula::{Formula, Limits, race_to_verdict};

use super::{METRIC, ask, differs, metric, percent, runs, seed, seldom, sweeping};
use crate::journals::started;

/// Margin of the experiments and of the comparisons.
const MARGIN: f64 = 0.03;

/// Labels of the settings, the reference first.
const LABELS: [&str; 4] = ["baseline", "b", "c", "d"];

/// A day's experiment: settings at these logarithms against a reference at 0, judged until all are decided, and its journal
/// read again.
pub(super) fn day(effects: &[f64], noise_sd: f64, noise: Noise, margin: f64, seed: u64) -> Measured {
    let formula = Formula::new(std::iter::once(0.0).chain(effects.iter().copied()).collect(), noise_sd, noise);
    let limits = Limits { blocks: 20, warm_up: 0, seed };
    let rules = Rules { margin, ..Rules::default() };
    let table = race_to_verdict(&formula, &rules, &Spending::shared(), limits).unwrap().table;
    let settings: Vec<(&str, &str)> = LABELS[..=effects.len()].iter().map(|label| (*label, *label)).collect();
    let mut events = vec![Event::Started(Box::new(started("formula", &settings, vec![metric()])))];
    for block in 0..table.blocks() {
        let mut cells: Vec<_> = table.block(block).map(|(slot, value)| (table.ran(block, slot), slot, value)).collect();
        cells.sort_by_key(|(ran, ..)| ran.map(|ran| ran.trial));
        for (ran, slot, value) in cells {
            let (trial, setting, copy) = (ran.unwrap().trial, slot.setting as u32, slot.copy as u32);
            events.push(Event::TrialStarted(PlannedTrial { trial, block: block as u32 + 1, setting, copy, at_ns: 0 }));
            let outcome = Outcome { metrics: [(METRIC.to_owned(), value)].into(), ..Outcome::default() };
            events.push(Event::TrialDone { trial, at_ns: 0, outcome });
        }
    }
    Measured::of_events(seed.cast_signed(), "bench", &events).unwrap()
}

/// What is said of setting b of the second day against that of the first.
fn compared(first: &Measured, second: &Measured, margin: f64) -> ComparisonRow {
    let sides = [[first.clone()], [second.clone()]];
    between((&sides[0], Some("b")), (&sides[1], Some("b")), &ask(margin)).unwrap().rows.remove(0)
}

/// Two days on which b lies at `truth`, the others next to it as it does on the first day.
struct Pair {
    others: usize,
    truth: [f64; 2],
    noise_sd: [f64; 2],
    noise: Noise,
    margin: f64,
}

impl Pair {
    fn row(&self, case: u64, run: u32) -> ComparisonRow {
        let [first, second] = [0, 1].map(|at: usize| {
            let effects = vec![self.truth[at]; 1 + self.others];
            day(&effects, self.noise_sd[at], self.noise, self.margin, seed(2 * case + at as u64, run))
        });
        compared(&first, &second, self.margin)
    }
}

fn margin() -> f64 {
    MARGIN.ln_1p()
}

#[test]
fn no_difference_between_days_is_seldom_claimed() {
    // Where nothing is seen against the reference most end late; what is seen at once ends both when it looked best.
    let cases: [(f64, usize); 4] = [(0.0, 0), (0.0, 2), (12.0, 0), (12.0, 2)];
    for (index, (effect, others)) in (0..).zip(cases) {
        for noise in if sweeping() { &Noise::ALL[..] } else { &[Noise::Gauss] } {
            let count = runs(400, 4000);
            let truth = [effect * margin(); 2];
            let pair = Pair { others, truth, noise_sd: [2.0 * margin(); 2], noise: *noise, margin: MARGIN };
            let wrong = (0..count).filter(|&run| differs(&pair.row(2000 + 20 * index + *noise as u64, run))).count();
            let what = format!("two days, {effect} margins from the reference, {others} beside, {}", noise.name());
            seldom(&what, wrong as u32, count);
        }
    }
}

#[test]
fn days_that_differ_by_the_margin_are_seldom_called_the_same() {
    for (index, first) in (0..).zip([0.0, 2.0 * margin(), -0.5 * margin()]) {
        for noise in if sweeping() { &super::blocks::NOISES[..] } else { &[Noise::Gauss] } {
            let count = runs(400, 4000);
            let truth = [first, first + margin()];
            let pair = Pair { others: 0, truth, noise_sd: [0.5 * margin(); 2], noise: *noise, margin: MARGIN };
            let same = |run: &u32| pair.row(2400 + 20 * index + *noise as u64, *run).verdict == Verdict::Same;
            let wrong = (0..count).filter(same).count() as u32;
            seldom(&format!("days from {:.1} % apart by the margin, {}", 100.0 * first, noise.name()), wrong, count);
        }
    }
}

#[test]
fn a_noisier_day_does_not_break_the_error_rate() {
    for noise in if sweeping() { &[Noise::Gauss, Noise::T3, Noise::Contam][..] } else { &[Noise::Gauss] } {
        for (index, louder) in (0..).zip([4.0, 10.0]) {
            let count = runs(400, 4000);
            let noise_sd = [2.0 * margin(), 2.0 * louder * margin()];
            let pair = Pair { others: 0, truth: [0.0; 2], noise_sd, noise: *noise, margin: MARGIN };
            let wrong = |run: &u32| differs(&pair.row(2500 + 20 * index + *noise as u64, *run));
            let wrong = (0..count).filter(wrong).count() as u32;
            seldom(&format!("a day {louder} x as noisy, {}", noise.name()), wrong, count);
        }
    }
}

/// Between days the variances of both add up, and the day on which it was large ended after some four blocks: half of what each
/// day alone would find nearly always.
#[test]
fn three_per_cent_between_days_are_found_in_noise_of_half_a_per_cent() {
    for (noise_sd, noise, least) in [
        (0.005, Noise::Gauss, 85.0),
        (0.005, Noise::Ar, 85.0),
        (0.005, Noise::Contam, 70.0),
        (0.01, Noise::Gauss, 35.0),
    ] {
        let count = runs(100, 1000);
        let pair = Pair { others: 0, truth: [0.0, margin()], noise_sd: [noise_sd; 2], noise, margin: 0.01 };
        let found = |run: &u32| pair.row(2600 + noise as u64, *run).verdict == Verdict::Worse;
        let found = (0..count).filter(found).count() as u32;
        let what = format!("3 % between days at {:.1} %, {}", 100.0 * noise_sd, noise.name());
        println!("{what}: {:.0} %", percent(found, count));
        assert!(percent(found, count) >= least, "{what}: {found} of {count}");
    }
}
