//! "Same" where it is just not true, and the knee where a gap is just too wide.

use crate::runs::{limit, runs, seed};
use crate::tables::{linear, spending};
use powerband_stats::noise::Noise;
use powerband_stats::{Claim, Rules};
use powerband_testkit::formula::{Formula, Limits, race_to_verdict};

/// False "same" of each setting, all exactly at the margin, noise half of it.
fn false_same(m: usize, noise: Noise, rules: &Rules, count: u32) -> Vec<u32> {
    let formula = Formula::new((0..=m).map(|j| if j == 0 { 0.0 } else { 1.0 }).collect(), 0.5, noise);
    let mut same = vec![0; m];
    for run in 0..count {
        let limits = Limits { blocks: 20, warm_up: 0, seed: seed(1000 + m as u64 * 16 + noise as u64, run) };
        let ended = race_to_verdict(&formula, rules, &spending(), limits).unwrap();
        for (count, claim) in same.iter_mut().zip(&ended.claims) {
            *count += u32::from(claim.is_same());
        }
    }
    same
}

#[test]
fn settings_at_the_margin_are_seldom_called_the_same() {
    let count = runs(400, 1000);
    for m in [1, 3, 5] {
        for noise in [Noise::Gauss, Noise::Ar, Noise::Sine, Noise::T3, Noise::Contam] {
            let same = false_same(m, noise, &linear(1.0), count);
            let worst = same.iter().copied().max().unwrap();
            println!("m {m} {}: {same:?} of {count}", noise.name());
            assert!(worst <= limit(36, 66), "m {m} {}: {worst} of {count}", noise.name());
        }
    }
}

#[test]
fn strict_same_holds_the_family() {
    let count = runs(400, 1000);
    let strict = Rules { strict_same: true, ..linear(1.0) };
    let (plain, held): (u32, u32) = (
        false_same(5, Noise::Gauss, &linear(1.0), count).iter().sum(),
        false_same(5, Noise::Gauss, &strict, count).iter().sum(),
    );
    println!("false same of five at the margin, together: plain {plain}, strict {held} of {count}");
    assert!(held <= limit(36, 66), "{held}");
    assert!(plain > held, "{plain} {held}");
}

#[test]
fn of_seven_settings_beyond_the_margin_hardly_any_experiment_calls_one_the_same() {
    let count = runs(400, 2000);
    let formula = Formula::new((0..8).map(|j| if j == 0 { 0.0 } else { 1.0001 }).collect(), 0.5, Noise::Gauss);
    let any_false = |rules: &Rules| {
        let is_wrong = |run: &u32| {
            let limits = Limits { blocks: 20, warm_up: 0, seed: seed(1080, *run) };
            let ended = race_to_verdict(&formula, rules, &spending(), limits).unwrap();
            ended.claims.iter().any(|claim| claim.is_same())
        };
        (0..count).filter(is_wrong).count()
    };
    let each = any_false(&linear(1.0));
    let family = any_false(&Rules { strict_same: true, ..linear(1.0) });
    println!("any false same of seven beyond the margin: {each} of {count}, as a family {family}");
    assert!(family <= limit(20, 100) as usize, "{family} of {count}");
    assert!(each > limit(28, 140) as usize, "the check above can fail: {each} of {count}");
}

#[test]
fn a_small_difference_below_the_margin_is_called_both() {
    let formula = Formula::new(vec![0.0, 1.0], 0.4, Noise::Gauss);
    let mut both = 0;
    for run in 0..100 {
        let limits = Limits { blocks: 20, warm_up: 0, seed: seed(1090, run) };
        let ended = race_to_verdict(&formula, &linear(3.0), &spending(), limits).unwrap();
        assert!(ended.claims[0] != Claim::Lower);
        both += u32::from(ended.claims[0] == Claim::SameButDifferent);
    }
    assert!(both > 5, "{both}");
}
