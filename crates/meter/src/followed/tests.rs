//! What lines that came at known times tell of a load.
use super::*;
use crate::mean;

const S: u64 = 1_000_000_000;

fn meter(unit: MeterUnit, interval: &str) -> MeterInstance {
    let interval = Some(interval.to_owned());
    MeterInstance::declared(&CommandMeter {
        command: "x".into(),
        unit,
        boundary: "wall".into(),
        interval,
        as_root: false,
    })
    .unwrap()
}

#[test]
fn numbers_stand_for_the_time_before_them() {
    let meter = meter(MeterUnit::W, "1s");
    assert_eq!((meter.meter, meter.boundary.as_str(), meter.source.as_str()), ("cmd", "wall", "lines:x"));
    // A step from 10 to 30 W halfway; lines come every second, the first before the load and told twice.
    let text: String = (0..=20).map(|i| format!("{} {}.0 W\n", i * S, if i <= 10 { 10 } else { 30 })).collect();
    let samples = samples(&meter, MeterUnit::W, &["0 10 W\n".to_owned(), text], (S / 2, 20 * S + S / 2));
    assert_eq!(samples.first().unwrap().0, S / 2);
    let Kind::Gauge { interval_ns, window } = meter.kind else { panic!() };
    let uw = mean(&samples, (S / 2, 20 * S + S / 2), interval_ns, window).unwrap();
    let true_uw = (9.5 * 10e6 + 10.5 * 30e6) / 20.0;
    assert!((uw - true_uw).abs() < 1.0, "{uw} {true_uw}");
}

#[test]
fn a_counter_is_read_between_its_lines() {
    let meter = meter(MeterUnit::MilliJ, "1s");
    // 5 W: 5000 mJ a second; the load begins and ends between two lines, or after the last one.
    let text: String = (0..=10).map(|i| format!("{} {}\n", i * S, i * 5000)).collect();
    for span in [(S / 4, 10 * S - S / 3), (S / 4, 10 * S + S / 3), (0, 10 * S)] {
        let samples = samples(&meter, MeterUnit::MilliJ, std::slice::from_ref(&text), span);
        let [(_, Ok(from)), (_, Ok(until))] = samples.as_slice() else { panic!("{samples:?}") };
        let joules = (until - from) as f64 * 1e-6;
        assert!((joules - 5.0 * (span.1 - span.0) as f64 * 1e-9).abs() < 1e-5, "{joules}");
    }
}

#[test]
fn what_is_no_number_is_told() {
    let meter = meter(MeterUnit::W, "1s");
    let why = |text: &str| samples(&meter, MeterUnit::W, &[text.to_owned()], (0, 20 * S))[0].1.clone().unwrap_err();
    assert!(why("1 watts\n").contains("no number in the last 20000 ms"));
    assert!(why("1 3 W\n").contains("no number in the last"), "it ended long before the load");
    assert!(why("1 3 W of 12 W\n").contains("more than one number"));
    assert!(why("1 -3\n").contains("no machine draws"));
    assert_eq!(number("2026/11/22 03:04:05, 33.1 W", MeterUnit::W), Ok(Some(33_100_000)));
    assert_eq!(number("Power Reading: 220 Watts", MeterUnit::W), Ok(Some(220_000_000)));
}
