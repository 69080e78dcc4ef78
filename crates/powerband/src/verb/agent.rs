//! `agent`: this machine in the service of a powerband at the other end of standard input and output.
use std::os::unix::ffi::OsStrExt;

use powerband_host::{Agent, FileLedger, HostWorld, LocalMachine, Lock, Opened, Parting, holder, remove_unused_folder};
use powerband_knob::restore;
use powerband_machine::World;
use powerband_machine::wire::{Hello, Purpose, Refusal};
use powerband_record::Side;

use crate::cli;
use crate::exit::{Answer, Exit, Failure};
use crate::left::{self, Kept};
use crate::{incomplete, rig};

pub(crate) fn run(args: &cli::Agent) -> Answer {
    if args.carried {
        remove_carried();
    }
    let agent = Agent::at_stdio().map_err(|error| Failure::new(Exit::CannotGoOn, error))?;
    // The machine and its guardian go before the lock does, also after an error.
    let (lock, mut opened) = match open(agent.hello()) {
        Ok(opened) => opened,
        Err(failure) => {
            let exit = failure.exit as u8;
            // The owner says it; said here too it would stand there twice.
            agent.refuse(Refusal { exit, why: failure.sentence });
            return Ok(exit);
        }
    };
    let turns = !agent.hello().purpose.only_looks();
    let parting = agent.serve(&mut opened, env!("CARGO_PKG_VERSION"));
    opened.world.end_loads();
    if turns {
        put_back(&mut opened)?;
    }
    drop(opened);
    if let Some(lock) = lock {
        remove_unused_folder(lock);
    }
    match parting {
        Parting::Ended => Ok(Exit::Fine as u8),
        Parting::Stopped => Ok(Exit::Stopped as u8),
        Parting::Silent => {
            Err(Failure::new(Exit::CannotGoOn, "the other end was silent for too long; everything was restored"))
        }
        Parting::Nonsense(why) => Err(Failure::new(Exit::CannotGoOn, why)),
    }
}

/// As every command opens this machine; whoever turns has the lock for as long as it serves.
fn open(hello: &Hello) -> Result<(Option<Lock>, Opened), Failure> {
    let looks = hello.purpose.only_looks();
    let folder = powerband_host::agent_folder(hello.owner.as_ref());
    let folder = if looks { folder.unwrap_or_default() } else { folder.ok_or_else(rig::no_place)? };
    let lock = if looks { None } else { Some(rig::lock(&folder, &format!("{} for another machine", hello.doing))?) };
    let held = if looks { holder(&folder).map(|holder| holder.to_string()) } else { None };
    let machine = LocalMachine::new(FileLedger::new(&folder)).map_err(rig::ledger_failure)?;
    let machine = match hello.purpose {
        Purpose::Rehearse => machine.rehearsing(),
        Purpose::Look => machine,
        _ => machine.guarded(),
    };
    let mut world = HostWorld::new(machine).map_err(|errno| Failure::new(Exit::CannotGoOn, errno))?;
    if matches!(hello.purpose, Purpose::Turn | Purpose::Measure) {
        left::clear(&mut world, &[Kept { side: Side::Near, folder: folder.clone(), away: None }])?;
    }
    Ok((lock, Opened { world, folder: folder.display().to_string(), held }))
}

/// What is still held when the owner is gone.
fn put_back(opened: &mut Opened) -> Result<(), Failure> {
    let Some(machine) = opened.world.machine(Side::Near) else { return Ok(()) };
    let held = left::held(machine);
    let restored = restore(machine, &held, false);
    // Nobody looks at the exit code of what reads otherwise here: the owner is gone.
    if restored.failed.is_empty() {
        return Ok(());
    }
    Err(incomplete::failure(&restored.left(), &format!("{} says what was there", opened.folder)))
}

/// Our own program and its folder, which were made for this run alone. What runs needs neither.
fn remove_carried() {
    let Ok(program) = std::fs::read_link("/proc/self/exe") else { return };
    let Some(folder) = program.parent() else { return };
    let is_ours = folder.file_name().is_some_and(|name| name.as_bytes().starts_with(b"powerband."));
    if is_ours && std::fs::remove_file(&program).is_ok() {
        let _ = std::fs::remove_dir(folder);
    }
}
