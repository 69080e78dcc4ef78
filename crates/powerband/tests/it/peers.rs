//! Machines behind a command, ssh or a shell that misbehave: each answer has a time limit, one sentence says what happened,
//! and nothing that was started for them is left.
use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::desk::{Desk, split, until};

/// The processes that were started with exactly these last words.
fn running(words: &str) -> Vec<i32> {
    let is_it = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").trim_end() == words
    };
    let names = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    names.filter(is_it).collect()
}

/// Ends what a test that failed would leave.
struct Cleaned(&'static str);

impl Drop for Cleaned {
    fn drop(&mut self) {
        for pid in running(self.0) {
            let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
        }
    }
}

#[test]
fn a_peer_that_does_not_answer_costs_one_sentence() {
    let _cleaned = Cleaned("sleep 98760");
    let desk = Desk::new();
    let cases = [
        ("cmd:sleep 98760", "cmd:sleep 98760 did not answer within 1 s; try it by hand: sleep 98760 < /dev/null"),
        ("cmd:yes", "not powerband's protocol"),
        ("sh:sleep 98760", "no shell answered within 1 s"),
        ("sh:yes", "it prints without end and is no shell; it prints 'y'"),
    ]
    .map(|(far, says)| {
        (desk.start(&split(&format!("--peer-timeout 1s --far `{far}` get far/file:/etc/hostname"))), says)
    });
    for (started, says) in cases {
        let sentence = started.end().refused(8);
        assert!(sentence.contains(says), "{sentence}");
    }
    assert_eq!(running("sleep 98760"), Vec::<i32>::new());
}

#[test]
fn a_page_s_machine_has_the_time_limit_that_is_typed() {
    let desk = Desk::new();
    let hangs = desk.beside("hangs");
    let way = format!(
        "cmd:sh -c '[ ! -e {} ] || exec sleep 98766; exec env POWERBAND_STATE_DIR={} {} agent'",
        hangs.display(),
        desk.beside("there").display(),
        env!("CARGO_BIN_EXE_powerband")
    );
    let page = desk.beside("page.html").display().to_string();
    let tried = format!("--machine `{way}` try env.A=1 --runs 2 --warmup 0 --settle 0 -- true");
    let tried = split(&tried);
    desk.run(&tried).ended(0);
    desk.run(&["report", "-o", &page]).ended(0);
    fs::write(&hangs, "").unwrap();
    let ran = desk.run(&split(&format!("--peer-timeout 1s run --again `{page}` --trust"))).ended(8);
    assert!(ran.err.contains("did not answer within 1 s"), "{}", ran.err);
}

#[test]
fn what_leads_to_a_peer_ends_with_the_command_however_that_ends() {
    let _cleaned = [Cleaned("sleep 98761"), Cleaned("sleep 98762"), Cleaned("sleep 98763")];
    let desk = Desk::new();
    let look = |way: &str| {
        desk.start(&["--peer-timeout", "300s", "--far", &format!("cmd:{way}"), "get", "far/file:/etc/hostname"])
    };
    // Asked to stop while it waits for the first answer.
    for signal in [Signal::INT, Signal::TERM] {
        let started = look("sh -c 'sleep 98761 & sleep 98761; true'");
        until("both run", || running("sleep 98761").len() == 2);
        started.signal(signal);
        let why = started.end().refused(130);
        assert!(why.contains("stopped while waiting for cmd:sh"), "{why}");
        assert_eq!(running("sleep 98761"), Vec::<i32>::new());
    }
    // Killed.
    let started = look("sleep 98762");
    until("it runs", || running("sleep 98762").len() == 1);
    started.signal(Signal::KILL);
    started.end();
    until("it ends with us", || running("sleep 98762").is_empty());
    // A good end.
    let agent = format!(
        "sh -c 'sleep 98763 >/dev/null 2>&1 & exec env POWERBAND_STATE_DIR={} {} agent'",
        desk.beside("there").display(),
        env!("CARGO_BIN_EXE_powerband")
    );
    look(&agent).end().ended(0);
    // It is killed by then; that it has left /proc is the kernel's next step.
    until("it ends with us", || running("sleep 98763").is_empty());
}

#[test]
fn behind_a_shell_a_sync_that_fails_is_heard() {
    let desk = Desk::new();
    fs::write(desk.beside("knob"), "there\n").unwrap();
    let programs = desk.beside("programs");
    fs::create_dir(&programs).unwrap();
    let sync = programs.join("sync");
    // As if the disk failed from the first synced name on; a sync of everything cannot fail.
    fs::write(
        &sync,
        "#!/bin/sh\n[ \"$*\" = / ] || [ $# = 0 ] || { echo 'sync: error syncing: Input/output error' >&2; exit 1; }\n",
    )
    .unwrap();
    fs::set_permissions(&sync, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let far = format!(
        "sh:env PATH={}:/usr/bin:/bin POWERBAND_STATE_DIR={} dash",
        programs.display(),
        desk.beside("there").display()
    );
    let why = desk.run(&["--machine", &far, "set", &format!("{}=1", desk.knob("knob"))]).refused(8);
    assert!(why.contains("cannot write the ledger") && why.contains("input/output error"), "{why}");
    assert_eq!(fs::read_to_string(desk.beside("knob")).unwrap(), "there\n", "what cannot be noted is not changed");
}
