//! Every kind of meter, in one table, and what a machine has of them.
mod hwmon;
mod iio;
mod modelled;
mod perf;
mod permission;
mod power_supply;
mod powercap;
mod twins;

use powerband_machine::{ErrorRecorder, Look};

use crate::{Inventory, Meter, MeterInstance, PowerScope, sum};

pub use hwmon::Hwmon;
pub use iio::Iio;
pub use modelled::Modelled;
pub use perf::Perf;
pub use power_supply::PowerSupply;
pub use powercap::Powercap;

/// Every kind, the ones to prefer first.
pub const ALL: &[&dyn Meter] = &[&Modelled, &Powercap, &Perf, &Hwmon, &Iio, &PowerSupply];

/// Looks for every kind of meter on a machine. One that this user may not read, or that shows what another shows already, is
/// among the absent ones; the packages of a machine that has several are there as their sum, too.
pub fn find_all(machine: &mut dyn Look) -> Inventory {
    let mut inventory = Inventory::default();
    for meter in ALL {
        let mut error_recorder = ErrorRecorder::new(machine);
        let found = meter.find(&mut error_recorder);
        let mut unread = error_recorder.into_failures();
        match found {
            Ok(found) => {
                // What a meter itself answers is told by permission, or when it is needed.
                unread.retain(|file| found.iter().all(|meter| meter.source != file.path));
                inventory.meters.extend(permission::permitted(machine, found, &mut inventory.absent));
            }
            Err(absent) => {
                unread.retain(|file| !absent.why.contains(&file.path));
                inventory.absent.push(absent);
            }
        }
        inventory.unread.extend(unread);
    }
    twins::leave_out(machine, &mut inventory);
    if let Some(packages) = packages(&inventory.meters) {
        let first = inventory.meters.iter().position(is_package).unwrap_or(0);
        inventory.meters.insert(first, packages);
    }
    inventory
}

fn is_package(meter: &MeterInstance) -> bool {
    matches!(meter.scope, PowerScope::Package(_))
}

/// All packages as one meter, if there are several; as one kind names them, as another may take dies for packages.
fn packages(meters: &[MeterInstance]) -> Option<MeterInstance> {
    let kind = meters.iter().find(|meter| is_package(meter))?.meter;
    let packages: Vec<&MeterInstance> = meters.iter().filter(|it| is_package(it) && it.meter == kind).collect();
    sum(&packages).ok()
}
