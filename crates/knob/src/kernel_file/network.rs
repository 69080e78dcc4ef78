//! What a network device loses for good when a write takes IPv6, or the device itself, down.
use powerband_machine::{CommandPlace, Errno, Look};

use super::value_of;

/// Addresses of IPv6, `ADDRESS INDEX PREFIX SCOPE FLAGS DEVICE` a line, all but the last in hex (Linux 6.12 net/ipv6/addrconf.c,
/// `if6_seq_show`).
const ADDRESSES: &str = "/proc/net/if_inet6";

/// Routes of IPv6 with flags and device last (Linux 6.12 net/ipv6/route.c, `rt6_info_route`).
const ROUTES: &str = "/proc/net/ipv6_route";

/// The scope of addresses that the kernel does not give itself, and of those that it may.
const GLOBAL: &str = "00";
const LINK: &str = "20";

/// The least MTU with IPv6 (`IPV6_MIN_MTU`): a device with a lower one loses all that it has of it.
const MIN_MTU: u64 = 1_280;

/// The least MTU with IPv4 (`IPV4_MIN_MTU`), likewise.
const MIN_MTU_4: u64 = 68;

/// Neighbours that were entered by hand, and those that are answered for; they are not in any file.
const NEIGHBOURS: [&str; 2] = ["ip -6 neigh show nud permanent", "ip -6 neigh show proxy"];

/// Folders of what is set for each device, of which new devices get the defaults.
const SETTINGS: [&str; 2] = ["/proc/sys/net/ipv6/conf", "/proc/sys/net/ipv6/neigh"];

/// What a device is to lose.
enum Down<'p> {
    /// What it has of IPv6, of one or of all (`addrconf_ifdown`).
    Stopped(&'p str),
    /// That, and its settings of IPv6.
    Removed(&'p str),
    /// Routes and addresses of IPv4 as well.
    Whole(&'p str),
}

/// What would be lost, in words, when IPv6 is switched off for a device, of one or of all, or when the device itself is.
pub(super) fn loss(machine: &mut dyn Look, path: &str, value: &str) -> Option<String> {
    let lost =
        |device: &str, what: &str| Some(format!("{device} would lose its {what}, which the kernel does not give back"));
    let (device, is_removed) = match down(machine, path, value)? {
        Down::Whole(device) => return lost(device, "addresses or routes"),
        Down::Stopped(device) => (device, false),
        Down::Removed(device) => (device, true),
    };
    let is_it = |name: &str| name == device || device == "all";
    if let Some(device) = loses_addresses(machine, &is_it) {
        return lost(&device, "addresses or routes");
    }
    if let Some(device) = loses_neighbours(machine, &is_it) {
        return lost(&device, "permanent neighbours of IPv6");
    }
    (is_removed && loses_settings(machine, device)).then(|| lost(device, "settings of IPv6")).flatten()
}

/// What a write takes down.
fn down<'p>(machine: &mut dyn Look, path: &'p str, value: &str) -> Option<Down<'p>> {
    let switched = path.strip_prefix("/proc/sys/net/ipv6/conf/").and_then(|rest| rest.strip_suffix("/disable_ipv6"));
    if let Some(device) = switched {
        let is_on = value_of(&machine.read(path).ok()?) == "0";
        return (is_on && value.trim() != "0").then_some(Down::Stopped(device));
    }
    let (device, name) = path.strip_prefix("/sys/class/net/")?.split_once('/')?;
    match name {
        "mtu" => match number(value)? {
            mtu if mtu < MIN_MTU_4 => Some(Down::Whole(device)),
            mtu if mtu < MIN_MTU => Some(Down::Removed(device)),
            _ => None,
        },
        "flags" => {
            let is_up = machine.read(path).is_ok_and(|flags| is_up_in(&flags));
            (is_up && !is_up_in(value)).then_some(Down::Whole(device))
        }
        _ => None,
    }
}

/// A number as the kernel reads it (Linux 6.12 lib/kstrtox.c): with 0x in hex, with 0 in octal.
fn number(text: &str) -> Option<u64> {
    let text = text.trim().trim_start_matches('+').to_lowercase();
    match (text.strip_prefix("0x"), text.strip_prefix('0')) {
        (Some(hex), _) => u64::from_str_radix(hex, 16).ok(),
        (None, Some(octal)) if !octal.is_empty() => u64::from_str_radix(octal, 8).ok(),
        _ => text.parse().ok(),
    }
}

/// The first device whose own addresses or routes are lost.
fn loses_addresses(machine: &mut dyn Look, is_it: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut rows = |file: &str| machine.read(file).unwrap_or_default();
    let addresses = rows(ADDRESSES);
    let mut addresses = addresses.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut linked: Vec<(&str, &str)> = Vec::new();
    let address = addresses.find_map(|row| match row[..] {
        [_, _, _, GLOBAL, _, name] if is_it(name) => Some(name.to_owned()),
        [address, _, _, LINK, _, name] if is_it(name) => {
            linked.push((name, address));
            None
        }
        _ => None,
    });
    let address = address.or_else(|| {
        let is_lost = |&&(name, address): &&(&str, &str)| {
            let is_alone = linked.iter().filter(|(other, _)| *other == name).count() == 1;
            !is_given_back(&mut rows, name, address, is_alone)
        };
        linked.iter().find(is_lost).map(|(name, _)| (*name).to_owned())
    });
    let routes = rows(ROUTES);
    let mut routes = routes.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    address.or_else(|| {
        routes.find_map(|row| match row[..] {
            [destination, .., flags, name] if is_it(name) && is_own_route(destination, flags) => Some(name.to_owned()),
            _ => None,
        })
    })
}

/// The first device whose neighbours by hand are lost (`neigh_ifdown`, `pneigh_ifdown_and_unlock` of net/core/neighbour.c). Where
/// nothing can print them, none are known.
fn loses_neighbours(machine: &mut dyn Look, is_it: &dyn Fn(&str) -> bool) -> Option<String> {
    NEIGHBOURS.iter().find_map(|line| {
        let printed = machine.read(&CommandPlace { line, user: None }.to_string()).unwrap_or_default();
        let device = |line: &str| line.split_whitespace().skip_while(|word| *word != "dev").nth(1).map(str::to_owned);
        printed.lines().filter_map(device).find(|device| is_it(device))
    })
}

/// Whether a device has other settings of IPv6 than it begins with: those of the default or, as a network namespace of its own has no
/// default for neighbours, of the loopback device. Its MTU follows its link.
fn loses_settings(machine: &mut dyn Look, device: &str) -> bool {
    SETTINGS.iter().any(|folder| {
        let folders = [device, "default", "lo"].map(|name| format!("{folder}/{name}"));
        let entries = machine.list(&folders[0]).unwrap_or_default();
        let names = entries.iter().filter(|entry| !entry.folder && entry.mode & 0o200 != 0 && entry.name != "mtu");
        let names: Vec<&str> = names.map(|entry| entry.name.as_str()).collect();
        let texts = machine.read_in(&folders, &names);
        let [own, default, loopback] = texts.as_slice() else { return false };
        let begun = default.iter().zip(loopback).map(|(default, loopback)| match default {
            Err(Errno::ENOENT) => loopback,
            default => default,
        });
        own.iter().zip(begun).any(|(own, begun)| own != begun)
    })
}

/// Whether the kernel gives a device this address of its link again: it makes one of the device's own (Linux 6.12 net/ipv6/addrconf.c,
/// `addrconf_addr_gen`, `addrconf_ifid_eui48`), none, or one of a secret, which is known only to be one.
fn is_given_back(read: &mut dyn FnMut(&str) -> String, device: &str, address: &str, is_alone: bool) -> bool {
    let hardware = read(&format!("/sys/class/net/{device}/address"));
    let bytes: Vec<u8> = hardware.trim().split(':').filter_map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    match (read(&format!("/proc/sys/net/ipv6/conf/{device}/addr_gen_mode")).trim(), &bytes[..]) {
        ("1", _) => false,
        ("" | "0", [a, b, c, d, e, f]) => {
            address == format!("fe80000000000000{:02x}{b:02x}{c:02x}fffe{d:02x}{e:02x}{f:02x}", a ^ 2)
        }
        _ => is_alone,
    }
}

/// Whether a route is somebody's own: up, of no address of this machine and no multicast, and not made by the kernel (Linux 6.12
/// include/uapi/linux/ipv6_route.h and route.h).
fn is_own_route(destination: &str, flags: &str) -> bool {
    const UP: u64 = 1;
    const NOT_OWN: u64 = 0x8000_0000 | 0x0100_0000 | 0x0020_0000 | 0x0010_0000 | 0x0004_0000;
    let multicast = destination.starts_with("ff") || destination.starts_with("fe80");
    u64::from_str_radix(flags, 16).is_ok_and(|flags| flags & UP != 0 && flags & NOT_OWN == 0 && !multicast)
}

/// Whether a device's flags, in hex, say that it is up.
fn is_up_in(flags: &str) -> bool {
    let flags = flags.trim();
    u64::from_str_radix(flags.strip_prefix("0x").unwrap_or(flags), 16).is_ok_and(|flags| flags & 1 == 1)
}
