//! `sim mount` and `sim enter`: a simulated machine as a file system.
use std::path::Path;

use powerband_machine::{Errno, World};
use powerband_mount::{Extent, Mount, MountError, Namespace};
use powerband_record::Side;
use powerband_rig::profile;
use powerband_sim::SimWorld;

use super::start;
use crate::cli::{MountLoad, Shared};
use crate::exit::{Answer, Exit, Failure};
use crate::output;

/// As booted, not as `set` left it: what other programs write there is theirs, and forgotten with the mount.
pub(super) fn mount(shared: &Shared, name: &str, folder: &Path, root: bool, load: MountLoad) -> Answer {
    let extent = if root { Extent::Root } else { Extent::Cpus };
    let mut world = boot(shared, name, load)?;
    let mount = Mount::on(folder, extent).map_err(mount_failure)?;
    output::print(&format!("sim:{} is mounted on {}; Ctrl-C unmounts it", plain(name), folder.display()));
    mount.serve(&mut world).map_err(mount_failure)?;
    Ok(Exit::Fine as u8)
}

/// A command among the files of a machine as booted.
pub(super) fn enter(shared: &Shared, name: &str, load: MountLoad, command: &[String]) -> Answer {
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

fn mount_exit(error: &MountError) -> Exit {
    match error {
        MountError::Refused { errno: Errno::EPERM | Errno::EACCES, .. } | MountError::Namespace { .. } => Exit::Denied,
        MountError::Start { .. } => Exit::LoadFailed,
        MountError::Refused { errno: Errno::ENODEV, .. } => Exit::Unsupported,
        MountError::Refused { .. } => Exit::Usage,
        _ => Exit::CannotGoOn,
    }
}
