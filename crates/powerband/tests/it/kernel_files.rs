//! Files of this machine's kernel that take another text than they show, or that move others along: restored, or not changed.
use std::fs;
use std::path::Path;

use crate::desk::{Desk, machine_alone, root, text};

const VM: &str = "/proc/sys/vm";
const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage";

/// Files that are compared, of which a machine may lack some.
fn shown() -> Vec<Option<String>> {
    let names = "dirty_ratio dirty_bytes dirty_background_ratio dirty_background_bytes overcommit_ratio overcommit_kbytes min_free_kbytes";
    let vm = names.split(' ').map(|name| format!("{VM}/{name}"));
    let huge = ["enabled", "defrag"].map(|name| format!("{HUGE_PAGES}/{name}"));
    vm.chain(huge).map(|path| fs::read_to_string(path).ok()).collect()
}

#[test]
fn settings_in_two_units_and_files_of_choices_are_restored() {
    if !root() {
        return;
    }
    let _alone = machine_alone();
    let desk = Desk::new();
    let before = shown();
    for setting in [
        "sysctl.vm.dirty_bytes=800000000",
        "sysctl.vm.dirty_ratio=19",
        "sysctl.vm.overcommit_kbytes=100000000",
        "file:/sys/kernel/mm/transparent_hugepage/defrag=never",
    ] {
        let file = setting.strip_prefix("file:").and_then(|file| file.split_once('='));
        if file.is_some_and(|(file, _)| !Path::new(file).exists()) {
            continue;
        }
        desk.run(&["with", setting, "--", "true"]).ended(0);
        assert_eq!(shown(), before, "with {setting}");
        desk.run(&["set", setting]).ended(0);
        assert_ne!(shown(), before, "set {setting}");
        desk.run("undo").ended(0);
        assert_eq!(shown(), before, "undo {setting}");
    }
    assert_eq!(desk.turned(), 0);
}

#[test]
fn a_shell_does_not_change_what_it_cannot_restore() {
    let desk = Desk::new();
    let file = desk.beside("bytes");
    fs::write(&file, "a\0b\n").unwrap();
    let setting = format!("{}=x", desk.knob("bytes"));
    let ran = desk.run(&["--machine", "sh:sh", "with", &setting, "--", "true"]);
    assert!(ran.code != Some(0) && ran.code != Some(6), "{:?}: {}", ran.code, ran.err);
    assert_eq!(text(&file), "a\0b\n");
    desk.run(&["--machine", "sh:sh", "info", "turned"]).ended(0);
}
