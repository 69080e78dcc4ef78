//! What meters showed meanwhile: a line a trial, every reading as CSV, both as JSON.
use powerband_record::{Event, MeterQuantity, Side, Timeline};
use powerband_report::timelines::Timelines;
use unicode_width::UnicodeWidthStr;

use crate::journals::pings;

/// Ten times a second; a gauge near the first trial's load, in the second a counter that comes round once.
pub(crate) fn events() -> Vec<Event> {
    let at = |i: u64| 5_000 + i * 100_000_000;
    let gauge: Vec<(u64, u64)> = (0..30).map(|i| (at(i), 10_000_000 + 500_000 * i)).collect();
    let counter: Vec<(u64, u64)> = (0..30).map(|i| (at(i), (990_000 + 200_000 * i) % 3_000_000)).collect();
    let mut events = pings();
    for event in &mut events {
        let Event::TrialDone { trial, outcome, .. } = event else { continue };
        outcome.timelines = match trial {
            1 => Timeline::pack(Side::Near, "hwmon", "the \"board\"", MeterQuantity::PowerUw, &gauge),
            2 => Timeline::pack(Side::Far, "powercap", "package-0", MeterQuantity::EnergyUj, &counter),
            _ => None,
        }
        .into_iter()
        .collect();
    }
    events
}

#[test]
fn a_line_for_each_with_its_power_and_its_course() {
    let timelines = Timelines::from_events(&events(), None).unwrap();
    for width in [60, 80, 120] {
        let text = timelines.render(width);
        assert!(text.lines().all(|line| line.width() <= width), "{width}:\n{text}");
    }
    let text = timelines.render(120);
    assert!(text.contains("hwmon: the \"board\"\n") && text.contains("far, powercap: package-0\n"), "{text}");
    let line = |part: &str| text.lines().find(|line| line.contains(part)).unwrap().to_owned();
    // 10 W in steps of 0.5 W to 24.5 W; 0.2 J in 0.1 s.
    for part in ["30", "17.25", "10.00", "24.50", "▁▁", "▇█"] {
        assert!(line("rx-usecs=10").contains(part), "{part}: {text}");
    }
    for part in ["30", "2.00"] {
        assert!(line("slow").contains(part), "{part}: {text}");
    }
    let none = Timelines::from_events(&pings(), None).unwrap().render(80);
    assert!(none.starts_with("no timeline:"), "{none}");
}

#[test]
fn every_reading_is_a_line_with_a_power_where_there_is_one() {
    let csv = Timelines::from_events(&events(), Some(2)).unwrap().csv();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 31);
    assert_eq!(lines[1], "2,1,\"slow, \"\"100\"\"\",far,\"powercap\",\"package-0\",0.000000,");
    assert_eq!(lines[2], "2,1,\"slow, \"\"100\"\"\",far,\"powercap\",\"package-0\",0.100000,2.000000");
    // None at the first reading, and none where the counter came round, which it does after 10 and after 25 readings.
    let without: Vec<usize> = (1..31).filter(|&at| lines[at].ends_with(',')).collect();
    assert_eq!(without, [1, 12, 27]);
    let gauge = Timelines::from_events(&events(), Some(1)).unwrap().csv();
    assert!(gauge.contains("1,1,\"rx-usecs=10\",near,\"hwmon\",\"the \"\"board\"\"\",0.000000,10.000000"), "{gauge}");
}

#[test]
fn one_that_cannot_be_unpacked_is_told() {
    let mut events = events();
    let chunk = events.iter_mut().find_map(|event| match event {
        Event::TrialDone { outcome, .. } => outcome.timelines.first_mut().map(|timeline| &mut timeline.chunk),
        _ => None,
    });
    chunk.unwrap().truncate(6);
    assert!(Timelines::from_events(&events, None).is_err());
}
