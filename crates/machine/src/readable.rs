//! What a path leads to: a file, or something else that reads like one.
use crate::{CoalescingPlace, CommandPlace, LinesPlace, PerfPlace};

/// What a path leads to. On the wire, in the ledger and in journals it is the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readable<'p> {
    /// A file, by its path.
    File(&'p str),
    /// Interrupt coalescing of a network device.
    Coalescing(CoalescingPlace<'p>),
    /// What a command prints.
    Command(CommandPlace<'p>),
    /// The lines that a command prints while it is open.
    Lines(LinesPlace<'p>),
    /// A counter of perf.
    Perf(PerfPlace<'p>),
    /// The path of a file without links on its way: `resolved:/sys/block/loop0/queue/scheduler`.
    Resolved(&'p str),
}

/// What the path of a file without links on its way reads from begins with.
const RESOLVED: &str = "resolved:";

/// Where the path of a file without links on its way reads from; a file that is not there yet has that of its folder.
#[must_use]
pub fn resolved_place(path: &str) -> String {
    format!("{RESOLVED}{path}")
}

impl<'p> Readable<'p> {
    /// Of a path. What none of the other kinds understands is a file's, which is there or not.
    #[must_use]
    pub fn of(path: &'p str) -> Self {
        // Paths of files are absolute, and most are files'.
        if path.starts_with('/') {
            return Readable::File(path);
        }
        None.or_else(|| CoalescingPlace::of(path).map(Readable::Coalescing))
            .or_else(|| CommandPlace::of(path).map(Readable::Command))
            .or_else(|| LinesPlace::of(path).map(Readable::Lines))
            .or_else(|| PerfPlace::of(path).map(Readable::Perf))
            .or_else(|| path.strip_prefix(RESOLVED).filter(|path| path.starts_with('/')).map(Readable::Resolved))
            .unwrap_or(Readable::File(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_one_kind_and_prints_as_it_was() {
        for (path, kind) in [
            ("/sys/coalesce:eth0", "File"),
            ("coalesce:eth0/rx-usecs", "Coalescing"),
            ("command@1000:cat /run/level", "Command"),
            ("lines:./watts", "Lines"),
            ("perf:msr/aperf@cpu3", "Perf"),
            ("perf:msr/aperf", "File"),
            ("resolved:/sys/block/loop0", "Resolved"),
            ("resolved:x", "File"),
            ("command", "File"),
            ("", "File"),
        ] {
            let readable = Readable::of(path);
            let (name, text) = match &readable {
                Readable::File(path) => ("File", (*path).to_owned()),
                Readable::Coalescing(place) => ("Coalescing", place.to_string()),
                Readable::Command(place) => ("Command", place.to_string()),
                Readable::Lines(place) => ("Lines", place.to_string()),
                Readable::Perf(place) => ("Perf", place.to_string()),
                Readable::Resolved(path) => ("Resolved", resolved_place(path)),
            };
            assert_eq!((name, text.as_str()), (kind, path));
        }
    }
}
