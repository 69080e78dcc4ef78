//! Places for results that cannot be used: a file in the way, a full disk, garbage. Nothing is turned without one.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::desk::{Desk, Ran, root, text};

/// A `try` that turns the file `knob` and would keep its results at `store`.
fn words<'a>(store: &'a str, setting: &'a str, command: &[&'a str]) -> Vec<&'a str> {
    let words = [
        "--store", store, "try", "-s", "a:", "-s", setting, "--settle", "0", "--warmup", "0", "--blocks", "40",
        "--margin", "0.0001%", "--",
    ];
    [&words, command].concat()
}

#[test]
fn a_store_below_a_file_or_of_garbage_is_refused_before_anything_is_turned() {
    let desk = Desk::new();
    let knob = desk.beside("knob");
    fs::write(&knob, "0").unwrap();
    let (wall, garbage) = (desk.beside("wall"), desk.beside("garbage.sqlite"));
    fs::write(&wall, "").unwrap();
    fs::write(&garbage, "this is a letter, not a database\n".repeat(100)).unwrap();
    let setting = format!("b:{}=1", desk.knob("knob"));
    let touched = desk.beside("touched").display().to_string();
    for (store, named) in
        [(wall.join("results.sqlite"), &wall), (garbage.clone(), &garbage), (desk.beside(""), &desk.beside(""))]
    {
        let (store, named) = (store.display().to_string(), named.display().to_string());
        let why = desk.run(&words(&store, &setting, &["touch", &touched])).refused(8);
        assert!(why.contains(&named), "{why}");
        assert!(!desk.beside("touched").exists(), "the load ran");
        assert_eq!(text(&knob), "0");
    }
    // To look at nothing is no mistake; to look at what is no store is one.
    for store in [&garbage, &desk.beside("")] {
        let store = store.display().to_string();
        assert!(desk.run(&["--store", &store, "list"]).refused(8).contains(&store));
        desk.run(&["--store", &store, "show"]).refused(8);
    }
    assert!(text(&garbage).starts_with("this is a letter"), "somebody's file was overwritten");
}

#[test]
fn a_store_of_another_program_is_not_touched() {
    let desk = Desk::new();
    desk.run(&["run", "plans/router.toml", "--blocks", "1"]).ended(0);
    let store = desk.state().join("powerband.sqlite");
    let mut bytes = fs::read(&store).unwrap();
    assert!(bytes.starts_with(b"SQLite format 3\0"));
    // The application id, bytes 68 to 71 of a database's header.
    bytes[68..72].copy_from_slice(&[1, 2, 3, 4]);
    fs::write(&store, &bytes).unwrap();
    desk.run(&["list"]).refused(8);
    desk.run(&["run", "plans/router.toml"]).refused(8);
    assert_eq!(fs::read(&store).unwrap(), bytes);
}

#[test]
fn a_torn_store_is_an_error_and_no_crash() {
    let desk = Desk::new();
    desk.run(&["run", "plans/router.toml", "--blocks", "2"]).ended(0);
    let store = desk.state().join("powerband.sqlite");
    let bytes = fs::read(&store).unwrap();
    fs::write(&store, &bytes[..bytes.len() / 2]).unwrap();
    let why = desk.run(&["show", "last"]).refused(8);
    assert!(why.contains("powerband.sqlite"), "{why}");
}

#[test]
fn looking_makes_nothing() {
    let desk = Desk::new();
    desk.run(&["list"]).ended(0);
    desk.run(&["show"]).refused(2);
    desk.run(&["info"]).ended(0);
    desk.run(&["undo", "--list"]).ended(0);
    desk.run(&["run", "plans/router.toml", "--dry-run"]).ended(0);
    assert!(!desk.state().exists());
}

#[test]
fn a_folder_that_cannot_be_made_for_the_state() {
    let desk = Desk::new();
    fs::write(desk.state(), "in the way").unwrap();
    let knob = desk.beside("knob");
    fs::write(&knob, "0").unwrap();
    let set = format!("{}=1", desk.knob("knob"));
    desk.run(&["set", &set]).refused(8);
    desk.run(&["run", "plans/router.toml"]).refused(8);
    desk.run(&["with", &set, "--", "true"]).refused(8);
    assert_eq!(text(&knob), "0");
    assert_eq!(text(&desk.state()), "in the way");
}

/// A desk with a knob, and the folder that is to be a disk.
fn beside_a_disk() -> (Desk, String) {
    let desk = Desk::new();
    fs::write(desk.beside("knob"), "0").unwrap();
    fs::create_dir(desk.beside("disk")).unwrap();
    let place = desk.beside("disk").display().to_string();
    (desk, place)
}

/// Runs the binary where `place` is a disk of `size` with room for no more.
fn on_small_disk(desk: &Desk, place: &str, size: &str, words: &[&str]) -> Ran {
    let script = format!("mount -t tmpfs -o size={size},mode=0700 none \"$1\" && shift && exec \"$@\"");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script, "sh", place]);
    command.arg(env!("CARGO_BIN_EXE_powerband")).args(words);
    desk.furnish(&mut command);
    Ran::of(&command.output().unwrap())
}

#[test]
fn a_disk_too_small_for_any_result_is_refused_before_anything_is_turned() {
    if !root() {
        return;
    }
    let (desk, place) = beside_a_disk();
    let (store, setting) = (format!("{place}/results.sqlite"), format!("b:{}=1", desk.knob("knob")));
    let touched = desk.beside("touched").display().to_string();
    let why = on_small_disk(&desk, &place, "16k", &words(&store, &setting, &["touch", &touched])).refused(8);
    assert!(why.contains("results.sqlite"), "{why}");
    assert!(!desk.beside("touched").exists(), "the load ran");
    assert_eq!(text(&desk.beside("knob")), "0");
    assert_eq!(desk.turned(), 0);
}

#[test]
fn a_disk_that_fills_up_ends_the_experiment_with_everything_put_back() {
    if !root() {
        return;
    }
    let (desk, place) = beside_a_disk();
    let (store, setting) = (format!("{place}/results.sqlite"), format!("b:{}=1", desk.knob("knob")));
    // A trial keeps what its command prints: 20 kB each, on a disk of 400 kB.
    let load = ["sh", "-c", "head -c 20000 /dev/zero | tr '\\0' x"];
    let why = on_small_disk(&desk, &place, "400k", &words(&store, &setting, &load)).refused(8);
    assert!(why.contains("full") || why.contains("ENOSPC") || why.contains("space"), "{why}");
    assert_eq!(text(&desk.beside("knob")), "0");
    assert_eq!(desk.turned(), 0);
}

#[test]
fn without_room_for_the_ledger_nothing_is_turned() {
    if !root() {
        return;
    }
    let desk = Desk::new();
    let knob = desk.beside("knob");
    fs::write(&knob, "0").unwrap();
    fs::create_dir(desk.state()).unwrap();
    fs::set_permissions(desk.state(), fs::Permissions::from_mode(0o700)).unwrap();
    // A file fills the disk to the last page before the ledger is begun.
    let (place, set) = (desk.state().display().to_string(), format!("{}=1", desk.knob("knob")));
    let script = "mount -t tmpfs -o size=16k none \"$1\" && { head -c 100000 /dev/zero > \"$1/fill\"; shift; exec \"$@\"; } 2>&1 | grep -v 'head:' >&2; exit ${PIPESTATUS[0]}";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "bash", "-c", script, "bash", &place]);
    command.arg(env!("CARGO_BIN_EXE_powerband")).args(["set", &set]);
    desk.furnish(&mut command);
    let why = Ran::of(&command.output().unwrap()).refused(8);
    assert!(why.contains("ledger") || why.contains("space"), "{why}");
    assert_eq!(text(&knob), "0");
}

#[test]
fn a_store_that_cannot_be_written_can_be_read() {
    if !root() {
        return;
    }
    let (desk, place) = beside_a_disk();
    let store = format!("{place}/results 100%?.sqlite");
    let plan = ["try", "-s", "a:", "-s", "b:", "--load", "counter", "--blocks", "2"];
    for _ in 0..2 {
        desk.run(&[&["--store", &store, "--machine", "sim:quadcore"], &plan[..]].concat()).ended(0);
    }
    let unwritable = |words: &[&str]| {
        let script = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && shift && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", script, "sh", &place]);
        command.arg(env!("CARGO_BIN_EXE_powerband")).args(["--store", &store]).args(words);
        desk.furnish(&mut command);
        Ran::of(&command.output().unwrap())
    };
    for words in [&["list"][..], &["show", "1"], &["compare", "1", "2"], &["--json", "show", "2"]] {
        assert_eq!(unwritable(words).ended(0).out, desk.run(&[&["--store", &store], words].concat()).ended(0).out);
    }
    let why = unwritable(&plan).refused(8);
    assert!(why.contains("check who owns it, or name another place with --store"), "{why}");
}
