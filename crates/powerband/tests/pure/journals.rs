//! Journals of all plans have the bytes they had: what is moved or renamed in the code must not move them.
//!
//! `expected/journals.txt` has a line for each plan and seed: FNV-1a of the events, the header left out, debug and release alike.
//! Anyone who changes a model, a plan or the statistics on purpose writes it anew with POWERBAND_WRITE_DOCS=1 and POWERBAND_SWEEP=1.
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::desk::{Desk, text};
use crate::repeated::fnv1a;

/// Seeds of the file, and how many of them are run each time.
const SEEDS: u32 = 20;
const SEEDS_EACH_TIME: u32 = 2;

/// Plans that take more than a second a run: seen by the sweep alone.
const SLOW: [&str; 6] = [
    "governors-gathered",
    "governors-ladder",
    "governors-shop-500",
    "governors-shop-1000",
    "governors-shop-2000",
    "mpi-governors",
];

fn set(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| value == "1")
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pure/expected/journals.txt")
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
fn journals_of_all_plans_have_the_bytes_they_had() {
    let (sweep, write) = (set("POWERBAND_SWEEP"), set("POWERBAND_WRITE_DOCS"));
    let known: BTreeMap<String, String> = text(&fixture())
        .lines()
        .filter_map(|line| line.rsplit_once(' ').map(|(run, hash)| (run.to_owned(), hash.to_owned())))
        .collect();
    let desk = Desk::new();
    let (mut found, mut changed) = (String::new(), Vec::new());
    for plan in plans() {
        if !sweep && SLOW.contains(&plan.as_str()) {
            continue;
        }
        for seed in 1..=if sweep { SEEDS } else { SEEDS_EACH_TIME } {
            desk.run(&["--seed", &seed.to_string(), "run", &format!("plans/{plan}.toml")]).ended(0);
            let (run, hash) = (format!("{plan} {seed}"), format!("{:016x}", fnv1a(&desk.journal())));
            if known.get(&run) != Some(&hash) {
                changed.push(run.clone());
            }
            writeln!(found, "{run} {hash}").unwrap();
        }
    }
    if sweep && write {
        std::fs::write(fixture(), found).unwrap();
    } else {
        assert_eq!(changed, [""; 0], "journals that are other ones than expected/journals.txt has");
    }
}
