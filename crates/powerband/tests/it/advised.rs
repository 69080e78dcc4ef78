//! Commands that are advised: as a shell takes them, whatever is in the names that others gave.
use std::process::Command;

use crate::desk::Desk;

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
