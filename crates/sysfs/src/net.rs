//! Network devices: the folders of their class, their drivers, sockets.
use powerband_machine::Look;

use crate::text;

paths! {
    NET = "/sys/class/net";
    VIRTIO = "/sys/bus/virtio/devices";
    DEVICES = "/proc/net/dev";
    TCP = "/proc/net/tcp";
    TCP6 = "/proc/net/tcp6";
    UDP = "/proc/net/udp";
    UDP6 = "/proc/net/udp6";
}

/// A file of a device, by its name in the device's folder.
pub fn file(device: &str, name: &str) -> String {
    format!("{NET}/{device}/{name}")
}

/// Network devices by name, in the kernel's order.
pub fn devices(machine: &mut dyn Look) -> Vec<String> {
    // Of our own network namespace, while /sys is that of who mounted it. Two lines of headings come first.
    let text = machine.read(DEVICES).unwrap_or_default();
    text.lines().skip(2).filter_map(|line| Some(line.rsplit_once(':')?.0.trim().to_owned())).collect()
}

/// Whether a device has hardware of its own.
pub fn is_card(machine: &mut dyn Look, device: &str) -> bool {
    machine.list(&file(device, "device")).is_ok()
}

/// Returns the hardware address of a device.
pub fn address(machine: &mut dyn Look, device: &str) -> Option<String> {
    text(machine, &file(device, "address"))
}

/// Where a device's driver is named: the link to it is in its device's event, too, which is text.
pub fn event(device: &str) -> String {
    file(device, "device/uevent")
}

/// The driver that an event names.
pub fn driver_in(event: &str) -> Option<String> {
    event.lines().find_map(|line| line.strip_prefix("DRIVER=").map(str::to_owned))
}
