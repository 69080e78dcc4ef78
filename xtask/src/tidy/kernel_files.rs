//! Where paths of the kernel's files may stand: in `sysfs`, and in what is below it or next to it.
use super::Problem;
use super::source::Source;

/// Crates that have paths of their own.
const MAY_NAME: [&str; 4] = ["crates/sysfs", "crates/machine", "crates/host", "crates/sim"];

/// Other files and folders that name some, and why.
const LISTED: [(&str, &str); 13] = [
    ("crates/knob/src/apply/moves.rs", "a table of files that move others, which are data"),
    ("crates/knob/src/catalogue/cpuspeed.rs", "a file of simulated machines that nothing else reads"),
    ("crates/knob/src/doctor/place.rs", "signs of a hypervisor and mounts that nothing else reads"),
    (
        "crates/knob/src/doctor/reach.rs",
        "files to write as `file:PATH`, and lists of controllers that nothing else reads",
    ),
    ("crates/knob/src/kernel_file", "pairs of settings and state of the network that nothing else reads"),
    ("crates/load/src/drivers/cyclictest.rs", "a word of the tool's options"),
    ("crates/load/src/inside", "the process's own files, by calls of the system"),
    ("crates/meter/src/meters/modelled.rs", "a folder of simulated machines that nothing else reads"),
    ("crates/mount/src", "the process's own files, by calls of the system"),
    ("crates/persist/src/keep/place/udev.rs", "folders that stand for subsystems of udev"),
    ("crates/persist/src/source/sysfs.rs", "sysfs.conf names files below /sys"),
    ("crates/powerband/src/node_state.rs", "this program"),
    ("crates/session/src/node_facts.rs", "the firmware's version and memory modules, which nothing else reads"),
];

/// No other crate holds a string that is a path below `/sys` or `/proc`. Sentences may name one.
pub(super) fn kernel_files(sources: &[Source]) -> Vec<Problem> {
    let bound = |source: &&Source| {
        source.path.starts_with("crates/")
            && !MAY_NAME.contains(&source.package())
            && !LISTED.iter().any(|(listed, _)| source.path.starts_with(listed))
    };
    let mut problems = Vec::new();
    for source in sources.iter().filter(bound) {
        for (line, text) in source.product() {
            if let Some(path) = text.strings.split('"').skip(1).find(|text| is_path(text)) {
                let what = format!("{path}: a path of the kernel's belongs to crates/sysfs, or say in LISTED why not");
                problems.push(Problem::new(&source.path, line, what));
            }
        }
    }
    problems
}

/// Whether it leads to something below one of the two, and is no sentence that begins with it.
fn is_path(text: &str) -> bool {
    let below = ["/sys/", "/proc/"].iter().find_map(|root| text.strip_prefix(root));
    below.is_some_and(|rest| !rest.is_empty() && !rest.contains(' '))
}
