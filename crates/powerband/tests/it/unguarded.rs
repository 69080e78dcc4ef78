//! Without a guardian, and with a second powerband that keeps its state elsewhere.
use std::fs;

use crate::desk::{Desk, Ran, Started, root, text, until};
use crate::elsewhere::Namespace;

/// The command with so few descriptors that a part of what it needs cannot be had.
fn with_descriptors(desk: &Desk, most: u32, words: &[&str]) -> Ran {
    let mut command = std::process::Command::new("sh");
    desk.furnish(&mut command);
    let script = format!("ulimit -n {most}; exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_powerband")]).args(words);
    Ran::of(&command.output().unwrap())
}

#[test]
fn a_setting_that_waits_to_be_confirmed_needs_a_guardian() {
    let desk = Desk::new();
    fs::write(desk.beside("knob"), "before\n").unwrap();
    let set = format!("{}=1", desk.knob("knob"));
    let mut refused = 0;
    for most in 6..32 {
        let ran = with_descriptors(&desk, most, &["set", &set, "--confirm-within", "100ms"]);
        assert_eq!(text(&desk.beside("knob")), "before\n", "{most}: {}", ran.err);
        if ran.err.contains("--confirm-within needs a guardian process") {
            assert_eq!(ran.code, Some(8), "{}", ran.err);
            refused += 1;
        }
    }
    assert!(refused > 0, "there is a number with which all but the guardian can be had");
}

#[test]
fn a_missing_guardian_is_remarked_once() {
    let desk = Desk::new();
    fs::write(desk.beside("knob"), "before\n").unwrap();
    let set = format!("{}=1", desk.knob("knob"));
    let remark = "no guardian process could be started";
    let mut remarked = 0;
    for most in 6..32 {
        let ran = with_descriptors(&desk, most, &["with", &set, "--", "true"]);
        // With one less than restoring takes it says so, and the next command does it.
        if ran.code == Some(6) {
            assert!(ran.err.contains("RESTORE INCOMPLETE"), "{}", ran.err);
            desk.run(&["undo", "--left"]).ended(0);
        }
        assert_eq!(text(&desk.beside("knob")), "before\n", "{most}: {}", ran.err);
        assert!(ran.err.matches(remark).count() <= 1, "{}", ran.err);
        remarked += u32::from(ran.err.contains(remark));
    }
    assert!(remarked > 0);
    assert!(!desk.run(&["with", &set, "--", "true"]).ended(0).err.contains(remark));
}

#[test]
fn two_state_folders_do_not_change_one_kernel_at_the_same_time() {
    if !root() {
        return;
    }
    let (one, two, there) = (Desk::new(), Desk::new(), Namespace::new("claimed"));
    let before = there.read("/proc/sys/net/core/somaxconn");
    let runs = one.beside("runs");
    let script =
        ["sh", "-c", "touch \"$0\"; sleep 1000 >/dev/null 2>&1", &runs.display().to_string()].map(str::to_owned);
    let script: Vec<&str> = script.iter().map(String::as_str).collect();
    let holds = [&["with", "sysctl.net.core.somaxconn=1234", "--"], &script[..]].concat();
    let running = Started::of(&mut there.command(&one, &holds));
    until("it runs", || runs.exists());
    for words in [&["set", "sysctl.net.core.somaxconn=77"][..], &["with", "sysctl.net.core.somaxconn=77", "--", "true"]]
    {
        let why = there.powerband(&two, words).refused(8);
        assert!(why.contains(&format!("powerband {} changes this machine", running.pid())), "{why}");
        assert_eq!(there.read("/proc/sys/net/core/somaxconn"), "1234");
    }
    // A file is not the kernel's, looking is free, and another network namespace is another one's.
    fs::write(two.beside("knob"), "0\n").unwrap();
    there.powerband(&two, &["with", &format!("{}=1", two.knob("knob")), "--", "true"]).ended(0);
    there.powerband(&two, &["get", "sysctl.net.core.somaxconn"]).ended(0);
    running.signal(rustix::process::Signal::TERM);
    running.end().ended(130);
    there.powerband(&two, &["with", "sysctl.net.core.somaxconn=77", "--", "true"]).ended(0);
    assert_eq!(there.read("/proc/sys/net/core/somaxconn"), before);
}
