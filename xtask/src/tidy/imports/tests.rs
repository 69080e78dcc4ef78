//! Small workspaces that break the table.
use super::*;
use crate::metadata::Dependency;

fn package(folder: &str, normal: &[&str], dev: &[&str]) -> Package {
    let noun = folder.rsplit('/').next().unwrap();
    let name = match folder.split_once('/') {
        Some(("crates", "powerband")) | None => noun.to_owned(),
        Some(("bench", _)) => format!("bench-{noun}"),
        _ => format!("powerband-{noun}"),
    };
    let dependency = |name: &&str, dev| Dependency { name: (*name).into(), dev };
    let normal = normal.iter().map(|name| dependency(name, false));
    let dependencies = normal.chain(dev.iter().map(|name| dependency(name, true))).collect();
    Package { name, folder: folder.into(), dependencies, ..Package::default() }
}

fn said(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn imports_go_down_only() {
    let good = [
        package("crates/record", &["serde"], &[]),
        package("crates/machine", &["powerband-record"], &[]),
        package("crates/sim", &["powerband-machine", "powerband-record"], &[]),
        package("crates/knob", &["powerband-machine"], &["powerband-sim"]),
        package("bench/verdict", &["powerband-sim", "powerband-knob"], &[]),
    ];
    assert_eq!(imports(&good), []);

    let mut bad = good.clone();
    bad[0] = package("crates/record", &["powerband-machine"], &[]);
    assert!(said(&imports(&bad)).contains("crates/record/Cargo.toml: record may not import machine"));
    bad[0] = good[0].clone();
    bad[3] = package("crates/knob", &["powerband-machine", "powerband-sim"], &[]);
    assert!(said(&imports(&bad)).contains("knob may not import sim"));
}

#[test]
fn only_tests_and_benchmarks_import_what_is_made_for_them() {
    let kit = package("crates/testkit", &["powerband-stats"], &[]);
    let stats = package("crates/stats", &[], &["powerband-testkit"]);
    let bench = package("bench/verdict", &["powerband-testkit"], &[]);
    assert_eq!(imports(&[kit.clone(), stats.clone(), bench]), []);
    for row in TABLE.iter().filter(|row| row.name != "testkit") {
        let product = package(&format!("crates/{}", row.name), &["powerband-testkit"], &[]);
        let problems = imports(&[kit.clone(), stats.clone(), product]);
        assert!(said(&problems).contains("may not import testkit"), "{}", row.name);
    }
}

#[test]
fn a_crate_needs_a_row_and_its_own_name_and_chores_import_nothing_of_ours() {
    assert!(said(&imports(&[package("crates/gadget", &[], &[])])).contains("crates/gadget has no row"));
    let mut named = package("crates/record", &[], &[]);
    named.name = "record".into();
    assert!(said(&imports(&[named])).contains("is called powerband-record"));
    let tools = [package("crates/record", &[], &[]), package("xtask", &["powerband-record"], &[])];
    assert!(said(&imports(&tools)).contains("xtask/Cargo.toml: may not import record"));
}

#[test]
fn the_table_has_no_cycle_and_names_only_its_own_rows() {
    for (place, row) in TABLE.iter().enumerate() {
        for other in row.may.split_whitespace() {
            let below = TABLE.iter().position(|row| row.name == other);
            assert!(below.is_some_and(|below| below < place), "{} before {other}", row.name);
        }
    }
}

#[test]
fn printing_and_chance_stay_where_they_belong() {
    let command = package("crates/powerband", &["anyhow", "clap"], &[]);
    assert_eq!(edge_only(&[command]), []);
    assert!(said(&edge_only(&[package("crates/store", &["anyhow"], &[])])).contains("anyhow belongs to the command"));
    assert_eq!(pure(&[package("crates/stats", &["rand_chacha"], &[])]), []);
    assert_eq!(pure(&[package("crates/report", &["comfy-table"], &["tempfile"])]), []);
    for dependency in ["rand_core", "chrono", "rustix"] {
        assert_eq!(pure(&[package("crates/report", &[dependency], &[])]).len(), 1, "{dependency}");
    }
}
