//! What is printed: whole reports as they stand in `expected/`, sentences, widths.
use powerband_record::{
    Better, CloseReason, Counts, Event, ExperimentHeader, Output, RequirementFinding, RequirementStanding, Resumption,
    SettingVerdict, Standing, Verdict,
};
use powerband_report::json::Report;
use powerband_report::list::{List, ListRow};
use powerband_report::{ExperimentEnd, Model, ModelError, deciding, sentence, text};
use unicode_width::UnicodeWidthStr;

use crate::journals::{governors, header, metric, open, router, stopped, verdict};
use crate::same_as_expected;

fn model(events: &[Event]) -> Model {
    Model::from_events(events).unwrap().with_header(header())
}

fn check(events: &[Event], name: &str, expected: &str) {
    let text = text::render(&model(events), 80, false);
    same_as_expected(&text, name, expected);
}

#[test]
fn router_with_a_knee() {
    check(&router(), "router", include_str!("expected/router.txt"));
}

#[test]
fn counter_under_governors() {
    check(&governors(), "governors", include_str!("expected/governors.txt"));
}

#[test]
fn stopped_with_void_trials() {
    check(&stopped(), "stopped", include_str!("expected/stopped.txt"));
}

#[test]
fn what_ended_for_its_blocks_is_told_how_it_could_be_decided() {
    let mut events = open();
    let Some(Event::Closed(finding)) = events.last_mut() else { panic!("{events:?}") };
    finding.reason = CloseReason::Blocks;
    let typed = |events: &[Event], words: &[&str]| {
        let command_line = words.iter().map(|word| (*word).to_owned()).collect();
        deciding(&Model::from_events(events).unwrap().with_header(ExperimentHeader { command_line, ..header() }))
    };
    let words = ["powerband", "try", "governor=all", "--blocks", "4", "--", "make", "--store", "x y"];
    // 4 blocks were run, and 20 more are foretold at most.
    let told = typed(&events, &words).unwrap();
    let id = header().id;
    assert_eq!(told, format!("powerband resume {id} --blocks 24"));
    let stored = typed(&events, &["powerband", "run", "plan.toml", "--store", "a b"]);
    assert_eq!(stored.unwrap(), format!("powerband --store 'a b' resume {id} --blocks 24"));
    assert_eq!(typed(&open(), &words), None, "more time was wanted there, or somebody to wait");
    assert_eq!(typed(&router(), &words), None, "everything is decided");
}

#[test]
fn open_at_the_end() {
    check(&open(), "open", include_str!("expected/open.txt"));
}

#[test]
fn no_line_is_longer_than_the_terminal_and_nothing_is_nan() {
    let mut wide = router();
    if let Event::Started(started) = &mut wide[0] {
        started.settings[1].label = "cpufreq.governor=conservative conservative.up_threshold=98".into();
        started.settings[2].label = "測定用の設定と名前の長いもの測定用の設定と名前の長いもの".into();
        started.title = Some("a title with a\nline end and \u{1b}[31mcolours\u{1b}[0m ".repeat(5));
    }
    for event in &mut wide {
        if let Event::Closed(finding) = event {
            finding.levels[3].typical = f64::NAN;
            finding.levels[4].low = Some(f64::NEG_INFINITY);
            finding.verdicts[0].change = f64::NAN;
            finding.verdicts[1].high = Some(f64::INFINITY);
        }
    }
    for events in [router(), governors(), stopped(), open(), wide] {
        for width in [40, 52, 80, 100, 200] {
            let text = text::render(&model(&events), width, false);
            for line in text.lines() {
                let fits = line.width() <= width;
                assert!(fits, "{} columns of {width}: {line}", line.width());
                assert!(!line.ends_with(' '), "{line:?}");
                assert!(!line.contains('\u{1b}'), "{line:?}");
            }
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }
}

#[test]
fn colours_change_nothing_but_colours() {
    for events in [router(), governors(), stopped(), open()] {
        let (plain, coloured) = (text::render(&model(&events), 80, false), text::render(&model(&events), 80, true));
        assert_ne!(plain, coloured);
        let mut stripped = String::new();
        for (place, part) in coloured.split('\u{1b}').enumerate() {
            stripped.push_str(if place == 0 { part } else { part.split_once('m').unwrap().1 });
        }
        assert_eq!(stripped, plain);
    }
    let coloured = text::render(&model(&governors()), 80, true);
    for painted in ["\u{1b}[31m   worse \u{1b}[0m", "\u{1b}[36m    same \u{1b}[0m"] {
        assert!(coloured.contains(painted), "{coloured}");
    }
}

#[test]
fn verdict_words_stand_for_verdicts_only() {
    // No setting of this experiment has a verdict, so none of the words may be there.
    let text = text::render(&model(&stopped()), 400, false).replace("\"same\"", "");
    for word in ["better", "worse", "same", "undecided"] {
        assert!(!text.contains(word), "{word} in {text}");
    }
    let text = text::render(&model(&governors()), 400, false);
    let text =
        text.replace("higher is better", "").replace("No setting is recommended: no setting is shown to be better", "");
    for word in ["better", "undecided"] {
        assert!(!text.contains(word), "{word} in {text}");
    }
}

#[test]
fn findings_in_one_sentence() {
    let said = |events: &[Event]| sentence::headline(&model(events));
    assert_eq!(said(&router()), "500 MHz is the knee: 500, 550 and 600 MHz are the same within 5 %");
    assert_eq!(
        said(&governors()),
        "conservative (by 12.3 %) and powersave (by 34.4 %) are worse than performance; ondemand is the same as \
         performance within 5 %"
    );
    assert_eq!(
        said(&open()),
        "in real_s, undecided: governor=schedutil against governor=performance (+2.1 %, -3.0 .. +7.3), about 6 to 20 \
         blocks more would decide; in energy_j (package), governor=schedutil is better than governor=performance by 8.1 % \
         (7.2 .. 9.0)"
    );
    assert_eq!(said(&stopped()), "stopped after 1 of at most 30 blocks, before anything could be compared");
    let mut early: Vec<Event> = router();
    early.retain(|event| !matches!(event, Event::BlockDone(block) if block.block > 1));
    if let Some(Event::Closed(finding)) = early.last_mut() {
        (finding.verdicts, finding.knee, finding.blocks) = (vec![], None, 1);
    }
    let short = "nothing could be compared: it ended after 1 block, allow more (--blocks, --budget)";
    assert_eq!(said(&early), short);
    assert_eq!(said(&router()[..1]), "no end is recorded, 0 of at most 30 blocks so far, nothing compared");
}

#[test]
fn no_number_of_blocks_is_said_where_one_that_is_open_has_no_prediction() {
    let mut model = model(&governors());
    let open = |setting, predicted_blocks| {
        let found = verdict(setting, "count", Verdict::Undecided, (0.021, -0.03, 0.073));
        vec![Some(SettingVerdict { predicted_blocks, ..found })]
    };
    model.settings[1].verdicts = open(1, Some((10, 24)));
    model.settings[2].verdicts = open(2, None);
    let said = |model: &Model| sentence::headline(model).contains("more would decide");
    assert_eq!((said(&model), model.blocks_missing()), (false, None));
    model.requirements.push(RequirementStanding {
        setting: 2,
        requirement: 0,
        found: RequirementFinding { standing: Standing::Broken, trials: 4, ..RequirementFinding::UNKNOWN },
    });
    assert_eq!(
        (said(&model), model.blocks_missing()),
        (true, Some((6, 20))),
        "one that breaks a requirement is not waited for"
    );
}

#[test]
fn one_comparison_in_one_sentence() {
    let said = |found| {
        let mut model = model(&governors());
        model.settings.truncate(3);
        model.settings.remove(1);
        model.settings[1].verdicts = vec![Some(found)];
        sentence::headline(&model)
    };
    let name = "count";
    assert_eq!(
        said(verdict(1, name, Verdict::Worse, (-0.123, -0.129, -0.118))),
        "conservative is worse than performance by 12.3 % (11.8 .. 12.9)"
    );
    assert_eq!(
        said(verdict(1, name, Verdict::Undecided, (0.021, -0.03, 0.073))),
        "undecided: conservative against performance (+2.1 %, -3.0 .. +7.3), about 6 to 20 blocks more would decide"
    );
    assert_eq!(
        said(verdict(1, name, Verdict::Same, (0.0, -0.03, 0.03))),
        "conservative is the same as performance within 5 %"
    );
    let mut early = verdict(1, name, Verdict::Undecided, (f64::NAN, 0.0, 0.0));
    (early.low, early.high, early.predicted_blocks) = (None, None, None);
    assert_eq!(said(early), "undecided: conservative against performance");
}

#[test]
fn knees_in_one_sentence() {
    let said = |change: &dyn Fn(&mut powerband_record::KneeFinding)| {
        let mut model = model(&router());
        change(model.knee.as_mut().unwrap());
        sentence::headline(&model)
    };
    assert_eq!(
        said(&|knee| (knee.knee, knee.provisional, knee.probability) = (None, Some(2), Some(0.87))),
        "undecided: the knee may be 500 MHz (probability 0.87)"
    );
    assert_eq!(said(&|knee| knee.knee = None), "undecided: there is no clear knee");
    assert_eq!(
        said(&|knee| knee.alike.clear()),
        "500 MHz is the knee: 125 and 250 MHz fall short of the best by more than 5 %"
    );
    assert_eq!(
        said(&|knee| (knee.knee, knee.alike, knee.inferior) = (Some(4), vec![], vec![])),
        "125 MHz is the knee: it is within 5 % of every other; but it is worse in rate_mbit_s, so it is not recommended"
    );
    assert_eq!(
        said(&|knee| (knee.knee, knee.none) = (None, true)),
        "there is no knee: 125, 250, 500 and 550 MHz each lose more than 5 %, so nothing cheaper than 600 MHz does"
    );
}

#[test]
fn ends_that_are_failures_are_told_first() {
    let ended = |reason: CloseReason| {
        let mut model = model(&governors());
        model.end = ExperimentEnd::Closed(reason);
        sentence::headline(&model)
    };
    let why = || "load: exit status 127".to_owned();
    assert_eq!(ended(CloseReason::LoadFailed { why: why() }), "the load failed: load: exit status 127");
    assert!(ended(CloseReason::Failed { why: "the far end was lost".into() }).starts_with(
        "it could not go on: the far end was lost; until then: conservative (by 12.3 %) and powersave (by 34.4 %)"
    ));
}

#[test]
fn an_unfinished_journal_tells_what_its_trials_say() {
    // Cut in the second block, as after a kill.
    let model = Model::from_events(&router()[..16]).unwrap();
    assert_eq!((model.end, model.blocks, model.trials, model.warmups), (ExperimentEnd::Open, 1, 6, 1));
    let level = model.settings[3].levels[0].clone().unwrap();
    assert!((level.typical - (30.9_f64 * 31.0).sqrt()).abs() < 1e-12, "{}", level.typical);
    assert_eq!((level.trials, level.low), (2, None));
    assert_eq!(model.restored, None);
}

#[test]
fn what_can_be_gone_on_with_says_how() {
    let open = Model::from_events(&router()[..16]).unwrap().with_header(header());
    assert_eq!(open.going_on(), None, "it may be running");
    let cut = open.interrupted();
    assert_eq!((&cut.end, cut.going_on().as_deref()), (&ExperimentEnd::Interrupted, Some("powerband resume 12")));
    let text = text::render(&cut, 80, false);
    assert!(text.contains("\nInterrupted after block 1 of 30."), "{text}");
    assert!(text.ends_with("\nresume it:\npowerband resume 12\n"), "{text}");
    assert_eq!(Report::new(&cut).state, "interrupted");
    let stopped = Model::from_events(&stopped()).unwrap().with_header(header());
    assert_eq!(stopped.going_on().as_deref(), Some("powerband resume 12"));
    let decided = Model::from_events(&router()).unwrap().with_header(header()).interrupted();
    assert_eq!((decided.going_on(), decided.end), (None, ExperimentEnd::Closed(CloseReason::Decided)));
}

#[test]
fn that_it_was_gone_on_with_is_told() {
    let resumption = Resumption { unix_s: 1_795_240_260, kept_events: 17, dropped_events: 2, max_blocks: None };
    let with = |resumed| {
        let model = Model::from_events(&router()).unwrap().with_header(ExperimentHeader { resumed, ..header() });
        (text::render(&model, 80, false), Report::new(&model))
    };
    let (never, report) = with(vec![]);
    assert!(!never.contains("resumed") && !report.print().unwrap().contains("resumed"));
    let (once, report) = with(vec![resumption.clone()]);
    assert!(once.contains("resumed   once at 2026-11-21 05:51 UTC, after 17 events"), "{once}");
    assert_eq!(report.header.as_ref().unwrap().resumed, vec![resumption.clone()]);
    assert_eq!(Report::parse(&report.print().unwrap()).unwrap(), report);
    assert!(with(vec![resumption.clone(), resumption]).0.contains("resumed   2 times, last at"));
}

#[test]
fn what_is_no_journal_is_refused() {
    assert_eq!(Model::from_events(&[]), Err(ModelError::Empty));
    assert_eq!(Model::from_events(&router()[1..]), Err(ModelError::NoStart));
    let mut events = governors();
    if let Event::Started(started) = &mut events[0] {
        started.settings.truncate(2);
    }
    assert_eq!(Model::from_events(&events), Err(ModelError::Setting { event: 5, setting: 2, settings: 2 }));
}

#[test]
fn many_settings_and_metrics_are_split_over_tables() {
    let mut events = governors();
    if let Event::Started(started) = &mut events[0] {
        let names =
            ["p50_us", "p99_us", "p999_us", "power_w", "energy_j", "cpu_c", "interrupts_per_s", "wakeups_per_s"];
        let boundary = |name: &str| (name.ends_with("_w") || name.ends_with("_j")).then_some("wall");
        started.metrics.extend(names.iter().map(|name| metric(name, Better::Lower, false, boundary(name))));
    }
    let names: Vec<String> = model(&events).started.metrics.iter().skip(1).map(|m| m.name.clone()).collect();
    for event in &mut events {
        if let Event::TrialDone { outcome, .. } = event {
            outcome.metrics.extend(names.iter().map(|name| (name.clone(), 12.345)));
        }
    }
    let text = text::render(&model(&events), 80, false);
    assert!(text.lines().all(|line| line.width() <= 80), "{text}");
    for head in ["p999", "W (wall)", "J (wall)", "°C", "interrupts", "wakeups"] {
        assert!(text.contains(head), "{head} is missing in {text}");
    }
    assert_eq!(text.matches("│ performance").count(), 2, "{text}");
}

#[test]
fn no_watt_without_what_it_covers() {
    let mut events = router();
    if let Event::Started(started) = &mut events[0] {
        started.metrics[1].boundary = None;
    }
    let text = text::render(&model(&events), 120, false);
    assert!(text.contains("W (boundary unknown)") && text.contains("J (modelled)"), "{text}");
}

#[test]
fn output_that_was_not_kept_whole_is_told() {
    let mut events = governors();
    let mut cut = 0;
    for event in &mut events {
        if let Event::TrialDone { outcome, .. } = event {
            outcome.output.insert("load".into(), Output { cut: true, ..Output::default() });
            cut += 1;
        }
    }
    assert!(text::render(&model(&governors()), 80, false).matches("is kept").count() == 0);
    let said = format!("{cut} trials, the first of them 0: their load printed more than is kept; the rest is missing");
    assert!(model(&events).notes.contains(&said), "{:?}", model(&events).notes);
}

#[test]
fn a_list_in_rows() {
    let row = ListRow {
        id: 12,
        started_unix_s: 1_795_240_200,
        host: "bench".into(),
        title: Some("router throughput".into()),
        machine: Some("sim:omap3530".into()),
        far: None,
        load: None,
        state: "ended".into(),
        reason: Some(CloseReason::Decided),
        counts: Counts { settings: 5, blocks: 4, trials: 20, voids: 0, decided: 4, open: 0 },
        knee: Some("500 MHz".into()),
        sought: None,
        pick: None,
        elapsed_s: Some(210.0),
    };
    let stopped = ListRow {
        id: 13,
        title: None,
        machine: Some("local".into()),
        load: Some(serde_json::json!({"kind": "command", "argv": ["make", "-j8", "all"]})),
        state: "stopped".into(),
        reason: Some(CloseReason::Stopped),
        knee: None,
        counts: Counts { decided: 1, open: 2, ..row.counts },
        ..row.clone()
    };
    let running = ListRow {
        id: 14,
        state: "running".into(),
        reason: None,
        counts: Counts { decided: 0, open: 0, ..row.counts },
        elapsed_s: None,
        ..stopped.clone()
    };
    let interrupted = ListRow { id: 15, state: "interrupted".into(), ..running.clone() };
    let sought = Some("least power_w".to_owned());
    let found = ListRow {
        id: 16,
        sought: sought.clone(),
        pick: Some("freq=1400MHz rx-usecs=80".into()),
        knee: None,
        ..row.clone()
    };
    let nothing = ListRow { id: 17, sought, knee: None, ..row.clone() };
    let list = List::new(vec![row, stopped, running, interrupted, found, nothing]);
    same_as_expected(&list.render(80, None), "list", include_str!("expected/list.txt"));
    assert!(list.render(40, None).lines().all(|line| line.width() <= 40), "{}", list.render(40, None));
    assert_eq!(List::parse(&list.print().unwrap()).unwrap(), list);
    let other = list.render(80, Some("other.sqlite"));
    assert_eq!(other.matches("--store other.sqlite resume").count(), other.matches("was interrupted").count());
    assert_eq!(List::new(vec![]).render(80, None), "no experiment yet; `powerband try` makes one\n");
}
