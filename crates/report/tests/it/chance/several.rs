//! Four days compared at once, each with the first: what they have in common, the first, must not raise the error rate.
use powerband_report::comparison::{Comparison, ComparisonSide, Measured, between, several};
use powerband_stats::noise::Noise;

use super::reference::day;
use super::{ask, differs, percent, runs, seed, seldom};

const MARGIN: f64 = 0.03;
/// Days, the first included.
const DAYS: u64 = 4;

/// Days on which two settings lie at these multiples of the margin from the reference, nothing between the days.
fn days(effect: f64, case: u64, run: u32) -> Vec<Measured> {
    let margin = MARGIN.ln_1p();
    let effects = [effect * margin; 2];
    (0..DAYS).map(|at| day(&effects, 2.0 * margin, Noise::Gauss, MARGIN, seed(DAYS * case + at, run))).collect()
}

fn compared(days: &[Measured]) -> Comparison {
    let sides: Vec<ComparisonSide<'_>> = days.iter().map(|day| (std::slice::from_ref(day), None)).collect();
    several(&sides, &ask(MARGIN)).unwrap()
}

#[test]
fn of_several_days_that_do_not_differ_one_is_seldom_called_different() {
    for (index, effect) in (0..).zip([0.0, 12.0]) {
        let runs = runs(150, 4000);
        let any = |run: &u32| compared(&days(effect, 4000 + index, *run)).rows.iter().any(differs);
        let wrong = (0..runs).filter(any).count() as u32;
        seldom(&format!("any of three days and two settings, {effect} margins from the reference"), wrong, runs);
    }
}

#[test]
fn each_side_has_its_share_of_the_error_rate_and_its_row_a_metric_and_setting() {
    let days = days(12.0, 4100, 0);
    let all = compared(&days);
    assert_eq!((all.rows.len(), all.alpha), (6, super::ALPHA));
    let two = |second: usize| {
        let sides = [std::slice::from_ref(&days[0]), std::slice::from_ref(&days[second])];
        between((sides[0], None), (sides[1], None), &ask(MARGIN)).unwrap()
    };
    for (at, row) in all.rows.iter().enumerate() {
        let alone = &two(at / 2 + 1).rows[at % 2];
        assert_eq!((&row.setting, &row.against, row.change), (&alone.setting, &alone.against, alone.change));
        // A third of the level, within what looking more than once costs.
        let share = row.p_asked.unwrap() / alone.p_asked.unwrap();
        assert!((0.2..0.45).contains(&share), "{}", percent(1, 1) * share);
    }
}
