//! What a user of a cluster meets: a verdict over four nodes, a node that is lost, a task that runs twice at once, a fleet that
//! is cancelled. No trial is lost or doubled.
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::desk::{Desk, Ran, split, until, workspace};
use crate::slurm::{Lent, Slurm, ready, signal};

pub(crate) const NODES: [&str; 4] = ["n1", "n2", "n3", "n4"];
/// Blocks that keep a node busy for some seconds.
const LONG: u32 = 200;

pub(crate) struct Cluster {
    pub(crate) desk: Desk,
    pub(crate) slurm: Lent,
}

impl Cluster {
    /// Has n1 run its task twice at once: without its slurmd and slurmstepd the task runs on while its job is queued again, and hardly gets
    /// on until the second one begins.
    pub(crate) fn run_twice(&mut self) {
        let task = self.task("n1");
        signal(task, Signal::STOP);
        let job = self.slurm.job("n1").unwrap();
        self.slurm.kill_node("n1");
        signal(task, Signal::CONT);
        self.slurm.kill_step(&job);
        signal(task, Signal::STOP);
        let had = self.lines("n1", 0);
        self.slurm.ask("scontrol", &["requeue", &job]);
        self.slurm.start_node("n1");
        until("the task runs twice", || {
            // Stopped for good it could hold a file that both write; it must not be done before the second begins.
            std::thread::sleep(Duration::from_millis(50));
            signal(task, Signal::CONT);
            std::thread::sleep(Duration::from_millis(1));
            signal(task, Signal::STOP);
            self.slurm.ask("scontrol", &["update", &format!("JobId={job}"), "StartTime=now"]);
            self.lines("n1", 1) > 0
        });
        signal(task, Signal::CONT);
        until("the first one goes on", || self.lines("n1", 0) > had);
    }

    /// Four nodes, where Slurm is.
    pub(crate) fn start() -> Option<Cluster> {
        ready().then(|| Cluster::of(4))
    }

    pub(crate) fn of(nodes: u32) -> Cluster {
        Cluster { desk: Desk::new(), slurm: Slurm::of(nodes) }
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.desk.command(words);
        command.env("SLURM_CONF", self.slurm.conf()).env("TMPDIR", self.desk.beside(""));
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        Ran::of(&self.command(words).output().unwrap())
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.desk.beside("fleet")
    }

    /// Starts a fleet over the four nodes, all at once.
    pub(crate) fn fleet(&self, blocks: u32, more: &[&str]) -> Command {
        let folder = self.folder();
        let words = format!(
            "fleet run plans/fleet-frequency.toml --nodes n[1-4] --seed 3 --quiet --blocks {blocks} --folder {}",
            folder.display()
        );
        self.command(&[&split(&words)[..], more].concat())
    }

    pub(crate) fn status(&self) -> Vec<Value> {
        let folder = self.folder();
        let ran = self.run(&["--json", "fleet", "status", folder.to_str().unwrap()]).ended(0);
        ran.value()["nodes"].as_array().unwrap().clone()
    }

    pub(crate) fn node(&self, name: &str) -> Value {
        self.status().into_iter().find(|node| node["node"] == name).unwrap()
    }

    /// The report, in which both settings cost speed and save energy.
    #[track_caller]
    pub(crate) fn decided(&self) -> Value {
        let folder = self.folder();
        let answer = self.run(&["--json", "fleet", "report", folder.to_str().unwrap()]).ended(0).value();
        for (metric, verdict) in [("count_per_s", "worse"), ("energy_j", "better")] {
            let of = answer["metrics"].as_array().unwrap().iter().find(|of| of["metric"] == metric).unwrap();
            let settings = of["settings"].as_array().unwrap();
            assert_eq!(settings.len(), 2, "{of}");
            assert!(settings.iter().all(|setting| setting["fleet"]["verdict"] == verdict), "{of}");
        }
        answer
    }

    /// Lines of the file of an attempt; none while there is no such file.
    pub(crate) fn lines(&self, node: &str, attempt: u32) -> usize {
        let path = self.folder().join(format!("node-{node}-{attempt}.jsonl"));
        fs::read_to_string(path).unwrap_or_default().lines().count()
    }

    /// The process of a node's task.
    pub(crate) fn task(&self, node: &str) -> i32 {
        let named = format!("--position {} ", self.node(node)["position"]);
        let tasks = self.slurm.processes(|words| words.contains("fleet task") && words.ends_with(&named));
        assert_eq!(tasks.len(), 1, "{node}");
        tasks[0]
    }

    /// Waits until every node measures, and stops its task then, so that none is done before a story goes on.
    fn measuring(&self) -> Held {
        let mut held = Held(BTreeMap::new());
        until("every node measures", || {
            for node in NODES {
                if !held.0.contains_key(node) && self.lines(node, 0) > 20 {
                    let task = self.task(node);
                    signal(task, Signal::STOP);
                    held.0.insert(node, task);
                }
            }
            held.0.len() == NODES.len()
        });
        held
    }
}

/// Tasks by node, stopped as long as this is there.
struct Held(BTreeMap<&'static str, i32>);

impl Held {
    fn task(&self, node: &str) -> i32 {
        self.0[node]
    }

    fn release(&self, node: &str) {
        signal(self.task(node), Signal::CONT);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.values().for_each(|task| signal(*task, Signal::CONT));
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let folder = self.folder();
            let status = self.run(&["fleet", "status", folder.to_str().unwrap()]);
            let jobs = self.slurm.ask("squeue", &["--states=all", "--format=%i %N %T %r"]);
            eprintln!("{jobs}\n{}{}", status.out, status.err);
            // What tasks, nodes and the controller said last.
            let here = fs::read_dir(folder).into_iter().flatten().chain(fs::read_dir(self.slurm.folder()).unwrap());
            for path in here.flatten().map(|entry| entry.path()) {
                let text = fs::read_to_string(&path).unwrap_or_default();
                if path.extension().is_some_and(|end| end == "log" || end == "out") && !text.is_empty() {
                    let lines: Vec<&str> = text.lines().collect();
                    let last = lines[lines.len().saturating_sub(15)..].join("\n");
                    eprintln!("{}:\n{last}", path.display());
                }
            }
        }
    }
}

/// Starts a command; however busy the machine is, it is waited for.
pub(crate) fn start(mut command: Command) -> JoinHandle<Output> {
    std::thread::spawn(move || command.output().unwrap())
}

/// The trials of a file that are done, by their numbers; no number comes twice.
#[track_caller]
pub(crate) fn trials(path: &Path) -> Vec<u64> {
    let text = fs::read_to_string(path).unwrap();
    let events = text.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let done: Vec<u64> =
        events.filter(|event| event["event"] == "trial_done").map(|event| event["trial"].as_u64().unwrap()).collect();
    assert!(done.windows(2).all(|two| two[0] < two[1]), "a trial is there twice in {}", path.display());
    done
}

#[test]
fn a_plan_over_four_nodes_ends_with_a_verdict() {
    let Some(cluster) = Cluster::start() else { return };
    Ran::of(&cluster.fleet(4, &[]).output().unwrap()).ended(0);
    for node in cluster.status() {
        is_done(&node, 1);
        assert_eq!(node["blocks"], 4);
    }
    let answer = cluster.decided();
    assert_eq!((&answer["looked_at"], &answer["over"]), (&4.into(), &true.into()), "{answer}");
}

/// A node whose task ended in so many attempts, with everything restored.
#[track_caller]
pub(crate) fn is_done(node: &Value, attempts: u32) {
    let standing = (&node["state"], &node["attempts"], &node["restored"]);
    assert_eq!(standing, (&"done".into(), &attempts.into(), &true.into()), "{node}");
}

#[test]
fn a_node_that_dies_loses_and_doubles_no_trial() {
    let Some(mut cluster) = Cluster::start() else { return };
    let running = start(cluster.fleet(LONG, &["--give-up", "3m"]));
    let held = cluster.measuring();
    signal(held.task("n3"), Signal::KILL);
    // The slurmd and the slurmstepd of a node are gone; its task is not, and hands everything back.
    let job = cluster.slurm.job("n2").unwrap();
    cluster.slurm.kill_node("n2");
    held.release("n2");
    cluster.slurm.kill_step(&job);
    drop(held);
    let folder = cluster.folder();
    Ran::of(&running.join().unwrap()).ended(0);
    assert_eq!(cluster.node("n2")["state"], "done");
    let lost = cluster.node("n3");
    assert_eq!((&lost["state"], &lost["restored"]), (&"lost".into(), &false.into()), "{lost}");
    assert!(lost["why"].as_str().is_some_and(|why| !why.is_empty()));
    // Only what was lost runs again.
    cluster.slurm.start_node("n2");
    cluster.run(&["fleet", "resume", folder.to_str().unwrap(), "--quiet"]).ended(0);
    let whole = trials(&folder.join("node-n1-0.jsonl"));
    for (node, attempts) in [("n1", 1), ("n2", 1), ("n3", 2), ("n4", 1)] {
        is_done(&cluster.node(node), attempts);
        assert_eq!(trials(&folder.join(format!("node-{node}-{}.jsonl", attempts - 1))).len(), whole.len(), "{node}");
    }
}

#[test]
fn a_task_that_runs_twice_at_once_counts_once() {
    let Some(mut cluster) = Cluster::start() else { return };
    let running = start(cluster.fleet(LONG, &["--give-up", "3m"]));
    let held = cluster.measuring();
    cluster.run_twice();
    drop(held);
    Ran::of(&running.join().unwrap()).ended(0);
    // Whichever ended first, one of them counts, as a whole.
    let standing = cluster.node("n1");
    is_done(&standing, 2);
    let (folder, counts) = (cluster.folder(), &standing["counts"]);
    let whole = trials(&folder.join("node-n2-0.jsonl"));
    assert_eq!(trials(&folder.join(format!("node-n1-{counts}.jsonl"))).len(), whole.len());
    let stored = cluster.run(&["--json", "list"]).ended(0).value();
    assert_eq!(stored["experiments"].as_array().unwrap().len(), 4, "a node is stored once");
}

#[test]
fn a_fleet_that_is_cancelled_restores_and_can_be_resumed() {
    let Some(cluster) = Cluster::start() else { return };
    let folder = cluster.folder();
    cluster.fleet(5000, &["--no-wait"]).output().unwrap();
    drop(cluster.measuring());
    cluster.run(&["fleet", "cancel", folder.to_str().unwrap()]).ended(0);
    assert_eq!(cluster.slurm.ask("squeue", &["-h"]), "");
    for node in cluster.status() {
        assert_eq!((&node["state"], &node["restored"]), (&"lost".into(), &true.into()), "{node}");
        assert!(node["blocks"].as_u64() < Some(5000));
    }
}

#[test]
fn the_ten_commands_of_the_document_end_with_a_report() {
    let Some(cluster) = Cluster::start() else { return };
    let document = fs::read_to_string(workspace().join("docs/fleet.md")).unwrap();
    let block = document.split("```console\n").nth(1).unwrap().split("```").next().unwrap();
    let commands: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert_eq!(commands.len(), 10, "{block}");
    let place = cluster.desk.beside("place");
    fs::create_dir(&place).unwrap();
    std::os::unix::fs::symlink(workspace().join("plans"), place.join("plans")).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_powerband")).parent().unwrap().display().to_string();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let mut last = String::new();
    for line in commands {
        let mut command = Command::new("sh");
        cluster.desk.furnish(&mut command);
        command.args(["-c", line]).current_dir(&place).env("SLURM_CONF", cluster.slurm.conf()).env("PATH", &path);
        last = Ran::of(&command.output().unwrap()).ended(0).out;
    }
    assert!(last.contains("1.6GHz") && last.contains("better"), "{last}");
}
