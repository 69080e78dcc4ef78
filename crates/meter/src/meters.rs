//! Every kind of meter, in one table.
mod hwmon;
mod modelled;

use powerband_machine::Machine;

use crate::{Inventory, Meter};

pub use hwmon::Hwmon;
pub use modelled::Modelled;

/// Every kind, the ones to prefer first.
pub const ALL: &[&dyn Meter] = &[&Modelled, &Hwmon];

/// Looks for every kind of meter on a machine.
pub fn find_all(machine: &mut dyn Machine) -> Inventory {
    let mut inventory = Inventory::default();
    for meter in ALL {
        match meter.find(machine) {
            Ok(found) => inventory.meters.extend(found),
            Err(absent) => inventory.absent.push(absent),
        }
    }
    inventory
}
