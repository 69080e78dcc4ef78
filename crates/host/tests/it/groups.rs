//! Control groups with a quota, on whatever hierarchy this machine has.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use powerband_host::{FileLedger, LocalMachine};
use powerband_machine::{Action, Before, Change, CpuQuota, Errno, Hold, Job, Turn, Undone};

use crate::{Stage, assert_gone, counter, job, sh, written};

fn make(name: &str, millionths: u64) -> Turn {
    let (group, quota) = (name.to_owned(), CpuQuota { millionths });
    let undo = Some(Action::RemoveGroup { group: group.clone() });
    let action = Action::MakeGroup { group, quota };
    Turn { action, undo, hold: Hold::Held, ..Turn::write("", "") }
}

fn unique(what: &str) -> String {
    format!("powerband-test-{what}-{}", std::process::id())
}

fn exists(name: &str) -> bool {
    let words = ["/sys/fs/cgroup", "-maxdepth", "6", "-name", name];
    !Command::new("find").args(words).output().unwrap().stdout.is_empty()
}

#[test]
fn a_tenth_of_a_cpu_counts_a_tenth_as_far() {
    let Some(mut stage) = Stage::of_root() else { return };
    let name = unique("tenth");
    let acted = stage.act(&make(&name, 100_000));
    assert_eq!((acted.errno, acted.words), (None, None));
    assert!(acted.reads_back.as_deref() == Some("10%") && exists(&name));
    // The CPU time with the quota over the time that passed, by the kernel's account. Others share these CPUs: they may leave
    // less than a tenth in any round, and never more.
    let mut shares: Vec<f64> = Vec::new();
    while shares.len() < 3 || shares.len() < 60 && shares.iter().all(|share| *share < 0.07) {
        let held = stage.run(&Job { group: Some(name.clone()), ..job(counter(400)) });
        assert!(crate::number(&held, "count") > 0.0);
        shares.push(crate::cpu_ns(&held) as f64 / held.usage.real_ns as f64);
    }
    shares.sort_by(f64::total_cmp);
    let (median, best) = (shares[shares.len() / 2], shares[shares.len() - 1]);
    assert!(median <= 0.13 && (0.07..=0.2).contains(&best), "{shares:?}");
    assert_eq!(stage.undo(acted.entry), Undone::Undone);
    assert!(!exists(&name) && stage.near().open_entries().is_empty());
}

#[test]
fn removing_a_group_ends_what_runs_in_it() {
    let Some(mut stage) = Stage::of_root() else { return };
    let name = unique("full");
    let acted = stage.act(&make(&name, 1_500_000));
    assert_eq!(acted.reads_back.as_deref(), Some("150%"));
    // A daemon of its own session, which no process group reaches.
    let file = stage.path("ready");
    let mut daemon = sh(&format!("setsid sleep 100 & setsid sleep 100 & echo $! > {file}; wait"));
    daemon.group = Some(name.clone());
    let process = stage.spawn(&daemon);
    written(&file);
    assert_eq!(stage.undo(acted.entry), Undone::Undone);
    assert!(!exists(&name));
    let (finished, _) = stage.end_of(process);
    assert!(!finished.status.success());
}

#[test]
fn ending_a_job_reaches_daemons_of_its_group() {
    let Some(mut stage) = Stage::of_root() else { return };
    let name = unique("reach");
    let acted = stage.act(&make(&name, 800_000));
    let file = stage.path("pid");
    let mut daemon = sh(&format!("setsid sleep 1000 & echo $! > {file}; wait"));
    daemon.group = Some(name.clone());
    let process = stage.spawn(&daemon);
    let pid = &written(&file)[0];
    stage.near().end(process, true);
    stage.end_of(process);
    assert_gone(pid);
    assert_eq!(stage.undo(acted.entry), Undone::Undone);
}

#[test]
fn a_group_left_by_an_owner_before_us_is_found_and_removed() {
    if !crate::can_be_root() {
        return;
    }
    let name = unique("left");
    let folder = tempfile::tempdir().unwrap();
    let mut first = LocalMachine::new(FileLedger::new(folder.path())).unwrap();
    let entry = first.act(&make(&name, 300_000)).unwrap().entry;
    drop(first);
    let mut next = LocalMachine::new(FileLedger::new(folder.path())).unwrap();
    assert_eq!(next.open_entries().len(), 1);
    assert!(exists(&name));
    assert_eq!(next.undo(entry, false).unwrap(), Undone::Undone);
    assert!(!exists(&name));
}

#[test]
fn what_cannot_be_is_refused_in_words_and_leaves_nothing() {
    let Some(mut stage) = Stage::of_root() else { return };
    let name = unique("odd");
    let tiny = stage.act(&make(&name, 100));
    assert!(tiny.errno == Some(Errno::ERANGE) && tiny.words.is_some());
    // An error number alone does not prove that there is no group.
    assert_eq!(stage.undo(tiny.entry), Undone::AlreadyBack);
    let small = stage.act(&make(&name, 50_000));
    // By a longer period. The refusal of a second does not remove the first.
    assert_eq!((small.errno, small.reads_back.as_deref()), (None, Some("5%")));
    let again = stage.act(&make(&name, 500_000));
    assert!(again.errno == Some(Errno::EEXIST) && exists(&name));
    assert_eq!(stage.undo(small.entry), Undone::Undone);
    assert!(!exists(&name) && stage.near().open_entries().is_empty());
    let mut job = sh("true");
    job.group = Some(name);
    assert!(stage.near().spawn(&job).is_err());
}

#[test]
fn an_ordinary_user_is_told_what_would_help() {
    use std::os::unix::fs::PermissionsExt;
    if !crate::can_be_root() {
        return;
    }
    // In a place everybody can reach, as the build's own folder may not be.
    let place = tempfile::tempdir().unwrap();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let copy = place.path().join("helper");
    // By a process of its own: a child that another test starts meanwhile would hold our copy open for writing.
    let copied = Command::new("cp").arg(crate::helper()).arg(&copy).status();
    assert!(copied.unwrap().success());
    let name = unique("nobody");
    let place = place.path().display();
    let script = format!(
        "exec setpriv --reuid=65534 --regid=65534 --clear-groups {place}/helper make-group {place}/state {name}"
    );
    let said = Command::new("sh").args(["-c", &script]).output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(text.starts_with("Some(Errno(13))"), "{said:?}");
    assert!(text.contains("root") || text.contains("`sudo powerband …`"), "{text}");
    assert!(!exists(&name));
}

/// As a quota has a group of version 2 hand a controller down.
fn handing_down(folder: &Path, controller: &str) -> Turn {
    let path = folder.join("cgroup.subtree_control").display().to_string();
    let mut turn = Turn::write(&path, &format!("+{controller}"));
    (turn.hold, turn.before) = (Hold::Held, Before::Reads(String::new()));
    turn.undo = Some(Action::WriteFile { path: path.clone(), text: format!("-{controller}") });
    turn.read_back = Some(path);
    turn
}

/// A group of version 2 below the top, which hands a controller down meanwhile.
struct Two {
    mount: PathBuf,
    own: PathBuf,
    controller: String,
    handed_before: bool,
}

impl Two {
    fn new() -> Option<Two> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let line = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
        let mount = PathBuf::from(line.split(' ').nth(4)?);
        let controllers = fs::read_to_string(mount.join("cgroup.controllers")).unwrap();
        let controller = controllers.split_whitespace().next()?.to_owned();
        let top = mount.join("cgroup.subtree_control");
        let handed = fs::read_to_string(&top).unwrap();
        let handed_before = handed.split_whitespace().any(|one| one == controller);
        fs::write(&top, format!("+{controller}")).unwrap();
        let own = mount.join(unique("hands"));
        fs::create_dir(&own).unwrap();
        Some(Two { mount, own, controller, handed_before })
    }
}

impl Drop for Two {
    fn drop(&mut self) {
        let _ = fs::remove_dir(self.own.join("powerband-owner"));
        let _ = fs::remove_dir(&self.own);
        if !self.handed_before {
            let _ = fs::write(self.mount.join("cgroup.subtree_control"), format!("-{}", self.controller));
        }
    }
}

#[test]
fn what_a_group_was_had_hand_down_is_taken_back_with_who_was_moved_for_it() {
    let Some(mut stage) = Stage::of_root() else { return };
    let Some(two) = Two::new() else {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "needs version 2");
        return;
    };
    let acted = stage.act(&handing_down(&two.own, &two.controller));
    assert_eq!((acted.errno, acted.reads_back), (None, Some(two.controller.clone())));
    let leaf = two.own.join("powerband-owner");
    fs::create_dir(&leaf).unwrap();
    let mut moved = Command::new("sleep").arg("100").spawn().unwrap();
    fs::write(leaf.join("cgroup.procs"), moved.id().to_string()).unwrap();
    let undone = stage.near().undo(acted.entry, false);
    let (handed, pids) =
        ["cgroup.subtree_control", "cgroup.procs"].map(|name| fs::read_to_string(two.own.join(name)).unwrap()).into();
    let leaf_is_there = leaf.exists();
    moved.kill().and_then(|()| moved.wait()).unwrap();
    assert!(handed.is_empty() && !leaf_is_there && pids.trim() == moved.id().to_string());
    assert_eq!(undone.unwrap(), Undone::Undone);
    assert!(stage.near().open_entries().is_empty());
}

#[test]
fn what_somebody_else_limits_by_now_is_not_taken_from_him() {
    // In files that look like a group's: a kernel that has the cpu controller elsewhere can show no limit here.
    let mut stage = Stage::new();
    let folder = stage.folder.path().join("group");
    let other = folder.join("other");
    fs::create_dir_all(&other).unwrap();
    fs::write(folder.join("cgroup.subtree_control"), "").unwrap();
    for (file, text, outcome, handed) in [
        ("cpu.max", "5000 10000\n", Undone::GivenUp, "+cpu"),
        ("cpu.max", "max 100000\n", Undone::Undone, "-cpu"),
        ("cpu.weight", "50\n", Undone::GivenUp, "+cpu"),
        ("cpu.weight", "100\n", Undone::Undone, "-cpu"),
    ] {
        let acted = stage.act(&handing_down(&folder, "cpu"));
        fs::write(other.join(file), text).unwrap();
        assert_eq!(stage.undo(acted.entry), outcome, "{file}: {text}");
        let after = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap();
        assert!(after == handed && stage.near().open_entries().is_empty(), "{file}: {text}");
        fs::remove_file(other.join(file)).unwrap();
        fs::write(folder.join("cgroup.subtree_control"), "").unwrap();
    }
}
