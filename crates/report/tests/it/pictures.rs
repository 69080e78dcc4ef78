//! Pictures: every mark lies where its values say, nothing breaks out of a drawing, and what has no value is not drawn.
use std::collections::BTreeSet;

use powerband_record::{Better, CloseReason, Event, Finding, Level, Started, Verdict};
use powerband_report::Model;
use powerband_report::picture::palette::Theme;
use powerband_report::picture::{Picture, pictures};
use roxmltree::{Document, Node};

mod compared;
pub(crate) mod done;

use super::journals::{self, Journal, finding, metric, started, verdict};

/// An experiment of settings that measured these numbers in three blocks, with intervals of a tenth.
fn measured(labels: &[String], values: &[f64]) -> Vec<Event> {
    let settings: Vec<(&str, &str)> = labels.iter().map(|label| (label.as_str(), "")).collect();
    let plan = Started { ..started("sim:pc", &settings, vec![metric("real_s", Better::Lower, true, None)]) };
    let mut journal = Journal::new(plan);
    for block in 1..=3 {
        for (setting, value) in (0..).zip(values) {
            journal.valid(block, setting, &[("real_s", value + f64::from(block) / 100.0)]);
        }
        journal.block(block, vec![], None);
    }
    let level = |(setting, value): (u32, &f64)| Level {
        setting,
        metric: "real_s".into(),
        trials: 3,
        typical: *value,
        low: Some(value * 0.9),
        high: Some(value * 1.1),
    };
    let words = [Verdict::Better, Verdict::Worse, Verdict::Same, Verdict::Undecided];
    let verdicts = (1..u32::try_from(values.len()).unwrap())
        .map(|setting| verdict(setting, "real_s", words[setting as usize % words.len()], (0.01, 0.0, 0.02)));
    let verdicts = verdicts.collect();
    let levels = (0..).zip(values).map(level).collect();
    journal.close(Finding { levels, verdicts, ..finding(CloseReason::Decided, 3) })
}

fn named(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("governor=conservative up_threshold={number} down_threshold=5")).collect()
}

fn drawn(events: &[Event]) -> Vec<Picture> {
    pictures(&Model::from_events(events).unwrap(), None)
}

fn number(node: &Node, name: &str) -> Option<f64> {
    node.attribute(name).map(|value| value.parse().unwrap())
}

/// The value at a position of the axis that a mark is drawn by.
fn value_at(mark: &Node, axis: &str, place: f64) -> f64 {
    let mut axes = mark.ancestors().flat_map(|node| node.children().collect::<Vec<_>>());
    let found = axes.find(|node| node.attribute("data-axis") == Some(axis));
    let scale = found.unwrap().attribute("data-scale").unwrap();
    let mut words = scale.split(' ');
    let kind = words.next().unwrap();
    let ends: Vec<f64> = words.map(|word| word.parse().unwrap()).collect();
    let [low, high, from, to] = ends[..] else { panic!("{scale}") };
    let share = (place - from) / (to - from);
    if kind == "log" { low * (high / low).powf(share) } else { low + (high - low) * share }
}

/// Every point and interval lies where its values say, to a five-hundredth of its axis.
fn lies_where_it_says(picture: &Picture) -> usize {
    let document = Document::parse(&picture.svg).unwrap();
    let class =
        |node: &Node, wanted: &str| node.attribute("class").is_some_and(|it| it.split(' ').any(|it| it == wanted));
    let same = |mark: &Node, axis: &str, place: &str, value: &str| {
        let value = number(mark, value).unwrap();
        let place = number(mark, place).unwrap();
        let found = value_at(mark, axis, place);
        let around = value_at(mark, axis, place + 0.5) - value_at(mark, axis, place - 0.5);
        assert!((found - value).abs() <= around.abs() / 20.0, "{}: {axis} {found} is not {value}", picture.id);
    };
    let mut marks = 0;
    for mark in document.descendants().filter(|node| class(node, "pb-mark")) {
        let panelled = mark.ancestors().any(|node| class(&node, "pb-panel"));
        if class(&mark, "pb-point") {
            marks += 1;
            let places = if mark.has_tag_name("circle") { ("cx", "cy") } else { ("data-cx", "data-cy") };
            same(&mark, "x", places.0, "data-x");
            if panelled {
                same(&mark, "y", places.1, "data-y");
            }
        } else if class(&mark, "pb-interval") {
            let (axis, from, to) =
                if mark.has_attribute("data-y1") { ("y", "data-y1", "data-y2") } else { ("x", "data-x1", "data-x2") };
            same(&mark, axis, from, "data-low");
            same(&mark, axis, to, "data-high");
        }
    }
    marks
}

fn find<'a>(all: &'a [Picture], id: &str) -> &'a Picture {
    all.iter().find(|picture| picture.id == id).unwrap_or_else(|| panic!("no picture {id}"))
}

#[test]
fn marks_lie_where_their_values_say() {
    for events in [journals::router(), journals::governors(), journals::open(), journals::pings()] {
        let all = drawn(&events);
        assert!(!all.is_empty());
        for picture in &all {
            assert!(lies_where_it_says(picture) > 0, "{} has no point", picture.id);
            assert!(picture.rows.iter().all(|row| row.len() == picture.columns.len()), "{}", picture.id);
            assert!(!picture.rows.is_empty() && picture.desc.ends_with('.'), "{}", picture.id);
        }
        let ids: BTreeSet<&str> = all.iter().map(|picture| picture.id.as_str()).collect();
        assert_eq!(ids.len(), all.len());
        assert!(ids.iter().all(|id| id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')));
    }
}

#[test]
fn two_twelve_and_a_hundred_settings_have_a_mark_each() {
    for count in [2, 12, 100] {
        let values: Vec<f64> = (0..count).map(|number| 10.0 + f64::from(number % 7)).collect();
        let all = drawn(&measured(&named(values.len()), &values));
        let levels = find(&all, "levels-real-s");
        assert_eq!((lies_where_it_says(levels), levels.rows.len()), (values.len(), values.len()));
        let document = Document::parse(&levels.svg).unwrap();
        let points = || document.descendants().filter(|node| node.attribute("class") == Some("pb-mark pb-point"));
        let shown: Vec<f64> = points().map(|point| number(&point, "data-x").unwrap()).collect();
        assert_eq!(shown, values, "exactly, in the order of the settings");
        // Labels stay apart: rows are at least as far from one another as letters are high.
        let mut ys: Vec<f64> = points().filter_map(|it| number(&it, "cy").or(number(&it, "data-cy"))).collect();
        ys.sort_by(f64::total_cmp);
        assert!(ys.windows(2).all(|pair| pair[1] - pair[0] > 12.0));
        assert_eq!(lies_where_it_says(find(&all, "trials-real-s")), 3 * values.len());
    }
}

#[test]
fn hostile_labels_stay_text() {
    let hostile = "</text><script>alert(1)</script>\"'& \u{202e}gnp.exe\u{2066}\u{0}\u{1b}[31m\u{7f}\u{fffe}\u{2028}";
    let all = drawn(&measured(&[hostile.to_owned(), "b".into()], &[1.0, 2.0]));
    assert!(!all.is_empty());
    for picture in &all {
        let document = Document::parse(&picture.svg).unwrap();
        let known = ["svg", "title", "desc", "rect", "g", "line", "text", "path", "circle"];
        let strange: Vec<&str> = document
            .descendants()
            .filter(Node::is_element)
            .map(|it| it.tag_name().name())
            .filter(|it| !known.contains(it))
            .collect();
        assert!(strange.is_empty(), "{strange:?}");
        assert!(!picture.svg.contains("<script") && !picture.svg.contains("http://www.w3.org/1999"));
        let controls = |c: char| {
            c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c)
        };
        assert!(!picture.svg.contains(controls), "{}", picture.svg);
        let label =
            document.descendants().find_map(|node| node.attribute("data-label").filter(|it| it.contains("script")));
        let label = label.unwrap();
        assert!(label.contains("</text><script>") && label.contains("U+202E") && label.contains("U+001B"), "{label}");
    }
}

#[test]
fn what_has_no_value_is_not_drawn() {
    assert_eq!(drawn(&[Event::Started(Box::new(started("sim:pc", &[("a", "")], vec![])))]), []);
    let metrics = vec![metric("real_s", Better::Lower, true, None)];
    assert_eq!(drawn(&[Event::Started(Box::new(started("sim:pc", &[("a", ""), ("b", "")], metrics)))]), []);
    // A level that is no number is left out, the others stay.
    let all = drawn(&measured(&named(3), &[1.0, f64::NAN, 3.0]));
    assert_eq!((lies_where_it_says(&all[0]), all[0].rows.len()), (2, 2));
    assert!(all.iter().all(|picture| !picture.svg.contains("NaN") && !picture.svg.contains("inf")));
    // One setting, and all settings alike.
    assert_eq!(lies_where_it_says(&drawn(&measured(&named(1), &[5.0]))[0]), 1);
    assert_eq!(lies_where_it_says(&drawn(&measured(&named(4), &[0.0; 4]))[0]), 4);
}

#[test]
fn a_drawing_stands_alone() {
    for picture in drawn(&journals::router()) {
        let document = Document::parse(&picture.svg).unwrap();
        let root = document.root_element();
        assert_eq!((root.tag_name().name(), root.attribute("role")), ("svg", Some("group")));
        let text = |name: &str| {
            root.children().find(|it| it.has_tag_name(("http://www.w3.org/2000/svg", name))).unwrap().text()
        };
        assert_eq!((text("title"), text("desc")), (Some(picture.title.as_str()), Some(picture.desc.as_str())));
        for outside in ["href", "url(", "<style", "<script", "<image", "<foreignObject", " on"] {
            let marked =
                picture.svg.split('<').filter(|tag| tag.split('>').next().is_some_and(|tag| tag.contains(outside)));
            let attributes: Vec<&str> =
                marked.filter(|tag| outside != " on" || tag.contains(" on") && tag.contains("click")).collect();
            assert!(attributes.is_empty(), "{outside}: {attributes:?}");
        }
        let plain = picture.file(Theme::Light);
        assert!(plain.contains("#0072b2") && !plain.contains("var("));
        Document::parse(&plain).unwrap();
    }
}

#[test]
fn the_knee_is_marked_where_it_lies() {
    let all = drawn(&journals::router());
    let knee = find(&all, "rate-mbit-s-against-knob");
    let document = Document::parse(&knee.svg).unwrap();
    let ringed: Vec<Node> = document.descendants().filter(|it| it.attribute("class") == Some("pb-ring")).collect();
    let [ring] = ringed[..] else { panic!("{} rings", ringed.len()) };
    assert_eq!((ring.attribute("data-x"), ring.attribute("data-label")), (Some("500"), Some("500 MHz")));
    assert!(knee.desc.contains("The knee is 500 MHz"), "{}", knee.desc);
}

#[test]
fn a_few_points_can_be_reached_by_keys_and_hundreds_cannot() {
    for (count, reached) in [(12_usize, 12), (101, 0)] {
        let values: Vec<f64> = (0..count).map(|number| number as f64).collect();
        let all = drawn(&measured(&named(count), &values));
        let picture = find(&all, "levels-real-s");
        let document = Document::parse(&picture.svg).unwrap();
        let stops: Vec<Node> = document.descendants().filter(|it| it.has_attribute("tabindex")).collect();
        assert_eq!(stops.len(), reached);
        // Each says its values, and none is inside an image.
        assert!(
            stops
                .iter()
                .all(|it| it.children().any(|child| child.has_tag_name(("http://www.w3.org/2000/svg", "title"))))
        );
        let role = document.root_element().attribute("role");
        assert_eq!(role, Some(if reached > 0 { "group" } else { "img" }));
    }
}

#[test]
fn the_front_is_what_no_other_beats() {
    let metrics =
        vec![metric("rate_mbit_s", Better::Higher, true, None), metric("power_w", Better::Lower, true, Some("wall"))];
    let settings = [("a", ""), ("b", ""), ("c", ""), ("d", "")];
    let mut journal = Journal::new(started("sim:pc", &settings, metrics));
    // b beats a in both; d is the cheapest, c the fastest.
    for (setting, (rate, power)) in (0..).zip([(50.0, 9.0), (60.0, 8.0), (70.0, 12.0), (40.0, 5.0)]) {
        journal.valid(1, setting, &[("rate_mbit_s", rate), ("power_w", power)]);
    }
    let all = drawn(&journal.close(finding(CloseReason::Decided, 1)));
    let front = find(&all, "front-rate-mbit-s-power-w");
    assert_eq!(lies_where_it_says(front), 4);
    let best: Vec<&str> = front.rows.iter().filter(|row| row[7] == "yes").map(|row| row[0].as_str()).collect();
    assert_eq!(best, ["b", "c", "d"]);
    let document = Document::parse(&front.svg).unwrap();
    let ringed: BTreeSet<&str> = document
        .descendants()
        .filter(|it| it.attribute("class") == Some("pb-ring"))
        .filter_map(|it| it.attribute("data-label"))
        .collect();
    assert_eq!(ringed.into_iter().collect::<Vec<_>>(), ["b", "c", "d"]);
}

#[test]
fn tails_fall_from_all_values_to_few() {
    let all = drawn(&journals::pings());
    let tail = find(&all, "tail-rtt");
    assert!(lies_where_it_says(tail) >= 6, "percentiles of two settings");
    let document = Document::parse(&tail.svg).unwrap();
    let steps = document.descendants().filter(|it| it.attribute("class") == Some("pb-mark pb-step"));
    assert_eq!(steps.count(), 2);
    assert_eq!(tail.columns, ["setting", "values", "least", "p50", "p90", "p99", "p99.9", "most"]);
}

#[test]
fn a_ladder_has_a_line_for_each_setting_and_a_point_for_each_level() {
    let names =
        ["at_100_power_w", "at_50_power_w", "at_10_power_w", "idle_power_w", "at_50_score_per_w", "at_100_score_per_w"];
    let metrics = names.iter().map(|name| metric(name, Better::Lower, false, Some("modelled"))).collect();
    let mut journal = Journal::new(started("sim:x3650", &[("performance", ""), ("ondemand", "")], metrics));
    for setting in 0..2_u32 {
        let values: Vec<(&str, f64)> = names
            .iter()
            .zip([500.0, 400.0, 280.0, 250.0, 0.9, 1.0])
            .map(|(name, value)| (*name, value - f64::from(setting)))
            .collect();
        journal.valid(1, setting, &values);
    }
    let all = drawn(&journal.close(finding(CloseReason::Decided, 1)));
    let watts = find(&all, "ladder-power-w");
    assert_eq!((lies_where_it_says(watts), watts.rows.len()), (8, 8));
    assert!(watts.rows.iter().any(|row| row[..3] == ["idle", "performance", "250"]), "{:?}", watts.rows);
    assert_eq!(lies_where_it_says(find(&all, "ladder-score-per-w")), 4);
    assert!(find(&all, "ladder-score-per-w").desc.contains("at 100 % from 0 1/W (ondemand) to 1 1/W (performance)"));
}

#[test]
fn several_settings_of_two_knobs_make_a_line_each() {
    let settings: Vec<(String, String)> = ["10", "100", "1000"]
        .iter()
        .flat_map(|delay| ["ondemand", "powersave"].map(|governor| format!("nic.rx-usecs={delay} governor={governor}")))
        .map(|turns| (turns.clone(), turns))
        .collect();
    let settings: Vec<(&str, &str)> = settings.iter().map(|(label, turns)| (label.as_str(), turns.as_str())).collect();
    let mut journal = Journal::new(started("sim:pc", &settings, vec![metric("rtt_ms", Better::Lower, true, None)]));
    for setting in 0..6 {
        journal.valid(1, setting, &[("rtt_ms", 0.1 * f64::from(setting + 1))]);
    }
    let all = drawn(&journal.close(finding(CloseReason::Decided, 1)));
    let against = find(&all, "rtt-ms-against-knob");
    assert_eq!(lies_where_it_says(against), 6);
    let document = Document::parse(&against.svg).unwrap();
    let lines: Vec<&str> = document
        .descendants()
        .filter(|it| it.attribute("class") == Some("pb-mark pb-line"))
        .filter_map(|it| it.attribute("data-label"))
        .collect();
    assert_eq!(lines, ["governor=ondemand", "governor=powersave"]);
    let scale = document.descendants().find(|it| it.attribute("data-axis") == Some("x")).unwrap();
    assert!(scale.attribute("data-scale").unwrap().starts_with("log "), "10 to 1000 by its logarithm");
}

/// The picture of a metric of a hundred settings: five governors at twenty delays each, against the baseline.
fn hundred() -> Picture {
    let governors = ["ondemand", "powersave", "performance", "schedutil", "conservative"];
    let turned = governors
        .iter()
        .flat_map(|governor| (1..=20).map(move |delay| format!("governor={governor} nic.rx-usecs={}", 10 * delay)));
    let settings: Vec<String> = turned.collect();
    let settings: Vec<(&str, &str)> =
        [("baseline", "")].into_iter().chain(settings.iter().map(|turns| (turns.as_str(), turns.as_str()))).collect();
    let mut journal = Journal::new(started("sim:pc", &settings, vec![metric("rtt_ms", Better::Lower, true, None)]));
    for (setting, _) in (0..).zip(&settings) {
        // The last points of all lines lie around what the machine does as found.
        let (line, delay) = ((setting.max(1) - 1) / 20, (setting.max(1) - 1) % 20);
        let value = if setting == 0 { 2.0 } else { 0.1 * f64::from(delay + 1) + 0.02 * f64::from(line) };
        journal.valid(1, setting, &[("rtt_ms", value)]);
    }
    find(&drawn(&journal.close(finding(CloseReason::Decided, 1))), "rtt-ms-against-knob").clone()
}

#[test]
fn more_lines_than_three_have_a_panel_each_and_words_keep_clear_of_points() {
    let picture = hundred();
    assert_eq!(lies_where_it_says(&picture), 100);
    let document = Document::parse(&picture.svg).unwrap();
    let of_class = |class: &str| -> Vec<Node> {
        document
            .descendants()
            .filter(|it| it.attribute("class").is_some_and(|it| it.split(' ').any(|it| it == class)))
            .collect()
    };
    let panels = of_class("pb-panel");
    assert_eq!(panels.len(), 5);
    let scales: BTreeSet<Vec<&str>> = of_class("pb-axis")
        .iter()
        .filter(|it| it.attribute("data-axis") == Some("y"))
        .map(|it| it.attribute("data-scale").unwrap().split(' ').take(3).collect())
        .collect();
    assert_eq!(scales.len(), 1, "all on one scale");
    for panel in panels {
        let inside = |class: &str| -> Vec<Node> {
            panel
                .descendants()
                .filter(|it| it.attribute("class").is_some_and(|it| it.split(' ').any(|it| it == class)))
                .collect()
        };
        let (lines, points) = (inside("pb-line"), inside("pb-point"));
        let own: Vec<&Node> = lines.iter().filter(|it| it.attribute("data-label").is_some()).collect();
        assert_eq!((lines.len(), own.len(), points.len()), (5, 1, 20));
        let named = panel.attribute("data-title").unwrap();
        assert!(named.starts_with(own[0].attribute("data-label").unwrap()), "{named}");
        let words = inside("pb-text").into_iter().find(|it| it.text() == Some("baseline")).unwrap();
        let (x, y) = (number(&words, "x").unwrap(), number(&words, "y").unwrap());
        let left = if words.attribute("text-anchor") == Some("end") { x - 50.0 } else { x };
        for point in points {
            let at = |name: &str| number(&point, name).or_else(|| number(&point, &format!("data-{name}"))).unwrap();
            let (cx, cy) = (at("cx"), at("cy"));
            let on = cx > left && cx < left + 50.0 && cy > y - 8.0 && cy < y;
            assert!(!on, "'as found' at {x}, {y} lies on {cx}, {cy}");
        }
    }
}

#[test]
fn settings_that_have_no_room_are_told_and_the_best_stay() {
    let values: Vec<f64> = (0..14).map(|setting| 20.0 - f64::from(setting)).collect();
    let mut events = measured(&named(14), &values);
    for event in &mut events {
        let Event::TrialDone { outcome, .. } = event else { continue };
        let readings: Vec<(u64, u64)> = (0..20).map(|i| (i * 1_000_000_000, 1_000_000 + i)).collect();
        let quantity = powerband_record::MeterQuantity::PowerUw;
        let side = powerband_record::Side::Near;
        outcome.timelines =
            vec![powerband_record::Timeline::pack(side, "hwmon", "board", quantity, &readings).unwrap()];
    }
    let courses = powerband_report::courses::Courses::from_events(&events).unwrap();
    let all = pictures(&Model::from_events(&events).unwrap(), Some(&courses));
    let power = all.iter().find(|picture| picture.id.starts_with("power-")).unwrap();
    let told = "Of 14 settings, the reference and the 11 best in real_s are drawn.";
    assert!(power.desc.contains(told), "{}", power.desc);
    let drawn: Vec<&str> = power.rows.iter().map(|row| row[0].as_str()).collect();
    let names = named(14);
    assert_eq!(drawn.len(), 12);
    assert!(drawn[0] == names[0] && drawn[1] == names[3] && drawn[11] == names[13], "{drawn:?}");
}
