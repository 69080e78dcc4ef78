//! Devices of the command's network namespace: loopback, and one for each card of the machine whose files it sees.
//!
//! A card's device has its name, address and speed (`ip link`). It is a TAP device that nobody is connected to: what ethtool asks of a
//! driver is answered by the TAP driver.
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use powerband_sysfs::net;
use rustix::net::{AddressFamily, SocketType};

/// The device of which network devices are made.
const TUN: &str = "/dev/net/tun";

/// Requests of the ioctl of ethtool, and its settings of a link (linux/ethtool.h `struct ethtool_cmd`).
const GET_SETTINGS: u32 = 1;
const SET_SETTINGS: u32 = 2;
const FULL_DUPLEX: u8 = 1;

#[derive(Default)]
#[repr(C)]
struct LinkSettings {
    request: u32,
    supported: [u32; 2],
    speed: u16,
    duplex: u8,
    others: [u8; 5],
    packets: [u32; 2],
    speed_high: u16,
    rest: [u8; 2],
    reserved: [u32; 3],
}

/// Switches the loopback device on, and makes a device for each card. A kernel without TAP devices, and a card whose
/// address is none, has no device.
///
/// # Errors
/// Those of the loopback device, without which programs cannot speak to themselves.
pub(crate) fn add() -> io::Result<()> {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    up(&socket, "lo")?;
    for entry in fs::read_dir(net::NET).into_iter().flatten().flatten() {
        let _lacking = entry.file_name().to_str().map(|name| add_card(&socket, name));
    }
    Ok(())
}

fn add_card(socket: &OwnedFd, name: &str) -> io::Result<()> {
    let text = |file| fs::read_to_string(net::file(name, file)).unwrap_or_default();
    let address = text("address");
    let bytes = address.trim().split(':').map(|byte| u8::from_str_radix(byte, 16));
    let bytes = bytes.collect::<Result<Vec<u8>, _>>().map_err(io::Error::other)?;
    let tun = fs::File::options().read(true).write(true).open(TUN)?;
    let mut request = named(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    control(&tun, libc::TUNSETIFF as _, &raw mut request)?;
    // It stays with the namespace once it is closed here.
    control(&tun, libc::TUNSETPERSIST as _, std::ptr::without_provenance_mut::<libc::c_void>(1))?;
    let mut request = named(name);
    let mut hardware = libc::sockaddr { sa_family: libc::ARPHRD_ETHER, sa_data: [0; 14] };
    for (to, from) in hardware.sa_data.iter_mut().zip(&bytes) {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_hwaddr = hardware;
    control(socket, libc::SIOCSIFHWADDR as _, &raw mut request)?;
    up(socket, name)?;
    set_speed(socket, name, text("speed").trim().parse().map_err(io::Error::other)?)
}

/// Gives a device a speed, Mbit/s; TAP devices take any since Linux 4.19.
fn set_speed(socket: &OwnedFd, name: &str, mbit_s: u32) -> io::Result<()> {
    let mut settings = LinkSettings { request: GET_SETTINGS, ..LinkSettings::default() };
    let mut request = named(name);
    request.ifr_ifru.ifru_data = (&raw mut settings).cast();
    control(socket, libc::SIOCETHTOOL as _, &raw mut request)?;
    let [high, low] = [mbit_s >> 16, mbit_s & 0xffff].map(|half| u16::try_from(half).unwrap_or_default());
    (settings.request, settings.speed, settings.speed_high) = (SET_SETTINGS, low, high);
    settings.duplex = FULL_DUPLEX;
    request.ifr_ifru.ifru_data = (&raw mut settings).cast();
    control(socket, libc::SIOCETHTOOL as _, &raw mut request)
}

/// Switches a device on.
fn up(socket: &OwnedFd, name: &str) -> io::Result<()> {
    let mut request = named(name);
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    control(socket, libc::SIOCSIFFLAGS as _, &raw mut request)
}

/// A request about the device of a name.
#[expect(unsafe_code, reason = "a C structure of which most fields are unused")]
fn named(name: &str) -> libc::ifreq {
    // SAFETY: of zeros all fields of the C structure are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero, which ends the name.
    for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(name.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    request
}

#[expect(unsafe_code, reason = "rustix has none of these ioctls")]
fn control<T>(file: &impl std::os::fd::AsFd, request: libc::Ioctl, argument: *mut T) -> io::Result<()> {
    // SAFETY: the argument is what the kernel takes for the request: a structure that outlives the call, or a number.
    match unsafe { libc::ioctl(file.as_fd().as_raw_fd(), request, argument) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
