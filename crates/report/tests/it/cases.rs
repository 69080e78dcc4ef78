//! Experiments of each kind, and what is changed of them: what the snapshots show and what holds for all reports.
use powerband_record::{
    BaselineValue, CloseReason, Event, KneeFinding, Output, Requirement, RequirementFinding, RequirementStanding,
    SettingVerdict, Standing, Verdict,
};
use serde_json::{from_value, json};

use crate::courses::{powered, recorded};
use crate::journals::{
    Journal, alone, calibrated, changed, finding, governors, measured, metrics, open, outcomes, pings, plan, router,
    searched, stopped, verdicts,
};

type Named = (&'static str, Vec<Event>);

pub(crate) fn cases() -> Vec<Named> {
    vec![
        ("router", router()),
        ("governors", governors()),
        ("stopped", stopped()),
        ("open", open()),
        ("pings", pings()),
        ("recorded", recorded(1)),
        ("search", searched()),
        ("calibrated", calibrated(0.04)),
        ("limited", limited(Standing::Broken)),
    ]
}

/// What a kind of experiment is when one thing of it is another: the kind, its journal, and the variants.
pub(crate) fn variants() -> Vec<(&'static str, Vec<Event>, Vec<Named>)> {
    let two = || measured("performance; conservative", "count+", &[&[25e6], &[22e6]]);
    vec![
        ("router", router(), of_router()),
        ("governors", governors(), of_governors()),
        ("open", open(), of_open()),
        ("two", two(), of_two(&two())),
        ("search", searched(), of_search()),
        ("calibrated", calibrated(0.04), of_calibrated()),
    ]
}

fn of_router() -> Vec<Named> {
    let knee = |change: fn(&mut KneeFinding)| changed(router(), |_, end| change(end.knee.as_mut().unwrap()));
    let turns = |turns: &str| changed(router(), |plan, _| plan.settings[2].turns = turns.into());
    let mut unrestored = router();
    for event in &mut unrestored {
        if let Event::Restored { failed, .. } = event {
            failed.push("nic.rx-usecs at eth0 reads 256 where it read 261 before".into());
        }
    }
    let mut early = changed(router(), |_, end| (end.verdicts, end.knee, end.blocks) = (vec![], None, 1));
    early.retain(|event| !matches!(event, Event::BlockDone(block) if block.block > 1));
    let far = "cmd:ssh -p 2222 somebody@a-board-with-a-long-name.example powerband agent";
    vec![
        ("knee: provisional", knee(|it| (it.knee, it.provisional, it.probability) = (None, Some(2), Some(0.87)))),
        ("knee: not clear", knee(|it| it.knee = None)),
        ("knee: nothing alike", knee(|it| it.alike.clear())),
        ("knee: the cheapest", knee(|it| (it.knee, it.alike, it.inferior) = (Some(4), vec![], vec![]))),
        ("knee: none", knee(|it| (it.knee, it.none) = (None, true))),
        ("power of unknown boundary", changed(router(), |plan, _| plan.metrics[1].boundary = None)),
        ("not restored", unrestored),
        ("ended early", early),
        ("far end with a long name", changed(router(), |plan, _| plan.far_typed = Some(far.into()))),
        ("limit of a group", turns("cgroup.cpu_quota=50%")),
        ("background", turns("background=spin@cpu1 boost=0")),
        ("environment", turns("env.N=4 boost=0")),
        ("daemon", turns("daemon=cpuspeed governor=userspace")),
        ("both machines", turns("both/freq=500MHz")),
        (
            "two machines of one model",
            changed(router(), |plan, _| {
                (plan.settings[2].turns, plan.far) = ("both/freq=500MHz".into(), Some(plan.machine.clone()));
            }),
        ),
        ("limit holds", limited(Standing::Holds)),
        ("limit open", limited(Standing::Open)),
    ]
}

fn of_governors() -> Vec<Named> {
    let why = || "load: exit status 127".to_owned();
    let again = |it: &SettingVerdict| SettingVerdict { metric: "count_per_s".into(), ..it.clone() };
    let output = Output { cut: true, ..Output::default() };
    vec![
        (
            "losses in points",
            changed(governors(), |plan, end| {
                plan.metrics = metrics("lost_percent-");
                end.verdicts.iter_mut().for_each(|it| (it.metric, it.absolute) = ("lost_percent".into(), true));
            }),
        ),
        (
            "a second metric",
            changed(governors(), |plan, end| {
                plan.metrics.extend(metrics("count_per_s+"));
                end.verdicts.extend(end.verdicts.iter().map(again).collect::<Vec<_>>());
            }),
        ),
        ("the load failed", changed(governors(), |_, end| end.reason = CloseReason::LoadFailed { why: why() })),
        ("aborted", changed(governors(), |_, end| end.reason = CloseReason::Failed { why: why() })),
        (
            "one is open without a prediction",
            changed(governors(), |_, end| {
                end.verdicts = verdicts("1 count undecided 0.021 -0.03 0.073; 2 count undecided 0.021 -0.03 0.073");
                end.verdicts[1].predicted_blocks = None;
            }),
        ),
        ("output cut", outcomes(governors(), |_, outcome| _ = outcome.output.insert("load".into(), output.clone()))),
        ("values adjusted", adjusted()),
    ]
}

/// One governor that is the baseline already, and a value that the driver clamps.
fn adjusted() -> Vec<Event> {
    let site = |setting| match setting {
        1 => json!({"knob": "cpufreq.governor", "site": "eth0", "asked": "ondemand", "landed": "already so"}),
        _ => json!({"knob": "nic.rx-usecs", "site": "eth0", "asked": "260", "landed": "clamped to 259"}),
    };
    let with_site = |event: Event| match event {
        Event::TrialStarted(it) => {
            vec![event, Event::Landed { trial: it.trial, site: from_value(site(it.setting)).unwrap() }]
        }
        event => vec![event],
    };
    governors().into_iter().flat_map(with_site).collect()
}

/// Better in energy, open in time, and so in a third metric, after the most blocks.
pub(crate) fn with_third(third: &str) -> Vec<Event> {
    changed(open(), |plan, end| {
        plan.metrics.extend(metrics("mean_us-"));
        end.reason = CloseReason::Blocks;
        end.verdicts[0].predicted_blocks = Some((6, 9));
        end.verdicts.extend(verdicts(third));
    })
}

fn of_open() -> Vec<Named> {
    let unstable = |low, unstable| {
        changed(open(), |_, end| (end.verdicts[0].low, end.verdicts[0].unstable) = (Some(low), unstable))
    };
    vec![
        ("after the most blocks", changed(open(), |_, end| end.reason = CloseReason::Blocks)),
        ("unstable, zero outside", unstable(0.01, true)),
        ("stable, zero outside", unstable(0.01, false)),
        ("unstable, zero inside", unstable(-0.03, true)),
        ("worse in a third metric", with_third("1 mean_us worse 0.3 0.2 0.4")),
        ("the same in a third metric", with_third("1 mean_us same 0.0 -0.01 0.01")),
        ("time is the same", changed(open(), |_, end| end.verdicts[0].verdict = Verdict::Same)),
    ]
}

fn of_two(two: &[Event]) -> Vec<Named> {
    let found = |found: &str| changed(two.to_vec(), |_, end| end.verdicts = verdicts(found));
    vec![
        ("worse", found("1 count worse -0.123 -0.129 -0.118")),
        ("open", found("1 count undecided 0.021 -0.03 0.073")),
        ("same", found("1 count same 0.0 -0.03 0.03")),
        (
            "too early",
            changed(two.to_vec(), |_, end| {
                end.verdicts = verdicts("1 count undecided 0");
                (end.verdicts[0].change, end.verdicts[0].predicted_blocks) = (f64::NAN, None);
            }),
        ),
    ]
}

fn of_search() -> Vec<Named> {
    // What is set on the peer is not the value here, which is printed as the number it is then.
    let goal = |name: &str, turns: &str| {
        changed(searched(), |plan, _| {
            plan.settings[1].turns = turns.into();
            let goal = &mut plan.search.as_mut().unwrap().goal;
            (goal.name, goal.known) = (name.into(), vec![1e6, 2e6, 1e6, 1.0]);
        })
    };
    let expected = json!([{"metric": "p99_us", "typical": 200.0, "error": 0.05}]);
    let unproved = json!({"setting": 3, "change": -0.1, "expected": expected});
    let unproved = from_value(json!([unproved, unproved])).unwrap();
    vec![
        ("goal is a knob", goal("cpufreq.max_freq", "max_freq=1GHz")),
        ("goal is a knob of both", goal("max_freq", "max_freq@policy0=1GHz far/max_freq=2GHz")),
        ("goal is a knob of the peer", goal("far/max_freq", "max_freq=1GHz far/max_freq=2GHz")),
        ("goal is set on the peer alone", goal("max_freq", "far/max_freq=2GHz")),
        ("unproved", changed(searched(), |_, end| end.search.as_mut().unwrap().unproved = unproved)),
        ("in a table", changed(searched(), |plan, _| plan.machine = "table:keeper.csv".into())),
    ]
}

fn of_calibrated() -> Vec<Named> {
    let bimodal = changed(calibrated(0.04), |_, end| {
        (end.calibrations[0].bimodal, end.calibrations[0].regimes) = (true, Some((2.9, 3.4)));
    });
    vec![("too noisy", calibrated(1.317)), ("quiet", calibrated(0.01)), ("bimodal", bimodal)]
}

/// The router with a limit that the knee keeps, breaks or leaves open; the others keep it.
pub(crate) fn limited(standing: Standing) -> Vec<Event> {
    changed(router(), |plan, end| {
        plan.requirements = vec![Requirement::parse("rtt_ms<=1.45").unwrap()];
        let of = |setting: u32| {
            let standing = if setting == 2 { standing } else { Standing::Holds };
            let found = RequirementFinding { standing, estimate: Some(1.4), trials: 4, ..RequirementFinding::UNKNOWN };
            RequirementStanding { setting, requirement: 0, found }
        };
        (end.requirements, end.reason) = ((0..5).map(of).collect(), CloseReason::Blocks);
    })
}

/// So many settings of one knob, each judged by two metrics.
pub(crate) fn many(count: u32) -> Vec<Event> {
    let labels: String = (1..count).map(|at| format!("; governor=ondemand up_threshold={at}")).collect();
    let mut plan = plan("local", &format!("baseline|{labels}"), "real_s- power_w-@wall");
    plan.baseline = vec![BaselineValue { knob: "cpufreq.governor".into(), value: "performance".into() }];
    let mut journal = Journal::new(plan);
    let mut end = finding(CloseReason::Decided, 1);
    for setting in 0..count {
        journal.valid(1, setting, &[("real_s", 0.012 + f64::from(setting) * 1e-5), ("power_w", 50.0)]);
        let power = if setting == 37 { "-0.2 -0.21 -0.19" } else { "-0.1 -0.11 -0.09" };
        let found = format!("{setting} real_s worse 0.1 0.05 0.15; {setting} power_w better {power}");
        end.verdicts.extend(verdicts(&found).into_iter().filter(|it| it.setting > 0));
    }
    journal.close(end)
}

/// What is in charts and tables alone, or too long for every format: crowds, journals without an end, a front of which `b`
/// beats `a`, a ladder, lines over a knob, plots.
pub(crate) fn others() -> Vec<Named> {
    let rungs = "at_100_power_w-?@modelled at_50_power_w-?@modelled at_10_power_w-?@modelled \
                 idle_power_w-?@modelled at_50_score_per_w-?@modelled at_100_score_per_w-?@modelled";
    let ladder: [&[f64]; 2] = [&[500.0, 400.0, 280.0, 250.0, 0.9, 1.0], &[499.0, 399.0, 279.0, 249.0, 0.8, 0.9]];
    let delay = |us| format!("nic.rx-usecs={us} governor=ondemand; nic.rx-usecs={us} governor=powersave");
    let delays = [10, 100, 1000].map(delay).join("; ");
    let crowd: Vec<String> = (0..30).map(|number| format!("governor=g{number}")).collect();
    let crowd = alone(&crowd.join("; "), &(0..30).map(f64::from).collect::<Vec<_>>());
    let front: [&[f64]; 4] = [&[50.0, 9.0], &[60.0, 8.0], &[70.0, 12.0], &[40.0, 5.0]];
    vec![
        ("front", measured("a; b; c; d", "rate_mbit_s+ power_w-@wall", &front)),
        ("ladder", measured("performance; ondemand", rungs, &ladder)),
        ("lines", alone(&delays, &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6])),
        (
            "plot",
            alone("a; b|governor=powersave; c|governor=ondemand; d|governor=performance", &[10.0, 20.0, 40.0, 10.0]),
        ),
        ("plot-over-knob", alone("600|freq=600MHz; 200|freq=200MHz; 400|freq=400MHz", &[10.0, 30.0, 20.0])),
        ("no-plot-of-two", alone("a; b|governor=powersave", &[1.0, 2.0])),
        ("no-plot-of-a-crowd", crowd),
        ("many", many(60)),
        ("only-started", router()[..1].to_vec()),
        ("cut", router()[..16].to_vec()),
        ("power-over-trials", powered()),
        ("five-frequencies", recorded(5)),
    ]
}
