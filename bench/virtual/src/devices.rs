//! A guest's monitors, ports, disk and NIC on the emulator's command line, by PCI or as a board has them.
use std::path::Path;

use crate::boot_options::{CABLE, Cable};

/// Ports of a guest by their numbers there: what runs commands, and what leads to an agent.
const PORTS: [(u8, &str); 2] = [(1, "port"), (2, "agent")];

/// CPUs that run next to one another, and two monitors, one of them the silicon's.
pub(crate) fn paced(folder: &Path) -> Vec<String> {
    let place = folder.display();
    split(&format!(
        "-accel tcg,thread=multi -qmp unix:{place}/monitor.sock,server=on,wait=off \
         -qmp unix:{place}/silicon.sock,server=on,wait=off"
    ))
}

/// Ports and disk by virtio and an e1000e with a cable, whose address a copy changes later.
pub(crate) fn pci(folder: &Path, disk: &Path, cable: Option<&Cable>, hardware_address: &str) -> Vec<String> {
    let place = folder.display();
    let mut words = split("-device virtio-serial-pci,max_ports=3");
    for (number, port) in PORTS {
        words.extend(split(&format!(
            "-chardev socket,id={port},path={place}/{port}.sock,server=on,wait=off \
             -device virtserialport,chardev={port},nr={number},name={port}"
        )));
    }
    words.extend(split(&format!("-drive file={},if=virtio,format=raw", disk.display())));
    words.extend(match cable {
        None => split("-nic none"),
        Some(cable) => plugged(folder, cable, &format!("-device e1000e,netdev=n0,romfile=,mac={hardware_address}")),
    });
    words
}

/// The same as a board has them: serial ports, an SD card for the disk, and the NIC that is on it.
pub(crate) fn on_board(folder: &Path, disk: &Path, cable: Option<&Cable>) -> Vec<String> {
    let place = folder.display();
    let mut words = Vec::new();
    for (_, port) in PORTS {
        words.extend(split(&format!(
            "-chardev socket,id={port},path={place}/{port}.sock,server=on,wait=off -serial chardev:{port}"
        )));
    }
    words.extend(split(&format!("-drive file={},if=sd,format=raw", disk.display())));
    words.extend(match cable {
        None => split("-nic none"),
        Some(cable) => plugged(folder, cable, &format!("-net nic,netdev=n0,macaddr={}", cable.hardware_address())),
    });
    words
}

/// A cable and the NIC it is plugged into.
fn plugged(folder: &Path, cable: &Cable, card: &str) -> Vec<String> {
    let (role, socket) = match cable {
        Cable::Open => ("on", folder.join(CABLE)),
        Cable::Into(socket) => ("off", socket.clone()),
    };
    split(&format!("-netdev stream,id=n0,server={role},addr.type=unix,addr.path={} {card}", socket.display()))
}

fn split(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
