//! Pages of all kinds, made by the command and by hand, through one start of the browser.
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::desk::{Desk, Ran, workspace};
use crate::made_up;

/// Where xtask put the modules: in the target folder, which is one of those around ours.
pub(crate) fn modules() -> PathBuf {
    let around = Path::new(env!("CARGO_TARGET_TMPDIR")).ancestors();
    around.map(|folder| folder.join("page-modules")).find(|folder| folder.is_dir()).unwrap_or_default()
}

pub(crate) fn ready() -> bool {
    let here = Path::new("/usr/bin/chromium").exists() && modules().join("node_modules/ajv").exists();
    let node = Command::new("node").arg("--version").output().is_ok();
    assert!(
        here && node || std::env::var("CI").as_deref() != Ok("true"),
        "this test needs node, chromium and the modules `cargo xtask test --tier services` fetches, and CI=true"
    );
    if !(here && node) {
        eprintln!("skipped: needs node, chromium and the modules `cargo xtask test --tier services` fetches");
    }
    here && node
}

#[test]
fn pages_open_offline_say_what_their_data_says_and_print() {
    if !ready() {
        return;
    }
    let desk = Desk::new();
    let pages = desk.beside("pages");
    std::fs::create_dir(&pages).unwrap();
    let page = |name: &str| pages.join(format!("{name}.html")).display().to_string();
    let write = |name: &str| drop(desk.run(&["report", "-o", &page(name)]).ended(0));
    desk.run(&["run", "plans/router.toml"]).ended(0);
    write("router");
    desk.run(&["try", "governor=all", "--machine", "sim:quadcore", "--load", "counter", "--blocks", "3"]).ended(0);
    write("governors");
    // Clocks and use over trials that are longer than a drawing has room for.
    let recorded = ["try", "governor=ondemand,conservative", "--machine", "sim:quadcore", "--load", "counter"];
    desk.run(&[&recorded[..], &["--for", "60s", "--blocks", "2", "--record", "clock,utilisation"]].concat()).ended(0);
    write("courses");
    let calibrate = ["calibrate", "--machine", "sim:quadcore", "--load", "counter", "--trials", "12"];
    desk.run(&calibrate).ended(0);
    write("noise");
    let tune = ["tune", "governor=all", "max_freq=all", "--minimize", "energy_j", "--require", "count_per_s>=3.8e6"];
    desk.run(&[&tune[..], &["--machine", "sim:quadcore", "--load", "counter"]].concat()).ended(0);
    write("search");
    desk.run(&["compare", "1:500MHz", "1:550MHz", "-o", &page("compared")]).ended(0);
    for customers in ["500", "1000", "2000"] {
        desk.run(&["run", &format!("plans/governors-shop-{customers}.toml"), "--blocks", "2"]).ended(0);
    }
    desk.run(&["compare", "6", "7", "8", "-o", &page("customers")]).ended(0);
    let governors = ["--load", "counter", "--machine", "sim:quadcore", "--blocks", "3"];
    for seed in ["3", "4"] {
        desk.run(&[&["try", "governor=all", "--seed", seed], &governors[..]].concat()).ended(0);
    }
    desk.run(&["compare", "2", "9", "10", "-o", &page("days")]).ended(0);
    let again = desk.run(&["replicate", "counter", "--blocks", "2", "-o", &page("article")]);
    assert!(again.code == Some(0) || again.code == Some(1), "{}", again.err);
    for settings in [2, 12, 100] {
        std::fs::write(page(&format!("made-up-{settings}")), made_up::page(settings, false)).unwrap();
    }
    std::fs::write(page("hostile"), made_up::page(5, true)).unwrap();
    let check = workspace().join("crates/powerband/tests/page/check.mjs");
    let mut command = Command::new("node");
    command.arg(check).arg(modules()).arg(&pages);
    // Pictures of the pages, for whoever wants to look at them.
    command.args(std::env::var_os("POWERBAND_PAGE_SHOTS"));
    let ran = Ran::of(&command.output().unwrap());
    assert_eq!(ran.code, Some(0), "what is wrong:\n{}{}", ran.out, ran.err);
}
