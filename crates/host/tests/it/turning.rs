//! Turning things and taking them back: files, the kernel's files, programs.
use powerband_machine::{Action, Errno, Hold, Turn, Undone};

use crate::Stage;

fn turn(path: &str, text: &str, before: &str) -> Turn {
    Turn {
        action: Action::WriteFile { path: path.into(), text: text.into() },
        undo: Some(Action::WriteFile { path: path.into(), text: before.into() }),
        hold: Hold::Set,
        knob: format!("file:{path}"),
        site: path.into(),
        asked: text.into(),
        before: Some(before.trim_end().into()),
        read_back: Some(path.into()),
        step: None,
    }
}

fn run(argv: &[&str]) -> Turn {
    let argv = argv.iter().map(|&word| word.to_owned()).collect();
    Turn { action: Action::Run { argv, user: None }, undo: None, read_back: None, before: None, ..turn("", "", "") }
}

#[test]
fn a_file_comes_back_byte_for_byte() {
    let mut stage = Stage::new();
    let path = stage.folder.path().join("knob").display().to_string();
    let before = "  one\n\ntwo \u{e9}, no newline at the end";
    std::fs::write(&path, before).unwrap();
    let acted = stage.near().act(&turn(&path, "5\n", before)).unwrap();
    assert_eq!((acted.errno, acted.reads_back.as_deref()), (None, Some("5")));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "5\n");
    assert_eq!(stage.near().undo(acted.entry, false).unwrap(), Undone::Undone);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);

    let fresh = format!("{path}.fresh");
    let mut made = turn(&fresh, "x", "");
    (made.undo, made.before) = (Some(Action::RemoveFile { path: fresh.clone() }), None);
    let acted = stage.near().act(&made).unwrap();
    assert_eq!(acted.reads_back.as_deref(), Some("x"));
    assert_eq!(stage.near().undo(acted.entry, false).unwrap(), Undone::Undone);
    assert!(!std::path::Path::new(&fresh).exists());
}

#[test]
fn somebody_elses_value_is_left_alone() {
    let mut stage = Stage::new();
    let path = stage.folder.path().join("knob").display().to_string();
    std::fs::write(&path, "0\n").unwrap();
    let acted = stage.near().act(&turn(&path, "1\n", "0\n")).unwrap();
    std::fs::write(&path, "7\n").unwrap();
    let foreign = Undone::Foreign { found: "7".into(), ours: "1".into() };
    assert_eq!(stage.near().undo(acted.entry, false).unwrap(), foreign);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "7\n");
    assert_eq!(stage.near().undo(acted.entry, true).unwrap(), Undone::Undone);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "0\n");
}

/// A knob of the kernel that only this test's own process feels.
const OWN_KNOB: &str = "/proc/self/oom_score_adj";

#[test]
fn the_kernel_takes_refuses_and_shows_what_is_in_force() {
    let mut stage = Stage::new();
    let before = std::fs::read_to_string(OWN_KNOB).unwrap();
    let acted = stage.near().act(&turn(OWN_KNOB, "137", &before)).unwrap();
    assert_eq!((acted.errno, acted.reads_back.as_deref()), (None, Some("137")));
    let refused = stage.near().act(&turn(OWN_KNOB, "5000", "137")).unwrap();
    assert_eq!((refused.errno, refused.reads_back.as_deref()), (Some(Errno::EINVAL), Some("137")));
    let absent = Turn { before: None, ..turn("/proc/sys/kernel/no_such_knob", "1", "0") };
    let absent = stage.near().act(&absent).unwrap();
    assert!(matches!(absent.errno, Some(Errno::ENOENT | Errno::EACCES)), "{absent:?}");
    // Nothing reads there, so that alone proves nothing.
    assert_eq!(stage.near().undo(absent.entry, false).unwrap(), Undone::AlreadyBack);
    let version = std::fs::read_to_string("/proc/version").unwrap();
    let read_only = stage.near().act(&turn("/proc/version", "1", &version)).unwrap();
    assert!(matches!(read_only.errno, Some(Errno::EACCES | Errno::EIO)), "{read_only:?}");
    assert_eq!(stage.near().undo(acted.entry, false).unwrap(), Undone::Undone);
    assert_eq!(std::fs::read_to_string(OWN_KNOB).unwrap(), before);
}

#[test]
fn a_program_is_run_to_its_end_and_its_words_are_kept() {
    let mut stage = Stage::new();
    let fine = stage.near().act(&run(&["sh", "-c", "echo done; echo and >&2"])).unwrap();
    assert_eq!((fine.errno, fine.words.as_deref()), (None, Some("done\nand")));
    let failed = stage.near().act(&run(&["sh", "-c", "echo no such device >&2; exit 3"])).unwrap();
    assert_eq!(failed.errno, Some(Errno::EIO));
    let words = failed.words.unwrap();
    assert!(words.contains("exit status 3") && words.contains("no such device"), "{words}");
    let absent = stage.near().act(&run(&["powerband-no-such-program"])).unwrap();
    assert_eq!(absent.errno, Some(Errno::ENOENT));
    assert!(stage.near().open_entries().is_empty());
}

#[test]
fn a_program_that_does_not_end_is_ended() {
    let mut stage = Stage::new();
    let began = std::time::Instant::now();
    let hung = stage.near().act(&run(&["sh", "-c", "sleep 100"])).unwrap();
    assert_eq!(hung.errno, Some(Errno::ETIMEDOUT));
    assert!((10..20).contains(&began.elapsed().as_secs()));
}
