//! Files of the kernel: what is written there is a request, what is read an answer, and the two differ in form. The write that
//! brings back what a file shows is decided here.
mod network;
mod one_way;

use powerband_machine::{Action, Errno, Look, resolved_place};

pub(crate) use one_way::not_taken_back;

/// Settings of one thing in two units: a write of one sets the other to 0, and 0 itself is refused or leaves both at 0. The one
/// that is not 0 brings both back (Linux 6.12 mm/page-writeback.c, `dirty_bytes_handler`; mm/util.c, `overcommit_kbytes_handler`).
const PAIRS: [[&str; 2]; 3] = [
    ["/proc/sys/vm/dirty_ratio", "/proc/sys/vm/dirty_bytes"],
    ["/proc/sys/vm/dirty_background_ratio", "/proc/sys/vm/dirty_background_bytes"],
    ["/proc/sys/vm/overcommit_ratio", "/proc/sys/vm/overcommit_kbytes"],
];

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
    let value = match value_of(shown) {
        one_way::NOTHING if path.ends_with(one_way::EMPTIED) => "",
        value => value,
    };
    Action::WriteFile { path: path.to_owned(), text: written(path, value) }
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
