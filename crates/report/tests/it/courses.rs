//! Clocks and the use of CPUs over trials: in tables, and in pictures whose strips are as high as their values.
use powerband_record::{Event, MeterQuantity, MeterReading, Recording, Side, Timeline};
use powerband_report::Model;
use powerband_report::courses::Courses;
use powerband_report::picture::{Picture, pictures};
use powerband_report::timelines::Timelines;
use roxmltree::Document;

use crate::journals::pings;

const S: u64 = 1_000_000_000;

/// Each valid trial of `clocks` policies, and of two CPUs of which the first is busy for longer the later the trial.
fn events(clocks: u64) -> Vec<Event> {
    let mut events = pings();
    for event in &mut events {
        let Event::TrialDone { trial, outcome, .. } = event else { continue };
        let clock = |policy: u64| -> Vec<MeterReading> {
            (0..40).map(|i| (i * S, 800_000 + 100_000 * ((i / 10 + policy) % 3))).collect()
        };
        let busy = |permille: u64| -> Vec<MeterReading> { (0..5).map(|i| (i * S, permille * i.min(1))).collect() };
        let pack = |what: &str, of: String, quantity, readings: &[MeterReading]| {
            Timeline::pack(Side::Near, what, &of, quantity, readings).unwrap()
        };
        outcome.timelines = (0..clocks)
            .map(|policy| pack("clock", format!("policy{policy}"), MeterQuantity::ClockKhz, &clock(policy)))
            .chain([
                pack("utilisation", "cpu0".into(), MeterQuantity::BusyPermille, &busy(100 + u64::from(*trial))),
                pack("utilisation", "cpu1".into(), MeterQuantity::BusyPermille, &busy(0)),
            ])
            .collect();
    }
    events
}

fn drawn(events: &[Event]) -> Vec<Picture> {
    let courses = Courses::from_events(events).unwrap();
    pictures(&Model::from_events(events).unwrap(), Some(&courses))
}

fn of<'a>(all: &'a [Picture], id: &str) -> &'a Picture {
    let ids: Vec<&str> = all.iter().map(|picture| picture.id.as_str()).collect();
    all.iter().find(|picture| picture.id == id).unwrap_or_else(|| panic!("no {id} among {ids:?}"))
}

#[test]
fn a_table_has_the_clocks_and_shares_beside_the_power() {
    let timelines = Timelines::from_events(&events(1), Some(1)).unwrap();
    let csv = timelines.csv();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "trial,block,setting,machine,meter,covers,time_s,power_w,clock_mhz,busy_share");
    assert!(lines[1].ends_with(",near,\"clock\",\"policy0\",0.000000,,800.000000,"), "{}", lines[1]);
    let busy: Vec<&&str> = lines.iter().filter(|line| line.contains("\"cpu0\"")).collect();
    assert!(busy[0].ends_with(",0.000000,,,") && busy[1].ends_with(",1.000000,,,0.101000"), "{busy:?}");
    let text = timelines.render(100);
    assert!(text.contains("clock: policy0\n") && text.contains("mean MHz") && text.contains("mean %"), "{text}");
}

#[test]
fn a_clock_is_a_step_line_for_each_setting_and_many_are_strips() {
    let all = drawn(&events(1));
    let clock = of(&all, "clock-policy0");
    assert_eq!(clock.columns, ["setting", "trial", "readings", "mean, MHz", "least", "most"]);
    assert_eq!(clock.rows[0][2..], ["40", "875", "800", "1000"].map(String::from));
    let document = Document::parse(&clock.svg).unwrap();
    let step = document.descendants().find(|it| it.attribute("class") == Some("pb-mark pb-step")).unwrap();
    assert!(step.attribute("d").unwrap().matches('H').count() >= 39);
    let many = drawn(&events(5));
    assert!(!many.iter().any(|picture| picture.id.starts_with("clock-policy")));
    let strips = of(&many, "clock-course");
    assert_eq!(strips.rows.len() % 5, 0);
    assert!(strips.desc.contains("a full strip is 1000 MHz"), "{}", strips.desc);
}

#[test]
fn cpus_stand_beneath_one_another_with_their_use_as_length_and_height() {
    let all = drawn(&events(1));
    let means = of(&all, "use-means");
    let document = Document::parse(&means.svg).unwrap();
    let bars: Vec<_> = document.descendants().filter(|it| it.attribute("class") == Some("pb-mark pb-bar")).collect();
    assert_eq!(bars.len(), means.rows.len(), "a bar a row, at none of the time, too");
    let number = |node: &roxmltree::Node, name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let scale = document.descendants().find(|it| it.attribute("data-axis") == Some("x")).unwrap();
    let words: Vec<f64> =
        scale.attribute("data-scale").unwrap().split(' ').skip(1).map(|it| it.parse().unwrap()).collect();
    let [low, high, from, to] = words[..] else { panic!("{words:?}") };
    for (bar, row) in bars.iter().zip(&means.rows) {
        let wide = number(bar, "width") / (to - from) * (high - low);
        assert!((wide - number(bar, "data-x")).abs() < 0.05, "{row:?}: {wide}");
        assert!(bar.attribute("data-label").unwrap().ends_with(&row[1]));
        let busy = number(bar, "data-x");
        assert!(if row[1] == "cpu0" { busy > 10.0 } else { busy == 0.0 }, "{row:?}");
    }
    let course = of(&all, "use-course");
    let document = Document::parse(&course.svg).unwrap();
    let strips: Vec<_> =
        document.descendants().filter(|it| it.attribute("class") == Some("pb-mark pb-strip")).collect();
    assert_eq!(strips.len(), course.rows.len());
    for strip in strips {
        let (base, top) = (number(&strip, "data-y0"), number(&strip, "data-y1"));
        // The height of the first step is the share: the use of a CPU is the same all the time here.
        let path = strip.attribute("d").unwrap();
        let y: f64 = path.split(['V', 'H']).nth(1).unwrap().parse().unwrap();
        let share = (base - y) / (base - top) * 100.0;
        assert!((share - number(&strip, "data-y")).abs() < 0.1, "{share}");
    }
}

#[test]
fn many_readings_are_drawn_from_the_least_to_the_most_of_them() {
    let mut events = events(1);
    for event in &mut events {
        let Event::TrialDone { outcome, .. } = event else { continue };
        let clock = |i: u64| if i == 31_415 { 3_000_000 } else { 800_000 + i % 2 };
        let readings: Vec<MeterReading> = (0..60_000).map(|i| (i * S / 10, clock(i))).collect();
        outcome.timelines =
            vec![Timeline::pack(Side::Near, "clock", "policy0", MeterQuantity::ClockKhz, &readings).unwrap()];
    }
    let all = drawn(&events);
    let clock = of(&all, "clock-policy0");
    assert!(clock.desc.contains("Each column covers up to 200 readings"), "{}", clock.desc);
    assert_eq!(clock.rows[0][2..], ["60000", "800", "800", "3000"].map(String::from));
    assert!(clock.svg.len() < 60_000, "{} bytes", clock.svg.len());
    let document = Document::parse(&clock.svg).unwrap();
    let axis = document.descendants().find(|it| it.attribute("data-axis") == Some("y")).unwrap();
    let words: Vec<f64> =
        axis.attribute("data-scale").unwrap().split(' ').skip(1).map(|it| it.parse().unwrap()).collect();
    let step = document.descendants().find(|it| it.attribute("class") == Some("pb-mark pb-step")).unwrap();
    let ys = step.attribute("d").unwrap().split('V').skip(1).map(|part| part.split('H').next().unwrap());
    let [low, high, from, to] = words[..] else { panic!("{words:?}") };
    let highest = ys.map(|y| y.parse().unwrap()).fold(f64::INFINITY, f64::min);
    let value = low + (highest - from) / (to - from) * (high - low);
    assert!((value - 3000.0).abs() < 20.0, "the one that stands out is drawn: {value}");
}

/// What is noted of courses when `keeps` says which timelines of the trial that comes so-many-th stand.
fn noted(asked: &str, keeps: impl Fn(usize, &Timeline) -> bool) -> Vec<String> {
    let mut events = events(2);
    let mut count = 0;
    for event in &mut events {
        match event {
            Event::Started(started) => started.record = Recording::parse_list(asked).unwrap(),
            Event::TrialDone { outcome, .. } => {
                outcome.timelines.retain(|timeline| keeps(count, timeline));
                count += 1;
            }
            _ => {}
        }
    }
    let model = Model::from_events(&events).unwrap();
    let notes = model.notes.into_iter().filter(|note| note.contains("not recorded"));
    notes.map(|note| note.replace(&format!(" {count} trials"), " N trials")).collect()
}

#[test]
fn a_course_that_vanishes_is_told() {
    assert_eq!(noted("clock,utilisation", |_, _| true), Vec::<String>::new());
    // As when a driver is unloaded: two trials before, none after.
    let gone = noted("clock,utilisation", |trial, it| trial < 2 || it.meter != "clock");
    assert!(gone.len() == 1 && gone[0].starts_with("clock was not recorded in "), "{gone:?}");
    assert!(gone[0].contains("of N trials, the first of them 2: "), "{gone:?}");
    let one = noted("clock,utilisation", |trial, it| trial != 1 || it.boundary != "cpu1");
    assert_eq!(
        one,
        [
            "utilisation of cpu1 was not recorded in 1 of N trials, the first of them 1: there were fewer than three readings"
        ]
    );
    // One that comes late was missing before.
    let late = noted("clock", |trial, it| trial > 0 || it.boundary != "policy1");
    assert!(late.len() == 1 && late[0].starts_with("clock of policy1 was not recorded in 1 of N trials"), "{late:?}");
    let never = noted("clock,utilisation,far/clock", |_, _| true);
    assert!(never.len() == 1 && never[0].starts_with("far/clock was not recorded in any of N trials: "), "{never:?}");
    assert!(never[0].ends_with(", one every 100 ms; write a shorter time, e.g. --record clock:10ms"), "{never:?}");
}

#[test]
fn of_many_cpus_the_busiest_are_drawn_and_the_others_told() {
    let mut events = pings();
    for event in &mut events {
        let Event::TrialDone { outcome, .. } = event else { continue };
        let busy = |cpu: u64| -> Vec<MeterReading> { (0..5).map(|i| (i * S, 45 * cpu)).collect() };
        let pack = |cpu: u64| {
            let of = format!("cpu{cpu}");
            Timeline::pack(Side::Near, "utilisation", &of, MeterQuantity::BusyPermille, &busy(cpu)).unwrap()
        };
        outcome.timelines = (0..20).map(pack).collect();
    }
    for id in ["use-means", "use-course"] {
        let all = drawn(&events);
        let picture = of(&all, id);
        assert!(picture.desc.contains("Of 20 CPUs, the 16 busiest are drawn."), "{}", picture.desc);
        let shown: Vec<&str> = picture.rows.iter().take(16).map(|row| row[1].as_str()).collect();
        let busiest: Vec<String> = (4..20).map(|cpu| format!("cpu{cpu}")).collect();
        assert_eq!(shown, busiest, "in their order");
    }
}
