//! Idle states of a real kernel: kept from use, lost, and told of; and a latency that lasts as long as it is held.
use powerband_bench_virtual::{BootOptions, Guest};

use crate::desk::on_own;

const DISABLE: &str = "/sys/devices/system/cpu/cpu1/cpuidle/state2/disable";

/// What a script prints that ends well.
#[track_caller]
fn sh(guest: &mut Guest, script: &str) -> String {
    let ran = guest.script(script).unwrap();
    assert_eq!(ran.code, 0, "{script}\n{}{}", ran.text(), String::from_utf8_lossy(&ran.err));
    ran.text()
}

/// What powerband prints and says, ending with a code.
#[track_caller]
fn powerband(guest: &mut Guest, code: i32, words: &[&str]) -> String {
    let ran = guest.run(&[&["powerband"], words].concat()).unwrap();
    let told = ran.text() + &String::from_utf8_lossy(&ran.err);
    assert_eq!(ran.code, code, "{words:?}\n{told}");
    told
}

#[test]
fn an_idle_state_that_is_kept_from_use_and_lost_is_told_of() {
    on_own(|| Guest::boot(&BootOptions { idle_states: true, ..BootOptions::machine("quadcore")? }), loses);
}

fn loses(guest: &mut Guest) {
    let disabled = |guest: &mut Guest| sh(guest, &format!("cat {DISABLE}")).trim().to_owned();
    let info = powerband(guest, 0, &["info", "idle"]);
    assert!(info.contains("driver acpi_idle") && info.contains("C1") && info.contains("C2"), "{info}");

    // Kept from use, and back.
    let told = powerband(guest, 0, &["set", "cpuidle.disable@cpu1/C2=1"]);
    assert!(told.contains("cpuidle.disable at cpu1/C2: 1, applied"), "{told}");
    assert_eq!(disabled(guest), "1");
    powerband(guest, 0, &["undo"]);
    assert_eq!(disabled(guest), "0");

    // A CPU out of service has no states to show; this driver remembers the switch, and powerband tells what is there.
    powerband(guest, 0, &["set", "cpuidle.disable@cpu1/C2=1"]);
    sh(guest, "echo 0 >/sys/devices/system/cpu/cpu1/online; echo 1 >/sys/devices/system/cpu/cpu1/online");
    let there = disabled(guest);
    let got = powerband(guest, 0, &["get", "cpuidle.disable@cpu1/C2"]);
    assert!(got.contains(&format!("= {there}")), "{got}");

    // The driver taken off the CPU and restore on begins anew, as one that was loaded again does.
    sh(guest, "cd /sys/bus/cpu/drivers/processor; echo cpu1 >unbind; echo cpu1 >bind");
    assert_eq!(disabled(guest), "0", "the kernel has forgotten it");
    let got = powerband(guest, 0, &["get", "cpuidle.disable@cpu1/C2"]);
    assert!(got.contains("= 0 (powerband set it to 1; that was lost, or somebody has changed it)"), "{got}");
    let undone = powerband(guest, 0, &["undo"]);
    assert!(undone.contains("already as before: 1"), "{undone}");

    // In an experiment a trial that lost it does not count.
    let lose = "cd /sys/bus/cpu/drivers/processor; echo cpu1 >unbind; echo cpu1 >bind";
    let words = [
        "try",
        "-s",
        "a:",
        "-s",
        "b:cpuidle.disable@cpu1/C2=1",
        "--settle",
        "0",
        "--blocks",
        "2",
        "--metric",
        "real_s",
        "--warmup",
        "0",
        "--",
    ];
    let ran = guest.run(&[&["powerband"], &words[..], &["sh", "-c", lose]].concat()).unwrap();
    let told = ran.text() + &String::from_utf8_lossy(&ran.err);
    assert!(told.contains("cpuidle.disable at cpu1/C2") && told.contains("void"), "{}: {told}", ran.code);
    assert_eq!(disabled(guest), "0");

    latency(guest);
}

/// Real /dev/cpu_dma_latency: in force while it is held, whatever becomes of the holder.
fn latency(guest: &mut Guest) {
    let in_force = "od -An -td4 /dev/cpu_dma_latency";
    let before = sh(guest, in_force);
    let held = powerband(guest, 0, &["with", "pmqos.cpu_dma_latency=37", "--", "sh", "-c", in_force]);
    assert_eq!(held.trim(), "37");
    assert_eq!(sh(guest, in_force), before);
    let pid =
        sh(guest, "setsid powerband with cpu_dma_latency=41 -- sleep 600 </dev/null >/run/started 2>&1 & echo $!");
    let read = |guest: &mut Guest| sh(guest, in_force).trim().to_owned();
    let until = |guest: &mut Guest, what: &str, wanted: &dyn Fn(&str) -> bool| {
        let found = (0..3000).any(|_| wanted(&read(guest)));
        assert!(found, "waited in vain: {what}");
    };
    until(guest, "it is held", &|us| us == "41");
    sh(guest, &format!("kill -9 {}", pid.trim()));
    until(guest, "it is let go of", &|us| us == before.trim());
}
