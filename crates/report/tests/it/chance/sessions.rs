//! Sessions on days of their own, three or more a side: their means are what is compared.
use std::fmt::Write as _;

use powerband_record::Verdict;
use powerband_report::comparison::{ComparisonRow, Csv, within};
use powerband_stats::{Draws, Purpose};

use super::{ask, differs, metric, percent, runs, seed, seldom};

const MARGIN: f64 = 0.03;
const TRIALS: u64 = 4;

/// Two sides of so many sessions, the second higher by `effect`. What a day brings has the standard deviation of its side, a
/// trial next to it has `TRIAL_SD`.
fn row(sessions: [u64; 2], day_sd: [f64; 2], effect: f64, seed: u64) -> ComparisonRow {
    const TRIAL_SD: f64 = 0.005;
    let mut text = "setting,session,real_s\n".to_owned();
    for (side, (sessions, sd)) in (0..).zip(sessions.into_iter().zip(day_sd)) {
        for session in 0..sessions {
            let mut draws = Draws::new(seed, Purpose::Noise, side, session);
            let day = sd * draws.normal() + if side == 1 { effect } else { 0.0 };
            for _ in 0..TRIALS {
                let value = (day + TRIAL_SD * draws.normal()).exp();
                writeln!(text, "{side},{session},{value}").unwrap();
            }
        }
    }
    let measured = Csv::parse("days.csv", &text).unwrap().measured(&[metric()]).unwrap();
    within(&measured, 0, &[1], &ask(MARGIN)).unwrap().rows.remove(0)
}

fn count(of: impl Fn(ComparisonRow) -> bool, of_run: impl Fn(u32) -> ComparisonRow, runs: u32) -> u32 {
    (0..runs).filter(|&run| of(of_run(run))).count() as u32
}

/// Sessions a side, and how much days differ there.
const DAYS: [([u64; 2], [f64; 2]); 5] = [
    ([3, 3], [0.01, 0.01]),
    ([8, 8], [0.01, 0.01]),
    ([3, 8], [0.01, 0.01]),
    ([5, 5], [0.01, 0.04]),
    ([8, 4], [0.01, 0.04]),
];

/// So much more do days differ where nothing may be found the same before it can be taken for different.
const LOUD: f64 = 6.0;

#[test]
fn days_alone_are_seldom_taken_for_a_difference() {
    for (index, (sessions, day_sd)) in (0..).zip(DAYS) {
        let runs = runs(400, 8000);
        let wrong = count(
            |row| differs(&row),
            |run| row(sessions, day_sd.map(|sd| LOUD * sd), 0.0, seed(3000 + index, run)),
            runs,
        );
        seldom(&format!("{sessions:?} sessions of {day_sd:?}"), wrong, runs);
    }
}

#[test]
fn sides_that_differ_by_the_margin_are_seldom_called_the_same() {
    for (index, (sessions, day_sd)) in (0..).zip(DAYS) {
        let runs = runs(400, 8000);
        let of_run = |run| row(sessions, day_sd, MARGIN.ln_1p(), seed(3100 + index, run));
        let same = count(|row| row.verdict == Verdict::Same, of_run, runs);
        seldom(&format!("the margin apart, {sessions:?} sessions of {day_sd:?}"), same, runs);
    }
}

#[test]
fn five_days_find_what_is_three_times_as_large_as_what_a_day_brings() {
    let runs = runs(400, 2000);
    let found = |sessions| {
        let of_run = |run| row([sessions; 2], [0.01; 2], 0.03, seed(3200 + sessions, run));
        percent(count(|row| row.verdict == Verdict::Worse, of_run, runs), runs)
    };
    let (three, five) = (found(3), found(5));
    println!("found by three sessions a side: {three:.0} %, by five: {five:.0} %");
    assert!(five >= 90.0 && three < five, "{three} {five}");
}
