//! What is told to a pipe whose reader goes away, and completions in a shell.
use std::process::{Command, Stdio};

use crate::desk::Desk;

#[test]
fn completions_are_shell_that_a_shell_takes() {
    let desk = Desk::new();
    let script = desk.beside("completions");
    std::fs::write(&script, desk.run(&["completions", "bash"]).ended(0).out).unwrap();
    let ran = Command::new("bash").arg("-n").arg(&script).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let desk = Desk::new();
    desk.run(&["run", "plans/router.toml", "--blocks", "2"]).ended(0);
    let answers: [&[&str]; 8] = [
        &["show"],
        &["show", "--json"],
        &["export", "--journal"],
        &["man"],
        &["completions", "bash"],
        &["--help"],
        &["knobs"],
        &["run", "plans/router.toml"],
    ];
    for words in answers {
        let mut child = desk.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Gone before the first byte.
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stderr.is_empty(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
