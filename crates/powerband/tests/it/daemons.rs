//! Daemons as settings: started for a trial, ended with it, their CPU time measured, and what they leave restored and reported.
use crate::desk::{Desk, Ran, machine_alone, root};

/// Compares daemons, with options, among the files of a simulated machine; prints the governors before and after.
fn compared(daemons: &str, options: &str) -> Option<Ran> {
    let governors = "cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor | sort | uniq -c | tr -s ' ' >&2";
    let script = format!(
        "{governors}; \"$P\" --json try \"daemon=none,{daemons}\" -w 0 --runs 2 --settle 300ms {options} -- sleep 0.3; \
         code=$?; {governors}; exit $code"
    );
    let _alone = machine_alone();
    let program = format!("P={}", env!("CARGO_BIN_EXE_powerband"));
    root().then(|| Desk::new().run(&["sim", "enter", "quadcore", "--", "env", &program, "sh", "-c", &script]))
}

/// The first and the last line that went to standard error.
fn ends(ran: &Ran) -> (&str, &str) {
    (ran.err.lines().next().unwrap_or_default(), ran.err.lines().last().unwrap_or_default())
}

#[test]
fn pace_is_compared_with_the_governor_it_replaces() {
    let Some(ran) = compared("$P pace cpuspeed -i 1", "") else { return };
    let ran = ran.ended(0);
    let report = ran.report();
    let cpu_s = |setting: usize| report.settings[setting].levels["daemon_cpu_s"].typical.unwrap();
    assert_eq!((report.settings[0].label.as_str(), cpu_s(0)), ("daemon=none", 0.0));
    assert!(cpu_s(1) > 0.0 && cpu_s(1) < 5.0, "{} s", cpu_s(1));
    let (before, after) = ends(&ran);
    assert_eq!(before, after, "{}", ran.err);
    assert!(!ran.out.contains("left cpufreq"), "it restores what it sets: {}", ran.out);
}

#[test]
fn what_a_daemon_leaves_is_restored_and_reported() {
    let daemon =
        "for f in /sys/devices/system/cpu/cpu*/cpufreq; do echo powersave >\\$f/scaling_governor; done; sleep 60";
    let Some(ran) = compared(daemon, "") else { return };
    let ran = ran.ended(0);
    let (before, after) = ends(&ran);
    assert_eq!(before, after, "{}", ran.err);
    assert!(ran.out.contains("left cpufreq.governor at policy0 reading powersave, "), "{}", ran.out);
}

#[test]
fn one_that_ends_by_itself_is_no_daemon() {
    let Some(ran) = compared("exit 3", "") else { return };
    assert_ne!(ran.code, Some(0));
    assert!(ran.err.contains("in the foreground") || ran.out.contains("in the foreground"), "{}{}", ran.out, ran.err);
}

#[test]
fn pace_is_a_program_of_simulated_machines_too() {
    let desk = Desk::new();
    let compared = |daemon: &str| {
        let daemon = format!("daemon=none,{daemon}");
        let words =
            ["try", "--machine", "sim:x3650", &daemon, "--load", "counter", "--for", "5s", "--runs", "2", "--json"];
        desk.run(&words)
    };
    let ran = compared("powerband pace cpuspeed -i 10").ended(0);
    let report = ran.report();
    assert_eq!(report.settings[1].levels["daemon_cpu_s"].typical, Some(0.0), "{}", ran.out);
    let refused = compared("tuned -d");
    assert!(refused.err.contains("'tuned -d'") && refused.code != Some(0), "{}", refused.err);
}
