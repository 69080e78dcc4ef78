//! Knobs that a plan declares by their commands: turned, read back, restored; and what is wrong with a declaration.
use std::fs;

use rustix::process::Signal;

use crate::desk::{Desk, text, until};
use crate::guarded::guardians;

/// A desk with a file that commands read and write, and a plan that declares it as `level`.
fn desk_with(more: &str) -> (Desk, String) {
    let desk = Desk::new();
    let (level, plan) = (desk.beside("level"), desk.beside("plan.toml"));
    fs::write(&level, "low\n").unwrap();
    let level = level.display();
    let text = format!(
        "try = [\"level=middle,high\"]\nblocks = 2\nwarmup = 0\nsettle = \"0\"\n{more}\n\
         [load]\nkind = \"command\"\nargv = [\"true\"]\n\
         [knobs.level]\nget = \"cat {level}\"\nset = \"echo {{value}} > {level}\"\nvalues = [\"low\", \"middle\", \"high\"]\n"
    );
    fs::write(&plan, text).unwrap();
    (desk, plan.display().to_string())
}

fn level(desk: &Desk) -> String {
    text(&desk.beside("level"))
}

#[test]
fn a_plans_own_knob_is_turned_in_its_settings_and_put_back() {
    let (desk, plan) = desk_with("knee = \"level\"");
    desk.run(&["run", &plan]).refused(2);
    let (desk, plan) = desk_with("");
    desk.run(&["run", &plan, "-q"]).ended(0);
    assert_eq!((level(&desk).as_str(), desk.turned()), ("low\n", 0));
    let journal = desk.journal();
    for value in ["middle", "high"] {
        let landed = format!("\"knob\":\"level\",\"site\":\"-\",\"asked\":\"{value}\",\"reads_back\":\"{value}\"");
        assert!(journal.iter().any(|line| line.contains(&landed)), "{value}: {journal:?}");
    }
    // The experiment can be repeated from its first event alone.
    assert!(journal[0].contains("\"knobs\":{\"level\":{\"get\":"), "{}", journal[0]);
    let told = desk.run(&["run", &plan, "--dry-run"]).ended(0).out;
    // What it is now only its command says, which a dry run does not execute.
    assert!(told.contains("level: to high") && !told.contains("from low"), "{told}");
}

#[test]
fn what_a_file_declares_can_be_set_held_read_and_undone() {
    let (desk, plan) = desk_with("");
    let told = desk.run(&["set", "--knobs", &plan, "level=high"]).ended(0).out;
    assert!(told.contains("level: high, applied"), "{told}");
    assert_eq!(level(&desk), "high\n");
    let got = desk.run(&["get", "--knobs", &plan, "level"]).ended(0).out;
    assert_eq!(got, "level@- = high\n");
    // Undoing needs no declaration: the ledger has the command.
    desk.run(&["undo"]).ended(0);
    assert_eq!((level(&desk).as_str(), desk.turned()), ("low\n", 0));
    let there = desk.beside("level").display().to_string();
    let ran = desk.run(&["with", "--knobs", &plan, "level=middle", "--", "cat", &there]).ended(0);
    assert_eq!((ran.out.as_str(), level(&desk).as_str()), ("middle\n", "low\n"));
    // Somebody else's value is not overwritten without being asked to.
    desk.run(&["set", "--knobs", &plan, "level=high"]).ended(0);
    fs::write(desk.beside("level"), "middle\n").unwrap();
    desk.run(&["undo"]).refused(1);
    desk.run(&["undo", "--force"]).ended(0);
    assert_eq!((level(&desk).as_str(), desk.turned()), ("low\n", 0));
}

#[test]
fn its_own_undo_is_used_where_it_has_one() {
    let desk = Desk::new();
    let (on, off, file) = (desk.beside("on"), desk.beside("undone"), desk.beside("knobs.toml"));
    fs::write(&on, "0").unwrap();
    let (on, off) = (on.display(), off.display());
    let text = format!(
        "[knobs.lamp]\nget = \"cat {on}\"\nset = \"echo {{value}} > {on}\"\nundo = \"echo {{value}} | tee {off} > {on}\"\nvalues = [0, 1]\n"
    );
    fs::write(&file, text).unwrap();
    let file = file.display().to_string();
    desk.run(&["with", "--knobs", &file, "lamp=1", "--", "true"]).ended(0);
    assert_eq!(
        (crate::desk::text(&desk.beside("on")), crate::desk::text(&desk.beside("undone"))),
        ("0\n".into(), "0\n".into())
    );
}

#[test]
fn a_killed_owner_leaves_no_command_knob_turned() {
    let (desk, plan) = desk_with("");
    let running = desk.start(&["with", "--knobs", &plan, "level=high", "--", "sleep", "600"]);
    until("it is turned", || level(&desk) == "high\n");
    running.signal(Signal::KILL);
    running.end();
    until("it is back", || level(&desk) == "low\n");
    until("the guardian has ended", || guardians(&desk).is_empty());
    assert_eq!(desk.turned(), 0);
}

#[test]
fn a_command_that_fails_or_has_another_effect_is_refused_and_its_half_undone() {
    let desk = Desk::new();
    let (level, file) = (desk.beside("level"), desk.beside("knobs.toml"));
    for (get, set, code) in [
        ("cat LEVEL", "echo half > LEVEL; echo no such level >&2; exit 3", 8),
        ("cat LEVEL", "exit 5", 8),
        ("cat LEVEL", "echo other > LEVEL", 8),
        ("cat LEVEL", "rm LEVEL", 8),
        ("cat LEVEL.none", "true", 4),
        ("echo 'a; b'", "true", 2),
        ("true", "true", 2),
    ] {
        fs::write(&level, "low\n").unwrap();
        let fill = |line: &str| line.replace("LEVEL", &level.display().to_string());
        let text = format!(
            "[knobs.level]\nget = \"{}\"\nset = '''{} # {{value}}'''\nundo = \"echo {{value}} > {}\"\n",
            fill(get),
            fill(set),
            level.display()
        );
        fs::write(&file, text).unwrap();
        let file = file.display().to_string();
        desk.run(&["set", "--knobs", &file, "level=high"]).refused(code);
        assert_eq!((crate::desk::text(&level).as_str(), desk.turned()), ("low\n", 0), "{set}");
    }
}

#[test]
fn a_set_command_that_writes_another_form_of_a_value_advises_no_undo_of_what_is_undone() {
    let (desk, plan) = desk_with("");
    let file = desk.beside("level").display().to_string();
    fs::write(&plan, format!("[knobs.form]\nget = \"cat {file}\"\nset = \"echo {{value}}.0 > {file}\"\n")).unwrap();
    fs::write(&file, "1\n").unwrap();
    desk.run(&["set", "--knobs", &plan, "form=2"]).refused(6);
    assert_eq!(desk.turned(), 0, "nothing is open, as the sentence says");
}

#[test]
fn an_undo_command_that_fails_is_named_with_its_exit_status_and_its_last_words() {
    let desk = Desk::new();
    let (level, file) = (desk.beside("level").display().to_string(), desk.beside("knobs.toml"));
    fs::write(&level, "1\n").unwrap();
    let undo = "echo first >&2; echo no way >&2; exit 3";
    let text = format!("[knobs.level]\nget = \"cat {level}\"\nset = \"echo {{value}} > {level}\"\nundo = \"{undo}\"\n");
    fs::write(&file, text).unwrap();
    desk.run(&["with", "--knobs", &file.display().to_string(), "level=2", "--", "true"]).refused(6);
    fs::write(&level, "1\n").unwrap();
    desk.run(&["undo", "--left"]).ended(0);
}

#[test]
fn commands_of_a_knob_that_nothing_sets_are_not_listed() {
    let (desk, plan) = desk_with("");
    let unused = "[knobs.unused]\nget = \"echo 1\"\nset = \"echo {value}\"\n";
    fs::write(&plan, fs::read_to_string(&plan).unwrap() + unused).unwrap();
    let listed = desk.run(&["run", &plan, "--dry-run"]).ended(0).out;
    assert!(listed.contains("knob level: set") && !listed.contains("unused"), "{listed}");
    let noted = desk.run(&["run", &plan]).ended(0).err;
    assert!(!noted.contains("unused"), "{noted}");
}
