//! Articles done again until a signal comes.
use rustix::process::Signal;

use crate::desk::{Desk, until};

#[test]
fn a_signal_ends_plans_that_run_side_by_side() {
    for signal in [Signal::INT, Signal::TERM] {
        let desk = Desk::new();
        let running = desk.start(&["replicate", "governors"]);
        // Caught from then on, so that it does not simply die of it.
        let status = format!("/proc/{}/status", running.pid());
        until("it listens to signals", || {
            let text = std::fs::read_to_string(&status).unwrap();
            let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
            u64::from_str_radix(caught.trim(), 16).unwrap() & 2 != 0
        });
        // Amid a load: what runs then is ended first.
        std::thread::sleep(std::time::Duration::from_secs(1));
        running.signal(signal);
        let why = running.end().refused(130);
        assert!(why.contains("stopped"), "{why}");
    }
}
