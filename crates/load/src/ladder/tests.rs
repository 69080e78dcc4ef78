//! What 100 % is, the levels of it, the sums over them, and mistakes.
use serde_json::json;

use super::*;

#[test]
fn a_hundred_percent_is_the_mean_of_two_that_agree() {
    let ladder = LadderLoad::default();
    assert_eq!(ladder.settled(&[90.0, 100.0]), Ok(None), "three are asked for");
    assert_eq!(ladder.settled(&[90.0, 100.0, 101.0]), Ok(Some(100.5)));
    assert_eq!(ladder.settled(&[90.0, 100.0, 103.0]), Ok(None), "one more");
    assert!(matches!(ladder.settled(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), Err(Void::LoadFailed { .. })));
}

#[test]
fn levels_are_shares_of_it_in_the_order_asked_for() {
    let listed = LadderLoad { order: LevelOrder::Listed, ..LadderLoad::default() };
    let stages = listed.phases(Some(200.0), 3).unwrap();
    assert_eq!(stages.len(), 11);
    let rates = stages.iter().filter_map(|stage| match &stage.load {
        Load::Orders(orders) => orders.rate_per_s,
        _ => None,
    });
    assert_eq!(rates.collect::<Vec<_>>(), (1..=10).rev().map(|level| f64::from(level) * 20.0).collect::<Vec<_>>());
    assert_eq!((stages[10].prefix.as_str(), stages[10].load.kind()), ("idle_", "idle"));
    let order =
        |draw| LadderLoad::default().phases(Some(1.0), draw).unwrap().into_iter().map(|s| s.prefix).collect::<Vec<_>>();
    assert_ne!(order(1), order(2));
    assert_eq!(order(1), order(1));
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    assert_eq!(sorted(order(1)), sorted(listed.prefixes()), "each level once");
}

#[test]
fn idle_counts_in_the_overall_figure() {
    let ladder = LadderLoad { levels: vec![100, 50], ..LadderLoad::default() };
    let given =
        [("at_100_score_per_s", 100.0), ("at_50_score_per_s", 50.0), ("at_100_power_w", 20.0), ("at_50_power_w", 15.0)];
    let mut measured: BTreeMap<String, f64> = given.map(|(name, value)| (name.to_owned(), value)).into();
    let mut with_idle = measured.clone();
    ladder.sum_up(Some(100.0), &mut measured);
    assert_eq!(measured.get("score_per_w"), None, "without idle's watts there is no overall figure");
    assert_eq!((measured["at_100_score_per_w"], measured["score_per_s"], measured["full_per_s"]), (5.0, 75.0, 100.0));
    with_idle.insert("idle_power_w".into(), 15.0);
    with_idle.extend([("at_100_p99_us".to_owned(), 9e6), ("at_50_p99_us".to_owned(), 700.0)]);
    ladder.sum_up(Some(100.0), &mut with_idle);
    assert_eq!(with_idle["score_per_w"], 3.0);
    // The watts of all three stretches; the latency of what is below full load, where a queue does not only grow.
    assert!((with_idle["power_w"] - 50.0 / 3.0).abs() < 1e-12);
    assert_eq!(with_idle["p99_us"], 700.0);
}

#[test]
fn a_command_gets_its_rate_and_tells_its_score() {
    let spelled = json!({"levels": [100, 50], "command": {"argv": ["wrk2", "-R{rate}", "-d{seconds}s"], "score": "regex:sec: ([0-9.]+)", "beyond_per_s": 1e6}});
    let ladder: LadderLoad = serde_json::from_value(spelled).unwrap();
    assert_eq!(ladder.mistake(), None);
    let argv = |stage: &Stage| match &stage.load {
        Load::Command(command) => command.argv.join(" "),
        _ => String::new(),
    };
    assert_eq!(argv(&ladder.at_full_speed()), "wrk2 -R1000000 -d30s");
    let half = ladder.phases(Some(3000.0), 1).unwrap().into_iter().find(|stage| stage.prefix == "at_50_").unwrap();
    assert_eq!(argv(&half), "wrk2 -R1500 -d30s");
}
