//! What holds for every format of every report: widths, colours, data that comes back, names that stay names, one recommendation.
use std::collections::BTreeMap;

use powerband_record::{CloseReason, Event, ExperimentHeader, Requirement, RequirementStanding, Resumption, Standing};
use powerband_report::json::{JsonError, Report};
use powerband_report::list::{List, ListRow};
use powerband_report::page::{PageError, PageOrigin, data_in};
use powerband_report::text::{brief, render};
use powerband_report::{ExperimentEnd, Model, ModelError, advice, deciding, markdown, no_advice, sentence};
use serde_json::{Value, from_value, json};
use unicode_width::UnicodeWidthStr;

use crate::cases::{cases, limited, many, others, variants, with_third};
use crate::journals::{
    alone, changed, governors, header, metrics, open, outcomes, router, searched, stopped, verdicts,
};
use crate::shown::{kept, model, paged, running};

fn all() -> Vec<(String, Vec<Event>)> {
    let cases = cases().into_iter().chain(others()).map(|(name, events)| (name.to_owned(), events));
    let variants = variants().into_iter().flat_map(|(of, _, all)| all.into_iter().map(move |it| (of, it)));
    cases.chain(variants.map(|(of, (name, events))| (format!("{of}: {name}"), events))).collect()
}

/// The router with labels, titles and numbers that nobody expects.
fn wide() -> Vec<Event> {
    changed(router(), |plan, end| {
        plan.settings[1].label = "cpufreq.governor=conservative conservative.up_threshold=98".into();
        plan.settings[2].label = "測定用の設定と名前の長いもの測定用の設定と名前の長いもの".into();
        plan.title = Some("a title with a\nline end and \u{1b}[31mcolours\u{1b}[0m ".repeat(5).trim_end().into());
        (end.levels[3].typical, end.levels[4].low) = (f64::NAN, Some(f64::NEG_INFINITY));
        (end.verdicts[0].change, end.verdicts[1].high) = (f64::NAN, Some(f64::INFINITY));
    })
}

#[test]
fn every_report_fits_its_terminal_and_has_no_number_that_is_none() {
    let others = [3, 8, 200].map(|count| (format!("many {count}"), many(count)));
    for (name, events) in all().into_iter().chain(others).chain([("wide".into(), wide())]) {
        let model = model(&events);
        for width in [40, 52, 80, 100, 200] {
            let (short, full) = (brief(&model, width, false), render(&model, width, false));
            // A quoted word of a command is not folded.
            for line in short.lines().chain(full.lines()).filter(|line| !line.contains("'cmd:ssh")) {
                assert!(line.width() <= width, "{name}: {} columns of {width}: {line}", line.width());
                assert!(!line.ends_with(' ') && !line.contains('\u{1b}'), "{name}: {line:?}");
            }
            assert!(width < 80 || short.lines().count() <= 24, "{name}:\n{short}");
            assert!([short, full].iter().all(|it| !it.contains("NaN") && !it.contains("inf ")), "{name}");
        }
    }
    for line in [router(), governors(), stopped()].iter().flat_map(|events| running(events)) {
        assert!(!line.is_empty() && line.chars().count() <= 110 && !line.contains(char::is_control), "{line:?}");
    }
}

#[test]
fn colours_change_nothing_but_colours() {
    for (name, events) in cases() {
        let model = model(&events);
        for print in [brief, render] {
            let (plain, coloured) = (print(&model, 80, false), print(&model, 80, true));
            assert_ne!(plain, coloured, "{name}");
            let (first, parts) = coloured.split_once('\u{1b}').unwrap();
            let parts: String = parts.split('\u{1b}').map(|part| part.split_once('m').unwrap().1).collect();
            assert_eq!(first.to_owned() + &parts, plain, "{name}");
        }
    }
    let coloured = render(&model(&governors()), 80, true);
    let (worse, same) = ("\u{1b}[31m   worse \u{1b}[0m", "\u{1b}[36m    same \u{1b}[0m");
    assert!(coloured.contains(worse) && coloured.contains(same), "{coloured}");
}

#[test]
fn verdict_words_stand_for_verdicts_only() {
    let text = render(&model(&stopped()), 400, false).replace("\"same\"", "");
    assert_eq!(["better", "worse", "same", "undecided"].map(|word| text.contains(word)), [false; 4]);
    let text = render(&model(&governors()), 400, false).replace("higher is better", "");
    let text = text.replace("No setting is recommended: no setting is shown to be better", "");
    assert_eq!(["better", "undecided"].map(|word| text.contains(word)), [false; 2]);
}

#[test]
fn json_and_pages_give_their_data_back() {
    for (name, events) in all() {
        let (model, page) = (model(&events), paged(&events));
        let report = Report::new(&model);
        let text = report.print().unwrap();
        let back = Report::parse(&text).unwrap();
        assert_eq!((back.print().unwrap(), back), (text, report.clone()), "{name}");
        let mut data: Value = serde_json::from_str(data_in(&page).unwrap()).unwrap();
        let embedded: Report = from_value(data["report"].take()).unwrap();
        let charts = data["pictures"].as_array().map_or(0, Vec::len);
        assert_eq!((embedded, page.matches("<figure ").count()), (report, charts), "{name}");
        let (read, bench) = (PageOrigin::read(&page).unwrap(), Some("bench".into()));
        assert_eq!((read.plan, read.host), (Some(model.started), bench), "{name}");
    }
    let report = Report::new(&model(&wide()));
    let text = report.print().unwrap();
    assert!(!text.contains("null"), "{text}");
    let back = Report::parse(&text).unwrap();
    assert!(back == report && back.settings[0].levels["receive_cpu_percent"].typical.is_none());
    let newer = text.replacen("\"version\": 1", "\"version\": 2", 1);
    assert!(matches!(Report::parse(&newer), Err(JsonError::Version(2))));
    let refused = |text: &&str| matches!(Report::parse(text), Err(JsonError::Shape(_)));
    assert!(["", "{}", "[1]", "{\"version\": 1}"].iter().all(refused));
    let page = paged(&router());
    let other = PageOrigin::read("<!doctype html><p>hello</p>");
    assert!(matches!(other, Err(PageError::NotOurs)));
    let cut = &page[..page.find("\"plan\":{").unwrap()];
    for damaged in [cut, &page.replace("\"seed\":7,", "\"seed\":8,")] {
        let read = PageOrigin::read(damaged);
        assert!(matches!(read, Err(PageError::Damaged(_))));
    }
}

#[test]
fn what_is_recommended_is_the_same_in_every_format() {
    let mut typed = BTreeMap::new();
    for (name, events) in all() {
        let (model, page) = (model(&events), paged(&events));
        let (report, text) = (Report::new(&model), brief(&model, 400, false));
        let (found, row) = (advice(&model), report.recommended);
        assert_eq!((row.is_none(), report.not_recommended), (found.is_none(), no_advice(&model)));
        let typed_of = found.as_ref().and_then(|it| it.typed.clone());
        assert!(typed_of.is_some() || !text.contains("\napply "), "{name}: {text}");
        let (Some(found), Some(row)) = (found, row) else { continue };
        assert_eq!((row.setting, row.apply), (model.label(found.setting), typed_of), "{name}");
        assert_eq!(found.typed.is_none(), row.no_command.is_some(), "{name}");
        if let Some(command) = &found.typed {
            let escaped = command.replace('\'', "&#39;");
            let (typed, unrestored) = (text.contains(command), name == "router: not restored");
            assert!(page.contains(&format!("<code>{escaped}</code>")) && typed != unrestored, "{name}");
            assert_eq!(page.contains("restores what was there"), row.undo.is_some(), "{name}");
        }
        // A table has no machine that somebody would set.
        if let Some(why) = row.no_command.filter(|_| name != "search: in a table") {
            let said = format!("There is no command for it: {why}");
            assert!(text.contains(&said) && page.contains(&said), "{name}: {text}");
        }
        typed.insert(name, (found.setting, found.typed.unwrap_or_default()));
    }
    let told: String = typed.iter().map(|(name, (setting, typed))| format!("{name}: {setting} {typed}\n")).collect();
    kept("recommended", &told);
    // A knee that breaks a limit leaves it to the next one, which is the same and keeps it.
    for (standing, setting) in [(Standing::Holds, 2), (Standing::Broken, 1), (Standing::Open, 1)] {
        assert_eq!(advice(&model(&limited(standing))).unwrap().setting, setting);
    }
    for events in [governors(), open(), stopped()] {
        assert_eq!(advice(&model(&events)), None, "nothing is better, or something is open");
    }
}

#[test]
fn a_page_asks_for_nothing_and_shows_the_finding_first() {
    let page = paged(&router());
    for asking in ["src=", "href=\"http", "url(", "@import", "<link", "<iframe", "fetch(", "eval(", " style=\""] {
        assert!(!page.contains(asking), "{asking}");
    }
    let policy = page.split("Content-Security-Policy\" content=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    // Each style and script is named by its digest; the browser's tests hold that these are the right ones.
    let inline = page.matches("<style>").count() + page.matches("<script>").count();
    assert!(inline > 1 && policy.matches("'sha256-").count() == inline, "{policy}");
    // The picture of the finding is next to it, and the others come after the settings.
    for (events, id) in [
        (router(), "picture-rate-mbit-s-against-knob"),
        (governors(), "picture-levels-"),
        (searched(), "picture-search-path"),
    ] {
        let page = paged(&events);
        let (verdict, rest) = page.split_once("<section id=\"settings\"").unwrap();
        assert!(verdict.contains(&format!("<figure id=\"{id}")) && rest.contains("<figure id="), "{id}");
        assert_eq!(verdict.matches("<figure id=").count(), 1);
    }
}

#[test]
fn names_stay_names() {
    let named = |name: &str| {
        changed(governors(), |plan, end| {
            (plan.title, plan.system, end.notes) = (Some(name.into()), name.into(), vec![name.into()]);
            plan.load = json!({"kind": "command", "argv": [name]});
            plan.settings.iter_mut().for_each(|setting| setting.label = name.into());
        })
    };
    let honest = paged(&named("honest"));
    // Cells of a table of pipes are not more of them.
    let pipes = |name| markdown::render(&model(&named(name))).replace("\\|", "").matches('|').count();
    assert_eq!(pipes("a | b"), pipes("honest"));
    for hostile in [
        "</script><script>alert(1)</script>",
        "\"><img src=x onerror='alert(1)'>",
        "<!-- --!> ]]> </style></title> &lt;",
        "a\u{202e}b\u{2066}\u{0}\u{1b}[31m\u{2028}\u{feff}",
    ] {
        let (model, page) = (model(&named(hostile)), paged(&named(hostile)));
        for element in ["<script", "</script", "<img", "<style", "</style", "<!--"] {
            assert_eq!(page.matches(element).count(), honest.matches(element).count(), "{element} of {hostile:?}");
        }
        // Long labels bring titles of their own.
        assert_eq!(page.matches("<title").count(), page.matches("</title").count(), "{hostile:?}");
        assert!(!page.contains(['\0', '\u{1b}', '\u{202e}', '\u{2028}', '\u{2066}', '\u{feff}']), "{hostile:?}");
        assert_eq!(PageOrigin::read(&page).unwrap().plan, Some(model.started), "and come back as they were");
    }
}

#[test]
fn a_long_command_is_folded_as_a_shell_takes_it() {
    let far = "cmd:ssh -p 2222 somebody@a-board-with-a-long-name.example powerband agent";
    let text = brief(&model(&changed(router(), |plan, _| plan.far_typed = Some(far.into()))), 80, false);
    let lines: Vec<&str> = text.lines().collect();
    // The last line alone is a whole command, and the long one is above it.
    assert_eq!(lines.last(), Some(&"powerband show 12 -v"), "{text}");
    let first = lines.iter().position(|line| line.starts_with("powerband ")).unwrap();
    let command: Vec<&str> = lines[first..].split_inclusive(|line| !line.ends_with(" \\")).next().unwrap().to_vec();
    // The quotes hold together what is one word.
    assert!(command.len() > 1 && command.iter().all(|line| line.matches('\'').count() % 2 == 0), "{text}");
}

#[test]
fn what_can_be_continued_or_decided_says_how() {
    let open_model = Model::from_events(&router()[..16]).unwrap().with_header(header());
    assert_eq!(open_model.going_on(), None, "it may be running");
    let cut = open_model.interrupted();
    assert_eq!((&cut.end, &*Report::new(&cut).state), (&ExperimentEnd::Interrupted, "interrupted"));
    let (stopped, decided) = (model(&stopped()), model(&router()).interrupted());
    assert_eq!((decided.going_on(), &decided.end), (None, &ExperimentEnd::Closed(CloseReason::Decided)));
    // 4 blocks were run, and 20 more are predicted at most.
    let typed = |events: &[Event], typed: &str| {
        let command_line = typed.split('|').map(str::to_owned).collect();
        deciding(&Model::from_events(events).unwrap().with_header(ExperimentHeader { command_line, ..header() }))
    };
    let ended = changed(open(), |_, end| end.reason = CloseReason::Blocks);
    let words = "powerband|try|governor=all|--blocks|4|--|make|--store|x y";
    assert_eq!((typed(&open(), words), typed(&router(), words)), (None, None), "time was short; nothing is open");
    let told = [
        cut.going_on(),
        stopped.going_on(),
        typed(&ended, words),
        typed(&ended, "powerband|run|plan.toml|--store|a b"),
        deciding(&model(&with_third("1 mean_us same 0.0 -0.01 0.01"))),
    ];
    let told = told.map(Option::unwrap).join("\n");
    let resumption = Resumption { unix_s: 1_795_240_260, kept_events: 17, dropped_events: 2, max_blocks: None };
    let resumed = |times: usize| {
        let resumed = vec![resumption.clone(); times];
        let model = Model::from_events(&router()).unwrap().with_header(ExperimentHeader { resumed, ..header() });
        let report = Report::new(&model);
        assert_eq!(Report::parse(&report.print().unwrap()).unwrap(), report);
        sentence::resumptions(&model).filter(|it| render(&model, 400, false).contains(it)).unwrap_or_default()
    };
    kept("continued", &[told, brief(&cut, 80, false), resumed(0), resumed(1), resumed(2)].join("\n"));
    // What is worse is not resumed for, whatever else is open.
    let worse = model(&with_third("1 mean_us worse 0.3 0.2 0.4"));
    assert_eq!((worse.blocks_missing(), deciding(&worse)), (Some((2, 5)), None));
    assert!(no_advice(&worse).unwrap().ends_with("mean_us"), "what is worse comes before what is open");
}

#[test]
fn blocks_are_predicted_only_if_all_that_is_open_has_a_prediction() {
    let mut model = model(&governors());
    let open = |at: usize, predicted| {
        let mut found = verdicts(&format!("{at} count undecided 0.021 -0.03 0.073"));
        found[0].predicted_blocks = predicted;
        found.into_iter().map(Some).collect()
    };
    (model.settings[1].verdicts, model.settings[2].verdicts) = (open(1, Some((10, 24))), open(2, None));
    assert_eq!(model.blocks_missing(), None);
    let broken = json!({"setting": 2, "requirement": 0, "standing": "broken", "probability": 0.0, "trials": 4});
    model.requirements.push(from_value::<RequirementStanding>(broken).unwrap());
    model.started.requirements.push(Requirement::parse("count>=1").unwrap());
    assert_eq!(model.blocks_missing(), Some((6, 20)), "one that breaks a requirement is not waited for");
}

#[test]
fn a_journal_that_is_cut_has_the_levels_of_its_trials_and_none_is_refused() {
    let model = Model::from_events(&router()[..16]).unwrap();
    assert_eq!((&model.end, model.blocks, model.trials, model.warmups), (&ExperimentEnd::Open, 1, 6, 1));
    let level = model.settings[3].levels[0].clone().unwrap();
    assert!((level.typical - (30.9_f64 * 31.0).sqrt()).abs() < 1e-12, "{}", level.typical);
    assert_eq!((level.trials, level.low, model.restored), (2, None, None));
    assert_eq!(Model::from_events(&[]), Err(ModelError::Empty));
    assert_eq!(Model::from_events(&router()[1..]), Err(ModelError::NoStart));
    let few = changed(governors(), |plan, _| plan.settings.truncate(2));
    assert_eq!(Model::from_events(&few), Err(ModelError::Setting { event: 5, setting: 2, settings: 2 }));
}

#[test]
fn many_metrics_are_split_over_tables_and_time_is_what_limits() {
    let more = "p50_us-? p99_us-? p999_us-? power_w-?@wall energy_j-?@wall cpu_c-? interrupts_per_s-? wakeups_per_s-?";
    let events = changed(governors(), |plan, _| plan.metrics.extend(metrics(more)));
    let text = render(
        &model(&outcomes(events, |_, outcome| {
            outcome.metrics.extend(metrics(more).into_iter().map(|metric| (metric.name, 12.345)));
        })),
        80,
        false,
    );
    assert!(text.lines().all(|line| line.width() <= 80) && text.matches("│ performance").count() == 2, "{text}");
    kept("metrics", &text);
    let second = 1_000_000_000;
    let timed = changed(governors(), |plan, _| (plan.max_blocks, plan.budget_ns) = (10_000, Some(900 * second)));
    let all = running(&timed);
    assert!(!all.iter().any(|line| line.contains("10000")), "no limit of blocks is none: {all:?}");
    kept("time-left", &all.join("\n"));
}

#[test]
fn dots_lie_as_far_along_as_their_values() {
    let printed = |settings: &str, values: &[f64]| render(&model(&alone(settings, values)), 80, false);
    let dots = |text: &str| -> Vec<usize> {
        text.lines().filter_map(|line| line.chars().position(|sign| sign == '●')).collect()
    };
    let settings = "a; b|governor=powersave; c|governor=ondemand; d|governor=performance";
    let text = printed(settings, &[10.0, 20.0, 40.0, 10.0]);
    let [a, b, c, d] = dots(&text)[..] else { panic!("{text}") };
    assert!(a == d && b - a > 5 && (c - a).abs_diff(3 * (b - a)) <= 2, "10, 20, 40 and 10:\n{text}");
    let text = printed("600|freq=600MHz; 200|freq=200MHz; 400|freq=400MHz", &[10.0, 30.0, 20.0]);
    let [first, second, third] = dots(&text)[..] else { panic!("{text}") };
    assert!(first < second && second < third, "the slowest is the most:\n{text}");
    assert!((third - second).abs_diff(second - first) <= 1, "equal steps:\n{text}");
}

#[test]
fn a_list_in_rows() {
    let row = |id: i64, state: &str, reason: Option<CloseReason>, other: Value| {
        let mut row = json!({
            "id": id, "started_unix_s": 1_795_240_200, "host": "bench", "title": "router throughput",
            "machine": "sim:omap3530", "state": state, "reason": reason, "elapsed_s": 210.0,
            "settings": 5, "blocks": 4, "trials": 20, "voids": 0, "decided": 4, "open": 0,
        });
        row.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
        from_value::<ListRow>(row).unwrap()
    };
    let local = |decided: u32, open: u32| {
        let load = json!({"kind": "command", "argv": ["make", "-j8", "all"]});
        json!({"title": null, "machine": "local", "load": load, "decided": decided, "open": open})
    };
    let (decided, sought) = (Some(CloseReason::Decided), json!("least power_w"));
    let pick = json!({"sought": sought, "pick": "freq=1400MHz rx-usecs=80"});
    let list = List::new(vec![
        row(12, "ended", decided.clone(), json!({"knee": "500 MHz"})),
        row(13, "stopped", Some(CloseReason::Stopped), local(1, 2)),
        row(14, "running", None, local(0, 0)),
        row(15, "interrupted", None, local(0, 0)),
        row(16, "ended", decided.clone(), pick),
        row(17, "ended", decided, json!({"sought": sought})),
    ]);
    assert!(list.render(40, None).lines().all(|line| line.width() <= 40), "{}", list.render(40, None));
    assert_eq!(List::parse(&list.print().unwrap()).unwrap(), list);
    let empty = List::new(vec![]).render(80, None);
    kept(
        "list",
        &[list.render(80, None), list.render(80, Some("other.sqlite")), list.render(40, None), empty].concat(),
    );
}
