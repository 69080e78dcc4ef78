//! Who may call the system, who may know what is simulated, who may ask for the time or for chance.
use super::Problem;
use super::paths::named;
use super::source::Source;

/// What reaches the operating system.
const SYSTEM: [&str; 10] = [
    "std::fs",
    "std::process",
    "std::net",
    "std::time::Instant",
    "std::time::SystemTime",
    "std::thread::sleep",
    "rustix",
    "libc",
    "nix",
    "signal_hook",
];

/// Packages that may.
const MAY_CALL: [&str; 9] = [
    "crates/host",
    "crates/agent",
    "crates/store",
    "crates/mount",
    "crates/watch",
    "crates/fleet",
    "crates/web",
    "crates/powerband",
    "xtask",
];

/// Crates that run unchanged on every machine.
const UNAWARE: [&str; 5] = ["crates/knob", "crates/meter", "crates/load", "crates/experiment", "crates/persist"];

/// Crates without a clock and without chance, not even for a moment. (`stats` draws from a seed it is handed.)
const TIMELESS: [&str; 4] = ["crates/record", "crates/report", "crates/advice", "crates/testkit"];

/// The one file that writes intents to a ledger.
const LEDGERED: &str = "crates/machine/src/ledgered.rs";

/// Only host and the edges call the system; everything else goes through Machine and World.
pub(super) fn system_calls(sources: &[Source]) -> Vec<Problem> {
    let bound = sources.iter().filter(|source| source.path.contains("/src/") && !may_call(source));
    naming(bound, &SYSTEM, "calls the system; only host does that (ARCHITECTURE.md): go through Machine or World")
}

fn may_call(source: &Source) -> bool {
    MAY_CALL.contains(&source.package())
        || source.package().starts_with("bench/")
        || source.path.starts_with("crates/load/src/inside")
}

/// The write-ahead rule has one implementation: no other file writes intents to a ledger.
pub(super) fn write_ahead(sources: &[Source]) -> Vec<Problem> {
    let bound = sources.iter().filter(|source| source.path.contains("/src/") && source.path != LEDGERED);
    let calls = bound.flat_map(|source| {
        source.product().filter(|(_, line)| line.code.contains(".intend(")).map(|(line, _)| {
            Problem::new(
                &source.path,
                line,
                format!("writes an intent to a ledger; only {LEDGERED} does that: implement Device"),
            )
        })
    });
    calls.collect()
}

/// No `if simulated` outside `sim`.
pub(super) fn simulated(sources: &[Source]) -> Vec<Problem> {
    let what = "a simulated machine is a machine: nothing here may ask whether it is one";
    let mut problems = Vec::new();
    for source in sources.iter().filter(|source| UNAWARE.contains(&source.package())) {
        for (line, text) in source.product() {
            if text.strings.contains("\"sim:") {
                problems.push(Problem::new(&source.path, line, what));
            }
        }
        let paths = named(source.product());
        let asking = paths.iter().filter(|path| {
            path.parts.iter().any(|part| matches!(part.as_str(), "powerband_sim" | "is_simulated"))
                || path.reaches("sim") && path.parts.len() > 1
                || path.reaches("crate::sim")
        });
        problems.extend(asking.map(|path| Problem::new(&source.path, path.line, what)));
    }
    problems
}

/// Records, reports and advice are functions of what they are handed.
pub(super) fn clocks_and_randomness(sources: &[Source]) -> Vec<Problem> {
    let timeless = sources.iter().filter(|source| TIMELESS.contains(&source.package()));
    let banned = ["std::time::Instant", "std::time::SystemTime", "rand", "rand_core", "rand_chacha", "getrandom"];
    naming(timeless, &banned, "is a clock or chance; here both are handed in")
}

fn naming<'a>(sources: impl Iterator<Item = &'a Source>, banned: &[&str], why: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    for source in sources {
        for path in named(source.product()) {
            // A lone name may be a variable; an import or a call has two parts.
            if path.parts.len() > 1 && banned.iter().any(|banned| path.reaches(banned)) {
                problems.push(Problem::new(&source.path, path.line, format!("{} {why}", path.parts.join("::"))));
            }
        }
    }
    problems
}
