//! What the command prints with `--json`, against the schemas in `docs/schema`, by a validator of JSON Schema (draft 2020-12).
use std::process::Command;

use crate::browser::{modules, ready};
use crate::desk::{Desk, Ran, workspace};

#[test]
fn what_the_command_prints_is_valid_against_its_schemas() {
    if !ready() {
        return;
    }
    let desk = Desk::new();
    let folder = desk.beside("printed");
    std::fs::create_dir(&folder).unwrap();
    let mut printed = 0;
    let mut keep = |words: &[&str], codes: &[i32]| {
        let ran = desk.run(&[&["--json"], words].concat());
        assert!(ran.code.is_some_and(|code| codes.contains(&code)), "{words:?}: {}", ran.err);
        std::fs::write(folder.join(format!("{printed:02}.json")), ran.out).unwrap();
        printed += 1;
    };
    let counter = ["--machine", "sim:quadcore", "--seed", "1", "--load", "counter", "--for", "10s"];
    let on_counter = |words: &[&'static str]| [words, &counter[..]].concat();
    keep(&["--seed", "1", "run", "plans/router.toml"], &[0]);
    keep(&on_counter(&["try", "governor=performance,powersave"]), &[0]);
    keep(&on_counter(&["try", "governor=performance,powersave", "--blocks", "1", "--require", "count>=1"]), &[0]);
    keep(&on_counter(&["try", "governor=all", "--blocks", "3", "--robust", "--record", "clock,utilisation"]), &[0]);
    keep(&["show", "--timelines"], &[0]);
    keep(&on_counter(&["calibrate", "--trials", "12"]), &[0]);
    keep(&on_counter(&["tune", "max_freq=all", "--minimize", "energy_j", "--require", "count>=1000"]), &[0]);
    keep(&["--machine", "sim:pc", "--far", "sim:pc", "try", "rx-usecs=10,100", "--load", "ping", "--for", "2s"], &[0]);
    keep(&["list"], &[0]);
    keep(&["compare", "2:powersave", "3:powersave"], &[0]);
    // Few blocks may leave a claim open.
    keep(&["replicate", "router", "--blocks", "2"], &[0, 1]);
    let check = workspace().join("crates/powerband/tests/page/schema.mjs");
    let mut command = Command::new("node");
    command.arg(check).arg(modules()).arg(workspace().join("docs/schema")).arg(&folder);
    let ran = Ran::of(&command.output().unwrap());
    assert_eq!(ran.code, Some(0), "what is wrong:\n{}{}", ran.out, ran.err);
}
