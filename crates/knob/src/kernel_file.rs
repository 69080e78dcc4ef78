//! Files of the kernel: what is written there is a request, what is read an answer, and the two differ in form. The write that
//! brings back what a file shows is decided here.
use powerband_machine::{Action, Errno, Look, resolved_place};

/// Settings of one thing in two units: a write of one sets the other to 0, and 0 itself is refused or leaves both at 0. The one
/// that is not 0 brings both back (Linux 6.12 mm/page-writeback.c, `dirty_bytes_handler`; mm/util.c, `overcommit_kbytes_handler`).
const PAIRS: [[&str; 2]; 3] = [
    ["/proc/sys/vm/dirty_ratio", "/proc/sys/vm/dirty_bytes"],
    ["/proc/sys/vm/dirty_background_ratio", "/proc/sys/vm/dirty_background_bytes"],
    ["/proc/sys/vm/overcommit_ratio", "/proc/sys/vm/overcommit_kbytes"],
];

/// Files of which some values stay until the next boot: whatever is not among the values that can be taken back. The value that
/// is there can be written, so that no trial of the undo shows it.
const ONE_WAY: [(&str, &[&str], &str); 5] = [
    // Linux 6.12 kernel/bpf/syscall.c, `bpf_unpriv_handler`.
    ("/proc/sys/kernel/unprivileged_bpf_disabled", &["0", "2"], "the kernel takes no other value after 1"),
    // security/yama/yama_lsm.c, `yama_dointvec_minmax`.
    ("/proc/sys/kernel/yama/ptrace_scope", &["0", "1", "2"], "the kernel takes no other value after 3"),
    // kernel/panic.c, `proc_taint`.
    ("/proc/sys/kernel/tainted", &[], "the kernel adds flags and removes none"),
    // kernel/umh.c, `proc_cap_handler`.
    ("/proc/sys/kernel/usermodehelper/bset", &[], "the kernel drops capabilities and adds none"),
    ("/proc/sys/kernel/usermodehelper/inheritable", &[], "the kernel drops capabilities and adds none"),
];

/// Files that may show another value than the one in force, and the file of the same folder that shows that one: the CPU that
/// booted is asked for state 0 and is in the highest until Linux 6.2 (kernel/cpu.c, `boot_cpu_hotplug_init`), so that writing
/// what is there takes it offline.
const IN_FORCE: [(&str, &str); 1] = [("/hotplug/target", "state")];

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

/// The first device whose own addresses or routes are lost when IPv6 is switched off there (`addrconf_ifdown`), of one or of all, or
/// when the device itself is.
fn loses_addresses(machine: &mut dyn Look, path: &str, value: &str) -> Option<String> {
    let switched = path.strip_prefix("/proc/sys/net/ipv6/conf/").and_then(|rest| rest.strip_suffix("/disable_ipv6"));
    let link = path.strip_prefix("/sys/class/net/").and_then(|rest| rest.split_once('/'));
    let is_up = |machine: &mut dyn Look| machine.read(path).is_ok_and(|flags| is_up_in(&flags));
    let device = match (switched, link) {
        (Some(device), _) if value.trim() != "0" && value_of(&machine.read(path).ok()?) == "0" => device,
        (_, Some((device, "mtu"))) if value.trim().parse().is_ok_and(|mtu: u64| mtu < MIN_MTU) => device,
        // One that goes down loses routes of IPv4 as well.
        (_, Some((device, "flags"))) if is_up(machine) && !is_up_in(value) => return Some(device.to_owned()),
        _ => return None,
    };
    let is_it = |name: &str| name == device || device == "all";
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

/// Why a value of a file could not be taken back, if that is known without trying.
pub(crate) fn not_taken_back(machine: &mut dyn Look, path: &str, value: &str) -> Option<String> {
    let one_way = ONE_WAY.iter().find(|(file, ..)| *file == path);
    if let Some((.., why)) = one_way.filter(|(_, reversible, _)| !reversible.contains(&value.trim())) {
        return Some((*why).to_owned());
    }
    if let Some(device) = loses_addresses(machine, path, value) {
        return Some(format!("{device} would lose its addresses or routes, which the kernel does not give back"));
    }
    let (_, other) = IN_FORCE.iter().find(|(end, _)| path.ends_with(end))?;
    let other = format!("{}/{other}", path.rsplit_once('/')?.0);
    let (shown, real) = (machine.read(path).ok()?, machine.read(&other).ok()?);
    let (shown, real) = (shown.trim(), real.trim());
    (shown != real).then(|| format!("it shows {shown}, but {real} is in force ({other})"))
}

/// Whether a refusal shows that nobody sets a file: it takes no value at all here, or belongs to an interrupt that the kernel
/// itself stops and starts with its CPU (kernel/irq/proc.c, `write_irq_affinity`).
pub(crate) fn takes_nothing(path: &str, errno: Errno) -> bool {
    match errno {
        Errno::EOPNOTSUPP | Errno::ENOTSUPP => true,
        Errno::EIO => path.starts_with("/proc/irq/"),
        _ => false,
    }
}

/// Whether a file is the kernel's.
pub(crate) fn is_kernel_file(path: &str) -> bool {
    ["/sys/", "/proc/"].iter().any(|root| path.starts_with(root))
}

/// Folders of devices, which lie below the device they belong to and are named by their class.
const CLASSES: [(&str, &str); 2] = [("/block/", "/sys/block/"), ("/net/", "/sys/class/net/")];

/// The one path of a file of the kernel, however it is spelt and whatever links lead there: by it everything that is known of a file is
/// looked up, and it is restored there. Below a device it begins with the device's class.
pub(crate) fn one_path(machine: &mut dyn Look, path: &str) -> String {
    let resolved = machine.read(&resolved_place(path)).ok().map(|text| text.trim_end_matches('\n').to_owned());
    let resolved = resolved.filter(|path| path.starts_with('/')).unwrap_or_else(|| path.to_owned());
    let parts: Vec<&str> = resolved.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let plain = format!("/{}", parts.join("/"));
    let class = plain.strip_prefix("/sys/devices/").and_then(|below| {
        let of = |(class, folder): (&str, &str)| below.split_once(class).map(|(_, rest)| format!("{folder}{rest}"));
        CLASSES.into_iter().find_map(of)
    });
    class.unwrap_or(plain)
}

/// The value in effect among what a file shows: of choices, the one in brackets (`always [madvise] never`).
pub(crate) fn value_of(shown: &str) -> &str {
    let shown = shown.trim();
    let mut chosen = shown.split_whitespace().filter_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    match (chosen.next(), chosen.next()) {
        (Some(value), None) if !value.is_empty() => value,
        _ => shown,
    }
}

/// The write that brings back what a file of the kernel shows now.
pub(crate) fn undo_of(machine: &mut dyn Look, path: &str, shown: &str) -> Action {
    if shown.trim() == "0" {
        let other = PAIRS.iter().find_map(|pair| {
            let place = pair.iter().position(|member| *member == path)?;
            Some(pair[1 - place])
        });
        let text = other.and_then(|other| machine.read(other).ok().map(|text| text.trim().to_owned()));
        if let Some((other, text)) = other.zip(text).filter(|(_, text)| text != "0") {
            return Action::WriteFile { path: other.to_owned(), text };
        }
    }
    Action::WriteFile { path: path.to_owned(), text: written(path, value_of(shown)) }
}

/// Files that take a word only with the end of its line (Linux 6.12 kernel/printk/printk.c, `devkmsg_sysctl_set_loglvl`).
const WHOLE_LINES: [&str; 1] = ["/proc/sys/kernel/printk_devkmsg"];

/// The text to write for a value. A write of no bytes at all does not reach the kernel.
pub(crate) fn written(path: &str, value: &str) -> String {
    let end = if value.is_empty() || WHOLE_LINES.contains(&path) { "\n" } else { "" };
    format!("{value}{end}")
}

#[cfg(test)]
mod tests {
    use powerband_machine::Errno;

    use super::{takes_nothing, value_of, written};

    #[test]
    fn a_refusal_of_what_nobody_sets_is_known() {
        assert!(takes_nothing("/proc/sys/kernel/nmi_watchdog", Errno::ENOTSUPP));
        assert!(takes_nothing("/proc/irq/26/smp_affinity_list", Errno::EIO));
        assert!(!takes_nothing("/sys/devices/system/cpu/cpufreq/boost", Errno::EIO));
    }

    #[test]
    fn a_word_that_needs_the_end_of_its_line_has_one() {
        assert_eq!(written("/proc/sys/kernel/printk_devkmsg", "on"), "on\n");
        assert_eq!(written("/proc/sys/vm/swappiness", "60"), "60");
        assert_eq!(written("/proc/sys/net/ipv4/ip_local_reserved_ports", ""), "\n");
    }

    #[test]
    fn the_value_of_choices_is_the_one_in_brackets() {
        for (shown, value) in [
            ("always [madvise] never\n", "madvise"),
            ("[none] mq-deadline", "none"),
            ("60\n", "60"),
            ("4096\t131072\t6291456\n", "4096\t131072\t6291456"),
            ("[a] [b]", "[a] [b]"),
            ("\n", ""),
        ] {
            assert_eq!(value_of(shown), value);
        }
    }
}
