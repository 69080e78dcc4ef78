//! `fleet run`: the order is drawn and stored, then the tasks start.
use powerband_experiment::Plan;
use powerband_fleet::{Fleet, Folder, Node, Slurm, Via, numbered, order, parse_nodes, read_nodes};
use powerband_knob::KnobError;
use powerband_record::{Axis, Setting, system_words};
use powerband_rig::{MAX_WRITTEN_BYTES, read_text};
use powerband_stats::fleet::waves::FIRST_LOOK;

use super::{conducting, home, launcher};
use crate::cli::{FleetRun, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::{output, typed};

/// The launcher that needs none.
const LOCAL: &str = "local";

pub(super) fn run(shared: &Shared, args: &FleetRun) -> Answer {
    let give_up = conducting::give_up(&args.waiting)?;
    let text = read_text(&args.plan, "the plan", MAX_WRITTEN_BYTES)?;
    let plan_file = args.plan.display().to_string();
    let plan = Plan::parse(&plan_file, &text).map_err(usage)?;
    if plan.tune.is_some() {
        return Err(usage(format!(
            "{plan_file} searches for a setting ([tune]); a fleet compares settings, so name those of interest with try or settings"
        )));
    }
    check_options(shared)?;
    check_settings(&plan, &plan_file)?;
    let via = via(args)?;
    let nodes = nodes(args, &via)?;
    let seed = shared.seed.or(plan.seed).or(shared.seed_of_environment);
    let seed = seed.map_or_else(drawn_seed, Ok)?;
    let fleet = Fleet {
        version: 1,
        key: powerband_host::random_key().map_err(no_chance)?,
        plan_file,
        plan: text,
        machine: shared.machine.clone(),
        seed,
        blocks: args.blocks,
        at_once: if args.no_wait { u32::MAX } else { args.at_once },
        nodes: order(seed, nodes),
        via,
        program: args.program.clone().map_or_else(own_program, Ok)?,
        store: shared
            .store
            .as_ref()
            .map(|path| path.display().to_string())
            .filter(|store| powerband_store::is_shared(store)),
        started_unix_s: powerband_host::unix_time_s(),
        command_line: typed::words().collect(),
    };
    check(&fleet, &plan)?;
    // Whether there is a Slurm is known before anything is made.
    launcher(&fleet).look(&fleet)?;
    let folder = Folder::make(&home()?, args.folder.as_deref(), &fleet)?;
    if fleet.size() < FIRST_LOOK {
        let size = fleet.size();
        output::note(format!(
            "a verdict over a fleet takes at least {FIRST_LOOK} nodes; with {size} nothing is decided"
        ));
    }
    if args.no_wait {
        return submit(shared, &fleet, &folder);
    }
    conducting::conduct(shared, &fleet, &folder, give_up, args.waiting.quiet)
}

/// What nodes do is in the plan alone: an option that would not reach them is refused.
fn check_options(shared: &Shared) -> Result<(), Failure> {
    let given = [
        ("--far", shared.far.is_some(), "far"),
        ("--cpus", shared.cpus.is_some(), "cpus"),
        ("--knobs", shared.declared.is_some(), "[knobs.NAME]"),
    ];
    match given.into_iter().find(|(_, given, _)| *given) {
        Some((option, _, key)) => {
            Err(usage(format!("nodes know the plan alone; write {key} in the plan, and leave out {option}")))
        }
        None => Ok(()),
    }
}

/// What every node would refuse is refused here: a setting that is none, or a knob that no machine has. Whether a node takes a
/// value is known there alone.
fn check_settings(plan: &Plan, file: &str) -> Result<(), Failure> {
    let in_plan = |error: &dyn std::fmt::Display| usage(format!("{file}: {error}"));
    if let Some(limit) = plan.require.first() {
        return Err(in_plan(&format!(
            "a fleet does not judge limits; leave out require = [\"{limit}\"], and name its metric under metrics, with a margin"
        )));
    }
    let mut named = Vec::new();
    for text in plan.settings.iter().chain([&plan.with]) {
        let setting = Setting::parse(text).map_err(|error| in_plan(&error))?;
        named.extend(setting.assignments.into_iter().map(|assignment| assignment.knob));
    }
    for text in &plan.axes {
        named.push(Axis::parse(text).map_err(|error| in_plan(&error))?.knob);
    }
    for knob in named.iter().filter(|knob| knob.of_load().is_none() && !plan.knobs.contains_key(&knob.name)) {
        match powerband_knob::resolve(&knob.name) {
            // Which of two governors' tunables is meant, the setting says on the node.
            Ok(_) | Err(KnobError::Ambiguous { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A task's machine can be named for every node.
fn check(fleet: &Fleet, plan: &Plan) -> Result<(), Failure> {
    let machine = super::task::machine_of(fleet, plan, &fleet.nodes[0]);
    let simulated = machine.as_ref().is_some_and(|name| name.starts_with("sim:") || name.starts_with("table:"));
    let is_one =
        fleet.nodes.len() > 1 && fleet.nodes.iter().all(|node| super::task::machine_of(fleet, plan, node) == machine);
    match (&fleet.via, simulated) {
        (_, true) if is_one => Err(usage(format!(
            "every node would measure {}, which is one machine; put {{node}} into its name, e.g. [fleet] machine = \"sim:node#{{node}}\"",
            machine.as_deref().unwrap_or_default()
        ))),
        (Via::Command { command }, false) if command.is_empty() && fleet.nodes.len() > 1 => Err(usage(
            "--launcher local runs all tasks on this machine, one after the other's changes; give the plan [fleet] machine = \"sim:...#{node}\", or use --launcher 'ssh {node}'",
        )),
        _ => Ok(()),
    }
}

fn via(args: &FleetRun) -> Result<Via, Failure> {
    match args.launcher.as_deref() {
        None => Ok(Via::Slurm { partition: args.partition.clone(), options: args.sbatch.clone() }),
        Some(LOCAL) => Ok(Via::Command { command: String::new() }),
        Some(command) if command.contains("{node}") => Ok(Via::Command { command: command.to_owned() }),
        Some(command) => Err(usage(format!(
            "--launcher '{command}' does not say which node; write {{node}} for its name, e.g. --launcher 'ssh {{node}}'"
        ))),
    }
}

fn nodes(args: &FleetRun, via: &Via) -> Result<Vec<Node>, Failure> {
    let named = match (&args.nodes, &args.nodes_file, args.count, via) {
        (Some(list), ..) => parse_nodes(list)?,
        (_, Some(file), ..) => read_nodes(file)?,
        (_, _, Some(count), Via::Command { .. }) => (1..=count).map(|number| format!("node{number}")).collect(),
        (_, _, Some(count), Via::Slurm { .. }) => {
            let most = usize::try_from(count).unwrap_or(usize::MAX);
            let there = Slurm::new(args.partition.clone(), Vec::new()).nodes(most)?;
            if there.len() < most {
                let sentence = match (there.len(), &args.partition) {
                    (0, Some(name)) => {
                        format!("no node of a partition {name} is available; `sinfo` shows what there is")
                    }
                    (0, None) => "no node is available; `sinfo` shows what there is".to_owned(),
                    (some, _) => format!(
                        "{some} of the {count} nodes asked for are available; type -N {some}, or name the nodes with --nodes"
                    ),
                };
                return Err(Failure::new(Exit::Unsupported, sentence));
            }
            there
        }
        (None, None, None, _) => {
            return Err(usage("there are no nodes; write e.g. --nodes n[1-16], or -N 16 for 16 of the partition"));
        }
    };
    Ok(numbered(named))
}

fn drawn_seed() -> Result<u64, Failure> {
    powerband_host::random_seed().map(u64::from).map_err(no_chance)
}

fn no_chance(error: std::io::Error) -> Failure {
    Failure::new(Exit::CannotGoOn, format!("the kernel gives no random number: {}", system_words(&error)))
}

fn own_program() -> Result<String, Failure> {
    let path = powerband_host::program_path().map(|path| path.display().to_string());
    path.map_err(|error| usage(format!("the path of this program is unknown ({error}); name it with --program")))
}

/// Submits every task and returns.
fn submit(shared: &Shared, fleet: &Fleet, folder: &Folder) -> Answer {
    let mut launcher = launcher(fleet);
    for position in 0..fleet.size() {
        let refused = launcher.start(fleet, folder, position)?;
        if let (Some(why), Some(node)) = (&refused, fleet.node(position)) {
            output::note(format!("{}: {why}", node.name));
        }
        folder.note_start(position, refused)?;
    }
    if shared.json {
        return super::status::print(shared, fleet, folder);
    }
    output::print(&format!(
        "submitted {} nodes as fleet {short}; `powerband fleet status {short}` shows how it is getting on",
        fleet.size(),
        short = fleet.short()
    ));
    Ok(Exit::Fine as u8)
}
