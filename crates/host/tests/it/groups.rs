//! Control groups with a quota, on whatever hierarchy this machine has.
use std::process::Command;

use powerband_host::{FileLedger, LocalMachine};
use powerband_machine::{Action, CpuQuota, Errno, Hold, Job, Machine, Turn, Undone};

use crate::{Stage, counter, job, sh};

fn make(name: &str, millionths: u64) -> Turn {
    Turn {
        action: Action::MakeGroup { group: name.into(), quota: CpuQuota { millionths } },
        undo: Some(Action::RemoveGroup { group: name.into() }),
        hold: Hold::Held,
        knob: "cgroup.cpu_quota".into(),
        site: "load".into(),
        asked: format!("{millionths} ppm"),
        before: None,
        read_back: None,
        step: None,
    }
}

fn unique(what: &str) -> String {
    format!("powerband-test-{what}-{}", std::process::id())
}

fn exists(name: &str) -> bool {
    let found = Command::new("find").args(["/sys/fs/cgroup", "-maxdepth", "6", "-name", name]).output().unwrap();
    !found.stdout.is_empty()
}

#[test]
fn half_a_cpu_counts_half_as_far() {
    if !crate::can_be_root() {
        return;
    }
    let mut stage = Stage::new();
    let name = unique("half");
    let acted = stage.near().act(&make(&name, 500_000)).unwrap();
    assert_eq!((acted.errno, acted.words, acted.reads_back.as_deref()), (None, None, Some("50%")));
    assert!(exists(&name));
    // What is counted per second with the quota, against what is counted per second of CPU without: others share these
    // CPUs, which slows the one run or the other. The middle one of five rounds counts.
    let mut ratios: Vec<f64> = (0..5)
        .map(|_| {
            let free = stage.run(&job(counter(500)));
            let held = stage.run(&Job { group: Some(name.clone()), ..job(counter(700)) });
            let count = |report: &Option<serde_json::Value>| report.as_ref().unwrap()["count"].as_f64().unwrap();
            let speed = count(&free.report) / (free.usage.user_ns + free.usage.sys_ns) as f64;
            count(&held.report) / held.usage.real_ns as f64 / speed
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    assert!((0.35..=0.65).contains(&ratios[2]), "{ratios:?}");
    assert_eq!(stage.near().undo(acted.entry, false).unwrap(), Undone::Undone);
    assert!(!exists(&name) && stage.near().open_entries().is_empty());
}

#[test]
fn removing_a_group_ends_what_runs_in_it() {
    if !crate::can_be_root() {
        return;
    }
    let mut stage = Stage::new();
    let name = unique("full");
    let acted = stage.near().act(&make(&name, 1_500_000)).unwrap();
    assert_eq!(acted.reads_back.as_deref(), Some("150%"));
    // A daemon of its own session, which no process group reaches.
    let mut daemon = sh("setsid sleep 100 & setsid sleep 100 & wait");
    daemon.group = Some(name.clone());
    let process = stage.near().spawn(&daemon).unwrap();
    let until = stage.world_ms(300);
    stage.idle_until(until);
    assert_eq!(stage.near().undo(acted.entry, false).unwrap(), Undone::Undone);
    assert!(!exists(&name));
    let (finished, _) = stage.end_of(process);
    assert!(!finished.status.success());
}

#[test]
fn ending_a_job_reaches_daemons_of_its_group() {
    if !crate::can_be_root() {
        return;
    }
    let mut stage = Stage::new();
    let name = unique("reach");
    let acted = stage.near().act(&make(&name, 800_000)).unwrap();
    let mut daemon = sh("setsid sleep 100 & echo $!; wait");
    daemon.group = Some(name.clone());
    let process = stage.near().spawn(&daemon).unwrap();
    let until = stage.world_ms(300);
    stage.idle_until(until);
    stage.near().end(process, true);
    let (finished, _) = stage.end_of(process);
    let pid = finished.output.stdout.trim().to_owned();
    std::thread::sleep(std::time::Duration::from_millis(100));
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
    assert_eq!(stage.near().undo(acted.entry, false).unwrap(), Undone::Undone);
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
    if !crate::can_be_root() {
        return;
    }
    let mut stage = Stage::new();
    let name = unique("odd");
    let tiny = stage.near().act(&make(&name, 100)).unwrap();
    assert_eq!(tiny.errno, Some(Errno::ERANGE));
    assert!(tiny.words.unwrap().contains("0.1%"));
    // An error number alone does not prove that there is no group.
    assert_eq!(stage.near().undo(tiny.entry, false).unwrap(), Undone::AlreadyBack);
    let small = stage.near().act(&make(&name, 50_000)).unwrap();
    assert_eq!((small.errno, small.reads_back.as_deref()), (None, Some("5%")), "by a longer period");
    let again = stage.near().act(&make(&name, 500_000)).unwrap();
    assert_eq!(again.errno, Some(Errno::EEXIST));
    assert!(exists(&name), "the refusal of a second does not remove the first");
    assert_eq!(stage.near().undo(small.entry, false).unwrap(), Undone::Undone);
    assert!(!exists(&name) && stage.near().open_entries().is_empty());
    let mut job = sh("true");
    job.group = Some(name);
    let refused = stage.near().spawn(&job).unwrap_err().to_string();
    assert!(refused.contains("control group"), "{refused}");
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
    assert!(Command::new("cp").arg(crate::helper()).arg(&copy).status().unwrap().success());
    let name = unique("nobody");
    let said = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&copy)
        .args(["make-group", place.path().join("state").to_str().unwrap(), &name])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(text.starts_with("Some(Errno(13))"), "{said:?}");
    assert!(text.contains("run it as root") || text.contains("`sudo powerband …`"), "{text}");
    assert!(!exists(&name));
}
