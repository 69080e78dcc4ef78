//! powerband in a control group whose CPU time is limited, as a container's is.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::desk::{Desk, Ran, machine_alone};

/// A group limited to a quarter of a CPU, in whichever version of control groups limits CPU time here.
struct Limited(PathBuf);

impl Limited {
    fn new() -> Limited {
        let root = Path::new("/sys/fs/cgroup");
        let name = format!("powerband-limited-{}", std::process::id());
        let version1 = ["cpu,cpuacct", "cpu"].map(|folder| root.join(folder)).into_iter().find(|it| it.is_dir());
        let group = version1.as_deref().unwrap_or(root).join(name);
        if version1.is_none() {
            fs::write(root.join("cgroup.subtree_control"), "+cpu").unwrap();
        }
        fs::create_dir(&group).unwrap();
        match version1 {
            Some(_) => fs::write(group.join("cpu.cfs_quota_us"), "25000").unwrap(),
            None => fs::write(group.join("cpu.max"), "25000 100000").unwrap(),
        }
        Limited(group)
    }

    fn run(&self, desk: &Desk, words: &[&str]) -> Ran {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\"/cgroup.procs && exec \"$@\""]).arg(&self.0);
        command.arg(env!("CARGO_BIN_EXE_powerband")).args(words);
        desk.furnish(&mut command);
        Ran::of(&command.output().unwrap())
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_limit_around_powerband_is_named_with_the_loads_it_held_back() {
    let Some(desk) = Desk::as_root() else { return };
    let _alone = machine_alone();
    let group = Limited::new();
    let doctor: Value = serde_json::from_str(&group.run(&desk, &["doctor", "--json"]).out).unwrap();
    let findings = doctor["sections"].as_array().unwrap().iter().flat_map(|it| it["findings"].as_array().unwrap());
    let quota = findings.into_iter().find(|it| it["about"] == "quota").expect("the limit is named");
    assert!(quota["told"].as_str().unwrap().contains("0.25 CPUs"), "{quota}");
    let load = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    let words = ["try", "env.k=1", "-r", "2", "-w", "0", "--settle", "0s", "--json", "--", "sh", "-c", load];
    let report: Value = serde_json::from_str(&group.run(&desk, &words).out).unwrap();
    let notes = report["notes"].to_string();
    assert!(notes.contains("0.25 CPUs") && notes.contains("delayed 4 of 4 loads"), "{notes}");
}
