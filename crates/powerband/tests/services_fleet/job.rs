//! One job over two nodes: agents that steps of the job start, a setting on both, and one node's agent killed in the middle of a
//! trial.
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;

use crate::desk::{Desk, Ran, Started, text, until};
use crate::slurm::{Lent, Slurm, ready, signal};

const NODES: [&str; 2] = ["n1", "n2"];

/// Two nodes with a state folder and a value of their own each, which are one host.
struct Job {
    desk: Desk,
    slurm: Lent,
}

impl Job {
    fn new() -> Option<Job> {
        let desk = ready().then(Desk::new)?;
        for node in NODES {
            fs::write(desk.beside(&format!("value-{node}")), "before\n").unwrap();
        }
        Some(Job { desk, slurm: Slurm::of(4) })
    }

    /// The command in an allocation of both nodes: a setting on all of them, and a load that runs on both.
    fn command(&self, load: &str) -> Command {
        let plan = format!(
            "machines = [\"slurm\"]\nsettings = [\"set: all/mark=5\"]\nruns = 2\nwarmup = 0\nsettle = \"0s\"\n\
             [knobs.mark]\nget = 'cat $VALUE'\nset = 'echo {{value}} > $VALUE'\n\
             [load]\nkind = \"command\"\nargv = [\"srun\", \"--overlap\", \"-N2\", \"-n2\", \"sh\", \"-c\", '{load}']\n"
        );
        let path = self.desk.beside("plan.toml");
        fs::write(&path, plan).unwrap();
        let mut command = Command::new("/usr/bin/salloc");
        self.desk.furnish(&mut command);
        command.args(["-Q", "-N2", "-wn[1-2]", "--exclusive", env!("CARGO_BIN_EXE_powerband"), "run"]).arg(&path);
        command.env("SLURM_CONF", self.slurm.conf()).env("TMPDIR", self.desk.beside(""));
        command.env("NODES_AT", self.desk.beside("").join("."));
        command
    }

    fn values(&self) -> [String; 2] {
        NODES.map(|node| text(&self.desk.beside(&format!("value-{node}"))).trim().to_owned())
    }

    fn ledger(&self, node: &str) -> PathBuf {
        self.desk.beside(&format!("state-{node}")).join("ledger")
    }

    /// Whether both are restored and nothing is written down as set on either.
    fn is_restored(&self) -> bool {
        let is_empty = |node: &&str| fs::read(self.ledger(node)).is_ok_and(|bytes| bytes.is_empty());
        self.values() == ["before", "before"] && NODES.iter().all(is_empty)
    }

    /// The agent on a node.
    fn agent(&self, node: &str) -> i32 {
        let holder: serde_json::Value = serde_json::from_str(&text(&self.ledger(node).with_file_name("lock"))).unwrap();
        i32::try_from(holder["pid"].as_i64().unwrap()).unwrap()
    }
}

#[test]
fn a_job_over_two_nodes_has_the_setting_on_both() {
    let Some(job) = Job::new() else { return };
    let seen = job.desk.beside("seen").display().to_string();
    let ran = Ran::of(&job.command(&format!("cat $VALUE >> {seen}-$SLURMD_NODENAME")).output().unwrap()).ended(0);
    // Two runs of each and no other values; the command may run several times in a run.
    let seen = NODES.map(|node| text(&job.desk.beside(&format!("seen-{node}"))));
    let count = |value: &str| seen[0].lines().filter(|line| *line == value).count();
    assert!(count("5") >= 2 && count("before") >= 2, "{seen:?}\n{}{}", ran.out, ran.err);
    assert_eq!(count("5") + count("before"), seen[0].lines().count(), "{seen:?}");
    assert_eq!(seen[0], seen[1]);
    assert!(job.is_restored());
}

#[test]
fn a_node_s_agent_killed_in_the_middle_of_a_trial_leaves_both_nodes_as_they_were() {
    let Some(job) = Job::new() else { return };
    for node in NODES {
        let started = Started::of(&mut job.command("sleep 600"));
        // A setting is tried before the first trial, without the load.
        let loads = || job.slurm.processes(|words| words.starts_with("sleep 600")).len();
        until("the load runs on both nodes", || job.values() == ["5", "5"] && loads() == 2);
        signal(job.agent(node), Signal::KILL);
        let ended = started.end().ended(8);
        assert!(ended.err.contains(node), "{}", ended.err);
        until("both nodes are restored", || job.is_restored());
        let journal = job.desk.journal().join("\n");
        assert!(journal.contains("trial_started") && !journal.contains("trial_done"), "{journal}");
    }
}
