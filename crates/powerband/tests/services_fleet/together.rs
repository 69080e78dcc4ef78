//! Everything at once on a fleet whose tasks store in a database: a slurmd and a slurmstepd killed, a task that runs twice at the same
//! time, the database restarted and frozen. No trial is lost or doubled, compared with the files of the nodes.
use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::desk::{Ran, until};
use crate::server::Server;
use crate::slurm::ready;
use crate::stories::{Cluster, NODES, start, trials};

/// Blocks that keep every node busy until the database is frozen. No task is held before that: one that is stopped while it writes would
/// keep the others, which are on the same host here, from their file.
const BLOCKS: &str = "1200";
/// Longer than anything waits for an answer of the database.
const FROZEN: Duration = Duration::from_secs(20);

fn delivered(server: &Server) -> usize {
    server.sql("SELECT count(*) FROM powerband.event").and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// The database has each event of each attempt once, as the node's file has it, and nothing else; how many attempts there are.
fn agree(cluster: &Cluster, server: &Server) -> usize {
    let files = fs::read_dir(cluster.folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut runs = BTreeSet::new();
    for path in files.filter(|path| path.extension().is_some_and(|it| it == "jsonl")) {
        if path.file_name().unwrap() == "started.jsonl" {
            continue;
        }
        let (done, text) = (trials(&path), fs::read_to_string(&path).unwrap());
        let (header, events) = text.split_once('\n').unwrap();
        let header: Value = serde_json::from_str(header).unwrap();
        let run = header["run"].as_str().unwrap().to_owned();
        let stored = server.asked(&format!(
            "SELECT json FROM powerband.event e JOIN powerband.experiment x ON x.id = e.experiment WHERE run = '{run}' ORDER BY seq"
        ));
        let same = stored.lines().eq(events.lines());
        assert!(same, "{}: {} events, {} stored", path.display(), events.lines().count(), stored.lines().count());
        assert!(done.len() > 100, "{}: {} trials", path.display(), done.len());
        runs.insert(run);
    }
    assert_eq!(server.asked("SELECT count(*) FROM powerband.experiment"), runs.len().to_string());
    runs.len()
}

#[test]
fn with_a_database_nothing_is_lost_or_doubled_whatever_dies() {
    if !ready() {
        return;
    }
    let Some(mut server) = Server::new() else { return };
    let mut cluster = Cluster::of(4);
    let url = server.url("postgres");
    let running = start(cluster.fleet(BLOCKS, &["--store", &url, "--give-up", "3m"]));
    until("every node measures", || NODES.iter().all(|node| cluster.lines(node, 0) > 20));
    until("some is delivered", || delivered(&server) > 100);
    server.stop();
    server.start();
    let before = delivered(&server);
    until("it is delivered again", || delivered(&server) > before);
    server.freeze();
    let (since, lines) = (Instant::now(), NODES.map(|node| cluster.lines(node, 0)));
    // The slurmd and the slurmstepd of n2 are gone; its task is not, and ends well.
    let job = cluster.slurm.job("n2").unwrap();
    cluster.slurm.kill_node("n2");
    cluster.slurm.kill_step(&job);
    cluster.run_twice();
    std::thread::sleep(FROZEN.saturating_sub(since.elapsed()));
    for (node, before) in NODES.iter().zip(lines) {
        assert!(cluster.lines(node, 0) > before, "{node} measured nothing while the database was frozen");
    }
    server.thaw();
    Ran::of(&running.join().unwrap()).ended(0);
    for (node, attempts) in NODES.iter().zip([2, 1, 1, 1]) {
        let standing = cluster.node(node);
        assert_eq!((&standing["state"], standing["attempts"].as_u64()), (&"done".into(), Some(attempts)), "{standing}");
        assert_eq!(standing["restored"], true, "{standing}");
    }
    assert_eq!(cluster.desk.turned(), 0);
    // A task that ended while the database was away left the rest on its host.
    cluster.run(&["--store", &url, "store", "push"]).ended(0);
    assert_eq!(agree(&cluster, &server), 5);
    let listed = cluster.run(&["--store", &url, "--json", "list"]).ended(0).value();
    assert_eq!(listed["experiments"].as_array().unwrap().len(), 4, "each node counts once");
    let folder = cluster.folder();
    let answer = cluster.run(&["--json", "fleet", "report", folder.to_str().unwrap()]).ended(0).value();
    for (metric, verdict) in [("count_per_s", "worse"), ("energy_j", "better")] {
        let of = answer["metrics"].as_array().unwrap().iter().find(|of| of["metric"] == metric).unwrap();
        assert!(
            of["settings"].as_array().unwrap().iter().all(|setting| setting["fleet"]["verdict"] == verdict),
            "{of}"
        );
    }
}
