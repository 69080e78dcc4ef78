//! A sleeper on this machine: it wakes as often as it should, and a real-time one needs the right.
use powerband_machine::Job;
use powerband_record::{CpuList, Work};

use crate::{Stage, job};

fn wake(priority: u32) -> Job {
    let work = Work::Wake { for_ns: 500_000_000, interval_ns: 1_000_000, priority };
    Job { cpus: Some(CpuList::new(vec![0])), ..job(work) }
}

#[test]
fn a_sleeper_wakes_once_an_interval_and_tells_how_late() {
    let finished = Stage::new().run(&wake(0));
    assert!(finished.status.success(), "{finished:?}");
    let report = finished.report.unwrap();
    assert_eq!(report["wakes"], 500);
    let cells: Vec<(u64, u64)> = serde_json::from_value(report["histogram"].clone()).unwrap();
    assert_eq!(cells.iter().map(|(_, count)| count).sum::<u64>(), 500);
    assert!(cells.is_sorted() && cells[0].0 > 0, "no timer comes early: {cells:?}");
    let (mean, max) = (report["mean_ns"].as_f64().unwrap(), report["max_ns"].as_f64().unwrap());
    assert!(mean > 0.0 && mean <= max, "{mean} {max}");
    // It slept most of the time.
    assert!(finished.usage.user_ns + finished.usage.sys_ns < 400_000_000, "{:?}", finished.usage);
}

#[test]
fn a_real_time_sleeper_runs_or_says_what_it_lacks() {
    let finished = Stage::new().run(&wake(80));
    if finished.status.success() {
        assert_eq!(finished.report.unwrap()["wakes"], 500);
    } else {
        let why = &finished.output.stderr;
        assert!(why.contains("real-time priority 80") && why.contains("not permitted"), "{why}");
    }
}
