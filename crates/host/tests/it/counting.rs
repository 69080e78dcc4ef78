//! Counters of the real kernel's perf, where it has them and lets us.
use powerband_machine::{Errno, Handle, PerfPlace, World};

use crate::Stage;

const EVENTS: &str = "/sys/bus/event_source/devices/msr/events";

/// The time stamp counter of a CPU.
fn counter(cpu: u32) -> String {
    PerfPlace { device: "msr", event: "tsc", cpu }.to_string()
}

/// CPUs that are online, and whether the time stamp counter can be counted on each; else why not is printed.
fn countable(stage: &mut Stage) -> Option<Vec<u32>> {
    let machine = stage.near();
    let online = crate::online();
    let place = counter(online[0]);
    match machine.read(&place) {
        Ok(_) => Some(online),
        Err(errno @ (Errno::ENOENT | Errno::ENOSYS | Errno::EACCES | Errno::EPERM | Errno::ENODEV)) => {
            eprintln!("skipped: {place} cannot be counted here: {errno}");
            None
        }
        Err(errno) => panic!("{place}: {errno}"),
    }
}

#[test]
fn the_time_stamp_counter_of_each_cpu_rises_while_it_is_open() {
    let mut stage = Stage::new();
    let Some(cpus) = countable(&mut stage) else { return };
    let machine = stage.near();
    let open = |cpu: &u32| machine.open(&counter(*cpu)).unwrap();
    let handles: Vec<Handle> = cpus.iter().map(open).collect();
    let read = |stage: &mut Stage| -> Vec<u64> {
        let mut texts = Vec::new();
        stage.near().read_many(&handles, &mut texts);
        let read = texts.into_iter().map(|text| text.unwrap());
        read.map(|text| text.trim().parse().unwrap()).collect()
    };
    let (from_ns, first) = (stage.world.now_ns(), read(&mut stage));
    let until_ns = from_ns + 50_000_000;
    stage.world.wait(Some(until_ns));
    let (last, to_ns) = (read(&mut stage), stage.world.now_ns());
    for ((cpu, first), last) in cpus.iter().zip(&first).zip(&last) {
        // No time stamp counter is slower than 100 MHz or faster than 20 GHz, and the wait was 50 ms at least.
        let mhz = (last - first) as f64 * 1e3 / (to_ns - from_ns) as f64;
        assert!(last - first > 5_000_000 && mhz < 20_000.0, "CPU {cpu}: {mhz} MHz");
    }
    handles.iter().for_each(|&handle| stage.near().close(handle));
    let mut texts = Vec::new();
    stage.near().read_many(&handles[..1], &mut texts);
    assert_eq!(texts, [Err(Errno::EBADF)]);
}

#[test]
fn what_the_kernel_does_not_count_is_told_by_its_number() {
    let mut stage = Stage::new();
    for place in ["perf:no_such/thing@cpu0", "perf:msr/no_such@cpu0"] {
        assert_eq!(stage.near().open(place), Err(Errno::ENOENT), "{place}");
        assert_eq!(stage.near().read(place), Err(Errno::ENOENT), "{place}");
    }
    if countable(&mut stage).is_none() || stage.near().list(EVENTS).is_err() {
        return;
    }
    assert!(stage.near().open(&counter(4_000_000_000)).is_err());
}
