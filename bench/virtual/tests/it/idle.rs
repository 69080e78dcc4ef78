//! Idle states of a real kernel: kept from use, lost, and told of; and a latency that lasts as long as it is held.
use powerband_bench_virtual::{BootOptions, Guest};

use crate::desk::{Desk, on_own};

#[test]
fn an_idle_state_that_is_kept_from_use_and_lost_is_told_of() {
    let boot = || Guest::boot(&BootOptions { idle_states: true, ..BootOptions::machine("quadcore")? });
    on_own(boot, |guest| {
        guest.set_paced(false);
        loses(guest);
        latency(guest);
    });
}

fn loses(guest: &mut Guest) {
    let disabled =
        |guest: &mut Guest| guest.sh("cat /sys/devices/system/cpu/cpu1/cpuidle/state2/disable").trim().to_owned();
    let info = guest.told(0, "info idle");
    assert!(info.contains("driver acpi_idle") && info.contains("C1") && info.contains("C2"), "{info}");

    // Kept from use, and back.
    let told = guest.told(0, "set cpuidle.disable@cpu1/C2=1");
    assert!(told.contains("cpuidle.disable at cpu1/C2: 1, applied"), "{told}");
    assert_eq!(disabled(guest), "1");
    guest.powerband(0, "undo");
    assert_eq!(disabled(guest), "0");

    // A CPU out of service has no states to show; this driver remembers the switch, and powerband tells what is there.
    guest.powerband(0, "set cpuidle.disable@cpu1/C2=1");
    guest.sh("echo 0 >/sys/devices/system/cpu/cpu1/online; echo 1 >/sys/devices/system/cpu/cpu1/online");
    let there = disabled(guest);
    let got = guest.told(0, "get cpuidle.disable@cpu1/C2");
    assert!(got.contains(&format!("= {there}")), "{got}");

    // The driver taken off the CPU and restore on begins anew, as one that was loaded again does.
    let lose = "cd /sys/bus/cpu/drivers/processor; echo cpu1 >unbind; echo cpu1 >bind";
    guest.sh(lose);
    assert_eq!(disabled(guest), "0", "the kernel has forgotten it");
    let got = guest.told(0, "get cpuidle.disable@cpu1/C2");
    assert!(got.contains("= 0 (powerband set it to 1; that was lost, or somebody has changed it)"), "{got}");
    let undone = guest.told(0, "undo");
    assert!(undone.contains("already as before: 1"), "{undone}");

    // In an experiment a trial that lost it does not count.
    let once = "--settle 0 --blocks 2 --metric real_s --warmup 0";
    let words = format!("powerband try -s a: -s b:cpuidle.disable@cpu1/C2=1 {once} -- sh -c '{lose}'");
    let ran = guest.script(&words).unwrap();
    let told = ran.text() + &String::from_utf8_lossy(&ran.err);
    assert!(told.contains("cpuidle.disable at cpu1/C2") && told.contains("void"), "{}: {told}", ran.code);
    assert_eq!(disabled(guest), "0");
}

/// Real /dev/cpu_dma_latency: in force while it is held, whatever becomes of the holder.
fn latency(guest: &mut Guest) {
    let read = |guest: &mut Guest| guest.sh("od -An -td4 /dev/cpu_dma_latency").trim().to_owned();
    let before = read(guest);
    let held = guest.told(0, "with pmqos.cpu_dma_latency=37 -- sh -c 'od -An -td4 /dev/cpu_dma_latency'");
    assert_eq!(held.trim(), "37");
    assert_eq!(read(guest), before);
    let pid = guest.start("setsid powerband with cpu_dma_latency=41 -- sleep 600");
    guest.until("it is held", |guest| read(guest) == "41");
    guest.sh(&format!("kill -9 {pid}"));
    guest.until("it is let go of", |guest| read(guest) == before);
}
