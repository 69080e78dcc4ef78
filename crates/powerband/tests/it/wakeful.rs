//! How long waking up may take, on this machine: held while a command runs, never set for good.
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::desk::{Desk, root, split, until};

const DEVICE: &str = "/dev/cpu_dma_latency";

/// The device is the whole machine's: who asks something of it or looks at it does so alone.
fn alone() -> MutexGuard<'static, ()> {
    static DEVICE: Mutex<()> = Mutex::new(());
    DEVICE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the kernel holds itself to now, us, read past powerband.
fn in_force() -> i32 {
    i32::from_ne_bytes(std::fs::read(DEVICE).unwrap().try_into().unwrap())
}

#[test]
fn a_latency_is_in_force_while_a_command_runs_and_no_longer() {
    if !root() {
        return;
    }
    let _alone = alone();
    assert!(Path::new(DEVICE).exists(), "no kernel without PM QoS builds this");
    let desk = Desk::new();
    let before = in_force();
    let ran = desk.run(&["with", "cpu_dma_latency=37", "--", "od", "-An", "-td4", DEVICE]).ended(0);
    assert_eq!(ran.out.trim(), "37");
    assert_eq!(in_force(), before);
    let got = desk.json(&["get", "cpu_dma_latency"]);
    assert_eq!(got["readings"][0]["reading"]["value"], before.to_string(), "{got}");
}

#[test]
fn what_only_a_program_can_hold_is_not_set() {
    let Some(desk) = Desk::as_root() else { return };
    for words in [&["set", "cpu_dma_latency=37"][..], &split("set cpu_dma_latency=37 --confirm-within 60s")[..]] {
        let sentence = desk.run(words).refused(2);
        assert!(
            sentence.contains("drops it as soon as no process holds it; use it with `powerband with`"),
            "{sentence}"
        );
    }
    assert!(desk.json(&["info", "turned"])["turned"].as_array().unwrap().is_empty());
}

#[test]
fn a_killed_holder_takes_its_latency_along() {
    if !root() {
        return;
    }
    let _alone = alone();
    let desk = Desk::new();
    let before = in_force();
    let mut child = desk.command(&["with", "cpu_dma_latency=41", "--", "sleep", "600"]).spawn().unwrap();
    until("the latency is in force", || in_force() == 41);
    child.kill().unwrap();
    child.wait().unwrap();
    until("it is let go of", || in_force() == before);
    until("the ledger is clean", || desk.json(&["info", "turned"])["turned"].as_array().is_some_and(Vec::is_empty));
}

#[test]
fn a_cpu_of_its_own_may_be_asked_to_wake_fast() {
    let path = "/sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us";
    if !root() || !Path::new(path).exists() {
        return;
    }
    let desk = Desk::new();
    let before = std::fs::read_to_string(path).unwrap();
    desk.run(&["set", "resume_latency_us@cpu0=120"]).ended(0);
    assert_eq!(std::fs::read_to_string(path).unwrap(), "120\n");
    desk.run(&["undo"]).ended(0);
    assert_eq!(std::fs::read_to_string(path).unwrap(), before);
}
