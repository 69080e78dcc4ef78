//! What holds for every meter, and sessions whose times decide.
use powerband_meter::*;

use crate::fake::Fake;

const S: u64 = 1_000_000_000;

#[test]
fn every_meter_describes_itself() {
    for meter in ALL {
        let about = meter.about();
        for text in [about.name, about.summary, about.unit, about.boundary, about.kind, about.cost, about.source] {
            assert!(!text.is_empty(), "{}", about.name);
        }
    }
}

#[test]
fn meters_share_a_watch_and_none_is_read_more_than_ten_times_a_second() {
    let mut machine = Fake::default();
    [("/a", "1000000"), ("/b", "2000000"), ("/c", "3000000")].iter().for_each(|(file, uw)| machine.put(file, uw));
    let gauge = |source: &str, interval_ns| {
        let kind = Kind::Gauge { interval_ns, window: Window::Instant };
        MeterInstance::new("hwmon", "chip socket".into(), source.into(), kind)
    };
    let meters = [gauge("/a", S), gauge("/b", S), gauge("/c", 1_000), gauge("/gone", S)];
    let session = Session::open(&mut machine, &meters);
    let watches = session.watches();
    let periods: Vec<_> = watches.iter().map(|it| (it.period_ns, it.handles.len())).collect();
    assert_eq!(periods, [(Some(S / 10), 1), (Some(S), 2)]);
    let around: Vec<_> =
        watches.iter().map(|watch| (0..=10).map(|second| machine.sample(watch, second * S)).collect()).collect();
    let readings = session.close(&mut machine, &around, &[]);
    assert_eq!((machine.still_open(), readings.len()), (0, 8));
    let joules: Vec<_> = readings.iter().filter(|it| it.metric == "energy_j").map(Reading::value).collect();
    assert_eq!(joules, [Some(10.0), Some(20.0), Some(30.0), None], "each has its own numbers");
    let unread = Session::open(&mut machine, &meters).close(&mut machine, &[], &[]);
    let refusals = [unread[0].refusal(), readings[6].refusal()];
    let gone = "/gone cannot be opened: no such file or directory (ENOENT)";
    assert_eq!(refusals, [Some("it was not read"), Some(gone)]);
}

/// Reads packages 0 and 1 around work of `seconds`, as they draw 1000 and 500 W; `skip` leaves out what is due meanwhile.
fn two_packages(seconds: u64, skip: bool) -> Vec<Reading> {
    const RANGE: u64 = 262_143_328_850;
    let mut machine = Fake::default();
    let zone = |machine: &mut Fake, package: u64, energy_uj: u64| {
        let folder = format!("/sys/class/powercap/intel-rapl:{package}");
        machine.put(&format!("{folder}/name"), &format!("package-{package}"));
        machine.put(&format!("{folder}/energy_uj"), &(energy_uj % (RANGE + 1)).to_string());
        machine.put(&format!("{folder}/max_energy_range_uj"), &RANGE.to_string());
    };
    (0..2).for_each(|package| zone(&mut machine, package, package + 11_000_000));
    let meters = find_all(&mut machine).meters;
    let session = Session::open(&mut machine, &meters[..1]);
    let watch = session.watches().remove(0);
    let period = watch.period_ns.unwrap() / S;
    let due = |second: &u64| *second == 0 || *second == seconds || !skip && second.is_multiple_of(period);
    let mut moments = Vec::new();
    for second in (0..=seconds).filter(due) {
        (0..2).for_each(|package| {
            zone(&mut machine, package, 11_000_000 + second * [1000, 500][package as usize] * 1_000_000)
        });
        moments.push(machine.sample(&watch, second * S));
    }
    session.close(&mut machine, &[moments], &[])
}

#[test]
fn a_sum_of_packages_counts_every_wrap_of_each_and_a_gap_voids_it() {
    // 3 and 1 wraps in 1000 s.
    let readings = two_packages(1000, false);
    let [watts, joules] = [0, 1].map(|i| readings[i].value().unwrap());
    assert!((watts / 1500.0 - 1.0).abs() < 1e-9 && (joules / 1_500_000.0 - 1.0).abs() < 1e-9, "{watts} {joules}");
    assert_eq!(readings[1].boundary, "package-0 + package-1");
    assert!(readings[1].notes[0].starts_with("the sum of 2 meters"));
    assert_eq!(two_packages(20, true)[1].value(), Some(30_000.0), "a short load is read at its start and end alone");
    let why = "package-0: 2 min 20 s passed between two readings, in which the counter may have come round unseen";
    assert_eq!(two_packages(140, true)[1].refusal(), Some(why));
}
