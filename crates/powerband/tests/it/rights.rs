//! Without rights: the same binary as nobody. It says what is missing, and what works without.
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::desk::{Desk, Ran, root, text};

/// The user nobody.
const NOBODY: u32 = 65534;

/// A desk that nobody may write to, with a copy of the binary to run.
fn desk_of_nobody() -> Desk {
    let desk = Desk::new();
    let folder = desk.beside("");
    // Copied by another process: what another test forks meanwhile would keep our copy open for writing, and busy.
    let mut copy = Command::new("install");
    copy.args(["-m", "755", env!("CARGO_BIN_EXE_powerband")]).arg(desk.beside("powerband"));
    assert!(copy.status().unwrap().success());
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(desk.state()).unwrap();
    chown(desk.state(), Some(NOBODY), Some(NOBODY)).unwrap();
    desk
}

fn as_nobody(desk: &Desk, words: &[&str]) -> Ran {
    let mut command = Command::new(desk.beside("powerband"));
    desk.furnish(&mut command);
    // The workspace may lie where nobody can look.
    command.current_dir("/").uid(NOBODY).gid(NOBODY).args(words);
    Ran::of(&command.output().unwrap())
}

#[test]
fn turning_the_kernel_takes_rights() {
    if !root() {
        return;
    }
    let desk = desk_of_nobody();
    let path = "/proc/sys/vm/swappiness";
    let before = text(path.as_ref());
    let why = as_nobody(&desk, &["set", "sysctl.vm.swappiness=61"]).refused(3);
    assert!(why.contains("only root may set it, and not in every container: write `sudo powerband …`"), "{why}");
    assert_eq!(text(path.as_ref()), before);
    let path = "/sys/module/printk/parameters/time";
    let why = as_nobody(&desk, &["set", &format!("file:{path}=Y")]).refused(3);
    assert!(why.contains(&format!("`z {path} 0664 root powerband`")), "{why}");
    assert_eq!(as_nobody(&desk, &["--json", "info", "turned"]).ended(0).value()["turned"], serde_json::json!([]));
    assert_eq!(as_nobody(&desk, &["--json", "info"]).ended(0).value()["privileged"], false);
}

#[test]
fn what_cannot_be_read_is_no_good_end_of_get() {
    let desk = Desk::new();
    fs::write(desk.beside("bytes"), b"\xff\xfe").unwrap();
    fs::write(desk.beside("text"), "1\n").unwrap();
    let (bytes, readable) = (desk.knob("bytes"), desk.knob("text"));
    let why = desk.run(&["get", &bytes]).refused(4);
    assert!(why.contains(&format!("cannot read {bytes}")) && why.contains("EILSEQ"), "{why}");
    // What can be read is printed all the same.
    let ran = desk.run(&["get", "--json", &readable, &bytes]).ended(4);
    assert_eq!(ran.value()["readings"][0]["reading"]["value"], "1");
    if root() {
        let desk = desk_of_nobody();
        fs::write(desk.beside("secret"), "1\n").unwrap();
        fs::set_permissions(desk.beside("secret"), fs::Permissions::from_mode(0o600)).unwrap();
        let why = as_nobody(&desk, &["get", &desk.knob("secret")]).refused(3);
        assert!(why.contains("EACCES") && why.contains("sudo powerband"), "{why}");
    }
}

#[test]
fn a_ledger_one_may_not_read_is_no_reason_to_warn() {
    if !root() {
        return;
    }
    let desk = desk_of_nobody();
    let knob = format!("file:{}=1", desk.state().join("knob").display());
    as_nobody(&desk, &["set", &knob]).ended(0);
    std::os::unix::fs::chown(desk.state().join("ledger"), Some(0), Some(0)).unwrap();
    let ran = as_nobody(&desk, &["list"]).ended(0);
    assert_eq!(ran.err, "");
    let why = as_nobody(&desk, &["info"]).refused(3);
    assert!(why.contains("cannot read the ledger"), "{why}");
}

#[test]
fn the_doctor_names_the_narrowest_right() {
    if !root() {
        return;
    }
    let desk = desk_of_nobody();
    let ran = as_nobody(&desk, &["--json", "doctor"]);
    let value = ran.value();
    assert!(ran.code == Some(i32::from(value["missing"] != 0)) && value["privileged"] == false, "{value:#}");
    let sections = value["sections"].as_array().unwrap();
    let rights = sections.iter().find(|section| section["name"] == "rights").unwrap();
    let sysctl = rights["findings"].as_array().unwrap().iter().find(|found| found["about"] == "sysctl.*").unwrap();
    assert!(sysctl["do"].as_str().unwrap().contains("/etc/sudoers.d/powerband"), "{rights:#}");
}

#[test]
fn a_group_for_the_load_takes_rights() {
    if !root() {
        return;
    }
    let desk = desk_of_nobody();
    let why = as_nobody(&desk, &["with", "cgroup.cpu_quota=50%", "--", "true"]).refused(3);
    assert!(why.contains("root") || why.contains("sudo"), "{why}");
}

#[test]
fn an_experiment_that_may_turn_nothing_does_not_end_well() {
    if !root() {
        return;
    }
    let desk = desk_of_nobody();
    let words = ["try", "cgroup.cpu_quota=50%,100%", "--settle", "0", "--warmup", "0", "--blocks", "2", "--", "true"];
    let why = as_nobody(&desk, &words).refused(3);
    assert!(why.contains("root") || why.contains("sudo"), "{why}");
}

#[test]
fn a_folder_of_somebody_else_is_named() {
    if !root() {
        return;
    }
    let desk = desk_of_nobody();
    chown(desk.state(), Some(0), Some(0)).unwrap();
    let place = desk.state().display().to_string();
    let mine = desk.beside("mine");
    fs::write(&mine, "0").unwrap();
    chown(&mine, Some(NOBODY), Some(NOBODY)).unwrap();
    let why = as_nobody(&desk, &["set", &format!("{}=1", desk.knob("mine"))]).refused(3);
    assert!(why.contains(&place), "{why}");
    assert_eq!(text(&mine), "0");
}

#[test]
fn what_is_ones_own_takes_no_rights() {
    if !root() {
        return;
    }
    let desk = desk_of_nobody();
    let mine = desk.beside("mine");
    fs::write(&mine, "0").unwrap();
    chown(&mine, Some(NOBODY), Some(NOBODY)).unwrap();
    let knob = desk.knob("mine");
    as_nobody(&desk, &["set", &format!("{knob}=1")]).ended(0);
    assert_eq!(text(&mine).trim_end(), "1");
    as_nobody(&desk, &["undo"]).ended(0);
    assert_eq!(text(&mine), "0");
    let setting = format!("b:{knob}=1");
    let words = ["try", "-s", "a:", "-s", &setting, "--settle", "0", "--blocks", "2", "--", "true"];
    as_nobody(&desk, &words).ended(0);
    assert_eq!(text(&mine), "0");
    as_nobody(
        &desk,
        &["try", "-s", "a:", "-s", "b:", "--load", "counter", "--for", "20ms", "--settle", "0", "--blocks", "2"],
    )
    .ended(0);
    as_nobody(&desk, &["--machine", "sim:quadcore", "try", "-s", "a:", "-s", "b:", "--load", "counter"]).ended(0);
}
