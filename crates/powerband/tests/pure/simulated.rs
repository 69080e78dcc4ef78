//! Turning a simulated machine: what one process set is there for the next, and `undo` takes it back step by step.
use serde_json::Value;

use crate::desk::Desk;

const ROUTER: [&str; 2] = ["--machine", "sim:omap3530"];
const QUAD: [&str; 2] = ["--machine", "sim:quadcore"];

fn on<'a>(machine: &[&'a str; 2], words: &[&'a str]) -> Vec<&'a str> {
    [&machine[..], words].concat()
}

/// What knobs read, site by site.
fn read(desk: &Desk, machine: &[&str; 2], knob: &str) -> Vec<String> {
    let value = desk.json(&on(machine, &["get", knob]));
    assert_eq!(value["version"], 1);
    let readings = value["readings"].as_array().unwrap();
    readings.iter().map(|row| row["reading"]["value"].as_str().unwrap().to_owned()).collect()
}

fn turned(desk: &Desk, machine: &[&str; 2]) -> Vec<Value> {
    desk.json(&on(machine, &["info", "turned"]))["turned"].as_array().unwrap().clone()
}

#[test]
fn what_is_set_is_there_for_the_next_process_and_undo_takes_it_back() {
    let desk = Desk::new();
    assert_eq!(read(&desk, &ROUTER, "governor"), ["userspace"]);
    let set = desk.json(&on(&ROUTER, &["set", "governor=ondemand", "up_threshold=60"]));
    let landed: Vec<_> = set["steps"].as_array().unwrap().iter().map(|step| step["turned"]["landed"].clone()).collect();
    assert_eq!(landed, ["applied", "applied"]);
    assert_eq!(read(&desk, &ROUTER, "governor"), ["ondemand"]);
    assert_eq!(read(&desk, &ROUTER, "up_threshold"), ["60"]);
    assert_eq!(turned(&desk, &ROUTER).len(), 2);
    let undo = desk.json(&on(&ROUTER, &["undo"]));
    // With the governor comes the frequency that was set under it.
    assert_eq!((&undo["restored"]["undone"], &undo["steps_left"]), (&3.into(), &0.into()));
    assert_eq!(read(&desk, &ROUTER, "governor"), ["userspace"]);
    assert!(turned(&desk, &ROUTER).is_empty());
    assert!(desk.run(&on(&ROUTER, &["undo"])).ended(0).out.contains("nothing is changed"));
}

#[test]
fn undo_goes_back_one_step_at_a_time_or_all_at_once() {
    let desk = Desk::new();
    let clock = || read(&desk, &ROUTER, "max_freq");
    for value in ["500MHz", "250MHz"] {
        desk.run(&on(&ROUTER, &["set", &format!("max_freq={value}")])).ended(0);
    }
    desk.run(&on(&ROUTER, &["set", "governor=powersave"])).ended(0);
    let listed = desk.json(&on(&ROUTER, &["undo", "--list"]));
    assert!(listed["open"].as_array().unwrap().len() >= 3);
    assert_eq!(clock(), ["250000"], "listing takes nothing back");
    assert_eq!(desk.json(&on(&ROUTER, &["undo"]))["steps_left"], 2);
    assert_eq!(read(&desk, &ROUTER, "governor"), ["userspace"]);
    assert_eq!(clock(), ["250000"]);
    assert_eq!(desk.json(&on(&ROUTER, &["undo"]))["steps_left"], 1);
    assert_eq!(clock(), ["500000"]);
    desk.run(&on(&ROUTER, &["set", "governor=ondemand"])).ended(0);
    assert_eq!(desk.json(&on(&ROUTER, &["undo", "--all"]))["steps_left"], 0);
    assert_eq!(clock(), ["600000"]);
    assert_eq!(read(&desk, &ROUTER, "governor"), ["userspace"]);
}

#[test]
fn every_step_says_what_was_there_before() {
    let desk = Desk::new();
    desk.run(&on(&ROUTER, &["set", "governor=powersave"])).ended(0);
    desk.run(&on(&ROUTER, &["set", "max_freq=500MHz"])).ended(0);
    let text = desk.run(&on(&ROUTER, &["undo", "--list"])).ended(0).out;
    assert!(text.contains("was userspace"), "{text}");
    assert!(!text.contains("unknown"), "{text}");
}

#[test]
fn a_dry_run_turns_nothing_and_says_what_it_would() {
    let desk = Desk::new();
    let dry = desk.json(&on(&QUAD, &["set", "--dry-run", "governor=powersave"]));
    assert_eq!(dry["dry_run"], true);
    let steps = dry["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 4);
    for step in steps {
        let step = &step["step"];
        assert_eq!(
            (&step["from"], &step["to"], &step["already"]),
            (&"ondemand".into(), &"powersave".into(), &false.into())
        );
    }
    assert_eq!(read(&desk, &QUAD, "governor"), ["ondemand"; 4]);
    assert!(turned(&desk, &QUAD).is_empty());
}

#[test]
fn a_dry_run_of_an_experiment_turns_and_keeps_nothing() {
    let desk = Desk::new();
    let dry = desk.json(&["run", "plans/router.toml", "--dry-run"]);
    assert_eq!(dry["settings"].as_array().unwrap().len(), 5);
    assert_eq!(dry["judged"], serde_json::json!(["rate_mbit_s"]));
    assert!(dry["longest_ns"].as_u64().unwrap() > dry["trial_ns"].as_u64().unwrap());
    assert_eq!(desk.experiments(), 0);
}

#[test]
fn a_dry_run_starts_from_the_boot_as_trials_do() {
    let desk = Desk::new();
    desk.run(&on(&QUAD, &["set", "governor=powersave"])).ended(0);
    let words = ["try", "governor=performance,ondemand", "--load", "counter", "--for", "1s", "--dry-run"];
    let dry = desk.json(&on(&QUAD, &words));
    let from = |setting: usize| dry["settings"][setting]["near"][0]["from"].clone();
    assert_eq!((from(1), from(2)), ("ondemand".into(), "ondemand".into()));
    // Two machines of one name are two, of which nothing is kept.
    let pair = desk.json(&["run", "plans/coalesce-ping.toml", "--dry-run"]);
    assert_eq!(pair["settings"].as_array().unwrap().len(), 5);
}

#[test]
fn a_dry_run_says_what_runs_next_to_the_load_and_no_command_leaves_it_out() {
    let desk = Desk::new();
    let text = desk.run(&["run", "plans/wake-background.toml", "--dry-run"]).ended(0).out;
    assert!(text.contains("busy\n    background: spin@cpu1\n"), "{text}");
    let ran = desk.run(&["--seed", "1", "run", "plans/wake-background.toml"]).ended(0).out;
    assert!(ran.contains("> busy-awake") && !ran.contains("-- COMMAND"), "{ran}");
    let unfolded = ran.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unfolded.contains("There is no command for it: its background spin@cpu1 is a load of"), "{ran}");
}

#[test]
fn an_experiment_takes_no_longer_than_its_dry_run_says() {
    let desk = Desk::new();
    let gathered: &[&str] = &["plans/governors-gathered.toml", "--budget", "1m"];
    for words in [&["plans/counter-idle.toml"], &["plans/router-busy.toml"], &["plans/counter.toml"], gathered] {
        let run = [&["--seed", "1", "run"], words].concat();
        let longest_ns = desk.json(&[&run[..], &["--dry-run"]].concat())["longest_ns"].as_u64().unwrap();
        let report = desk.report(&run);
        assert!(report.voids.is_empty());
        let (took_s, most_s) = (report.elapsed_s, longest_ns as f64 / 1e9);
        assert!(took_s <= most_s, "{words:?} took {took_s} s, at most {most_s} s");
        if report.blocks == report.max_blocks {
            assert!(took_s > 0.6 * most_s, "{words:?} took {took_s} s, at most {most_s} s");
        }
    }
}

#[test]
fn one_cpu_of_four_turns_one_policy_of_four() {
    let desk = Desk::new();
    let text = desk.run(&on(&QUAD, &["-c", "1", "set", "governor=powersave"])).ended(0).out;
    assert!(text.contains("set on policies 1 of 4"), "{text}");
    assert_eq!(read(&desk, &QUAD, "governor"), ["ondemand", "powersave", "ondemand", "ondemand"]);
    assert_eq!(desk.json(&on(&QUAD, &["-c", "1", "get", "governor"]))["readings"].as_array().unwrap().len(), 1);
}

#[test]
fn a_governor_that_is_not_there_is_answered_with_those_that_are() {
    let desk = Desk::new();
    let why = desk.run(&on(&QUAD, &["set", "governor=nonsense"])).refused(2);
    for governor in ["conservative", "ondemand", "performance", "powersave", "userspace"] {
        assert!(why.contains(governor), "{why}");
    }
    assert!(turned(&desk, &QUAD).is_empty());
}

#[test]
fn a_bare_number_far_below_the_clocks_is_asked_back() {
    let desk = Desk::new();
    let why = desk.run(&on(&ROUTER, &["set", "max_freq=500"])).refused(2);
    assert!(why.contains("did you mean 500MHz?"), "{why}");
    assert_eq!(read(&desk, &ROUTER, "max_freq"), ["600000"]);
    desk.run(&on(&ROUTER, &["set", "max_freq=0.5GHz"])).ended(0);
    assert_eq!(read(&desk, &ROUTER, "max_freq"), ["500000"]);
}

#[test]
fn thresholds_are_turned_in_an_order_the_kernel_takes() {
    let desk = Desk::new();
    // Written up first: 30 would be below the 20 there only after the other moved, and 95 above the old 80.
    for words in [["down_threshold=95", "up_threshold=98"], ["up_threshold=30", "down_threshold=25"]] {
        desk.run(&on(&QUAD, &["set", "governor=conservative", words[0], words[1]])).ended(0);
        for word in words {
            let (knob, value) = word.split_once('=').unwrap();
            assert_eq!(read(&desk, &QUAD, knob), [value]);
        }
    }
    let why = desk.run(&on(&QUAD, &["set", "up_threshold=40", "down_threshold=60"])).refused(2);
    assert!(why.contains("up_threshold"), "{why}");
    desk.run(&on(&QUAD, &["undo", "--all"])).ended(0);
    assert_eq!(read(&desk, &QUAD, "governor"), ["ondemand"; 4]);
    assert!(turned(&desk, &QUAD).is_empty());
}

#[test]
fn a_tunable_of_a_governor_not_in_force_says_what_to_write() {
    let desk = Desk::new();
    let why = desk.run(&on(&QUAD, &["set", "conservative.up_threshold=60"])).refused(2);
    assert!(why.contains("set governor=conservative conservative.up_threshold=60"), "{why}");
    assert!(turned(&desk, &QUAD).is_empty());
    assert_eq!(read(&desk, &QUAD, "governor"), ["ondemand"; 4]);
}

#[test]
fn an_experiment_starts_from_boot_whatever_was_set() {
    let desk = Desk::new();
    desk.run(&on(&QUAD, &["set", "governor=powersave"])).ended(0);
    desk.run(&["run", "plans/counter.toml", "--blocks", "2"]).ended(0);
    assert_eq!(read(&desk, &QUAD, "governor"), ["powersave"; 4], "and leaves alone what was set");
}

#[test]
fn a_far_machine_is_taken_back_too() {
    let desk = Desk::new();
    let rig = ["--machine", "sim:omap3530", "--far", "sim:pc"];
    let far = || {
        let value = desk.json(&[&rig[..], &["get", "far/governor"]].concat());
        value["readings"][0]["reading"]["value"].as_str().unwrap().to_owned()
    };
    let before = far();
    desk.run(&[&rig[..], &["set", "governor=ondemand", "far/governor=powersave"]].concat()).ended(0);
    assert_eq!(far(), "powersave");
    desk.run(&[&rig[..], &["undo", "--all"]].concat()).ended(0);
    assert_eq!(far(), before);
    assert_eq!(read(&desk, &ROUTER, "governor"), ["userspace"]);
}

#[test]
fn what_was_set_at_the_far_end_is_taken_back_by_its_own_name() {
    let desk = Desk::new();
    let near = ["--machine", "sim:pc"];
    let before = read(&desk, &near, "governor");
    desk.run(&["--machine", "sim:omap3530", "--far", "sim:pc", "set", "far/governor=powersave"]).ended(0);
    assert_eq!(read(&desk, &near, "governor"), ["powersave"; 4]);
    let undone = desk.json(&on(&near, &["undo"]));
    assert_eq!(undone["restored"]["undone"], 4, "{undone}");
    assert_eq!(undone["restored"]["inexact"], serde_json::json!([]));
    assert_eq!(read(&desk, &near, "governor"), before);
}

#[test]
fn a_step_that_changed_nothing_is_listed_with_what_it_asked_for() {
    let desk = Desk::new();
    let machine = ["--machine", "sim:pc"];
    for _ in 0..2 {
        desk.run(&[&machine[..], &["set", "governor=userspace", "freq=2400MHz", "-c", "0"]].concat()).ended(0);
    }
    let list = desk.run(&[&machine[..], &["undo", "--list"]].concat()).ended(0).out;
    let (_, second) = list.split_once("step ").unwrap();
    assert!(second.lines().nth(1).is_some_and(|line| line.contains("cpufreq.freq at policy0")), "{list}");
}

#[test]
fn what_a_laptop_is_told_is_there_for_the_next_process_and_goes_back() {
    let desk = Desk::new();
    let laptop = ["--machine", "sim:laptop"];
    let knobs = ["pstate", "no_turbo", "epp@policy3", "cpuidle.disable@cpu1/C10", "idle_governor", "smt"];
    let found = || knobs.map(|knob| read(&desk, &laptop, knob)[0].clone());
    let before = found();
    assert_eq!(before, ["active", "0", "balance_performance", "0", "menu", "on"]);
    let words = ["set", "no_turbo=1", "epp=power", "cpuidle.disable@C10=1", "idle_governor=ladder"];
    desk.run(&on(&laptop, &words)).ended(0);
    desk.run(&on(&laptop, &["set", "smt=off"])).ended(0);
    assert_eq!(found(), ["active", "1", "power", "1", "ladder", "off"]);
    assert!(desk.run(&on(&laptop, &["info", "cpu"])).ended(0).out.contains("CPUs online: 0-3\n"));
    desk.run(&on(&laptop, &["undo", "--all"])).ended(0);
    assert_eq!(found(), before);
    let both = ["set", "governor=schedutil", "pstate=passive"];
    let planned = desk.run(&on(&laptop, &[&both[..], &["--dry-run"]].concat())).ended(0).out;
    assert!(planned.starts_with("pstate.status: active → passive\ncpufreq.governor at policy0"), "{planned}");
    desk.run(&on(&laptop, &both)).ended(0);
    assert_eq!(
        (read(&desk, &laptop, "pstate"), read(&desk, &laptop, "governor")),
        (vec!["passive".into()], vec!["schedutil".into(); 8])
    );
    desk.run(&on(&laptop, &["undo", "--all"])).ended(0);
    assert_eq!(read(&desk, &laptop, "governor"), ["powersave"; 8]);
    assert!(turned(&desk, &laptop).is_empty());
}

#[test]
fn a_board_boosts_by_policy_and_has_tunables_by_policy() {
    let desk = Desk::new();
    let board = ["--machine", "sim:board"];
    let why = desk.run(&on(&board, &["set", "boost@policy0=1"])).refused(2);
    assert!(why.contains("boost=1 without a site first"), "{why}");
    desk.run(&on(&board, &["set", "boost=1", "governor=ondemand", "up_threshold@policy4=60"])).ended(0);
    assert_eq!(read(&desk, &board, "max_freq"), ["2016000"; 2]);
    assert_eq!(read(&desk, &board, "up_threshold"), ["95", "60"]);
    desk.run(&on(&board, &["undo", "--all"])).ended(0);
    assert_eq!(read(&desk, &board, "max_freq"), ["1800000"; 2]);
    assert_eq!(read(&desk, &board, "governor"), ["schedutil"; 2]);
}

#[test]
fn what_follows_the_clock_has_followed_it_for_the_next_command() {
    let desk = Desk::new();
    let text = |file: &str| read(&desk, &ROUTER, &format!("file:{file}")).remove(0);
    let bogomips = || {
        let cpus = desk.json(&on(&ROUTER, &["info", "cpu"]));
        let shown = text("/proc/cpuinfo").split("BogoMIPS\t: ").nth(1).unwrap().trim().to_owned();
        let told = cpus["cpu"]["cpus"]["models"][0]["bogomips_least"].as_f64().unwrap();
        assert_eq!(format!("{told:.2}"), shown);
        told
    };
    let stats = "/sys/devices/system/cpu/cpu0/cpufreq/stats";
    let count = || text(&format!("{stats}/total_trans")).trim().parse::<u32>().unwrap();
    let (at_boot, changes) = (bogomips(), count());
    // Published of this board: 121.43 at 125 MHz, 581.89 at 600 MHz, which performance has chosen since the boot.
    assert!((at_boot / 581.89 - 1.0).abs() < 0.005, "{at_boot}");
    for (freq, published) in [("125MHz", 121.43), ("600MHz", 581.89)] {
        desk.run(&on(&ROUTER, &["set", "governor=userspace", &format!("freq={freq}")])).ended(0);
        let told = bogomips();
        assert!((told / published - 1.0).abs() < 0.005, "{told} at {freq}");
        assert_eq!(bogomips(), told, "looking changes nothing");
    }
    assert_eq!(count(), changes + 2, "down and up again");
    let time = text(&format!("{stats}/time_in_state"));
    assert!(!time.contains("125000 0\n") && !time.contains("600000 0\n"), "{time}");
    desk.run(&on(&ROUTER, &["undo", "--all"])).ended(0);
    assert_eq!((bogomips(), count()), (at_boot, changes));
}
