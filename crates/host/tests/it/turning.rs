//! Turning things and taking them back: files, the kernel's files, programs.
use powerband_machine::{Action, Before, Errno, Turn, Undone};

use crate::Stage;

fn turn(path: &str, text: &str, before: &str) -> Turn {
    let mut turn = Turn::write(path, text);
    turn.undo = Some(Turn::write(path, before).action);
    (turn.before, turn.read_back) = (Before::Reads(before.trim_end().into()), Some(path.into()));
    turn
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn run(argv: &[&str]) -> Turn {
    let argv = argv.iter().map(|&word| word.to_owned()).collect();
    let action = Action::Run { argv, user: None };
    Turn { action, ..Turn::write("", "") }
}

#[test]
fn a_file_comes_back_byte_for_byte() {
    let mut stage = Stage::new();
    let path = stage.path("knob");
    let before = "  one\n\ntwo \u{e9}, no newline at the end";
    std::fs::write(&path, before).unwrap();
    let acted = stage.act(&turn(&path, "5\n", before));
    assert_eq!((acted.errno, acted.reads_back.as_deref()), (None, Some("5")));
    assert_eq!(read(&path), "5\n");
    assert_eq!(stage.undo(acted.entry), Undone::Undone);
    assert_eq!(read(&path), before);

    let fresh = format!("{path}.fresh");
    let mut made = turn(&fresh, "x", "");
    (made.undo, made.before) = (Some(Action::RemoveFile { path: fresh.clone() }), Before::Unknown);
    let acted = stage.act(&made);
    assert_eq!(acted.reads_back.as_deref(), Some("x"));
    assert_eq!(stage.undo(acted.entry), Undone::Undone);
    assert!(!std::path::Path::new(&fresh).exists());
}

#[test]
fn somebody_elses_value_is_left_alone() {
    let mut stage = Stage::new();
    let path = stage.path("knob");
    std::fs::write(&path, "0\n").unwrap();
    let acted = stage.act(&turn(&path, "1\n", "0\n"));
    std::fs::write(&path, "7\n").unwrap();
    let foreign = Undone::Foreign { found: "7".into(), ours: "1".into() };
    assert_eq!(stage.undo(acted.entry), foreign);
    assert_eq!(read(&path), "7\n");
    assert_eq!(stage.near().undo(acted.entry, true).unwrap(), Undone::Undone);
    assert_eq!(read(&path), "0\n");
}

/// A knob of the kernel that only this test's own process feels.
const OWN_KNOB: &str = "/proc/self/oom_score_adj";

#[test]
fn the_kernel_takes_refuses_and_shows_what_is_in_force() {
    let mut stage = Stage::new();
    let before = read(OWN_KNOB);
    let acted = stage.act(&turn(OWN_KNOB, "137", &before));
    assert_eq!((acted.errno, acted.reads_back.as_deref()), (None, Some("137")));
    let refused = stage.act(&turn(OWN_KNOB, "5000", "137"));
    assert_eq!((refused.errno, refused.reads_back.as_deref()), (Some(Errno::EINVAL), Some("137")));
    let absent = Turn { before: Before::Unknown, ..turn("/proc/sys/kernel/no_such_knob", "1", "0") };
    let absent = stage.act(&absent);
    assert!(matches!(absent.errno, Some(Errno::ENOENT | Errno::EACCES)), "{absent:?}");
    // Nothing reads there, so that alone proves nothing.
    assert_eq!(stage.undo(absent.entry), Undone::AlreadyBack);
    let version = std::fs::read_to_string("/proc/version").unwrap();
    let read_only = stage.act(&turn("/proc/version", "1", &version));
    assert!(matches!(read_only.errno, Some(Errno::EACCES | Errno::EIO)), "{read_only:?}");
    assert_eq!(stage.undo(acted.entry), Undone::Undone);
    assert_eq!(read(OWN_KNOB), before);
}

#[test]
fn a_program_is_run_to_its_end_and_its_words_are_kept() {
    let mut stage = Stage::new();
    let fine = stage.near().act(&run(&["sh", "-c", "echo done; echo and >&2"])).unwrap();
    assert_eq!((fine.errno, fine.words.as_deref()), (None, Some("done\nand")));
    let failed = stage.near().act(&run(&["sh", "-c", "echo no such device >&2; exit 3"])).unwrap();
    assert_eq!(failed.errno, Some(Errno::EIO));
    let words = failed.words.unwrap();
    assert!(words.contains("status 3") && words.contains("no such device"), "{words}");
    let absent = stage.act(&run(&["powerband-no-such-program"]));
    assert_eq!(absent.errno, Some(Errno::ENOENT));
    assert!(stage.near().open_entries().is_empty());
}

#[test]
fn a_program_that_does_not_end_is_ended() {
    let mut stage = Stage::new();
    let hung = stage.act(&run(&["sh", "-c", "sleep 10000"]));
    assert_eq!(hung.errno, Some(Errno::ETIMEDOUT));
}
