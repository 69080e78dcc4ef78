//! `sim`: the simulated machines there are, what one of them knows and does not know, and one as a file system.
#[cfg(feature = "fuse")]
mod mounted;

use powerband_machine::{Job, Machine};
use powerband_record::{CpuList, Work};
use powerband_rig::profile;
use powerband_sim::{Description, Profile};
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
        #[cfg(feature = "fuse")]
        SimVerb::Mount { name, folder, root, load } => return mounted::mount(shared, name, folder, *root, *load),
        #[cfg(feature = "fuse")]
        SimVerb::Enter { name, load, command } => return mounted::enter(shared, name, *load, command),
        #[cfg(not(feature = "fuse"))]
        SimVerb::Mount { .. } | SimVerb::Enter { .. } => return Err(crate::failure::lacks("FUSE", "", "fuse")),
    }
    Ok(Exit::Fine as u8)
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
