//! Everything at once on a fleet whose tasks store in a database: a slurmd and a slurmstepd killed, a task that runs twice at the same
//! time, the database frozen and restarted. No trial is lost or doubled, compared with the files of the nodes.
use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::desk::{Ran, split, until};
use crate::server::Server;
use crate::stories::{Cluster, NODES, is_done, start, trials};

/// Blocks that keep every node busy until the database is frozen. No task is held before that: one that is stopped while it writes would
/// keep the others, which are on the same host here, from their file.
const BLOCKS: u32 = 500;

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
    let Some(mut server) = Server::new() else { return };
    let Some(mut cluster) = Cluster::start() else { return };
    let url = server.url();
    let running = start(cluster.fleet(BLOCKS, &["--store", &url, "--give-up", "3m"]));
    until("every node measures", || NODES.iter().all(|node| cluster.lines(node, 0) > 20));
    until("some is delivered", || server.delivered() > 100);
    server.freeze();
    let before = NODES.map(|node| cluster.lines(node, 0));
    // The slurmd and the slurmstepd of n2 are gone; its task is not, and ends well.
    let job = cluster.slurm.job("n2").unwrap();
    cluster.slurm.kill_node("n2");
    cluster.slurm.kill_step(&job);
    cluster.run_twice();
    until("every task has given up a delivery", || server.given_up() >= NODES.len());
    until("all measure on", || NODES.iter().zip(before).all(|(node, before)| cluster.lines(node, 0) > before));
    server.thaw();
    server.crash();
    server.start();
    Ran::of(&running.join().unwrap()).ended(0);
    for (node, attempts) in NODES.iter().zip([2, 1, 1, 1]) {
        is_done(&cluster.node(node), attempts);
    }
    assert_eq!(cluster.desk.turned(), 0);
    // A task that ended while the database was away left the rest on its host.
    let on = |words: &str| cluster.run(&split(&format!("--store {url} {words}"))).ended(0);
    on("store push");
    assert_eq!(agree(&cluster, &server), 5);
    let listed = on("--json list").value();
    assert_eq!(listed["experiments"].as_array().unwrap().len(), 4, "each node counts once");
    cluster.decided();
}
