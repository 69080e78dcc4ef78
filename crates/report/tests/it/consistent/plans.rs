//! The plans of the repository, and a search for a knee that used to contradict its table, on simulated machines.
use std::path::Path;

use powerband_experiment::{Plan, WorldBench, resolve, run};
use powerband_record::{Event, NodeName};
use powerband_report::{Model, advice, sentence};
use powerband_sim::{Profile, SimWorld};

use super::checker::contradictions;

/// Plans whose simulation takes more than moments: they are run by the command's tests.
const LONG: [&str; 7] = [
    "governors-gathered.toml",
    "governors-ladder.toml",
    "governors-smt.toml",
    "governors-shop-500.toml",
    "governors-shop-1000.toml",
    "governors-shop-2000.toml",
    "mpi-governors.toml",
];

fn profile(name: &str) -> Profile {
    let name = name.strip_prefix("sim:").unwrap();
    Profile::builtin(name.split('#').next().unwrap()).unwrap()
}

/// Runs a plan on the simulated machines it names.
fn measured(name: &str, text: &str, seed: u64) -> Vec<Event> {
    let plan = Plan::parse(name, text).unwrap();
    let far = plan.far.as_deref().map(profile);
    let node = |typed: &String| {
        let (node, machine) = typed.split_once('=').unwrap();
        (NodeName::new(node).unwrap(), profile(machine))
    };
    let mut world = match plan.machine.as_deref() {
        Some(machine) => SimWorld::new(profile(machine), far, seed).unwrap(),
        None => SimWorld::of_nodes(plan.machines.iter().map(node).collect(), seed).unwrap(),
    };
    let mut resolved = resolve(&plan, &mut world).unwrap_or_else(|why| panic!("{name}: {why}"));
    resolved.started.seed = seed;
    let mut journal = Vec::new();
    let mut bench = WorldBench::new(&mut world, &resolved);
    run(&resolved.started, &mut bench, &mut journal).unwrap();
    journal
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the plans of the repository are files of the test, not of a machine")]
fn no_plan_contradicts_itself() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
    let mut run = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".toml") || LONG.contains(&name.as_str()) {
            continue;
        }
        let events = measured(&name, &std::fs::read_to_string(&path).unwrap(), 1);
        assert_eq!(contradictions(&events), Vec::<String>::new(), "{name}");
        run += 1;
    }
    assert!(run >= 10, "{run}");
}

/// `try governor=userspace freq=all --knee freq --margin 2% --load stream --machine sim:omap3530 --far sim:pc`.
const KNEE: &str = r#"
machine = "sim:omap3530"
far = "sim:pc"
with = "governor=userspace"
try = ["freq=all"]
knee = "freq"
margin = "2%"
[load]
kind = "stream"
"#;

#[test]
fn a_knee_is_named_only_where_the_table_says_the_same() {
    let mut knees = 0;
    for seed in 1..=20 {
        let events = measured("knee", KNEE, seed);
        assert_eq!(contradictions(&events), Vec::<String>::new(), "seed {seed}");
        let model = Model::from_events(&events).unwrap();
        let named = model.knee.as_ref().is_some_and(|found| found.knee.is_some());
        knees += u32::from(named);
        assert_eq!(named, sentence::headline(&model).contains("is the knee:"), "seed {seed}");
        if let Some(found) = advice(&model) {
            assert!(!found.changes.is_empty() && found.typed.is_some(), "seed {seed}: {found:?}");
        }
    }
    assert!(knees >= 10, "{knees} of 20");
}

#[test]
fn where_every_lower_frequency_loses_there_is_no_knee() {
    // Work of the CPU alone: each step down costs what it is.
    let text = KNEE.replace("far = \"sim:pc\"\n", "").replace("kind = \"stream\"", "kind = \"counter\"\nfor = \"1s\"");
    let events = measured("counter", &text, 1);
    assert_eq!(contradictions(&events), Vec::<String>::new());
    let model = Model::from_events(&events).unwrap();
    let found = model.knee.as_ref().unwrap();
    assert!(found.none && found.knee.is_none(), "{found:?}");
    let headline = sentence::headline(&model);
    assert!(headline.starts_with("there is no knee: ") && headline.ends_with("does"), "{headline}");
    assert_eq!(advice(&model), None);
}

#[test]
fn the_cheap_end_of_a_delay_is_the_long_one() {
    let text = r#"
machine = "sim:cyclone5"
far = "sim:cyclone5"
try = ["both/nic.rx-usecs=10,100,260"]
knee = "rx-usecs"
margin = "5%"
metrics = ["rate_mbit_s:higher"]
[load]
kind = "stream"
for = "1s"
direction = "near-to-far"
"#;
    let events = measured("delays", text, 1);
    let model = Model::from_events(&events).unwrap();
    let cheapest = model.label(model.started.cost_order[0]);
    assert!(cheapest.contains("260"), "{cheapest}");
    assert!(model.label(0).ends_with("=10"), "compared with the costliest, {}", model.label(0));
    assert_eq!(contradictions(&events), Vec::<String>::new());
}
