//! On demand (`cargo xtask sweep --only fleet`): 64 nodes, each of its own silicon and one whose effect is reversed, while tasks,
//! slurmd and slurmstepd are killed. No trial is lost or doubled, and the odd node is named.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use powerband_store::Store;
use rustix::process::Signal;
use serde_json::Value;

use crate::desk::{Ran, split};
use crate::slurm::{ready, signal};
use crate::stories::{Cluster, start, trials};

const NODES: u32 = 64;
const BLOCKS: u64 = 8;
/// Kills in a fleet.
const KILLS: u32 = 12;
/// Attempts to have every node done.
const RESUMES: u32 = 6;

/// Random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % end
    }
}

/// A machine file for each node, and the plan. On the odd node a core needs more voltage at the lower clock. One setting has no effect
/// and stays undecided, so that no node is left out.
fn written(folder: &Path, odd: u32) -> PathBuf {
    for node in 1..=NODES {
        let mut text = format!("like = \"node\"\nname = \"n{node}\"\ntitle = \"node {node} of a test\"\n");
        if node == odd {
            text += "[power]\nvolts = [1.05, 0.60, 1.05]\n";
        }
        fs::write(folder.join(format!("{node}.toml")), text).unwrap();
    }
    let path = folder.join("plan.toml");
    let plan = format!(
        "machine = \"sim:node\"\ncpus = \"0-3\"\nsettings = [\"2.1GHz: max_freq=2100MHz\", \"1.6GHz: max_freq=1600MHz\", \"idle: max_freq=2100MHz min_freq=900MHz\"]\n\
         reference = \"2.1GHz\"\nmargin = \"0.01%\"\nmetrics = [\"power_w:lower\"]\n\
         [fleet]\nmachine = \"sim:{}/{{node}}.toml#{{node}}\"\n[load]\nkind = \"counter\"\nfor = \"5s\"\npin = \"0-3\"\n",
        folder.display()
    );
    fs::write(&path, plan).unwrap();
    path
}

/// Kills something of a random node: its task, or its slurmd with the slurmstepd, which comes back.
fn kill(cluster: &mut Cluster, random: &mut Random) -> String {
    let node = format!("n{}", 1 + random.below(NODES.into()));
    if random.below(2) == 0 {
        let tasks = cluster.slurm.processes(|words| words.contains("fleet task"));
        let Some(task) = tasks.get(usize::try_from(random.below(tasks.len().max(1) as u64)).unwrap()) else {
            return "nothing".into();
        };
        signal(*task, Signal::KILL);
        return format!("task {task}");
    }
    let job = cluster.slurm.job(&node);
    cluster.slurm.kill_node(&node);
    let steps = job.map_or(0, |job| cluster.slurm.kill_steps(&job));
    cluster.slurm.start_node(&node);
    format!("{node} with {steps} steps")
}

/// What became of one fleet: whether the odd node is named, and how many others are.
fn one(seed: u64) -> (bool, usize) {
    let mut random = Random(seed);
    let mut cluster = Cluster::of(NODES);
    let odd = 1 + u32::try_from(random.below(NODES.into())).unwrap();
    let machines = cluster.desk.beside("machines");
    fs::create_dir(&machines).unwrap();
    let (plan, folder) = (written(&machines, odd), cluster.folder());
    let (plan, folder) = (plan.to_str().unwrap(), folder.to_str().unwrap());
    let (nodes, drawn, blocks) = (format!("n[1-{NODES}]"), random.below(1 << 32).to_string(), BLOCKS.to_string());
    let words = format!("fleet run `{plan}` --nodes `{nodes}` --seed `{drawn}` --quiet --blocks `{blocks}`");
    let words = split(&words);
    let more = format!("--at-once 64 --give-up 2m --folder `{folder}`");
    let more = split(&more);
    let running = start(cluster.command(&[&words[..], &more].concat()));
    let mut kills = String::new();
    for _ in 0..KILLS {
        std::thread::sleep(Duration::from_millis(200 + random.below(1_500)));
        if running.is_finished() {
            break;
        }
        let _ = write!(kills, "{}; ", kill(&mut cluster, &mut random));
    }
    let ended = Ran::of(&running.join().unwrap());
    eprintln!("seed {seed}, node n{odd} is odd, killed {kills}exit {:?}", ended.code);
    for _ in 0..RESUMES {
        if cluster.status().iter().all(|node| node["state"] == "done") {
            break;
        }
        cluster.run(&split(&format!("fleet resume `{folder}` --quiet --give-up 2m")));
    }
    agree(&cluster, Path::new(folder));
    let answer = cluster.run(&["--json", "fleet", "report", folder]).ended(0).value();
    let named: BTreeSet<&str> =
        answer["odd"].as_array().unwrap().iter().map(|odd| odd["node"].as_str().unwrap()).collect();
    let odd = format!("n{odd}");
    eprintln!("named {named:?}");
    (named.contains(odd.as_str()), named.iter().filter(|name| **name != odd).count())
}

/// Each node's file has each trial once, and the store has what the file has, once. A node that is lost after everything was decided is
/// not started again; its complete blocks count.
fn agree(cluster: &Cluster, folder: &Path) {
    let store = Store::open(cluster.desk.state().join("powerband.sqlite")).unwrap();
    let mut stored: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for one in store.list().unwrap() {
        let events = store.events(one.id).unwrap();
        let events = events.iter().map(|event| serde_json::to_value(event).unwrap()).collect();
        let before = stored.insert(store.header(one.id).unwrap().run.unwrap(), events);
        assert!(before.is_none(), "stored twice");
    }
    let nodes = cluster.status();
    let counted = nodes.iter().filter(|node| node["counts"].is_u64()).count();
    assert_eq!(stored.len(), counted, "each node is stored once, however often its task ran");
    for node in nodes {
        let name = node["node"].as_str().unwrap();
        let Some(counts) = node["counts"].as_u64() else {
            assert_eq!((&node["state"], node["blocks"].as_u64()), (&"lost".into(), Some(0)), "{node}");
            continue;
        };
        assert!(node["state"] == "lost" || node["blocks"].as_u64() == Some(BLOCKS), "{node}");
        let path = folder.join(format!("node-{name}-{counts}.jsonl"));
        let _each_once = trials(&path);
        let text = fs::read_to_string(&path).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let run = lines.next().unwrap()["run"].as_str().unwrap().to_owned();
        assert_eq!(stored.get(&run), Some(&lines.collect()), "{name}");
    }
}

#[test]
fn sweep_sixty_four_nodes_while_tasks_are_killed() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    if number("POWERBAND_SWEEP") != Some(1) || !ready() {
        return;
    }
    let (seed, fleets) = (number("POWERBAND_SWEEP_SEED").unwrap_or(1), number("POWERBAND_SWEEP_COUNT").unwrap_or(20));
    let found: Vec<(bool, usize)> = (0..fleets).map(|number| one(seed + number)).collect();
    let named = found.iter().filter(|(named, _)| *named).count();
    let only = found.iter().filter(|(_, others)| *others == 0).count();
    eprintln!("the odd node was named in {named} of {fleets} fleets, no other in {only}");
    let least = usize::try_from(fleets - fleets.div_ceil(20).min(fleets / 20 + 1)).unwrap();
    assert!(named >= least && only >= least, "{found:?}");
}
