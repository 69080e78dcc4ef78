//! A guest that hangs: its console is kept, the bench brings it back, and the test that met it runs once more.
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use powerband_bench_virtual::{BootOptions, Guest, Shared, repeat_after_hang};
use rustix::process::{Pid, Signal, kill_process};

use crate::desk::had;

/// Longer than a guest needs to crash, and too short for what never ends.
const LIMIT: Duration = Duration::from_secs(5);
/// Longer than a healthy guest needs to answer.
const ANSWER: Duration = Duration::from_secs(10);
/// The kernel gives up, and nothing runs any more.
const CRASH: &str = "echo before the crash >/dev/console; echo c >/proc/sysrq-trigger";

/// Runs a test that begins with `hang` its first `hangs` times and then asks the guest for a sum. Answers what was reported,
/// how often it ran, and whether it passed.
fn run(shared: &Shared<Guest>, hangs: u32, hang: impl Fn(&mut Guest)) -> (String, u32, bool) {
    let (runs, mut report) = (Cell::new(0), Vec::new());
    let test = || {
        let mut guest = shared.hold().unwrap();
        runs.set(runs.get() + 1);
        if runs.get() <= hangs {
            hang(&mut guest);
        }
        assert_eq!(guest.script("echo $((20 + 3))").unwrap().text(), "23\n");
    };
    let repeated = || repeat_after_hang("some::test", &mut report, test, || shared.recover_within(ANSWER));
    let passed = catch_unwind(AssertUnwindSafe(repeated)).is_ok();
    (String::from_utf8(report).unwrap(), runs.get(), passed)
}

#[test]
fn a_guest_that_hangs_is_brought_back_and_its_test_repeated_once() {
    let shared = Shared::new(|| Guest::boot(&BootOptions::machine("quadcore")?));
    if had(shared.hold()).is_none() {
        return;
    }
    let healthy = run(&shared, 0, |_| ());
    assert_eq!(healthy, (String::new(), 1, true));

    // A command outlasts its limit because the kernel has crashed.
    let (report, runs, passed) = run(&shared, 1, |guest| drop(guest.script_within(CRASH, LIMIT).unwrap()));
    assert!(report.starts_with("\nrepeated once after a hang: some::test\n"), "{report}");
    assert!(report.contains("the guest did not answer in time"), "{report}");
    assert_eq!((runs, passed), (2, true), "{report}");
    let all = shared.hold().unwrap().console();
    let first = all.lines().next().unwrap().to_owned();
    for line in [&first, "before the crash", "Kernel panic - not syncing: sysrq triggered crash", "end Kernel panic"] {
        assert!(report.contains(line), "no {line:?} in {report}");
    }

    // Nothing outlasts a limit: the test fails by something else, and only afterwards it shows that the guest hangs.
    let (report, runs, passed) = run(&shared, 1, |guest| {
        guest.script("(sleep 1; echo c >/proc/sysrq-trigger) >/dev/null 2>&1 &").unwrap();
        std::thread::sleep(LIMIT);
        panic!("its machine was lost");
    });
    assert!(report.contains("some::test\nits machine was lost\na guest did not answer"), "{report}");
    assert_eq!((runs, passed), (2, true));

    // A failure without a hang is none, and is not repeated.
    let (report, runs, passed) = run(&shared, 1, |_| panic!("wrong"));
    assert_eq!((report.as_str(), runs, passed), ("", 1, false));

    // The emulator itself is stopped, each time: that test fails, and the next finds a guest.
    let stop = |guest: &mut Guest| {
        let emulator = Pid::from_raw(i32::try_from(guest.process()).unwrap()).unwrap();
        kill_process(emulator, Signal::STOP).unwrap();
        guest.script_within("true", LIMIT).unwrap();
    };
    let (_, runs, passed) = run(&shared, 2, stop);
    assert_eq!((runs, passed), (2, false));
    assert_eq!(run(&shared, 0, |_| ()), (String::new(), 1, true));
}
