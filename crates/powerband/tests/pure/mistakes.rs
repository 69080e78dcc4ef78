//! What people get wrong: one sentence, the right exit code, nothing turned, nothing half recorded.
use std::fs;

use crate::desk::{Desk, text};

/// Refused with `code` before anything began: the sentence holds `words`, no experiment is kept, nothing is changed.
#[track_caller]
fn refuses(words: &[&str], code: i32, holds: &[&str]) {
    let desk = Desk::new();
    refuses_on(&desk, words, code, holds);
}

#[track_caller]
fn refuses_on(desk: &Desk, words: &[&str], code: i32, holds: &[&str]) {
    let why = desk.run(words).refused(code);
    for part in holds {
        assert!(why.contains(part), "'{part}' is not in: {why}");
    }
    assert_eq!(desk.experiments(), 0);
    assert_eq!(desk.turned(), 0);
}

#[test]
fn one_command_alone_is_answered_by_commands_to_complete() {
    let typed = ["powerband try 'sleep 0.01' 'OTHER COMMAND'", "powerband calibrate -- 'sleep 0.01'"];
    refuses(&["try", "sleep 0.01"], 2, &typed);
    refuses(&["try", "./work.sh"], 2, &["powerband try KNOB=V1,V2 -- ./work.sh"]);
    refuses(&["try", "--", "./work.sh"], 2, &["powerband try KNOB=V1,V2 -- ./work.sh"]);
    // A governor that is not there, and an option that is missing.
    let governor = ["--machine", "sim:laptop", "set", "governor=perfomance"];
    refuses(&governor, 2, &["did you mean governor=performance?"]);
    let why = Desk::new().run(&["tune", "governor=all"]).refused(2);
    assert!(why.contains("not provided: --minimize"), "{why}");
}

/// `try` of two quotas of a command, with more words.
fn quotas<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [&["try", "cgroup.cpu_quota=50%,100%", "--settle", "0"], words, &["--", "true"]].concat()
}

#[test]
fn a_key_the_plan_does_not_know() {
    let desk = Desk::new();
    let plan = desk.beside("plan.toml");
    fs::write(&plan, "margn = \"5%\"\ntry = [\"governor=all\"]\n[load]\nkind = \"idle\"\nfor = \"1s\"\n").unwrap();
    let path = plan.display().to_string();
    refuses_on(&desk, &["run", &path], 2, &[&path, "line 1", "margn", "margin"]);
}

#[test]
fn a_plan_that_is_not_there_or_is_no_plan() {
    let desk = Desk::new();
    let path = desk.beside("none.toml").display().to_string();
    refuses_on(&desk, &["run", &path], 2, &[&path, "no such file"]);
    refuses_on(&desk, &["run", "plans"], 2, &["plans"]);
    fs::write(&path, "\0\u{1}not toml").unwrap();
    refuses_on(&desk, &["run", &path], 2, &["line 1"]);
    fs::write(&path, [0xff, 0xfe, b'\n']).unwrap();
    refuses_on(&desk, &["run", &path], 2, &[&path]);
}

#[test]
fn a_knob_that_does_not_exist() {
    refuses(&["set", "gubernor=x"], 2, &["gubernor", "did you mean 'governor'", "powerband knobs"]);
    refuses(&["try", "gubernor=a,b", "--", "true"], 2, &["gubernor"]);
    refuses(&["get", "gubernor"], 2, &["gubernor"]);
    refuses(&["knobs", "gubernor"], 2, &["gubernor"]);
    refuses(&["with", "gubernor=x", "--", "true"], 2, &["gubernor"]);
}

#[test]
fn a_list_with_nothing_in_it() {
    refuses(&["try", "governor=", "--", "true"], 2, &["governor", "no value"]);
    refuses(&["try", "cgroup.cpu_quota=25%,,50%", "--", "true"], 2, &["cgroup.cpu_quota", "empty"]);
    refuses(&["try", "cgroup.cpu_quota=25%,", "--", "true"], 2, &["cgroup.cpu_quota"]);
    refuses(&["set", "governor"], 2, &["governor", "="]);
}

#[test]
fn a_target_behind_the_value_is_answered_with_where_it_is_typed() {
    let sim = ["--machine", "sim:pc", "--far", "sim:pc"];
    let try_ = |axis: &'static str| [&sim[..], &["try", axis, "--load", "ping", "--for", "1s"]].concat();
    let said = "a target is written before '=': ";
    refuses(&try_("rx-usecs=100@eth0"), 2, &["'100@eth0' is not a number", said, "rx-usecs@eth0=100"]);
    refuses(&try_("far/rx-usecs=50,100@eth0"), 2, &[said, "far/rx-usecs@eth0=50,100"]);
    refuses(&[&sim[..2], &["set", "governor=powersave@policy0"]].concat(), 2, &[said, "governor@policy0=powersave"]);
}

#[test]
fn quantities_out_of_range() {
    refuses(&quotas(&["--budget", "-5m"]), 2, &["budget", "negative"]);
    refuses(&quotas(&["--budget", "0"]), 2, &["budget", "15m"]);
    refuses(&quotas(&["--budget", "soon"]), 2, &["budget", "soon"]);
    refuses(&quotas(&["--settle", "-1s"]), 2, &["settle"]);
    refuses(&quotas(&["--blocks", "0"]), 2, &["blocks"]);
    refuses(&quotas(&["--margin", "0%"]), 2, &["margin"]);
    refuses(&quotas(&["--margin", "-3%"]), 2, &["margin"]);
    refuses(&quotas(&["--alpha", "200%"]), 2, &["alpha"]);
    refuses(&["try", "cgroup.cpu_quota=0%,50%", "--", "true"], 2, &["cgroup.cpu_quota"]);
    refuses(&["try", "cgroup.cpu_quota=-5%,50%", "--", "true"], 2, &["cgroup.cpu_quota"]);
}

#[test]
fn a_negative_count_is_answered_with_a_count() {
    let desk = Desk::new();
    let why = desk.run(&quotas(&["--blocks", "-3"])).refused(2);
    assert!(why.contains("--blocks") && !why.contains("use '-- -3'"), "{why}");
}

#[test]
fn a_metric_that_makes_no_sense() {
    refuses(&quotas(&["--metric", "x_ms=regex:took ("]), 2, &["regular expression", "took ("]);
    refuses(&quotas(&["--metric", "x_ms=regex:took"]), 2, &["group"]);
    refuses(&quotas(&["--metric", "regex:(\\d+)"]), 2, &["name"]);
    refuses(&quotas(&["--metric", "x_ms=json:$["]), 2, &["JSON path"]);
    refuses(&quotas(&["--metric", "nonsense"]), 2, &["nonsense", "real_s"]);
}

#[test]
fn a_load_that_does_not_exist_or_is_missing() {
    refuses(&["try", "-s", "a:", "-s", "b:", "--load", "dance"], 2, &["dance", "counter", "stream", "idle"]);
    refuses(&["try", "-s", "a:", "-s", "b:"], 2, &["--load", "--"]);
    refuses(&["try", "-s", "a:", "-s", "b:", "--load", "counter", "--", "true"], 2, &["--load"]);
    refuses(&["try", "-s", "a:", "-s", "b:", "--for", "1s", "--", "true"], 2, &["--for"]);
    refuses(&["try", "-s", "a:", "-s", "b:", "--load", "counter", "--for", "0"], 2, &["counter"]);
    refuses(&["try", "--", "true"], 2, &["compare"]);
}

#[test]
fn settings_that_cannot_be_told_apart() {
    refuses(&["try", "-s", "a:", "-s", "a:", "--", "true"], 2, &["'a'"]);
    refuses(&["try", "-s", "a:", "-s", "b:", "--reference", "c", "--", "true"], 2, &["'c'", "a, b"]);
    refuses(&["try", "-s", "a:", "-s", "b:", "--knee", "cpu_quota", "--", "true"], 2, &["cpu_quota"]);
}

#[test]
fn a_machine_that_does_not_exist() {
    let words = |machine| ["--machine", machine, "try", "-s", "a:", "-s", "b:", "--load", "counter"];
    refuses(&words("mars"), 2, &["mars", "sim:"]);
    refuses(&words("sim:mars"), 2, &["mars", "quadcore", "omap3530"]);
    refuses(&words("sim:"), 2, &["quadcore"]);
    refuses(&words("sim:quadcore#x"), 2, &["seed"]);
    refuses(&words("/no/such.toml"), 2, &["/no/such.toml"]);
    refuses(&words("sim:/no/such.toml"), 2, &["/no/such.toml"]);
}

#[test]
fn a_real_machine_and_a_simulated_one_in_one_rig() {
    let (near, far) = (["--machine", "sim:omap3530", "--far", "local"], ["--machine", "local", "--far", "sim:pc"]);
    for machines in [near, far] {
        refuses(&[&machines[..], &["try", "-s", "a:", "-s", "b:", "--load", "stream"]].concat(), 2, &["clock"]);
    }
}

#[test]
fn the_far_end_is_missing() {
    refuses(&["--machine", "sim:omap3530", "set", "far/governor=ondemand"], 2, &["--far"]);
    refuses(&["--machine", "sim:omap3530", "try", "far/governor=all", "--load", "counter"], 2, &["--far"]);
    refuses(&["--machine", "sim:omap3530", "get", "far/governor"], 2, &["--far"]);
}

#[test]
fn an_experiment_that_does_not_exist() {
    let desk = Desk::new();
    for words in [["show", "last"], ["export", "last"]] {
        let why = desk.run(&words).refused(2);
        assert!(why.contains("no experiment"), "{why}");
    }
    desk.run(&["run", "plans/router.toml", "--blocks", "2"]).ended(0);
    for id in ["99", "0", "-1", "abc", "99999999999999999999"] {
        let why = desk.run(&["show", id]).refused(2);
        assert!(why.contains(id), "{why}");
    }
}

#[test]
fn a_file_that_cannot_be_written_to() {
    let desk = Desk::new();
    desk.run(&["run", "plans/router.toml", "--blocks", "2"]).ended(0);
    let path = desk.beside("none/report.json").display().to_string();
    let why = desk.run(&["export", "last", "-o", &path]).refused(8);
    assert!(why.contains(&path), "{why}");
    let path = desk.beside("report.json");
    desk.run(&["export", "last", "-o", &path.display().to_string()]).ended(0);
    powerband_report::json::Report::parse(&text(&path)).unwrap();
}

#[test]
fn what_fail_on_names_ends_with_one() {
    let desk = Desk::new();
    let run = |fail_on: &str| desk.run(&["run", "plans/router.toml", "--json", "--fail-on", fail_on]);
    assert!(run("worse").refused(1).contains("worse"));
    assert!(run("better,same").refused(1).contains("same"));
    run("better").ended(0);
    run("undecided").ended(0);
    let why = desk.run(&["run", "plans/router.toml", "--blocks", "1", "--fail-on", "undecided"]).refused(1);
    assert!(why.contains("powerband show 5"), "{why}");
    assert_eq!(desk.experiments(), 5);
}

#[test]
fn words_that_are_no_words_of_ours() {
    refuses(&["frobnicate"], 2, &["frobnicate", "--help"]);
    refuses(&["run"], 2, &["PLAN.toml"]);
    refuses(&["run", "plans/router.toml", "--seed", "many"], 2, &["many"]);
    refuses(&["-c", "3-1", "set", "governor=powersave"], 2, &["3-1"]);
    refuses(&["--machine", "sim:quadcore", "-c", "9", "set", "governor=powersave"], 2, &["9"]);
    refuses(&["completions", "nosh"], 2, &["nosh", "bash"]);
}

#[test]
fn a_mistake_is_answered_with_the_command_corrected() {
    for (typed, code, command) in [
        (
            "try freq=all --load counter --machine sim:omap3530",
            2,
            "powerband try governor=userspace freq=all --load counter --machine sim:omap3530",
        ),
        (
            "--machine sim:omap3530 set freq=500MHz",
            2,
            "powerband --machine sim:omap3530 set governor=userspace freq=500MHz",
        ),
        ("--machine sim:omap3530 set freq=500", 2, "did you mean 500MHz?"),
        ("try vm.swappiness=10,60 -- true", 2, "powerband try sysctl.vm.swappiness=10,60 -- true"),
        ("try swappiness=10,60 -- true", 2, "powerband try sysctl.vm.swappiness=10,60 -- true"),
        ("get gubernor@policy0", 2, "powerband get governor@policy0"),
        ("--machine sim:pc set rx-usecs=5", 2, "`powerband --machine sim:pc info net --probe`"),
        ("try -s a: -s b: --require p99_us<=90ms -- true", 2, "'p99_us<=90000'"),
        ("try -s a: -s b: --margin 0 -- true", 2, "above 0 %"),
        (
            "try -s a: -s b: --metric real_s:higher --metric real_s:lower -- true",
            2,
            "the metric 'real_s' is there twice; leave one out",
        ),
        ("try -s a: -s b: --load shop --machine sim:server", 4, "take sim:x3650"),
    ] {
        let words: Vec<&str> = typed.split(' ').collect();
        refuses(&words, code, &[command]);
    }
    // The corrected command is taken.
    let desk = Desk::new();
    desk.run(&["try", "governor=userspace", "freq=all", "--load", "counter", "--machine", "sim:omap3530", "--dry-run"])
        .ended(0);
}

#[test]
fn a_name_that_several_knobs_share_explains_them_all() {
    let told = Desk::new().run(&["knobs", "up_threshold"]).ended(0).out;
    assert!(told.contains("`ondemand.up_threshold`") && told.contains("`conservative.up_threshold`"), "{told}");
}

#[test]
fn loads_of_simulated_machines_are_listed() {
    let told = Desk::new().run(&["sim", "list"]).ended(0).out;
    let loads = |machine: &str| {
        let mut lines = told.lines().skip_while(|line| !line.starts_with(machine)).skip(1);
        lines.next().unwrap_or_default().to_owned()
    };
    assert!(loads("sim:x3650").contains("shop") && !loads("sim:server").contains("shop"), "{told}");
}

#[test]
fn numbers_without_end_are_no_panic() {
    let desk = Desk::new();
    let words = ["try", "-s", "a:", "-s", "b:", "--load", "counter", "--blocks", "4000000000", "--dry-run"];
    for more in [["--for", "400000h"], ["--for", "5000000h"], ["--settle", "5000000h"]] {
        let ran = desk.run(&[&words[..], &more].concat()).ended(0);
        assert!(ran.err.is_empty(), "{}", ran.err);
    }
    for length in ["99999999999999h", "1e300s", "nans", "infs", "-0s"] {
        desk.run(&[&words[..], &["--for", length]].concat()).refused(2);
    }
}

#[test]
fn a_list_of_machines_that_is_none_is_no_other_machine() {
    let desk = Desk::new();
    for (words, part) in [
        (&["--machines", "", "get", "all/governor"][..], "it is empty"),
        (&["--machines", ",", "set", "all/governor=powersave"], "it is empty"),
        (&["--machines", "a=local,b=local", "set", "all/governor=powersave"], "it is in the list already"),
        (
            &["--machines", "a=sim:pc", "--machine", "sim:server", "get", "all/governor"],
            "leave out --machine sim:server",
        ),
    ] {
        let sentence = desk.run(words).refused(2);
        assert!(sentence.contains(part), "{words:?}: {sentence}");
    }
}

#[test]
fn a_policy_is_looked_for_from_here() {
    let sentence = Desk::new().run(&["service", "--check", "--policy", "nowhere/access.toml"]).refused(2);
    assert!(sentence.contains("/nowhere: no such file"), "{sentence}");
}

#[test]
fn what_is_no_number_or_list_is_answered_with_what_to_write() {
    let fleet = ["fleet", "run", "plans/fleet-frequency.toml", "-N", "2", "--launcher", "local", "--blocks", "10000"];
    refuses(&fleet, 2, &["'10000'", "--blocks", "write a number from 1 to 9999"]);
    refuses(&["run", "plans/router.toml", "--seed", "abc"], 2, &["'abc'", "write a whole number"]);
    refuses(&["-c", "", "info", "cpu"], 2, &["the list is empty; write e.g. 1 or 0-3,8"]);
    // What is advised works: a frequency beyond the limits is refused for that.
    refuses(&["--machine", "sim:omap3530", "set", "freq=601MHz"], 2, &["above this CPU's 600 MHz"]);
}

#[test]
fn a_verb_with_verbs_shows_its_own() {
    for verb in ["fleet", "pace", "sim", "store"] {
        let ran = Desk::new().run(&["--machine", "sim:pc", verb]).ended(2);
        assert!(ran.err.contains(&format!("Usage: powerband {verb}")), "{}", ran.err);
        assert_eq!(ran.err, Desk::new().run(&[verb]).ended(2).err, "as without an option");
    }
}

#[test]
fn a_store_that_was_named_and_is_not_there_is_no_empty_one() {
    let desk = Desk::new();
    let store = desk.beside("typo.sqlite");
    let name = store.display().to_string();
    for words in [&["list"][..], &["show"], &["report"], &["export"], &["compare", "1", "2"]] {
        let why = desk.run(&[&["--store", &name][..], words].concat()).refused(2);
        assert!(why.contains(&format!("there is no store {name}; check its spelling")), "{words:?}: {why}");
    }
    assert!(!store.exists());
    desk.run(&["list"]).ended(0);
}

#[test]
fn a_file_that_cannot_be_read_is_said_once() {
    let ran = Desk::new().run(&["get", "file:/nonexistent"]).ended(4);
    assert_eq!(ran.out, "");
    assert_eq!(ran.err, "powerband: cannot read file:/nonexistent: no such file or directory (ENOENT)\n");
}

#[test]
fn what_has_ended_is_not_resumed() {
    let desk = Desk::new();
    desk.run(&["run", "plans/router-idle.toml", "-q"]).ended(0);
    let why = desk.run(&["resume", "1"]).refused(2);
    assert!(why.starts_with("experiment 1 cannot go on: it has ended"), "{why}");
}
