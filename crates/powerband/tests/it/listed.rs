//! Lists of machines (`--machines`): a setting on all of them is one transaction, each can be named, and what happens to one of them
//! in the middle of a trial leaves nothing set on any.
use std::fs;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};

use crate::desk::{Desk, root, text, typical, until};

/// Two nodes that are this box: each with a state folder of its own, and with a file of its own at the same path.
struct Nodes {
    desk: Desk,
    names: [&'static str; 2],
}

impl Nodes {
    /// `None` without root, who alone can mount one file over another.
    fn new() -> Option<Nodes> {
        if !root() {
            return None;
        }
        let nodes = Nodes { desk: Desk::new(), names: ["n1", "n2"] };
        fs::write(nodes.desk.beside("knob"), "nobody's").unwrap();
        for name in nodes.names {
            fs::write(nodes.file(name), "before").unwrap();
        }
        Some(nodes)
    }

    /// The file of a node, as it is seen from here.
    fn file(&self, node: &str) -> PathBuf {
        self.desk.beside(&format!("knob-{node}"))
    }

    fn state(&self, node: &str) -> PathBuf {
        self.desk.beside(&format!("state-{node}"))
    }

    /// A node as one of a list; `options` are those of the mount.
    fn machine(&self, node: &str, options: &str) -> String {
        let (own, knob) = (self.file(node), self.desk.beside("knob"));
        let mount = format!("mount --bind {} {}", own.display(), knob.display());
        let mount = if options.is_empty() {
            mount
        } else {
            format!("{mount} && mount -o remount,bind,{options} {}", knob.display())
        };
        format!(
            "{node}=cmd:unshare -m sh -c \"{mount} && POWERBAND_STATE_DIR={} exec {} agent\"",
            self.state(node).display(),
            env!("CARGO_BIN_EXE_powerband")
        )
    }

    /// The command's words after those that name both nodes.
    fn words(&self, second: &str, words: &[&str]) -> Vec<String> {
        let machines = [self.machine("n1", ""), self.machine("n2", second)];
        let machines = machines.into_iter().flat_map(|machine| ["--machines".to_owned(), machine]);
        machines.chain(words.iter().map(|word| (*word).to_owned())).collect()
    }

    fn run(&self, second: &str, words: &[&str]) -> crate::desk::Ran {
        let words = self.words(second, words);
        self.desk.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// What the files of both read.
    fn read(&self) -> [String; 2] {
        self.names.map(|name| text(&self.file(name)))
    }

    /// Whether neither ledger has an entry.
    fn is_clean(&self) -> bool {
        self.names.iter().all(|name| fs::read(self.state(name).join("ledger")).is_ok_and(|bytes| bytes.is_empty()))
    }

    fn knob(&self) -> String {
        self.desk.knob("knob")
    }

    /// The agent of a node.
    fn agent(&self, node: &str) -> Pid {
        let holder: serde_json::Value = serde_json::from_str(&text(&self.state(node).join("lock"))).unwrap();
        Pid::from_raw(i32::try_from(holder["pid"].as_i64().unwrap()).unwrap()).unwrap()
    }
}

#[test]
fn a_setting_on_all_machines_is_set_read_and_undone_on_each() {
    let Some(nodes) = Nodes::new() else { return };
    let knob = nodes.knob();
    nodes.run("", &["set", &format!("all/{knob}=5")]).ended(0);
    assert_eq!(nodes.read(), ["5", "5"]);
    nodes.run("", &["set", &format!("n2/{knob}=6")]).ended(0);
    assert_eq!(nodes.read(), ["5", "6"]);
    let shown = nodes.run("", &["get", &format!("all/{knob}")]).ended(0).out;
    assert!(shown.contains(&format!("n1/{knob}@- = 5")) && shown.contains(&format!("n2/{knob}@- = 6")), "{shown}");
    let listed = nodes.run("", &["undo", "--list"]).ended(0).out;
    assert!(listed.contains("on the machine n1") && listed.contains("on the machine n2"), "{listed}");
    nodes.run("", &["undo", "--all"]).ended(0);
    assert_eq!(nodes.read(), ["before", "before"]);
    assert!(nodes.is_clean());
    let during = nodes.run("", &["with", &format!("all/{knob}=7"), "--", "cat", &knob[5..]]).ended(0).out;
    assert_eq!((during.as_str(), nodes.read()), ("7", ["before".to_owned(), "before".to_owned()]));
    assert_eq!(text(&nodes.desk.beside("knob")), "nobody's");
}

#[test]
fn where_one_machine_refuses_all_are_restored_and_the_sentence_names_it() {
    let Some(nodes) = Nodes::new() else { return };
    let all = format!("all/{}=5", nodes.knob());
    let load = ["--runs", "2", "--warmup", "0", "--settle", "0", "--", "true"];
    for words in [vec!["set", &all], vec!["with", &all, "--", "true"], [&["try", &all][..], &load].concat()] {
        let sentence = nodes.run("ro", &words).ended(3).err;
        assert!(sentence.contains("n2: ") && sentence.contains("read-only"), "{words:?}: {sentence}");
        assert_eq!(nodes.read(), ["before", "before"], "{words:?}");
        assert!(nodes.is_clean(), "{words:?}");
    }
}

#[test]
fn slurm_is_a_list_of_machines_in_an_allocation_alone() {
    let desk = Desk::new();
    let outside = desk.command("--machines slurm get all/governor").env_remove("SLURM_JOB_NODELIST").output();
    let sentence = crate::desk::Ran::of(&outside.unwrap()).refused(2);
    assert!(sentence.contains("salloc -N2"), "{sentence}");
}

#[test]
fn an_agent_that_is_killed_in_the_middle_of_a_trial_leaves_nothing_set_on_any_machine() {
    let Some(nodes) = Nodes::new() else { return };
    let all = format!("all/{}=5", nodes.knob());
    for node in nodes.names {
        let words = nodes.words("", &["try", &all, "--warmup", "0", "--settle", "0", "--", "sleep 30"]);
        let started = nodes.desk.start(&words.iter().map(String::as_str).collect::<Vec<_>>());
        until("both are set", || nodes.read() == ["5", "5"]);
        kill_process(nodes.agent(node), Signal::KILL).unwrap();
        let ended = started.end().ended(8);
        assert!(ended.err.contains(node), "{}", ended.err);
        until("both are restored", || nodes.read() == ["before", "before"]);
        until("no ledger has an entry", || nodes.is_clean());
        let shown = nodes.desk.run(&["show", "last", "-v"]).ended(0).out;
        assert!(shown.contains("aborted"), "{shown}");
    }
}

#[test]
fn energy_is_added_up_over_machines_that_read_the_same_meter_and_over_no_others() {
    let desk = Desk::new();
    let words = ["try", "all/governor=performance,powersave", "--load", "counter", "--runs", "3", "--warmup", "0"];
    let same = [&["--machines", "sim:mpi-server,sim:mpi-server"], &words[..], &["--metric", "all/power_w"]].concat();
    let report = desk.report(&same);
    for label in ["all/governor=performance", "all/governor=powersave"] {
        let power = |metric: &str| typical(&report, label, metric);
        let (one, other, all) = (power("n1/power_w"), power("n2/power_w"), power("all/power_w"));
        assert!(
            one > 0.0 && other > 0.0 && (all / (one + other) - 1.0).abs() < 0.01,
            "{label}: {one} + {other}, {all}"
        );
    }
    let boundary = &report.metrics.iter().find(|metric| metric.name == "all/power_w").unwrap().boundary;
    assert!(boundary.as_deref().unwrap().ends_with(" of n1 + n2"), "{boundary:?}");
    let other = [&["--machines", "sim:mpi-server,sim:node"], &words[..], &["--meter", "n2/package-0"]].concat();
    let sentence = desk.run(&[&other[..], &["--metric", "all/power_w"]].concat()).refused(2);
    assert!(sentence.contains("different meters") && sentence.contains("--meter"), "{sentence}");
    let ran = desk.run(&[&other[..], &["-v"]].concat()).ended(0);
    assert!(ran.out.contains("are not added up"), "{}", ran.out);
}

#[test]
fn what_was_measured_on_other_machines_is_not_kept_here() {
    let desk = Desk::new();
    let load = ["--load", "counter", "--runs", "2", "--warmup", "0"];
    for (machines, knob, on) in [
        (["--machines", "sim:pc,b=sim:pc"], "all/governor", "n1=sim:pc, b=sim:pc"),
        (["--machine", "sim:pc"], "governor", "sim:pc"),
    ] {
        let axis = format!("{knob}=performance,powersave");
        desk.run(&[&machines[..], &["try", &axis], &load].concat()).ended(0);
        let sentence = desk.run(&["keep", "--dry-run"]).refused(2);
        assert!(sentence.contains(&format!("was measured on {on}, not on this machine")), "{sentence}");
    }
}
