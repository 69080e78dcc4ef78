//! The knee where it is known: curves worked out, quests that make no sense.

use crate::tables::{spending, table};
use powerband_stats::posterior::Posterior;
use powerband_stats::{Error, Knee, KneeGoal, KneeSearch, MetricJudge, Rules};

fn quest(k: usize, goal: KneeGoal, larger_is_better: bool) -> KneeSearch {
    KneeSearch { cost_order: (0..k).collect(), larger_is_better, goal, seed: 11 }
}

#[test]
fn three_frequencies_that_are_the_same() {
    // Two slow ones and three alike, quiet: the knee is the third, and the last three are alike.
    let rows: Vec<Vec<f64>> = (0..6)
        .map(|b| {
            let wobble = |j: f64| 0.002 * ((f64::from(b) * 7.0 + j * 3.0) % 5.0 - 2.0);
            [56.0, 82.0, 99.7, 100.0, 100.1].iter().zip(0..5).map(|(y, j)| y * (1.0 + wobble(f64::from(j)))).collect()
        })
        .collect();
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let table = table(&rows);
    let rules = Rules { margin: 0.03, ..Rules::default() };
    let mut knee = Knee::new(quest(5, KneeGoal::Knee, true), rules.clone(), spending()).unwrap();
    let mut last = None;
    for blocks in 3..=6 {
        last = Some(knee.look(&table.prefix(blocks)).unwrap());
    }
    let look = last.unwrap();
    assert_eq!(look.knee, Some(2));
    assert_eq!(look.inferior, [0, 1]);
    assert!(look.pairs.alike(&[2, 3, 4]) && !look.pairs.alike(&[1, 2]));
    assert_eq!(look.pairs.alike_with(3), [2, 3, 4]);
    assert_eq!(look.provisional.setting, 2);
    assert!(look.provisional.probability > 0.99);
    let there = look.pairs.contrast(1, 4).unwrap();
    assert_eq!(there.effect, -look.pairs.contrast(4, 1).unwrap().effect);
    assert!(!look.pairs.within_margin(0, 1) && look.pairs.within_margin(3, 3));
    // The same from a judge, which claimed all of them different from the first long before.
    let mut judge = MetricJudge::new(4, rules.clone(), spending()).unwrap();
    for blocks in 3..=6 {
        judge.look(&table.prefix(blocks)).unwrap();
    }
    let model = judge.model(&table).unwrap();
    assert_eq!(model.contrast(1, 4).unwrap().blocks, 6);
    // Smaller is better: the first is best at once.
    let mut knee = Knee::new(quest(5, KneeGoal::Best, false), rules, spending()).unwrap();
    assert_eq!(knee.look(&table).unwrap().knee, Some(0));
}

#[test]
fn quests_that_make_no_sense_are_refused() {
    let refused = |order: Vec<usize>, rules: Rules| {
        let quest = KneeSearch { cost_order: order, larger_is_better: true, goal: KneeGoal::Knee, seed: 0 };
        Knee::new(quest, rules, spending()).err()
    };
    assert_eq!(refused(vec![0], Rules::default()), Some(Error::NoSettings));
    assert!(matches!(refused(vec![0, 0, 1], Rules::default()), Some(Error::Shape { .. })));
    assert!(matches!(refused(vec![0, 2], Rules::default()), Some(Error::Shape { .. })));
    assert!(matches!(refused(vec![1, 0], Rules::robust()), Some(Error::BadRule { rule: "robust", .. })));
    assert_eq!(refused(vec![1, 0], Rules::default()), None);
}

#[test]
fn draws_that_pick_nothing_count_for_none() {
    let speed = Posterior::new(1, 0, &[1.0, 2.0, 1.5], &[100.0; 3], 1e-4, 50.0);
    assert_eq!(speed.shares(|levels| (levels[0] > levels[1]).then_some(0)), [0.0, 0.0, 0.0]);
}
