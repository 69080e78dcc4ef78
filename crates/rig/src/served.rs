//! This machine in the service of another powerband: opened as every owner opens it, restored when the other end is gone.
use std::path::PathBuf;

use powerband_host::{
    AccessMachine, Agent, Carried, HostMachine, HostWorld, Lock, Opened, Parting, agent_folder, folder_there, holder,
    remove_unused_folder,
};
use powerband_knob::restore;
use powerband_machine::World;
use powerband_machine::wire::{Hello, Purpose, Refusal};
use powerband_record::{ErrorClass, Side};

use crate::real::local_machine;
use crate::{LedgerLocation, Notes, RigError, access, check_place, leftovers, lock};

/// How an agent's service ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Service {
    /// Its owner is gone, and what it held is restored.
    Done(Parting),
    /// It never began, and the owner knows why: this machine cannot be opened, or the agent's file was changed.
    Refused(ErrorClass),
}

/// Serves the powerband that is connected to standard input and output until it is gone. `carried` says whether this program was
/// copied here, and for how long.
///
/// # Errors
/// [`RigError::Agent`] without an owner, [`RigError::LeftByOwner`] when something could not be restored.
pub fn serve(carried: Option<Carried>, notes: &mut dyn Notes) -> Result<Service, RigError> {
    let settled = carried.map_or(Ok(()), Carried::settle);
    let agent = Agent::at_stdio()?;
    match settled.map_err(RigError::from).and_then(|()| Served::open(agent.hello(), carried, notes)) {
        Ok(served) => served.serve(agent).map(Service::Done),
        Err(error) => {
            let class = error.class();
            // The owner prints it. Printed here too it would appear twice.
            agent.refuse(Refusal { class, why: error.to_string() });
            Ok(Service::Refused(class))
        }
    }
}

/// This machine, open for an agent.
struct Served {
    lock: Option<Lock>,
    opened: Opened,
    changes: bool,
    /// What is made below this folder goes again, unless something is kept there: this program leaves nothing.
    made_below: Option<PathBuf>,
}

impl Served {
    /// Opens it for the owner at the other end; one that changes something has the lock for as long as it is served.
    ///
    /// # Errors
    /// [`RigError`], as for any owner.
    fn open(hello: &Hello, carried: Option<Carried>, notes: &mut dyn Notes) -> Result<Served, RigError> {
        check_place()?;
        let looks = hello.purpose.only_looks();
        let folder = agent_folder(hello.owner.as_ref());
        let folder = if looks { folder.unwrap_or_default() } else { folder.ok_or(RigError::NoPlace)? };
        let made_below = if carried == Some(Carried::Once) { folder_there(&folder) } else { None };
        let lock = if looks { None } else { Some(lock(&folder, &format!("{} for another machine", hello.doing))?) };
        let held = if looks { holder(&folder).map(|holder| holder.to_string()) } else { None };
        let machine: HostMachine = match powerband_host::service_socket().filter(|_| !looks) {
            Some(socket) => {
                let local = local_machine(&folder, hello.purpose)?;
                AccessMachine::new(local, socket, access::hello(Purpose::Measure, &hello.doing)).into()
            }
            None => local_machine(&folder, hello.purpose)?.into(),
        };
        let mut world = HostWorld::new(machine).map_err(RigError::World)?;
        if matches!(hello.purpose, Purpose::Turn | Purpose::Measure) {
            leftovers::clear(&mut world, &[LedgerLocation::here(Side::Near, folder.clone())], notes)?;
        }
        let opened = Opened { world, folder: folder.display().to_string(), held };
        Ok(Served { lock, opened, changes: !looks, made_below })
    }

    /// Does what the owner asks until it is gone, and restores what it then still holds. The machine and its guardian go before the
    /// lock does, also after an error.
    ///
    /// # Errors
    /// [`RigError::LeftByOwner`] when something could not be restored.
    fn serve(self, agent: Agent) -> Result<Parting, RigError> {
        let Served { lock, mut opened, changes, made_below } = self;
        let parting = agent.serve(&mut opened, env!("CARGO_PKG_VERSION"));
        opened.world.end_loads();
        if changes {
            restore_held(&mut opened)?;
        }
        drop(opened);
        if let Some(lock) = lock {
            remove_unused_folder(lock, made_below.as_deref());
        }
        Ok(parting)
    }
}

/// What is still held when the owner is gone.
pub(crate) fn restore_held(opened: &mut Opened) -> Result<(), RigError> {
    let Some(machine) = opened.world.machine(Side::Near) else { return Ok(()) };
    let held = leftovers::held(machine);
    let restored = restore(machine, &held, false);
    // Nobody looks at the exit code of what reads otherwise here: the owner is gone.
    if restored.failed.is_empty() {
        return Ok(());
    }
    Err(RigError::LeftByOwner { left: restored.left(), folder: opened.folder.clone() })
}
