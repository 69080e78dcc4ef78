//! The default report: it fits a small terminal, ends with a command, and says what was found with its numbers.
use powerband_record::{BaselineValue, Better, CloseReason, Event, ReachedSite, Verdict};
use powerband_report::{Model, text};
use unicode_width::UnicodeWidthStr;

use crate::journals::{Journal, finding, governors, header, metric, open, pings, router, started, stopped, verdict};
use crate::same_as_expected;

fn printed(events: &[Event], width: usize) -> String {
    text::brief(&Model::from_events(events).unwrap().with_header(header()), width, false)
}

fn check(events: &[Event], name: &str, expected: &str) {
    same_as_expected(&printed(events, 80), name, expected);
}

#[test]
fn a_router_with_a_knee() {
    check(&router(), "brief-router", include_str!("expected/brief-router.txt"));
}

#[test]
fn one_metric_of_several_settings_none_better() {
    check(&governors(), "brief-governors", include_str!("expected/brief-governors.txt"));
}

#[test]
fn losses_are_the_same_within_their_own_margin() {
    let mut events = governors();
    let Some(Event::Started(started)) = events.first_mut() else { panic!("no start") };
    started.metrics[0] = metric("lost_percent", Better::Lower, true, None);
    let Some(Event::Closed(finding)) = events.last_mut() else { panic!("no end") };
    finding.verdicts.retain(|it| it.setting == 1);
    finding.verdicts.iter_mut().for_each(|it| (it.metric, it.absolute) = ("lost_percent".into(), true));
    let text = printed(&events, 80).replace('\n', " ");
    assert!(text.contains("ondemand the same within 0.5 percentage points."), "{text}");
}

#[test]
fn two_metrics_of_one_setting_one_of_them_open() {
    check(&open(), "brief-open", include_str!("expected/brief-open.txt"));
}

#[test]
fn what_an_interval_without_zero_leaves_undecided_has_its_reason() {
    let said = |low: f64, unstable: bool| {
        let mut events = open();
        for event in &mut events {
            if let Event::Closed(finding) = event {
                let open = finding.verdicts.iter_mut().filter(|it| it.verdict == Verdict::Undecided);
                open.for_each(|it| (it.low, it.unstable) = (Some(low), unstable));
            }
        }
        let text = printed(&events, 80).replace('\n', " ");
        text.contains(
            "schedutil is unstable (noisier than the others, or of two minds): its verdict takes 8 blocks at least",
        )
    };
    assert!(said(0.01, true) && !said(0.01, false) && !said(-0.03, true));
}

/// [`open`] with what remains of its difference once an effect on the next trial is allowed for.
fn allowing(after: (f64, f64)) -> Vec<Event> {
    let mut events = open();
    for event in &mut events {
        if let Event::Closed(finding) = event {
            finding.verdicts.retain(|it| it.verdict == Verdict::Better);
            finding.verdicts.iter_mut().for_each(|it| it.allowing_after = Some(after));
        }
    }
    events
}

#[test]
fn what_a_difference_of_two_settings_rests_on_is_said() {
    let assumes = "Assumes no effect on the next trial.";
    let flat = |events: &[Event]| printed(events, 80).replace('\n', " ");
    for (after, expected) in [((-0.12, 0.004), true), ((-0.12, -0.02), false)] {
        let text = flat(&allowing(after));
        assert!(
            text.contains("Error rate 5 % by ranks, for the typical trial of this session; another day may differ."),
            "{text}"
        );
        assert_eq!(text.contains(assumes), expected, "{text}");
        let model = Model::from_events(&allowing(after)).unwrap().with_header(header());
        let full = text::render(&model, 80, false).split_whitespace().collect::<Vec<_>>().join(" ");
        let says = "they assume that neither setting affects the trial after it (allowing for that: energy_j of \
                    governor=schedutil -12.0 .. +0.4 %; a longer --settle would tell)";
        assert_eq!(full.contains("neither setting affects"), expected, "{full}");
        assert!(!expected || full.contains(says), "{full}");
    }
    // Of several settings few blocks confound the two effects.
    assert!(!flat(&governors()).contains(assumes));
}

/// So many settings of one knob, each judged by two metrics.
fn many(count: u32) -> Vec<Event> {
    let labels: Vec<String> = (1..count).map(|number| format!("governor=ondemand up_threshold={number}")).collect();
    let settings: Vec<(&str, &str)> =
        [("baseline", "")].into_iter().chain(labels.iter().map(|label| (label.as_str(), label.as_str()))).collect();
    let lower = powerband_record::Better::Lower;
    let metrics = vec![metric("real_s", lower, true, None), metric("power_w", lower, true, Some("wall"))];
    let mut plan = started("local", &settings, metrics);
    plan.baseline = vec![BaselineValue { knob: "cpufreq.governor".into(), value: "performance".into() }];
    let mut journal = Journal::new(plan);
    for setting in 0..count {
        journal.valid(1, setting, &[("real_s", 0.012 + f64::from(setting) * 1e-5), ("power_w", 50.0)]);
    }
    let verdicts = (1..count).flat_map(|setting| {
        let time = verdict(setting, "real_s", Verdict::Worse, (0.1, 0.05, 0.15));
        let best = if setting == 37 { -0.2 } else { -0.1 };
        [time, verdict(setting, "power_w", Verdict::Better, (best, best - 0.01, best + 0.01))]
    });
    let verdicts = verdicts.collect();
    let mut finding = finding(CloseReason::Decided, 1);
    finding.verdicts = verdicts;
    journal.close(finding)
}

#[test]
fn every_report_fits_its_terminal() {
    for events in [router(), governors(), stopped(), open(), pings(), many(3), many(8), many(60), many(200)] {
        for width in [40, 52, 80, 100, 200] {
            let text = printed(&events, width);
            for line in text.lines() {
                assert!(line.width() <= width, "{} columns of {width}: {line}", line.width());
                assert!(!line.ends_with(' ') && !line.contains('\u{1b}'), "{line:?}");
            }
            assert!(width < 80 || text.lines().count() <= 24, "{} lines:\n{text}", text.lines().count());
            assert!(!text.contains("NaN") && !text.contains("inf ") && !text.contains("as found"), "{text}");
        }
    }
}

#[test]
fn a_crowd_of_settings_is_shown_by_its_best_and_counted() {
    let text = printed(&many(60), 80);
    assert!(text.contains("baseline: governor=performance; all other settings: governor=ondemand"), "{text}");
    assert!(text.contains("more settings: powerband show 12 -v"), "{text}");
    let head = text.lines().find(|line| line.contains("verdict")).unwrap();
    assert!(head.trim_start().starts_with("up_threshold"), "what is shared stands in the head: {head}");
    assert!(text.contains("12 ms") || text.contains("ms"), "short times are no 0.012 s:\n{text}");
}

#[test]
fn colours_change_nothing_but_colours() {
    for events in [router(), governors(), stopped(), open(), many(60)] {
        let model = Model::from_events(&events).unwrap().with_header(header());
        let (plain, coloured) = (text::brief(&model, 80, false), text::brief(&model, 80, true));
        assert_ne!(plain, coloured);
        let mut stripped = String::new();
        for (place, part) in coloured.split('\u{1b}').enumerate() {
            stripped.push_str(if place == 0 { part } else { part.split_once('m').unwrap().1 });
        }
        assert_eq!(stripped, plain);
    }
}

#[test]
fn what_was_not_restored_is_the_last_word() {
    let mut events = router();
    let failing = "nic.rx-usecs at eth0 reads 256 where it read 261 before";
    for event in &mut events {
        if let Event::Restored { failed, .. } = event {
            failed.push(failing.to_owned());
        }
    }
    let text = printed(&events, 80);
    let flat = text.replace('\n', " ");
    assert!(flat.contains(&format!("RESTORE INCOMPLETE: 1 change could not be restored: {failing}")), "{text}");
    assert!(text.ends_with("\nrestore the rest:\npowerband --machine sim:omap3530 --far sim:pc undo\n"), "{text}");
}

#[test]
fn a_setting_that_changes_nothing_is_the_baseline_and_adjusted_values_are_named_once() {
    let site = |knob: &str, asked: &str, landed: &str| ReachedSite {
        knob: knob.into(),
        site: "eth0".into(),
        asked: asked.into(),
        reads_back: None,
        landed: landed.into(),
    };
    let mut events = Vec::new();
    for event in governors() {
        let trial = match &event {
            Event::TrialStarted(planned) => Some(*planned),
            _ => None,
        };
        events.push(event);
        let Some(planned) = trial else { continue };
        let landed = match planned.setting {
            1 => site("cpufreq.governor", "ondemand", "already so"),
            _ => site("nic.rx-usecs", "260", "clamped to 259"),
        };
        events.push(Event::Landed { trial: planned.trial, site: landed });
    }
    let text = printed(&events, 80).replace("\n  ", " ");
    assert_eq!(text.matches("ondemand equals the baseline").count(), 1, "{text}");
    assert_eq!(text.matches("rx-usecs=260 clamped to 259").count(), 1, "{text}");
    let (rows, caveat) = text.split_once("Caveat: * values adjusted by the driver: ").unwrap();
    assert!(caveat.starts_with("rx-usecs=260 clamped to 259"), "{text}");
    assert!(rows.contains("powersave* ") && !rows.contains("ondemand*"), "{text}");
    let full = text::render(&Model::from_events(&events).unwrap(), 80, false);
    assert!(full.contains("values adjusted by the driver\n- rx-usecs=260 clamped to 259 at eth0 ("), "{full}");
    assert_eq!(full.matches("clamped to 259 at eth0").count(), 1, "{full}");
}

#[test]
fn a_command_too_long_for_a_line_goes_on_in_the_next_as_a_shell_takes_it() {
    let mut events = router();
    if let Event::Started(started) = &mut events[0] {
        started.machine = "sim:omap3530".into();
        started.far_typed = Some("cmd:ssh -p 2222 somebody@a-board-with-a-long-name.example powerband agent".into());
    }
    let text = printed(&events, 80);
    let lines: Vec<&str> = text.lines().collect();
    // The last line alone is a whole command, and the long one is above it.
    assert_eq!(lines.last(), Some(&"powerband show 12 -v"), "{text}");
    let first = lines.iter().position(|line| line.starts_with("powerband ")).unwrap();
    let command: Vec<&str> =
        lines[first..].iter().scan(true, |on, line| on.then(|| (*on = line.ends_with(" \\"), *line).1)).collect();
    assert!(command.len() > 1 && command.last().is_some_and(|line| !line.ends_with('\\')), "{text}");
    // The quotes hold together what is one word.
    assert!(command.iter().all(|line| line.matches('\'').count() % 2 == 0), "{text}");
}
