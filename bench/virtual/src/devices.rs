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

/// Ports and disk by virtio and an e1000e with a cable; its address is added to the kernel's command line, `line`.
pub(crate) fn pci(folder: &Path, disk: &Path, cable: Option<&Cable>, line: &mut String) -> Vec<String> {
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
        Some(cable) => plugged(folder, cable, "-device e1000e,netdev=n0,romfile=,mac", line),
    });
    words
}

/// The same as a board has them: serial ports, an SD card for the disk, and the NIC that is on it.
pub(crate) fn on_board(folder: &Path, disk: &Path, cable: Option<&Cable>, line: &mut String) -> Vec<String> {
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
        Some(cable) => plugged(folder, cable, "-net nic,netdev=n0,macaddr", line),
    });
    words
}

/// A cable and the NIC it is plugged into, whose options end before its address.
fn plugged(folder: &Path, cable: &Cable, card: &str, line: &mut String) -> Vec<String> {
    let (number, role, socket) = match cable {
        Cable::Open => (1, "on", folder.join(CABLE)),
        Cable::Into(socket) => (2, "off", socket.clone()),
    };
    line.push_str(&format!(" bench.address={}/24", cable.address()));
    split(&format!(
        "-netdev stream,id=n0,server={role},addr.type=unix,addr.path={} {card}=52:54:00:70:62:{number:02}",
        socket.display()
    ))
}

fn split(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
