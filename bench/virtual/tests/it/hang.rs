//! A guest that hangs: its console is kept, and the test that met it runs once more on another.
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use powerband_bench_virtual::{Guest, on_guests};
use rustix::process::{Pid, Signal, kill_process};

use crate::desk::{Desk, had, pc};

/// For what never ends.
const LIMIT: Duration = Duration::from_secs(2);
/// Longer than a healthy guest needs to answer, on a host that does much else.
const ANSWER: Duration = Duration::from_secs(20);
/// The kernel gives up, and nothing runs any more.
const CRASH: &str = "echo before the crash >/dev/console; echo c >/proc/sysrq-trigger";

/// Runs a test that begins with `hang` its first `hangs` times and then asks the guest for a sum. Answers what was reported,
/// how often it ran, and whether it passed.
fn run(hangs: u32, answer: Duration, hang: impl Fn(&mut Guest)) -> (String, u32, bool) {
    let (runs, mut report) = (Cell::new(0), Vec::new());
    let test = |guest: &mut Guest| {
        runs.set(runs.get() + 1);
        if runs.get() <= hangs {
            hang(guest);
        }
        assert_eq!(guest.sh("echo $((20 + 3))"), "23\n");
    };
    let boot = || Guest::boot(&pc(powerband_bench_virtual::Cable::Open)?);
    let passed = catch_unwind(AssertUnwindSafe(|| on_guests("some::test", &mut report, answer, boot, test).unwrap()));
    (String::from_utf8(report).unwrap(), runs.get(), passed.is_ok())
}

#[test]
fn a_guest_that_hangs_is_replaced_and_its_test_repeated_once() {
    if had(powerband_bench_virtual::GuestKernel::get()).is_none() {
        return;
    }
    // A command outlasts its limit because the kernel has crashed.
    let (report, runs, passed) = run(1, ANSWER, |guest| drop(guest.script_within(CRASH, LIMIT).unwrap()));
    assert!(report.starts_with("\nrepeated once after a hang: some::test\n"), "{report}");
    assert_eq!((runs, passed), (2, true), "{report}");
    let panic = "Kernel panic - not syncing: sysrq triggered crash";
    for line in ["the guest did not answer in time", "before the crash", panic, "end Kernel panic"] {
        assert!(report.contains(line), "no {line:?} in {report}");
    }

    // Nothing outlasts a limit: the test fails by something else, and only afterwards it shows that the guest hangs.
    let (report, runs, passed) = run(1, LIMIT, |guest| {
        guest.sh("(sleep 0.1; echo c >/proc/sysrq-trigger) >/dev/null 2>&1 &");
        while !guest.console().contains("end Kernel panic") {
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("its machine was lost");
    });
    assert!(report.contains("some::test\nits machine was lost\na guest did not answer"), "{report}");
    assert_eq!((runs, passed), (2, true));

    // A failure without a hang is none, and is not repeated.
    assert_eq!(run(1, ANSWER, |_| panic!("wrong")), (String::new(), 1, false));

    // The emulator itself is stopped, each time: that test fails.
    let (_, runs, passed) = run(2, LIMIT, |guest| {
        let emulator = Pid::from_raw(i32::try_from(guest.process()).unwrap()).unwrap();
        kill_process(emulator, Signal::STOP).unwrap();
        guest.script_within("true", LIMIT).unwrap();
    });
    assert_eq!((runs, passed), (2, false));
}
