//! Knobs and meters on the simulated machines.
use std::collections::BTreeMap;

use powerband_knob::*;
use powerband_machine::{EntryId, Hold, Machine, World};
use powerband_record::{Setting, Side};
use powerband_sim::{Profile, SimWorld};

/// Every text under cpufreq that does not move by itself.
fn texts(machine: &mut dyn Machine, folder: &str, into: &mut BTreeMap<String, String>) {
    for entry in machine.list(folder).unwrap() {
        let path = format!("{folder}/{}", entry.name);
        if entry.folder && entry.name != "stats" {
            texts(machine, &path, into);
        } else if !["scaling_cur_freq", "cpuinfo_cur_freq", "reset"].contains(&entry.name.as_str())
            && let Ok(text) = machine.read(&path)
        {
            into.insert(path, text);
        }
    }
}

fn snapshot(machine: &mut dyn Machine) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    texts(machine, "/sys/devices/system/cpu/cpufreq", &mut all);
    all
}

const SETTINGS: [&str; 9] = [
    "governor=conservative up_threshold=98 down_threshold=95",
    "governor=conservative up_threshold=15 down_threshold=12 freq_step=10",
    "governor=userspace freq=LOW",
    "governor=userspace freq=HIGH max_freq=LOW",
    "governor@cpu0=powersave",
    "min_freq=HIGH max_freq=HIGH cpu_quota=25%",
    "min_freq=LOW max_freq=LOW",
    "governor=ondemand up_threshold=40 sampling_down_factor=3 sampling_rate=50000",
    "governor=performance",
];

#[test]
fn every_setting_lands_and_comes_back_on_every_simulated_machine() {
    let (mut checked, mut bad) = (0, Vec::new());
    for name in Profile::names() {
        for first in SETTINGS {
            for second in SETTINGS {
                for hold in [Hold::Held, Hold::Set] {
                    let mut world = SimWorld::new(Profile::builtin(name).unwrap(), None, 1).unwrap();
                    let info = cpufreq(world.machine(Side::Near).unwrap()).unwrap().0.remove(0);
                    let text = |text: &str| {
                        let text = text.replace("LOW", &format!("{}", info.steps_khz[0]));
                        Setting::parse(&text.replace("HIGH", &format!("{}", info.steps_khz.last().unwrap()))).unwrap()
                    };
                    let (first, second) = (text(first), text(second));
                    let all = Selection::everywhere();
                    let machine = world.machine(Side::Near).unwrap();
                    if let Err(error) = apply(machine, &first, Hold::Held, &all) {
                        bad.push(format!("{name}: {}: {error}", first.turns()));
                        continue;
                    }
                    let now = world.now_ns();
                    world.wait(Some(now + 50_000_000));
                    let machine = world.machine(Side::Near).unwrap();
                    let before = snapshot(machine);
                    let open: Vec<EntryId> = machine.open_entries().iter().map(|entry| entry.id).collect();
                    let hold = if second.turns().contains("quota") { Hold::Held } else { hold };
                    match apply(machine, &second, hold, &all) {
                        Err(error) => {
                            bad.push(format!("{name}: {} after {}: {error}", second.turns(), first.turns()));
                            assert_eq!(snapshot(machine), before, "{name}: {} after {}", second.turns(), first.turns());
                        }
                        Ok(mut applied) => {
                            let now = world.now_ns();
                            world.wait(Some(now + 50_000_000));
                            let machine = world.machine(Side::Near).unwrap();
                            applied.look_again(machine);
                            assert_eq!(
                                verify(machine, &applied),
                                [],
                                "{name}: {} after {}",
                                second.turns(),
                                first.turns()
                            );
                            let restored = restore(machine, &applied.entries, false);
                            assert!(
                                restored.complete(),
                                "{name}: {} after {}: {restored:?}",
                                second.turns(),
                                first.turns()
                            );
                            assert_eq!(snapshot(machine), before, "{name}: {} after {}", second.turns(), first.turns());
                            checked += 1;
                        }
                    }
                    let left: Vec<EntryId> = machine_open(&mut world);
                    assert_eq!(left, open);
                }
            }
        }
    }
    bad.sort();
    bad.dedup();
    println!("{checked} checked\n{}", bad.join("\n"));
    assert!(checked > 200);
}

fn machine_open(world: &mut SimWorld) -> Vec<EntryId> {
    world.machine(Side::Near).unwrap().open_entries().iter().map(|entry| entry.id).collect()
}

/// What is turned one after the other, as steps of their own, and with it how a CPU gets in and out of service.
const WITH_CPUS: [&[&str]; 4] = [
    &["governor=conservative up_threshold=98 file:/sys/devices/system/cpu/cpu1/online=0"],
    &["file:/sys/devices/system/cpu/cpu1/online=0", "governor=conservative up_threshold=98"],
    &["governor=userspace freq=LOW", "max_freq=LOW", "file:/sys/devices/system/cpu/cpu1/online=0"],
    &[
        "file:/sys/devices/system/cpu/cpu1/online=0",
        "file:/sys/devices/system/cpu/cpu1/online=1",
        "governor=userspace freq=LOW max_freq=LOW",
        "file:/sys/devices/system/cpu/cpu1/online=0",
    ],
];

#[test]
fn a_cpu_that_was_taken_out_of_service_comes_back_with_everything_on_it() {
    let mut checked = 0;
    for name in Profile::names() {
        for steps in WITH_CPUS {
            let mut world = SimWorld::new(Profile::builtin(name).unwrap(), None, 1).unwrap();
            let machine = world.machine(Side::Near).unwrap();
            let Ok(before) = machine.read("/sys/devices/system/cpu/cpu1/online") else { continue };
            let low = cpufreq(machine).unwrap().0.remove(0).steps_khz[0];
            let all = Selection::everywhere();
            // A state that is not a boot's, of what a CPU out of service does not lose.
            let found = Setting::parse("governor=ondemand up_threshold=60").unwrap();
            apply(machine, &found, Hold::Held, &all).unwrap();
            let (found, set_before) = (snapshot(machine), machine.open_entries().len());
            for step in steps {
                let setting = Setting::parse(&step.replace("LOW", &low.to_string())).unwrap();
                apply(machine, &setting, Hold::Set, &all).unwrap();
            }
            assert_ne!(snapshot(machine), found, "{name}: {steps:?}");
            let entries = machine_open(&mut world).split_off(set_before);
            let machine = world.machine(Side::Near).unwrap();
            let restored = restore(machine, &entries, false);
            assert!(restored.complete() && restored.inexact.is_empty(), "{name}: {steps:?}: {restored:?}");
            assert_eq!(machine.read("/sys/devices/system/cpu/cpu1/online").unwrap(), before);
            assert_eq!(snapshot(machine), found, "{name}: {steps:?}");
            checked += 1;
        }
    }
    assert!(checked >= 8, "{checked}");
}
