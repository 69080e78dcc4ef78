//! Tests of explanations on known worths.

use super::*;

fn runs(values: &[(&[usize], &[f64])]) -> Vec<Runs> {
    let of = |(players, values): &(&[usize], &[f64])| Runs {
        subset: Subset::of(players),
        ln_values: values.iter().map(|value| libm::log(*value)).collect(),
    };
    values.iter().map(of).collect()
}

fn question(players: usize, runs: &[Runs]) -> Question<'_> {
    Question { players, runs, noise_sd: 0.005, draws: None, seed: 7 }
}

#[test]
fn a_gain_of_two_knobs_worked_by_hand() {
    let runs = runs(&[(&[], &[100.0]), (&[0], &[80.0]), (&[1], &[95.0]), (&[0, 1], &[70.0])]);
    let observation = explain(&question(2, &runs)).unwrap();
    let first = (libm::log(100.0 / 80.0) + libm::log(95.0 / 70.0)) / 2.0;
    assert!((observation.shares[0].ln - first).abs() < 1e-12, "{observation:?}");
    assert!((observation.shares[0].saved - first * 30.0 / libm::log(100.0 / 70.0)).abs() < 1e-9, "{observation:?}");
    // Alone they would make 100 W × 0.80 × 0.95 = 76 W.
    assert!((observation.together.ln - libm::log(76.0 / 70.0)).abs() < 1e-12, "{observation:?}");
    assert!(
        (observation.whole.saved - 30.0).abs() < 1e-9 && observation.way == Method::AllSubsets { modelled: 0 },
        "{observation:?}"
    );
}

#[test]
fn what_is_missing_is_named() {
    let few = runs(&[(&[], &[100.0]), (&[0], &[80.0]), (&[0, 1], &[70.0])]);
    assert_eq!(explain(&question(2, &few)), Err(Unexplained::NotMeasured(Subset::of(&[1]))));
    assert_eq!(explain(&question(2, &few[..2])), Err(Unexplained::NotMeasured(Subset::of(&[0, 1]))));
    assert_eq!(explain(&question(0, &few)), Err(Unexplained::NoPlayers));
    let zero = runs(&[(&[], &[100.0]), (&[0], &[0.0])]);
    assert_eq!(explain(&question(1, &zero)), Err(Unexplained::NotFinite));
}

#[test]
fn a_start_that_costs_the_same_has_shares_that_cancel() {
    let runs = runs(&[(&[], &[100.0]), (&[0], &[80.0]), (&[1], &[125.0]), (&[0, 1], &[100.0])]);
    let observation = explain(&question(2, &runs)).unwrap();
    assert!(observation.whole.saved.abs() < 1e-9, "{observation:?}");
    assert!((observation.shares[0].saved - 100.0 * libm::log(1.25)).abs() < 1e-6, "{observation:?}");
}

#[test]
fn four_knobs_are_explained_by_putting_back_and_better_by_a_model() {
    let effects = [0.10, 0.05, 0.02, 0.01];
    let worth = |one: Subset| {
        let sum: f64 = (0..4).filter(|player| one.has(*player)).map(|player| effects[player]).sum();
        4.6 - sum - if one.has(0) && one.has(1) { 0.04 } else { 0.0 }
    };
    let all = Subset::all(4);
    let mut measured = vec![Subset::NONE, all];
    measured.extend((0..4).map(|player| all.without(player)));
    let runs: Vec<Runs> = measured.into_iter().map(|subset| Runs { subset, ln_values: vec![worth(subset)] }).collect();
    let put_back = explain(&question(4, &runs)).unwrap();
    assert_eq!(put_back.way, Method::PutBack);
    let sum: f64 = put_back.shares.iter().map(|share| share.saved).sum();
    assert!((sum - put_back.whole.saved).abs() < 1e-9, "{put_back:?}");

    let mut last = Vec::new();
    for wander in [0.0, 0.01] {
        let draws = |subsets: &[Subset], count: usize| -> Vec<Vec<f64>> {
            let mut draws = Draws::new(3, Purpose::Trial, 0, 0);
            (0..count).map(|_| subsets.iter().map(|one| worth(*one) + wander * draws.normal()).collect()).collect()
        };
        let observation = explain(&Question { draws: Some(&draws), ..question(4, &runs) }).unwrap();
        assert_eq!(observation.way, Method::AllSubsets { modelled: 10 });
        for (share, want) in observation.shares.iter().zip([0.12, 0.07, 0.02, 0.01]) {
            assert!((share.ln - want).abs() < 0.002, "{observation:?}");
        }
        last.push(observation.shares[2].high - observation.shares[2].low);
    }
    assert!(last[1] > 1.3 * last[0], "a model that is unsure widens the bars: {last:?}");
}
