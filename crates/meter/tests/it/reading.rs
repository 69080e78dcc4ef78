//! Sessions: counters, gauges, and everything that makes a number untrustworthy.
use powerband_meter::*;

use crate::fake::Fake;

const S: u64 = 1_000_000_000;
const FILE: &str = "/sys/x";

fn instance(kind: Kind) -> MeterInstance {
    MeterInstance::new("hwmon", "chip socket".into(), FILE.into(), kind)
}

/// Runs a session from 100 s on, with one reading a second; `None` takes the file away.
fn run(kind: Kind, readings: &[Option<u64>]) -> Vec<Reading> {
    let mut machine = Fake::default();
    machine.put(FILE, &readings[0].unwrap().to_string());
    let session = Session::open(&mut machine, &[instance(kind)]);
    let watches = session.watches();
    let [watch] = watches.as_slice() else { panic!("one meter, one watch: {watches:?}") };
    let (mut moments, last) = (Vec::new(), readings.len() - 1);
    for (second, reading) in (100..).zip(readings) {
        match reading {
            Some(reading) => machine.put(FILE, &reading.to_string()),
            None => drop(machine.files.remove(FILE)),
        }
        let meanwhile = watch.period_ns.is_some_and(|period_ns| period_ns <= 2 * S);
        if meanwhile || second == 100 || second == 100 + last as u64 {
            moments.push(machine.sample(watch, second * S));
        }
    }
    let readings = session.close(&mut machine, &[moments], &[]);
    assert_eq!(machine.still_open(), 0);
    assert!(readings.iter().all(|it| it.boundary == "chip socket" && it.source == FILE));
    readings
}

fn values(readings: &[Reading]) -> Vec<(&str, f64)> {
    readings.iter().filter_map(|it| Some((it.metric, it.value()?))).collect()
}

#[test]
fn a_counter_gives_energy_and_power() {
    let readings = run(
        Kind::Counter { wrap: None },
        &[Some(5_000_000), None, Some(9_000_000), Some(65_000_000), Some(85_000_000)],
    );
    assert_eq!(values(&readings), [("power_w", 20.0), ("energy_j", 80.0)]);
    assert_eq!(readings[0].measured, MeterValue::Value { value: 20.0, samples: 2, left_out: 0 });
}

#[test]
fn a_counter_that_wraps_is_watched_meanwhile() {
    // 100 J at 40 W at most: comes round in 2.5 s, so two readings 6 s apart would not do.
    let wrap = Wrap { at_uj: 99_999_999, at_most_w: 40 };
    let kind = Kind::Counter { wrap: Some(wrap) };
    let at = |joules: u64| Some(joules % 100 * 1_000_000);
    let readings = run(kind, &[at(50), at(80), at(110), at(140), at(170), at(200), at(230)]);
    assert_eq!(values(&readings), [("power_w", 30.0), ("energy_j", 180.0)]);
    let readings = run(kind, &[at(50), at(80), None, None, None, at(200), at(230)]);
    assert_eq!(
        readings[1].refusal(),
        Some("4 s passed between two readings, in which the counter may have come round unseen")
    );
}

#[test]
fn counters_that_cannot_be_trusted_are_refused_and_never_zero() {
    let kind = Kind::Counter { wrap: None };
    for (readings, why) in [
        (
            vec![Some(7), Some(7)],
            "the counter did not move in 1000 ms: the meter is dead, or too coarse for so short a load",
        ),
        (vec![Some(7), Some(3)], "the counter went back from 7 to 3 uJ: the meter was reset"),
        (vec![Some(7), None], "no such device (ENODEV)"),
    ] {
        let readings = run(kind, &readings);
        assert!(values(&readings).is_empty());
        assert_eq!(readings.iter().map(|it| it.refusal()).collect::<Vec<_>>(), [Some(why); 2]);
    }
}

#[test]
fn a_gauge_is_weighed_by_time() {
    let kind = Kind::Gauge { interval_ns: S, window: Window::Before };
    let mut watts: Vec<Option<u64>> =
        (0..=20).map(|second| Some(if second <= 10 { 100 } else { 50 } * 1_000_000)).collect();
    assert_eq!(values(&run(kind, &watts)), [("power_w", 75.0), ("energy_j", 1500.0)]);
    watts[15] = None;
    let readings = run(kind, &watts);
    assert_eq!(values(&readings), [("power_w", 75.0), ("energy_j", 1500.0)], "one hole is borne");
    assert_eq!(readings[0].measured, MeterValue::Value { value: 75.0, samples: 20, left_out: 0 });
    watts[12] = None;
    watts[13] = None;
    assert_eq!(
        run(kind, &watts)[0].refusal(),
        Some("3 of 21 readings failed, the last one with: no such device (ENODEV)")
    );
}

#[test]
fn a_short_load_and_a_dead_gauge_are_refused() {
    let kind = Kind::Gauge { interval_ns: S, window: Window::Instant };
    let why = run(kind, &[Some(5); 10]);
    assert!(
        why[0].refusal().unwrap().starts_with("the load ran for 9000 ms and this meter makes a number every 1000 ms")
    );
    assert_eq!(run(kind, &[Some(0); 11])[0].refusal(), Some("it showed 0 in all of 11 readings: the meter is dead"));
    let steady = run(kind, &[Some(5_000_000); 11]);
    assert_eq!(values(&steady)[0], ("power_w", 5.0));
    assert_eq!(steady[0].notes, ["it showed the same number in all of 11 readings"]);
}

#[test]
fn meters_share_a_watch_and_one_that_is_gone_is_said() {
    let mut machine = Fake::default();
    for (file, uw) in [("/a", "1000000"), ("/b", "2000000"), ("/c", "3000000")] {
        machine.put(file, uw);
    }
    let gauge = |source: &str, interval_ns| MeterInstance {
        source: source.into(),
        ..instance(Kind::Gauge { interval_ns, window: Window::Instant })
    };
    let meters = [gauge("/a", S), gauge("/b", S), gauge("/c", 1_000), gauge("/gone", S)];
    let session = Session::open(&mut machine, &meters);
    let watches = session.watches();
    let periods: Vec<(Option<u64>, usize)> = watches.iter().map(|it| (it.period_ns, it.handles.len())).collect();
    assert_eq!(periods, [(Some(100_000_000), 1), (Some(S), 2)], "no faster than ten times a second");
    let around: Vec<_> =
        watches.iter().map(|watch| (0..=10).map(|second| machine.sample(watch, second * S)).collect()).collect();
    let readings = session.close(&mut machine, &around, &[]);
    assert_eq!(machine.still_open(), 0);
    assert_eq!(readings.len(), 8);
    let joules: Vec<_> = readings.iter().filter(|it| it.metric == "energy_j").map(Reading::value).collect();
    assert_eq!(joules, [Some(10.0), Some(20.0), Some(30.0), None], "each has its own numbers");
    let unread = Session::open(&mut machine, &meters).close(&mut machine, &[], &[]);
    assert_eq!(unread[0].refusal(), Some("it was not read"));
    assert_eq!(readings[6].refusal(), Some("/gone cannot be opened: no such file or directory (ENOENT)"));
}

#[test]
fn spikes_are_left_out_and_counted_and_a_meter_that_dies_is_refused() {
    let kind = Kind::Gauge { interval_ns: S, window: Window::Before };
    let mut watts: Vec<Option<u64>> = (0..=40).map(|second| Some((50 + second % 2) * 1_000_000)).collect();
    watts[20] = Some(3_690_000_000_000_000_000);
    watts[30] = Some(9_000_000_000);
    let readings = run(kind, &watts);
    let power_w = readings[0].value().unwrap();
    assert!((power_w - 50.5).abs() < 0.1, "{power_w}");
    assert_eq!(readings[0].notes, ["2 of 41 readings are beyond what can be drawn and left out"]);
    watts[38..].fill(Some(0));
    let why = "it showed 0 in the last 3 of 41 readings: the meter died";
    assert_eq!(run(kind, &watts)[0].refusal(), Some(why));
    let wrap = Wrap { at_uj: 99_999_999, at_most_w: 20 };
    let kind = Kind::Counter { wrap: Some(wrap) };
    let package = MeterInstance { scope: PowerScope::Package("0".into()), ..instance(kind) };
    let read = |joules: &[u64]| -> Reading {
        let mut machine = Fake::default();
        machine.put(FILE, "0");
        let session = Session::open(&mut machine, std::slice::from_ref(&package));
        let watch = session.watches().remove(0);
        let mut moments = Vec::new();
        for (second, joules) in (0..).zip(joules) {
            machine.put(FILE, &(joules * 1_000_000).to_string());
            moments.push(machine.sample(&watch, second * S));
        }
        session.close(&mut machine, &[moments], &[]).remove(1)
    };
    assert_eq!(read(&[10, 20, 90, 40, 50]).value(), Some(40.0));
    assert_eq!(read(&[10, 20, 90, 40, 50]).notes, ["1 of 5 readings is beyond what can be drawn and left out"]);
    assert_eq!(
        read(&[10, 20, 80, 90]).refusal(),
        Some("the counter leapt by 60 J in 1000 ms, and no more than 20 W can be drawn there")
    );
    let why = "the counter stood still for 2 s in the midst: the meter died";
    assert_eq!(read(&[10, 20, 30, 30, 30]).refusal(), Some(why));
}
