//! Kills: the client, its session, the service, at any step; what was set is restored each time, and nothing else changes.
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::inside::{ALICE, reads, served, state, until};

const POLICY: &str = r#"
[[allow]]
users = [0, 64101]
cpus = "all"
[allow.knobs]
"cpufreq.*" = "any"
"cpuidle.*" = "any"
"conservative.*" = "any"
"#;

/// What has an order: a governor, its tunables, limits.
const SETTING: [&str; 3] = ["governor=conservative", "conservative.down_threshold=33", "max_freq=1200MHz"];

fn with(command: &[&'static str]) -> Vec<&'static str> {
    [&["with"][..], &SETTING, &["--"], command].concat()
}

/// A fixed row of numbers without a pattern (Knuth's constants of a linear congruence).
fn row(number: u64) -> u64 {
    number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) >> 33
}

#[test]
fn a_client_killed_at_any_step_leaves_nothing() {
    let Some(it) = served(POLICY) else { return };
    let (service, before) = it;
    service.run(ALICE, &with(&["true"])).ended(0);
    let (words, mut seen_set) = (with(&["sleep", "60"]), 0);
    for round in 0..100 {
        // One that comes too soon after the others is refused, which is as well.
        let mut child = service.user(ALICE, &words).stderr(std::process::Stdio::null()).spawn().unwrap();
        // At any step: on its way to the first change, and from that on.
        if round % 2 == 0 {
            let mut begun = || reads("scaling_governor") == "conservative" || child.try_wait().unwrap().is_some();
            until("the first change is made", &mut begun);
        }
        std::thread::sleep(Duration::from_micros(row(round) % 60_000));
        seen_set += u32::from(reads("scaling_governor") == "conservative");
        child.kill().unwrap();
        child.wait().unwrap();
        until("its session is gone", || service.sessions().is_empty());
        assert_eq!(state(), before, "round {round}");
    }
    assert!(seen_set > 20, "only {seen_set} clients had set anything");
    assert!(!service.log().contains("RESTORE INCOMPLETE"), "{}", service.log());
}

#[test]
fn a_session_killed_at_any_step_leaves_nothing() {
    let Some(it) = served(POLICY) else { return };
    let (service, before) = it;
    for round in 0..40 {
        until("it may connect", || service.run(ALICE, &["service", "--check"]).code == Some(0));
        until("that was all", || service.sessions().is_empty());
        let mut child =
            service.user(ALICE, &with(&["sleep", "60"])).stderr(std::process::Stdio::null()).spawn().unwrap();
        until("there is a session", || !service.sessions().is_empty() || child.try_wait().unwrap().is_some());
        std::thread::sleep(Duration::from_micros(row(round) % 60_000));
        for session in service.sessions() {
            let _ = kill_process(session, Signal::KILL);
        }
        let code = child.wait().unwrap().code();
        assert_eq!(code, Some(8), "round {round}: the client learns of it");
        until("its guardian has restored", || state() == before);
        until("the next one may", || service.root(&["undo", "--left"]).code == Some(0));
        assert_eq!(state(), before, "round {round}");
    }
}

#[test]
fn a_service_that_is_killed_or_stopped_leaves_nothing() {
    let Some(it) = served(POLICY) else { return };
    let (mut service, before) = it;
    for signal in [Signal::KILL, Signal::TERM] {
        let mut child =
            service.user(ALICE, &with(&["sleep", "60"])).stderr(std::process::Stdio::null()).spawn().unwrap();
        until("it is set", || {
            reads("scaling_governor") == "conservative" && reads("scaling_max_freq") == reads("cpuinfo_min_freq")
        });
        kill_process(Pid::from_child(&service.child), signal).unwrap();
        service.child.wait().unwrap();
        until("it is restored", || state() == before);
        assert_eq!(child.wait().unwrap().code(), Some(8));
        service.start_again();
    }
    // All of it at once: service, session and guardian.
    let mut child = service.user(ALICE, &with(&["sleep", "60"])).stderr(std::process::Stdio::null()).spawn().unwrap();
    until("it is set", || {
        reads("scaling_governor") == "conservative" && reads("scaling_max_freq") == reads("cpuinfo_min_freq")
    });
    let all = service.sessions();
    kill_process(Pid::from_child(&service.child), Signal::STOP).unwrap();
    for session in &all {
        kill_process(*session, Signal::STOP).unwrap();
        let children = format!("/proc/{0}/task/{0}/children", session.as_raw_nonzero());
        for guardian in std::fs::read_to_string(children).unwrap_or_default().split_whitespace() {
            kill_process(Pid::from_raw(guardian.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
        }
        kill_process(*session, Signal::KILL).unwrap();
    }
    service.kill();
    child.wait().unwrap();
    assert_ne!(state(), before, "nobody was left to restore it");
    service.start_again();
    assert_eq!(state(), before, "the next start has");
}

#[test]
fn a_client_that_is_stopped_or_silent_holds_nothing_for_good() {
    let Some(it) = served(POLICY) else { return };
    let (service, before) = it;
    let mut talk = service.talk().welcome();
    // In thousandths of a second.
    assert!(talk.call(&serde_json::json!({"lease": 300_000_000_u64})).is_some());
    assert!(talk.set(&["cpufreq.governor=conservative"]).unwrap().is_ok());
    until("the lease is over", || service.sessions().is_empty());
    assert_eq!(state(), before);
    assert!(talk.is_over());
}
