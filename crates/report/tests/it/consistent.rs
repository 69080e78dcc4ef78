//! No headline, recommendation or journal contradicts the table: a check of any journal, and a few hundred random experiments.
mod checker;
mod plans;
mod random;

use powerband_record::{Better, CloseReason, Event, RequirementFinding, SettingVerdict, Standing, Verdict};
use powerband_report::comparison::{Comparison, ComparisonRequest, ComparisonSide, Measured, several};
use powerband_report::{Model, advice, deciding, load, no_advice, sentence};

use crate::journals;
use checker::{contradictions, outside_margin};

/// Random experiments on every change; twenty times as many in a sweep.
const RUNS: u64 = 300;

fn seeds() -> std::ops::Range<u64> {
    let shift: u64 = std::env::var("POWERBAND_SWEEP_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let runs = if std::env::var("POWERBAND_SWEEP").is_ok_and(|value| value == "1") { 20 * RUNS } else { RUNS };
    shift..shift + runs
}

#[test]
fn sweep_random_experiments_do_not_contradict_themselves() {
    let mut wrong = Vec::new();
    let (mut knees, mut none, mut recommended, mut decided) = (0, 0, 0, 0);
    for seed in seeds() {
        let events = random::experiment(seed);
        let found = contradictions(&events);
        let model = Model::from_events(&events).unwrap();
        knees += u32::from(model.knee.as_ref().is_some_and(|it| it.knee.is_some()));
        none += u32::from(model.knee.as_ref().is_some_and(|it| it.none));
        recommended += u32::from(advice(&model).is_some());
        decided += u32::from(matches!(model.end, powerband_report::ExperimentEnd::Closed(CloseReason::Decided)));
        wrong.extend(found.into_iter().map(|why| format!("seed {seed}: {why}; {}", sentence::headline(&model))));
    }
    println!("{knees} knees, {none} times none, {recommended} recommended, {decided} decided");
    assert!(wrong.is_empty(), "{} contradictions:\n{}", wrong.len(), wrong.join("\n"));
    // The check must have had something to check.
    assert!(knees >= 30 && none >= 3 && recommended >= 40 && decided >= 60);
}

#[test]
fn journals_made_by_hand_do_not_contradict_themselves() {
    for events in [journals::router(), journals::governors(), journals::stopped(), journals::open(), journals::pings()]
    {
        assert_eq!(contradictions(&events), Vec::<String>::new());
    }
}

fn closed(mut events: Vec<Event>, change: impl Fn(&mut powerband_record::Finding)) -> Vec<Event> {
    let Some(Event::Closed(finding)) = events.last_mut() else { panic!("no end") };
    change(finding);
    events
}

#[test]
fn the_checker_sees_what_it_is_for() {
    let undecided =
        |it: &mut SettingVerdict| (it.verdict, it.low, it.high) = (Verdict::Undecided, Some(-0.1), Some(0.1));
    for (what, events) in [
        ("a knee that is open", closed(journals::router(), |it| undecided(&mut it.verdicts[1]))),
        ("open at the end", closed(journals::governors(), |it| undecided(&mut it.verdicts[0]))),
        ("same outside the margin", closed(journals::router(), |it| it.verdicts[0].high = Some(0.06))),
        ("worse across zero", closed(journals::governors(), |it| it.verdicts[1].high = Some(0.001))),
        ("no number", closed(journals::governors(), |it| it.levels[0].typical = f64::INFINITY)),
    ] {
        assert_ne!(contradictions(&events), Vec::<String>::new(), "{what}");
    }
}

/// Four settings better than the reference in power, the same in requests, as on a server whose threshold is raised.
fn thresholds() -> Vec<Event> {
    random::made(
        &[("requests_per_s", true, 0.001), ("power_w", false, 0.001)],
        &[[1.0, 1.0], [0.998, 0.958], [0.994, 0.953], [0.996, 0.945], [0.995, 0.935]],
    )
}

#[test]
fn of_several_that_are_better_the_best_is_recommended_with_its_price() {
    let events = thresholds();
    let model = Model::from_events(&events).unwrap();
    assert_eq!(contradictions(&events), Vec::<String>::new());
    let found = advice(&model).unwrap();
    assert_eq!(model.label(found.setting), "s4", "{}", found.why);
    assert!(found.why.contains("largest estimated gain in power_w"), "{}", found.why);
    // Compared with one another, not only with the reference.
    assert!(found.why.contains("in the blocks they share it is better than"), "{}", found.why);
    let (power, requests) = (&found.changes[1], &found.changes[0]);
    assert_eq!((power.verdict, power.price), (Some(Verdict::Better), false));
    assert!(power.words.starts_with("power_w 6.") && power.words.contains("% lower"), "{}", power.words);
    assert_eq!((requests.verdict, requests.price), (Some(Verdict::Same), true));
    assert!(found.gain_and_price().contains("; price: requests_per_s 0."), "{}", found.gain_and_price());
}

#[test]
fn where_everything_is_the_same_nothing_is_recommended() {
    let events = random::made(&[("requests_per_s", true, 0.001)], &[[1.0, 1.0], [0.998, 1.0], [0.994, 1.0]]);
    let model = Model::from_events(&events).unwrap();
    assert_eq!(advice(&model), None);
    assert_eq!(no_advice(&model).unwrap(), "no setting is recommended: no setting is shown to be better than s0");
}

/// A setting that is better in energy, open in time and `third` in a third metric, after its most blocks.
fn with_third(third: Verdict) -> Model {
    let verdict = |it: &SettingVerdict| {
        let (low, high) = if third == Verdict::Worse { (0.2, 0.4) } else { (-0.01, 0.01) };
        let change = f64::midpoint(low, high);
        SettingVerdict {
            metric: "mean_us".into(),
            verdict: third,
            change,
            low: Some(low),
            high: Some(high),
            ..it.clone()
        }
    };
    let mut events = closed(journals::open(), |finding| {
        finding.reason = CloseReason::Blocks;
        finding.verdicts[0].predicted_blocks = Some((6, 9));
        finding.verdicts.push(verdict(&finding.verdicts[1]));
    });
    let Some(Event::Started(started)) = events.first_mut() else { panic!("no start") };
    started.metrics.push(journals::metric("mean_us", Better::Lower, true, None));
    Model::from_events(&events).unwrap().with_header(journals::header())
}

#[test]
fn what_is_worse_comes_before_what_is_open_and_is_not_resumed_for() {
    let model = with_third(Verdict::Worse);
    let why = no_advice(&model).unwrap();
    assert!(why.ends_with("is better in a decision metric, but is worse in mean_us"), "{why}");
    assert_eq!((model.blocks_missing(), deciding(&model)), (Some((2, 5)), None));
    let model = with_third(Verdict::Same);
    assert!(no_advice(&model).unwrap().ends_with("but is undecided in real_s"));
    assert!(deciding(&model).unwrap().ends_with("--blocks 9"));
}

#[test]
fn a_knee_that_breaks_a_requirement_is_not_recommended() {
    let broken = |standing| {
        let mut events = journals::router();
        let Some(Event::Started(started)) = events.first_mut() else { panic!("no start") };
        started.requirements = vec![powerband_record::Requirement::parse("rtt_ms<=1.45").unwrap()];
        closed(events, |finding| {
            let standing_at = |setting: u32| powerband_record::RequirementStanding {
                setting,
                requirement: 0,
                found: RequirementFinding {
                    standing: if setting == 2 { standing } else { Standing::Holds },
                    estimate: Some(1.4),
                    trials: 4,
                    ..RequirementFinding::UNKNOWN
                },
            };
            finding.requirements = (0..5).map(standing_at).collect();
            finding.reason = CloseReason::Blocks;
        })
    };
    let model = |standing| Model::from_events(&broken(standing)).unwrap();
    assert_eq!(advice(&model(Standing::Holds)).unwrap().setting, 2);
    for standing in [Standing::Broken, Standing::Open] {
        // 550 MHz is the same as the knee, and keeps it.
        assert_eq!(advice(&model(standing)).unwrap().setting, 1);
    }
    let table = powerband_report::text::render(&model(Standing::Open), 80, false);
    assert!(table.contains("open, 50 % likely"), "{table}");
    let headline = sentence::headline(&model(Standing::Broken));
    assert!(headline.contains("but it breaks rtt_ms<=1.45, 550 MHz is the cheapest"), "{headline}");
}

/// Experiments compared with one another, each a side.
fn compared(all: &[Vec<Event>]) -> Option<Comparison> {
    let measured = (1..).zip(all).map(|(id, events)| Measured::of_events(id, "bench", events).unwrap());
    let measured: Vec<Measured> = measured.collect();
    let sides: Vec<ComparisonSide<'_>> = measured.iter().map(|one| (std::slice::from_ref(one), None)).collect();
    several(&sides, &ComparisonRequest { metrics: vec![], margin: None, alpha: None, mean: None }).ok()
}

#[test]
fn comparisons_of_experiments_show_no_interval_beyond_their_verdict() {
    let (mut same, mut wrong) = (0, Vec::new());
    for seed in 0..80 {
        let Some(found) = compared(&[random::experiment(seed), random::experiment(seed + 80)]) else {
            continue;
        };
        same += found.rows.iter().filter(|row| row.verdict == Verdict::Same).count();
        wrong.extend(outside_margin(&found.rows).into_iter().map(|why| format!("seed {seed}: {why}")));
    }
    // Two runs of the same settings.
    let settings = [[1.0, 1.0], [1.0, 1.0], [1.002, 1.0]];
    let made = || random::made(&[("requests_per_s", true, 0.001)], &settings);
    let found = compared(&[made(), made()]).unwrap();
    same += found.rows.iter().filter(|row| row.verdict == Verdict::Same).count();
    wrong.extend(outside_margin(&found.rows));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(same >= 2, "{same}");
}

#[test]
fn experiments_with_different_loads_are_compared_each_within_itself() {
    let made = |kind: &str| {
        let mut events = random::made(&[("requests_per_s", true, 0.001)], &[[1.0, 1.0], [1.2, 1.0]]);
        let Some(Event::Started(started)) = events.first_mut() else { panic!("no start") };
        started.load = serde_json::json!({ "kind": kind });
        events
    };
    let found = compared(&[made("shop"), made("ping")]).unwrap();
    let begin = "different loads, not comparable with one another: experiment 1 (shop): s1 is better than s0";
    assert!(
        found.finding.starts_with(begin) && found.finding.contains("; experiment 2 (ping): s1 is better"),
        "{}",
        found.finding
    );
    assert!(found.rows.iter().all(|row| row.verdict == Verdict::Better && row.against.starts_with("s0 of experiment")));
    let same = compared(&[made("shop"), made("shop")]).unwrap();
    assert!(!same.finding.contains("different loads"), "{}", same.finding);
}

#[test]
fn a_load_without_a_peer_says_that_it_runs_over_loopback() {
    let said = |far: Option<&str>| {
        let mut events = random::made(&[("rate_mbit_s", true, 0.001)], &[[1.0, 1.0], [1.2, 1.0]]);
        let Some(Event::Started(started)) = events.first_mut() else { panic!("no start") };
        started.load = serde_json::json!({"kind": "stream", "for": "10s", "direction": "far-to-near"});
        started.far = far.map(str::to_owned);
        load::load_of(&Model::from_events(&events).unwrap())
    };
    assert_eq!(said(Some("sim:pc")), "stream, for 10s, direction far-to-near");
    assert_eq!(said(None), "stream, for 10s, over loopback (no peer)");
}

#[test]
fn a_calibration_that_is_too_noisy_says_so_and_sets_no_margin() {
    let calibrated = |default_margin: f64| {
        let reach = serde_json::json!([{"minutes": 0.1, "effect": 0.01}, {"minutes": 0.5, "effect": 0.10}]);
        let found = serde_json::json!({
            "metric": "real_s", "relative": true, "trials": 24, "blocks": 12, "level": 3.0, "sigma": default_margin / 2.0,
            "sigma_df": 11.0, "sigma_robust": 0.01, "rho": 0.0, "autocorrelation": [], "drift_per_block": 0.0,
            "outlier_share": 0.0, "bimodal": false, "mde": [], "time_for": reach, "default_margin": default_margin, "advice": [],
        });
        let mut events = journals::stopped();
        let Some(Event::Started(started)) = events.first_mut() else { panic!("no start") };
        started.calibration = true;
        let events = closed(events, |finding| {
            finding.reason = CloseReason::Blocks;
            finding.calibrations = vec![serde_json::from_value(found.clone()).unwrap()];
        });
        Model::from_events(&events).unwrap()
    };
    let said = |default_margin: f64| powerband_report::text::render(&calibrated(default_margin), 200, false);
    let noisy = said(1.317);
    assert!(noisy.contains("too noisy to set a margin"), "{noisy}");
    assert!(
        noisy.contains("twice its noise is 131.7 %") && noisy.contains("advice: neither outliers nor drift"),
        "{noisy}"
    );
    assert!(!noisy.contains("margin from now on"), "{noisy}");
    let quiet = said(0.04);
    assert!(
        quiet.contains("margin from now on, on this machine with this load: 4 %") && !quiet.contains("too noisy"),
        "{quiet}"
    );
    // 1 % is below the margin and is called the same in the end: no time is promised for it.
    assert!(
        quiet.contains("a difference of 10 % is found in about 30 s.\nDifferences within ±4 % are called the same"),
        "{quiet}"
    );
    assert!(said(0.01).contains("a difference of 1 % is found in about 6 s.\nDifferences within ±1 % are"), "{quiet}");
    // 2 % of 3 s, in every format.
    let model = calibrated(0.04);
    let markdown = powerband_report::markdown::render(&model);
    assert!(markdown.contains("noise %") && markdown.contains("| real\\_s | 3 s | 2.00 |"), "{markdown}");
    let csv = powerband_report::csv::render(&model);
    let line = csv.lines().find(|line| line.contains(",noise,")).unwrap();
    assert!(line.contains("real_s,s,noise,24,0.06,"), "{line}");
}
