//! `fleet task`: the part of one node. The plan runs here in whole blocks of all settings, and what happens goes to the fleet.
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use powerband_experiment::Plan;
use powerband_fleet::{AttemptFile, Fleet, Folder, Node, PULSE, Task};
use powerband_record::{CloseReason, Event, ExperimentHeader, system_words};
use powerband_session::{Experiment, Options, Progress};
use rustix::process::{Signal, getpid, kill_process};

use crate::cli::{FleetTask, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::{node_state, output, rig};

pub(super) fn run(shared: &Shared, args: &FleetTask) -> Answer {
    node_state::own_state()?;
    match &args.folder {
        Some(path) => from_folder(shared, path, args.position.unwrap_or_default()),
        None => from_input(shared),
    }
}

/// A task that shares the folder.
fn from_folder(shared: &Shared, path: &Path, position: u32) -> Answer {
    let folder = Folder::at(path)?;
    let fleet = folder.fleet()?;
    let node = fleet.node(position).ok_or_else(|| usage(format!("the fleet has no position {position}")))?;
    let file = folder.next_attempt(&node.name)?;
    let task = Task { position, attempt: file.number(), fleet };
    file.pulse()?;
    let mut sink = Sink { out: Out::File(file), failed: None };
    let done = measure(shared, &task, &mut sink);
    if let (Err(failure), Out::File(file)) = (&done, &sink.out) {
        file.failed(&failure.sentence);
    }
    done
}

/// A task that shares nothing: it ends when its input does.
fn from_input(shared: &Shared) -> Answer {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    let wrong = |why: &dyn std::fmt::Display| {
        usage(format!("standard input does not say what to do ({why}); start tasks with `powerband fleet run`"))
    };
    read.map_err(|error| wrong(&error))?;
    let task: Task = serde_json::from_str(&line).map_err(|error| wrong(&error))?;
    let greeted = writeln!(std::io::stdout(), "{}", task.hello()).and_then(|()| std::io::stdout().flush());
    greeted.map_err(|error| {
        Failure::new(Exit::CannotGoOn, format!("nobody reads the results: {}", system_words(&error)))
    })?;
    std::thread::spawn(|| {
        let mut rest = [0; 64];
        // Its end, or an error, is the end of the one who started us.
        while std::io::Read::read(&mut std::io::stdin(), &mut rest).is_ok_and(|got| got > 0) {}
        stop();
    });
    std::thread::spawn(|| {
        // An empty line is no event, and shows that we live.
        while writeln!(std::io::stdout()).and_then(|()| std::io::stdout().flush()).is_ok() {
            std::thread::sleep(PULSE);
        }
    });
    measure(shared, &task, &mut Sink { out: Out::Printed, failed: None })
}

/// Asks ourselves to stop, as Ctrl-C does: what is set is restored.
fn stop() {
    // Of ourselves that cannot fail.
    let _ = kill_process(getpid(), Signal::TERM);
}

/// The machine of a node: the one that was named for the fleet, else the plan's.
pub(super) fn machine_of(fleet: &Fleet, plan: &Plan, node: &Node) -> Option<String> {
    let of_plan = || plan.fleet.as_ref().and_then(|fleet| fleet.machine.clone()).or_else(|| plan.machine.clone());
    fleet.machine.clone().or_else(of_plan).map(|name| name.replace("{node}", &node.number.to_string()))
}

/// The plan as this node runs it: all settings in each of the fleet's blocks, by a seed of its own.
fn planned(task: &Task, node: &Node) -> Result<Plan, Failure> {
    let mut plan = Plan::parse(&task.fleet.plan_file, &task.fleet.plan).map_err(usage)?;
    plan.machine = machine_of(&task.fleet, &plan, node);
    (plan.blocks, plan.min_runs, plan.max_runs, plan.runs) = (None, None, None, Some(task.fleet.blocks));
    plan.seed = Some(task.fleet.seed_at(task.position));
    Ok(plan)
}

fn measure(shared: &Shared, task: &Task, sink: &mut Sink) -> Answer {
    let node = task.fleet.node(task.position).ok_or_else(|| usage("the fleet has no such position"))?;
    let plan = planned(task, node)?;
    let place = Place::make(&task.fleet)?;
    let options = Options {
        near: None,
        far: None,
        machines: Vec::new(),
        cpus: shared.cpus.clone(),
        declared: None,
        default_seed: None,
        store: Some(place.store()),
        fleet: task.fleet.task(task.position, task.attempt),
        ..rig::options(shared)
    };
    let ended = match powerband_session::prepare(plan, &options, &mut output::note)? {
        Experiment::OnRig(on_rig) => on_rig.run(&options.command_line, sink)?,
        Experiment::OnTable(on_table) => on_table.run(&options.command_line, sink)?,
    };
    let settled = ended.settle(&mut output::note)?;
    if let Some(unrestored) = settled.unrestored {
        return Err(unrestored.into());
    }
    if let Some(why) = sink.failed.take() {
        return Err(Failure::new(Exit::CannotGoOn, format!("the results cannot be handed back: {why}")));
    }
    match &settled.finding.reason {
        CloseReason::Stopped => Err(Failure::new(Exit::Stopped, "it was stopped; everything is restored")),
        CloseReason::LoadFailed { why } => Err(Failure::new(Exit::LoadFailed, why)),
        CloseReason::Failed { why } => Err(Failure::new(Exit::CannotGoOn, why)),
        CloseReason::Decided | CloseReason::Blocks | CloseReason::Budget => Ok(Exit::Fine as u8),
    }
}

/// Where the experiment is stored while it runs: a store that the fleet names, or a file of this node that goes with the task.
/// The fleet's own copy is a file of lines, because several hosts cannot share a file of SQLite over a network.
enum Place {
    Named(PathBuf),
    Here(PathBuf),
}

impl Place {
    fn make(fleet: &Fleet) -> Result<Place, Failure> {
        if let Some(store) = &fleet.store {
            return Ok(Place::Named(store.into()));
        }
        let name = format!("powerband-fleet-{}-{}", fleet.short(), std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut builder = std::fs::DirBuilder::new();
        let made = std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700).create(&path);
        made.map_err(|error| {
            Failure::new(Exit::CannotGoOn, format!("cannot make {}: {}", path.display(), system_words(&error)))
        })?;
        Ok(Place::Here(path))
    }

    fn store(&self) -> PathBuf {
        match self {
            Place::Named(store) => store.clone(),
            Place::Here(folder) => folder.join("task.sqlite"),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Place::Here(folder) = self {
            // What is left of a temporary folder does no harm.
            drop(std::fs::remove_dir_all(folder));
        }
    }
}

/// Hands back what happens, as it happens.
struct Sink {
    out: Out,
    /// Why that is no longer possible.
    failed: Option<String>,
}

enum Out {
    File(AttemptFile),
    Printed,
}

impl Sink {
    fn put(&mut self, value: &impl serde::Serialize, sync: bool) {
        if self.failed.is_some() {
            return;
        }
        let put = match &mut self.out {
            Out::File(file) => file.value(value, sync).map_err(|error| error.to_string()),
            Out::Printed => serde_json::to_string(value).map_err(|error| error.to_string()).and_then(|line| {
                let mut out = std::io::stdout().lock();
                writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|error| system_words(&error))
            }),
        };
        if let Err(why) = put {
            // Nobody gets what is measured from now on.
            self.failed = Some(why);
            stop();
        }
    }
}

impl Progress for Sink {
    fn header(&mut self, header: &ExperimentHeader) {
        self.put(header, true);
    }

    fn begins(&mut self) {}

    fn resumes(&mut self, _: &[Event], _: &[u32]) {}

    fn event(&mut self, event: &Event) {
        self.put(event, matches!(event, Event::BlockDone(_) | Event::Closed(_)));
    }

    fn tell(&mut self, _: &str) {}

    fn ended(&mut self) {}
}
