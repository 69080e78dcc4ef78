//! Every kind of meter, in one table.
mod hwmon;
mod modelled;

use powerband_machine::{Errno, Machine};

use crate::{Absent, Inventory, Meter, MeterInstance};

pub use hwmon::Hwmon;
pub use modelled::Modelled;

/// Every kind, the ones to prefer first.
pub const ALL: &[&dyn Meter] = &[&Modelled, &Hwmon];

/// Looks for every kind of meter on a machine.
pub fn find_all(machine: &mut dyn Machine) -> Inventory {
    let mut inventory = Inventory::default();
    for meter in ALL {
        match meter.find(machine) {
            Ok(found) => {
                for meter in found {
                    match denied(machine, &meter) {
                        Some(absent) => inventory.absent.push(absent),
                        None => inventory.meters.push(meter),
                    }
                }
            }
            Err(absent) => inventory.absent.push(absent),
        }
    }
    inventory
}

/// A meter that this user may not read, as one that is not there; what else goes wrong may pass until it is needed.
fn denied(machine: &mut dyn Machine, meter: &MeterInstance) -> Option<Absent> {
    let source = &meter.source;
    let errno = machine.read(source).err().filter(|errno| matches!(*errno, Errno::EACCES | Errno::EPERM))?;
    let why = format!(
        "{source}: {errno}; write `sudo powerband …`, or let the group powerband read it by a line in \
         /etc/tmpfiles.d/powerband.conf: `z {source} 0440 root powerband`"
    );
    Some(Absent { meter: meter.meter, why })
}
