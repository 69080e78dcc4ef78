//! Knobs and meters on the simulated machines.
use std::collections::{BTreeMap, BTreeSet};

use powerband_knob::*;
use powerband_machine::{EntryId, Hold, Machine, World};
use powerband_record::{Setting, Side};
use powerband_sim::{Profile, SimWorld};

/// Every text under cpufreq that does not move by itself.
fn texts(machine: &mut dyn Machine, folder: &str, into: &mut BTreeMap<String, String>) {
    for entry in machine.list(folder).unwrap() {
        let path = format!("{folder}/{}", entry.name);
        // A link leads to what is listed elsewhere, or back.
        if entry.link.is_some() {
            continue;
        }
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
    const CPUS: &str = "/sys/devices/system/cpu";
    let mut all = BTreeMap::new();
    let together = format!("{CPUS}/cpufreq");
    if machine.list(&together).is_ok() {
        texts(machine, &together, &mut all);
        return all;
    }
    // Linux 2.6.18 has a folder for each CPU and none for all.
    let folders = machine.list(CPUS).unwrap().into_iter().map(|entry| format!("{CPUS}/{}/cpufreq", entry.name));
    for folder in folders.collect::<Vec<_>>() {
        if machine.list(&folder).is_ok() {
            texts(machine, &folder, &mut all);
        }
    }
    assert!(!all.is_empty());
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

/// Sets one setting after another, and restores the second; an error where one is refused, which must leave nothing.
fn set_and_restore(name: &str, first: &str, second: &str, hold: Hold) -> Result<(), String> {
    let mut world = SimWorld::new(Profile::builtin(name).unwrap(), None, 1).unwrap();
    let info = cpufreq(world.machine(Side::Near).unwrap()).unwrap().0.remove(0);
    let [low, high] = [info.lowest_khz, info.highest_khz].map(|khz| khz.unwrap().to_string());
    let setting = |text: &str| Setting::parse(&text.replace("LOW", &low).replace("HIGH", &high)).unwrap();
    let (all, told) = (Selection::everywhere(), format!("{name}: {second} after {first}"));
    let settle = |world: &mut SimWorld| world.wait(Some(world.now_ns() + 50_000_000));
    let near = world.machine(Side::Near).unwrap();
    apply(near, &setting(first), Hold::Held, &all).map_err(|error| error.to_string())?;
    settle(&mut world);
    let open = machine_open(&mut world);
    let near = world.machine(Side::Near).unwrap();
    let before = snapshot(near);
    let hold = if second.contains("quota") { Hold::Held } else { hold };
    let outcome = apply(near, &setting(second), hold, &all);
    if let Ok(applied) = &mut outcome.clone() {
        settle(&mut world);
        let near = world.machine(Side::Near).unwrap();
        applied.look_again(near);
        assert_eq!(verify(near, applied), [], "{told}");
        let restored = restore(near, &applied.entries, false);
        assert!(restored.complete(), "{told}: {restored:?}");
    }
    assert_eq!(snapshot(world.machine(Side::Near).unwrap()), before, "{told}");
    assert_eq!(machine_open(&mut world), open, "{told}");
    outcome.map(drop).map_err(|error| error.to_string())
}

#[test]
fn every_setting_lands_and_comes_back_on_every_simulated_machine() {
    let mut checked = 0;
    for name in Profile::names() {
        for (place, first) in SETTINGS.iter().enumerate() {
            for (other, second) in SETTINGS.iter().enumerate() {
                // Half of the pairs are held, the others set for good; what is restored, and in which order, is the same.
                let hold = [Hold::Held, Hold::Set][(place + other) % 2];
                checked += u32::from(set_and_restore(name, first, second, hold).is_ok());
            }
        }
    }
    assert!(checked > 200, "{checked}");
}

/// What is open, but for what was saved for the first setting because the second one found it moved.
fn machine_open(world: &mut SimWorld) -> Vec<EntryId> {
    let open = world.machine(Side::Near).unwrap().open_entries();
    open.iter().filter(|entry| !entry.turn.saves_what_is_hidden()).map(|entry| entry.id).collect()
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
            if machine.list("/sys/devices/system/cpu/cpufreq").is_err() {
                // Linux 2.6.18 gives a CPU that comes back its default governor, which then passes for another's.
                continue;
            }
            let low = cpufreq(machine).unwrap().0.remove(0).lowest_khz.unwrap();
            let all = Selection::everywhere();
            let own = ["intel_pstate", "amd_pstate"].map(|own| format!("/sys/devices/system/cpu/{own}/status"));
            if own.iter().any(|status| machine.read(status).is_ok()) {
                apply(machine, &Setting::parse("pstate=passive").unwrap(), Hold::Held, &all).unwrap();
            }
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

#[test]
fn a_governor_may_come_with_the_mode_that_has_it() {
    let mut world = SimWorld::new(Profile::builtin("laptop").unwrap(), None, 1).unwrap();
    let all = Selection::everywhere();
    let machine = world.machine(Side::Near).unwrap();
    let turn = |machine: &mut dyn Machine, words: &str| {
        apply(machine, &Setting::parse(words).unwrap(), Hold::Held, &all).map_err(|error| error.to_string())
    };
    let governor = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    let before = whole(machine);
    let why = turn(machine, "governor=schedutil").unwrap_err();
    assert!(why.contains("active mode; set both: pstate=passive governor=schedutil"), "{why}");
    // Only once the driver is in that mode is it known that this one is not there; then all goes back.
    let why = turn(machine, "pstate=passive governor=interactive").unwrap_err();
    assert!(why.contains("'interactive' is not a governor here; there are: conservative, ondemand"), "{why}");
    assert_eq!(whole(machine), before);
    assert!(machine.open_entries().is_empty());
    let applied = turn(machine, "governor=schedutil pstate=passive").unwrap();
    assert_eq!(applied.sites[0].named.name, "pstate.status");
    assert_eq!(machine.read(governor).unwrap().trim(), "schedutil");
    // Back to the driver's own rules it goes the same way, and what these lack is known before.
    let why = turn(machine, "pstate=active governor=schedutil").unwrap_err();
    assert!(why.contains("the mode active, which has performance and powersave alone"), "{why}");
    let back = turn(machine, "pstate=active governor=performance").unwrap();
    assert_eq!(machine.read(governor).unwrap().trim(), "performance");
    assert!(restore(machine, &back.entries, false).complete() && restore(machine, &applied.entries, false).complete());
    assert_eq!(whole(machine), before);
}

/// Every text of a machine's CPUs that does not move by itself.
fn whole(machine: &mut dyn Machine) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    texts(machine, "/sys/devices/system/cpu", &mut all);
    all.insert("latency".into(), machine.read("/dev/cpu_dma_latency").unwrap_or_default());
    let counts = ["/usage", "/time", "/above", "/below"];
    all.retain(|path, _| !counts.iter().any(|count| path.ends_with(count)));
    all
}

/// Paths whose texts differ, with both.
fn changed(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<String> {
    let paths: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let differ = paths.into_iter().filter(|path| before.get(*path) != now.get(*path));
    differ.map(|path| format!("{path}: {:?}, {:?}", before.get(path), now.get(path))).collect()
}

/// What each machine can be told beyond clocks and governors: a machine and a setting.
const BEYOND: &str = include_str!("beyond.txt");

fn world_of(name: &str) -> SimWorld {
    let text = Profile::builtin_text(name).unwrap();
    // A second package, without which kernels of that time have nothing to gather tasks on.
    let text = text.replace(
        "[cpus]\npossible = \"0-7\"\npresent = \"0-3\"",
        "[cpus]\npossible = \"0-7\"\npackages = 2\npresent = \"0-3\"",
    );
    SimWorld::new(Profile::parse(&text).unwrap(), None, 1).unwrap()
}

#[test]
fn whatever_else_is_turned_leaves_no_file_of_the_cpus_other_than_it_was() {
    for (name, turned) in BEYOND.lines().map(|line| line.split_once(": ").unwrap()) {
        for hold in [Hold::Held, Hold::Set] {
            let mut world = world_of(name);
            let machine = world.machine(Side::Near).unwrap();
            let before = whole(machine);
            let setting = Setting::parse(turned).unwrap();
            let applied = apply(machine, &setting, hold, &Selection::everywhere())
                .unwrap_or_else(|error| panic!("{name}: {turned}: {error}"));
            assert_ne!(whole(machine), before, "{name}: {turned}");
            let now = world.now_ns();
            world.wait(Some(now + 50_000_000));
            let machine = world.machine(Side::Near).unwrap();
            assert_eq!(verify(machine, &applied), [], "{name}: {turned}");
            let restored = restore(machine, &applied.entries, false);
            assert!(restored.complete() && restored.inexact.is_empty(), "{name}: {turned}: {restored:?}");
            assert_eq!(whole(machine), before, "{name}: {turned}");
        }
    }
}

/// What another setting replaces of what was set before it, although no knob of it is in the second one.
#[test]
fn what_amd_pstate_forgets_with_a_governor_or_a_mode_is_brought_back() {
    for (first, second) in [
        ("governor=powersave epp=balance_power", "governor=performance"),
        ("governor=powersave epp=power boost=0 max_freq=1200000", "pstate=passive"),
        ("pstate=passive governor=ondemand up_threshold=60 boost=0", "pstate=active"),
        ("pstate=passive governor=ondemand up_threshold=60", "pstate=guided"),
        ("pstate=passive governor=userspace freq=1200000", "pstate=active"),
    ] {
        let mut world = world_of("amd-server");
        let machine = world.machine(Side::Near).unwrap();
        let set = |machine: &mut dyn Machine, words: &str| {
            apply(machine, &Setting::parse(words).unwrap(), Hold::Set, &Selection::everywhere()).unwrap()
        };
        let at_boot = whole(machine);
        let under = set(machine, first);
        let before = whole(machine);
        let over = set(machine, second);
        assert!(restore(machine, &over.entries, false).complete(), "{second}");
        assert_eq!(changed(&before, &whole(machine)), [""; 0], "{first}, then {second}");
        assert!(restore(machine, &under.entries, false).complete(), "{first}");
        assert_eq!(changed(&at_boot, &whole(machine)), [""; 0], "{first}");
    }
}

#[test]
fn the_daemon_cpuspeed_runs_while_it_is_set_and_leaves_nothing_behind() {
    let with_daemon = || {
        let text = include_str!("../../../sim/tests/it/eight.toml");
        SimWorld::new(Profile::parse(text).unwrap(), None, 1).unwrap()
    };
    let clock = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq";
    let settings = [("governor=performance", "3000000\n"), ("governor=userspace freq=2333MHz", "2333000\n")];
    for (found, found_clock) in settings {
        let mut world = with_daemon();
        let machine = world.machine(Side::Near).unwrap();
        apply(machine, &Setting::parse(found).unwrap(), Hold::Held, &Selection::everywhere()).unwrap();
        world.wait(Some(50_000_000));
        let machine = world.machine(Side::Near).unwrap();
        let before = whole(machine);
        // Written the other way round: the governor is turned first all the same.
        let setting = Setting::parse("cpuspeed=on governor=userspace").unwrap();
        let applied = apply(machine, &setting, Hold::Held, &Selection::everywhere()).unwrap();
        world.wait(Some(9_000_000_000));
        let machine = world.machine(Side::Near).unwrap();
        assert_eq!(machine.read(clock).unwrap(), "2000000\n", "an idle machine goes down");
        assert_eq!(verify(machine, &applied), []);
        assert!(restore(machine, &applied.entries, false).complete());
        world.wait(Some(20_000_000_000));
        let machine = world.machine(Side::Near).unwrap();
        assert_eq!(machine.read(clock).unwrap(), found_clock, "{found}");
        assert_eq!(whole(machine), before, "{found}");
    }
    let refused = |world: &mut SimWorld, words: &str| {
        let machine = world.machine(Side::Near).unwrap();
        plan(&Setting::parse(words).unwrap(), machine, &Selection::everywhere()).unwrap_err()
    };
    let why = refused(&mut with_daemon(), "governor=ondemand cpuspeed=on");
    assert!(matches!(why, KnobError::NeedsFirst { needs: "userspace", .. }), "{why}");
    let why = refused(&mut world_of("quadcore"), "governor=userspace cpuspeed=on");
    assert!(matches!(why, KnobError::Absent { .. }), "{why}");
}

#[test]
fn a_plan_foresees_what_an_old_kernel_refuses() {
    let mut world = world_of("x3650");
    let machine = world.machine(Side::Near).unwrap();
    for refused in ["governor=ondemand up_threshold=10", "cpuspeed=on"] {
        assert!(plan(&Setting::parse(refused).unwrap(), machine, &Selection::everywhere()).is_err(), "{refused}");
    }
    for fine in ["governor=ondemand up_threshold=11", "governor=userspace cpuspeed=on"] {
        assert!(plan(&Setting::parse(fine).unwrap(), machine, &Selection::everywhere()).is_ok(), "{fine}");
    }
}

#[test]
fn androids_governor_is_turned_with_its_tunables_and_put_back() {
    let text = Profile::builtin_text("omap3530").unwrap();
    let text = text.replacen("governors = [", "governors = [\"interactive\", ", 1);
    let mut world = SimWorld::new(Profile::parse(&text).unwrap(), None, 1).unwrap();
    let machine = world.machine(Side::Near).unwrap();
    let before = whole(machine);
    let setting = "governor=interactive go_hispeed_load=80 target_loads=75 timer_slack=-1 interactive.boost=on";
    let applied = apply(machine, &Setting::parse(setting).unwrap(), Hold::Held, &Selection::everywhere()).unwrap();
    let folder = "/sys/devices/system/cpu/cpufreq/interactive";
    for (tunable, reads) in
        [("go_hispeed_load", "80\n"), ("target_loads", "75\n"), ("timer_slack", "-1\n"), ("boost", "1\n")]
    {
        assert_eq!(machine.read(&format!("{folder}/{tunable}")).unwrap(), reads, "{tunable}");
    }
    assert_eq!(verify(machine, &applied), []);
    assert!(restore(machine, &applied.entries, false).complete());
    world.wait(Some(50_000_000));
    assert_eq!(whole(world.machine(Side::Near).unwrap()), before);
}

#[test]
fn a_limit_on_waking_up_is_there_while_it_is_held() {
    let mut world = world_of("laptop");
    let machine = world.machine(Side::Near).unwrap();
    let before = whole(machine);
    let setting = Setting::parse("cpu_dma_latency=70").unwrap();
    let applied = apply(machine, &setting, Hold::Held, &Selection::everywhere()).unwrap();
    assert_eq!(machine.read("/dev/cpu_dma_latency").unwrap(), "70\n");
    assert!(restore(machine, &applied.entries, false).complete());
    assert_eq!(whole(machine), before);
}

#[test]
fn boost_of_a_policy_needs_the_machines_and_says_so() {
    let mut world = world_of("board");
    let machine = world.machine(Side::Near).unwrap();
    let before = whole(machine);
    let setting = Setting::parse("boost@policy4=1").unwrap();
    let refused = apply(machine, &setting, Hold::Held, &Selection::everywhere()).unwrap_err().to_string();
    assert!(refused.contains("boost=1 without a site first"), "{refused}");
    assert_eq!(whole(machine), before);
}

#[test]
fn a_limit_that_boost_moves_comes_back() {
    let limit = |policy: u32| format!("/sys/devices/system/cpu/cpufreq/policy{policy}/scaling_max_freq");
    // From below the nominal end with boost off, and with boost on from below both ends.
    for (found, turned, moved) in
        [("0", "boost=1", "2016000"), ("1", "boost=0", "1800000"), ("1", "boost@policy0=0", "1800000")]
    {
        let mut world = world_of("board");
        let machine = world.machine(Side::Near).unwrap();
        let found = Setting::parse(&format!("boost={found} max_freq@policy0=816000")).unwrap();
        apply(machine, &found, Hold::Set, &Selection::everywhere()).unwrap();
        let before = whole(machine);
        let applied = apply(machine, &Setting::parse(turned).unwrap(), Hold::Set, &Selection::everywhere()).unwrap();
        assert_eq!(machine.read(&limit(0)).unwrap().trim(), moved, "{turned}");
        let said = format!("the upper limit of policy0 to {moved} kHz");
        assert!(applied.notes.len() == 1 && applied.notes[0].contains(&said), "{:?}", applied.notes);
        assert!(restore(machine, &applied.entries, false).complete());
        assert_eq!(whole(machine), before, "{turned}");
    }
}

#[test]
fn idle_states_that_cannot_be_switched_are_told() {
    let mut world = world_of("quadcore");
    let machine = world.machine(Side::Near).unwrap();
    let setting = Setting::parse("cpuidle.disable@C6=1").unwrap();
    let refused = apply(machine, &setting, Hold::Held, &Selection::everywhere()).unwrap_err().to_string();
    assert!(refused.contains("has no switch for them"), "{refused}");
}

#[test]
fn what_a_file_moves_is_restored_however_the_file_is_spelt() {
    let cpu = "/sys/devices/system/cpu";
    for (machine, state, turned) in [
        ("laptop", vec![format!("file:{cpu}/cpu1/cpuidle/state1/disable=1")], format!("file:{cpu}/./cpu1//online=0")),
        ("laptop", vec!["max_perf_pct=60".to_owned()], format!("file:{cpu}/cpu0/../intel_pstate/status=passive")),
        ("board", vec!["boost=1".to_owned(), "boost@policy0=0".to_owned()], "boost=0".to_owned()),
        ("board", vec!["min_freq@policy4=1512000".to_owned()], "max_freq@policy4=1200000".to_owned()),
    ] {
        let mut world = world_of(machine);
        let machine = world.machine(Side::Near).unwrap();
        for words in &state {
            apply(machine, &Setting::parse(words).unwrap(), Hold::Set, &Selection::everywhere()).unwrap();
        }
        let before = whole(machine);
        let setting = Setting::parse(&turned).unwrap();
        let applied = apply(machine, &setting, Hold::Set, &Selection::everywhere()).unwrap();
        assert_ne!(whole(machine), before, "{turned}");
        assert!(restore(machine, &applied.entries, false).complete(), "{turned}");
        assert_eq!(whole(machine), before, "{turned}");
    }
}

#[test]
fn limits_and_speeds_that_a_limit_hides_come_back_with_it() {
    for (name, found, first, second) in [
        ("laptop", "min_freq=1600000", "max_freq=1200000", "pstate=passive"),
        ("amd-server", "min_freq=2000000", "max_freq=1600000", "pstate=passive"),
    ] {
        let mut world = SimWorld::new(Profile::builtin(name).unwrap(), None, 1).unwrap();
        let set = |world: &mut SimWorld, words: &str| {
            let machine = world.machine(Side::Near).unwrap();
            let setting = Setting::parse(words).unwrap();
            let applied = apply(machine, &setting, Hold::Set, &Selection::everywhere()).unwrap();
            world.wait(Some(world.now_ns() + 50_000_000));
            applied
        };
        set(&mut world, found);
        let before = whole(world.machine(Side::Near).unwrap());
        let (under, over) = (set(&mut world, first), set(&mut world, second));
        for applied in [over, under] {
            assert!(restore(world.machine(Side::Near).unwrap(), &applied.entries, false).left().is_empty(), "{name}");
            world.wait(Some(world.now_ns() + 50_000_000));
        }
        assert_eq!(
            changed(&before, &whole(world.machine(Side::Near).unwrap())),
            [""; 0],
            "{name}: {first}, then {second}"
        );
    }
}
