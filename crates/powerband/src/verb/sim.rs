//! `sim`: the simulated machines there are, what one of them knows and does not know, and one as a file system.
use std::path::Path;

use powerband_machine::{Errno, Job, Machine, World};
use powerband_mount::{Extent, Mount, MountError, Namespace};
use powerband_record::{CpuList, Side, Work};
use powerband_rig::profile;
use powerband_sim::{Description, Profile, SimWorld};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{MountLoad, Shared, Sim, SimVerb};
use crate::exit::{Answer, Exit, Failure};
use crate::output::{self, Document};

/// How long a machine counts, ns: a hundred years.
const COUNTS_NS: u64 = 100 * 365 * 86_400 * 1_000_000_000;

/// Primes below this are counted, as in plans/mpi-governors.toml: ten seconds of forty CPUs.
const PRIMES_BELOW: u64 = 1_000_000_000;

/// Between two wake-ups of a CPU by what else a machine does, ns.
const WAKES_NS: u64 = 100_000_000;

/// The simulated machines there are.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Machines {
    /// Each of them.
    machines: Vec<Description>,
}

/// One simulated machine.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OneMachine {
    /// What it knows and does not know.
    machine: Description,
}

impl Document for Machines {
    const KIND: &'static str = "sim-list";
}

impl Document for OneMachine {
    const KIND: &'static str = "sim-show";
}

pub(crate) fn run(shared: &Shared, args: &Sim) -> Answer {
    match &args.verb {
        SimVerb::List => {
            let machines = Profile::names().iter().map(|name| profile(name)).collect::<Result<Vec<_>, _>>()?;
            if shared.json {
                return output::print_document(&Machines {
                    machines: machines.iter().map(Profile::describe).collect(),
                });
            }
            let line = |profile: &Profile| {
                format!("sim:{:<12} {}\n{:16} loads: {}", profile.name, profile.title, "", profile.loads().join(" "))
            };
            output::print(&machines.iter().map(line).collect::<Vec<_>>().join("\n"));
        }
        SimVerb::Show { name } => {
            let description = profile(name.strip_prefix("sim:").unwrap_or(name))?.describe();
            if shared.json {
                return output::print_document(&OneMachine { machine: description });
            }
            output::print(&description.text());
        }
        SimVerb::Mount { name, folder, root, load } => {
            let extent = if *root { Extent::Root } else { Extent::Cpus };
            return mount(shared, name, folder, extent, *load);
        }
        SimVerb::Enter { name, load, command } => return enter(shared, name, *load, command),
    }
    Ok(Exit::Fine as u8)
}

/// As booted, not as `set` left it: what other programs write there is theirs, and forgotten with the mount.
fn mount(shared: &Shared, name: &str, folder: &Path, extent: Extent, load: MountLoad) -> Answer {
    let mut world = boot(shared, name, load)?;
    let mount = Mount::on(folder, extent).map_err(mount_failure)?;
    output::print(&format!("sim:{} is mounted on {}; Ctrl-C unmounts it", plain(name), folder.display()));
    mount.serve(&mut world).map_err(mount_failure)?;
    Ok(Exit::Fine as u8)
}

/// A command among the files of a machine as booted.
fn enter(shared: &Shared, name: &str, load: MountLoad, command: &[String]) -> Answer {
    // Its mistakes first: nothing is mounted for a machine there is not.
    profile(plain(name))?;
    let namespace = Namespace::new().map_err(mount_failure)?;
    let mut world = boot(shared, name, load)?;
    namespace.run(&mut world, command).map_err(mount_failure)
}

fn plain(name: &str) -> &str {
    name.strip_prefix("sim:").unwrap_or(name)
}

fn boot(shared: &Shared, name: &str, load: MountLoad) -> Result<SimWorld, Failure> {
    let cannot = |error: &dyn std::fmt::Display| Failure::new(Exit::CannotGoOn, error);
    let machine = profile(plain(name))?;
    let mut world = SimWorld::new(machine, None, shared.seed.unwrap_or(1)).map_err(|error| cannot(&error))?;
    let interrupts = powerband_host::interrupts().map_err(|errno| cannot(&errno))?;
    world.interrupt_source(Box::new(interrupts));
    if let Some(machine) = world.machine(Side::Near) {
        start(machine, load)?;
    }
    Ok(world)
}

fn mount_failure(error: MountError) -> Failure {
    Failure::new(mount_exit(&error), error)
}

/// Gives a simulated machine something to do.
pub(super) fn start(machine: &mut dyn Machine, load: MountLoad) -> Result<(), Failure> {
    let work = match load {
        MountLoad::Idle => return Ok(()),
        MountLoad::Counter => Work::Counter { for_ns: COUNTS_NS, align_to_second: false },
        MountLoad::Primes => Work::Primes { ranks: None, limit: PRIMES_BELOW, mpirun: false, among: None },
    };
    let job = Job { work, cpus: None, group: None, user: None, output_limit: None, around: Vec::new() };
    let mut jobs = vec![job.clone()];
    if load == MountLoad::Primes {
        // What a machine does by itself now and then on each CPU: a governor whose timer wakes nobody needs it to go down.
        let online = powerband_sysfs::topology::online(machine).unwrap_or_default();
        let rest = |&cpu: &u32| Job {
            work: Work::Wake { for_ns: COUNTS_NS, interval_ns: WAKES_NS, priority: 0 },
            cpus: Some(CpuList::new(vec![cpu])),
            ..job.clone()
        };
        jobs.extend(online.as_slice().iter().map(rest));
    }
    jobs.iter()
        .try_for_each(|job| machine.spawn(job).map(|_| ()).map_err(|error| Failure::new(Exit::CannotGoOn, error)))
}

fn mount_exit(error: &MountError) -> Exit {
    match error {
        MountError::Refused { errno: Errno::EPERM | Errno::EACCES, .. } | MountError::Namespace { .. } => Exit::Denied,
        MountError::Start { .. } => Exit::LoadFailed,
        MountError::Refused { errno: Errno::ENODEV, .. } => Exit::Unsupported,
        MountError::Refused { .. } => Exit::Usage,
        _ => Exit::CannotGoOn,
    }
}
