//! Experiments that put a driver into another mode, with the governors which that mode has.
use powerband_record::Verdict;

use crate::desk::Desk;

const ON: [&str; 8] = ["--machine", "sim:laptop", "--load", "idle", "--for", "2s", "--metric", "power_w"];

/// What a knob reads at each of its sites.
fn reads(desk: &Desk, knob: &str) -> Vec<String> {
    let value = desk.json(&["get", knob, "--machine", "sim:laptop"]);
    let readings = value["readings"].as_array().unwrap();
    readings.iter().map(|row| row["reading"]["value"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn governors_of_the_mode_that_is_asked_for_are_compared_to_a_verdict() {
    let plans: [&[&str]; 2] = [
        &["pstate=passive", "governor=schedutil,performance"],
        &["-s", "s:pstate=passive governor=schedutil", "-s", "p:governor=performance pstate=passive"],
    ];
    for words in plans {
        let desk = Desk::new();
        let found = ["pstate", "governor", "min_freq", "max_freq", "epp"].map(|knob| reads(&desk, knob));
        let report = desk.report(&[&["try"], words, &ON].concat());
        let verdicts: Vec<Verdict> =
            report.settings.iter().skip(1).map(|setting| setting.verdicts["power_w"].verdict).collect();
        assert_eq!(verdicts, [Verdict::Same, Verdict::Worse], "{words:?}");
        let landed = desk.journal().iter().filter(|line| line.contains(r#""asked":"schedutil""#)).count();
        assert!(landed > 0, "{words:?}");
        assert_eq!(["pstate", "governor", "min_freq", "max_freq", "epp"].map(|knob| reads(&desk, knob)), found);
        let turned = desk.json(&["info", "turned", "--machine", "sim:laptop"]);
        assert_eq!(turned["turned"].as_array().unwrap().len(), 0, "{words:?}");
    }
}

#[test]
fn all_governors_beside_the_passive_mode_are_the_passive_modes() {
    let desk = Desk::new();
    let dry = |words: &[&str]| desk.json(&[&["try"], words, &ON, &["--dry-run"]].concat());
    let labels = |planned: &serde_json::Value| -> Vec<String> {
        planned["settings"].as_array().unwrap().iter().map(|one| one["label"].as_str().unwrap().to_owned()).collect()
    };
    let all = labels(&dry(&["pstate=passive", "governor=all"]));
    let names = ["conservative", "ondemand", "performance", "powersave", "schedutil"];
    let expected: Vec<String> = names.iter().map(|name| format!("governor={name}")).collect();
    assert_eq!(all[1..], expected);
    let crossed = labels(&dry(&["governor=powersave,schedutil", "pstate=passive,active"]));
    let expected = ["powersave pstate=passive", "powersave pstate=active", "schedutil pstate=passive"];
    assert_eq!(crossed[1..], expected.map(|words| format!("governor={words}")));
}

#[test]
fn a_governor_of_neither_mode_is_refused_and_the_mode_is_as_before() {
    let desk = Desk::new();
    for words in
        [["pstate=passive", "governor=schedutil,interactive"], ["pstate=active", "governor=powersave,ondemand"]]
    {
        desk.run(&[&["try"][..], &words, &ON].concat()).refused(2);
        assert_eq!(reads(&desk, "pstate"), ["active"]);
    }
}

#[test]
fn amds_three_modes_are_compared_and_the_hint_of_one_governor_is_not_the_nexts() {
    let desk = Desk::new();
    let server = ["--machine", "sim:amd-server"];
    let on = |words: &[&'static str]| [words, &server].concat();
    desk.run(&on(&["set", "governor=powersave", "epp=power"])).ended(0);
    let load = ["--load", "counter", "--for", "1s", "--metric", "count_per_s"];
    let modes = desk.report(&on(&[&["try", "pstate=active,passive,guided", "governor=powersave"], &load[..]].concat()));
    let verdict = |at: usize| modes.settings[at].verdicts["count_per_s"].verdict;
    // A governor that asks for the lowest clock follows no load, so that guided hardware takes what it asks.
    assert_eq!((modes.settings.len(), verdict(2), verdict(3)), (4, Verdict::Worse, Verdict::Worse));
    let hints = desk.json(&on(&["get", "epp"]));
    let all = hints["readings"].as_array().unwrap();
    assert!(all.len() == 16 && all.iter().all(|row| row["reading"]["value"] == "power"), "{hints}");
    let turned = desk.json(&on(&["info", "turned"]));
    assert!(turned["turned"].as_array().unwrap().len() > 1);
    desk.run(&on(&["undo", "--all"])).ended(0);
}
