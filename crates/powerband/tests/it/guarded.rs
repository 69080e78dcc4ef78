//! A powerband that is killed: its guardian ends what it ran and puts everything back, without anybody's help.
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::desk::{Desk, Started, machine_alone, root, split, text, until};

/// A setting of the kernel that no other test turns.
const SYSCTL: &str = "/proc/sys/vm/vfs_cache_pressure";

/// A load with a child, a grandchild nobody waits for and one in a process group of its own; says who they are.
pub(crate) const FAMILY: &str = "set -m; (sleep 311 & echo $! >> \"$0\"); sleep 312 & echo $! >> \"$0\"; echo $$ >> \"$0\"; \
                      echo end >> \"$0\"; wait";

/// The kernel's setting as found; whatever happens in a test, it is back after it.
pub(crate) struct Kernel(String);

impl Kernel {
    pub(crate) fn found() -> Kernel {
        Kernel(text(Path::new(SYSCTL)))
    }

    /// Another value, as an assignment.
    pub(crate) fn other(&self) -> String {
        format!("sysctl.vm.vfs_cache_pressure={}", self.0.trim().parse::<u32>().unwrap() + 1)
    }

    pub(crate) fn is_back(&self) -> bool {
        text(Path::new(SYSCTL)) == self.0
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        if !self.is_back() {
            let _ = fs::write(SYSCTL, &self.0);
        }
    }
}

/// The guardians of a state folder.
pub(crate) fn guardians(desk: &Desk) -> Vec<Pid> {
    let ours = format!("__guardian\0{}\0", desk.state().display());
    let names = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let pids = names.filter_map(|name| name.parse::<i32>().ok());
    let is_one = |pid: &i32| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).ends_with(&ours))
    };
    pids.filter(is_one).filter_map(Pid::from_raw).collect()
}

/// Whether a process lives; one nobody has reaped yet does not.
pub(crate) fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Whether nothing is written down as turned. Looks itself, so that no command of ours puts anything back.
fn ledger_is_empty(desk: &Desk) -> bool {
    fs::read(desk.state().join("ledger")).is_ok_and(|bytes| bytes.is_empty())
}

/// Control groups of an owner.
pub(crate) fn groups_of(owner: u32) -> Vec<PathBuf> {
    fn search(folder: &Path, prefix: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name().to_string_lossy().starts_with(prefix) {
                    found.push(entry.path());
                }
                search(&entry.path(), prefix, found);
            }
        }
    }
    let mut found = Vec::new();
    search(Path::new("/sys/fs/cgroup"), &format!("powerband-load-{owner}-"), &mut found);
    found
}

/// A desk with a file to be turned, and a load's family that is told when it is complete.
pub(crate) fn desk_with_a_knob() -> (Desk, PathBuf, PathBuf) {
    let desk = Desk::new();
    let (path, pids) = (desk.beside("knob"), desk.beside("pids"));
    fs::write(&path, "as found \n\n").unwrap();
    (desk, path, pids)
}

pub(crate) fn family(pids: &Path) -> Vec<String> {
    until("the load runs", || fs::read_to_string(pids).is_ok_and(|text| text.ends_with("end\n")));
    text(pids).lines().filter(|line| *line != "end").map(str::to_owned).collect()
}

/// `with` a turned file around the family.
pub(crate) fn start_with(desk: &Desk, pids: &Path) -> Started {
    let knob = format!("{}=1", desk.knob("knob"));
    desk.start(&["with", &knob, "--", "bash", "-c", FAMILY, &pids.display().to_string()])
}

/// Kills those that live.
pub(crate) fn end(family: &[String]) {
    for pid in family.iter().filter(|pid| lives(pid)) {
        let _ = kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL);
    }
}

/// Everything is as before, and nobody of those is left.
pub(crate) fn is_all_over(desk: &Desk, path: &Path, family: &[String]) {
    until("the file is back", || text(path) == "as found \n\n");
    until("the ledger is empty", || ledger_is_empty(desk));
    until("the guardian has ended", || guardians(desk).is_empty());
    assert!(!family.iter().any(|pid| lives(pid)), "it kills before it puts back");
}

#[test]
fn a_killed_experiment_leaves_nothing() {
    if !root() {
        return;
    }
    let _alone = machine_alone();
    let kernel = Kernel::found();
    let (desk, path, pids) = desk_with_a_knob();
    let setting = format!("b:{}=1 {} cgroup.cpu_quota=50%", desk.knob("knob"), kernel.other());
    let script = pids.display().to_string();
    let words = format!("try -s `{setting}` -s a: --reference b --settle 0 --");
    let words = split(&words);
    let running = desk.start(&[&words[..], &["bash", "-c", FAMILY, &script]].concat());
    let owner = running.pid();
    let family = family(&pids);
    assert_eq!(family.len(), 3);
    assert!(family.iter().all(|pid| lives(pid)));
    assert!(text(&path).starts_with('1') && !kernel.is_back() && groups_of(owner).len() == 1);
    running.signal(Signal::KILL);
    running.end();
    is_all_over(&desk, &path, &family);
    assert!(kernel.is_back());
    assert_eq!(groups_of(owner), Vec::<PathBuf>::new());
}

#[test]
fn a_killed_with_leaves_nothing() {
    let (desk, path, pids) = desk_with_a_knob();
    let running = start_with(&desk, &pids);
    let family = family(&pids);
    assert!(text(&path).starts_with('1'));
    running.signal(Signal::KILL);
    running.end();
    is_all_over(&desk, &path, &family);
}

#[test]
fn signals_to_the_whole_process_group_spare_the_guardian() {
    for signal in [Signal::KILL, Signal::HUP] {
        let (desk, path, pids) = desk_with_a_knob();
        let knob = format!("{}=1", desk.knob("knob"));
        let mut command = desk.command(&["with", &knob, "--", "bash", "-c", FAMILY, &pids.display().to_string()]);
        let mut child = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let family = family(&pids);
        for &guardian in &guardians(&desk) {
            // Sent to it alone these are ignored too.
            for ignored in [Signal::INT, Signal::TERM, Signal::HUP] {
                kill_process(guardian, ignored).unwrap();
            }
        }
        assert_eq!(guardians(&desk).len(), 1);
        kill_process_group(Pid::from_child(&child), signal).unwrap();
        if signal == Signal::KILL {
            child.wait().unwrap();
            is_all_over(&desk, &path, &family);
        } else {
            // The owner asks the load to end, waits out its grace, and ends in order.
            assert!(!child.wait().unwrap().success());
            until("the file is back", || text(&path) == "as found \n\n");
            until("the guardian has ended", || guardians(&desk).is_empty());
            end(&family);
        }
    }
}

#[test]
fn a_load_whose_first_act_is_to_kill_its_owner_leaves_nothing() {
    // The guardian knows of a load before it can do anything: anyone who is killed right then leaves nobody running.
    for _ in 0..20 {
        let (desk, path, pids) = desk_with_a_knob();
        let knob = format!("{}=1", desk.knob("knob"));
        let script = "sleep 311 & echo $! >> \"$0\"; kill -KILL $PPID; echo end >> \"$0\"";
        let running = desk.start(&["with", &knob, "--", "sh", "-c", script, &pids.display().to_string()]);
        running.end();
        is_all_over(&desk, &path, &text(&pids).lines().map(str::to_owned).collect::<Vec<_>>());
    }
}

#[test]
fn a_killed_guardian_is_replaced_and_the_next_one_knows_what_runs() {
    let (desk, path, pids) = desk_with_a_knob();
    let running = start_with(&desk, &pids);
    let family = family(&pids);
    let first = guardians(&desk);
    assert_eq!(first.len(), 1);
    let killed = Instant::now();
    kill_process(first[0], Signal::KILL).unwrap();
    until("another is there", || guardians(&desk).iter().any(|guardian| *guardian != first[0]));
    assert!(text(&path).starts_with('1') && family.iter().all(|pid| lives(pid)), "nothing else happened");
    // It hears of the load once it is ready, a moment after it can be seen: in far less than ten times what it took to be seen.
    std::thread::sleep(killed.elapsed().mul_f64(10.0).max(Duration::from_secs(1)));
    running.signal(Signal::KILL);
    running.end();
    is_all_over(&desk, &path, &family);
}

#[test]
fn when_both_are_killed_the_next_command_puts_back() {
    let next: [&[&str]; 2] = [&["set"], &split("try --settle 0 --blocks 2 -s a: -s")[..]];
    for words in next {
        let (desk, path, pids) = desk_with_a_knob();
        let running = start_with(&desk, &pids);
        let family = family(&pids);
        // Stopped, so that it cannot replace the one before it dies itself.
        running.signal(Signal::STOP);
        kill_process(guardians(&desk)[0], Signal::KILL).unwrap();
        running.signal(Signal::KILL);
        // What the load left holds the output it inherited, and nobody else ends it.
        end(&family);
        running.end();
        until("the guardian is gone", || guardians(&desk).is_empty());
        assert!(text(&path).starts_with('1'), "nobody is left to put back");
        let other = format!("{}=2", desk.knob("other"));
        let (setting, load): (String, &[&str]) =
            if words[0] == "set" { (other, &[]) } else { (format!("b:{other}"), &["--", "true"]) };
        let ran = desk.run(&[words, &[&setting], load].concat()).ended(0);
        assert!(ran.err.contains("restored 1 settings"), "{}", ran.err);
        assert_eq!(text(&path), "as found \n\n");
    }
}

#[test]
fn a_daemon_that_escaped_does_not_keep_the_guardian_waiting() {
    let (desk, path, pids) = desk_with_a_knob();
    let knob = format!("{}=1", desk.knob("knob"));
    // With a session of its own it is nobody's load any more; it must not hold the pipe's writing end either.
    let script = "setsid sleep 313 & until [ $(cut -d ' ' -f 6 /proc/$!/stat) = $! ]; do sleep 0.01; done; echo $! > \"$0\"; echo end >> \"$0\"; sleep 314";
    let running = desk.start(&["with", &knob, "--", "sh", "-c", script, &pids.display().to_string()]);
    let daemon = family(&pids);
    running.signal(Signal::KILL);
    until("the file is back", || text(&path) == "as found \n\n");
    let lived = lives(&daemon[0]);
    end(&daemon);
    running.end();
    assert!(lived, "it held nothing up");
    until("the guardian has ended", || guardians(&desk).is_empty());
}

#[test]
fn the_end_of_the_owners_control_group_spares_the_guardian() {
    if !root() {
        return;
    }
    let mounts = text(Path::new("/proc/self/mountinfo"));
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 ")).and_then(|line| line.split(' ').nth(4));
    let group = Path::new(mount.unwrap()).join(format!("powerband-test-{}", std::process::id()));
    fs::create_dir(&group).unwrap();
    let (desk, path, pids) = desk_with_a_knob();
    let knob = format!("{}=1", desk.knob("knob"));
    let words = ["with", &knob, "--", "bash", "-c", FAMILY, &pids.display().to_string()];
    let mut command = std::process::Command::new("sh");
    desk.furnish(&mut command);
    command.args(["-c", "echo $$ > \"$0\"/cgroup.procs && exec \"$@\"", &group.display().to_string()]);
    command.arg(env!("CARGO_BIN_EXE_powerband")).args(words);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let family = family(&pids);
    let members = text(&group.join("cgroup.procs"));
    let has = |pid: &str| members.lines().any(|line| line == pid);
    let guardian = guardians(&desk)[0].as_raw_nonzero().to_string();
    assert!(has(&child.id().to_string()) && has(&family[0]) && !has(&guardian), "{members}");
    // All of it at once where the kernel can (Linux 5.14).
    if fs::write(group.join("cgroup.kill"), "1").is_err() {
        child.kill().unwrap();
    }
    child.wait().unwrap();
    is_all_over(&desk, &path, &family);
    until("the group is empty", || fs::remove_dir(&group).is_ok());
}

#[test]
fn no_guardian_outlives_a_command_that_ends_by_itself() {
    let desk = Desk::new();
    let knob = format!("{}=1", desk.knob("knob"));
    let setting = format!("b:{knob}");
    let commands: [(&[&str], i32); 6] = [
        (&["with", &knob, "--", "true"], 0),
        (&["with", &knob, "--", "false"], 1),
        (&["with", &knob, "--", "/nowhere/at/all"], 7),
        (&["try", "-s", "a:", "-s", &setting, "--settle", "0", "--blocks", "2", "--", "true"], 0),
        (&["set", &knob], 0),
        (&["undo"], 0),
    ];
    for (words, code) in commands {
        let ran = desk.run(words);
        assert_eq!(ran.code, Some(code), "{words:?}: {}", ran.err);
        until("the guardian has ended", || guardians(&desk).is_empty());
        assert_eq!(ran.err.matches("restoring what powerband").count(), 0, "{}", ran.err);
    }
    let watched = "tr '\\0' ' ' < /proc/$PPID/cmdline; cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c __guardian";
    let seen = desk.run(&["with", &knob, "--", "sh", "-c", watched]).ended(0).out;
    assert!(!seen.trim().ends_with(" 0"), "while something is held there is one: {seen}");
}

#[test]
fn what_a_stopped_owner_holds_is_back_after_its_lease() {
    let (desk, path, pids) = desk_with_a_knob();
    let running = start_with(&desk, &pids);
    let family = family(&pids);
    let stopped = Instant::now();
    running.signal(Signal::STOP);
    std::thread::sleep(Duration::from_secs(1));
    running.signal(Signal::CONT);
    let was_short = stopped.elapsed() < Duration::from_secs(3);
    std::thread::sleep(Duration::from_secs(6));
    // Stopped for a moment only, as far as this machine lets us: it goes on.
    assert!(!was_short || text(&path).starts_with('1') && family.iter().all(|pid| lives(pid)));
    running.signal(Signal::STOP);
    is_all_over(&desk, &path, &family);
    assert_eq!(running.end().code, None, "it was ended, or it would go on as if it still held something");
}
