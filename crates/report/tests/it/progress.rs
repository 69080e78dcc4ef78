//! Lines while it runs.
use powerband_record::Event;
use powerband_report::text::{ProgressState, progress};

use crate::journals::{governors, router, stopped};
use crate::same_as_expected;

fn lines(events: &[Event]) -> Vec<String> {
    let mut state = ProgressState::default();
    let mut lines = vec![];
    for event in events {
        state.see(event);
        lines.extend(progress(event, &state));
    }
    lines
}

#[test]
fn a_router_with_a_knee() {
    let found = lines(&router()).join("\n") + "\n";
    same_as_expected(&found, "router-progress", include_str!("expected/router-progress.txt"));
}

#[test]
fn one_that_is_stopped() {
    let found = lines(&stopped()).join("\n") + "\n";
    same_as_expected(&found, "stopped-progress", include_str!("expected/stopped-progress.txt"));
}

#[test]
fn every_line_is_one_short_line() {
    for line in [router(), governors(), stopped()].iter().flat_map(|events| lines(events)) {
        assert!(!line.is_empty() && line.chars().count() <= 110, "{line}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
}

#[test]
fn time_left_is_known_from_the_first_trial_where_time_is_what_limits() {
    let mut events = governors();
    if let Event::Started(started) = &mut events[0] {
        (started.max_blocks, started.budget_ns) = (10_000, Some(900_000_000_000));
    }
    let all = lines(&events);
    assert!(!all.iter().any(|line| line.contains("10000")), "no limit of blocks is none: {all:?}");
    let running: Vec<&String> = all.iter().filter(|line| line.contains("; now ")).collect();
    assert!(running.iter().all(|line| line.contains(" left")), "{running:?}");
    let estimates = running.iter().filter(|line| line.contains("; estimate ")).count();
    assert!(estimates > running.len() / 2, "{running:?}");
}
