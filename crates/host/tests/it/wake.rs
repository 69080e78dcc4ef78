//! A sleeper on this machine: it wakes as often as it should, and a real-time one needs the right.
use powerband_machine::Job;
use powerband_record::{CpuList, Work};

use crate::{Stage, counted, cpu_ns, job, number};

fn wake(priority: u32) -> Job {
    let (for_ns, interval_ns) = (500_000_000, 1_000_000);
    let cpus = Some(CpuList::new(vec![0]));
    Job { cpus, ..job(Work::Wake { for_ns, interval_ns, priority }) }
}

#[test]
fn a_sleeper_wakes_once_an_interval_and_tells_how_late() {
    let finished = Stage::new().run(&wake(0));
    assert_eq!((number(&finished, "wakes"), counted(&finished)), (500.0, 500));
    // It slept most of the time.
    assert!(cpu_ns(&finished) < 400_000_000, "{:?}", finished.usage);
}

#[test]
fn a_real_time_sleeper_runs_or_says_what_it_lacks() {
    let finished = Stage::new().run(&wake(80));
    if finished.status.success() {
        assert_eq!(finished.report.unwrap()["wakes"], 500);
    } else {
        let why = &finished.output.stderr;
        assert!(why.contains("80") && why.contains("not permitted"), "{why}");
    }
}
