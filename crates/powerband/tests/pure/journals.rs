//! Journals of all plans have the bytes they had: what is moved or renamed in the code must not move them. Those of the first seed are
//! looked at with the plans' words.
use std::path::Path;

use crate::desk::{Desk, text};
use crate::journal_hash::{known_journals, line};

/// Seeds of the file.
const SEEDS: u32 = 20;

fn set(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| value == "1")
}

/// Names of all plans, sorted.
fn plans() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.filter_map(|name| name.strip_suffix(".toml").map(str::to_owned)).collect();
    names.sort();
    names
}

#[test]
fn sweep_journals_of_all_plans_have_the_bytes_they_had() {
    if !set("POWERBAND_SWEEP") {
        return;
    }
    let (desk, mut found) = (Desk::new(), Vec::new());
    for plan in plans() {
        for seed in 1..=SEEDS {
            desk.run(&["--seed", &seed.to_string(), "run", &format!("plans/{plan}.toml")]).ended(0);
            found.push(line(&plan, seed, &desk.journal()));
        }
    }
    let known = text(&known_journals());
    let known: Vec<&str> = known.lines().collect();
    let changed: Vec<&String> = found.iter().filter(|line| !known.contains(&line.as_str())).collect();
    if set("POWERBAND_WRITE_DOCS") {
        std::fs::write(known_journals(), found.join("\n") + "\n").unwrap();
    } else {
        assert!(changed.is_empty(), "journals that are other ones than expected/journals.txt has: {changed:#?}");
    }
}
