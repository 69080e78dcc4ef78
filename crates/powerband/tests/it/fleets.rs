//! `fleet` on simulated nodes, with tasks as child processes: what is lost, killed or stopped loses and doubles no trial.
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;

use crate::desk::{Desk, Started, root, text, until};

const PLAN: &str = "plans/fleet-frequency.toml";

struct Fleet {
    desk: Desk,
}

impl Fleet {
    fn new() -> Fleet {
        Fleet { desk: Desk::new() }
    }

    fn folder(&self) -> PathBuf {
        self.desk.beside("fleet")
    }

    fn words<'w>(&self, folder: &'w str, more: &[&'w str]) -> Vec<&'w str> {
        [&["fleet", "run", PLAN, "--seed", "3", "--quiet", "--folder", folder][..], more].concat()
    }

    fn start(&self, more: &[&str]) -> Started {
        let folder = self.folder().display().to_string();
        let mut command = self.desk.command(&self.words(&folder, more));
        // A task that is killed leaves its temporary folder there.
        Started::of(command.env("TMPDIR", self.desk.beside("")))
    }

    fn status(&self) -> Value {
        let folder = self.folder().display().to_string();
        self.desk.json(&["fleet", "status", &folder])
    }

    /// What a key of each node is, in the drawn order.
    fn each(&self, key: &str) -> Vec<Value> {
        self.status()["nodes"].as_array().unwrap().iter().map(|node| node[key].clone()).collect()
    }

    fn file(&self, node: &str, attempt: u32) -> PathBuf {
        self.folder().join(format!("node-{node}-{attempt}.jsonl"))
    }

    /// Numbers of the trials that are done in the file of an attempt.
    fn trials(&self, node: &str, attempt: u32) -> Vec<u64> {
        let text = fs::read_to_string(self.file(node, attempt)).unwrap_or_default();
        let events = text.lines().skip(1).filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let done = events.filter(|event| event["event"] == "trial_done");
        done.map(|event| event["trial"].as_u64().unwrap()).collect()
    }

    /// Processes of a task in the file of an attempt: the owner that its header names.
    fn owner(&self, node: &str) -> Option<Pid> {
        let text = fs::read_to_string(self.file(node, 0)).ok()?;
        let header: Value = serde_json::from_str(text.lines().next()?).ok()?;
        Pid::from_raw(i32::try_from(header["owner"]["pid"].as_i64()?).ok()?)
    }

    fn resume(&self) {
        let folder = self.folder().display().to_string();
        self.desk.run(&["fleet", "resume", &folder, "--quiet"]).ended(0);
    }
}

fn all(value: &str, times: usize) -> Vec<Value> {
    vec![value.into(); times]
}

#[test]
fn every_node_runs_all_settings_in_blocks_by_a_seed_and_in_an_order_of_its_own() {
    let fleet = Fleet::new();
    fleet.start(&["-N", "5", "--launcher", "local", "--blocks", "3", "--at-once", "5"]).end().ended(0);
    assert_eq!(fleet.each("state"), all("done", 5));
    let mut names = fleet.each("node");
    assert_ne!(names, ["node1", "node2", "node3", "node4", "node5"], "the order is drawn");
    let mut seeds = BTreeSet::new();
    for (position, name) in names.iter().enumerate() {
        let name = name.as_str().unwrap();
        // The baseline, two governors and the reference by name, three times each, and the warm-up.
        assert!(fleet.trials(name, 0).len() >= 9, "{name}");
        let lines = text(&fleet.file(name, 0));
        let header: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        let task = &header["fleet"];
        assert_eq!((task["node"].as_str(), task["position"].as_u64()), (Some(name), Some(position as u64)));
        assert!(task["facts"]["kernel"].as_str().is_some_and(|kernel| !kernel.is_empty()), "{task}");
        let started: Value = serde_json::from_str(lines.lines().nth(1).unwrap()).unwrap();
        let number = name.trim_start_matches("node");
        assert_eq!(started["machine_typed"], format!("sim:node#{number}"), "a simulated node has silicon of its own");
        seeds.insert(started["seed"].as_u64());
    }
    assert_eq!(seeds.len(), 5);
    names.sort_by_key(ToString::to_string);
    assert_eq!(names, ["node1", "node2", "node3", "node4", "node5"]);
    // The same seed draws the same order, and simulated nodes measure the same again.
    let again = Fleet::new();
    again.start(&["--nodes", "node[1-5]", "--launcher", "local", "--blocks", "3", "--at-once", "5"]).end().ended(0);
    assert_eq!(again.each("node"), fleet.each("node"));
    let events = |fleet: &Fleet| text(&fleet.file("node2", 0)).lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(events(&again), events(&fleet));
}

#[test]
fn verdicts_do_not_depend_on_which_node_ends_first() {
    let report = |launcher: &str| {
        let fleet = Fleet::new();
        let script = fleet.desk.beside("launch.sh");
        fs::write(&script, "number=${1#node}; shift; sleep \"$(($number * $LATE))\"; exec \"$@\"\n").unwrap();
        let launcher = launcher.replace("SCRIPT", &script.display().to_string());
        fleet.start(&["-N", "5", "--launcher", &launcher, "--at-once", "5"]).end().ended(0);
        let folder = fleet.folder().display().to_string();
        fleet.desk.json(&["fleet", "report", &folder])
    };
    let (early, late) = (report("LATE=0 sh SCRIPT {node}"), report("LATE=1 sh SCRIPT {node}"));
    assert_eq!(early["metrics"], late["metrics"]);
    assert_eq!((&early["odd"], &early["finding"]), (&late["odd"], &late["finding"]));
    for (metric, verdict) in [("count_per_s", "worse"), ("energy_j", "better")] {
        let of = early["metrics"].as_array().unwrap().iter().find(|of| of["metric"] == metric).unwrap();
        let settings = of["settings"].as_array().unwrap();
        assert!(settings.len() == 2 && settings.iter().all(|it| it["fleet"]["verdict"] == verdict), "{of}");
    }
}

#[test]
fn what_the_first_nodes_decide_needs_no_others() {
    let fleet = Fleet::new();
    fleet.start(&["-N", "40", "--launcher", "local", "--at-once", "3"]).end().ended(0);
    let status = fleet.status();
    assert_eq!(status["ended"], "decided");
    let states = fleet.each("state");
    assert!(states[..3].iter().all(|state| state == "done"), "{states:?}");
    let unneeded = states.iter().filter(|state| *state == "not_needed").count();
    assert!(unneeded > 20, "{states:?}");
    let folder = fleet.folder().display().to_string();
    let answer = fleet.desk.json(&["fleet", "report", &folder]);
    assert_eq!(answer["over"], true);
    assert_eq!(answer["nodes"].as_array().unwrap().len(), 40 - unneeded);
    assert_eq!(answer["not_needed"], unneeded);
    // Each is stored, once.
    assert_eq!(fleet.desk.experiments(), 40 - unneeded);
}

#[test]
fn a_node_whose_link_breaks_is_lost_with_a_reason_and_runs_again_when_resumed() {
    let fleet = Fleet::new();
    // The launcher's link to node2 breaks after some lines, once.
    let script = fleet.desk.beside("launch.sh");
    let mark = fleet.desk.beside("broke");
    let body = format!(
        "node=$1; shift\nif [ $node = node2 ] && ! [ -e {mark} ]; then touch {mark}; \"$@\" | head -n 200; echo link broke >&2; exit 255\n\
         else exec \"$@\"; fi\n",
        mark = mark.display()
    );
    fs::write(&script, body).unwrap();
    let launcher = format!("sh {} {{node}}", script.display());
    fleet.start(&["-N", "4", "--launcher", &launcher, "--blocks", "40"]).end().ended(0);
    let status = fleet.status();
    let lost: Vec<&Value> = status["nodes"].as_array().unwrap().iter().filter(|node| node["state"] == "lost").collect();
    assert_eq!(lost.len(), 1, "{status}");
    let why = "its launcher ended with exit code 255 and printed 'link broke'";
    assert_eq!((lost[0]["node"].as_str(), lost[0]["why"].as_str()), (Some("node2"), Some(why)));
    // What it handed back until then counts.
    assert!(lost[0]["blocks"].as_u64() > Some(0), "{status}");
    fleet.resume();
    assert_eq!(fleet.each("state"), all("done", 4));
    let attempts: u64 = fleet.each("attempts").iter().filter_map(Value::as_u64).sum();
    assert_eq!(attempts, 5, "only what was lost ran again");
    assert_eq!(fleet.trials("node2", 1).len(), fleet.trials("node1", 0).len());
    // Both attempts are stored, and the complete one is the node's experiment.
    let listed = fleet.desk.json(&["list"])["experiments"].as_array().unwrap().clone();
    let blocks: Vec<Option<u64>> = listed.iter().map(|one| one["blocks"].as_u64()).collect();
    assert_eq!(blocks, [Some(40); 4], "{listed:?}");
    fleet.desk.run(&["show", "5"]).ended(0);
    let said = fleet.desk.run(&["fleet", "cancel", &fleet.folder().display().to_string()]).ended(0).out;
    assert!(said.contains("has ended already"), "{said}");
    assert_eq!(fleet.status()["ended"], "nodes");
}

#[test]
fn a_fleet_that_is_stopped_ends_its_tasks_and_goes_on_when_resumed() {
    for signal in [Signal::INT, Signal::KILL] {
        let fleet = Fleet::new();
        let running = fleet.start(&["-N", "4", "--launcher", "local", "--blocks", "80"]);
        until("two nodes measure", || {
            ["node1", "node2", "node3", "node4"].iter().filter(|node| fleet.trials(node, 0).len() > 10).count() >= 2
        });
        let tasks: Vec<Pid> =
            ["node1", "node2", "node3", "node4"].iter().filter_map(|node| fleet.owner(node)).collect();
        running.signal(signal);
        let ran = running.end();
        if signal == Signal::INT {
            assert!(ran.ended(130).err.contains("everything is restored"));
        }
        until("the tasks have ended", || tasks.iter().all(|task| test_kill_process(*task).is_err()));
        assert!(!fleet.each("state").contains(&"running".into()));
        fleet.resume();
        assert_eq!(fleet.each("state"), all("done", 4));
        let whole = fleet.trials("node1", u32::from(fleet.file("node1", 1).exists())).len();
        for node in ["node1", "node2", "node3", "node4"] {
            let best = u32::from(fleet.file(node, 1).exists());
            assert_eq!(fleet.trials(node, best).len(), whole, "{node}");
        }
    }
}

#[test]
fn a_fleet_is_cancelled_from_elsewhere() {
    let fleet = Fleet::new();
    let running = fleet.start(&["-N", "3", "--launcher", "local", "--blocks", "80"]);
    until("a node measures", || fleet.trials("node1", 0).len() > 10);
    let folder = fleet.folder().display().to_string();
    let said = fleet.desk.run(&["fleet", "resume", &folder]).refused(8);
    assert!(said.contains("still runs it"), "{said}");
    let said = fleet.desk.run(&["fleet", "cancel", &folder]).ended(0).out;
    assert!(said.contains("everything is restored"), "{said}");
    running.end().ended(130);
    assert_eq!(fleet.status()["ended"], "cancelled");
    assert!(fleet.each("restored").iter().all(|restored| *restored == true || restored.is_null()));
}

#[test]
fn nodes_that_a_cancelled_fleet_did_not_start_are_cancelled() {
    let fleet = Fleet::new();
    let running = fleet.start(&["-N", "3", "--launcher", "local", "--blocks", "80", "--at-once", "1"]);
    until("a node measures", || ["node1", "node2", "node3"].iter().any(|node| fleet.trials(node, 0).len() > 10));
    running.signal(Signal::INT);
    running.end().ended(130);
    assert_eq!(fleet.each("state")[1..], all("cancelled", 2));
    let said = fleet.desk.run(&["fleet", "status", &fleet.folder().display().to_string()]).ended(0).out;
    assert!(said.contains("2 cancelled") && !said.contains("not needed"), "{said}");
    fleet.resume();
    assert_eq!(fleet.each("state"), all("done", 3));
}

#[test]
fn a_launcher_that_starts_nothing_is_quoted_for_each_node() {
    for (launcher, ended) in [
        ("echo hello {node}", "its launcher ended with exit code 0 and printed 'hello node"),
        ("sh -c \"exit 255\" {node}", "its launcher ended with exit code 255 and printed nothing"),
    ] {
        let fleet = Fleet::new();
        let ran = fleet.start(&["-N", "2", "--launcher", launcher]).end().ended(8);
        for node in ["node1", "node2"] {
            assert!(ran.err.contains(&format!("{node} is lost: {ended}")), "{}", ran.err);
        }
        assert!(ran.err.contains("has begun; once that is mended, `powerband fleet resume "), "{}", ran.err);
        assert!(ran.err.contains("a plan that has to change takes a new `powerband fleet run`"), "{}", ran.err);
        let whys = fleet.each("why");
        assert!(whys.iter().all(|why| why.as_str().is_some_and(|why| why.starts_with(ended))), "{whys:?}");
        let said = fleet.desk.run(&["fleet", "status", &fleet.folder().display().to_string()]).ended(0).out;
        assert!(said.contains("2 nodes: 2 lost") && !said.contains("every node was measured"), "{said}");
    }
}

#[test]
fn a_task_that_is_killed_is_lost_and_its_blocks_count() {
    let fleet = Fleet::new();
    let running = fleet.start(&["-N", "3", "--launcher", "local", "--blocks", "80"]);
    until("node3 measures", || fleet.trials("node3", 0).len() > 10);
    kill_process(fleet.owner("node3").unwrap(), Signal::KILL).unwrap();
    running.end().ended(0);
    let status = fleet.status();
    let lost = status["nodes"].as_array().unwrap().iter().find(|node| node["node"] == "node3").unwrap();
    assert_eq!((&lost["state"], &lost["restored"]), (&"lost".into(), &false.into()));
    assert!(lost["blocks"].as_u64() > Some(0) && lost["blocks"].as_u64() < Some(80), "{lost}");
}

#[test]
fn a_full_disk_loses_the_node_with_the_reason() {
    if !root() {
        return;
    }
    let fleet = Fleet::new();
    let (folder, program) = (fleet.folder().display().to_string(), env!("CARGO_BIN_EXE_powerband"));
    let mut command = std::process::Command::new("unshare");
    fleet.desk.furnish(&mut command);
    let words =
        fleet.words("$1/fleet", &["-N", "3", "--launcher", "local", "--blocks", "200", "--at-once", "1"]).join(" ");
    let script = format!(
        "mkdir $1 && mount -t tmpfs -o size=400k none $1 && {program} {words}; cat /dev/zero > $1/zero 2>&-
         {program} fleet task --folder $1/fleet --position 0; echo code $?"
    );
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script, "sh", &folder]);
    let ran = crate::desk::Ran::of(&command.output().unwrap()).ended(0);
    let lines: Vec<&str> = ran.err.lines().collect();
    let full = "no space left on device";
    let lost = |line: &&str| line.contains(" is lost: cannot write ") && line.ends_with(full);
    assert!(lines.iter().any(lost), "{}", ran.err);
    // So does a task that shares the folder.
    assert_eq!(ran.out, "code 8\n");
    let last = lines.last().unwrap();
    assert!(last.contains("cannot be handed back") && last.ends_with(full), "{}", ran.err);
}

#[test]
fn what_cannot_be_a_fleet_leaves_nothing() {
    let desk = Desk::new();
    // What every node would refuse is refused before anything is submitted.
    let plan = desk.beside("plan.toml");
    for settings in [
        "settings = [\"no effect: max_freq=1GHz\"]",
        "settings = [\"a: governer=powersave\"]",
        "try = [\"governer=powersave,performance\"]",
        "try = [\"governor=powersave,performance\"]\nrequire = [\"count>=1\"]",
    ] {
        fs::write(&plan, format!("{settings}\n[load]\nkind = \"counter\"\nfor = \"1s\"\n")).unwrap();
        desk.run(&["fleet", "run", plan.to_str().unwrap(), "--nodes", "n[1-4]"]).refused(2);
    }
    let mut without_slurm = desk.command(&["fleet", "run", PLAN, "--nodes", "n[1-4]"]);
    let sentence = crate::desk::Ran::of(&without_slurm.env("PATH", "/nowhere").output().unwrap()).refused(4);
    assert!(sentence.contains("--launcher"), "{sentence}");
    assert!(!desk.state().join("fleets").exists(), "what is refused leaves nothing");
}
