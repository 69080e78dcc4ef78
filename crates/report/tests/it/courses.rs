//! What meters showed during trials, and distributions: every reading as CSV, strips as high as their values, merged histograms.
use powerband_record::{Event, MeterQuantity, MeterReading, Recording, Side, Timeline};
use powerband_report::Model;
use powerband_report::json::Report;
use powerband_report::timelines::Timelines;
use roxmltree::Document;

use crate::journals::{alone, outcomes, pings, router};
use crate::pictures::{find, number, of_class, value_at};
use crate::shown::{drawn, kept, model};

const S: u64 = 1_000_000_000;

fn of_clock(policy: u64, readings: &[MeterReading]) -> Timeline {
    let policy = format!("policy{policy}");
    Timeline::pack(Side::Near, "clock", &policy, MeterQuantity::ClockKhz, readings).unwrap()
}

fn of_cpu(cpu: u64, permille: u64) -> Timeline {
    let busy: Vec<MeterReading> = (0..5).map(|i| (i * S, permille * i.min(1))).collect();
    Timeline::pack(Side::Near, "utilisation", &format!("cpu{cpu}"), MeterQuantity::BusyPermille, &busy).unwrap()
}

/// Each valid trial of `clocks` policies, and of two CPUs of which the first is busy for longer the later the trial.
pub(crate) fn recorded(clocks: u64) -> Vec<Event> {
    outcomes(pings(), |trial, outcome| {
        let clock = |policy| {
            let khz = |i: u64| (i * S, 800_000 + 100_000 * ((i / 10 + policy) % 3));
            of_clock(policy, &(0..40).map(khz).collect::<Vec<_>>())
        };
        let busy = [of_cpu(0, 100 + u64::from(trial)), of_cpu(1, 0)];
        outcome.timelines = (0..clocks).map(clock).chain(busy).collect();
    })
}

/// Ten times a second; a gauge near the first trial's load, in the second a counter that comes round twice.
pub(crate) fn powered() -> Vec<Event> {
    let at = |i: u64| 5_000 + i * 100_000_000;
    let gauge: Vec<MeterReading> = (0..30).map(|i| (at(i), 10_000_000 + 500_000 * i)).collect();
    let counter: Vec<MeterReading> = (0..30).map(|i| (at(i), (990_000 + 200_000 * i) % 3_000_000)).collect();
    outcomes(pings(), |trial, outcome| {
        let timeline = match trial {
            1 => Timeline::pack(Side::Near, "hwmon", "the \"board\"", MeterQuantity::PowerUw, &gauge),
            2 => Timeline::pack(Side::Far, "powercap", "package-0", MeterQuantity::EnergyUj, &counter),
            _ => return,
        };
        outcome.timelines = vec![timeline.unwrap()];
    })
}

#[test]
fn readings_as_tables_and_as_csv() {
    let mut told = String::new();
    for (events, trial) in [(powered(), 1), (powered(), 2), (recorded(1), 1)] {
        told += &Timelines::from_events(&events, Some(trial)).unwrap().csv();
    }
    kept("readings.csv", &told);
    let all = |events: &[Event]| Timelines::from_events(events, None).unwrap();
    let texts = [all(&powered()).render(120), all(&recorded(1)).render(60), all(&pings()).render(80)];
    kept("readings.text", &texts.join("--------\n"));
    // The counter has no power at its first reading and where it comes round, after 10 and after 25 readings.
    let counter = Timelines::from_events(&powered(), Some(2)).unwrap().csv();
    let without = counter.lines().enumerate().filter(|(_, line)| line.ends_with(','));
    assert_eq!(without.map(|(at, _)| at).collect::<Vec<_>>(), [1, 12, 27]);
    let cut = outcomes(powered(), |_, outcome| outcome.timelines.iter_mut().for_each(|it| it.chunk.truncate(6)));
    assert!(Timelines::from_events(&cut, None).is_err());
}

#[test]
fn steps_are_as_many_as_readings_and_strips_as_long_and_high_as_the_use() {
    let steps = |events: &[Event], id: &str| -> Vec<usize> {
        let all = drawn(events);
        let document = Document::parse(&find(&all, id).svg).unwrap();
        of_class(&document, "pb-step").iter().map(|it| it.attribute("d").unwrap().matches('H').count()).collect()
    };
    assert!(steps(&recorded(1), "clock-policy0")[0] >= 39);
    assert_eq!(steps(&powered(), "power-hwmon-the-board").len(), 1);
    // The line of the counter is parted where it comes round.
    let counter = steps(&powered(), "power-far-powercap-package-0");
    assert!(counter.len() == 3 && counter.iter().sum::<usize>() >= 24, "{counter:?}");
    let all = drawn(&recorded(1));
    let means = find(&all, "use-means");
    let document = Document::parse(&means.svg).unwrap();
    let bars = of_class(&document, "pb-bar");
    assert_eq!(bars.len(), means.rows.len(), "a bar a row, at none of the time, too");
    for (bar, row) in bars.iter().zip(&means.rows) {
        let busy = number(bar, "data-x").unwrap();
        let end = number(bar, "x").unwrap() + number(bar, "width").unwrap();
        assert!((value_at(bar, "x", end) - busy).abs() < 0.05, "{row:?}");
        assert!(if row[1] == "cpu0" { busy > 10.0 } else { busy == 0.0 }, "{row:?}");
    }
    let course = find(&all, "use-course");
    let document = Document::parse(&course.svg).unwrap();
    let strips = of_class(&document, "pb-strip");
    assert_eq!(strips.len(), course.rows.len());
    for strip in strips {
        let [base, top, share] = ["data-y0", "data-y1", "data-y"].map(|name| number(&strip, name).unwrap());
        // The height of the first step: the use of a CPU is the same all the time here.
        let y: f64 = strip.attribute("d").unwrap().split(['V', 'H']).nth(1).unwrap().parse().unwrap();
        assert!(((base - y) / (base - top) * 100.0 - share).abs() < 0.1, "{share}");
    }
}

#[test]
fn of_many_readings_cpus_and_settings_what_stands_out_is_drawn() {
    let clock = |i: u64| if i == 31_415 { 3_000_000 } else { 800_000 + i % 2 };
    let readings: Vec<MeterReading> = (0..60_000).map(|i| (i * S / 10, clock(i))).collect();
    let all = drawn(&outcomes(pings(), |_, outcome| outcome.timelines = vec![of_clock(0, &readings)]));
    let clock = find(&all, "clock-policy0");
    assert_eq!(clock.rows[0][2..], ["60000", "800", "800", "3000"]);
    assert!(clock.svg.len() < 60_000, "{} bytes", clock.svg.len());
    let document = Document::parse(&clock.svg).unwrap();
    let step = of_class(&document, "pb-step")[0];
    let ys = step.attribute("d").unwrap().split('V').skip(1).map(|part| part.split('H').next().unwrap());
    let highest = ys.map(|y| y.parse().unwrap()).fold(f64::INFINITY, f64::min);
    assert!((value_at(&step, "y", highest) - 3000.0).abs() < 20.0, "the one that stands out");

    let cpus = drawn(&outcomes(pings(), |_, outcome| {
        outcome.timelines = (0..20).map(|cpu| of_cpu(cpu, 45 * cpu)).collect();
    }));
    let busiest: Vec<String> = (4..20).map(|cpu| format!("cpu{cpu}")).collect();
    for id in ["use-means", "use-course"] {
        let shown = find(&cpus, id).rows.iter().take(16).map(|row| &row[1]);
        assert!(shown.eq(&busiest), "the 16 busiest in their order");
    }

    let labels: Vec<String> = (0..14).map(|at| format!("governor=conservative up_threshold={at}")).collect();
    let values: Vec<f64> = (0..14).map(|at| 20.0 - f64::from(at)).collect();
    let readings: Vec<MeterReading> = (0..20).map(|i| (i * S, 1_000_000 + i)).collect();
    let power = Timeline::pack(Side::Near, "hwmon", "board", MeterQuantity::PowerUw, &readings).unwrap();
    let events = alone(&labels.join("; "), &values);
    let all = drawn(&outcomes(events, |_, outcome| outcome.timelines = vec![power.clone()]));
    let drawn = find(&all, "power-hwmon-board").rows.iter().map(|row| &row[0]);
    assert!(drawn.eq(labels[..1].iter().chain(&labels[3..])), "the reference and the 11 best");
    let descs = [&clock.desc, &find(&cpus, "use-means").desc, &find(&all, "power-hwmon-board").desc];
    kept("left-out", &descs.map(String::as_str).join("\n"));
}

/// What is noted of courses when `keeps` decides which timelines of a trial there are.
fn noted(asked: &str, keeps: fn(u32, &Timeline) -> bool) -> Vec<String> {
    let mut events = outcomes(recorded(2), |trial, outcome| outcome.timelines.retain(|it| keeps(trial, it)));
    let Event::Started(started) = &mut events[0] else { panic!("no start") };
    started.record = Recording::parse_list(asked).unwrap();
    let notes = Model::from_events(&events).unwrap().notes;
    notes.into_iter().filter(|note| note.contains("not recorded")).collect()
}

#[test]
fn a_course_that_vanishes_is_told() {
    assert_eq!(noted("clock,utilisation", |_, _| true), Vec::<String>::new());
    let cases = [
        // As when a driver is unloaded: two trials before, none after.
        noted("clock,utilisation", |trial, it| trial < 2 || it.meter != "clock"),
        noted("clock,utilisation", |trial, it| trial != 1 || it.boundary != "cpu1"),
        // One that comes late was missing before.
        noted("clock", |trial, it| trial > 0 || it.boundary != "policy1"),
        noted("clock,utilisation,far/clock", |_, _| true),
    ];
    assert!(cases.iter().all(|notes| notes.len() == 1));
    kept("not-recorded", &cases.concat().join("\n"));
}

#[test]
fn histograms_are_merged_over_trials() {
    let report = Report::new(&model(&pings()));
    let row = &report.settings[1].distributions["rtt_ns"];
    assert_eq!((row.trials, row.count, row.counts.iter().sum::<u64>()), (5, 5_000, 5_000));
    assert_eq!(row.bounds.len(), row.counts.len());
    assert!(row.bounds.is_sorted() && row.bounds.last().unwrap() >= &row.max);
    // 500 of 1000 in each trial are at its base: 110 200, 110 400 .. 111 000 ns.
    assert_eq!((row.percentiles["p50"].value, row.min, row.max), (111_000.0, 110_200, 511_000));
    let p99 = &row.percentiles["p99"];
    assert!(p99.low.unwrap() < p99.value && p99.value < p99.high.unwrap());
    assert!(Report::new(&model(&router())).settings[0].distributions.is_empty());
}
