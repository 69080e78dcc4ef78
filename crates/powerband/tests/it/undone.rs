//! `set` and `undo` of a file on this machine: exact bytes back, and somebody else's value left alone.
use std::fs;

use crate::desk::{Desk, text};

#[test]
fn somebody_elses_value_is_left_alone_without_force() {
    let desk = Desk::new();
    let (path, set) = (desk.beside("knob"), format!("{}=1", desk.knob("knob")));
    fs::write(&path, "old\n").unwrap();
    desk.run(&["set", &set]).ended(0);
    assert_eq!(text(&path), "1\n");
    fs::write(&path, "theirs\n").unwrap();
    let why = desk.run(&["undo"]).refused(1);
    assert!(why.contains("theirs") && why.contains("--force"), "{why}");
    assert_eq!(text(&path), "theirs\n");
    assert_eq!(desk.turned(), 1, "it can still be taken back");
    let told = desk.run(&["--json", "undo"]).ended(1).value();
    assert_eq!((&told["restored"]["foreign"][0]["found"], &told["restored"]["undone"]), (&"theirs".into(), &0.into()));
    desk.run(&["undo", "--force"]).ended(0);
    assert_eq!(text(&path), "old\n");
    assert_eq!(desk.turned(), 0);
}

#[test]
fn a_file_comes_back_to_the_byte_and_goes_if_it_was_not_there() {
    let desk = Desk::new();
    for (name, before) in [
        ("plain", Some("abc")),
        ("line", Some("abc\n")),
        ("empty", Some("")),
        ("absent", None),
        ("blank", Some("a \n\n")),
    ] {
        let path = desk.beside(name);
        if let Some(before) = before {
            fs::write(&path, before).unwrap();
        }
        desk.run(&["set", &format!("{}=two words", desk.knob(name))]).ended(0);
        assert_eq!(text(&path).trim_end(), "two words");
        assert_eq!(desk.turned(), 1);
        desk.run(&["undo"]).ended(0);
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), before, "{name}");
        assert_eq!(desk.turned(), 0);
    }
}

#[test]
fn steps_are_taken_back_newest_first() {
    let desk = Desk::new();
    let path = desk.beside("knob");
    fs::write(&path, "0\n").unwrap();
    for value in 1..=3 {
        desk.run(&["set", &format!("{}={value}", desk.knob("knob"))]).ended(0);
    }
    for value in [2, 1] {
        desk.run(&["undo"]).ended(0);
        assert_eq!(text(&path), format!("{value}\n"));
    }
    desk.run(&["set", &format!("{}=4", desk.knob("knob"))]).ended(0);
    assert_eq!(desk.json(&["undo", "--all"])["steps_left"], 0);
    assert_eq!(text(&path), "0\n");
}

#[test]
fn a_file_that_cannot_be_put_back_is_named() {
    let desk = Desk::new();
    let folder = desk.beside("folder");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("knob"), "0\n").unwrap();
    desk.run(&["set", &format!("file:{}=1", folder.join("knob").display())]).ended(0);
    fs::remove_dir_all(&folder).unwrap();
    let why = desk.run(&["undo"]).refused(6);
    assert!(why.contains(&folder.display().to_string()), "{why}");
    fs::create_dir(&folder).unwrap();
    desk.run(&["undo"]).ended(0);
    assert_eq!(text(&folder.join("knob")), "0\n");
}

#[test]
fn what_a_kernel_makes_of_a_value_is_said_before_it_is_set() {
    let desk = Desk::new();
    let setting = ["--machine", "sim:quadcore", "set", "governor=userspace", "freq=2GHz"];
    let dry = desk.run(&[&setting[..], &["--dry-run"]].concat()).ended(0).out;
    assert!(dry.contains("→ 2000 MHz, which becomes 2133 MHz\n"), "{dry}");
    for (machine, knob, becomes) in [
        ("sim:pc", "max_freq=2GHz", Some("1800 MHz")),
        ("sim:pc", "min_freq=2GHz", Some("2400 MHz")),
        // An older kernel takes such a limit as it is, and raises a short period.
        ("sim:quadcore", "max_freq=2GHz", None),
        ("sim:quadcore", "sampling_rate=10", Some("10000")),
    ] {
        let words = ["--machine", machine, "set", knob];
        let dry = desk.run(&[&words[..], &["--dry-run"]].concat()).ended(0).out;
        let set = desk.run(&words).ended(0).out;
        match becomes {
            Some(value) => {
                assert!(dry.contains(&format!(", which becomes {value}\n")), "{dry}");
                assert!(set.contains(&format!("clamped to {value}\n")), "{set}");
            }
            None => assert!(!dry.contains("becomes") && !set.contains("clamped"), "{dry}{set}"),
        }
        desk.run(&["--machine", machine, "undo"]).ended(0);
    }
    let words = ["--machine", "sim:quadcore", "--seed", "1", "try", "governor=userspace", "freq=2GHz,2133MHz"];
    let said = desk.run(&[&words[..], &["--blocks", "2", "--load", "counter"]].concat()).ended(0).out;
    let row = |label: &str| said.lines().find(|line| line.trim_start().starts_with(label)).unwrap().to_owned();
    assert!(row("2000MHz ").ends_with(" -"), "{said}");
    assert!(row("2133MHz ").contains('.'), "{said}");
    let said = said.replace('\n', " ");
    assert!(said.contains("freq=2000MHz was not measured: equal to freq=2133MHz: both became 2133 "), "{said}");
}

#[test]
fn what_undoes_earlier_steps_is_typed_with_their_machine() {
    let desk = Desk::new();
    let machine = ["--machine", "sim:omap3530"];
    for governor in ["powersave", "ondemand"] {
        desk.run(&[&machine[..], &["set", &format!("governor={governor}")]].concat()).ended(0);
    }
    let said = desk.run(&[&machine[..], &["undo"]].concat()).ended(0).out;
    assert!(said.contains("1 earlier step is still in force; `powerband --machine sim:omap3530 undo --all`"), "{said}");
    desk.run(&[&machine[..], &["undo", "--all"]].concat()).ended(0);
}
