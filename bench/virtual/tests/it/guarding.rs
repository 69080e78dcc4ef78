//! `guard` on a real kernel: while nothing happens it does not run at all, and a writer in a loop is named and left to it.
use std::time::Duration;

use powerband_bench_virtual::Guest;

use crate::desk::{Desk, on_desk, sweeps};

/// Writes as a program does that will not have the setting changed.
const FIGHTER: &str = "printf '#!/bin/sh\\nwhile :; do echo performance >/sys/devices/system/cpu/cpufreq/policy0/scaling_governor; sleep 1; done\\n' \
     >/run/fighter; chmod +x /run/fighter";

/// How often each thread of a process has slept or was interrupted, and its CPU time in clock ticks.
fn awake(desk: &mut Guest, pid: u32) -> String {
    desk.sh(&format!(
        "cd /proc/{pid}/task; for task in *; do grep ctxt $task/status; cut -d ' ' -f 14,15 $task/stat; done"
    ))
}

#[test]
fn an_idle_guard_does_not_run_and_a_writer_in_a_loop_is_named() {
    on_desk(|desk| {
        let before = desk.knobs();
        let guard = "setsid powerband guard --json --hold governor=powersave </dev/null >/run/guarded 2>&1 & echo $!";
        let pid = desk.sh(guard).trim().parse().unwrap();
        desk.until("it holds both CPUs", |desk| desk.states() == [3, 3]);
        desk.until("it sleeps", |desk| {
            let then = awake(desk, pid);
            std::thread::sleep(Duration::from_secs(2));
            then == awake(desk, pid)
        });
        let then = awake(desk, pid);
        std::thread::sleep(Duration::from_secs(if sweeps() { 600 } else { 10 }));
        assert_eq!(awake(desk, pid), then);

        desk.sh(FIGHTER);
        let fighter = desk.start("/run/fighter");
        let given_up = |desk: &mut Guest| desk.sh("grep '\"outcome\":\"given_up\"' /run/guarded || true");
        desk.until("it is left to the other", |desk| !given_up(desk).is_empty());
        desk.sh(&format!("kill {fighter}"));
        let line = given_up(desk);
        let named = line.contains(&format!("\"pid\":{fighter}")) && line.contains("fighter has changed it again");
        assert!(named, "{line}");
        desk.sh(&format!("kill -TERM {pid}"));
        desk.until_nobody();
        // What it holds stays, as what `set` has set.
        desk.powerband(0, "undo --force");
        assert_eq!(desk.knobs(), before);
    });
}
