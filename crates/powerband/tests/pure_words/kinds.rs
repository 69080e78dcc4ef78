//! The report of one experiment of each kind that no plan is, in every form.
use std::fmt::Write as _;

use serde_json::Value;

use crate::desk::Desk;
use crate::normal;
use crate::plans::forms;

/// Experiments by the kind of what they find.
const KINDS: [(&str, &str); 5] = [
    ("undecided", "--machine sim:pc --far sim:pc try rx-usecs=10,50 --load ping --for 1s --blocks 3 --margin 0.1%"),
    ("broken", "--machine sim:quadcore try governor=all --load counter --for 2s --blocks 8 --require 'power_w<=50'"),
    ("zero", "--machine sim:pc --far sim:pc try rx-usecs=3,10 --load ping --for 1s --metric lost_percent"),
    (
        "several",
        "--machine sim:quadcore try governor=performance,powersave --load counter --for 2s --blocks 4 --metric power_w \
         --metric count_per_s --metric clock_mhz --metric energy_j --require 'power_w<=30'",
    ),
    (
        "tune",
        "--machine table:machines/tables/keeper.csv tune freq=all rx-usecs=all --minimize watts --require 'p99_us<=200'",
    ),
];

#[test]
fn each_kind_of_experiment_has_its_report() {
    for (kind, line) in KINDS {
        let desk = Desk::new();
        desk.run(line).well();
        insta::assert_snapshot!(format!("kind_{kind}"), forms(&desk));
    }
}

/// A load that fails at one setting; it runs, so that only what the report has of void trials is always the same.
#[test]
fn trials_that_are_void_are_reported() {
    let desk = Desk::new();
    desk.run("try env.X=0,1 --settle 0 --runs 2 --warmup 0 -- sh -c 'test 0$X != 01'").well();
    let whole = desk.run("show -v").well();
    let parts = whole.split("\n\n").filter(|part| part.starts_with("void trials") || part.starts_with("stopped early"));
    let words = parts.collect::<Vec<_>>().join("\n\n");
    let report: Value = serde_json::from_str(&desk.run("--json show").well()).unwrap();
    insta::assert_snapshot!("kind_void", format!("{words}\n\n{}", normal::json(&report["voids"].to_string())));
}

/// What lines print, one after another.
fn printed(desk: &Desk, lines: &[&str]) -> String {
    let mut shown = String::new();
    for line in lines {
        let ran = desk.run(line);
        let out = match () {
            () if line.contains("--json") => normal::json(&ran.out),
            () if line.contains("-o -") => normal::page(&ran.out),
            () => normal::report(&ran.out),
        };
        writeln!(shown, "$ powerband {line}\n[{}] {}{}\n", ran.code, ran.err, out.trim_end()).unwrap();
    }
    shown
}

#[test]
fn a_calibration_has_its_report() {
    let desk = Desk::new();
    desk.run("--machine sim:omap3530 calibrate --load counter --for 2s").well();
    insta::assert_snapshot!("kind_calibrate", printed(&desk, &["show", "show -v", "show --json", "report -o -"]));
}

#[test]
fn experiments_are_compared() {
    let desk = Desk::new();
    desk.run("run plans/router.toml --blocks 3").well();
    desk.run("run plans/router.toml --blocks 3 --seed 2 --machine sim:omap3530").well();
    let lines = ["compare 1 2", "compare 1 2 -v", "compare 1:500MHz 2:500MHz", "--json compare 1 2"];
    insta::assert_snapshot!("kind_compare", printed(&desk, &lines));
}

#[test]
fn an_article_is_done_again() {
    let lines = ["replicate router", "replicate router -v", "--json replicate router"];
    insta::assert_snapshot!("kind_replicate", printed(&Desk::new(), &lines));
}

#[test]
fn a_fleet_has_its_report() {
    let desk = Desk::new();
    desk.run("fleet run plans/fleet-frequency.toml -N 4 --launcher local --blocks 4 --quiet --folder DIR/fleet").well();
    let lines = [
        "fleet report DIR/fleet",
        "fleet report DIR/fleet -v",
        "--json fleet report DIR/fleet",
        "fleet report DIR/fleet -o -",
    ];
    let shown = printed(&desk, &lines);
    // Every fleet has a key of its own.
    let report: Value = serde_json::from_str(&desk.run(lines[2]).well()).unwrap();
    let key = report["fleet"].as_str().unwrap();
    insta::assert_snapshot!("kind_fleet", shown.replace(key, "KEY").replace(&key[..12], "KEY"));
}
