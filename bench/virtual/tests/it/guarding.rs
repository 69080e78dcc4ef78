//! `guard` on a real kernel: while nothing happens it does not run at all, and a writer in a loop is named and left to it.
use std::time::Duration;

use crate::desk::{Desk, on_desk};

/// Writes as a program does that will not have the setting changed.
const FIGHTER: &str = "printf '#!/bin/sh\\nwhile :; do echo performance >/sys/devices/system/cpu/cpufreq/policy0/scaling_governor; sleep 1; done\\n' \
     >/run/fighter; chmod +x /run/fighter";

/// How often each thread of a process has slept or was interrupted, and its CPU time in clock ticks.
fn awake(desk: &mut Desk, pid: u32) -> String {
    desk.sh(&format!(
        "cd /proc/{pid}/task; for task in *; do grep ctxt $task/status; cut -d ' ' -f 14,15 $task/stat; done"
    ))
}

#[test]
fn an_idle_guard_does_not_run_and_a_writer_in_a_loop_is_named() {
    on_desk(guards);
}

fn guards(mut desk: Desk) {
    let before = desk.knobs();
    let pid =
        desk.sh("setsid powerband guard --json --hold governor=powersave </dev/null >/run/guarded 2>&1 & echo $!");
    let pid = pid.trim().parse().unwrap();
    desk.until("it holds both CPUs", |desk| desk.states() == [3, 3]);
    desk.until("it sleeps", |desk| {
        let then = awake(desk, pid);
        std::thread::sleep(Duration::from_secs(2));
        then == awake(desk, pid)
    });
    let long = std::env::var("POWERBAND_SWEEP").is_ok_and(|value| value == "1");
    let then = awake(&mut desk, pid);
    std::thread::sleep(Duration::from_secs(if long { 600 } else { 10 }));
    assert_eq!(awake(&mut desk, pid), then);

    desk.sh(FIGHTER);
    let fighter = desk.start("/run/fighter");
    desk.until("it is left to the other", |desk| desk.sh("cat /run/guarded").contains("\"outcome\":\"given_up\""));
    desk.sh(&format!("kill {fighter}"));
    let printed = desk.sh("cat /run/guarded");
    let given_up = printed.lines().find(|line| line.contains("\"outcome\":\"given_up\"")).unwrap();
    assert!(
        given_up.contains(&format!("\"pid\":{fighter}")) && given_up.contains("fighter has changed it again"),
        "{printed}"
    );
    desk.sh(&format!("kill -TERM {pid}"));
    desk.until_nobody();
    // What it holds stays, as what `set` has set.
    desk.powerband(0, &["undo", "--force"]);
    assert_eq!(desk.knobs(), before);
}
