//! How searches end: with a setting, with the start, with nothing that keeps the bound, undecided.
use powerband_advice::{Bound, Search, SearchConclusion, UndecidedReason};
use powerband_testkit::replay::ReplayTable;

use crate::{few, kept, louder, of_table, played, searched, server, with_bounds};

fn ended(table: &ReplayTable, seed: u64) -> SearchConclusion {
    played(table.problem(seed), of_table(table, seed)).1
}

#[test]
fn a_confirmed_setting_comes_with_what_was_shown() {
    for table in [server(6, 0.6), few(&server(6, 0.6), 6)] {
        let kept = kept(ended(&table, 6));
        let gain = kept.gain.unwrap();
        assert!(gain.low < gain.mean && gain.mean < gain.high && gain.high < 0.0, "{gain:?}");
        let truth = table.goal[kept.point] - table.start.0;
        assert!((gain.mean - truth).abs() < 0.02, "{gain:?} for {truth}");
        assert!((kept.goal - table.goal[kept.point]).abs() < 0.02);
        let held = kept.bounds[0];
        assert!((held.value - table.tail[kept.point]).abs() < 0.03, "{held:?}");
        assert!(held.certainty >= 0.95 && held.certainty <= 1.0 && held.value <= table.limit, "{held:?}");
        assert!(kept.blocks >= 2);
    }
}

#[test]
fn where_the_start_is_cheapest_it_stays() {
    for mut table in [server(7, 0.8), few(&server(7, 0.8), 7)] {
        table.start = (table.goal.iter().copied().fold(f64::INFINITY, f64::min) - 0.2, table.limit - 0.5);
        let end = ended(&table, 7);
        assert!(matches!(end, SearchConclusion::StartIsBest { .. }), "{end:?}");
    }
}

#[test]
fn what_could_not_be_shown_to_keep_a_bound_is_no_proof_that_the_start_is_best() {
    // Every setting is cheaper and keeps the bound, by less than what so much noise lets be shown.
    let mut table = few(&server(7, 0.8), 7);
    table.start = (table.goal.iter().copied().fold(f64::NEG_INFINITY, f64::max) + 1.0, table.limit - 3.0);
    table.tail.fill(table.limit - 0.05);
    let (_, end) = played(table.problem(7), louder(&table, 7, 10.0));
    assert!(matches!(end, SearchConclusion::Undecided { why: UndecidedReason::NotShown, .. }), "{end:?}");
}

#[test]
fn where_nothing_keeps_the_bound_that_is_said() {
    for mut table in [server(8, 0.5), few(&server(8, 0.5), 8)] {
        let lowest = table.tail.iter().copied().fold(f64::INFINITY, f64::min);
        table.start.1 = lowest + 2.0;
        table.limit = lowest - 1.0;
        let SearchConclusion::NoneKeepsTheBound { closest } = ended(&table, 8) else {
            panic!("{:?}", ended(&table, 8))
        };
        let over = table.tail[closest.unwrap()] - table.limit;
        assert!(over < 1.6, "the closest found exceeds by {over}, the closest there is by 1");
        // The start may be nearer than every setting.
        table.start.1 = lowest - 0.3;
        let end = ended(&table, 8);
        assert!(matches!(end, SearchConclusion::NoneKeepsTheBound { closest: None }), "{end:?}");
    }
}

#[test]
fn of_settings_that_break_one_bound_alike_the_one_nearest_to_the_other_comes_closest() {
    for mut table in [server(8, 0.5), few(&server(8, 0.5), 8)] {
        let lowest = table.tail.iter().copied().fold(f64::INFINITY, f64::min);
        (table.start.1, table.limit) = (lowest + 2.0, lowest - 1.0);
        let mut problem = table.problem(8);
        // Nothing changes what the second bound limits.
        let second = Bound { limit: 0.0, above_start: Some(-5.0), ..problem.bounds[0].clone() };
        problem.bounds.push(second);
        problem.noise.bounds.push(None);
        let mut answer = of_table(&table, 8);
        let mut measured: Vec<(Option<usize>, f64)> = Vec::new();
        let (_, end) = played(problem, |candidate, at| {
            with_bounds(answer(candidate, at), |bounds| {
                measured.push((candidate.point(), bounds[0]));
                vec![bounds[0], 1.0]
            })
        });
        let SearchConclusion::NoneKeepsTheBound { closest } = end else { panic!("{end:?}") };
        let mean = |point: Option<usize>| {
            let of = measured.iter().filter(|(other, _)| *other == point).map(|(_, tail)| *tail);
            of.clone().sum::<f64>() / of.count() as f64
        };
        assert!(measured.iter().all(|(point, _)| mean(closest) <= mean(*point)), "{closest:?} of {measured:?}");
    }
}

#[test]
fn a_start_that_breaks_the_bound_is_left_even_for_a_dearer_setting() {
    for mut table in [server(9, 0.3), few(&server(9, 0.5), 9)] {
        table.start = (table.goal.iter().copied().fold(f64::INFINITY, f64::min) - 0.1, table.limit + 0.5);
        let end = ended(&table, 9);
        let kept = kept(end);
        assert!(table.tail[kept.point] <= table.limit);
        assert!(kept.gain.unwrap().low > 0.0, "it costs more than the start: {kept:?}");
    }
}

#[test]
fn once_confirmed_the_certificate_is_that_of_the_answer() {
    // So noisy, and so near the limit, that the model would now and then rather have another setting than the one it kept.
    let mut losses = Vec::new();
    for seed in 0..8 {
        let table = server(seed, 0.5);
        let search = Search::new(table.problem(seed)).unwrap();
        let (search, _, end) = searched(search, louder(&table, seed, 3.0));
        if let SearchConclusion::Confirmed(kept) = end {
            let standing = search.standing();
            assert_eq!(standing.incumbent, Some(kept.point));
            assert!((standing.goal.unwrap().mean - kept.goal).abs() < 0.1, "{standing:?}");
            losses.push(standing.certificate.unwrap().expected_loss);
        }
    }
    assert!(losses.len() >= 3 && losses.iter().all(|loss| (0.0..0.3).contains(loss)), "{losses:?}");
    // A race has measured every setting and fits no model to say what was missed.
    let few = few(&server(6, 0.6), 6);
    let (search, _, end) = searched(Search::new(few.problem(6)).unwrap(), of_table(&few, 6));
    let kept = kept(end);
    assert_eq!((search.standing().certificate, search.standing().incumbent), (None, Some(kept.point)));
}

#[test]
fn a_limit_against_the_start_is_kept_whatever_the_level_of_the_day() {
    for (table, level) in [(server(6, 0.6), 0.0), (few(&server(6, 0.6), 6), 0.0), (server(6, 0.6), 1.5)] {
        let mut problem = table.problem(6);
        problem.bounds[0].above_start = Some(table.limit - table.start.1);
        problem.bounds[0].limit = f64::MAX;
        let mut answer = of_table(&table, 6);
        // From block to block everything takes longer, by more than the noise: differences inside blocks do not mind.
        let (_, end) = played(problem, |candidate, at| {
            let later = |bounds: Vec<f64>| bounds.iter().map(|it| it + level + 0.002 * at as f64).collect();
            with_bounds(answer(candidate, at), later)
        });
        let kept = kept(end);
        let (held, above) = (kept.bounds[0], table.tail[kept.point] - table.start.1);
        assert!(table.tail[kept.point] <= table.limit + 0.01, "{kept:?}");
        assert!((held.value - above).abs() < 0.04 && held.certainty > 0.95, "{held:?} for {above}");
    }
}
