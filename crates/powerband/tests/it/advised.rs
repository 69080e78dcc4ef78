//! Commands that are advised: as a shell takes them, whatever is in the names that others gave.
use std::process::Command;

use crate::desk::Desk;

#[test]
fn a_host_that_ssh_would_take_for_an_option_is_refused_and_never_advised() {
    let desk = Desk::new();
    let sentence = desk.run(&["info", "--machine", "ssh:-oProxyCommand=touch X"]).refused(2);
    assert_eq!(sentence, "ssh:-oProxyCommand=touch X: a host's name does not begin with '-'");
    let sentence = desk.run(&["info", "--machine", "ssh:a;touch X,b"]).refused(2);
    assert!(sentence.ends_with("write --machine 'ssh:a;touch X' --far ssh:b"), "{sentence}");
}

#[test]
fn what_is_to_be_tried_by_hand_is_quoted() {
    let desk = Desk::new();
    for way in ["cmd:sh -c 'exit 3; touch X'", "sh:sh -c 'exit 3; touch X'", "sh+agent:sh -c 'exit 3; touch X'"] {
        let sentence = desk.run(&["info", "--machine", way]).refused(8);
        assert!(sentence.contains("by hand: ") && sentence.contains("sh -c 'exit 3; touch X'"), "{sentence}");
    }
}

#[test]
fn a_captured_machine_is_named_as_it_is_typed() {
    let desk = Desk::new();
    let folder = desk.beside("a b").display().to_string();
    let said = desk.run(&["capture", &folder, "--machine", "sim:quadcore"]).ended(0).out;
    assert!(said.contains(&format!("`powerband info --machine 'recorded:{folder}'`")), "{said}");
}

#[test]
fn a_setting_is_shown_as_a_shell_takes_it() {
    let desk = Desk::new();
    for value in ["\"workers 4\"", "$(touch${IFS}X)", "it's \"a\"", "a b", "a;b", "1"] {
        let knob = desk.knob("level k");
        std::fs::write(desk.beside("level k"), "0").unwrap();
        let plan = desk.json(&["try", &format!("{knob}={value}"), "--dry-run", "--", "true"]);
        let label = plan["settings"][1]["label"].as_str().unwrap();
        let printed = Command::new("sh").args(["-c", &format!("printf %s {label}")]).output().unwrap();
        assert_eq!(String::from_utf8(printed.stdout).unwrap(), format!("{knob}={value}"), "{label}");
    }
}
