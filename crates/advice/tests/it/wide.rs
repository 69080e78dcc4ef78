//! Other problems than one bound on a measured goal: no bound, two, and goals that are a knob's own value.
use powerband_advice::{Bound, Factor, FactorKind, Goal, Prior, Problem, RunNoise, Space};
use powerband_stats::{Draws, Purpose};

use crate::{kept, of_table, played, server, valid, with_bounds};

#[test]
fn without_bounds_the_cheapest_is_found() {
    for seed in 1..5 {
        let table = server(seed, 0.5);
        let mut problem = table.problem(seed);
        problem.bounds.clear();
        let mut answer = of_table(&table, seed);
        let (asked, end) = played(problem, |candidate, at| with_bounds(answer(candidate, at), |_| Vec::new()));
        let kept = kept(end);
        let best = table.goal.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(table.goal[kept.point] < best + 0.03, "{} for {best}", table.goal[kept.point]);
        assert!(asked.len() < 60, "{} runs", asked.len());
    }
}

#[test]
fn a_known_goal_is_not_measured_and_its_smallest_value_found() {
    // The least share of a processor with which work still ends in time, of 40 shares.
    let shares: Vec<f64> = (1..=40).map(|step| 2.5 * f64::from(step)).collect();
    let space = Space {
        factors: vec![Factor {
            name: "cgroup.cpu_quota".to_owned(),
            kind: FactorKind::Number(shares.clone()),
            switch_s: 0.0,
        }],
        points: (0..40).map(|level| vec![Some(level)]).collect(),
    };
    let time_s = |point: usize| (100.0 / shares[point]).max(1.6);
    let mut random = Draws::new(1, Purpose::Trial, 31, 0);
    let problem = Problem {
        space,
        start: Some(39),
        goal: Goal::Known(shares.iter().map(|share| libm::log(*share)).collect()),
        bounds: vec![Bound { limit: libm::log(2.0), above_start: None, trends: vec![-1.0], prior: Prior::watts() }],
        safe: None,
        seed: 1,
        noise: RunNoise::default(),
    };
    let (asked, end) = played(problem, |candidate, _| {
        let point = candidate.point().unwrap_or(39);
        valid(0.0, libm::log(time_s(point)) + 0.005 * random.normal())
    });
    let kept = kept(end);
    let share = shares[kept.point];
    assert!((50.0..=55.0).contains(&share), "{share} % where half is needed");
    let gain = kept.gain.unwrap();
    assert!((gain.mean - libm::log(share / 100.0)).abs() < 1e-12 && gain.high - gain.low < 1e-12, "{gain:?}");
    assert!(asked.len() < 40, "{} runs", asked.len());
}

#[test]
fn two_bounds_are_both_kept() {
    for seed in 1..4 {
        let table = server(seed, 0.6);
        // The second bound rules the lowest frequencies out: 3 of 7.
        let second = |point: usize| 5.0 - 0.1 * (point / 7) as f64;
        let mut problem = table.problem(seed);
        problem.bounds.push(Bound { limit: 4.75, above_start: None, trends: vec![-1.0, 0.0], prior: Prior::watts() });
        let mut answer = of_table(&table, seed);
        let (_, end) = played(problem, |candidate, at| {
            let extra = candidate.point().map_or(4.4, second);
            with_bounds(answer(candidate, at), |bounds| vec![bounds[0], extra])
        });
        let kept = kept(end);
        assert!(table.tail[kept.point] <= table.limit && second(kept.point) <= 4.75, "{kept:?}");
        let both = (0..49).filter(|point| table.tail[*point] <= table.limit && second(*point) <= 4.75);
        let best = both.map(|point| table.goal[point]).fold(f64::INFINITY, f64::min);
        assert!(table.goal[kept.point] < best + 0.06, "{} for {best}", table.goal[kept.point]);
        assert_eq!(kept.bounds.len(), 2);
    }
}
