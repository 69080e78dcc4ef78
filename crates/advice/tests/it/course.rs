//! What a search asks for, in which order, and what it makes of runs that bring nothing.
use powerband_advice::{
    Ask, Candidate, Observation, ProblemError, Search, SearchConclusion, SearchStage, UndecidedReason,
};

use crate::{of_table, played, server};

fn undecided(why: UndecidedReason) -> SearchConclusion {
    SearchConclusion::Undecided { why, best_guess: None }
}

#[test]
fn the_start_comes_first_twice_and_then_the_middle() {
    let table = server(1, 0.5);
    let (asked, _) = played(table.problem(1), of_table(&table, 1));
    assert_eq!(asked[..3], [Candidate::Start, Candidate::Start, Candidate::Point(24)]);
}

#[test]
fn asking_changes_nothing_and_a_seed_gives_one_course() {
    let table = server(2, 0.5);
    let mut search = Search::new(table.problem(2)).unwrap();
    let mut answer = of_table(&table, 2);
    let mut count = 0;
    while let Ask::Run(candidate) = search.ask() {
        let (standing, phase) = (search.standing(), search.phase());
        assert_eq!(search.ask(), Ask::Run(candidate));
        assert_eq!((search.standing(), search.phase()), (standing, phase));
        search.tell(candidate, answer(candidate, 0), 20.0, 0.0);
        count += 1;
    }
    assert_eq!(search.phase(), SearchStage::Done);
    let (asked, end) = played(table.problem(2), of_table(&table, 2));
    assert_eq!((asked.len(), Ask::End(end)), (count, search.ask()));
}

#[test]
fn a_refused_setting_is_left_out_and_costs_nothing() {
    let table = server(3, 0.5);
    let best = (0..table.goal.len()).find(|point| table.is_close(*point)).unwrap();
    let refused = |candidate| candidate == Candidate::Point(24) || candidate == Candidate::Point(best);
    let mut answer = of_table(&table, 3);
    let (asked, end) =
        played(
            table.problem(3),
            |candidate, at| if refused(candidate) { Observation::Refused } else { answer(candidate, at) },
        );
    for candidate in [Candidate::Point(24), Candidate::Point(best)] {
        assert!(asked.iter().filter(|other| **other == candidate).count() <= 1, "asked for {candidate:?} again");
    }
    assert!(!matches!(&end, SearchConclusion::Confirmed(kept) if refused(Candidate::Point(kept.point))));
    assert!(
        !matches!(&end, SearchConclusion::Undecided { best_guess: Some(point), .. } if refused(Candidate::Point(*point)))
    );
}

#[test]
fn a_setting_whose_work_fails_is_given_up_and_so_is_a_start() {
    let table = server(4, 0.5);
    let mut answer = of_table(&table, 4);
    let failing = Candidate::Point(24);
    let (asked, end) = played(table.problem(4), |candidate, at| match candidate {
        it if it == failing => Observation::Failed,
        _ => answer(candidate, at),
    });
    assert_eq!(asked.iter().filter(|it| **it == failing).count(), 2);
    assert!(matches!(end, SearchConclusion::Confirmed(_)), "{end:?}");
    let (asked, end) = played(table.problem(4), |_, _| Observation::Failed);
    assert_eq!(end, undecided(UndecidedReason::StartFails));
    assert_eq!(asked, [Candidate::Start; 3]);
}

#[test]
fn values_that_are_no_numbers_count_as_failures() {
    let table = server(4, 0.5);
    for (goal, bounds) in [(f64::NAN, vec![0.0]), (1.0, Vec::new())] {
        let bounds = || bounds.clone();
        let valid = |_, _| Observation::Valid { goal, bounds: bounds() };
        let (_, end) = played(table.problem(4), valid);
        assert_eq!(end, undecided(UndecidedReason::StartFails));
    }
}

#[test]
fn short_of_time_the_search_confirms_what_it_has() {
    let table = server(6, 0.5);
    let mut search = Search::new(table.problem(6)).unwrap();
    let mut answer = of_table(&table, 6);
    while search.incumbent().is_none() {
        let Ask::Run(candidate) = search.ask() else { panic!("ended with nothing") };
        search.tell(candidate, answer(candidate, 0), 20.0, 0.0);
    }
    let candidate = search.incumbent().unwrap();
    search.set_runs_left(4);
    assert_eq!(search.phase(), SearchStage::Confirming { candidate, block: 1 });
    let mut blocks = Vec::new();
    while let Ask::Run(candidate) = search.ask() {
        blocks.push(candidate);
        search.tell(candidate, answer(candidate, 0), 20.0, 0.0);
    }
    // At the first look the candidate has two fresh runs and the start one.
    let starts = blocks.iter().filter(|it| **it == Candidate::Start);
    assert_eq!((starts.count(), blocks.len()), (1, 3), "{blocks:?}");
    let Ask::End(end) = search.ask() else { panic!("it goes on") };
    let not_shown = UndecidedReason::NotShown;
    assert!(!matches!(end, SearchConclusion::Undecided { why, .. } if why == not_shown));
}

#[test]
fn short_of_time_before_anything_was_tried_nothing_is_claimed() {
    let table = server(6, 0.5);
    let mut search = Search::new(table.problem(6)).unwrap();
    search.set_runs_left(0);
    assert_eq!(search.ask(), Ask::End(undecided(UndecidedReason::Time)));
    let few = table.varied(6, 0.2, table.limit);
    let mut race = Search::new(few.problem(6)).unwrap();
    race.set_runs_left(0);
    let Ask::End(end) = race.ask() else { panic!("it goes on") };
    let time = UndecidedReason::Time;
    assert!(matches!(end, SearchConclusion::Undecided { why, .. } if why == time));
}

#[test]
fn what_does_not_fit_is_refused() {
    let table = server(1, 0.5);
    let with = |change: fn(&mut powerband_advice::Problem)| {
        let mut problem = table.problem(1);
        change(&mut problem);
        Search::new(problem).unwrap_err()
    };
    assert_eq!(with(|problem| problem.space.points.clear()), ProblemError::NoPoints);
    assert_eq!(with(|problem| problem.start = Some(49)), ProblemError::Start { start: 49, points: 49 });
    assert!(matches!(with(|problem| problem.space.points[3][1] = Some(7)), ProblemError::Level { point: 3, .. }));
    assert!(matches!(with(|problem| problem.bounds[0].trends.clear()), ProblemError::Length { .. }));
    assert!(matches!(with(|problem| problem.bounds[0].limit = f64::NAN), ProblemError::NotFinite { .. }));
}
