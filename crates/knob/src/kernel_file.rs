//! Files of the kernel: what is written there is a request, what is read an answer, and the two differ in form. The write that
//! brings back what a file shows is decided here.
use powerband_machine::{Action, Look};

/// Settings of one thing in two units: a write of one sets the other to 0, and 0 itself is refused or leaves both at 0. The one
/// that is not 0 brings both back (Linux 6.12 mm/page-writeback.c, `dirty_bytes_handler`; mm/util.c, `overcommit_kbytes_handler`).
const PAIRS: [[&str; 2]; 3] = [
    ["/proc/sys/vm/dirty_ratio", "/proc/sys/vm/dirty_bytes"],
    ["/proc/sys/vm/dirty_background_ratio", "/proc/sys/vm/dirty_background_bytes"],
    ["/proc/sys/vm/overcommit_ratio", "/proc/sys/vm/overcommit_kbytes"],
];

/// Whether a file is the kernel's.
pub(crate) fn is_kernel_file(path: &str) -> bool {
    ["/sys/", "/proc/"].iter().any(|root| path.starts_with(root))
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
    // A write of no bytes at all does not reach the kernel.
    let value = match value_of(shown) {
        "" => "\n",
        value => value,
    };
    Action::WriteFile { path: path.to_owned(), text: value.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::value_of;

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
