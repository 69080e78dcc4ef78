//! Plots between the tables of a report: where their dots lie, and when there is none.
use powerband_record::{Better, CloseReason, Event, Finding, Level, Started, Verdict};
use powerband_report::{Model, text};

use crate::journals::{Journal, finding, governors, metric, router, started, verdict};

const DOT: char = '●';

fn printed(events: &[Event], width: usize, colour: bool) -> String {
    text::render(&Model::from_events(events).unwrap(), width, colour)
}

/// Settings of these values, judged by one metric; the first is the reference.
fn measured(settings: &[(&str, &str)], values: &[f64]) -> Vec<Event> {
    let plan = Started { ..started("sim:pc", settings, vec![metric("real_s", Better::Lower, true, None)]) };
    let mut journal = Journal::new(plan);
    for (setting, value) in (0..).zip(values) {
        journal.valid(1, setting, &[("real_s", *value)]);
    }
    journal.block(1, vec![], None);
    let count = u32::try_from(settings.len()).unwrap();
    let verdicts = (1..count).map(|setting| verdict(setting, "real_s", Verdict::Worse, (0.1, 0.05, 0.15))).collect();
    let level = |(setting, value): (u32, &f64)| {
        let (low, high) = (Some(value * 0.9), Some(value * 1.1));
        Level { setting, metric: "real_s".into(), trials: 1, typical: *value, low, high }
    };
    let levels = (0..).zip(values).map(level).collect();
    journal.close(Finding { levels, verdicts, ..finding(CloseReason::Decided, 1) })
}

/// Columns of the dots, line by line.
fn dots(text: &str) -> Vec<usize> {
    text.lines().filter_map(|line| line.chars().position(|sign| sign == DOT)).collect()
}

#[test]
fn dots_lie_as_far_along_as_their_values() {
    let settings = [("a", ""), ("b", "governor=powersave"), ("c", "governor=ondemand"), ("d", "governor=performance")];
    let text = printed(&measured(&settings, &[10.0, 20.0, 40.0, 10.0]), 80, false);
    let columns = dots(&text);
    let [a, b, c, d] = columns[..] else { panic!("{columns:?}\n{text}") };
    assert_eq!(a, d, "{text}");
    let (near, far) = (b - a, c - a);
    assert!(near > 5 && far.abs_diff(3 * near) <= 2, "10, 20 and 40 lie at {a}, {b}, {c}:\n{text}");
    let plot: Vec<&str> = text.lines().filter(|line| line.contains(DOT)).collect();
    assert!(plot.iter().all(|line| line.contains('├') && line.contains('┤')), "whiskers:\n{text}");
    let rule = |line: &&str| line.chars().nth(a).is_some_and(|sign| "┆●".contains(sign));
    assert!(plot.iter().filter(|line| !line.starts_with('b')).all(rule), "the reference at {a}:\n{text}");
}

#[test]
fn a_numeric_knob_lies_along_and_the_metric_up() {
    let settings = [("600", "freq=600MHz"), ("200", "freq=200MHz"), ("400", "freq=400MHz")];
    let text = printed(&measured(&settings, &[10.0, 30.0, 20.0]), 80, false);
    assert!(text.contains("real_s, s against freq, MHz; ┄ is 600"), "{text}");
    let columns = dots(&text);
    let [first, second, third] = columns[..] else { panic!("{columns:?}\n{text}") };
    assert!(first < second && second < third, "the slowest is the most:\n{text}");
    assert!((third - second).abs_diff(second - first) <= 1, "equal steps:\n{text}");
    assert!(text.contains("600\n"), "the axis names the knob's values:\n{text}");
}

#[test]
fn two_settings_and_a_crowd_have_no_plot() {
    let two = [("a", ""), ("b", "governor=powersave")];
    assert!(!printed(&measured(&two, &[1.0, 2.0]), 80, false).contains(DOT));
    let names: Vec<String> = (0..30).map(|number| format!("governor=g{number}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), name.as_str())).collect();
    let values: Vec<f64> = (0..30).map(f64::from).collect();
    assert!(!printed(&measured(&many, &values), 80, false).contains(DOT));
}

#[test]
fn a_plot_fits_its_terminal_and_has_colours_only_where_they_are_wanted() {
    for events in [router(), governors()] {
        for width in [40, 60, 80, 200] {
            let text = printed(&events, width, false);
            let widest = text.lines().filter(|line| line.contains(DOT)).map(|line| line.chars().count()).max();
            assert!(widest.is_some_and(|wide| (25..=width.min(90)).contains(&wide)), "{widest:?} of {width}:\n{text}");
            assert!(!text.contains('\u{1b}'));
            let coloured = printed(&events, width, true);
            assert!(coloured.contains("\u{1b}[31m"), "what is worse is red:\n{coloured}");
            let plain = coloured.split('\u{1b}').map(|part| part.split_once('m').filter(|_| part.starts_with('[')));
            let plain: String =
                coloured.split('\u{1b}').zip(plain).map(|(part, rest)| rest.map_or(part, |(_, rest)| rest)).collect();
            assert_eq!(plain, text, "colours are all that differs");
        }
    }
}
